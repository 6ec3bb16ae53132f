"""Comparing variants (prompts, as a rule) on the items they share: which is better, and whether that is more than chance.

Everything is paired by item. The primary metrics, named beforehand, are tested: shares of one answer per item by
McNemar's exact test, all else by swapping the two variants' answers within items; Holm's adjustment covers all pairs of
a group and all primary metrics. Other metrics get intervals only and are marked exploratory. What is not found is given
its size: the smallest difference that as many items, as discordant, could have shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from assay.measure.decide import require_share
from assay.measure.differences import ItemDraws
from assay.measure.holm import holm
from assay.measure.metrics import ACCURACY, SHARE, Metric, find_metrics, metrics_of
from assay.measure.pairing import Pair, PairSettings, compare_pair
from assay.measure.permutation import PER_TEST, permutations_needed
from assay.measure.power import LEVEL
from assay.measure.resample import DEFAULT_RESAMPLES
from assay.measure.side import Group, read_groups
from assay.measure.variant_summary import VariantSummary, summarise
from assay.measure.variants import split_variants, variant_columns
from assay.rules import Taxonomy
from assay.study.items import TAG_PREFIX
from assay.study.series import KEYS

if TYPE_CHECKING:
    from assay.study.study import Study


@dataclass(frozen=True)
class Comparison:
    """What came of comparing the variants of a study.

    Attributes
    ----------
    variants : tuple of VariantSummary
    pairs : tuple of Pair
        All pairs within each group; a pair without a shared item has no differences.
    columns, within : tuple of str
        Whose values tell variants apart, and which compared variants share.
    metrics, primary : tuple of Metric
    tests : dict of str to int
        Number of tests that Holm's adjustment covers, by group.
    threshold, tie_margin : float
        At which class metrics decide.
    confidence : float
        Of every interval.
    resamples, permutations, seed : int
        No permutations where McNemar's test serves throughout.
    """

    variants: tuple[VariantSummary, ...]
    pairs: tuple[Pair, ...]
    columns: tuple[str, ...]
    within: tuple[str, ...]
    metrics: tuple[Metric, ...]
    primary: tuple[Metric, ...]
    tests: dict[str, int]
    threshold: float
    tie_margin: float
    confidence: float
    resamples: int
    permutations: int
    seed: int

    @property
    def groups(self) -> tuple[str, ...]:
        """Names of the groups in which something can be compared."""
        return tuple(dict.fromkeys(pair.group for pair in self.pairs if pair.items))

    def ranking(self, group: str, metric: Metric | None = None) -> list[VariantSummary]:
        """Return a group's variants, best first, by the first primary metric or another.

        All answers count: one that could not be read is not right.
        """
        metric = metric or self.primary[0]
        sign = -1 if metric.higher_is_better else 1

        def place(one: VariantSummary) -> tuple[bool, float]:
            value = one.estimates.get(metric.name, float("nan"))
            return bool(np.isnan(value)), sign * round(value, 12)

        return sorted((one for one in self.variants if one.group == group), key=place)

    def pair(self, a: str, b: str, group: str = "") -> Pair:
        """Return a pair as ``a`` against ``b``, turned round if need be; KeyError if there is none."""
        for one in self.pairs:
            if one.group == group and (one.a, one.b) == (a, b):
                return one
            if one.group == group and (one.a, one.b) == (b, a):
                return one.turned()
        raise KeyError(f"no pair {a!r} and {b!r} in group {group!r}")

    def frame(self) -> pd.DataFrame:
        """Return one row per pair and metric, with everything known of it."""
        rows = []
        for pair in self.pairs:
            for one in pair.differences:
                rows.append(
                    {
                        "group": pair.group,
                        "a": pair.a,
                        "b": pair.b,
                        "metric": one.metric.name,
                        "role": "primary" if one.primary else "exploratory",
                        "items": one.items,
                        "value_a": one.a,
                        "value_b": one.b,
                        "difference": one.difference,
                        "low": one.low,
                        "high": one.high,
                        "a_ahead": one.a_ahead,
                        "b_ahead": one.b_ahead,
                        "test": one.test,
                        "p_value": one.p_value,
                        "p_adjusted": one.adjusted,
                        "verdict": one.verdict,
                        "smallest": one.smallest,
                        "smallest_in_family": one.smallest_in_family,
                        "note": one.note,
                    }
                )
        return pd.DataFrame(rows)


def compare(
    source: pd.DataFrame | Study,
    taxonomy: Taxonomy | None = None,
    *,
    variants: str | Sequence[str] | None = None,
    within: str | Sequence[str] | None = None,
    primary: str | Iterable[str] = ACCURACY.name,
    metrics: Iterable[str] | None = None,
    threshold: float = 0.0,
    tie_margin: float = 0.10,
    confidence: float = 0.95,
    resamples: int = DEFAULT_RESAMPLES,
    permutations: int | None = None,
    seed: int = 0,
) -> Comparison:
    """Compare every pair of variants on the items both answer.

    Parameters
    ----------
    source : Study, or tidy frame
        A frame needs ``item_id``, either ``correct`` or both ``label`` and ``predicted``, and the columns of the
        variants; see `item_means` for the others it may have.
    taxonomy : Taxonomy, optional
        A study's own by default. Without one there are no class metrics.
    variants : str or sequence of str, optional
        The columns whose values tell variants apart. By default the prompt where some model has several, else all of
        model, prompt, calibration and elicitation.
    within : str or sequence of str, optional
        The columns that compared variants must share. By default the rest of those four, and the tag of a study whose
        values are data sets of their own.
    primary : str or iterable of str
        The metrics that are tested, to be named before looking; see `assay.measure.metrics`.
    metrics : iterable of str, optional
        All metrics to compute, the primary ones among them or not; by default every one that the columns allow.
    threshold, tie_margin : float in [0, 1]
        At which decisions are made for class accuracy and caught; an unreadable answer abstains.
    confidence : float in (0, 1)
        Two-sided confidence of the intervals, each by itself.
    resamples : int
        Bootstrap samples of items.
    permutations : int, optional
        By default 20 for each test of the largest group over 0.05, and at least 1,000; fewer than the former are refused.
    seed : int

    Returns
    -------
    Comparison

    Raises
    ------
    ValueError
        If a column or metric is not known, a variant answers an item twice in one run, or an argument is out of range.
    """
    answers = source if isinstance(source, pd.DataFrame) else source.answers
    within_tag = () if isinstance(source, pd.DataFrame) else _within_tag(source)
    taxonomy = taxonomy if taxonomy is not None or isinstance(source, pd.DataFrame) else source.taxonomy
    for name, value in (("threshold", threshold), ("tie_margin", tie_margin)):
        require_share(name, value)
    if answers.empty:
        raise ValueError("a comparison needs answers; the frame has no rows")
    columns = variant_columns(answers) if variants is None else _names(variants)
    fixed = (
        _names(within) if within is not None else (*(k for k in KEYS if k in answers and k not in columns), *within_tag)
    )
    known = metrics_of(taxonomy)
    tested = find_metrics(primary, known, "primary")
    chosen = known if metrics is None else find_metrics(metrics, known, "metrics")
    wanted = tuple(one for one in known if one in chosen or one in tested)
    found, items = split_variants(answers, columns, fixed)
    groups = read_groups(found, len(items), wanted, taxonomy, threshold, tie_margin)
    swaps = any(one.form != SHARE for one in tested) or any(side.repeated for group in groups for side in group.sides)
    permutations = _permutations(groups, len(tested), permutations) if swaps else 0
    draws = ItemDraws(resamples, seed)
    settings = PairSettings(wanted, tested, confidence, permutations, seed, draws)
    families = [_adjust(_pairs(group, items, settings)) for group in groups]
    return Comparison(
        variants=tuple(summarise(group.name, side, settings) for group in groups for side in group.sides),
        pairs=tuple(pair for pairs, _ in families for pair in pairs),
        columns=tuple(columns),
        within=tuple(fixed),
        metrics=wanted,
        primary=tested,
        tests={group.name: tests for group, (_, tests) in zip(groups, families, strict=True)},
        threshold=threshold,
        tie_margin=tie_margin,
        confidence=confidence,
        resamples=resamples,
        permutations=permutations,
        seed=seed,
    )


def _within_tag(study: Study) -> tuple[str, ...]:
    return (TAG_PREFIX + study.compare_within,) if study.compare_within else ()


def _names(value: str | Sequence[str]) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _permutations(groups: Sequence[Group], metrics: int, given: int | None) -> int:
    """How many to draw; refuse fewer than can carry Holm's adjustment over the largest group."""
    tests = max(len(group.sides) * (len(group.sides) - 1) // 2 for group in groups) * metrics
    if given is None:
        return permutations_needed(tests)
    needed = int(np.ceil(PER_TEST * tests / LEVEL))
    if given < needed:
        raise ValueError(f"permutations must be at least {needed:,} for {tests:,} tests in a group, got {given:,}")
    return given


def _pairs(group: Group, items: pd.Index, settings: PairSettings) -> list[Pair]:
    return [compare_pair(group.name, items, a, b, settings) for a, b in combinations(group.sides, 2)]


def _adjust(pairs: Sequence[Pair]) -> tuple[list[Pair], int]:
    """Put in the adjusted p-values of one group, and the differences that its tests could have shown."""
    raw = [one.p_value for pair in pairs for one in pair.differences]
    tests = int(np.count_nonzero(~np.isnan(raw)))
    adjusted = iter(holm(raw).tolist())
    done = []
    for pair in pairs:
        differences = [
            replace(
                one,
                adjusted=next(adjusted),
                smallest=one.least(1),
                smallest_in_family=one.least(tests) if one.primary and tests else float("nan"),
            )
            for one in pair.differences
        ]
        done.append(replace(pair, differences=tuple(differences)))
    return done, tests
