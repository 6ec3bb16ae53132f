"""Intervals clustered by item beside the naive ones."""

import numpy as np
import pytest

from assay.measure.clustering import compare_clustering
from assay.measure.judged import Judged


def test_ten_copies_make_naive_intervals_about_three_times_too_narrow():
    rng = np.random.default_rng(41)
    confidence = np.round(rng.uniform(0.5, 1, 100), 2)
    correct = rng.random(100) < confidence
    judged = Judged.of(np.repeat(confidence, 10), np.repeat(correct, 10), np.repeat(np.arange(100), 10))
    comparison = compare_clustering(judged)
    assert comparison.effective == pytest.approx(100)
    table = comparison.table().set_index("figure")
    assert list(table.index) == ["accuracy", "brier", "log_loss"]
    np.testing.assert_allclose(table["times_wider"], np.sqrt(10), rtol=0.1)
    (text,) = comparison.findings()
    assert "1,000 answers to 100 items tell about the accuracy what 100 independent answers would" in text
    assert "times too narrow" in text


def test_without_repeats_nothing_changes_and_it_says_so():
    comparison = compare_clustering(Judged.of([0.5, 0.9, 0.8], [0, 1, 1]))
    assert comparison.clustered == comparison.naive
    assert comparison.findings() == ("No item is answered twice: clustering by item changes nothing.",)


def test_nothing_readable_is_an_error():
    with pytest.raises(ValueError, match="no readable answer"):
        compare_clustering(Judged.of([], []))
