"""The split of the items depends on seed, ids and labels, and on nothing else."""

import hashlib

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.study import CERTIFICATION, TUNING, split_items

items = st.dictionaries(st.text(max_size=4), st.sampled_from("abc"), min_size=1, max_size=40)
shares = st.floats(0.01, 0.99)


def split(labels: dict[str, str], seed: int = 1, share: float = 0.5) -> pd.Series:
    ids = pd.Series(list(labels), dtype="str")
    return split_items(ids, pd.Series(list(labels.values())), seed=seed, certification_share=share)


@given(items, st.integers(0, 10), shares, st.randoms(use_true_random=False))
@settings(deadline=None)
def test_the_order_of_the_rows_changes_nothing(labels: dict[str, str], seed: int, share: float, random) -> None:
    shuffled = list(labels.items())
    random.shuffle(shuffled)
    assert split(labels, seed, share).to_dict() == split(dict(shuffled), seed, share).to_dict()


@given(items, st.integers(0, 10), shares)
@settings(deadline=None)
def test_each_label_is_cut_at_the_share_to_within_an_item(labels: dict[str, str], seed: int, share: float) -> None:
    parts = split(labels, seed, share)
    for label in set(labels.values()):
        own = parts[[one == label for one in labels.values()]]
        certifying = int((own == CERTIFICATION).sum())
        assert abs(certifying - len(own) * share) < 1 + 1e-6
        assert set(own) <= {TUNING, CERTIFICATION}


@given(items, st.integers(0, 10), shares, shares)
@settings(deadline=None)
def test_a_larger_share_only_adds_to_certification(labels: dict[str, str], seed: int, one: float, other: float) -> None:
    small, large = (split(labels, seed, share) == CERTIFICATION for share in sorted((one, other)))
    assert not (small & ~large).any()


def test_the_first_by_sha256_certify() -> None:
    labels = {f"item-{number}": "a" for number in range(10)}
    by_hash = sorted(labels, key=lambda name: hashlib.sha256(f"7:{name}".encode()).hexdigest())
    parts = split(labels, seed=7, share=0.3)
    assert set(parts.index[parts == CERTIFICATION]) == set(by_hash[:3])


def test_a_share_that_gives_a_whole_number_of_items_gives_that_number() -> None:
    labels = {f"item-{number}": "a" for number in range(100)}
    for percent in range(1, 100):
        assert (split(labels, share=percent / 100) == CERTIFICATION).sum() == percent


def test_the_odd_items_of_many_labels_do_not_all_fall_on_one_side() -> None:
    labels = {f"item-{number}": f"label-{number}" for number in range(2_000)}
    assert (split(labels) == CERTIFICATION).mean() == pytest.approx(0.5, abs=0.05)


@given(st.integers(0, 1_000))
@settings(max_examples=20, deadline=None)
def test_another_seed_is_another_split(seed: int) -> None:
    labels = {f"item-{number}": "a" for number in range(64)}
    parts = split(labels, seed)
    assert np.array_equal(parts, split(labels, seed))
    assert not np.array_equal(parts, split(labels, seed + 1))
