"""The joint sweep: against one sort of its own input, against a loop over the grid, and as the answers grow."""

import time
import tracemalloc
from collections.abc import Iterator

import numpy as np
from timing import Row, seconds

from assay.measure.decide import decide_table
from assay.measure.staircase import staircase
from assay.measure.sweep import SweepPlan, sweep
from assay.measure.table import AnswerTable
from assay.rules import Gate, LabelClass, Taxonomy

ANSWERS, GRID = 100_000, 101
LOOPED = 20
NAMES = ("historical", "reference", "unclear", "procedural", "advisory")
TAXONOMY = Taxonomy(
    tuple(LabelClass(name, rank) for rank, name in enumerate(NAMES)),
    "unclear",
    threshold_exempt=("procedural",),
    gates=(Gate("class_accuracy", ("procedural", "advisory")),),
)


def rows() -> Iterator[Row]:
    """Time the sweep and what it is held against; for the sort the bar is the most times its cost allowed."""
    scores, table = answers(ANSWERS)
    ordered = np.sort(scores, axis=1)
    margin = ordered[:, -1] - ordered[:, -2]
    ours = seconds(lambda: sweep(table), 7)
    sort = seconds(lambda: np.lexsort((margin, table.confidence)), 7)
    work = f"joint sweep, {ANSWERS:,} answers x {len(NAMES)} classes, {GRID} x {GRID}"
    yield Row(work, ours, "one np.lexsort (ours may cost 5 of them)", 5 * sort, 1.0)
    steps = staircase(table)
    points = [(t / 100, m / 100) for t, m in np.random.default_rng(1).integers(0, 101, (LOOPED, 2))]
    loop = seconds(lambda: [decide_table(table, *point, steps) for point in points], 1) * GRID**2 / LOOPED
    yield Row(work, ours, "a vectorised decision at each grid point", loop, 1.0)
    plan = SweepPlan(table)
    again = seconds(lambda: plan.count(np.ones(ANSWERS)), 5)
    yield Row("recount of the same answers under other weights", again, "sweeping them afresh", ours, 1.0)


def growth(sizes: tuple[int, ...] = (10_000, 100_000, 1_000_000, 10_000_000)) -> Iterator[dict[str, object]]:
    """Time and peak memory of a sweep read in blocks of 10^5 answers, as the answers grow."""
    for size in sizes:
        tracemalloc.start()
        began = time.perf_counter()
        total = None
        for block in range(max(1, size // ANSWERS)):
            counts = sweep(answers(min(size, ANSWERS), seed=block)[1])
            total = counts if total is None else total + counts
        took = time.perf_counter() - began
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert total is not None
        assert total.total == size
        yield {"answers": size, "seconds": took, "us_per_answer": 1e6 * took / size, "peak_MB": peak / 1e6}


def answers(size: int, seed: int = 0) -> tuple[np.ndarray, AnswerTable]:
    """Make answers with continuous scores for every class."""
    rng = np.random.default_rng(seed)
    scores = rng.dirichlet(np.full(len(NAMES), 0.5), size)
    return scores, AnswerTable.from_scores(rng.integers(0, len(NAMES), size), scores, TAXONOMY)
