"""Operating points: where on the plane of (threshold, tie margin) a set of answers would be run, and what lies around.

The point chosen here is descriptive: it is the best of many on the very answers it is judged by, and promises nothing
about others. A promise needs a certificate.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from assay.measure.decide import decide_table
from assay.measure.figures import DecisionFigures, figures_of
from assay.measure.intervals import Interval, proportion_bounds
from assay.measure.staircase import staircase
from assay.measure.sweep import Counts, SweepCounts, ratio, sweep
from assay.measure.table import AnswerTable
from assay.rules import Gate, Taxonomy

ALONG = ["threshold", "tie_margin", "figure", "estimate", "low", "high", "answers"]


@dataclass(frozen=True)
class OperatingPoint:
    """A threshold and a tie margin, and how they were come by.

    Attributes
    ----------
    threshold, tie_margin : float in [0, 1]
    how : {"given", "meets", "closest", "nothing"}
        Given by the caller; the most coverage among points whose observed figures meet every gate; where none does, the
        point closest to meeting them; or "nothing" where no point acts on any answer a gate counts.
    """

    threshold: float
    tie_margin: float
    how: str


def single_gates(gates: Iterable[Gate]) -> tuple[Gate, ...]:
    """Split gates into gates of at most one class each."""
    return tuple(one for gate in gates for one in gate.each())


def best_point(counts: SweepCounts, gates: Sequence[Gate]) -> OperatingPoint:
    """Choose the point with the most coverage among those that meet every gate as observed.

    Parameters
    ----------
    counts : SweepCounts
    gates : sequence of Gate
        At least one. A gate with nothing in its denominator is not met.

    Returns
    -------
    OperatingPoint
        Equal coverage: the most decisions right (or a wide margin that sends everything to the safest class would do as
        well as any), then the fewest dangerous misroutes, then the smallest margin and threshold. Where no point meets
        the gates: the one whose worst gate falls least short of its target.
    """
    gates = single_gates(gates)
    if not gates:
        raise ValueError("at least one gate is needed to choose an operating point")
    slack = worst_slack(counts, gates)
    coverage, dangerous = counts.coverage(), counts.dangerous()
    right = counts.accepted_accuracy()[0]
    if (slack >= 0).any():
        candidates, how = slack >= 0, "meets"
    elif np.isfinite(slack).any():
        candidates, how = slack == slack.max(), "closest"
    else:
        return OperatingPoint(float(counts.thresholds[-1]), float(counts.margins[0]), "nothing")
    t, m = np.nonzero(candidates)
    best = np.lexsort((t, m, dangerous[t, m], -right[t, m], -coverage[t, m].round(12)))[0]
    return OperatingPoint(float(counts.thresholds[t[best]]), float(counts.margins[m[best]]), how)


def worst_slack(counts: SweepCounts, gates: Sequence[Gate]) -> Counts:
    """Return how far the worst gate lies above its target at each point, (T, M); -inf where one counts nothing.

    Differences are rounded to 1e-9, so that a share of exactly the target meets it.
    """
    slack = np.full(counts.outcomes.shape[2:], np.inf)
    for gate in single_gates(gates):
        share = ratio(*counts.gate_counts(gate))
        above = np.round(share - gate.target, 9)
        slack = np.minimum(slack, np.where(np.isnan(above), -np.inf, above))
    return slack


def figures_along(
    table: AnswerTable, taxonomy: Taxonomy, points: Sequence[tuple[float, float]], gates: Sequence[Gate]
) -> pd.DataFrame:
    """Compute gates, coverage, dangerous misroutes and over-restriction at each point of a line.

    Parameters
    ----------
    table : AnswerTable
    taxonomy : Taxonomy
    points : sequence of (threshold, tie margin)
        All of one threshold or all of one margin, in increasing order.
    gates : sequence of Gate

    Returns
    -------
    DataFrame
        One row per figure and point: ``threshold``, ``tie_margin``, ``figure``, ``estimate``, ``low``, ``high``,
        ``answers`` (in the denominator). Intervals count items.
    """
    gates = single_gates(gates)
    if len(np.unique(table.item)) == len(table):
        # Every point comes from one sweep, and items are answers.
        thresholds, margins = (np.unique([point[side] for point in points]) for side in (0, 1))
        return figures_over(sweep(table, thresholds=thresholds, margins=margins), gates)
    steps = staircase(table)
    classes = sorted({name for gate in gates for name in gate.classes})
    rows = []
    for threshold, margin in points:
        figures = figures_of(table, decide_table(table, threshold, margin, steps), threshold, margin, classes=classes)
        for name, interval in named_figures(figures, gates).items():
            shares = (interval.estimate, interval.low, interval.high, interval.n)
            rows.append((threshold, margin, name, *shares))
    return pd.DataFrame(rows, columns=ALONG)


def figures_over(counts: SweepCounts, gates: Sequence[Gate]) -> pd.DataFrame:
    """Read the figures of `figures_along` off a sweep of answers none of which shares its item with another.

    Parameters
    ----------
    counts : SweepCounts
        Over any grid, with the classes of the gates among those counted by themselves.
    gates : sequence of Gate

    Returns
    -------
    DataFrame
        As of `figures_along`, one row per figure and grid point; intervals are Wilson, 95 %.
    """
    gates = single_gates(gates)
    thresholds, margins = counts.thresholds, counts.margins
    whole = np.full(counts.outcomes.shape[2:], counts.total)
    named = {gate_name(gate): counts.gate_counts(gate) for gate in gates}
    named["coverage"] = (counts.accepted(), whole)
    for gate in gates:
        for name in gate.classes:
            caught, labelled = counts.caught(name)
            named[f"dangerous misroutes of {name}"] = (labelled - caught, labelled)
    named["over-restriction"] = counts.over_restriction()
    frames = []
    for name, (hits, trials) in named.items():
        low, high = proportion_bounds(hits, trials)
        known = trials > 0
        frame = pd.DataFrame(
            {
                "threshold": np.repeat(thresholds, len(margins)),
                "tie_margin": np.tile(margins, len(thresholds)),
                "figure": name,
                "estimate": ratio(hits, trials).ravel(),
                "low": np.where(known, low, np.nan).ravel(),
                "high": np.where(known, high, np.nan).ravel(),
                "answers": trials.ravel().astype(int),
            }
        )
        frames.append(frame)
    return pd.concat(frames, ignore_index=True)


def named_figures(figures: DecisionFigures, gates: Sequence[Gate]) -> dict[str, Interval]:
    """Return the figures people look at, by name: each gate's, then coverage, misroutes and over-restriction."""
    named = {gate_name(gate): figures.gate(gate) for gate in single_gates(gates)}
    named["coverage"] = figures.coverage
    for gate in single_gates(gates):
        if gate.classes:
            named[f"dangerous misroutes of {gate.classes[0]}"] = complement(figures.caught[gate.classes[0]])
    named["over-restriction"] = figures.over_restriction
    return named


def gate_name(gate: Gate) -> str:
    """Name the figure that a gate bounds: ``caught em``, ``accepted accuracy``."""
    return " ".join([gate.metric.replace("_", " "), *gate.classes])


def complement(interval: Interval) -> Interval:
    """Return the interval of one minus a proportion."""
    return Interval(1 - interval.estimate, 1 - interval.high, 1 - interval.low, interval.n, interval.n_effective)
