import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.rules.parsing import SCALES, VECTOR_TOLERANCE, AnswerError, read_confidence

scales = st.sampled_from(SCALES)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=4,
)
hundredths = st.integers(0, 100)


def kind(value: object, scale: int = 1, **options: float) -> str:
    with pytest.raises(AnswerError) as caught:
        read_confidence(value, scale, **options)
    return caught.value.kind


@given(json_values, scales)
def test_any_value_is_a_share_or_one_of_three_errors(value, scale):
    try:
        confidence, flags = read_confidence(value, scale)
    except AnswerError as error:
        unreadable = error.kind
    else:
        unreadable = None
        assert 0 <= confidence <= 1
        assert math.copysign(1, confidence) == 1
        assert set(flags) <= {"string_number", "percent", "suspicious_scale"}
    assert unreadable in {None, "missing_confidence", "bad_confidence", "out_of_scale"}


@given(st.floats(0, 1))
def test_a_number_on_a_scale_of_one_is_itself(value):
    assert read_confidence(value) == (value, ())


@given(st.floats(0, 100))
def test_a_number_on_a_scale_of_a_hundred_is_divided_by_it(value):
    assert read_confidence(value, 100)[0] == value / 100


@given(hundredths)
def test_hundredths_read_the_same_on_either_scale_and_as_percent(whole):
    assert read_confidence(whole, 100)[0] == read_confidence(whole / 100)[0] == read_confidence(f"{whole}%")[0]
    assert read_confidence(f" {whole} % ", 100) == (whole / 100, ("percent",))


@given(st.floats(allow_nan=False).filter(lambda value: not 0 <= value <= 1), scales)
def test_a_number_outside_the_scale_is_an_error_and_never_rescaled(value, scale):
    assert kind(value * scale, scale) == "out_of_scale"


@pytest.mark.parametrize("value", [95, 1.0000000000000002, -1e-300, 10**400, -(10**400), math.inf, Fraction(3, 2)])
def test_nothing_is_clamped_to_the_scale_of_one(value):
    assert kind(value) == "out_of_scale"


@given(st.floats(0, 1), scales)
def test_a_number_in_a_string_is_that_number_and_is_flagged(value, scale):
    confidence, flags = read_confidence(repr(value * scale), scale)
    assert confidence == read_confidence(value * scale, scale)[0]
    assert "string_number" in flags


@pytest.mark.parametrize(
    ("written", "value"), [(" .5 ", 0.5), ("1.", 1.0), ("9e-1", 0.9), ("+0.25", 0.25), ("-0", 0.0)]
)
def test_decimal_numbers_are_read_in_every_spelling(written, value):
    assert read_confidence(written) == (value, ("string_number",))


@pytest.mark.parametrize(
    "word", ["high", "0,9", "4/5", "NaN", "inf", "1_0", "0x1", "٠.٩", "95 percent", "%", "0.9.", "1e"]
)
def test_a_string_that_is_no_decimal_number_is_bad(word):
    assert kind(word) == "bad_confidence"


@pytest.mark.parametrize("value", [True, False, [], [0.9], {}, {"value": 0.9}, b"0.9", 1j])
def test_booleans_and_containers_are_no_numbers(value):
    assert kind(value) == "bad_confidence"


@pytest.mark.parametrize("value", [None, "", "  ", math.nan])
def test_nothing_stated_is_missing_and_never_zero(value):
    assert kind(value) == "missing_confidence"


@pytest.mark.parametrize("percent", ["101%", "-1%", "1e9%"])
def test_a_percentage_outside_0_to_100_is_off_either_scale(percent):
    assert kind(percent) == kind(percent, 100) == "out_of_scale"


@pytest.mark.parametrize(("value", "flagged"), [(0, False), (1e-9, True), (0.95, True), (1, True), (1.01, False)])
def test_above_0_up_to_1_is_suspicious_on_a_scale_of_100_only(value, flagged):
    assert ("suspicious_scale" in read_confidence(value, 100)[1]) is flagged
    assert ("suspicious_scale" in read_confidence(str(value), 100)[1]) is flagged
    if value <= 1:
        assert read_confidence(value)[1] == ()


def test_a_percentage_of_at_most_one_is_not_suspicious():
    assert read_confidence("1%", 100) == (0.01, ("percent",))


@pytest.mark.parametrize("scale", SCALES)
def test_rounding_is_tolerated_within_the_stated_bound_and_flagged(scale):
    assert read_confidence(1.00002 * scale, scale, tolerance=VECTOR_TOLERANCE) == (1.0, ("rounded_to_scale",))
    assert read_confidence(-0.00002 * scale, scale, tolerance=VECTOR_TOLERANCE) == (0.0, ("rounded_to_scale",))
    assert kind(1.0001 * scale, scale, tolerance=VECTOR_TOLERANCE) == "out_of_scale"
    assert kind(1.00002 * scale, scale) == "out_of_scale"


def test_numbers_of_other_libraries_are_read():
    numpy = pytest.importorskip("numpy")
    assert read_confidence(numpy.float32(0.5)) == (0.5, ())
    assert read_confidence(numpy.int64(95), 100) == (0.95, ())
    assert kind(numpy.bool_(True)) == "bad_confidence"


@pytest.mark.parametrize("options", [{"scale": 10}, {"scale": "1"}, {"tolerance": 0.5}, {"tolerance": -1}])
def test_an_undeclared_scale_or_tolerance_is_refused(options):
    with pytest.raises(ValueError, match=next(iter(options))):
        read_confidence(2, **options)


def test_no_message_gives_the_value():
    for value in ("confidently-72913", 72913, -72913.5, "72913%"):
        with pytest.raises(AnswerError) as caught:
            read_confidence(value)
        assert "72913" not in str(caught.value)
