"""Recalibration maps as plain numbers: what they compute, and which documents are refused."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.rules.documents import DocumentError
from assay.rules.recalibration import RecalibrationMap

SOURCE = {"calibration": "language_model", "elicitation": "verbal"}
TEMPERATURE = RecalibrationMap("temperature", {"temperature": 2.0}, **SOURCE)
PLATT = RecalibrationMap("platt", {"slope": 0.5, "intercept": -0.3}, **SOURCE)
BETA = RecalibrationMap("beta", {"a": 0.4, "b": 0.7, "c": 0.1}, **SOURCE)
ISOTONIC = RecalibrationMap(
    "isotonic", {"confidence": (0.2, 0.5, 0.9), "frequency": (0.1, 0.1, 0.8)}, **SOURCE, low=0.2, high=0.9, items=12
)
MAPS = [TEMPERATURE, PLATT, BETA, ISOTONIC]


def sigmoid(x):
    return 1 / (1 + math.exp(-x))


@pytest.mark.parametrize("confidence", [1e-5, 0.2, 0.5, 0.83, 1 - 1e-5])
def test_each_map_is_its_formula(confidence):
    sure, unsure = math.log(confidence), math.log(1 - confidence)
    assert TEMPERATURE.apply(confidence) == pytest.approx(sigmoid((sure - unsure) / 2), abs=1e-12)
    assert PLATT.apply(confidence) == pytest.approx(sigmoid(0.5 * (sure - unsure) - 0.3), abs=1e-12)
    assert BETA.apply(confidence) == pytest.approx(sigmoid(0.4 * sure - 0.7 * unsure + 0.1), abs=1e-12)


@pytest.mark.parametrize(
    ("confidence", "expected"), [(0.0, 0.1), (0.2, 0.1), (0.35, 0.1), (0.7, 0.45), (0.9, 0.8), (1.0, 0.8)]
)
def test_an_isotonic_map_is_linear_between_knots_and_level_outside(confidence, expected):
    assert ISOTONIC.apply(confidence) == pytest.approx(expected, abs=1e-12)


@given(st.floats(0, 1), st.floats(0, 1), st.sampled_from(MAPS))
def test_maps_never_decrease_and_stay_in_bounds(first, second, fitted):
    low, high = sorted((fitted.apply(min(first, second)), fitted.apply(max(first, second))))
    assert fitted.apply(min(first, second)) == low
    assert 0 <= low <= high <= 1


@pytest.mark.parametrize("fitted", [TEMPERATURE, PLATT, BETA])
@pytest.mark.parametrize("end", [0.0, 1.0])
def test_certain_confidences_are_clipped_at_a_millionth(fitted, end):
    assert fitted.apply(end) == fitted.apply(min(max(end, 1e-6), 1 - 1e-6))


def test_extreme_numbers_neither_overflow_nor_leave_the_interval():
    steep = RecalibrationMap("platt", {"slope": 1e6, "intercept": 0.0}, **SOURCE)
    assert steep.apply(0.0) == 0.0
    assert steep.apply(1.0) == 1.0


def test_a_map_says_where_it_extrapolates():
    assert [ISOTONIC.extrapolates(p) for p in (0.1, 0.2, 0.9, 0.95)] == [True, False, False, True]


@pytest.mark.parametrize("fitted", MAPS, ids=lambda fitted: fitted.kind)
def test_a_map_survives_json_unchanged(fitted):
    assert RecalibrationMap.from_dict(json.loads(json.dumps(fitted.to_dict()))) == fitted


@pytest.mark.parametrize("confidence", [-0.1, 1.1, math.nan, math.inf, True, "0.5", None])
def test_what_is_no_confidence_is_refused_without_being_quoted(confidence):
    with pytest.raises(ValueError, match=r"^confidence must be a number in \[0, 1\]$"):
        PLATT.apply(confidence)


@pytest.mark.parametrize("elicitation", ["verbal", "", None])
def test_the_source_of_a_map_is_accepted(elicitation):
    PLATT.require_source("language_model", elicitation)


@pytest.mark.parametrize(
    ("calibration", "elicitation", "named"),
    [
        ("classifier", None, "apply to classifier ones"),
        ("language_model", "token", "apply to language_model token ones"),
    ],
)
def test_another_source_is_refused_and_both_are_named(calibration, elicitation, named):
    with pytest.raises(ValueError, match=f"fitted on language_model verbal confidences does not {named}"):
        PLATT.require_source(calibration, elicitation)


@pytest.mark.parametrize(
    ("kind", "parameters", "message"),
    [
        ("spline", {}, "kind must be one of temperature, platt, beta, isotonic, got 'spline'"),
        ("platt", {"slope": 1.0}, "must be slope, intercept, got slope"),
        ("platt", {"slope": -0.1, "intercept": 0.0}, "slope of a map of kind platt must be at least 0, got -0.1"),
        ("platt", {"slope": 1.0, "intercept": math.nan}, "intercept must be a finite number"),
        ("platt", {"slope": True, "intercept": 0.0}, "slope must be a finite number"),
        ("temperature", {"temperature": 0.0}, "temperature must be above 0, got 0.0"),
        ("beta", {"a": 1.0, "b": -1.0, "c": 0.0}, "b of a map of kind beta must be at least 0"),
        ("isotonic", {"confidence": (), "frequency": ()}, "at least one number"),
        ("isotonic", {"confidence": (0.1, 0.2), "frequency": (0.1,)}, "equally long, got 2 and 1"),
        ("isotonic", {"confidence": (0.2, 0.2), "frequency": (0.1, 0.2)}, "strictly increasing"),
        ("isotonic", {"confidence": (0.1, 0.2), "frequency": (0.3, 0.2)}, "never decrease"),
        ("isotonic", {"confidence": (0.1, 1.2), "frequency": (0.3, 0.4)}, r"numbers in \[0, 1\], got 1.2"),
    ],
)
def test_a_map_that_would_not_be_one_is_refused(kind, parameters, message):
    with pytest.raises(ValueError, match=message):
        RecalibrationMap(kind, parameters, **SOURCE)


def test_a_range_out_of_order_is_refused():
    with pytest.raises(ValueError, match=r"0 <= low <= high <= 1, got 0\.9 and 0\.1"):
        RecalibrationMap("temperature", {"temperature": 1.0}, **SOURCE, low=0.9, high=0.1)


def changed(**fields):
    return {**PLATT.to_dict(), **fields}


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ([], "recalibration must be an object"),
        (changed(kind="spline"), "recalibration.kind must be one of"),
        (
            changed(calibration="guess"),
            "recalibration.calibration must be one of classifier, language_model, got 'guess'",
        ),
        (changed(elicitation="guess"), "recalibration.elicitation must be one of"),
        (changed(items=-1), "recalibration.items must be a whole number"),
        (changed(low=2), r"recalibration.low must be a number in \[0, 1\]"),
        (changed(low=0.9, high=0.1), "recalibration: low and high must satisfy"),
        (changed(extra=1), "unknown field 'extra'"),
        (changed(parameters={"slope": 1.0}), "recalibration.parameters.intercept is missing"),
        (changed(parameters={"slope": 1.0, "intercept": 0, "shift": 1}), "unknown field 'shift'"),
        (changed(parameters={"slope": "1", "intercept": 0}), "recalibration.parameters.slope must be a number"),
        (changed(parameters={"slope": -1.0, "intercept": 0}), "slope of a map of kind platt must be at least 0"),
        (changed(kind="isotonic", parameters={"confidence": 1, "frequency": []}), "must be an array of numbers"),
        (changed(kind="isotonic", parameters={"confidence": [0.1, None], "frequency": [0, 1]}), r"confidence\[1\]"),
    ],
)
def test_a_document_that_is_no_map_is_refused_by_field(document, message):
    with pytest.raises(DocumentError, match=message):
        RecalibrationMap.from_dict(document)


@pytest.mark.parametrize("field", sorted(PLATT.to_dict()))
def test_a_missing_field_is_named(field):
    document = {name: value for name, value in PLATT.to_dict().items() if name != field}
    if field == "elicitation":  # the one that may be left out
        assert RecalibrationMap.from_dict(document).elicitation is None
    else:
        with pytest.raises(DocumentError, match=f"recalibration.{field} is missing"):
            RecalibrationMap.from_dict(document)
