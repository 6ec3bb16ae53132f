"""One threshold on the confidence, where scikit-learn's tuner applies: act or ask, and was the answer right.

`TunedThresholdClassifierCV` tries the same thresholds on a classifier that hands through the stated confidence, and
scores whether acting was right at each. It gives the best of one score; the sweep gives every gate at every threshold.
"""

from collections.abc import Iterator

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import make_scorer, precision_score
from sklearn.model_selection import TunedThresholdClassifierCV
from timing import Row, seconds

from assay.measure.operating import best_point
from assay.measure.sweep import sweep
from assay.rules import Gate, Taxonomy

ANSWERS, THRESHOLDS = 100_000, 101
TAXONOMY = Taxonomy.of("yes", "no", abstain="ask")
GATES = (Gate("accepted_accuracy", (), target=0.9),)


class Stated(ClassifierMixin, BaseEstimator):
    """Stands for a fitted model: its probability of being right is the confidence it is given."""

    classes_ = np.array([0, 1])

    def fit(self, confidence: np.ndarray, right: np.ndarray) -> "Stated":
        return self

    def predict_proba(self, confidence: np.ndarray) -> np.ndarray:
        return np.column_stack([1 - confidence[:, 0], confidence[:, 0]])

    def predict(self, confidence: np.ndarray) -> np.ndarray:
        return (confidence[:, 0] >= 0.5).astype(int)


def rows() -> Iterator[Row]:
    """Time the choice both ways, from the same frame."""
    random = np.random.default_rng(3)
    confidence = random.uniform(0.5, 1, ANSWERS)
    label = random.integers(0, 2, ANSWERS)
    right = random.random(ANSWERS) < confidence
    names = np.array(["yes", "no"], dtype=object)
    frame = pd.DataFrame(
        {
            "item_id": np.arange(ANSWERS).astype(str),
            "label": names[label],
            "predicted": names[np.where(right, label, 1 - label)],
            "confidence": confidence,
        }
    )
    precision = make_scorer(precision_score, zero_division=0)
    tuner = TunedThresholdClassifierCV(
        FrozenEstimator(Stated()), scoring=precision, thresholds=np.linspace(0, 1, THRESHOLDS), cv="prefit", refit=False
    )
    theirs = seconds(lambda: tuner.fit(confidence[:, None], right.astype(int)))
    ours = seconds(lambda: best_point(sweep(frame, TAXONOMY, margins=[0.0]), GATES))
    work = f"one threshold, {ANSWERS:,} answers, {THRESHOLDS} thresholds"
    yield Row(
        work,
        ours,
        "scikit-learn TunedThresholdClassifierCV, prefit",
        theirs,
        1.0,
    )
