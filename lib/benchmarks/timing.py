"""What every benchmark measures with: the row of the table, and a stop-watch."""

import time
from collections.abc import Callable
from typing import NamedTuple


class Row(NamedTuple):
    """One comparison of seconds in one run; `bar` is the least ratio wanted of the other's time to ours."""

    work: str
    ours_s: float
    other: str
    other_s: float
    bar: float

    @property
    def ratio(self) -> float:
        """How many times as long the other takes."""
        return self.other_s / self.ours_s

    def __str__(self) -> str:
        verdict = "" if self.ratio >= self.bar else "  MISSED"
        return (
            f"{self.work:<78} {self.ours_s:9.3f} {self.other_s:9.3f} {self.ratio:8.2f} {self.bar:6.1f}  "
            f"{self.other}{verdict}"
        )


HEAD = f"{'work':<78} {'ours, s':>9} {'other, s':>9} {'ratio':>8} {'bar':>6}  against"
"""Names of the columns of a printed `Row`."""


def seconds(work: Callable[[], object], repeats: int = 3) -> float:
    """Time some work; the best of its repeats, since the others tell what else the machine was doing."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)
