"""`study.toml` is read strictly: every fault is one line that names the key and what is allowed."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.rules.answers import Calibration, Elicitation
from assay.study import Costs, DistributionContract, StudyError, TableContract, load_study
from assay.study.settings import read_settings

Write = Callable[..., Path]


def test_settings_are_what_the_file_says(study_folder: Write) -> None:
    read = read_settings(study_folder())
    assert (read.title, read.licence, read.seed, read.certification_share) == ("Two colours", "MIT", 7, 0.5)
    assert read.contract == TableContract()
    assert (read.answers[0].calibration, read.answers[0].elicitation) == (
        Calibration.LANGUAGE_MODEL,
        Elicitation.VERBAL,
    )
    assert read.answers[0].constants == {"model": "m", "prompt": "p"}
    assert read.prevalence is None
    assert read.costs is None


def test_prevalence_and_costs_are_optional_tables(study_folder: Write) -> None:
    costs = '[costs]\nmisroute = 50\nabstention = 1.5\nover_restriction = 0\nunit = "EUR"\n\n[taxonomy]'
    more = f"[prevalence]\nred = 0.9\nblue = 0.1\n\n{costs}"
    study = load_study(study_folder(replace={"[taxonomy]": more}))
    assert study.prevalence == {"red": 0.9, "blue": 0.1}
    assert study.costs == Costs(50, 1.5, 0, "EUR")


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("seed = 7", "seeds = 7", r"unknown key 'seeds' \(did you mean 'seed'\?\)|seed is missing"),
        ("seed = 7", "seed = 7\nshare = 0.5", "unknown key 'share'"),
        ("seed = 7", "", "seed is missing"),
        ("seed = 7", 'seed = "seven"', "seed must be a whole number"),
        ("seed = 7", "seed = 7\ncertification_share = 1.0", "certification_share must lie strictly between 0 and 1, got 1.0"),
        ('title = "Two colours"', 'title = "Two colours', r"not TOML: .*line 1"),
        ('title = "Two colours"', "title = 3", "title must be a string"),
        ('kind = "table"', 'kind = "tabel"', r"contract.kind must be one of .*'tabel' \(did you mean 'table'\?\)"),
        ('kind = "table"', 'kind = "table"\nscale = 10', "contract.scale must be 1 or 100, got 10"),
        ('kind = "table"', 'kind = "table"\nconfidense = "c"', r"unknown key 'confidense' \(did you mean 'confidence'\?\)"),
        ('kind = "table"', 'kind = "table"\nprobabilities = "p"\nconfidence = "c"', "leave those two out"),
        ('kind = "table"', 'kind = "classification"\nlabel = "x"\nconfidence = "x"', "'x' is named twice"),
        ('calibration = "language_model"', 'calibration = "verbal"', "calibration must be one of classifier, language_model"),
        ('elicitation = "verbal"', 'elicitation = "spoken"', "elicitation must be one of verbal, token, vote, got 'spoken'"),
        ('calibration = "language_model"', 'calibration = "classifier"', "a classifier's number is not elicited"),
        ('model = "m"', 'model = "m"\ncolumns = { model = "m" }', "named both as a column and as the same for every row"),
        ('model = "m"', 'model = "m"\ncolumns = { itemid = "i" }', r"unknown key 'itemid' \(did you mean 'item_id'\?\)"),
        ('model = "m"', 'model = "m"\ncolumns = { run = { column = "r", split = "", part = 1 } }', "split must not be empty"),
        ('file = "answers.csv"', "", r"answers\[1\].file is missing"),
        ('file = "answers.csv"', 'file = "../answers.csv"', "must be a path inside the study's folder"),
        ('file = "answers.csv"', 'file = "/etc/passwd.csv"', "must be a path inside the study's folder"),
        ('file = "answers.csv"', 'file = "answers.csv"\nencoding = "klingon"', "'klingon' is no text encoding"),
        ('file = "answers.csv"', 'file = "answers.csv"\nencoding = "zip"', "'zip' is no text encoding"),
        ('file = "answers.csv"', 'file = "answers.csv"\ndelimiter = ", "', "delimiter must be one ASCII character"),
        ('file = "items.csv"', 'file = "items.csv"\ntags = ["a b"]', "a tag is named by letters"),
        ('file = "items.csv"', 'file = "items.csv"\ncompare_within = "set"', r"'set' is not a tag \(the tags are none\)"),
        ('file = "items.csv"', 'file = "items.csv"\nencoding = 8', "encoding must be a string"),
        ("[taxonomy]", "[prevalence]\nred = 0.5\n[taxonomy]", "the shares must sum to 1, got 0.5"),
        ("[taxonomy]", "[prevalence]\nreed = 1.0\n[taxonomy]", r"'reed' is not a class \(did you mean 'red'\?\)"),
        ("[taxonomy]", "[costs]\nmisroute = -1\n[taxonomy]", "misroute must be a number of at least 0, got -1"),
        ("[taxonomy]", "[costs]\nmisroute = 1\n[taxonomy]", "costs.abstention is missing"),
        ("[taxonomy]", '[prompts]\np = "none.txt"\n[taxonomy]', "there is no file 'none.txt'"),
        ('abstain = "abstain"', "", "taxonomy.abstain: missing"),
        ('name = "red"', 'nam = "red"', r"taxonomy.class: unknown key 'nam' \(did you mean 'name'\?\)"),
        ("[taxonomy]", "[taxonomie]", r"unknown key 'taxonomie' \(did you mean 'taxonomy'\?\)"),
        ("[taxonomy]", '[[gate]]\nmetric = "caught"\nclasses = ["rad"]\n[taxonomy]', "'rad' is not a class .*'red'"),
    ],
)  # fmt: skip
def test_a_fault_is_one_line_with_file_and_key(study_folder: Write, old: str, new: str, message: str) -> None:
    folder = study_folder(replace={old: new})
    with pytest.raises(StudyError, match=rf"^colours/study\.toml.*({message})") as caught:
        load_study(folder)
    assert "\n" not in str(caught.value)


def test_an_unknown_key_goes_before_the_missing_one_that_it_stands_for(study_folder: Write) -> None:
    with pytest.raises(StudyError, match=r"unknown key 'seeds' \(did you mean 'seed'\?\)"):
        load_study(study_folder(replace={"seed = 7": "seeds = 7"}))


def test_a_byte_order_mark_and_windows_line_endings_are_fine(study_folder: Write) -> None:
    folder = study_folder()
    text = (folder / "study.toml").read_text().replace("\n", "\r\n")
    (folder / "study.toml").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert load_study(folder).title == "Two colours"


def test_another_encoding_of_the_settings_is_a_clear_error(study_folder: Write) -> None:
    folder = study_folder()
    (folder / "study.toml").write_bytes((folder / "study.toml").read_text().encode("utf-16"))
    with pytest.raises(StudyError, match=r"^colours/study\.toml: the file is UTF-16"):
        load_study(folder)


QUESTION = """\
kind = "distribution"
question = "colour"

[contract.questions.colour]
kind = "choice"
instructions = "Which colour?"
"""


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('question = "colour"', 'question = "color"', r"'color' is not one of the questions \(colour\)"),
        ('kind = "choice"', 'kind = "choose"', "kind must be one of choice, score, noul"),
        ('kind = "choice"', 'kind = "choice"\ncriteria = { red = "", green = "grass" }', "'green' is not a class"),
        ('kind = "choice"', 'kind = "choice"\ncriteria = { red = "" }', "at least two criteria are needed"),
        ('kind = "choice"', 'kind = "score"\nlevels = ["1", "2"]', "levels must be a list of"),
        ('instructions = "Which colour?"', 'instructions = " "', "instructions must not be blank"),
    ],
)  # fmt: skip
def test_the_question_of_a_distribution_is_checked(study_folder: Write, old: str, new: str, message: str) -> None:
    with pytest.raises(StudyError, match=message):
        load_study(study_folder(replace={'kind = "table"\n': QUESTION.replace(old, new)}))


def test_the_criteria_of_a_question_are_the_classes_unless_it_says_otherwise(study_folder: Write) -> None:
    contract = read_settings(study_folder(replace={'kind = "table"\n': QUESTION})).contract
    assert isinstance(contract, DistributionContract)
    assert contract.questions["colour"].labels == ("blue", "red")


@given(
    st.sampled_from(["title", "seed", "certification_share", "items", "contract", "answers", "annotators", "prompts"])
    | st.sampled_from(["prevalence", "costs", "taxonomy", "gate"]),
    st.text(alphabet='ab1"=[]{},.\n #-', max_size=30),
)
@settings(max_examples=150, deadline=None)
def test_no_text_gives_anything_but_a_study_or_its_error(tmp_path_factory, key: str, garbage: str) -> None:
    folder = tmp_path_factory.mktemp("study")
    (folder / "study.toml").write_text(f"{key} = {garbage}", encoding="utf-8")
    with pytest.raises(StudyError) as caught:
        load_study(folder)
    assert "\n" not in str(caught.value)


@given(st.binary(max_size=100))
@settings(max_examples=100, deadline=None)
def test_no_bytes_give_anything_but_the_error(tmp_path_factory, content: bytes) -> None:
    folder = tmp_path_factory.mktemp("study")
    (folder / "study.toml").write_bytes(content)
    with pytest.raises(StudyError):
        load_study(folder)
