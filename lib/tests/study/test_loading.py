"""Finding studies, and studies with one thing wrong: each fault is one line with file, row or column, and value."""

from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from assay.study import StudyError, find_studies, load_study

Write = Callable[..., Path]

ITEMS = "item_id,text,label\n1,one,red\n2,two,blue\n3,three,blue\n"
ANSWERS = "item_id,predicted,confidence\n1,red,0.9\n2,red,0.6\n3,blue,0.75\n"


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory far from any study, with nothing set in the environment."""
    folder = tmp_path_factory.mktemp("elsewhere")
    monkeypatch.chdir(folder)
    monkeypatch.delenv("ASSAY_DATA", raising=False)
    return folder


def test_a_study_is_found_by_name_from_below_its_repository(
    study_folder: Write, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (elsewhere / "data").mkdir()
    study_folder().rename(elsewhere / "data" / "colours")
    below = elsewhere / "notebooks" / "deep"
    below.mkdir(parents=True)
    monkeypatch.chdir(below)
    assert load_study("colours").folder == elsewhere / "data" / "colours"


def test_a_folder_without_settings_hides_no_study(elsewhere: Path) -> None:
    (elsewhere / "data" / "triage").mkdir(parents=True)
    assert load_study("triage").folder != elsewhere / "data" / "triage"


def test_a_study_is_found_in_the_folder_that_the_environment_names(
    study_folder: Write, elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ASSAY_DATA", str(study_folder().parent))
    assert load_study("colours").name == "colours"
    assert "colours" in find_studies()


def test_shipped_studies_are_found_from_anywhere(elsewhere: Path) -> None:
    assert {"banking77", "ci_claims", "mmlu", "triage"} <= set(find_studies())
    assert load_study("triage").title.startswith("Triage")


def test_a_path_is_taken_as_it_is(study_folder: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = study_folder()
    assert load_study(folder).name == "colours"
    assert load_study(str(folder)).name == "colours"
    monkeypatch.chdir(folder)
    assert load_study(".").name == "colours"
    monkeypatch.chdir(folder / "..")
    assert load_study("./colours").name == "colours"


@pytest.mark.parametrize(
    "name", ["../x", "a/../../x", "/etc", "..", "", "x\0y", "~nobody-at-all/x", "x/" * 3000, "C:\\x"]
)
def test_what_is_neither_a_name_nor_a_study_is_refused(name: str, elsewhere: Path) -> None:
    with pytest.raises(StudyError, match="is neither the name of a study nor a folder") as caught:
        load_study(name)
    assert caught.value.kind == "unknown_study"


def test_an_unknown_name_is_answered_with_the_nearest_and_all_there_are(elsewhere: Path) -> None:
    with pytest.raises(StudyError, match=r"no study 'triagge' \(did you mean 'triage'\?\); studies found: .*banking77"):
        load_study("triagge")


BAD_FILES = {
    "column": (
        "items.csv", "item_id,text\n1,one\n",
        r"no column 'label' for the label \(the columns are item_id, text\)", "missing_column",
    ),
    "confidence": ("answers.csv", "item_id,predicted\n1,red\n", "no column 'confidence'", "missing_column"),
    "id column": (
        "answers.csv", "item,predicted,confidence\n1,red,1\n",
        r"no column 'item_id' for the item id \(did you mean 'item'\?\)", "missing_column",
    ),
    "id twice": (
        "items.csv", ITEMS + "2,again,red\n",
        r"data row 4 \(header not counted\), column 'item_id': the item id '2' was given already in row 2",
        "duplicate_ids",
    ),
    "label": (
        "items.csv", ITEMS.replace("two,blue", "two,bleu"),
        r"item '2', label column: 'bleu' is not a class of the taxonomy \(did you mean 'blue'\?\)", "unknown_label",
    ),
    "label in another case": (
        "items.csv", ITEMS.replace("two,blue", "two,Blue"), r"label column: 'Blue' is not a class", "unknown_label",
    ),
    "empty": ("items.csv", "", "the file is empty", "empty_file"),
    "answers to no labelled item": (
        "answers.csv", "item_id,predicted,confidence\n0,red,1\n", "there is no answer to an item with a label", "empty_file",
    ),
    "header only": ("answers.csv", "item_id,predicted,confidence\n", "there are no rows", "empty_file"),
    "no labels": ("items.csv", "item_id,text,label\n1,one,\n", "no item has a label", "empty_file"),
    "no id": (
        "items.csv", ITEMS.replace("2,two", ",two"),
        r"data row 2 \(header not counted\), column 'item_id': the item id is missing", "invalid",
    ),
    "answered twice": (
        "answers.csv", ANSWERS + "2,blue,0.5\n",
        r"data row 4 .*item '2' has a second answer of model 'm', prompt 'p', run 1 \(the first: .*row 2",
        "duplicate_ids",
    ),
    "two labels": (
        "answers.csv", "item_id,label,predicted,confidence\n1,blue,red,1\n",
        r"data row 1 .*the label 'blue' of item '1' is 'red' among the items", "labels_differ",
    ),
    "no item answered": (
        "answers.csv", "item_id,predicted,confidence\n8,red,1\n9,red,1\n",
        r"0 of 2 item ids are those of an item .*the first that is not is '8' \(row 1\)", "ids_do_not_match",
    ),
    "half a run": (
        "answers.csv", "item_id,run,predicted,confidence\n1,1.5,red,1\n",
        "column 'run': the run must be a whole number", "invalid",
    ),
    "no run": (
        "answers.csv", "item_id,run,predicted,confidence\n1,,red,1\n", "column 'run': the run is missing", "invalid",
    ),
    "elicitation": (
        "answers.csv", "item_id,elicitation,predicted,confidence\n1,spoken,red,1\n",
        "the elicitation must be one of verbal, token, vote, got 'spoken'", "invalid",
    ),
    "cost": (
        "answers.csv", "item_id,cost_usd,predicted,confidence\n1,cheap,red,1\n",
        "column 'cost_usd': cost usd must be a finite number$", "invalid",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "content", "message", "kind"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_study_is_one_line(study_folder: Write, name: str, content: str, message: str, kind: str) -> None:
    files = {"items.csv": ITEMS + "0,none,\n", name: content}
    with pytest.raises(StudyError, match=f"^colours/{name}.*{message}") as caught:
        load_study(study_folder(files))
    assert "\n" not in str(caught.value)
    assert caught.value.kind == kind


def test_a_truncated_parquet_file_is_one_line(study_folder: Write) -> None:
    folder = study_folder(replace={"answers.csv": "answers.parquet"})
    pd.read_csv(folder / "answers.csv").to_parquet(folder / "answers.parquet")
    content = (folder / "answers.parquet").read_bytes()
    (folder / "answers.parquet").write_bytes(content[:-100])
    with pytest.raises(StudyError, match=r"^colours/answers\.parquet: not a whole parquet file"):
        load_study(folder)


def test_a_byte_order_mark_quoted_newlines_and_windows_line_endings_are_fine(study_folder: Write) -> None:
    items = '\ufeffitem_id,text,label\r\n1,"one,\r\n""and"" a half",red\r\n2,two,blue\r\n3,three,blue\r\n'
    study = load_study(study_folder({"items.csv": items}))
    assert study.items["text"][0] == 'one,\r\n"and" a half'
    assert study.answers["correct"].tolist() == [True, False, True]


def test_another_encoding_can_be_declared(study_folder: Write) -> None:
    content = {"items.csv": ITEMS.replace("one", "été").encode("latin-1")}
    with pytest.raises(StudyError, match=r"^colours/items\.csv: the file is not utf-8 text .*set encoding"):
        load_study(study_folder(content))
    declared = {'file = "items.csv"': 'file = "items.csv"\nencoding = "latin-1"'}
    assert load_study(study_folder(content, replace=declared)).items["text"][0] == "été"


def test_what_is_left_out_is_counted_by_reason(study_folder: Write) -> None:
    files = {"items.csv": ITEMS + "4,four,\n", "answers.csv": ANSWERS + "4,red,0.5\n5,red,0.5\n5x,red,0.5\n"}
    study = load_study(study_folder(files))
    assert study.excluded.to_dict("records") == [
        {"source": "colours/items.csv", "reason": "item without a label", "count": 1, "examples": "4"},
        {"source": "colours/answers.csv", "reason": "answer to an unknown item", "count": 2, "examples": "5, 5x"},
        {"source": "colours/answers.csv", "reason": "answer to an item without a label", "count": 1, "examples": "4"},
    ]
    assert (len(study.items), len(study.answers)) == (3, 3)


def test_an_unreadable_answer_stays_and_its_words_are_not_shown(study_folder: Write) -> None:
    study = load_study(study_folder({"answers.csv": ANSWERS.replace("red,0.6", "CANARY,0.6")}))
    assert study.answers["error"].tolist()[1] == "unknown_class"
    assert study.answers["predicted"].isna().tolist() == [False, True, False]
    assert "CANARY" not in study.answers.drop(columns="completion", errors="ignore").to_csv()


def test_a_failed_call_goes_before_what_is_wrong_with_its_answer(study_folder: Write) -> None:
    answers = "item_id,error,predicted,confidence\n1,transport,,\n2,Bad key sk-123 for url,,\n3,,blue,0.75\n"
    study = load_study(study_folder({"answers.csv": answers}))
    assert study.answers["error"].isna().tolist() == [False, False, True]
    assert study.answers["error"].tolist()[:2] == ["transport", "call_failed"]


def test_labels_and_tags_may_stand_in_the_answers_alone(study_folder: Write) -> None:
    answers = "item_id,set,run,label,predicted,confidence\na,x,1,red,red,0.9\na,x,2,red,blue,0.4\nb,y,1,blue,blue,0.8\n"
    settings = {'file = "items.csv"': 'tags = ["set"]'}
    study = load_study(study_folder({"answers.csv": answers}, replace=settings))
    assert study.items.to_dict("list") == {
        "item_id": ["a", "b"], "text": ["", ""], "label": ["red", "blue"], "tag_set": ["x", "y"],
    }  # fmt: skip
    contradiction = answers.replace("a,x,2,red", "a,x,2,blue")
    with pytest.raises(StudyError, match=r"row 2 .*item 'a' has the label 'blue' here and 'red' in another row"):
        load_study(study_folder({"answers.csv": contradiction}, replace=settings))
    with pytest.raises(StudyError, match=r"row 2 .*item 'a' has the set 'z' here and 'x' in another row"):
        load_study(study_folder({"answers.csv": answers.replace("a,x,2", "a,z,2")}, replace=settings))


def test_several_files_of_answers_are_one_frame(study_folder: Write) -> None:
    more = '[[answers]]\nfile = "more.jsonl"\ncalibration = "classifier"\nmodel = "c"\n\n[taxonomy]'
    rows = (
        '{"item_id": 1, "predicted": "red", "confidence": 1}\n{"item_id": 2, "predicted": "red", "confidence": "x"}\n'
    )
    study = load_study(study_folder({"more.jsonl": rows}, replace={"[taxonomy]": more}))
    assert study.series()[["model", "calibration", "elicitation", "answers", "unreadable"]].to_dict("list") == {
        "model": ["m", "c"],
        "calibration": ["language_model", "classifier"],
        "elicitation": ["verbal", ""],
        "answers": [3, 2],
        "unreadable": [0, 1],
    }
    twice = {"[taxonomy]": more.replace('"more.jsonl"', '"answers.csv"').replace('"c"', '"m"\nprompt = "p"')}
    again = load_study(study_folder(replace=twice))
    assert len(again.answers) == 6


def test_an_answer_given_again_in_another_file_is_found(study_folder: Write) -> None:
    same = 'calibration = "language_model"\nelicitation = "verbal"\nmodel = "m"\nprompt = "p"\n\n'
    more = f'[[answers]]\nfile = "more.csv"\n{same}'
    files = {"more.csv": "item_id,predicted,confidence\n3,red,0.1\n"}
    with pytest.raises(
        StudyError, match=r"^colours/more\.csv, data row 1 .*item '3' has a second answer .*answers\.csv"
    ):
        load_study(study_folder(files, replace={"[taxonomy]": more + "[taxonomy]"}))


def test_the_digest_is_of_the_data_and_nothing_else(study_folder: Write) -> None:
    plain = load_study(study_folder()).data_sha256
    assert load_study(study_folder(replace={"Two colours": "Two more colours"})).data_sha256 == plain
    assert load_study(study_folder({"answers.csv": ANSWERS.replace("0.9", "0.8")})).data_sha256 != plain


def test_annotators_are_read_beside_the_labels(study_folder: Write) -> None:
    more = '[[annotators]]\nname = "Ann"\nfile = "ann.csv"\nskip_rows = 1\ncolumns = { item_id = "no" }\n\n[taxonomy]'
    files = {"ann.csv": "A sheet,\nno,label\n1,red\n,\n2,\n9,red\n3,blue\n"}
    study = load_study(study_folder(files, replace={"[taxonomy]": more}))
    assert study.annotations.to_dict("list") == {
        "item_id": ["1", "3"],
        "annotator": ["Ann", "Ann"],
        "label": ["red", "blue"],
    }
    assert study.excluded.set_index("reason")["count"].to_dict() == {
        "annotation row without an item id": 1,
        "annotation of an unknown item": 1,
        "annotation without a label": 1,
    }
    with pytest.raises(StudyError, match=r"^colours/ann\.csv, item '1', label column: 'rot' is not a class"):
        load_study(study_folder({"ann.csv": files["ann.csv"].replace("1,red", "1,rot")}, replace={"[taxonomy]": more}))
    with pytest.raises(StudyError, match=r"^colours/ann\.csv: item '1' is annotated twice"):
        load_study(study_folder({"ann.csv": files["ann.csv"] + "1,red\n"}, replace={"[taxonomy]": more}))
