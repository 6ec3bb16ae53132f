"""Faults that others reported of files and joins: each input gives its right outcome."""

import json
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

from assay.study import SEVERAL_MODELS, Study, StudyError, load_study
from assay.study.reading import FileSource, read_table

REPORTS = Path(__file__).parents[1] / "reports"

JOIN = """\
title = "a join"
source = "a report"
licence = "none"
seed = 1

[items]
file = "labels.csv"
columns = { item_id = "id" }

[contract]
kind = "table"
label = "pred"
confidence = "confidence"

[[answers]]
file = "answers.csv"
calibration = "language_model"
elicitation = "verbal"
columns = { item_id = "id" }

[taxonomy]
abstain = "abstain"
class = [{ name = "a" }, { name = "b" }]
"""


def check(report: str, number: int = 0) -> dict:
    return json.loads((REPORTS / report / "expected.json").read_text())["checks"][number]


def with_confidence(answers: str) -> str:
    """Give every answer of a report a confidence, which the join at hand does not turn on."""
    head, *rows = answers.splitlines()
    return "\n".join([f"{head},confidence", *(f"{row},0.5" for row in rows)]) + "\n"


@pytest.fixture
def join(study_folder: Callable[..., Path]) -> Callable[[str, str, str], Study]:
    def load(report: str, labels: str, answers: str) -> Study:
        files = {"labels.csv": (REPORTS / report / labels).read_text(), "answers.csv": with_confidence(answers)}
        return load_study(study_folder(files, settings=JOIN))

    return load


def test_d01_the_byte_order_mark_is_no_part_of_the_first_column() -> None:
    expect = check("D01")["expect"]
    frame = read_table(FileSource(REPORTS / "D01/rows.csv", "rows.csv")).frame
    assert list(frame.columns) == expect["columns"]
    assert len(frame) == expect["n_rows"]
    assert frame["text"][0] == expect["first_text"]


def test_d05_line_breaks_commas_and_quotes_stay_in_their_cell() -> None:
    expect = check("D05")["expect"]
    frame = read_table(FileSource(REPORTS / "D05/rows.csv", "rows.csv")).frame
    assert len(frame) == expect["n_rows"]
    assert frame["label"].value_counts().to_dict() == expect["label_counts"]
    assert frame["text"][0].count("\n") == expect["n_newlines_text_1"]
    assert frame["text"][1] == expect["text_2"]
    assert (json.loads(frame["text"][3]) == {"error": "E42", "code": 7}) == expect["text_4_is_json"]
    assert len(frame) != check("D05")["must_not"]["n_rows"]


def test_d04_repeated_ids_stop_the_join_and_are_named(join: Callable[[str, str, str], Study]) -> None:
    answers = (REPORTS / "D04/answers.csv").read_text()
    expect = check("D04")["expect"]
    (repeated,) = expect["duplicate_ids"]
    with pytest.raises(
        StudyError, match=rf"labels\.csv, data row 3 .*'{repeated}' was given already in row 2"
    ) as caught:
        join("D04", "labels.csv", answers)
    assert caught.value.kind == expect["error"]


def test_d04_answers_without_a_label_are_listed(
    join: Callable[[str, str, str], Study], study_folder: Callable[..., Path]
) -> None:
    labels = (REPORTS / "D04/labels.csv").read_text().replace("q2,b\nq2,b\n", "q2,b\n")
    answers = (REPORTS / "D04/answers.csv").read_text().replace("q2,a\n", "")
    study = load_study(study_folder({"labels.csv": labels, "answers.csv": with_confidence(answers)}, settings=JOIN))
    assert study.excluded.to_dict("records") == [
        {
            "source": "colours/answers.csv",
            "reason": "answer to an unknown item",
            "count": 1,
            "examples": ", ".join(check("D04")["expect"]["unlabelled_ids"]),
        }
    ]
    assert study.answers["item_id"].tolist() == ["q1", "q2", "q3"]


def test_d07_ids_are_text(join: Callable[[str, str, str], Study]) -> None:
    expect = check("D07")["expect"]
    study = join("D07", "labels.csv", (REPORTS / "D07/answers.csv").read_text())
    assert study.items["item_id"].tolist() == expect["ids"]
    assert len(study.answers) == expect["n_rows"]
    assert study.answers["correct"].mean() == pytest.approx(expect["accuracy"])


def test_d07_ids_that_a_spreadsheet_rewrote_are_not_matched_by_guess(join: Callable[[str, str, str], Study]) -> None:
    expect = check("D07", 1)["expect"]
    with pytest.raises(StudyError) as caught:
        join("D07", "labels.csv", (REPORTS / "D07/answers_from_spreadsheet.csv").read_text())
    assert caught.value.kind == expect["error"]
    assert str(caught.value).startswith(f"colours/answers.csv: {expect['n_matched']} of 4 item ids")
    assert "spreadsheet" in str(caught.value)
    assert expect["duplicate_ids"][0] in str(caught.value)


def test_d07_so_it_is_with_the_ids_of_the_spreadsheet_itself(join: Callable[[str, str, str], Study]) -> None:
    expect = check("D07", 2)["expect"]
    with pytest.raises(StudyError) as caught:
        join("D07", "labels.csv", cells_as_csv(REPORTS / "D07/answers_from_spreadsheet.xlsx"))
    assert caught.value.kind == expect["error"]
    assert str(caught.value).startswith(f"colours/answers.csv: {expect['n_matched']} of")
    assert "spreadsheet" in str(caught.value)


def test_d07_a_spreadsheet_file_is_refused_with_a_way_out() -> None:
    path = REPORTS / "D07/answers_from_spreadsheet.xlsx"
    with pytest.raises(StudyError, match=r"save a spreadsheet as CSV with its ids as text"):
        read_table(FileSource(path, path.name))


def cells_as_csv(path: Path) -> str:
    """Write out the first sheet as a program does that takes its numbers as numbers."""
    space = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    with zipfile.ZipFile(path) as book:
        names = [name for name in book.namelist() if re.search(r"sharedStrings\.xml$", name)]
        shared = [
            "".join(text.itertext())
            for name in names
            for text in ElementTree.fromstring(book.read(name)).iter(f"{space}si")  # noqa: S314 (a file of these tests)
        ]
        sheet = ElementTree.fromstring(book.read("xl/worksheets/sheet1.xml"))  # noqa: S314
    rows = []
    for row in sheet.iter(f"{space}row"):
        cells = []
        for cell in row.iter(f"{space}c"):
            value = "".join(cell.itertext())
            cells.append(shared[int(value)] if cell.get("t") == "s" else value)
        rows.append(",".join(cells))
    return "\n".join(rows) + "\n"


def test_c07_labels_of_mixed_types_are_refused_and_the_types_named() -> None:
    frame = pd.DataFrame([json.loads(line) for line in (REPORTS / "C07/answers.jsonl").read_text().splitlines()])
    with pytest.raises(StudyError, match=r"mixed label types \(number, text, true/false\)") as caught:
        Study.from_frame(frame, predicted="pred")
    assert {"error": caught.value.kind} in check("C07")["expect_any_of"]


def test_c07_one_type_of_label_meets_predictions_of_another() -> None:
    frame = pd.DataFrame({"label": [1, 0, 1], "pred": ["1", 0, 1.0], "confidence": [0.8, 0.8, 0.8]}, dtype=object)
    study = Study.from_frame(frame, predicted="pred")
    assert study.taxonomy.names == ("0", "1")
    assert study.answers["correct"].all()


def test_r04_answers_are_grouped_by_the_model_that_the_reply_names() -> None:
    expect = check("R04")["expect"]
    frame = pd.read_json(REPORTS / "R04/answers.jsonl", lines=True)
    study = Study.from_frame(frame, item_id="id", predicted="pred")
    assert expect["flag"] == SEVERAL_MODELS
    assert all(SEVERAL_MODELS in flags for flags in study.answers["flags"])
    for model, figures in expect["models"].items():
        answers = study.select(model=model).answers
        assert len(answers) == figures["n"]
        assert answers["correct"].mean() == pytest.approx(figures["accuracy"])
        assert answers["confidence"].mean() == pytest.approx(figures["mean_confidence"], abs=1e-6)
    assert study.answers["correct"].mean() == pytest.approx(expect["pooled_accuracy"])
    assert len(study.series()) == 2


def test_r04_one_model_under_an_alias_is_no_fault_and_one_without_a_name_goes_by_the_alias() -> None:
    frame = pd.DataFrame(
        {
            "requested_model": ["judge-latest", "judge-latest", "other"],
            "model": ["judge-2026-05-02", "judge-2026-05-02", None],
            "label": ["yes", "no", "no"],
            "predicted": ["yes", "yes", "no"],
            "confidence": [0.9, 0.8, 0.7],
        }
    )
    answers = Study.from_frame(frame).answers
    assert answers["model"].tolist() == ["judge-2026-05-02", "judge-2026-05-02", "other"]
    assert answers["flags"].tolist() == [(), (), ()]
