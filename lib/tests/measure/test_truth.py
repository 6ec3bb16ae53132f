"""Truth by simulation: intervals that cover, tests that hold their level, and why items are the unit.

Calibrated studies are drawn from two distributions of confidences, with one answer per item and with ten runs of each
item that mostly repeat each other. Each test prints its counts (``pytest -s``). The ordinary suite draws 200 studies and
allows for three standard errors of so few; the long one draws 2,000 and takes the bounds as they stand.
"""

from dataclasses import dataclass

import numpy as np
import pytest
from scipy import integrate

from assay.measure.corp import corp_curve
from assay.measure.ece import ece_test
from assay.measure.intervals import clustered_proportion, wilson
from assay.measure.judged import Judged
from assay.measure.scores import brier_and_log_loss

LONG = pytest.mark.long
RUNS = 10
COPIED = 0.9
"""Chance that a run repeats the item's own outcome; otherwise it is drawn anew, at the same confidence."""

VALUES = np.array([0.75, 0.85, 0.9, 0.95, 0.98, 0.99])
WEIGHTS = np.array([0.05, 0.15, 0.2, 0.35, 0.15, 0.1])


@dataclass(frozen=True)
class Confidences:
    """A distribution of confidences, drawn from and averaged over."""

    name: str

    def draw(self, n, rng):
        if self.name == "uniform":
            return rng.uniform(0.5, 1, n)
        return rng.choice(VALUES, n, p=WEIGHTS)

    def mean(self, function):
        if self.name == "uniform":
            return integrate.quad(lambda p: 2 * function(p), 0.5, 1, points=[0.75, 0.9])[0]
        return float((WEIGHTS * function(VALUES)).sum())


UNIFORM, HUNDREDTHS = Confidences("uniform"), Confidences("hundredths")


def entropy(p):
    q = np.clip(p, 1e-300, 1 - 1e-16)
    return -q * np.log(q) - (1 - q) * np.log(1 - q)


def draw_study(confidences, items, repeated, rng):
    """Draw a calibrated study: every answer is right with the probability it states."""
    stated = confidences.draw(items, rng)
    own = rng.random(items) < stated
    if not repeated:
        return stated, own, np.arange(items)
    stated, own = np.repeat(stated, RUNS), np.repeat(own, RUNS)
    anew = rng.random(len(stated)) < stated
    return stated, np.where(rng.random(len(stated)) < COPIED, own, anew), np.repeat(np.arange(items), RUNS)


def slack(studies, rate):
    """Allow three standard errors of a rate for a short run; none for a long one, whose bounds have room."""
    return 3 * np.sqrt(rate * (1 - rate) / studies) if studies < 1000 else 0.0


def scaled(*cases):
    """Each case with 200 studies in the ordinary suite, and with 2,000 in the long one."""
    return [pytest.param(200, *case, id=f"200-{'-'.join(map(name_of, case))}") for case in cases] + [
        pytest.param(2000, *case, id=f"2000-{'-'.join(map(name_of, case))}", marks=LONG) for case in cases
    ]


def name_of(value):
    return value.name if isinstance(value, Confidences) else str(value)


def long_only(*cases):
    return [pytest.param(2000, *case, id=f"2000-{'-'.join(map(name_of, case))}", marks=LONG) for case in cases]


@pytest.mark.parametrize(
    ("studies", "confidences", "items", "repeated"),
    [
        *scaled((UNIFORM, 60, False), (HUNDREDTHS, 60, True), (UNIFORM, 300, True), (HUNDREDTHS, 300, False)),
        *long_only((UNIFORM, 60, True), (HUNDREDTHS, 60, False), (UNIFORM, 300, False), (HUNDREDTHS, 300, True)),
        *long_only(*((c, 3000, r) for c in (UNIFORM, HUNDREDTHS) for r in (False, True))),
    ],
)
def test_intervals_of_brier_score_and_log_loss_cover(studies, confidences, items, repeated):
    truth = confidences.mean(lambda p: p * (1 - p)), confidences.mean(entropy)
    rng = np.random.default_rng([items, repeated])
    covered = np.zeros(2, dtype=int)
    for study in range(studies):
        scores = brier_and_log_loss(Judged.of(*draw_study(confidences, items, repeated, rng)), seed=study)
        covered += [
            score.interval.low <= true <= score.interval.high for score, true in zip(scores, truth, strict=True)
        ]
    print(f"\nBrier {covered[0]} and log loss {covered[1]} of {studies} cover")
    least = 0.91 if items == 60 else 0.93
    assert (covered >= (least - slack(studies, least)) * studies).all()
    if items > 60:
        assert (covered <= (0.975 + slack(studies, 0.975)) * studies).all()


def shares(stated, right, rng_class):
    """Accuracy; accuracy of a class of three items in ten; and caught, which answers below 0.9 are by abstaining."""
    everything = np.ones(len(stated))
    return {
        "accuracy": (right, everything),
        "class accuracy": (right & rng_class, rng_class),
        "caught": ((right | (stated < 0.9)) & rng_class, rng_class),
    }


@pytest.mark.parametrize(
    ("studies", "confidences", "items", "repeated"),
    scaled(*((c, n, r) for c in (UNIFORM, HUNDREDTHS) for n in (60, 300, 3000) for r in (False, True))),
)
def test_intervals_of_proportions_cover_and_are_not_wide(studies, confidences, items, repeated):
    truth = {"accuracy": confidences.mean(lambda p: p)}
    truth["class accuracy"] = truth["accuracy"]
    truth["caught"] = confidences.mean(lambda p: np.where(p < 0.9, 1.0, p))
    rng = np.random.default_rng([items, repeated, 7])
    covered = dict.fromkeys(truth, 0)
    width, yardstick = dict.fromkeys(truth, 0.0), dict.fromkeys(truth, 0.0)
    for _ in range(studies):
        stated, right, item = draw_study(confidences, items, repeated, rng)
        in_class = (rng.random(items) < 0.3)[item]
        for name, (hits, trials) in shares(stated, right, in_class).items():
            interval = clustered_proportion(hits, trials, item)
            covered[name] += interval.low <= truth[name] <= interval.high
            width[name] += interval.width
            effective = true_effective(confidences, name, len(np.unique(item[trials > 0])), repeated)
            low, high = wilson(truth[name] * effective, effective)
            yardstick[name] += float(high - low)
    ratios = {name: width[name] / yardstick[name] for name in truth}
    told = ", ".join(f"{name} {covered[name]} ({ratios[name]:.2f} x Wilson)" for name in truth)
    print(f"\nof {studies} cover: {told}")
    assert all(count >= (0.93 - slack(studies, 0.93)) * studies for count in covered.values())
    assert all(ratio <= 1.5 for ratio in ratios.values())


def true_effective(confidences, name, items, repeated):
    """Effective number of items from the true correlation of two runs of an item."""
    if not repeated:
        return items

    def kept(p):
        return np.where(p < 0.9, 1.0, p) if name == "caught" else p

    def both(p):
        again = COPIED**2 * p + (1 - COPIED**2) * p**2
        return np.where(p < 0.9, 1.0, again) if name == "caught" else again

    share = confidences.mean(kept)
    correlation = (confidences.mean(both) - share**2) / (share * (1 - share))
    return items * RUNS / (1 + (RUNS - 1) * correlation)


@pytest.mark.parametrize(("studies", "confidences"), scaled((UNIFORM,), (HUNDREDTHS,)))
def test_repeats_taken_as_independent_visibly_fail(studies, confidences):
    truth = {"accuracy": confidences.mean(lambda p: p), "brier": confidences.mean(lambda p: p * (1 - p))}
    rng = np.random.default_rng(8)
    covered = {"accuracy": 0, "brier": 0}
    for study in range(studies):
        stated, right, _ = draw_study(confidences, 60, True, rng)
        naive = clustered_proportion(right, np.ones(len(right)))
        covered["accuracy"] += naive.low <= truth["accuracy"] <= naive.high
        squared = brier_and_log_loss(Judged.of(stated, right), resamples=500, seed=study)[0].interval
        covered["brier"] += squared.low <= truth["brier"] <= squared.high
    print(f"\nof {studies} cover, repeats taken as independent: {covered}")
    assert all(count < 0.7 * studies for count in covered.values())


@pytest.mark.parametrize("right", [True, False])
@pytest.mark.parametrize("items", [1, 2, 17, 59, 500])
def test_all_right_or_all_wrong_is_never_a_zero_width_interval(items, right):
    for runs in (1, RUNS):
        outcome = np.full(items * runs, right)
        interval = clustered_proportion(outcome, np.ones(len(outcome)), np.repeat(np.arange(items), runs))
        assert interval.width > 1 / (items + 4)


@pytest.mark.parametrize(
    ("studies", "confidences", "items", "repeated"),
    scaled((UNIFORM, 60, False), (UNIFORM, 300, False), (UNIFORM, 300, True), (HUNDREDTHS, 300, False)),
)
def test_the_calibration_test_rejects_calibrated_studies_as_often_as_it_says(studies, confidences, items, repeated):
    rng = np.random.default_rng([items, repeated, 9])
    rejected = 0
    for study in range(studies):
        judged = Judged.of(*draw_study(confidences, items, repeated, rng))
        rejected += ece_test(judged, simulations=199, seed=study).p_value <= 0.05
    print(f"\n{rejected} of {studies} calibrated studies rejected at 0.05")
    error = 3 * np.sqrt(0.05 * 0.95 / studies)
    assert rejected <= (0.05 + error) * studies
    if confidences is UNIFORM:
        assert 0.03 - slack(studies, 0.03) <= rejected / studies <= 0.07 + slack(studies, 0.07)


@pytest.mark.parametrize(
    ("studies", "confidences", "items", "repeated"),
    [
        *scaled((UNIFORM, 60, False), (HUNDREDTHS, 300, True)),
        *long_only((UNIFORM, 300, False), (HUNDREDTHS, 60, False)),
    ],
)
def test_the_consistency_band_holds_its_level(studies, confidences, items, repeated):
    rng = np.random.default_rng([items, repeated, 10])
    consistent, points, outside = 0, 0, 0
    for study in range(studies):
        curve = corp_curve(Judged.of(*draw_study(confidences, items, repeated, rng)), simulations=399, seed=study)
        consistent += curve.consistent
        outside += curve.outside
        points += len(curve.band.confidence)
    print(f"\nenvelope holds {consistent} of {studies} curves; {outside} of {points} points outside the pointwise band")
    error = 3 * np.sqrt(0.05 * 0.95 / studies)
    assert consistent >= (0.95 - error) * studies
    assert outside <= (0.05 + error) * points
