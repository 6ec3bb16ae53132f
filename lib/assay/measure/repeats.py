"""Agreement between repeated runs: how far the same question gets the same answer.

Agreement is counted over pairs of answers to one item. It is near 1 at temperature 0 without being 1, and says how little
a further run adds.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from assay.measure.phrases import counted, percent
from assay.measure.table import to_nano


@dataclass(frozen=True)
class Repeats:
    """How often two answers to one item agree. Shares are None if no item has two.

    Attributes
    ----------
    items : int
        Items with at least two readable answers.
    answers : int
        Readable answers to those items.
    same_label, same_confidence : float or None, in [0, 1]
        Share of pairs that choose the same class, and that state the same confidence (to 1e-9), each item counted
        equally.
    unanimous : float or None, in [0, 1]
        Share of the items on which all answers choose the same class.
    """

    items: int
    answers: int
    same_label: float | None = None
    same_confidence: float | None = None
    unanimous: float | None = None

    def findings(self, name: str) -> tuple[str, ...]:
        """State the agreement in words; nothing if no item has two answers."""
        if self.same_label is None or self.same_confidence is None or self.unanimous is None:
            return ()
        return (
            f"Two runs of {name} on the same item choose the same class in {percent(self.same_label, 1)} of pairs and "
            f"state the same confidence in {percent(self.same_confidence, 1)}; on {percent(self.unanimous, 1)} of "
            f"{counted(self.items, 'item')} all runs agree.",
        )


def compare_repeats(frame: pd.DataFrame) -> Repeats:
    """Count agreement between the answers to one item.

    Parameters
    ----------
    frame : DataFrame
        Readable answers of one series, with ``item_id``, ``predicted`` and ``confidence``. Without the first two there
        is nothing to compare.
    """
    if "item_id" not in frame or "predicted" not in frame or frame.empty:
        return Repeats(0, 0)
    item = pd.factorize(frame["item_id"])[0]
    answers = np.bincount(item)
    repeated = answers > 1
    if not repeated.any():
        return Repeats(0, 0)
    label_pairs = _agreeing_pairs(item, pd.factorize(frame["predicted"])[0])
    confidence_pairs = _agreeing_pairs(item, to_nano(frame["confidence"].to_numpy(dtype=np.float64)))
    pairs = (answers * (answers - 1) // 2)[repeated]
    return Repeats(
        items=int(repeated.sum()),
        answers=int(answers[repeated].sum()),
        same_label=float((label_pairs[repeated] / pairs).mean()),
        same_confidence=float((confidence_pairs[repeated] / pairs).mean()),
        unanimous=float((label_pairs[repeated] == pairs).mean()),
    )


def _agreeing_pairs(item: np.ndarray, value: np.ndarray) -> np.ndarray:
    """Pairs of answers with the same value, per item."""
    same = pd.DataFrame({"item": item, "value": value}).value_counts(sort=False)
    numbers = same.to_numpy()
    owner = same.index.get_level_values("item").to_numpy()
    return np.bincount(owner, weights=numbers * (numbers - 1) // 2)
