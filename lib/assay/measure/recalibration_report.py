"""Every map for every series: fitted on the tuning part, judged on the certification part."""

from collections.abc import Sequence
from dataclasses import dataclass

import pandas as pd

from assay.measure.judged import Judged
from assay.measure.recalibration import KINDS, fit_recalibration
from assay.measure.recalibration_check import RecalibrationVerdict, choose_recalibration, judge_recalibration
from assay.study import CERTIFICATION, TUNING, Series

FOLDS = 5


@dataclass(frozen=True)
class JudgedMap:
    """One map of one series.

    Attributes
    ----------
    series : str
    kind : str
    favoured : bool
        Whether cross-validation within the tuning part prefers it to every other map and to none.
    verdict : RecalibrationVerdict or None
        None where the map cannot be fitted.
    note : str
        Empty, or what a reader must know of the fit.
    """

    series: str
    kind: str
    favoured: bool
    verdict: RecalibrationVerdict | None
    note: str = ""

    @property
    def helps(self) -> bool:
        """Whether it lowers the Brier score of the other part beyond chance."""
        return self.verdict is not None and self.verdict.brier_change.high < 0


def judge_maps(series: Sequence[Series], parts: pd.Series, seed: int) -> list[JudgedMap]:
    """Fit and judge every kind of map for every series that has right and wrong answers to fit on.

    Parameters
    ----------
    series : sequence of Series
    parts : Series of str by item id
        From `Study.parts`.
    seed : int
    """
    judged = []
    for one in series:
        part = one.answers["item_id"].map(parts)
        tuning = Judged.from_frame(one.answers[part == TUNING])
        other = Judged.from_frame(one.answers[part == CERTIFICATION])
        if tuning.items < FOLDS or not len(other) or tuning.correct.all() or not tuning.correct.any():
            continue
        favoured = choose_recalibration(tuning, folds=FOLDS, seed=seed).kind
        for kind in KINDS:
            try:
                fitted = fit_recalibration(tuning, kind)
            except ValueError as error:
                judged.append(JudgedMap(one.name, kind, False, None, f"not fitted: {error}"))
                continue
            verdict = judge_recalibration(fitted.map, other, seed)
            judged.append(JudgedMap(one.name, kind, kind == favoured, verdict, fitted.note))
    return judged
