"""How well people agree with each other on the labels of a study."""

from dataclasses import dataclass
from itertools import combinations

import pandas as pd

from assay.measure.intervals import Interval, clustered_proportion
from assay.study import Study

FINAL = "the label used"
"""Name of the study's own label among the annotators."""


@dataclass(frozen=True)
class PairAgreement:
    """Agreement of two sets of labels on the items that both have.

    Attributes
    ----------
    first, second : str
        Annotators, or `FINAL`.
    agreement : Interval
        Share of items given the same label.
    kappa : float in [-1, 1]
        Cohen's kappa, https://doi.org/10.1177/001316446002000104; NaN where both use one single label.
    disputed : tuple of str
        Ids of the items on which they differ.
    """

    first: str
    second: str
    agreement: Interval
    kappa: float
    disputed: tuple[str, ...]


def annotator_agreement(study: Study) -> list[PairAgreement]:
    """Compare every two annotators, then each with the label used; empty without annotators."""
    if study.annotations.empty:
        return []
    labels = study.annotations.pivot(index="item_id", columns="annotator", values="label")
    labels[FINAL] = study.items.set_index("item_id")["label"]
    people = [name for name in labels.columns if name != FINAL]
    pairs = [*combinations(people, 2), *((name, FINAL) for name in people)]
    return [_pair(labels[[first, second]].dropna(), first, second) for first, second in pairs]


def _pair(both: pd.DataFrame, first: str, second: str) -> PairAgreement:
    # Most studies name no annotators, and loading it takes a second of every run.
    from sklearn.metrics import cohen_kappa_score

    same = (both[first] == both[second]).to_numpy()
    if pd.unique(both.to_numpy().ravel()).size > 1:
        kappa = float(cohen_kappa_score(both[first].astype(str), both[second].astype(str)))
    else:
        kappa = float("nan")
    interval = clustered_proportion(same.astype(float), same.astype(float) * 0 + 1)
    return PairAgreement(first, second, interval, kappa, tuple(both.index[~same]))
