"""CSV files as spreadsheets write them: read where the file or the study says how, else refused with what was found."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.study import Study, StudyError, load_study
from assay.study.reading import FileSource, read_table
from assay.study.spreadsheets import has_decimal_commas, pointed

Write = Callable[..., Path]

ITEMS = "item_id;text;label\r\n1;one, and a half;red\r\n2;two;blue\r\n3;three;blue\r\n"
ANSWERS = "item_id;predicted;confidence\r\n1;red;0,9\r\n2;red;1\r\n3;blue;75 %\r\n"
HOW = 'delimiter = ";"'
GOOD = "item_id,predicted,confidence\n1,red,0.9\n"


def study(
    write: Write, items: str | bytes, answers: str | bytes, *, items_how: str = "", answers_how: str = ""
) -> Study:
    edits = {
        'file = "items.csv"': f'file = "items.csv"\n{items_how}',
        'file = "answers.csv"': f'file = "answers.csv"\n{answers_how}',
    }
    return load_study(write({"items.csv": items, "answers.csv": answers}, replace=edits))


def test_a_german_export_is_read_where_it_is_declared(study_folder: Write) -> None:
    read = study(study_folder, ITEMS, ANSWERS, items_how=HOW, answers_how=HOW + '\ndecimal = ","')
    assert read.items["text"].tolist() == ["one, and a half", "two", "three"]
    assert read.answers["confidence"].tolist() == [0.9, 1.0, 0.75]
    assert read.answers["flags"].tolist() == [(), (), ("percent",)]


@pytest.mark.parametrize("line", ["sep=;\r\n", '"sep=;"\n', "SEP=;\n"])
def test_what_the_file_says_of_its_separator_is_followed(study_folder: Write, line: str) -> None:
    read = study(study_folder, "\ufeff" + line + ITEMS, line + ANSWERS, answers_how='decimal = ","')
    assert len(read.answers) == 3
    assert read.items["label"].tolist() == ["red", "blue", "blue"]


def test_a_separator_line_is_no_row_above_the_header(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("sep=|\nA title|\nid|text\n1|one\n")
    frame = read_table(FileSource(tmp_path / "a.csv", "a.csv", skip_rows=1)).frame
    assert frame.to_dict("list") == {"id": ["1"], "text": ["one"]}


def test_a_separator_that_contradicts_the_study_is_refused(study_folder: Write) -> None:
    with pytest.raises(StudyError, match=r"^colours/items\.csv: its first line says .* ';', and delimiter is '\|'"):
        study(study_folder, "sep=;\n" + ITEMS, GOOD, items_how='delimiter = "|"')


@pytest.mark.parametrize(
    ("separator", "setting"), [(";", '";"'), ("\t", r'"\\t"'), ("|", r'"\|"')], ids=["semicolon", "tab", "bar"]
)
@pytest.mark.parametrize("quote", ["", '"'])
def test_another_separator_is_named_with_the_setting_that_reads_it(
    study_folder: Write, separator: str, setting: str, quote: str
) -> None:
    rows = [line.split(";") for line in ITEMS.split("\r\n")[:-1]]
    text = "".join(separator.join(f"{quote}{cell}{quote}" for cell in row) + "\n" for row in rows)
    with pytest.raises(
        StudyError, match=rf"^colours/items\.csv: the header is one cell.*set delimiter = {setting}$"
    ) as caught:
        study(study_folder, text, GOOD)
    assert caught.value.kind == "unreadable_file"
    assert "item_id" in str(caught.value)


def test_commas_are_named_where_semicolons_were_declared(study_folder: Write) -> None:
    with pytest.raises(StudyError, match='set delimiter = ","'):
        study(study_folder, ITEMS.replace(",", "").replace(";", ","), GOOD, items_how=HOW)


def test_decimal_commas_throughout_a_column_are_named_and_not_shown(study_folder: Write) -> None:
    with pytest.raises(StudyError) as caught:
        study(study_folder, ITEMS, ANSWERS, items_how=HOW, answers_how=HOW)
    assert str(caught.value) == (
        "colours/answers.csv, column 'confidence': its numbers are written with a decimal comma; set decimal = \",\""
    )
    priced = "item_id;predicted;confidence;cost_usd\n1;red;1;0,01\n2;red;1;\n3;blue;1;2\n"
    with pytest.raises(StudyError, match="column 'cost_usd': its numbers are written with a decimal comma"):
        study(study_folder, ITEMS, priced, items_how=HOW, answers_how=HOW)
    read = study(study_folder, ITEMS, priced, items_how=HOW, answers_how=HOW + '\ndecimal = ","')
    assert read.answers["cost_usd"].fillna(-1).tolist() == [0.01, -1, 2]


@pytest.mark.parametrize("other", ["0.75", "high", "1.000,5"])
def test_one_comma_among_other_numbers_is_the_error_of_its_answer(study_folder: Write, other: str) -> None:
    read = study(study_folder, ITEMS, ANSWERS.replace("75 %", other), items_how=HOW, answers_how=HOW)
    assert read.answers["error"].tolist()[0] == "bad_confidence"


def test_a_point_is_no_decimal_mark_where_the_comma_is(study_folder: Write) -> None:
    read = study(
        study_folder, ITEMS, ANSWERS.replace("75 %", "0.75"), items_how=HOW, answers_how=HOW + '\ndecimal = ","'
    )
    assert read.answers["error"].tolist()[2] == "bad_confidence"
    assert read.answers["confidence"].tolist()[:2] == [0.9, 1.0]


@pytest.mark.parametrize("mark", ["", ";", ",,", "·"])
def test_another_decimal_mark_is_refused(study_folder: Write, mark: str) -> None:
    with pytest.raises(StudyError, match=r'answers\[1\]\.decimal must be "\." or ","'):
        study(study_folder, ITEMS, ANSWERS, answers_how=f'decimal = "{mark}"')


def test_unicode_text_is_read_where_it_is_declared(study_folder: Write) -> None:
    items, answers = (text.replace(";", "\t").replace("0,9", "0.9").encode("utf-16") for text in (ITEMS, ANSWERS))
    how = 'encoding = "utf-16"\ndelimiter = "\\t"'
    assert len(study(study_folder, items, answers, items_how=how, answers_how=how).answers) == 3


def test_words_that_other_readers_take_for_missing_are_labels(study_folder: Write) -> None:
    taxonomy = 'class = [{ name = "NA" }, { name = "null" }, { name = "#N/A" }]'
    files = {
        "items.csv": "item_id,text,label\n1,one,NA\n2,two,null\n3,,#N/A\n",
        "answers.csv": "item_id,predicted,confidence\n1,NA,1\n2,null,0.5\n3,nan,0.5\n",
    }
    old = 'class = [{ name = "red", rank = 0 }, { name = "blue", rank = 1 }]'
    read = load_study(study_folder(files, replace={old: taxonomy}))
    assert read.items["label"].tolist() == ["NA", "null", "#N/A"]
    assert read.answers["predicted"].fillna("").tolist() == ["NA", "null", ""]


@given(st.floats(0, 1).map(lambda one: f"{one:.6f}") | st.integers(0, 1).map(str))
def test_a_number_reads_the_same_with_either_mark(number: str) -> None:
    values = pd.Series([number.replace(".", ",")], dtype="str")
    assert pointed(values, ",").tolist() == [number]
    assert has_decimal_commas(values) == ("." in number)
