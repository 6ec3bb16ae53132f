"""Making a study of questions that no model has answered yet: what is guessed, said and refused, and its first prompt."""

import json
import re
import tempfile
from pathlib import Path

import pytest
from assay_test_tables import left, write_table
from hypothesis import given
from hypothesis import strategies as st

from assay.ask.lint import lint_prompt
from assay.ask.prompts import parse_prompt
from assay.ask.source import load_source
from assay.rules import Gate, Taxonomy
from assay.rules.answers import Calibration, Elicitation
from assay.study import StudyError, load_study
from assay.study.guess import Asked
from assay.study.new import new_study
from assay.study.written import FIRST_PROMPT, first_prompt

PLAIN = {"question": ["why?", "how?", "when?", "who?"], "label": ["red", "blue", "red", "blue"]}


def new_questions(name, file, asked=None, **more):
    return new_study(name, file, asked, questions=True, **more)


def said(made) -> str:
    return "\n".join(f"{what}: {words}" for what, words in made.said)


@pytest.mark.parametrize("name", ["q.csv", "q.jsonl", "q.parquet"])
def test_two_columns_are_enough(data, name):
    made = new_questions("mine", write_table(PLAIN, name))
    source = load_source("mine")
    assert (made.folder, made.study) == (data / "mine", None)
    assert source.items["item_id"].tolist() == ["1", "2", "3", "4"]
    assert source.items["text"].tolist() == PLAIN["question"]
    assert source.items["label"].tolist() == PLAIN["label"]
    assert source.taxonomy.names == ("blue", "red")
    assert [file.relative_to(data / "mine").as_posix() for file in source.answers] == ["raw/answers.parquet"]
    assert "item: no column of ids: each row is an item, and known by its number" in said(made)
    with pytest.raises(StudyError, match=r"mine/raw/answers\.parquet: there is no such file yet; `assay collect` asks"):
        load_study("mine")


def test_ids_tags_gates_and_the_delimiter_are_taken_over(data):
    columns = {"Ticket ID": ["a", "b", "c", "d"], **PLAIN, "site": ["N", "N", "S", "S"], "prediction": ["red"] * 4}
    made = new_questions(
        "mine",
        write_table(columns, "q.csv", sep=";"),
        Asked(dangerous=("red",), abstain="Blue"),
        title="T",
        delimiter=";",
    )
    source = load_source("mine")
    assert source.items[["item_id", "tag_site"]].to_numpy().tolist() == [["a", "N"], ["b", "N"], ["c", "S"], ["d", "S"]]
    assert source.taxonomy.gates == (Gate("class_accuracy", ("red",), 0.95, 0.05),)
    assert source.taxonomy.abstain == "blue"
    assert "not read: columns 'prediction': the study is of questions without answers" in said(made)
    assert "no prediction says so" not in said(made)


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        (["a", "b", "c", "d"], "item: column 'item_id'"),
        (["a", "b", "c", "c"], "column 'item_id' is empty in places or repeats: each row is an item"),
        (["a", "b", "c", None], "column 'item_id' is empty in places or repeats: each row is an item"),
    ],
)
def test_ids_are_taken_where_they_tell_the_questions_apart(data, ids, words):
    made = new_questions("mine", write_table({"item_id": ids, **PLAIN}, "q.csv"))
    assert words in said(made)
    assert load_source("mine").items["item_id"].tolist() == (ids if ids[-1] == "d" else ["1", "2", "3", "4"])


def test_rows_without_a_label_or_a_text_and_texts_that_repeat_are_said(data):
    texts, labels = ["why?", None, "why?", "who?", "when?"], ["red", "blue", "blue", None, "red"]
    made = new_questions("mine", write_table({"text": texts, "label": labels}, "q.csv"))
    assert "1 rows have none and are left out" in said(made)
    assert "text: column 'text'; 1 rows have none" in said(made)
    assert "repeated: 1 rows have the text of an earlier one: each counts as an item of its own" in said(made)
    source = load_source("mine")
    assert (source.items["item_id"].tolist(), source.textless) == (["1", "3", "5"], 1)


@pytest.mark.parametrize(
    ("columns", "asked", "message"),
    [
        (PLAIN, Asked(scale=100), "--scale is of answers, and with --questions there are none yet; leave it out"),
        (PLAIN, Asked(calibration=Calibration.CLASSIFIER), "--calibration is of answers"),
        (PLAIN, Asked(elicitation=Elicitation.TOKEN), "--elicitation is of answers"),
        (PLAIN, Asked(constants={"model": "m"}), "--model is of answers"),
        (PLAIN, Asked(columns={"predicted": "label"}), "--predicted-column is of answers"),
        (PLAIN, Asked(columns={"label": "gold"}), "no column 'gold' for the label"),
        (PLAIN, Asked(dangerous=("rde",)), "'rde' is not a class (did you mean 'red'?)"),
        ({"label": ["a", "b"]}, Asked(), "columns are missing: none for the text (looked for text, question"),
        ({"text": ["a", "b"]}, Asked(), "columns are missing: none for the label (looked for label"),
        (
            {"text": ["", " "], "label": ["a", "b"]},
            Asked(),
            "column 'text': no row with a label has a text to ask about",
        ),
        ({"text": ["x", None], "label": [None, "b"]}, Asked(), "column 'text': no row with a label has a text"),
        (
            {"item_id": ["a", "a"], "text": ["x", "y"], "label": ["a", "b"]},
            Asked(columns={"item_id": "item_id"}),
            "column 'item_id': the id of a question must be there and occur once",
        ),
    ],
)
def test_what_is_no_table_of_questions_is_refused_and_leaves_nothing(data, columns, asked, message):
    path = write_table(columns, "q.csv")
    with pytest.raises(StudyError, match=re.escape(message)):
        new_questions("mine", path, asked)
    assert left(data) == []


def test_the_number_of_a_row_is_an_id_of_items_in_a_file_of_their_own_alone(data):
    folder = new_questions("mine", write_table(PLAIN, "q.csv")).folder
    settings = (folder / "study.toml").read_text()
    (folder / "study.toml").write_text(settings.replace('file = "raw/items.csv"\n', "", 1))
    with pytest.raises(StudyError, match=r"items\.number_rows is for items in a file of their own"):
        load_source("mine")
    (folder / "study.toml").write_text(settings.replace("columns = { ", 'columns = { item_id = "question", ', 1))
    with pytest.raises(StudyError, match=r"items\.number_rows: the item id is named as a column, too"):
        load_source("mine")
    (folder / "study.toml").write_text(settings.replace("number_rows = true", "number_rows = 1", 1))
    with pytest.raises(StudyError, match=r"items\.number_rows must be true or false, got 1"):
        load_source("mine")


def test_the_first_prompt_of_a_study_has_nothing_that_the_lint_finds(data):
    folder = new_questions("mine", write_table(PLAIN, "q.csv")).folder
    prompt = folder / "prompts" / f"{FIRST_PROMPT}.toml"
    assert lint_prompt(prompt, load_source("mine")) == []
    assert parse_prompt(prompt.read_text()).name == FIRST_PROMPT


named = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(str.strip)


@given(st.lists(named, min_size=1, max_size=5))
def test_any_classes_stand_in_the_first_prompt_as_they_are_called(names):
    try:
        taxonomy = Taxonomy.of(*names, abstain="?!")
    except ValueError:
        return
    system = parse_prompt(first_prompt(taxonomy)).system
    assert all(f"\n- {name}\n" in system for name in taxonomy.names)
    assert "If it cannot be told, the label is: ?!\n" in system


@given(st.lists(st.tuples(named, st.sampled_from(["a", "b", "c"])), min_size=1, max_size=8), named)
def test_whatever_the_questions_are_they_are_what_is_asked(rows, title):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "q.jsonl"
        path.write_text("".join(json.dumps({"text": text, "label": label}) + "\n" for text, label in rows))
        made = new_questions("mine", path, title=title, data=Path(folder))
        items = load_source(str(made.folder)).items
    assert items["text"].tolist() == [text for text, _ in rows]
    assert items["label"].tolist() == [label for _, label in rows]
