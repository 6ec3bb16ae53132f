"""The two ends of the scale, in numbers and in words."""

import numpy as np
import pandas as pd
import pytest

from assay.measure.bands import compare_bands, difference_of_proportions
from assay.measure.intervals import UNKNOWN, clustered_proportion
from assay.study import load_study


def series(high_right, low_right, zero_right, n=200):
    confidence = np.concatenate([np.full(n, 1.0), np.full(n, 0.3), np.full(n, 0.0), np.full(n, 0.8)])
    right = np.concatenate([np.arange(n) < share * n for share in (high_right, low_right, zero_right, 0.7)])
    predicted = np.where(confidence == 0, "oos", "card")
    return pd.DataFrame(
        {
            "item_id": np.arange(4 * n).astype(str),
            "label": np.where(right, predicted, "other"),
            "predicted": predicted,
            "confidence": confidence,
        }
    )


def test_reversed_ends_are_said_with_both_shares_on_the_scale_of_the_study():
    bands = compare_bands(series(0.55, 0.62 * 2 - 0.4, 0.4, n=1000))
    assert bands.reversed
    text = bands.findings("llama", scale=100)[0]
    assert text.startswith("llama's answers above 99 are right less often (55 %) than its answers below 50 (62 %)")
    assert "1,000 answers and 2,000" in text
    assert "below 0.5" in bands.findings("llama")[0]


def test_ends_in_order_are_said_so():
    bands = compare_bands(series(0.9, 0.3, 0.1))
    assert not bands.reversed
    assert "right more often (90 %)" in bands.findings("m")[0]


def test_ends_that_chance_could_explain_are_not_told_apart():
    bands = compare_bands(series(0.56, 0.6, 0.54))
    assert not bands.reversed
    assert "cannot be told from" in bands.findings("m")[0]


def test_zeros_are_shown_for_what_they_are():
    bands = compare_bands(series(0.9, 0.5, 0.79))
    assert bands.zero.estimate == pytest.approx(0.79)
    assert bands.zero_class == "oos"
    text = bands.findings("qwen", scale=100)[1]
    assert text.startswith("200 answers of qwen state exactly 0, all of them choosing oos, and 79 % (")
    assert "mostly right" in text
    assert "of the other answers below 50, 50 % (" in text


def test_bounds_are_strict_and_compared_as_decimals():
    frame = series(1, 1, 1)
    frame["confidence"] = 0.1 + 0.2  # a hair above 0.3 in binary
    bands = compare_bands(frame, 0.3, 0.3)
    assert bands.low.n == bands.high.n == 0
    assert bands.findings("m") == ()


def test_intervals_are_clustered_by_item():
    frame = series(0.5, 0.5, 0.5, n=10)
    tripled = pd.concat([frame] * 3, ignore_index=True)
    assert compare_bands(tripled).high.high == pytest.approx(compare_bands(frame).high.high)


def test_a_difference_is_that_of_newcombe():
    # Newcombe (1998), table II (a): 56/70 and 48/80, method 10: 0.0524 to 0.3339.
    first = clustered_proportion(np.arange(70) < 56, np.ones(70))
    second = clustered_proportion(np.arange(80) < 48, np.ones(80))
    found = difference_of_proportions(first, second)
    assert (found.low, found.high) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    assert not difference_of_proportions(first, UNKNOWN).known


def test_bounds_out_of_order_are_refused():
    with pytest.raises(ValueError, match=r"0 <= low <= high <= 1, got 0.9 and 0.5"):
        compare_bands(series(1, 1, 1), 0.9, 0.5)


def test_the_cheap_model_of_banking77_is_right_less_often_when_surest():
    answers = load_study("banking77").answers
    cheap = compare_bands(answers[answers["model"] == "llama3.2:3b"])
    assert cheap.reversed
    text = cheap.findings("llama3.2:3b", scale=100)[0]
    assert text.startswith(
        "llama3.2:3b's answers above 99 are right less often (55 %) than its answers below 50 (62 %)"
    )
    expensive = compare_bands(answers[answers["model"] != "llama3.2:3b"])
    assert (expensive.zero.n, expensive.zero_class, expensive.zero_class_share) == (1838, "oos", 1.0)
    assert expensive.zero.low > 0.5
