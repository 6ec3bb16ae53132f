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
from assay.show.collection import dollars, open_answers

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


def test_a_dry_run_on_a_study_without_answers_ends_well_with_what_asking_would_cost(
    small_study, threaded_server, tmp_path
):
    server = threaded_server([ANSWER])
    Path("prices.json").write_text('{"m": {"input_per_million": 1000, "output_per_million": 2000}}')
    given = {
        "study": str(small_study),
        "ask": True,
        "dry_run": True,
        "model": "m",
        "prompt": "good",
        "base_url": server.url,
        "prices": "prices.json",
        "record": str(tmp_path / "record.json"),
    }
    run_notebook(NOTEBOOK, given, output=tmp_path / "out.ipynb", html=tmp_path / "page.html")
    assert server.requests == []
    figures = json.loads((tmp_path / "record.json").read_text())["figures"]
    foreseen = figures["foreseen"]
    assert (foreseen["asked"], foreseen["wanted"], foreseen["in_store"], foreseen["to_send"]) == (0, 6, 0, 6)
    cost = (foreseen["prompt_tokens"] * 1000 + foreseen["completion_tokens"] * 2000) / 1e6
    assert foreseen["cost_usd"] == pytest.approx(cost)
    assert figures["headline"].startswith("Nothing was asked: this is a dry run. Of 6 asks, 0 are in the store and 6")
    assert figures["collected"] == figures["information"] == figures["hygiene"] == []
    page = (tmp_path / "page.html").read_text()
    assert f"They would cost about US${cost:.2f}." in page
    assert (
        "There are no answers to look at: the study names small/not-there-yet.parquet, which is not there yet." in page
    )
    assert page.count("Nothing to show:") == 3


def test_amounts_are_never_rounded_to_nothing():
    assert [dollars(amount) for amount in (0.0, 0.00001, 0.0031, 12.4, 1234.5)] == [
        "US$0.00",
        "under US$0.0001",
        "US$0.0031",
        "US$12.40",
        "US$1,234.50",
    ]


def test_a_dry_run_says_where_a_price_is_not_known(small_study):
    given = {"study": str(small_study), "ask": True, "dry_run": True, "model": "m", "prompt": "good", "limit": 2}
    answers = open_answers(check("00_collect", given))
    assert answers.foreseen["cost_usd"] is None
    assert "2 would be sent: 2 to m with prompt good" in repr(answers)
    assert "What they would cost is not known: there is no price for m." in repr(answers)


def test_a_dry_run_on_a_study_with_answers_looks_at_them(capsys):
    given = {"study": "plant", "ask": True, "dry_run": True, "model": "m", "prompt": "brief", "limit": 2}
    answers = open_answers(check("00_collect", given))
    assert answers.foreseen["to_send"] == 2
    assert len(answers.series) == 5
    assert "Nothing was asked" in answers._repr_html_()
    assert capsys.readouterr().out == ""


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
        ({"prices": "nowhere.json"}, r"^prices must be the path of a price file: nowhere\.json: cannot be read"),
        ({"prompt": "goof"}, "^goof: no such file, nor a prompt of small"),
        (
            {"max_cost": "2", "prices": "prices.json"},
            "^max_cost needs the price of m, and prices.json has none: add it, or leave out max_cost$",
        ),
    ],
)
def test_settings_that_cannot_ask_are_refused_before_a_store_is_made(small_study, tmp_path, given, said):
    store = tmp_path / "s.sqlite"
    Path("prices.json").write_text('{"another": {"input_per_million": 1, "output_per_million": 2}}')
    given = {"study": str(small_study), "ask": True, "model": "m", "prompt": "good", "store": str(store), **given}
    with pytest.raises(OneLineError, match=said):
        open_answers(check("00_collect", given))
    assert not store.exists()
