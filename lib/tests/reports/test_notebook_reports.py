"""Reported troubles with notebooks, each with its right outcome (N02, N04, N07, N08)."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from assay.__main__ import main
from assay.notebook import read_notebook
from assay.show.pages import notebook_page

HERE = Path(__file__).parent


def run_case(name: str, tmp_path: Path, *words: str) -> int:
    """Run the notebook of a case with its parameters, as the command line does."""
    given = json.loads((HERE / name / "run.json").read_text())["parameters"]
    chosen = [word for key, value in given.items() for word in ("-p", f"{key}={value}")]
    files = ["--output", str(tmp_path / "out.ipynb"), "--html", str(tmp_path / "page.html")]
    return main(["run", str(HERE / name / "notebook.ipynb"), *chosen, *files, *words])


def expectation(name: str) -> dict[str, Any]:
    (check,) = json.loads((HERE / name / "expected.json").read_text())["checks"]
    assert isinstance(check, dict)
    return check


def test_a_misspelt_parameter_stops_the_run_and_the_closest_one_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    want = expectation("N02")["expect"]
    assert run_case("N02", tmp_path) == 2
    said = capsys.readouterr()
    assert f"unknown parameter {want['parameter']!r}" in said.err
    assert f"did you mean {want['suggestion']}?" in said.err
    assert expectation("N02")["must_not"]["stdout"] not in said.out
    assert list(tmp_path.iterdir()) == []


def test_a_key_given_as_a_parameter_is_refused_and_found_nowhere(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    secret = expectation("N04")["secret"]
    assert run_case("N04", tmp_path) == 2
    said = capsys.readouterr()
    assert "environment" in said.err
    assert secret not in said.out + said.err
    assert list(tmp_path.iterdir()) == []


def test_a_kernel_that_is_not_installed_is_named_with_those_that_are(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    missing, installed = expectation("N07")["expect_any_of"][1]["message_names"]
    assert run_case("N07", tmp_path) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert missing in said
    assert installed in said
    assert "--kernel" in said


def test_the_kernel_can_be_chosen_as_that_message_says(tmp_path: Path) -> None:
    assert run_case("N07", tmp_path, "--kernel", "python3") == 0
    wanted = expectation("N07")["expect_any_of"][0]["stdout"]
    assert wanted in (tmp_path / "page.html").read_text()


def test_a_page_describes_its_picture_and_loads_nothing() -> None:
    check = expectation("N08")
    page = notebook_page(read_notebook(HERE / "N08" / check["file"]))
    pictures: list[dict[str, str | None]] = []
    loads: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
            given = dict(attrs)
            if tag == "img":
                pictures.append(given)
            if tag in ("script", "link") or re.match("https?:", given.get("src") or ""):
                loads.append(tag)

    reader = Reader()
    reader.feed(page)
    reader.close()
    assert len(pictures) == check["expect"]["n_images"]
    alt = pictures[0]["alt"] or ""
    assert alt not in check["must_not"]["alt"]
    assert "Reliability of variant B" in alt
    assert loads == []
    assert not re.search(r"url\(", page)
    assert '<html lang="en">' in page
