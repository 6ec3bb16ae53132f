"""Notebook 00 asks a model through the very code of ``assay collect``, in a kernel whose event loop is running."""

import json
from pathlib import Path

import nbformat
import pytest
from assay_test_server import completed

from assay.parameters import check
from assay.record import record_path
from assay.rules.documents import OneLineError
from assay.run import RunError, run_notebook
from assay.show import audit

NOTEBOOK = Path(__file__).parents[3] / "notebooks" / "00_collect.ipynb"
ANSWER = completed('{"label": "b", "confidence": 0.8, "alternatives": {}}')


def printed(path):
    cells = nbformat.read(path, as_version=4).cells
    return "".join(
        output.text for cell in cells for output in cell.get("outputs", []) if output.output_type == "stream"
    )


def test_the_notebook_asks_once_and_then_looks_at_what_the_store_holds(small_study, threaded_server, tmp_path):
    server = threaded_server([ANSWER])
    given = {
        "study": str(small_study),
        "ask": True,
        "model": "m",
        "prompt": "good",
        "base_url": server.url,
        "store": str(tmp_path / "s.sqlite"),
        "record": str(tmp_path / "record.json"),
    }
    run_notebook(NOTEBOOK, given, output=tmp_path / "out.ipynb")
    assert "6 asks: 0 were in the store, 6 asked" in printed(tmp_path / "out.ipynb")
    assert len(server.requests) == 6
    figures = json.loads((tmp_path / "record.json").read_text())["figures"]
    rows = {row["series"]: row for row in figures["collected"]}
    assert (rows["verbal"]["answers"], rows["verbal"]["unreadable"]) == (6, 0)
    assert rows["token"]["why"] == "no logprobs 6"

    run_notebook(NOTEBOOK, given, output=tmp_path / "again.ipynb")
    assert len(server.requests) == 6
    assert json.loads((tmp_path / "record.json").read_text())["figures"] == figures
    assert record_path("00_collect", check("00_collect", given)) == tmp_path / "record.json"


def test_a_dry_run_asks_nothing(small_study, threaded_server, tmp_path):
    server = threaded_server([ANSWER])
    given = {"study": str(small_study), "ask": True, "dry_run": True, "model": "m", "prompt": "good"}
    with pytest.raises(RunError):  # this study has no answers of its own to look at
        run_notebook(NOTEBOOK, {**given, "base_url": server.url}, output=tmp_path / "out.ipynb")
    assert "6 asks, 0 of them in the store, 6 to send" in printed(tmp_path / "out.partial.ipynb")
    assert server.requests == []


def test_without_a_key_it_ends_as_a_misuse_in_one_line_that_says_what_to_set(small_study, tmp_path):
    given = {
        "study": str(small_study),
        "ask": True,
        "prompt": "good",
        "model": "m",
        "store": str(tmp_path / "s.sqlite"),
    }
    with pytest.raises(RunError, match=r"^OPENAI_API_KEY is not set: set it to ask models at") as refusal:
        run_notebook(NOTEBOOK, given, output=tmp_path / "out.ipynb")
    assert refusal.value.misuse
    assert not (tmp_path / "s.sqlite").exists()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "^model must name the model to ask, unless local is True, got None$"),
        ({"model": "m", "local": True}, "^local asks a model of its own: leave out model and base_url$"),
        ({"model": "m", "prompt": "goof"}, "^goof: no such file, nor a prompt of small"),
        ({"model": "m", "max_cost": "much"}, "must be a number of US dollars of at least 0, got 'much'$"),
    ],
)
def test_settings_that_cannot_ask_are_refused_before_a_store_is_made(small_study, tmp_path, given, said):
    store = tmp_path / "s.sqlite"
    given = {"study": str(small_study), "ask": True, "prompt": "good", "store": str(store), **given}
    with pytest.raises(OneLineError, match=said):
        audit.open_answers(check("00_collect", given))
    assert not store.exists()
