"""What serving from a cheap model comes to on labels, beside each of the two models alone.

Two models may agree and both be wrong, so what a router serves is judged as any other policy is: by accuracy, by the
figures of the gated classes, and by the study's gates, as a policy that was settled before these items were looked at.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.measure.certificate import Certificate, CertificateError, certify
from assay.measure.comparison import Comparison, compare
from assay.measure.decide import decide_table
from assay.measure.differences import share_bounds
from assay.measure.figures import DecisionFigures, figures_of
from assay.measure.floors import reaches_floors
from assay.measure.intervals import FloatArray, Interval, clustered_proportion
from assay.measure.resample import DEFAULT_RESAMPLES
from assay.measure.selection import ALL
from assay.measure.table import AnswerTable
from assay.rules import Taxonomy
from assay.study.parts import CERTIFICATION, TUNING

CHEAP, EXPENSIVE, ROUTED = "cheap alone", "expensive alone", "routed"
"""The three systems that are compared on labels."""

GAIN = "accuracy less expensive alone"


@dataclass(frozen=True)
class System:
    """What one of the systems comes to on labels, each answer taken at its word.

    Attributes
    ----------
    name : str
    accuracy : Interval
        Share of items right; an item without a readable answer is not right.
    figures : DecisionFigures
    """

    name: str
    accuracy: Interval
    figures: DecisionFigures


@dataclass(frozen=True)
class JudgedRouting:
    """The three systems on the same labelled items.

    Attributes
    ----------
    systems : tuple of System
        Cheap alone, expensive alone, routed.
    comparison : Comparison
        Of their accuracies, paired by item; of two where the router serves nothing cheap.
    served_cheap : Interval
        Share of items that the cheap model served.
    disagreed : Interval
        Share of those on which the expensive model says something else, or nothing readable.
    agreed_wrong : Interval
        Among the items on which both say the same: the share on which both are wrong.
    certificate : Certificate or None
        Of the routed system against the study's gates, as a policy fixed before these items were looked at.
    refusal : str
        Why there is no certificate; empty where there is one.
    """

    systems: tuple[System, ...]
    comparison: Comparison
    served_cheap: Interval
    disagreed: Interval
    agreed_wrong: Interval
    certificate: Certificate | None
    refusal: str

    def system(self, name: str) -> System:
        """Return a system by its name."""
        return next(one for one in self.systems if one.name == name)


def along_floors(
    answers: pd.DataFrame, taxonomy: Taxonomy, confidences: Sequence[float], min_margin: float, seed: int
) -> pd.DataFrame:
    """Trace the routed system as the confidence floor rises, at one margin floor.

    Parameters
    ----------
    answers : DataFrame
        ``item_id``, ``label``, ``cheap``, ``expensive`` (the class each said), ``confidence``, ``margin``.
    taxonomy : Taxonomy
    confidences : floats in [0, 1]
    min_margin : float in [0, 1]
    seed : int
        Of the resampling of items behind the intervals of `GAIN`.

    Returns
    -------
    DataFrame
        One row per floor and figure: ``min_confidence``, ``served_cheap`` (share), ``figure``, ``estimate``, ``low``,
        ``high``, ``items``. Figures: accuracy, `GAIN` (paired by item), and each gated class's accuracy and share
        caught.
    """
    rows: list[tuple[object, ...]] = []
    alone = _right(answers["expensive"], answers["label"])
    for floor in confidences:
        served = reaches_floors(answers, (floor, min_margin))
        said = answers["cheap"].where(served, answers["expensive"])
        system = _system(ROUTED, answers, said, taxonomy)
        at = (floor, float(served.mean()) if len(served) else float("nan"))
        for name, interval in labelled_figures(system, taxonomy).items():
            rows.append((*at, name, interval.estimate, interval.low, interval.high, interval.n))
        right = _right(said, answers["label"])
        gained = right - alone
        bounds = share_bounds(gained, 0.95, DEFAULT_RESAMPLES, seed)
        estimate = float(gained.mean()) if len(gained) else float("nan")
        rows.append((*at, GAIN, estimate, bounds.low, bounds.high, len(gained)))
    return pd.DataFrame(rows, columns=["min_confidence", "served_cheap", "figure", "estimate", "low", "high", "items"])


def labelled_figures(system: System, taxonomy: Taxonomy) -> dict[str, Interval]:
    """Return a system's accuracy, and class accuracy and share caught of each gated class, by name."""
    named = {"accuracy": system.accuracy}
    for name in taxonomy.gated:
        named[f"class accuracy {name}"] = system.figures.class_accuracy[name]
        named[f"caught {name}"] = system.figures.caught[name]
    return named


def judge_routing(
    routed: pd.DataFrame,
    answers: pd.DataFrame,
    taxonomy: Taxonomy,
    *,
    cheap: str,
    chosen_on: str,
    parts: pd.Series,
    seed: int,
) -> JudgedRouting:
    """Judge by labels what a router served.

    Parameters
    ----------
    routed : DataFrame
        ``item_id``, ``label``, ``predicted`` (missing where nothing was served) and ``model``.
    answers : DataFrame
        What both models say of the same items, in the same order; see `along_floors`.
    taxonomy : Taxonomy
    cheap : str
        Name of the cheap model.
    chosen_on : {"tuning", "certification", "all"}
        Which part of the study's items chose the floors. A certificate is given on the certification part alone, after
        a choice on the tuning part.
    parts : Series of str by item id
    seed : int

    Raises
    ------
    ValueError
        If the two frames are not about the same items.
    """
    if list(routed["item_id"]) != list(answers["item_id"]):
        raise ValueError("routed and answers must have the same items in the same order")
    said = {CHEAP: answers["cheap"], EXPENSIVE: answers["expensive"], ROUTED: routed["predicted"]}
    served = (routed["model"] == cheap).to_numpy(dtype=bool)
    agree = (answers["cheap"] == answers["expensive"]).to_numpy(dtype=bool)
    wrong = (answers["cheap"] != answers["label"]).to_numpy(dtype=bool)
    compared = pd.concat(
        [_frame(answers, values).assign(system=name) for name, values in said.items() if name != ROUTED or served.any()]
    )
    certificate, refusal = _certificate(_frame(routed, routed["predicted"]), taxonomy, chosen_on, parts, seed)
    return JudgedRouting(
        systems=tuple(_system(name, answers, values, taxonomy) for name, values in said.items()),
        comparison=compare(compared, variants="system", within=(), metrics=["accuracy"], seed=seed),
        served_cheap=_share(served),
        disagreed=_share(~agree[served]),
        agreed_wrong=_share(wrong[agree]),
        certificate=certificate,
        refusal=refusal,
    )


def _certificate(
    frame: pd.DataFrame, taxonomy: Taxonomy, chosen_on: str, parts: pd.Series, seed: int
) -> tuple[Certificate | None, str]:
    """Test the routed system, a policy settled on other items, on every item here; or say why not."""
    if not taxonomy.gates:
        return None, "the study has no gate to certify against"
    if chosen_on == CERTIFICATION:
        return None, "the floors were chosen on the certification part, so none is left to certify on"
    selected_on = TUNING if chosen_on == TUNING else ALL
    try:
        return certify(frame, taxonomy, seed=seed, parts=parts, fixed=(0.0, 0.0), selected_on=selected_on), ""
    except CertificateError:
        return None, "the floors were chosen on all items, so none are left to certify on"


def _system(name: str, answers: pd.DataFrame, said: pd.Series, taxonomy: Taxonomy) -> System:
    table = AnswerTable.from_frame(_frame(answers, said), taxonomy)
    figures = figures_of(table, decide_table(table, 0.0, 0.0), 0.0, 0.0, classes=taxonomy.gated)
    return System(name, _share(table.correct), figures)


def _frame(answers: pd.DataFrame, said: pd.Series) -> pd.DataFrame:
    """Answers taken at their word: one certain answer for each item, so that no threshold and no tie rule touches it.

    A routed system mixes two scales of confidence, on which a threshold would mean nothing.
    """
    known = said.notna().to_numpy()
    return pd.DataFrame(
        {
            "item_id": answers["item_id"].to_numpy(),
            "label": answers["label"].to_numpy(),
            "predicted": said.to_numpy(dtype=object),
            "confidence": np.where(known, 1.0, np.nan),
        }
    )


def _right(said: pd.Series, labels: pd.Series) -> FloatArray:
    return np.asarray(said.to_numpy(dtype=object) == labels.to_numpy(dtype=object), dtype=np.float64)


def _share(hits: NDArray[np.bool_]) -> Interval:
    return clustered_proportion(hits, np.ones(len(hits)))
