"""Reading a table at once gives what reading row by row gives."""

import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.rules import Taxonomy
from assay.rules.decimals import as_double
from assay.rules.parsing import DEFAULT_FIELDS, AnswerError, parse_classification, read_confidence
from assay.study.cells import MASS_ROUNDING, ROUNDING
from assay.study.columns import Table
from assay.study.contract import ClassificationContract, TableContract
from assay.study.reading import FileSource, read_table
from assay.study.readings import Readings, read_columns, read_completions

COLOURS = Taxonomy.of("red", "blue", "green")

written = (
    st.none()
    | st.booleans()
    | st.integers(-2, 120)
    | st.floats(-0.1, 1.1)
    | st.floats(0, 100)
    | st.sampled_from(["0.9", " 95% ", "0,9", "high", "", "1e-1", "-0", 1.00002, 100.002, -0.00005, math.nan, math.inf])
)
labels = st.sampled_from(["red", "blue", " Red", "GREEN", "abstain", "mauve", "", None, 7, True])


def columns(scale: int = 1, **given: list[object] | pd.Series) -> Readings:
    frame = pd.DataFrame(
        {name: pd.Series(values, dtype=getattr(values, "dtype", object)) for name, values in given.items()}
    )
    contract = TableContract(
        confidence="confidence" if "confidence" in given else None,
        alternatives="alternatives" if "alternatives" in given else None,
        probabilities="probabilities" if "probabilities" in given else None,
        missing_context="missing" if "missing" in given else None,
        scale=scale,
    )
    return read_columns(Table("rows", frame), contract, COLOURS)


def one_by_one(label: object, confidence: object, scale: int) -> tuple[str | None, float, tuple[str, ...], str | None]:
    """Read one row with the functions that a service reads one answer with."""
    text = {True: "true", 7: "7"}.get(label, label) if not isinstance(label, str) else label
    resolved = None if text is None else COLOURS.resolve(text)
    flags = ("label_folded",) if resolved not in (None, text) else ()
    label_error = None if resolved is not None else "unknown_class" if text else "missing_field"
    try:
        number, more = read_confidence(confidence, scale, tolerance=ROUNDING)
    except AnswerError as error:
        return None, math.nan, flags, label_error or error.kind
    if label_error:
        return None, math.nan, (*flags, *more), label_error
    return resolved, number, (*flags, *more), None


@given(st.lists(st.tuples(labels, written), min_size=1, max_size=30), st.sampled_from([1, 100]))
@settings(max_examples=100, deadline=None)
def test_a_column_reads_as_its_rows_do(rows: list[tuple[object, object]], scale: int) -> None:
    said = columns(scale, predicted=[label for label, _ in rows], confidence=[number for _, number in rows])
    expected = [one_by_one(label, number, scale) for label, number in rows]
    assert said.predicted.tolist() == [one[0] for one in expected]
    np.testing.assert_array_equal(said.confidence, [one[1] for one in expected])
    assert said.flags.tolist() == [one[2] for one in expected]
    assert said.error.tolist() == [one[3] for one in expected]


@given(
    st.lists(st.floats(-0.001, 1.001) | st.floats(-1, 101) | st.just(math.nan), min_size=1, max_size=30),
    st.sampled_from([1, 100]),
    st.sampled_from(["float64", "Float64", "float32"]),
)
@settings(max_examples=60, deadline=None)
def test_a_column_of_numbers_reads_as_each_of_them(numbers: list[float], scale: int, dtype: str) -> None:
    column = pd.Series(numbers).astype(dtype)
    said = columns(scale, predicted=["red"] * len(numbers), confidence=column)
    # Not as Python floats, which do not tell of how many bits they were.
    plain = [None if pd.isna(one) else as_double(one) for one in column.array]
    expected = [one_by_one("red", one, scale) for one in plain]
    np.testing.assert_array_equal(said.confidence, [one[1] for one in expected])
    assert said.flags.tolist() == [one[2] for one in expected]
    assert said.error.tolist() == [one[3] for one in expected]


completions = st.sampled_from(
    [
        '{"label": "red", "confidence": 0.9}',
        '```json\n{"label": "blue", "confidence": "90%", "alternatives": {"red": 0.2}}\n```',
        '{"label": "red", "confidence": 0.4, "alternatives": {"red": 0.6}, "missing_context": ["time"]}',
        '{"label": "mauve", "confidence": 0.9}',
        "no JSON at all",
        "",
    ]
)


@given(st.lists(st.tuples(completions, st.sampled_from([None, "stop", "length"])), min_size=1, max_size=30))
@settings(deadline=None)
def test_a_completion_reads_as_its_parser_reads_it(rows: list[tuple[str, str | None]]) -> None:
    texts, reasons = (pd.Series(list(column), dtype=object) for column in zip(*rows, strict=True))
    said = read_completions(texts, reasons, ClassificationContract(DEFAULT_FIELDS), COLOURS)
    for row, (text, reason) in enumerate(rows):
        kind, label, confidence, flags, missing = None, None, math.nan, (), ()
        try:
            parsed = parse_classification(text, COLOURS, finish_reason=reason)
            label, confidence, flags, missing = parsed.label, parsed.confidence, parsed.flags, parsed.missing_context
        except AnswerError as error:
            kind = error.kind
        assert (said.error[row], said.predicted[row]) == (kind, label)
        np.testing.assert_equal(said.confidence[row], confidence)
        assert (said.flags[row], said.missing_context[row]) == (flags, missing)


def test_the_rules_get_every_contender_they_had_in_the_parsed_answer() -> None:
    texts = pd.Series(['{"label": "red", "confidence": 0.4, "alternatives": {"red": 0.6, "blue": 0.55}}'])
    said = read_completions(texts, None, ClassificationContract(DEFAULT_FIELDS), COLOURS)
    assert said.alternatives.tolist() == [{"red": 0.6, "blue": 0.55}]
    table = columns(predicted=["red", "red"], confidence=[0.4, 0.6], alternatives=['{"red": 0.5, "blue": 0.1}'] * 2)
    assert table.alternatives.tolist() == [{"blue": 0.1, "red": 0.5}, {"blue": 0.1}]
    assert table.flags.tolist() == [("label_among_alternatives",)] * 2


def test_a_probability_vector_gives_the_confidence_and_the_runner_ups() -> None:
    said = columns(predicted=["red", "blue"], probabilities=['{"red": 0.7, "blue": 0.2, "green": 0.1}'] * 2)
    assert said.confidence.tolist() == [0.7, 0.2]
    assert said.alternatives.tolist() == [{"blue": 0.2, "green": 0.1}, {"red": 0.7, "green": 0.1}]


@pytest.mark.parametrize(
    "cell",
    [
        {"red": 0.7, "blue": 0.3},
        [("red", 0.7), ("blue", 0.3)],
        '{"red": 0.7, "blue": 0.3}',
        '{"red": 0.7, "Blue ": 0.3}',
        '{"red": 0.7, "blue": 0.1, "blue": 0.3}',
        '{"red": 0.7, "blue": 0.3, "BLUE": 0.1}',
    ],
)
def test_a_map_may_be_written_in_several_ways(cell: object) -> None:
    assert columns(predicted=["red"], probabilities=[cell]).alternatives.tolist() == [{"blue": 0.3}]


@pytest.mark.parametrize("names", [["red", "blue"], ["red", "blue", "green"]])
@pytest.mark.parametrize("as_map", [True, False])
def test_a_parquet_column_may_be_a_map_or_a_struct(tmp_path: Path, names: list[str], as_map: bool) -> None:
    cell = {"red": 0.7, "blue": 0.3}
    kind = pa.map_(pa.string(), pa.float64()) if as_map else pa.struct([(name, pa.float64()) for name in names])
    column = pa.array([list(cell.items()) if as_map else cell, None], type=kind)
    pq.write_table(pa.table({"predicted": ["red", "red"], "p": column}), tmp_path / "rows.parquet")
    table = read_table(FileSource(tmp_path / "rows.parquet", "rows.parquet"))
    said = read_columns(table, TableContract(confidence=None, probabilities="p"), COLOURS)
    assert said.alternatives.tolist() == [{"blue": 0.3}, None]
    assert said.error.tolist() == [None, "missing_confidence"]


@pytest.mark.parametrize(
    ("cell", "error"),
    [
        ('{"red": 1.00002, "blue": 0.0}', None),
        ('{"red": 1.0002, "blue": 0.0}', "bad_alternatives"),
        ('{"red": 0.7, "blue": 0.305}', None),
        ('{"red": 0.7, "blue": 0.32}', "bad_alternatives"),
        ('{"red": 0.7, "mauve": 0.3}', None),
        ('{"red": 0.7, "mauve": 0.32}', "bad_alternatives"),
        ('{"red": 0.7, "blue": "lots"}', "bad_alternatives"),
        ('{"red": 0.7, "blue": NaN}', "bad_alternatives"),
        ({"red": 0.7, "blue": None}, "bad_alternatives"),
        ('{"blue": 0.7}', "missing_confidence"),
        ("{}", "missing_confidence"),
        (None, "missing_confidence"),
        ("[0.7, 0.3]", "bad_alternatives"),
        ("[" * 50_000, "bad_alternatives"),
        ("0.7", "bad_alternatives"),
        ("not JSON", "bad_alternatives"),
        (0.7, "bad_alternatives"),
    ],
)
def test_what_is_no_probability_vector_is_an_error_of_its_row(cell: object, error: str | None) -> None:
    said = columns(predicted=["red", "red"], probabilities=[cell, {"red": 0.5}])
    assert said.error.tolist() == [error, None]
    assert said.confidence[1] == 0.5
    assert math.isnan(said.confidence[0]) == (error is not None)


def test_the_bounds_on_rounding_are_those_stated() -> None:
    assert (ROUNDING, MASS_ROUNDING) == (1e-4, 0.01)
    said = columns(predicted=["red"] * 3, confidence=[1.00002, 1.0001, 1.0002])
    assert said.error.tolist() == [None, None, "out_of_scale"]
    assert said.flags.tolist() == [("rounded_to_scale",), ("rounded_to_scale",), ()]
    assert said.confidence[:2].tolist() == [1.0, 1.0]


def test_a_number_in_a_file_of_text_is_not_flagged_for_it() -> None:
    assert columns(predicted=["red"], confidence=pd.Series(["0.9"], dtype="str")).flags.tolist() == [()]
    assert columns(predicted=["red"], confidence=["0.9"]).flags.tolist() == [("string_number",)]


@pytest.mark.parametrize(
    ("cell", "names", "error"),
    [
        (["time", " place "], ("time", "place"), None),
        (np.array(["time"]), ("time",), None),
        ('["time"]', ("time",), None),
        ("time", ("time",), None),
        (None, (), None),
        (" ", (), None),
        ([1], (), "bad_missing_context"),
        ("[1", (), "bad_missing_context"),
        (3.5, (), "bad_missing_context"),
    ],
)
def test_missing_context_is_a_list_of_names(cell: object, names: tuple[str, ...], error: str | None) -> None:
    said = columns(predicted=["red"], confidence=[0.5], missing=[cell])
    assert (said.missing_context[0], said.error[0]) == (names, error)


def test_the_first_of_several_faults_is_the_one_that_counts() -> None:
    said = columns(predicted=["mauve", "red", "red"], confidence=["x", "x", 0.5], alternatives=["x", "x", "x"])
    assert said.error.tolist() == ["unknown_class", "bad_confidence", "bad_alternatives"]
    assert said.predicted.tolist() == [None] * 3


anything = st.recursive(
    written,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@given(st.lists(anything, min_size=1, max_size=4))
@settings(max_examples=60, deadline=None)
def test_nothing_in_a_cell_stops_the_reading(cells: list[object]) -> None:
    for name in ("confidence", "probabilities", "alternatives", "missing"):
        given: dict[str, list[object]] = {"predicted": cells, "confidence": [0.5] * len(cells), name: cells}
        if name == "probabilities":
            del given["confidence"]
        said = columns(**given)
        assert all(
            (error is None) == (label is not None) for error, label in zip(said.error, said.predicted, strict=True)
        )
        as_text = [json.dumps(cell, default=str) for cell in cells]
        columns(**{**given, name: as_text})
