"""Coverage at equal safety: how much each variant may act on under a policy of its own that is certified for the same gates.

Accuracy counts all answers, also those that a policy would not act on. What a deployment gains by a variant is the share
of items that it may act on while the gates hold.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from assay.measure.certificate import Certificate, certify
from assay.measure.decide import decide_table
from assay.measure.differences import share_bounds
from assay.measure.table import AnswerTable
from assay.measure.units import first_answers
from assay.measure.variants import Variant, split_variants
from assay.study.parts import CERTIFICATION

if TYPE_CHECKING:
    from assay.measure.comparison import Comparison
    from assay.study.study import Study


@dataclass(frozen=True)
class CertifiedVariant:
    """A variant and the certificate of its own policy."""

    group: str
    name: str
    certificate: Certificate


@dataclass(frozen=True)
class CoverageDifference:
    """Two variants with certified policies: the difference of the shares of items they act on.

    Attributes
    ----------
    group, a, b : str
    items : int
        Items of the certification part that both answer.
    difference, low, high : float
        Coverage of a less that of b, with its paired interval over items.
    """

    group: str
    a: str
    b: str
    items: int
    difference: float
    low: float
    high: float


@dataclass(frozen=True)
class EqualSafety:
    """Every variant's certificate, and the coverage differences of those that have one.

    Attributes
    ----------
    variants : tuple of CertifiedVariant
    differences : tuple of CoverageDifference
    """

    variants: tuple[CertifiedVariant, ...]
    differences: tuple[CoverageDifference, ...]


def equal_safety(study: Study, comparison: Comparison) -> EqualSafety:
    """Certify a policy for each variant of a comparison and compare what they act on.

    Parameters
    ----------
    study : Study
        Of both parts: policies are found on the tuning part and tested on the certification part.
    comparison : Comparison

    Returns
    -------
    EqualSafety
        Each of a group's k variants is certified at delta / k, so that the best of them may be taken afterwards. Empty
        for a study without a gate.
    """
    if not study.taxonomy.gates:
        return EqualSafety((), ())
    variants, _ = split_variants(study.answers, comparison.columns, comparison.within)
    parts = study.parts()
    certified, differences = [], []
    for group in comparison.groups:
        members = [one for one in variants if one.group == group]
        of_group = []
        for one in members:
            certificate = certify(
                one.answers,
                study.taxonomy,
                seed=study.seed,
                certification_share=study.certification_share,
                parts=parts,
                choices=len(members),
            )
            of_group.append((one, certificate))
            certified.append(CertifiedVariant(group, one.name, certificate))
        acted = {one.name: _acted_on(one, kept, study, parts) for one, kept in of_group if kept.passed}
        differences += [_difference(group, a, b, acted[a], acted[b], comparison) for a, b in combinations(acted, 2)]
    return EqualSafety(tuple(certified), tuple(differences))


def _acted_on(variant: Variant, certificate: Certificate, study: Study, parts: pd.Series) -> pd.Series:
    """Tell of each item of the certification part whether the certified policy acts on it; indexed by item."""
    first = first_answers(variant.answers)
    first = first[(first["item_id"].map(parts) == CERTIFICATION).to_numpy()]
    table = AnswerTable.from_frame(first, study.taxonomy)
    assert certificate.threshold is not None
    assert certificate.tie_margin is not None
    code = decide_table(table, certificate.threshold, certificate.tie_margin).code
    return pd.Series(code != table.abstain_code, index=first["item_id"].to_numpy(), dtype=np.float64)


def _difference(
    group: str, a: str, b: str, acted_a: pd.Series, acted_b: pd.Series, comparison: Comparison
) -> CoverageDifference:
    difference = (acted_a - acted_b).dropna().to_numpy()
    bounds = share_bounds(difference, comparison.confidence, comparison.resamples, comparison.seed)
    estimate = float(difference.mean()) if len(difference) else float("nan")
    return CoverageDifference(group, a, b, len(difference), estimate, bounds.low, bounds.high)
