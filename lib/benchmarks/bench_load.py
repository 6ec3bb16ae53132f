"""A hundred thousand answers at a desk: loaded, calibrated, swept and moved about in, each step against what one waits.

The answers are those of three models to items of five classes, in continuous confidences, the dearest case; a quarter
of them carry runners-up.
"""

import statistics
import time
from collections.abc import Iterator

import numpy as np
import pandas as pd
from timing import Row, seconds

from assay.measure.calibration_report import calibration_report
from assay.measure.tuning import tune
from assay.rules import Gate, LabelClass, Taxonomy
from assay.show.explorer import explore
from assay.show.explorer.panel import Panel
from assay.study import Study
from assay.study.series import each_series

ANSWERS = 100_000
MODELS = ("large", "middle", "little")
UPDATES = 20

LOADING, COMPUTING, MOVING = 3.0, 10.0, 0.5
"""Seconds: a study appears, a cell ends, a slider is followed."""


def answers(count: int = ANSWERS, seed: int = 11) -> tuple[pd.DataFrame, Taxonomy]:
    """Make answers, and the classes and gates that they are held to."""
    rng = np.random.default_rng(seed)
    names = np.array(["historical", "reference", "unclear", "procedural", "advisory"])
    label = rng.integers(0, len(names), count)
    confidence = rng.uniform(0.4, 1, count)
    wrong = rng.random(count) > confidence
    predicted = np.where(wrong, (label + rng.integers(1, len(names), count)) % len(names), label)
    runner_up = names[(predicted + 1) % len(names)]
    left = (1 - confidence) * rng.random(count)
    alternatives = [
        {name: share} if place % 4 == 0 else {}
        for place, (name, share) in enumerate(zip(runner_up.tolist(), left.tolist(), strict=True))
    ]
    frame = pd.DataFrame(
        {
            "item_id": np.char.add("i", (np.arange(count) // len(MODELS)).astype(str)),
            "label": names[label[np.arange(count) // len(MODELS)]],
            "predicted": names[predicted],
            "confidence": confidence,
            "alternatives": alternatives,
            "model": np.resize(MODELS, count),
        }
    )
    taxonomy = Taxonomy(
        classes=tuple(LabelClass(name, rank) for rank, name in enumerate(names.tolist())),
        abstain="unclear",
        threshold_exempt=("procedural",),
        gates=(Gate("class_accuracy", ("procedural",), 0.95), Gate("class_accuracy", ("advisory",), 0.95)),
    )
    return frame, taxonomy


def load(frame: pd.DataFrame, taxonomy: Taxonomy) -> Study:
    """Make the study of the frame."""
    return Study.from_frame(frame, taxonomy=taxonomy, alternatives="alternatives", model="model", seed=1)


def rows(count: int = ANSWERS) -> Iterator[Row]:
    """Time what is done with a study, step by step."""
    frame, taxonomy = answers(count)
    size = f"{count:,} answers"
    yield Row(
        f"{size}: Study.from_frame", seconds(lambda: load(frame, taxonomy)), "what loading may take", LOADING, 1.0
    )
    study = load(frame, taxonomy)
    series = each_series(study)
    parts, allowed = study.parts(), "what a cell may take"
    tuned = seconds(lambda: [tune(one, taxonomy, parts=parts, seed=study.seed) for one in series], 1)
    yield Row(f"{size}: tune and certify, {len(series)} series", tuned, allowed, COMPUTING, 1.0)
    report = seconds(lambda: [calibration_report(one) for one in series], 1)
    yield Row(f"{size}: calibration reports, {len(series)} series", report, allowed, COMPUTING, 1.0)
    began = time.perf_counter()
    panel = Panel(explore(study))
    yield Row(f"{size}: open the explorer", time.perf_counter() - began, allowed, COMPUTING, 1.0)
    moves = np.random.default_rng(5).permutation(101)[:UPDATES] / 100
    times = []
    for place, value in enumerate(moves):
        slider = panel.threshold if place % 2 else panel.tie_margin
        began = time.perf_counter()
        slider.value = float(value)
        times.append(time.perf_counter() - began)
    yield Row(
        f"{size}: a step of a slider, median of {UPDATES}", statistics.median(times), "what it may take", MOVING, 1.0
    )
