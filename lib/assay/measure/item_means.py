"""One number per item: what each metric comes to over a variant's answers to that item.

The item is the unit, so an item's runs are averaged first and every item weighs the same. Paired differences, their
intervals and their tests need nothing else, except where a metric is a property of all answers together: for those the
stated confidences are kept, each weighing one over the number of its item's readable answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from assay.measure.decide import decide_table
from assay.measure.intervals import FloatArray
from assay.measure.metrics import (
    ACCURACY,
    ACCURACY_READABLE,
    BRIER,
    CAUGHT,
    CONFIDENCE_METRICS,
    COST,
    LOG_LOSS,
    RIGHT,
    TOKENS,
    UNREADABLE_RATE,
    Metric,
)
from assay.measure.scores import log_losses, squared_errors
from assay.measure.sweep import DANGEROUS, RIGHT_ABSTAINED, outcomes
from assay.measure.sweep import RIGHT as DECIDED_RIGHT
from assay.measure.table import AnswerTable, decision_names
from assay.rules import Taxonomy

BoolArray = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Confidences:
    """The readable answers' confidences.

    Attributes
    ----------
    confidence : (readable,) float64 in [0, 1]
    correct : (readable,) bool
    item : (readable,) int
        Position among the items.
    weight : (readable,) float64
        One over the number of readable answers of the item.
    """

    confidence: FloatArray
    correct: BoolArray
    item: npt.NDArray[np.intp]
    weight: FloatArray

    def of_items(self, kept: BoolArray) -> "Confidences":
        """Keep the answers of some items; positions stay those among all items."""
        rows = kept[self.item]
        return Confidences(self.confidence[rows], self.correct[rows], self.item[rows], self.weight[rows])


@dataclass(frozen=True)
class ItemMeans:
    """What one variant's answers come to, item by item.

    Attributes
    ----------
    answers, readable : (items,) int
        Number of answers to each item, and of those that could be read.
    values : dict of str to (items,) float64
        By metric name; NaN where an item has nothing that the metric counts.
    confidences : Confidences or None
        None where the answers state none.
    """

    answers: npt.NDArray[np.int64]
    readable: npt.NDArray[np.int64]
    values: dict[str, FloatArray]
    confidences: Confidences | None


def item_means(
    answers: pd.DataFrame,
    item: npt.NDArray[np.intp],
    items: int,
    metrics: Sequence[Metric],
    taxonomy: Taxonomy | None = None,
    threshold: float = 0.0,
    tie_margin: float = 0.10,
) -> ItemMeans:
    """Average every metric over the answers of each item.

    Parameters
    ----------
    answers : DataFrame
        Of one variant: either ``correct`` or both ``label`` and ``predicted``. An answer without a
        prediction, an outcome or (where there is such a column) a confidence is unreadable. Token counts are
        ``prompt_tokens`` and ``completion_tokens``, the cost ``cost_usd``; an item whose answers do not all have them
        counts as unknown.
    item : (answers,) int
        Position of each answer's item.
    items : int
        Number of items.
    metrics : sequence of Metric
        Those wanted; what the columns cannot give is left out of the result.
    taxonomy : Taxonomy, optional
        Needed for class metrics.
    threshold, tie_margin : float in [0, 1]
        At which decisions are made for class metrics.
    """
    right, readable = outcomes_of(answers)
    count = np.bincount(item, minlength=items)
    everything = np.ones(len(answers), dtype=bool)
    wanted = set(metrics)
    values: dict[str, FloatArray] = {}

    def average(metric: Metric, of: npt.ArrayLike, among: BoolArray) -> None:
        if metric in wanted:
            values[metric.name] = _mean_by_item(np.asarray(of, dtype=np.float64), among, item, items)

    average(ACCURACY, right, everything)
    average(ACCURACY_READABLE, right, readable)
    average(UNREADABLE_RATE, ~readable, everything)
    confidences = None
    if "confidence" in answers and wanted & set(CONFIDENCE_METRICS):
        confidence = answers["confidence"].to_numpy(dtype=np.float64, na_value=np.nan)
        confidences = _confidences(confidence[readable], right[readable], item[readable], items)
        safe = np.where(readable, confidence, 0.5)
        average(BRIER, squared_errors(safe, right), readable)
        average(LOG_LOSS, log_losses(safe, right), readable)
    for metric, amount in ((TOKENS, _tokens(answers)), (COST, _cost(answers))):
        if metric in wanted and amount is not None and not np.isnan(amount).all():
            values[metric.name] = _mean_by_item(amount, everything, item, items)
    if taxonomy is not None and any(metric.of for metric in metrics):
        hits, label = _decided(answers, taxonomy, threshold, tie_margin)
        names = decision_names(taxonomy)
        for metric in metrics:
            if metric.of:
                among = (label == names.index(metric.of)) & (readable if metric.left_out else everything)
                average(metric, hits[metric.hit], among)
    return ItemMeans(count, np.bincount(item[readable], minlength=items), values, confidences)


def outcomes_of(answers: pd.DataFrame) -> tuple[BoolArray, BoolArray]:
    """Tell of each answer whether it is right, and whether it could be read; an unreadable one is not right."""
    if "correct" in answers:
        outcome = answers["correct"].astype("boolean")
        readable = outcome.notna().to_numpy()
        right = outcome.fillna(False).to_numpy(dtype=bool)
    else:
        for column in ("label", "predicted"):
            if column not in answers:
                raise ValueError(
                    f"the frame needs a column 'correct', or both 'label' and 'predicted'; it has no {column!r}"
                )
        readable = answers["predicted"].notna().to_numpy()
        right = (answers["predicted"] == answers["label"]).fillna(False).to_numpy(dtype=bool)
    if "confidence" in answers:
        confidence = answers["confidence"].to_numpy(dtype=np.float64, na_value=np.nan)
        outside = (confidence < 0) | (confidence > 1)
        if outside.any():
            row = answers.iloc[int(outside.argmax())]
            raise ValueError(f"confidence must lie in [0, 1]; that of an answer to item {row['item_id']!r} does not")
        readable = readable & ~np.isnan(confidence)
    return right & readable, readable


def _mean_by_item(of: FloatArray, among: BoolArray, item: npt.NDArray[np.intp], items: int) -> FloatArray:
    rows = item[among]
    total = np.bincount(rows, weights=of[among], minlength=items)
    count = np.bincount(rows, minlength=items)
    return np.divide(total, count, out=np.full(items, np.nan), where=count > 0)


def _confidences(confidence: FloatArray, correct: BoolArray, item: npt.NDArray[np.intp], items: int) -> Confidences:
    return Confidences(confidence, correct, item, 1.0 / np.bincount(item, minlength=items)[item])


def _tokens(answers: pd.DataFrame) -> FloatArray | None:
    if "prompt_tokens" not in answers or "completion_tokens" not in answers:
        return None
    parts = [
        answers[name].to_numpy(dtype=np.float64, na_value=np.nan) for name in ("prompt_tokens", "completion_tokens")
    ]
    return np.asarray(parts[0] + parts[1])


def _cost(answers: pd.DataFrame) -> FloatArray | None:
    if "cost_usd" not in answers:
        return None
    return np.asarray(1000 * answers["cost_usd"].to_numpy(dtype=np.float64, na_value=np.nan))


def _decided(
    answers: pd.DataFrame, taxonomy: Taxonomy, threshold: float, tie_margin: float
) -> tuple[dict[str, BoolArray], npt.NDArray[np.int32]]:
    """Which decisions are right and which are caught, and the labels' codes."""
    table = AnswerTable.from_frame(answers, taxonomy)
    outcome = outcomes(table, np.arange(len(table)), decide_table(table, threshold, tie_margin).code)
    right = np.isin(outcome, (DECIDED_RIGHT, RIGHT_ABSTAINED))
    return {RIGHT: right, CAUGHT: outcome != DANGEROUS}, table.label
