"""The two ends of the scale: whether the surest answers are right more often than the least sure, and what zeros are.

A curve can hide at its ends what matters most to someone who reads a stated 100 as safe and a stated 0 as worthless.
These facts are computed for any series and said in words, on the scale on which the model wrote.
"""

from collections import Counter
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd

from assay.measure.intervals import Interval, clustered_proportion
from assay.measure.judged import Judged
from assay.measure.phrases import counted, percent, percent_interval
from assay.measure.table import to_nano

LOW_BOUND = 0.5
HIGH_BOUND = 0.99


@dataclass(frozen=True)
class Bands:
    """Accuracy at the two ends of the scale.

    Attributes
    ----------
    low_bound, high_bound : float in [0, 1]
    low, high : Interval
        Share right among answers strictly below `low_bound`, and strictly above `high_bound`; unknown if there are none.
    difference : Interval
        Of `high` less `low`: below 0 the ends are reversed. Unknown if either is.
    zero : Interval
        Share right among answers that state exactly 0.
    low_without_zero : Interval
        Share right among answers below `low_bound` that state more than 0.
    zero_class : str
        The class that answers at exactly 0 choose most often; empty if there are none or no classes are known.
    zero_class_share : float in [0, 1]
        Share of those answers that choose it.
    """

    low_bound: float
    high_bound: float
    low: Interval
    high: Interval
    difference: Interval
    zero: Interval
    low_without_zero: Interval
    zero_class: str = ""
    zero_class_share: float = 0.0

    @property
    def reversed(self) -> bool:
        """Whether the surest answers are right less often than the least sure ones, beyond chance."""
        return self.difference.known and self.difference.high < 0

    def findings(self, name: str, scale: int = 1) -> tuple[str, ...]:
        """State the facts in words.

        Parameters
        ----------
        name : str
            Of the model or series.
        scale : {1, 100}
            On which confidences were written, to name bounds as the model does.
        """
        found = []
        if self.difference.known:
            found.append(self._order(name, scale))
        if self.zero.known:
            found.append(self._zeros(name, scale))
        return tuple(found)

    def _order(self, name: str, scale: int) -> str:
        high, low = f"{self.high_bound * scale:g}", f"{self.low_bound * scale:g}"
        high_share, low_share = _shares(self.high.estimate, self.low.estimate)
        reach = (
            f"over {counted(self.high.n, 'answer')} and {self.low.n:,}; the difference is "
            f"{100 * self.difference.estimate:+.1f} points, {100 * self.difference.low:+.1f} to "
            f"{100 * self.difference.high:+.1f}"
        )
        if self.reversed or self.difference.low > 0:
            how = "less" if self.reversed else "more"
            return (
                f"{name}'s answers above {high} are right {how} often ({high_share}) than its answers below {low} "
                f"({low_share}), {reach}."
            )
        return (
            f"{name}'s answers above {high} ({high_share} right) cannot be told from its answers below {low} "
            f"({low_share} right), {reach}."
        )

    def _zeros(self, name: str, scale: int) -> str:
        text = f"{counted(self.zero.n, 'answer')} of {name} "
        text += "states exactly 0" if self.zero.n == 1 else "state exactly 0"
        if self.zero_class:
            share = "all" if self.zero_class_share == 1 else percent(self.zero_class_share)
            text += f", {share} of them choosing {self.zero_class}"
        text += f", and {percent_interval(self.zero)} are right"
        if self.zero.low > 0.5:
            text += ": mostly right, so this 0 does not say what it seems to"
        if self.low_without_zero.known:
            low = f"{self.low_bound * scale:g}"
            text += f"; of the other answers below {low}, {percent_interval(self.low_without_zero)} are"
        return text + "."


def compare_bands(frame: pd.DataFrame, low_bound: float = LOW_BOUND, high_bound: float = HIGH_BOUND) -> Bands:
    """Compare the answers at the two ends of the scale, and look at exact zeros.

    Parameters
    ----------
    frame : DataFrame
        One series of a tidy frame of answers, as `Judged.from_frame` reads it; unreadable answers are left out.
    low_bound, high_bound : float
        ``0 <= low_bound <= high_bound <= 1``; compared in units of 1e-9.

    Raises
    ------
    ValueError
        If the bounds are out of order, a column is missing, or the rows mix calibrations or elicitations.
    """
    if not 0 <= low_bound <= high_bound <= 1:
        raise ValueError(f"bounds must satisfy 0 <= low <= high <= 1, got {low_bound} and {high_bound}")
    judged = Judged.from_frame(frame)
    stated = to_nano(judged.confidence)
    low, high = stated < to_nano(low_bound), stated > to_nano(high_bound)
    zero = stated == 0
    zero_class, share = _commonest_zero_class(frame)
    low_interval, high_interval = _share_right(judged, low), _share_right(judged, high)
    return Bands(
        low_bound=low_bound,
        high_bound=high_bound,
        low=low_interval,
        high=high_interval,
        difference=difference_of_proportions(high_interval, low_interval),
        zero=_share_right(judged, zero),
        low_without_zero=_share_right(judged, low & ~zero),
        zero_class=zero_class,
        zero_class_share=share,
    )


def difference_of_proportions(first: Interval, second: Interval) -> Interval:
    """Interval of ``first - second`` from the Wilson intervals of two separate groups; unknown if either is.

    Notes
    -----
    Newcombe (1998), method 10, https://doi.org/10.1002/(SICI)1097-0258(19980430)17:8<873::AID-SIM779>3.0.CO;2-I. An item
    with answers in both groups would make the true interval narrower, if its answers go together.
    """
    n = min(first.n, second.n)
    if n == 0:
        return Interval(float("nan"), float("nan"), float("nan"), 0, 0.0)
    estimate = first.estimate - second.estimate
    down = np.hypot(first.estimate - first.low, second.high - second.estimate)
    up = np.hypot(first.high - first.estimate, second.estimate - second.low)
    effective = min(first.n_effective, second.n_effective)
    return Interval(estimate, float(estimate - down), float(estimate + up), n, effective)


def _share_right(judged: Judged, group: npt.NDArray[np.bool_]) -> Interval:
    return clustered_proportion(judged.correct[group], np.ones(int(group.sum())), judged.item[group])


def _commonest_zero_class(frame: pd.DataFrame) -> tuple[str, float]:
    if "predicted" not in frame:
        return "", 0.0
    confidence = frame["confidence"].to_numpy(dtype=np.float64, na_value=np.nan)
    chosen = frame["predicted"][confidence == 0].dropna()
    if chosen.empty:
        return "", 0.0
    name, number = Counter(map(str, chosen)).most_common(1)[0]
    return name, number / len(chosen)


def _shares(first: float, second: float) -> tuple[str, str]:
    """Two shares in whole percent, or with one decimal where they would read the same and are not."""
    digits = 1 if first != second and percent(first) == percent(second) else 0
    return percent(first, digits), percent(second, digits)
