"""The safety rules: from what a model said to what the system does.

`apply_safety_rules` is pure and deterministic. It is the function a production service calls for every answer and the
one that every threshold in the notebooks was tuned against.
"""

import logging
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from assay.rules.decimals import below, gap_within
from assay.rules.taxonomy import Taxonomy

TIE = "tie"
THRESHOLD = "threshold"
MISSING_CONTEXT = "missing_context"
REASONS = (TIE, THRESHOLD, MISSING_CONTEXT)
"""Why a decision may differ from the label a model chose, in the order in which the rules fire."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Classification:
    """What one model said of one item, once read.

    Parameters
    ----------
    label : str
        The class it chose.
    confidence : float in [0, 1]
    alternatives : mapping of str to float in [0, 1]
        Other classes it considered, each with its confidence. The chosen class may be among them.
    missing_context : tuple of str
        What it says the question lacks, such as ``time_expression``.
    entities : mapping
        Whatever it extracted (equipment, tags, time expression); carried, never interpreted.
    flags : tuple of str
        What was normalised when the answer was read, so that a study can count it.
    """

    label: str
    confidence: float
    alternatives: Mapping[str, float] = field(default_factory=dict)
    missing_context: tuple[str, ...] = ()
    entities: Mapping[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


@dataclass(frozen=True)
class Decision:
    """What the rules made of an answer: the final label and every reason that fired, in order."""

    label: str
    reasons: tuple[str, ...] = ()


def apply_safety_rules(
    classification: Classification, *, taxonomy: Taxonomy, threshold: float, tie_margin: float = 0.10
) -> Decision:
    """Decide what to do with one answer: tie, then threshold, then missing context.

    Parameters
    ----------
    classification : Classification
        Its label must be a class of the taxonomy or the abstain name; alternatives of unknown name are skipped.
    taxonomy : Taxonomy
    threshold : float in [0, 1]
        An answer whose own confidence is strictly below it abstains, unless its class is exempt.
    tie_margin : float in [0, 1]
        Classes whose confidence is within this of the highest are tied (a gap of exactly the margin ties); the most
        restrictive of them wins, and where several share the highest rank the decision is to abstain.

    Returns
    -------
    Decision
        Comparisons are of numbers rounded to 1e-9, so decimals compare as they are written.

    Raises
    ------
    ValueError
        If a bound or a confidence lies outside [0, 1], or the label is not one of the taxonomy.
    """
    _require_share("threshold", threshold)
    _require_share("tie_margin", tie_margin)
    _require_share("confidence", classification.confidence)
    if classification.label not in taxonomy and classification.label != taxonomy.abstain:
        # The label may be a model's own words, so it is not quoted.
        raise ValueError("classification.label must be a class of the taxonomy or its abstain name")

    reasons = []
    label = _winner(classification, taxonomy, tie_margin)
    if label != classification.label:
        reasons.append(TIE)
    if below(classification.confidence, threshold) and label not in taxonomy.threshold_exempt:
        reasons.append(THRESHOLD)
        label = taxonomy.abstain
    if any(rule.label == label and rule.missing in classification.missing_context for rule in taxonomy.context):
        reasons.append(MISSING_CONTEXT)
        label = taxonomy.abstain
    return Decision(label, tuple(reasons))


def _winner(classification: Classification, taxonomy: Taxonomy, tie_margin: float) -> str:
    """Return the most restrictive class among those tied for the lead, or the abstain name if that is not one."""
    contenders = _contenders(classification, taxonomy)
    if not contenders:
        return classification.label
    leading = max(contenders.values())
    tied = [name for name, confidence in contenders.items() if gap_within(leading, confidence, tie_margin)]
    highest = max(taxonomy.rank(name) for name in tied)
    chosen = classification.label
    if taxonomy.never_loosen and chosen in taxonomy and highest < taxonomy.rank(chosen):
        return chosen
    winners = [name for name in tied if taxonomy.rank(name) == highest]
    return winners[0] if len(winners) == 1 else taxonomy.abstain


def _contenders(classification: Classification, taxonomy: Taxonomy) -> dict[str, float]:
    contenders = {}
    unknown = 0
    for name, confidence in classification.alternatives.items():
        if name not in taxonomy:
            unknown += 1
            continue
        _require_share("confidence of an alternative", confidence)
        contenders[name] = confidence
    if unknown:
        _log.warning("skipped %d alternative(s) whose class is unknown", unknown)
    chosen = classification.label
    if chosen in taxonomy:
        # A model may list its own choice among the alternatives: the larger of the two is the contender.
        contenders[chosen] = max(classification.confidence, contenders.get(chosen, 0.0))
    return contenders


def _require_share(name: str, value: float) -> None:
    if not 0 <= value <= 1:
        raise ValueError(f"{name} must lie in [0, 1], got {value!r}")
