"""A frame in hand is a study in one call."""

from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pandas.testing import assert_frame_equal

from assay.rules import Gate, LabelClass, Taxonomy
from assay.study import UNNAMED, Study, StudyError

FRAME = pd.DataFrame(
    {"label": ["red", "blue", "blue"], "predicted": ["red", "red", "mauve"], "confidence": [0.9, 0.6, 0.75]}
)


def test_three_columns_are_enough() -> None:
    study = Study.from_frame(FRAME)
    assert study.items["item_id"].tolist() == ["1", "2", "3"]
    assert study.answers["correct"].tolist() == [True, False, False]
    assert (study.name, study.folder, study.excluded.empty, study.annotations.empty) == ("frame", None, True, True)
    assert set(study.answers["model"]) == {UNNAMED}
    assert repr(study) == "<Study frame: 3 items, 3 answers>"


def test_the_frame_is_not_changed() -> None:
    frame = FRAME[["label", "predicted", "confidence"]].set_axis(["x", "y", "z"])
    before = frame.copy(deep=True)
    Study.from_frame(frame)
    assert_frame_equal(frame, before)


def test_a_column_that_only_has_a_known_name_can_be_left_out() -> None:
    frame = FRAME.assign(error=[0, 1, 0], latency_s=["1.2s", "3s", "-"], text=[["a"], ["b"], ["c"]])
    study = Study.from_frame(frame, leave_out=["error", "latency_s", "text"])
    assert study.answers["error"].isna().all()
    assert study.answers["latency_s"].isna().all()
    assert set(study.items["text"]) == {""}
    for wrong, more in (("eror", {}), ("label", {}), ("model", {"model": "predicted"})):
        with pytest.raises(StudyError, match=f"leave_out: '{wrong}' is named as a column, too, or is none of model"):
            Study.from_frame(FRAME, leave_out=[wrong], **more)


def test_what_occurs_is_the_taxonomy_unless_one_is_given() -> None:
    assert Study.from_frame(FRAME).taxonomy.names == ("blue", "mauve", "red")
    given_one = Taxonomy((LabelClass("blue", 1), LabelClass("red")), "ask", gates=(Gate("caught", ("blue",)),))
    study = Study.from_frame(FRAME, taxonomy=given_one)
    assert study.taxonomy == given_one
    assert study.answers["error"].tolist()[2] == "unknown_class"


def test_predictions_that_differ_only_in_case_or_abstain_make_no_class() -> None:
    frame = FRAME.assign(predicted=[" Red", "abstain", "BLUE"])
    study = Study.from_frame(frame)
    assert study.taxonomy.names == ("blue", "red")
    assert study.answers["predicted"].tolist() == ["red", "abstain", "blue"]


def test_labels_that_differ_only_in_case_are_refused() -> None:
    with pytest.raises(StudyError, match=r"frame: its labels are no taxonomy .*write them in one spelling"):
        Study.from_frame(FRAME.assign(label=["red", "Red", "blue"]))


def test_a_label_that_is_no_class_of_the_given_taxonomy_is_refused() -> None:
    with pytest.raises(StudyError, match=r"frame, item '2', label column: 'blue' is not a class of the taxonomy"):
        Study.from_frame(FRAME, taxonomy=Taxonomy.of("red"))


@pytest.mark.parametrize(
    ("edit", "message"),
    [
        ({"label": "labels"}, r"frame: no column 'labels' for the label \(did you mean 'label'\?\)"),
        ({"predicted": "pred"}, "no column 'pred' for the predicted class"),
        ({"confidence": "conf"}, "no column 'conf' for the confidence"),
        ({"model": "model"}, "no column 'model' for the model"),
        ({"item_id": "id"}, "no column 'id' for the item id"),
        ({"text": "question"}, "no column 'question' for the text"),
        ({"tags": ["set"]}, "no column 'set' for the tag set"),
        ({"scale": 10}, "scale must be 1 or 100, got 10"),
        ({"calibration": "verbal"}, "calibration must be one of classifier, language_model, got 'verbal'"),
        ({"elicitation": "spoken"}, "elicitation must be one of verbal, token, vote, got 'spoken'"),
        ({"certification_share": 0}, "certification_share must lie strictly between 0 and 1, got 0"),
    ],
)
def test_a_column_or_setting_that_is_wrong_is_named(edit: dict[str, object], message: str) -> None:
    with pytest.raises(StudyError, match=message):
        Study.from_frame(FRAME, **edit)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("frame", "message"),
    [
        (FRAME.iloc[:0], "there are no rows"),
        (pd.DataFrame(), "there are no rows"),
        (FRAME.assign(label=None), "no item has a label"),
        (pd.concat([FRAME, FRAME[["label"]]], axis="columns"), "the column 'label' stands there twice"),
        ([1, 2], "frame must be a pandas DataFrame, got list"),
        (
            FRAME.assign(item_id="a", label="red"),
            "item 'a' has a second answer .*number repeated answers in a column `run`",
        ),
        (FRAME.assign(item_id="a"), "item 'a' has the label"),
    ],
)
def test_a_frame_that_is_no_study_is_refused(frame: object, message: str) -> None:
    with pytest.raises(StudyError, match=message):
        Study.from_frame(frame)  # type: ignore[arg-type]


def test_a_scale_is_declared_and_never_guessed() -> None:
    frame = FRAME.assign(confidence=[90, 0.6, 101], predicted=["red", "red", "blue"])
    answers = Study.from_frame(frame, scale=100).answers
    assert answers["confidence"].tolist()[:2] == [0.9, 0.006]
    assert answers["flags"].tolist() == [(), ("suspicious_scale",), ()]
    assert answers["error"].tolist()[2] == "out_of_scale"
    assert Study.from_frame(frame).answers["error"].notna().tolist() == [True, False, True]


def test_every_column_of_a_log_is_taken() -> None:
    frame = FRAME.assign(
        q=["a", "a", "b"], label=["red", "red", "blue"], who=["m", "m", "n"], p=["L1", "L2", "L1"], set=["x", "x", "y"],
        question=["one", "one", "two"], prompt_tokens=[10, 20, None], cost_usd=["0.1", "0.2", ""], run=[1, 1, 1],
    )  # fmt: skip
    study = Study.from_frame(
        frame, item_id="q", model="who", prompt="p", text="question", tags=["set"], seed=3, title="A log"
    )
    assert (len(study.items), study.tags, study.seed, study.title) == (2, ("set",), 3, "A log")
    assert study.items["text"].tolist() == ["one", "two"]
    assert len(study.select(model="m", prompt="L2").answers) == 1
    assert study.answers["prompt_tokens"].sum() == 30
    assert study.answers["cost_usd"].sum() == pytest.approx(0.3)


def test_a_classifier_has_no_elicitation() -> None:
    study = Study.from_frame(FRAME, calibration="classifier")
    assert study.series()[["calibration", "elicitation"]].to_numpy().tolist() == [["classifier", ""]]


def test_one_item_of_one_class_is_a_study() -> None:
    study = Study.from_frame(FRAME.iloc[:1])
    assert study.taxonomy.names == ("red",)
    assert len(study.parts()) == 1


def test_an_item_without_a_label_is_counted_with_its_answer() -> None:
    study = Study.from_frame(FRAME.assign(label=["red", None, "blue"]))
    assert study.excluded[["reason", "count", "examples"]].to_numpy().tolist() == [
        ["item without a label", 1, "2"],
        ["answer to an item without a label", 1, "2"],
    ]
    assert study.answers["item_id"].tolist() == ["1", "3"]


@pytest.mark.parametrize("dtype", ["object", "str", "string", "category", "string[python]"])
def test_text_of_any_dtype_reads_the_same(dtype: str) -> None:
    typed = FRAME.astype({"label": dtype, "predicted": dtype})
    assert_frame_equal(Study.from_frame(typed).answers, Study.from_frame(FRAME).answers)


DTYPES = ["float64", "float32", "float16", "Float64", "object", "category", "str", "string", "double[pyarrow]"]
DECIMAL = pd.ArrowDtype(pa.decimal128(5, 2))


@pytest.mark.parametrize("dtype", [*DTYPES, "string[pyarrow]", "Sparse[float]", DECIMAL])
def test_confidences_of_any_dtype_read_the_same(dtype: object) -> None:
    numbers = [Decimal(one) for one in ("0.5", "0.25", "0.75")] if dtype == DECIMAL else [0.5, 0.25, 0.75]
    frame = FRAME.assign(confidence=pd.Series(numbers).astype(dtype))  # type: ignore[call-overload]
    answers = Study.from_frame(frame).answers
    assert answers["confidence"].tolist() == [0.5, 0.25, 0.75]
    assert not any(answers["flags"])


@pytest.mark.parametrize("dtype", ["Float64", "Int64", "category", "string", "double[pyarrow]", "object"])
def test_a_missing_confidence_is_missing_in_any_dtype(dtype: str) -> None:
    frame = FRAME.assign(confidence=pd.Series([1, None, 0]).astype(dtype))
    answers = Study.from_frame(frame).answers
    assert answers["error"].fillna("").tolist() == ["", "missing_confidence", ""]


@pytest.mark.parametrize("values", [[True, False, True], [1 + 1j] * 3, pd.to_datetime([0, 1, 2])])
def test_a_confidence_of_another_type_is_an_error_of_its_row(values: object) -> None:
    assert set(Study.from_frame(FRAME.assign(confidence=values)).answers["error"]) == {"bad_confidence"}


@pytest.mark.parametrize(
    ("number", "read"), [(1.00002, 1.0), (1.0001, 1.0), (-0.0001, 0.0), (1.00011, None), (-0.0002, None), (1.5, None)]
)
def test_a_number_just_off_the_scale_is_its_end_within_a_ten_thousandth(number: float, read: float | None) -> None:
    for dtype in ("float64", "str", "object"):
        answers = Study.from_frame(FRAME.assign(confidence=pd.Series([number] * 3).astype(dtype))).answers
        assert answers["confidence"].astype(object).where(answers["confidence"].notna(), None).tolist() == [read] * 3
        assert set(answers["error"].fillna("")) == {"" if read is not None else "out_of_scale"}


@pytest.mark.parametrize(
    ("label", "predicted"),
    [
        ([1, 0, 1], [1, 0, 0]),
        ([1, 0, 1], ["1", "0", "0"]),
        (["1", "0", "1"], [1, 0, 0]),
        ([True, False, True], [True, False, False]),
        ([True, False, True], ["True", "false", " FALSE"]),
        (pd.array([1, 0, 1], dtype="Int64"), [1.0, 0.0, 0.0]),
        (pd.Categorical([1, 0, 1]), np.array([1, 0, 0], dtype="int8")),
        (pd.array([True, False, True], dtype="boolean"), [True, False, False]),
        (pd.array([1, 0, 1], dtype="int64[pyarrow]"), pd.Categorical(["1", "0", "0"])),
        (pd.array([True, False, True], dtype="bool[pyarrow]"), ["true", "false", "False"]),
        (pd.arrays.SparseArray([1, 0, 1]), np.array([1, 0, 0], dtype="uint64")),
        ([Decimal("1.0"), Decimal(0), Decimal(1)], ["1", "0", "0"]),
        (pd.Categorical([True, False, True]), pd.Categorical([True, False, False])),
    ],
)
def test_whole_number_and_boolean_labels_meet_their_predictions(label: object, predicted: object) -> None:
    study = Study.from_frame(pd.DataFrame({"label": label, "predicted": predicted, "confidence": [0.9, 0.9, 0.9]}))
    assert study.answers["correct"].tolist() == [True, True, False]
    assert len(study.taxonomy.names) == 2


def test_the_digest_tells_frames_apart() -> None:
    frames = [
        FRAME,
        FRAME.assign(confidence=[0.9, 0.6, 0.7]),
        FRAME.assign(predicted=["red", "red", "blue"]),
        FRAME.assign(label=["red", "blue", "red"]),
        FRAME.iloc[::-1],
    ]
    digests = [Study.from_frame(frame).data_sha256 for frame in frames]
    assert len(set(digests)) == len(frames)
    assert Study.from_frame(FRAME.copy()).data_sha256 == digests[0]


cells = (
    st.none()
    | st.booleans()
    | st.integers(-2, 200)
    | st.floats()
    | st.text(max_size=4)
    | st.lists(st.integers(), max_size=2)
)


@given(st.lists(st.tuples(cells, cells, cells, cells), min_size=1, max_size=6), st.sampled_from([1, 100]))
@settings(max_examples=150, deadline=None)
def test_no_frame_gives_anything_but_a_study_or_its_error(rows: list[tuple[object, ...]], scale: int) -> None:
    frame = pd.DataFrame(rows, columns=["item_id", "label", "predicted", "confidence"], dtype=object)
    message = ""
    try:
        answers = Study.from_frame(frame, scale=scale).answers
        assert answers["confidence"].dropna().between(0, 1).all()
    except StudyError as error:
        message = str(error)
    assert "\n" not in message
