"""Items and runs that are numbered by their rows, and a column for each class, as `study.toml` says it."""

from collections.abc import Callable
from pathlib import Path

import pytest

from assay.study import StudyError, load_study

Write = Callable[..., Path]

ALONE = {'[items]\nfile = "items.csv"\n': ""}
ROWS = "label,predicted,confidence\nred,red,0.9\nred,blue,0.6\nblue,blue,0.75\n"
RUNS = "item_id,label,predicted,confidence\na,red,red,0.9\nb,blue,blue,0.7\na,red,blue,0.6\n"
CLASSES = "item_id,label,red_share,blue_share\n1,red,0.7,0.3\n2,blue,0.5,0.5\n3,blue,,0.9\n4,blue,much,0.1\n5,red,,\n"
COLUMNS = 'kind = "table"\nprobabilities = { red = "red_share", blue = "blue_share" }'


def answers_toml(*lines: str) -> dict[str, str]:
    return ALONE | {'file = "answers.csv"\n': "\n".join(['file = "answers.csv"', *lines, ""])}


def test_rows_may_be_the_items(study_folder: Write) -> None:
    folder = study_folder({"answers.csv": ROWS}, replace=answers_toml("number_rows = true"))
    study = load_study(folder)
    assert study.items["item_id"].tolist() == ["1", "2", "3"]
    assert study.answers["run"].tolist() == [1, 1, 1]


def test_a_column_of_ids_does_not_count_where_rows_are_the_items(study_folder: Write) -> None:
    folder = study_folder({"answers.csv": RUNS}, replace=answers_toml("number_rows = true"))
    assert load_study(folder).items["item_id"].tolist() == ["1", "2", "3"]


def test_runs_may_be_numbered_in_the_order_of_the_rows(study_folder: Write) -> None:
    folder = study_folder({"answers.csv": RUNS}, replace=answers_toml("number_runs = true"))
    assert load_study(folder).answers[["item_id", "run"]].to_numpy().tolist() == [["a", 1], ["b", 1], ["a", 2]]


def test_runs_are_numbered_within_a_series(study_folder: Write) -> None:
    rows = "item_id,label,predicted,confidence,model\n" + "".join(f"a,red,red,0.9,{name}\n" for name in "xyxy")
    replace = answers_toml("number_runs = true") | {'model = "m"\n': ""}
    answers = load_study(study_folder({"answers.csv": rows}, replace=replace)).answers
    assert answers[["model", "run"]].to_numpy().tolist() == [["x", 1], ["y", 1], ["x", 2], ["y", 2]]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["number_rows = 1"], "number_rows must be true or false, got 1"),
        (["number_rows = true", 'columns = { item_id = "x" }'], "number_rows: the item id is named as a column, too"),
        (["number_runs = true", 'columns = { run = "x" }'], "number_runs: the run is named as a column, too"),
    ],
)
def test_a_number_that_contradicts_a_column_is_refused(study_folder: Write, lines: list[str], message: str) -> None:
    with pytest.raises(StudyError, match=message):
        load_study(study_folder({"answers.csv": ROWS}, replace=answers_toml(*lines)))


def test_rows_cannot_be_the_items_of_a_file_of_items(study_folder: Write) -> None:
    replace = {'file = "answers.csv"\n': 'file = "answers.csv"\nnumber_rows = true\n'}
    with pytest.raises(StudyError, match="number_rows is for a study of one file"):
        load_study(study_folder(replace=replace))


def test_each_class_may_have_a_column_of_its_own(study_folder: Write) -> None:
    folder = study_folder({"answers.csv": CLASSES}, replace=ALONE | {'kind = "table"': COLUMNS})
    answers = load_study(folder).answers
    # Without a column for the choice it is the most probable class, the first of equal ones.
    assert answers["predicted"][:3].tolist() == ["red", "red", "blue"]
    assert answers["confidence"][:3].tolist() == [0.7, 0.5, 0.9]
    assert answers["alternatives"][:3].tolist() == [{"blue": 0.3}, {"blue": 0.5}, None]
    assert answers["error"][3:].tolist() == ["bad_alternatives", "missing_field"]


def test_the_choice_may_stand_in_a_column_beside_them(study_folder: Write) -> None:
    rows = "item_id,label,red_share,blue_share,said\n1,red,0.7,0.3,blue\n"
    folder = study_folder({"answers.csv": rows}, replace=ALONE | {'kind = "table"': f'{COLUMNS}\nlabel = "said"'})
    answers = load_study(folder).answers
    assert answers[["predicted", "confidence"]].to_numpy().tolist() == [["blue", 0.3]]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ('{ reed = "red_share" }', "'reed' is not a class .did you mean 'red'"),
        ("{ red = 1 }", "probabilities.red must be the name of a column, got 1"),
        ('{ red = "x" }', "no column 'x' for the probability of red"),
        ("7", "probabilities must be a table"),
    ],
)
def test_a_column_of_no_class_is_refused(study_folder: Write, columns: str, message: str) -> None:
    contract = f'kind = "table"\nprobabilities = {columns}'
    with pytest.raises(StudyError, match=message):
        load_study(study_folder({"answers.csv": CLASSES}, replace=ALONE | {'kind = "table"': contract}))
