"""The smallest and the emptiest studies, through whole notebooks: each ends with a page and a record, none with an error."""

import itertools
import json
import re
from pathlib import Path

import pytest

from assay.__main__ import main

SETTINGS = """\
title = "As small as can be"
source = "written for a test"
licence = "MIT"
seed = 7
items.file = "items.csv"
contract.kind = "table"

[[answers]]
file = "answers.csv"
calibration = "language_model"
elicitation = "verbal"

[taxonomy]
abstain = "abstain"
class = [{ name = "red" }CLASSES]

[[gate]]
metric = "class_accuracy"
classes = ["red"]
"""
BLUE = ', { name = "blue" }'
STUDIES = {
    "one item": (1, "", lambda row: "red,0.9"),
    "one class": (40, "", lambda row: "red,0.9"),
    "no class but one": (40, BLUE, lambda row: f"red,0.{row % 9 + 1}"),
    "nothing readable": (40, BLUE, lambda row: "mauve,high"),
    "one readable": (40, BLUE, lambda row: "red,0.9" if row == 7 else "mauve,"),
    "one confidence": (40, BLUE, lambda row: f"{'red' if row % 3 else 'blue'},1"),
}


NOTEBOOKS = ("10_calibrate", "20_thresholds", "30_prompts", "40_routing", "90_review")
OFTEN = {("10_calibrate", "nothing readable"), ("20_thresholds", "one item")}


@pytest.mark.parametrize(
    ("notebook", "study"),
    [
        pytest.param(*pair, marks=() if pair in OFTEN else pytest.mark.long)
        for pair in itertools.product(NOTEBOOKS, STUDIES)
    ],
)
def test_a_notebook_ends_on_the_smallest_studies(notebook, study, tmp_path, capsys, record_tried):
    count, classes, answer = STUDIES[study]
    folder = tmp_path / "small"
    folder.mkdir()
    (folder / "study.toml").write_text(SETTINGS.replace("CLASSES", classes))
    labels = ["red" if not classes or study == "no class but one" or row % 2 else "blue" for row in range(count)]
    (folder / "items.csv").write_text(
        "item_id,label\n" + "".join(f"{row},{label}\n" for row, label in enumerate(labels))
    )
    rows = "".join(f"{row},{answer(row)}\n" for row in range(count))
    (folder / "answers.csv").write_text("item_id,predicted,confidence\n" + rows)
    path = Path(__file__).parents[2] / "notebooks" / f"{notebook}.ipynb"
    files = ["--output", str(tmp_path / "out.ipynb"), "--html", str(tmp_path / "page.html")]
    code = main(["run", str(path), "-p", f"study={folder}", "-p", f"record={tmp_path / 'record.json'}", *files])
    record_tried("notebooks on the smallest studies", 1, lost=int(code != 0))
    assert code == 0, capsys.readouterr().err
    assert json.loads((tmp_path / "record.json").read_text())["figures"]["headline"]
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert not re.search(r"[>\s(]nan[<\s,)]", page, re.IGNORECASE)
