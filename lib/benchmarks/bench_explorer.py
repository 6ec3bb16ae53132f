"""The explorer: from a slider that moved to the new picture, gates and list, on ci_claims."""

import statistics
import time
from collections.abc import Iterator

import numpy as np
from timing import Row, seconds

from assay.measure.tuning import tune
from assay.show import thresholds
from assay.show.explorer import explore
from assay.show.explorer.panel import Panel
from assay.study import load_study

UPDATES = 60
ALLOWED = 0.150
"""Seconds that the median update may take."""


def rows() -> Iterator[Row]:
    """Time every step of both sliders against what is allowed, and against one of the drawings of a report."""
    study = load_study("ci_claims")
    explorer = explore(study)
    panel = Panel(explorer)
    values = np.random.default_rng(5).permutation(101)[:UPDATES] / 100
    times = []
    for place, value in enumerate(values):
        slider = panel.threshold if place % 2 else panel.tie_margin
        began = time.perf_counter()
        slider.value = float(value)
        times.append(time.perf_counter() - began)
    update = statistics.median(times)
    work = f"explorer on ci_claims, median of {UPDATES} steps of a slider"
    yield Row(work, update, "what an update may take", ALLOWED, 1.0)
    series = explorer.opened.series[explorer.start.series]
    tuned = tune(series, study.taxonomy, parts=study.parts(), seed=study.seed, threshold=0.8, tie_margin=0.1)

    def drawn() -> bytes:
        return thresholds.along_threshold([tuned]).svg

    yield Row(work, update, "the first of its three panels, by matplotlib", seconds(drawn), 1.0)
