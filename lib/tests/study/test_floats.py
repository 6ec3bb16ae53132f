"""A float of few bits is the decimal that was written, wherever it comes from."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.measure.decide import decide_table
from assay.measure.table import AnswerTable
from assay.rules import Classification, LabelClass, Taxonomy, apply_safety_rules, nano, read_confidence
from assay.study.columns import ColumnSource
from assay.study.floats import doubles, widened, widened_lists
from assay.study.reading import FileSource, read_table

TAXONOMY = Taxonomy((LabelClass("low", 0), LabelClass("high", 1)), "ask")
HUNDREDTHS = [number / 100 for number in range(101)]


@given(st.integers(0, 10**6))
def test_a_decimal_of_six_places_survives_32_bits(number):
    written = number / 10**6
    assert doubles(np.array([written], dtype=np.float32)) == [written]
    assert nano(np.float32(written)) == nano(written)
    assert read_confidence(np.float32(written)) == (written, ())


@given(st.floats(width=32))
def test_a_narrow_float_keeps_its_value_and_those_that_are_no_number_stay_so(number):
    wide = doubles(np.array([number], dtype=np.float32))
    np.testing.assert_array_equal(wide.astype(np.float32), np.array([number], dtype=np.float32))


@pytest.mark.parametrize("dtype", ["float16", "float32", "Float32", "float[pyarrow]", "float64", "Float64", "object"])
def test_hundredths_are_read_as_written_from_a_column_of_any_type(dtype):
    column = pd.Series(HUNDREDTHS, dtype=dtype)
    np.testing.assert_array_equal(doubles(column), HUNDREDTHS)
    np.testing.assert_array_equal(widened(column).to_numpy(dtype=float), HUNDREDTHS)
    frame = pd.DataFrame({"label": "low", "predicted": "low", "confidence": column})
    for threshold in (0.07, 0.9, 0.95):
        table = AnswerTable.from_frame(frame, TAXONOMY)
        kept = decide_table(table, threshold, 0.1).code == 0
        assert kept.sum() == sum(number >= threshold for number in HUNDREDTHS)
        rules = [
            apply_safety_rules(Classification("low", value), taxonomy=TAXONOMY, threshold=threshold).label == "low"
            for value in np.array(HUNDREDTHS, dtype=np.float32)
        ]
        assert sum(rules) == kept.sum()


def test_missing_numbers_stay_missing():
    column = pd.Series([0.9, None, 0.3], dtype="Float32")
    assert widened(column).isna().tolist() == [False, True, False]
    assert widened(column).dtype == "Float64"
    np.testing.assert_array_equal(doubles(column), [0.9, np.nan, 0.3])


def test_scores_of_32_bits_decide_as_those_of_64():
    scores = np.array([[0.9, 0.1], [0.6, 0.4], [0.45, 0.55]])
    wide, narrow = (
        AnswerTable.from_scores([0, 0, 1], scores.astype(kind), TAXONOMY) for kind in (np.float64, np.float32)
    )
    np.testing.assert_array_equal(wide.confidence, narrow.confidence)
    np.testing.assert_array_equal(wide.alternative_confidence, narrow.alternative_confidence)


NESTED = {
    "list": (pa.list_(pa.float32()), [[0.9, 0.1], None, []]),
    "large list": (pa.large_list(pa.float32()), [[0.9, 0.1], None, []]),
    "map": (pa.map_(pa.string(), pa.float32()), [[("low", 0.9), ("high", 0.1)], None, []]),
    "struct": (pa.struct({"low": pa.float32(), "n": pa.int32()}), [{"low": 0.9, "n": 3}, None, {"low": None, "n": 1}]),
    "deep": (pa.list_(pa.struct({"p": pa.list_(pa.float32())})), [[{"p": [0.9]}], None, []]),
}


@pytest.mark.parametrize("kind", NESTED)
def test_nested_floats_are_read_as_written(kind):
    arrow, values = NESTED[kind]
    assert widened_lists(pa.chunked_array([pa.array(values, arrow)])).to_pylist() == values


def test_a_parquet_file_of_32_bits_is_read_as_the_json_of_the_same_answers(tmp_path):
    rows = [{"label": "low", "confidence": 0.9, "probabilities": {"low": 0.9, "high": 0.1}}] * 3
    (tmp_path / "a.jsonl").write_text("\n".join(map(json.dumps, rows)))
    kind = pa.struct({"low": pa.float32(), "high": pa.float32()})
    narrow = pa.table(
        {
            "label": ["low"] * 3,
            "confidence": pa.array([0.9] * 3, pa.float32()),
            "probabilities": pa.array([row["probabilities"] for row in rows], kind),
        }
    )
    pq.write_table(narrow, tmp_path / "a.parquet")
    wide, found = (read_table(FileSource(tmp_path / name, name)) for name in ("a.jsonl", "a.parquet"))
    for column in ("confidence", "probabilities"):
        source = ColumnSource(column)
        assert found.raw(source, "x").tolist() == wide.raw(source, "x").tolist()
