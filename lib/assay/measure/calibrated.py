"""What a calibrated model would show: outcomes simulated at the confidences that were stated.

No finite sample of a calibrated model looks calibrated: its curve leaves the diagonal and its calibration error is
positive. The yardstick is the same statistic on simulated outcomes, each answer right with the probability it stated.
Answers of one item are not independent, so simulations take one answer per item; then no assumption about how runs hang
together is needed, and a test that compares data with simulation holds its level exactly.
"""

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from assay.measure.cells import Cells

DEFAULT_SIMULATIONS = 999
"""One less than a round number, so that the rank of the data among the simulations gives an exact 5 % test."""

MAX_CELLS = 4096
"""With more distinct confidences than this, and many answers, neighbours are simulated at their mean confidence."""

EXACT_ANSWERS = 20_000

_BLOCK = 4_000_000


def simulation_cells(cells: Cells, inner_edges: npt.NDArray[np.float64] | None = None) -> Cells:
    """Return the cells to simulate: the given ones, or grouped neighbours where continuous answers are very many.

    A group of answers at their mean confidence scatters a little more than the answers would, by the square of the
    group's spread (below 1e-6 of the variance), so a test becomes no more liberal by it.
    """
    if cells.n <= EXACT_ANSWERS:
        return cells
    return cells.grouped(MAX_CELLS, inner_edges)


def simulate_right(
    cells: Cells, simulations: int, seed: int | np.random.SeedSequence
) -> Iterator[npt.NDArray[np.int64]]:
    """Yield blocks of simulated counts of right answers under calibration.

    Parameters
    ----------
    cells : Cells
        Confidences and numbers of answers; outcomes are not used.
    simulations : int
        Total number of rows over all blocks, at least 1.
    seed : int or SeedSequence

    Yields
    ------
    (rows, k) int
        Right answers per cell. Blocks bound the memory.
    """
    if simulations < 1:
        raise ValueError(f"simulations must be at least 1, got {simulations}")
    rng = np.random.default_rng(seed)
    count = cells.count
    single = bool((count == 1).all())
    rows = max(1, _BLOCK // max(1, len(cells)))
    for start in range(0, simulations, rows):
        size = (min(rows, simulations - start), len(cells))
        if single:
            yield (rng.random(size) < cells.confidence).astype(np.int64)
        else:
            yield rng.binomial(count, cells.confidence, size=size)
