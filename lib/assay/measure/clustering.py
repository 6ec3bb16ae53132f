"""What repeated answers are worth: intervals clustered by item beside the naive ones.

Ten runs of an item at temperature 0 are nearly the same answer ten times. Counted as ten independent answers they make
intervals look about three times as narrow as they are. The comparison is shown so that a reader can see it on the data.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from assay.measure.intervals import Interval
from assay.measure.judged import Judged
from assay.measure.phrases import counted
from assay.measure.scores import accuracy, brier_and_log_loss


@dataclass(frozen=True)
class ClusteringComparison:
    """Intervals of the same figures, clustered by item and naive.

    Attributes
    ----------
    answers, items : int
    effective : float
        Effective number of items behind the accuracy.
    clustered, naive : dict of str to Interval
        By figure: ``accuracy``, ``brier``, ``log_loss``.
    """

    answers: int
    items: int
    effective: float
    clustered: dict[str, Interval]
    naive: dict[str, Interval]

    def table(self) -> pd.DataFrame:
        """Return one row per figure: estimate, both intervals, and how many times wider the clustered one is."""
        rows = []
        for name, clustered in self.clustered.items():
            naive = self.naive[name]
            rows.append(
                {
                    "figure": name,
                    "estimate": clustered.estimate,
                    "clustered_low": clustered.low,
                    "clustered_high": clustered.high,
                    "naive_low": naive.low,
                    "naive_high": naive.high,
                    "times_wider": clustered.width / naive.width if naive.width > 0 else None,
                }
            )
        return pd.DataFrame(rows)

    def findings(self) -> tuple[str, ...]:
        """State in words how far the two differ."""
        if self.answers == self.items:
            return ("No item is answered twice: clustering by item changes nothing.",)
        clustered, naive = self.clustered["accuracy"], self.naive["accuracy"]
        return (
            f"{counted(self.answers, 'answer')} to {counted(self.items, 'item')} tell about the accuracy what "
            f"{self.effective:.0f} independent answers would. Clustered by item its 95 % interval is "
            f"{100 * clustered.low:.1f} to {100 * clustered.high:.1f} %; with every answer taken as independent it "
            f"would read {100 * naive.low:.1f} to {100 * naive.high:.1f} %, {clustered.width / naive.width:.1f} times too "
            f"narrow.",
        )


def compare_clustering(judged: Judged, seed: int = 0) -> ClusteringComparison:
    """Compute accuracy, Brier score and log loss with intervals clustered by item, and as if answers were independent.

    Raises
    ------
    ValueError
        If no answer is readable.
    """
    judged.require_any()
    alone = Judged.of(judged.confidence, judged.correct, np.arange(len(judged)))
    clustered, naive = (_figures(each, seed) for each in (judged, alone))
    effective = clustered["accuracy"].n_effective
    return ClusteringComparison(len(judged), judged.items, effective, clustered, naive)


def _figures(judged: Judged, seed: int) -> dict[str, Interval]:
    brier, log_loss = brier_and_log_loss(judged, seed=seed)
    return {"accuracy": accuracy(judged), "brier": brier.interval, "log_loss": log_loss.interval}
