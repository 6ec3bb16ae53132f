"""Making a study of a file of answers: what is guessed, said, refused, and never half made."""

import codecs
import csv
import io
import json
import math
import tempfile
import tomllib
import unicodedata
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from assay_test_tables import left, write_table
from hypothesis import given
from hypothesis import strategies as st

import assay.study.new
from assay.rules import Gate
from assay.rules.answers import Calibration, Elicitation
from assay.study import StudyError, check_manifest, load_study
from assay.study.classes import USUAL_GATE
from assay.study.guess import Asked
from assay.study.new import RESERVED, new_study

PLAIN = {
    "label": ["red", "blue", "red", "blue"],
    "predicted": ["red", "red", "red", "blue"],
    "confidence": [0.9, 0.4, 0.75, 1.0],
}


def repeated(columns: dict[str, list], times: int) -> dict[str, list]:
    return {name: values * times for name, values in columns.items()}


@pytest.mark.parametrize("name", ["answers.csv", "answers.jsonl", "answers.parquet", "ANSWERS.CSV"])
def test_three_columns_are_enough(data, name):
    path = write_table(PLAIN, name) if name != "ANSWERS.CSV" else write_table(PLAIN).rename(name)
    made = new_study("mine", path)
    study = load_study("mine")
    assert made.folder == data / "mine"
    assert study.items["item_id"].tolist() == ["1", "2", "3", "4"]
    assert study.answers["confidence"].tolist() == PLAIN["confidence"]
    assert study.answers["correct"].tolist() == [True, False, True, True]
    assert study.taxonomy.gates == (USUAL_GATE,)
    assert set(study.taxonomy.ranks.values()) == {0}
    assert check_manifest(made.folder) == ()


def test_the_file_is_kept_byte_for_byte(data):
    path = write_table(PLAIN)
    assert (new_study("mine", path).folder / "raw" / "answers.csv").read_bytes() == path.read_bytes()


# A writer whose lines end in \n leaves a lone \r bare, which is no CSV.
cell = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00\r"), min_size=1, max_size=12)
name_of_class = st.sampled_from(
    ["spam", "ham", "o'r\"d", "a,b", "two\nlines", "été", "=1+1", "0", "1", "True", "False"]
)
row = st.tuples(name_of_class, name_of_class, st.integers(0, 100), cell)


@given(
    rows=st.lists(row, min_size=1, max_size=18),
    mark=st.booleans(),
    line_end=st.sampled_from(["\n", "\r\n"]),
    hundreds=st.booleans(),
    quoting=st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
)
def test_whatever_a_csv_holds_is_what_the_study_holds(rows, mark, line_end, hundreds, quoting):
    sink = io.StringIO(newline="")
    writer = csv.writer(sink, lineterminator=line_end, quoting=quoting)
    writer.writerow(["Gold Label", "Prediction", "Confidence", "note"])
    top = 100 if hundreds else 1
    for label, predicted, confidence, note in rows:
        writer.writerow([label, predicted, confidence if hundreds else confidence / 100, note])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.csv"
        path.write_bytes((codecs.BOM_UTF8 if mark else b"") + sink.getvalue().encode())
        if not {label for label, *_ in rows} & {predicted for _, predicted, *_ in rows}:
            with pytest.raises(StudyError, match="no prediction in column 'Prediction' is one of the labels"):
                new_study("mine", path, Asked(scale=top), data=Path(folder))
            assert left(Path(folder)) == ["answers.csv"]
            return
        new_study("mine", path, Asked(scale=top), data=Path(folder))
        answers = load_study(Path(folder) / "mine").answers
    assert answers["label"].tolist() == [label for label, *_ in rows]
    assert answers["predicted"].tolist() == [predicted for _, predicted, *_ in rows]
    assert answers["confidence"].tolist() == pytest.approx([confidence / 100 for _, _, confidence, _ in rows])
    assert answers["item_id"].is_unique


@given(st.text(max_size=30), st.dictionaries(cell, cell, min_size=1, max_size=3))
def test_any_title_and_column_name_survives_in_study_toml(title, names):
    known = {"label", "predicted", "confidence"}
    extra = {name: ["x", "y", "x", "y"] for name in names if name.strip() and name.casefold().strip() not in known}
    rows = [{**{key: values[place] for key, values in (PLAIN | extra).items()}} for place in range(4)]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.jsonl"
        path.write_text("".join(json.dumps(one) + "\n" for one in rows))
        asked = Asked(
            columns={"label": "label", "predicted": "predicted", "confidence": "confidence"}, tags=tuple(extra)
        )
        made = new_study("mine", path, asked, title=title, data=Path(folder))
        assert tomllib.loads((made.folder / "study.toml").read_text())["title"] == (title or "mine")
        assert len(made.study.tags) == len(extra)


@pytest.mark.parametrize("kind", [int, bool, float])
def test_labels_may_be_numbers_or_true_and_false(data, kind):
    values = [kind(one) for one in (1, 0, 1, 0)]
    path = write_table({"label": values, "predicted": values, "confidence": [0.5] * 4}, "answers.jsonl")
    study = new_study("mine", path).study
    assert study.taxonomy.names == (("false", "true") if kind is bool else ("0", "1"))
    assert study.answers["correct"].all()


DAYS = [datetime(2024, 1, 1 + place % 2, 12, tzinfo=UTC) for place in range(4)]


@pytest.mark.parametrize(
    ("labels", "predictions"),
    [
        (pa.decimal128(38, 0), pa.decimal128(38, 5)),
        (pa.decimal128(4, 1), pa.int8()),
        (pa.int32(), pa.float64()),
        (pa.bool_(), pa.dictionary(pa.int8(), pa.bool_())),
        (pa.timestamp("us"), pa.timestamp("ns")),
        (pa.timestamp("s", "Asia/Tokyo"), pa.timestamp("ms", "America/Lima")),
        (pa.date32(), pa.date64()),
    ],
)
def test_one_label_in_two_types_is_one_label(data, labels, predictions):
    def column(kind: pa.DataType) -> pa.Array:
        if pa.types.is_timestamp(kind):
            return pa.array(DAYS, pa.timestamp("us", "UTC")).cast(pa.timestamp(kind.unit, kind.tz))
        if pa.types.is_date(kind):
            return pa.array([one.date() for one in DAYS]).cast(kind)
        if pa.types.is_decimal(kind):
            return pa.array([Decimal(place % 2) for place in range(4)], kind)
        return pa.array([place % 2 for place in range(4)]).cast(pa.bool_() if pa.types.is_dictionary(kind) else kind)

    columns = {"label": column(labels), "predicted": column(predictions), "confidence": pa.array([0.5] * 4)}
    pq.write_table(pa.table(columns), "answers.parquet")
    assert new_study("mine", "answers.parquet").study.answers["correct"].all()


COMPOSED, APART = (unicodedata.normalize(form, "été") for form in ("NFC", "NFD"))


@pytest.mark.parametrize(("label", "predicted"), [(COMPOSED, APART), (APART, COMPOSED), (APART, APART)])
def test_a_letter_in_one_piece_or_in_two_is_one_letter(data, label, predicted):
    columns = {"label": [label, COMPOSED, "hiver"], "predicted": [predicted] * 3, "confidence": [0.5] * 3}
    study = new_study("mine", write_table(columns), Asked(dangerous=(APART,))).study
    assert study.taxonomy.names == ("hiver", COMPOSED)
    assert study.answers["correct"].tolist() == [True, True, False]
    shares = {"label": [label, "hiver"], f"p_{predicted}": [0.9, 0.2], "p_hiver": [0.1, 0.8]}
    assert new_study("shares", write_table(shares)).study.answers["correct"].all()


def test_a_study_may_be_written_in_either_form(data):
    columns = {"label": [APART, "hiver"], "predicted": [COMPOSED, "hiver"], "confidence": [0.5, 0.6]}
    made = new_study("mine", write_table(columns))
    path = made.folder / "study.toml"
    path.write_text(path.read_text().replace(COMPOSED, APART) + f'[prevalence]\n"{APART}" = 0.4\nhiver = 0.6\n')
    study = load_study(made.folder)
    assert study.answers["correct"].all()
    assert study.prevalence == {COMPOSED: 0.4, "hiver": 0.6}


@pytest.mark.parametrize("alike", ["\uff52ed", "r\u200bed", "R\uff25D"])
def test_classes_that_look_alike_are_told_apart_in_words(data, alike):
    made = new_study("mine", write_table(PLAIN | {"predicted": ["red", alike, "red", "blue"]}))
    assert len(made.study.taxonomy.names) == 3
    words = [words for what, words in made.said if what == "look alike"]
    assert len(words) == 1
    assert ascii(alike) in words[0]
    assert "'red'" in words[0]


def test_labels_and_predictions_in_two_spellings_are_refused(data):
    path = write_table({"label": ["1.0", "0.0"], "predicted": ["1", "0"], "confidence": [0.5, 0.6]})
    with pytest.raises(StudyError, match=r"no prediction in column 'predicted' is one of the labels \(0.0, 1.0\)"):
        new_study("mine", path)
    assert left(data) == []


@pytest.mark.parametrize(
    ("confidence", "scale"),
    [
        (["0.5", "0.99", "1", "0"], 1),
        (["50", "99.5", "100", "0"], 100),
        (["50%", "99%", "100%", "1%"], 1),
        (["0", "1", "1", "0"], 1),
    ],
)
def test_the_scale_is_told_from_the_numbers(data, confidence, scale):
    made = new_study("mine", write_table(PLAIN | {"confidence": confidence}))
    assert made.study.contract.scale == scale
    expected = [float(one.rstrip("%")) / (100 if "%" in one else scale) for one in confidence]
    assert made.study.answers["confidence"].tolist() == pytest.approx(expected)


@pytest.mark.parametrize("confidence", [["0.5", "0.9", "0.8", "90"], ["1", "2", "300", "4"], ["-1", "-2", "0", "1"]])
def test_a_scale_that_cannot_be_told_is_asked_for(data, confidence):
    path = write_table(PLAIN | {"confidence": confidence})
    with pytest.raises(StudyError, match="--scale 1 or --scale 100"):
        new_study("mine", path)
    assert left(data) == []
    assert new_study("mine", path, Asked(scale=100)).study.contract.scale == 100


@pytest.mark.parametrize("columns", [["confidence"], ["p_red", "p_blue"], ["probabilities"]])
def test_fractions_beside_numbers_to_a_hundred_are_asked_about(data, columns):
    numbers = ["0.9", "57", "88", "50"]
    cells = [json.dumps({"red": float(one), "blue": 0}) for one in numbers] if columns == ["probabilities"] else numbers
    path = write_table({name: PLAIN[name] for name in ("label", "predicted")} | dict.fromkeys(columns, cells))
    with pytest.raises(
        StudyError, match=r"such as 0.9 \(.* stand beside such as 57 .* --scale 1 or --scale 100"
    ) as caught:
        new_study("mine", path)
    assert columns[0] in str(caught.value)
    assert left(data) == []
    assert new_study("mine", path, Asked(scale=100)).study.contract.scale == 100


def test_a_percent_sign_settles_its_own_number_and_no_other(data):
    made = new_study("mine", write_table(PLAIN | {"confidence": ["0.5%", "57", "88%", "50"]}))
    assert made.study.answers["confidence"].tolist() == pytest.approx([0.005, 0.57, 0.88, 0.5])


@pytest.mark.parametrize(
    ("cells", "shares"),
    [
        (["60%", "40 %"], [0.6, 0.4]),
        (["0.6", "40%"], [0.6, 0.4]),
        (["60", "40"], [0.6, 0.4]),
        ([".6", "4e-1"], [0.6, 0.4]),
    ],
)
def test_class_probabilities_are_written_as_a_confidence_may_be(data, cells, shares):
    path = write_table({"label": ["red", "blue"], "p_red": cells, "p_blue": cells[::-1]})
    answers = new_study("mine", path).study.answers
    assert answers["predicted"].tolist() == ["red", "blue"]
    assert answers["confidence"].tolist() == pytest.approx([shares[0]] * 2)
    assert [list(one.values()) for one in answers["alternatives"]] == [pytest.approx(shares[1:])] * 2


def test_maps_may_go_to_a_hundred(data):
    maps = ['{"red": 60, "blue": 40}', '{"red": "90%", "blue": 10}', '{"red": 55, "blue": 45}', '{"blue": 100}']
    columns = {name: PLAIN[name] for name in ("label", "predicted")} | {"probs": maps}
    assert new_study("mine", write_table(columns)).study.answers["confidence"].tolist() == [0.6, 0.9, 0.55, 1.0]


@pytest.mark.parametrize("cell", ["90%%", "%", "9/10", "1_0", "\u0665", "nan"])
def test_what_no_reader_takes_for_a_number_tells_no_scale(data, cell):
    for columns in (
        {"predicted": PLAIN["predicted"], "confidence": [cell] * 4},
        {"p_red": [cell] * 4, "p_blue": [cell] * 4},
    ):
        with pytest.raises(StudyError, match=r"holds no numbers|none for the confidence"):
            new_study("mine", write_table({"label": PLAIN["label"]} | columns))
    assert left(data) == []


def test_true_and_false_are_no_confidences(data):
    path = write_table(PLAIN | {"confidence": [True, False, True, True]}, "answers.parquet")
    with pytest.raises(StudyError, match="column 'confidence': holds no numbers"):
        new_study("mine", path)


@pytest.mark.parametrize(
    ("further", "asked", "message"),
    [
        ({"confidence": ["57", "88", "60", "50"]}, Asked(scale=1), "column 'confidence': none of 4 .* for out_of_scale"),
        ({"confidence": [""], "probs": ['{"red": 0.8, "blue": 0.7}'] * 4}, None, "column 'probs': none of 4 .* for bad_alt"),
    ],
)  # fmt: skip
def test_a_table_of_which_no_answer_can_be_read_is_no_study(data, further, asked, message):
    columns = {name: PLAIN[name] for name in ("label", "predicted")} | further
    if "probs" in columns:
        del columns["confidence"]
    with pytest.raises(StudyError, match=message):
        new_study("mine", write_table(columns), asked)
    assert left(data) == []


def test_confidences_in_words_are_no_confidences(data):
    with pytest.raises(StudyError, match="column 'confidence': holds no numbers"):
        new_study("mine", write_table(PLAIN | {"confidence": ["high", "low", "high", "low"]}))


def test_what_cannot_be_found_is_named_with_what_was_looked_for(data):
    with pytest.raises(StudyError) as caught:
        new_study("mine", write_table({"a": [1], "b": [2]}))
    for words in (
        "none for the label (looked for label, gold,",
        "--label-column",
        "none for the predicted class",
        "--scale",
    ):
        assert (words in str(caught.value)) == (words != "--scale")
    assert "none for the confidence (looked for confidence, conf," in str(caught.value)
    assert str(caught.value).endswith("Its columns are: a, b")
    assert left(data) == []


def test_columns_are_known_by_their_usual_names(data):
    columns = {
        "Ticket ID": ["t1", "t1", "t2", "t2"],
        "Question": ["why?", "why?", "how?", "how?"],
        "gold": ["a", "a", "b", "b"],
        "LLM": ["m1", "m2", "m1", "m2"],
        "y_pred": ["a", "b", "b", "b"],
        "Certainty": [10, 20, 90, 100],
        "Region": ["eu", "eu", "us", "us"],
        "is_correct": [1, 0, 1, 1],
    }
    study = new_study("mine", write_table(columns)).study
    assert study.items.to_dict("list") == {
        "item_id": ["t1", "t2"], "text": ["why?", "how?"], "label": ["a", "b"], "tag_Region": ["eu", "us"]
    }  # fmt: skip
    assert study.series()["model"].tolist() == ["m1", "m2"]


def test_a_column_named_by_a_person_goes_before_a_guess(data):
    columns = PLAIN | {"verdict": ["blue"] * 4, "human": ["blue", "red", "blue", "red"]}
    asked = Asked(columns={"label": "human", "predicted": "verdict"})
    answers = new_study("mine", write_table(columns), asked).study.answers
    assert answers["label"].tolist() == columns["human"]
    assert answers["predicted"].tolist() == columns["verdict"]
    with pytest.raises(StudyError, match=r"no column 'humans' for the label .did you mean 'human'"):
        new_study("other", write_table(columns), Asked(columns={"label": "humans"}))
    with pytest.raises(StudyError, match="'human' was named for two purposes"):
        new_study("other", write_table(columns), Asked(columns={"label": "human", "predicted": "human"}))


def test_an_id_whose_rows_disagree_is_no_item_id(data):
    path = write_table(repeated(PLAIN, 3) | {"id": ["u1", "u1", "u2", "u2"] * 3})
    made = new_study("mine", path)
    assert len(made.study.items) == 12
    assert any("its rows differ in label or text" in words for _, words in made.said)


def test_repeated_answers_to_an_item_are_its_runs(data):
    path = write_table(repeated(PLAIN, 3) | {"id": [1, 2, 3, 4] * 3})
    study = new_study("mine", path).study
    assert len(study.items) == 4
    assert study.answers["run"].tolist() == [1] * 4 + [2] * 4 + [3] * 4


def test_a_run_column_is_used_where_it_tells_answers_apart(data):
    ids = {"id": [1, 2, 3, 4] * 2}
    good = new_study("good", write_table(repeated(PLAIN, 2) | ids | {"run": [7] * 4 + [9] * 4})).study
    assert sorted(set(good.answers["run"])) == [7, 9]
    words = new_study("words", write_table(repeated(PLAIN, 2) | ids | {"run": ["first"] * 4 + ["second"] * 4})).study
    assert sorted(set(words.answers["run"])) == [1, 2]


def test_without_ids_rows_of_one_text_are_one_item(data):
    texts = {"text": ["one", "two", "three", "four"] * 2}
    made = new_study("mine", write_table(repeated(PLAIN, 2) | texts | {"model": ["m1"] * 4 + ["m2"] * 4}))
    assert made.study.items["item_id"].tolist() == texts["text"][:4]
    assert made.study.series()["items"].tolist() == [4, 4]


def test_a_column_called_prompt_that_holds_texts_is_the_text(data):
    columns = {name: [values[place % 4] for place in range(40)] for name, values in PLAIN.items()}
    prompts = [f"Please look at case {place} with care" for place in range(40)]
    study = new_study("mine", write_table(columns | {"prompt": prompts})).study
    assert study.items["text"].tolist() == prompts
    assert study.series()["prompt"].tolist() == ["unnamed"]
    named = new_study("named", write_table(columns | {"prompt": ["L1", "L2"] * 20, "id": [place // 2 for place in range(40)]}
                                     | {"label": ["red"] * 40})).study  # fmt: skip
    assert named.series()["prompt"].tolist() == ["L1", "L2"]


def test_a_column_of_probabilities_for_each_class_is_read(data):
    columns = {"truth": ["cat", "dog", "dog"], "prob_cat": ["0.7", "0.6", ""], "prob_dog": ["0.3", "0.4", "0.9"]}
    made = new_study("mine", write_table(columns))
    answers = made.study.answers
    assert answers["predicted"].tolist() == ["cat", "cat", "dog"]
    assert answers["confidence"].tolist() == [0.7, 0.6, 0.9]
    assert answers["alternatives"].tolist() == [{"dog": 0.3}, {"dog": 0.4}, None]
    assert answers["elicitation"].tolist() == ["token"] * 3
    # A confidence of its own is what was stated.
    stated = new_study(
        "stated", write_table(columns | {"predicted": ["cat", "cat", "dog"], "confidence": [0.1, 0.2, 0.3]})
    )
    assert stated.study.answers["confidence"].tolist() == [0.1, 0.2, 0.3]


def test_a_column_of_maps_is_read_as_probabilities(data):
    maps = ['{"red": 0.8, "blue": 0.2}', '{"red": 0.6, "blue": 0.4}', '{"red": 0.9}', '{"blue": 1}']
    columns = {name: PLAIN[name] for name in ("label", "predicted")} | {"probs": maps}
    assert new_study("mine", write_table(columns)).study.answers["confidence"].tolist() == [0.8, 0.6, 0.9, 1.0]


def test_a_prediction_that_says_to_abstain_names_abstaining(data):
    study = new_study("mine", write_table(PLAIN | {"predicted": ["red", "Unsure", "blue", "blue"]})).study
    assert study.taxonomy.abstain == "Unsure"
    assert study.taxonomy.names == ("blue", "red")
    labelled = PLAIN | {"label": ["red", "unsure", "red", "blue"], "predicted": ["red", "unsure", "red", "red"]}
    assert new_study("labelled", write_table(labelled)).study.taxonomy.abstain == "abstain"
    asked = new_study("asked", write_table(labelled), Asked(abstain="UNSURE")).study.taxonomy
    assert asked.abstain == "unsure"
    assert "unsure" in asked


def test_predictions_no_item_is_labelled_with_are_classes_unless_they_are_prose(data):
    some = new_study("some", write_table(PLAIN | {"predicted": ["red", "green", "red", "blue"]})).study
    assert some.taxonomy.names == ("blue", "green", "red")
    prose = new_study("prose", write_table(PLAIN | {"predicted": ["red", "well, " * 40, "red", "blue"]})).study
    assert prose.taxonomy.names == ("blue", "red")
    assert prose.answers["error"].dropna().tolist() == ["unknown_class"]


def test_dangerous_classes_and_gates_are_what_a_policy_must_show(data):
    asked = Asked(dangerous=("RED",), gates=(Gate("accepted_accuracy", (), 0.8),))
    gates = new_study("mine", write_table(PLAIN), asked).study.taxonomy.gates
    assert gates == (Gate("accepted_accuracy", (), 0.8), Gate("class_accuracy", ("red",), 0.95, 0.05))
    with pytest.raises(StudyError, match=r"'rad' is not a class .did you mean 'red'"):
        new_study("other", write_table(PLAIN), Asked(dangerous=("rad",)))


def test_where_the_confidence_comes_from_can_be_said(data):
    classifier = new_study("one", write_table(PLAIN), Asked(calibration=Calibration.CLASSIFIER)).study
    assert classifier.answers["calibration"].unique().tolist() == ["classifier"]
    vote = new_study("two", write_table(PLAIN), Asked(elicitation=Elicitation.VOTE, constants={"model": "m"})).study
    assert vote.series()[["model", "elicitation"]].to_numpy().tolist() == [["m", "vote"]]
    column = new_study("three", write_table(PLAIN | {"elicitation": ["vote", "token"] * 2})).study
    assert sorted(column.answers["elicitation"].unique()) == ["token", "vote"]


def test_a_semicolon_and_decimal_commas_are_found_out(data):
    made = new_study("mine", write_table(PLAIN, sep=";", decimal=","))
    assert made.study.answers["confidence"].tolist() == PLAIN["confidence"]
    assert any("delimiter ';'" in words for _, words in made.said)


def test_texts_are_no_labels(data):
    columns = {"label": [f"case {n}" for n in range(40)], "predicted": ["case 1"] * 40, "confidence": [0.5] * 40}
    with pytest.raises(StudyError, match="40 different labels in 40 rows are no classes"):
        new_study("mine", write_table(columns))


def test_rows_without_a_label_are_left_out_and_counted(data):
    made = new_study("mine", write_table(PLAIN | {"label": ["red", None, "red", "blue"]}))
    assert len(made.study.items) == 3
    assert made.study.excluded["count"].sum() >= 1
    assert any("1 rows have none" in words for _, words in made.said)


BAD_NAMES = [
    "",
    ".",
    "..",
    "../x",
    "a/b",
    "/etc",
    "a\\b",
    "a b",
    "-x",
    ".hidden",
    "x" * 65,
    "a\n",
    "end.",
    "a\0b",
    *RESERVED,
]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_name_that_is_no_folder_of_its_own_is_refused(data, name):
    before = left(data.parent)
    path = write_table(PLAIN)
    with pytest.raises(StudyError, match=r"a study is named by|folder of reports"):
        new_study(name, path)
    assert left(data.parent) == sorted([*before, "answers.csv"])
    assert left(data) == []


@pytest.mark.parametrize("there", ["folder", "file", "elsewhere"])
def test_what_is_there_already_stays(data, there, monkeypatch, tmp_path_factory):
    if there == "folder":
        (data / "mine").mkdir()
    elif there == "file":
        (data / "mine").write_text("kept")
    else:
        other = tmp_path_factory.mktemp("other")
        new_study("mine", write_table(PLAIN), data=other)
        monkeypatch.setenv("ASSAY_DATA", str(other))
    before = left(data)
    with pytest.raises(StudyError, match="there is a study 'mine' already"):
        new_study("mine", write_table(PLAIN))
    assert left(data) == before


def test_nothing_is_left_of_a_study_that_could_not_be_made(data, monkeypatch):
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(assay.study.new, "write_whole", full)
    with pytest.raises(OSError, match="No space left"):
        new_study("mine", write_table(PLAIN))
    assert left(data) == []


def test_a_study_that_does_not_load_is_not_made(data):
    # The same item with two labels: an id that a person insists on.
    path = write_table(repeated(PLAIN, 2) | {"who": ["u"] * 8})
    with pytest.raises(StudyError, match="has the label"):
        new_study("mine", path, Asked(columns={"item_id": "who"}))
    assert left(data) == []


@pytest.mark.parametrize("name", ["answers.xlsx", "answers", "none.csv"])
def test_a_file_that_cannot_be_read_is_named(data, name):
    if name != "none.csv":
        Path(name).write_bytes(b"x")
    with pytest.raises(StudyError, match=name):
        new_study("mine", name)


def test_an_empty_confidence_is_missing_and_never_zero(data):
    answers = new_study("mine", write_table(PLAIN | {"confidence": [0.9, None, 0.5, 0.4]})).study.answers
    assert math.isnan(answers["confidence"][1])
    assert answers["error"].dropna().tolist() == ["missing_confidence"]
