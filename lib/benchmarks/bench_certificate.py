"""A certificate and the bootstrap of the chosen point, against what a user would write instead.

MAPIE's controller is measured where it is installed (the extra `peers`): it controls the recall of each class over
(threshold, margin) by the same kind of test, and is given our own decisions, so that only counting and testing differ.
"""

import importlib
from collections.abc import Callable, Iterator

import numpy as np
import pandas as pd
from scipy import stats
from timing import Row, seconds

from assay.measure.bootstrap import bootstrap_choice
from assay.measure.certificate import certify
from assay.measure.decide import decide_table
from assay.measure.operating import best_point
from assay.measure.staircase import staircase
from assay.measure.sweep import outcomes, sweep
from assay.measure.table import AnswerTable, decision_names
from assay.measure.trials import gate_trials
from assay.rules import Gate, LabelClass, Taxonomy

ANSWERS, DRAWS, SEED = 2_000, 100, 0
TWENTIETH = 20

NAMES = ("historical", "reference", "unclear", "procedural", "advisory")
GATED = ("procedural", "advisory")
TAXONOMY = Taxonomy(
    tuple(LabelClass(name, rank) for rank, name in enumerate(NAMES)),
    "unclear",
    threshold_exempt=("procedural",),
    gates=(Gate("class_accuracy", GATED),),
)
FINE = np.linspace(0, 1, 101).round(2)
COARSE = np.linspace(0, 1, 21).round(2)


def rows() -> Iterator[Row]:
    """Time each piece of work both ways; `bar` is the least ratio wanted."""
    frame = answers()
    work = f"certificate, {ANSWERS:,} answers, continuous confidences, 101 x 101"
    ours = seconds(lambda: certify(frame, TAXONOMY, seed=SEED))
    yield Row(work, ours, "one second", 1.0, 1.0)
    yield Row(work, ours, "loop over the grid", TWENTIETH * seconds(lambda: loop_over_grid(frame), 1), 20.0)

    yield Row(
        f"bootstrap of the chosen point, {ANSWERS:,} answers, {DRAWS} draws",
        seconds(lambda: bootstrap_choice(frame, TAXONOMY, seed=SEED, draws=DRAWS), 1),
        "a sweep of every resampled frame",
        TWENTIETH * seconds(lambda: resampled_frames(frame), 1),
        1.0,
    )

    controller = mapie_controller()
    if controller is not None:
        yield Row(
            f"certificate, {ANSWERS:,} answers, 21 x 21",
            seconds(lambda: certify(frame, TAXONOMY, seed=SEED, thresholds=COARSE, margins=COARSE)),
            "MAPIE MultiClassificationLTTController",
            seconds(lambda: controller(frame), 1),
            5.0,
        )


def answers() -> pd.DataFrame:
    """Full score vectors, mostly right, with continuous confidences."""
    rng = np.random.default_rng(1)
    names = np.array(NAMES, dtype=object)
    label = rng.choice(5, ANSWERS, p=[0.3, 0.2, 0.1, 0.2, 0.2])
    scores = rng.dirichlet(np.full(5, 0.3), ANSWERS)
    scores[np.arange(ANSWERS), label] += rng.choice([3.0, 0.3], ANSWERS, p=[0.96, 0.04])
    scores /= scores.sum(axis=1, keepdims=True)
    best = scores.argmax(axis=1)
    others = [
        {name: float(score) for name, score in zip(NAMES, row, strict=True) if name != names[top]}
        for row, top in zip(scores, best, strict=True)
    ]
    return pd.DataFrame(
        {
            "item_id": [f"q{number}" for number in range(ANSWERS)],
            "label": names[label],
            "predicted": names[best],
            "confidence": scores[np.arange(ANSWERS), best],
            "alternatives": others,
        }
    )


def loop_over_grid(frame: pd.DataFrame) -> list[float]:
    """Decide and test at every twentieth point of the grid, with our own fast decisions."""
    table = AnswerTable.from_frame(frame, TAXONOMY)
    steps = staircase(table)
    points = [(threshold, margin) for threshold in FINE for margin in FINE][::TWENTIETH]
    worst = []
    for threshold, margin in points:
        code = decide_table(table, threshold, margin, steps).code
        outcome = outcomes(table, np.arange(len(table)), code)
        p_values = []
        for gate in TAXONOMY.gates[0].each():
            succeeds, counts = gate_trials(gate, table, code, outcome)
            p_values.append(stats.binom.sf(succeeds[counts].sum() - 1, counts.sum(), gate.target))
        worst.append(max(p_values))
    return worst


def resampled_frames(frame: pd.DataFrame) -> list[object]:
    """A twentieth of the draws, each a new frame that is swept from the start."""
    rng = np.random.default_rng(SEED)
    gates = TAXONOMY.gates
    return [
        best_point(sweep(frame.iloc[rng.integers(0, ANSWERS, ANSWERS)], TAXONOMY, classes=GATED), gates)
        for _ in range(DRAWS // TWENTIETH)
    ]


def mapie_controller() -> Callable[[pd.DataFrame], object] | None:
    """Return a certificate by MAPIE, or None where it is not installed."""
    try:
        control, risks = (importlib.import_module(f"mapie.{name}") for name in ("risk_control", "risk_control.risks"))
    except ImportError:
        return None
    names = np.array(decision_names(TAXONOMY), dtype=object)

    def certificate(frame: pd.DataFrame) -> object:
        halves = [AnswerTable.from_frame(frame.iloc[part::2], TAXONOMY) for part in (0, 1)]
        steps = [staircase(half) for half in halves]

        def decisions(half: np.ndarray, threshold: float, margin: float) -> np.ndarray:
            part = int(half[0, 0])
            return names[decide_table(halves[part], threshold, margin, steps[part]).code]

        controller = control.MultiClassificationLTTController(
            predict_function=decisions,
            risks=risks.build_recall_ovr(np.array(GATED, dtype=object)),
            target_level=[0.95] * len(GATED),
            confidence_level=0.95,
            list_predict_params=np.array([[threshold, margin] for threshold in COARSE for margin in COARSE]),
            classes=names,
            fwer_method="split_fixed_sequence",
        )
        rows = [np.full((len(half), 1), part) for part, half in enumerate(halves)]
        labels = [names[half.label] for half in halves]
        controller.learn_fixed_sequence_order(rows[0], labels[0], binary=True)
        return controller.calibrate(rows[1], labels[1])

    return certificate
