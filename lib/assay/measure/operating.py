"""Operating points: where on the plane of (threshold, tie margin) a set of answers would be run, and what lies around.

The point chosen here is descriptive: it is the best of many on the very answers it is judged by, and promises nothing
about others. A promise needs a certificate.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from assay.measure.decide import decide_table
from assay.measure.figures import DecisionFigures, Which, counted
from assay.measure.intervals import Interval, clustered_share, proportion_bounds, share_bounds
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
    steps, named = staircase(table), figure_names(gates)
    shares = []
    for threshold, margin in points:
        found = counted(table, decide_table(table, threshold, margin, steps).code, named.values())
        shares += [clustered_share(hits, np.ones(len(hits)), items) for hits, items in found]
    estimate, trials, effective = np.array(shares).reshape(-1, 3).T
    # All points at once: a bound is a dozen calls of numpy, however many it is of.
    low, high = share_bounds(estimate, effective)
    return pd.DataFrame(
        {
            "threshold": np.repeat([threshold for threshold, _ in points], len(named)),
            "tie_margin": np.repeat([margin for _, margin in points], len(named)),
            "figure": [*named] * len(points),
            "estimate": estimate,
            "low": low,
            "high": high,
            "answers": trials.astype(int),
        }
    )


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
    gate_counts = {gate_name(gate): counts.gate_counts(gate) for gate in gates}
    frames = []
    for name, (metric, label) in figure_names(gates).items():
        if name in gate_counts:
            hits, trials = gate_counts[name]
        elif metric == "coverage":
            hits, trials = counts.accepted(), whole
        elif metric == "dangerous":
            caught, trials = counts.caught(label)
            hits = trials - caught
        else:
            hits, trials = counts.over_restriction()
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
    """Return the figures that people look at, by name; see `figure_names`."""
    return {name: figures.figure(which) for name, which in figure_names(gates).items()}


def figure_names(gates: Sequence[Gate]) -> dict[str, Which]:
    """Name what people look at: what each gate bounds, coverage, misroutes of each gated class, over-restriction."""
    gates = single_gates(gates)
    named = {gate_name(gate): (gate.metric, "".join(gate.classes)) for gate in gates}
    named["coverage"] = ("coverage", "")
    for gate in gates:
        for name in gate.classes:
            named[f"dangerous misroutes of {name}"] = ("dangerous", name)
    named["over-restriction"] = ("over_restriction", "")
    return named


def gate_name(gate: Gate) -> str:
    """Name the figure that a gate bounds: ``caught em``, ``accepted accuracy``."""
    return " ".join([gate.metric.replace("_", " "), *gate.classes])
