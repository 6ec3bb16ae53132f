"""Drawings of decisions: figures along a line of the plane, the plane itself, and safety against coverage."""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import LinearSegmentedColormap, ListedColormap, Normalize
from matplotlib.figure import Figure as Drawing
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from numpy.typing import NDArray

from assay.measure.certificate import Certificate
from assay.measure.operating import gate_name, single_gates, worst_slack
from assay.measure.sweep import SweepCounts, ratio
from assay.rules import Gate
from assay.show.style import BLACK, GREY, INK, look

AXIS_WORDS = {
    "threshold": "threshold (answers below it abstain)",
    "tie_margin": "tie margin (classes this close tie)",
}

COVERAGE_SHADES = LinearSegmentedColormap.from_list("coverage", ["#FFFFFF", "#9A9A9A"])


def draw_along(
    axes: Axes, along: pd.DataFrame, by: str, names: Sequence[str], *, targets: Sequence[float] = (), chosen: float
) -> Axes:
    """Draw figures as lines with their interval bands along `by` ("threshold" or "tie_margin").

    Parameters
    ----------
    axes : Axes
    along : DataFrame
        From `assay.measure.operating.figures_along`, at points of one line.
    names : sequence of str
        The figures to draw.
    targets : sequence of float
        Gate targets, drawn as dotted lines.
    chosen : float
        Where the operating point lies, drawn as a vertical line.
    """
    for position, name in enumerate(names):
        rows = along[along["figure"] == name].dropna(subset=["estimate"])
        style = look(position)
        x = rows[by].to_numpy()
        axes.fill_between(
            x, rows["low"].to_numpy(), rows["high"].to_numpy(), step="post", color=style.colour, alpha=0.16, linewidth=0
        )
        every = max(1, len(rows) // 8)
        axes.plot(
            x,
            rows["estimate"].to_numpy(),
            drawstyle="steps-post",
            color=style.colour,
            linestyle=style.line,
            marker=style.marker,
            markevery=(position % every, every),
            label=name,
        )
    for target in sorted(set(targets)):
        axes.axhline(target, color=INK, linewidth=1, linestyle=(0, (1, 2)))
        _name_target(axes, target)
    axes.axvline(chosen, color=GREY, linewidth=1, label="operating point")
    axes.set(xlim=(-0.01, 1.01), ylim=(-0.02, 1.05), xlabel=AXIS_WORDS[by], ylabel="share, with 95 % interval")
    return axes


def draw_plane(
    axes: Axes,
    counts: SweepCounts,
    gates: Sequence[Gate],
    point: tuple[float, float],
    certificate: Certificate | None = None,
) -> Axes:
    """Draw the plane: coverage as shade, points whose observed figures meet every gate, and those certified.

    Parameters
    ----------
    axes : Axes
    counts : SweepCounts
    gates : sequence of Gate
    point : (threshold, tie margin)
    certificate : Certificate, optional
        Its region of policies that passed is drawn if it certifies one; nothing is drawn of it otherwise.
    """
    extent = (_edges(counts.margins), _edges(counts.thresholds))
    axes.pcolormesh(*extent, counts.coverage(), cmap=COVERAGE_SHADES, vmin=0, vmax=1, rasterized=True)
    meets = (worst_slack(counts, gates) >= 0).astype(float)
    if meets.sum() > 0:
        axes.contourf(
            counts.margins, counts.thresholds, meets, levels=[0.5, 1.5], colors="none", hatches=["////"]
        ).set_edgecolor(look(0).colour)
        if meets.min() < 1:
            axes.contour(counts.margins, counts.thresholds, meets, levels=[0.5], colors=look(0).colour, linewidths=1)
    if certificate is not None and certificate.passed:
        _draw_region(axes, certificate)
    axes.plot(
        point[1], point[0], marker="o", markersize=9, markerfacecolor="white", markeredgecolor=BLACK,
        markeredgewidth=2, linestyle="none", clip_on=False, zorder=5,
    )  # fmt: skip
    axes.set(xlabel="tie margin", ylabel="threshold", xlim=(0, 1), ylim=(0, 1), aspect="equal")
    axes.grid(visible=False)
    return axes


def coverage_scale(drawing: Drawing, axes: Sequence[Axes]) -> None:
    """Add one scale of the coverage shades, for all the planes of a drawing."""
    shades = ScalarMappable(norm=Normalize(0, 1), cmap=COVERAGE_SHADES)
    drawing.colorbar(shades, ax=list(axes), label="coverage", shrink=0.5, aspect=30, ticks=[0, 0.5, 1])


def plane_key(drawing: Drawing, panels: int, certified: bool = False) -> None:
    """Explain the marks of `draw_plane` under the drawing."""
    handles: list[Artist] = [
        Patch(facecolor="white", edgecolor=look(0).colour, hatch="////", label="observed figures meet every gate"),
        Line2D([], [], marker="o", markersize=9, markerfacecolor="white", markeredgecolor=BLACK, markeredgewidth=2,
               linestyle="none", label="operating point"),
    ]  # fmt: skip
    if certified:
        handles.insert(1, Patch(facecolor=look(2).colour, alpha=0.45, edgecolor=look(2).colour, label="certified"))
    drawing.legend(handles=handles, loc="outside lower center", ncols=min(3, panels))


def safety_against_coverage(counts: SweepCounts, gates: Sequence[Gate]) -> pd.DataFrame:
    """Return, per gate, the best its figure can be at each coverage: the upper envelope over the whole plane.

    Returns
    -------
    DataFrame
        ``figure``, ``coverage`` (descending), ``best`` (the best share among points of at least that coverage),
        ``threshold`` and ``tie_margin`` of such a point.
    """
    rows = []
    coverage = counts.coverage()
    for gate in single_gates(gates):
        share = ratio(*counts.gate_counts(gate))
        known = ~np.isnan(share)
        t, m = np.nonzero(known)
        order = np.lexsort((-share[t, m], -coverage[t, m]))
        t, m = t[order], m[order]
        best = np.maximum.accumulate(share[t, m])
        rises = np.concatenate([[True], best[1:] > best[:-1]]) if len(best) else np.zeros(0, dtype=bool)
        rows.append(
            pd.DataFrame(
                {
                    "figure": gate_name(gate),
                    "coverage": coverage[t, m][rises],
                    "best": best[rises],
                    "threshold": counts.thresholds[t[rises]],
                    "tie_margin": counts.margins[m[rises]],
                }
            )
        )
    return pd.concat(rows, ignore_index=True)


def draw_safety_against_coverage(axes: Axes, envelope: pd.DataFrame, gates: Sequence[Gate]) -> Axes:
    """Draw what `safety_against_coverage` found, with each gate's target."""
    for position, gate in enumerate(single_gates(gates)):
        rows = envelope[envelope["figure"] == gate_name(gate)]
        style = look(position)
        x = np.append(rows["coverage"].to_numpy(), 0.0)
        y = np.append(rows["best"].to_numpy(), rows["best"].max() if len(rows) else np.nan)
        every = max(1, len(x) // 6)
        axes.step(
            x, y, where="pre", color=style.colour, linestyle=style.line, marker=style.marker, markevery=every,
            label=gate_name(gate),
        )  # fmt: skip
    for target in sorted({gate.target for gate in gates}):
        axes.axhline(target, color=INK, linewidth=1, linestyle=(0, (1, 2)))
        _name_target(axes, target)
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.05), xlabel="coverage (share acted on)", ylabel="best share reachable")
    return axes


def _draw_region(axes: Axes, certificate: Certificate) -> None:
    """Mark the certified policies: an area of the plane, or a line of it where the margin was not tuned."""
    cells = np.ma.masked_where(~certificate.region, np.ones(certificate.region.shape))
    if len(certificate.margins) == 1:
        # One margin was a candidate: a line of policies, drawn where it lies.
        t = np.flatnonzero(certificate.region[:, 0])
        at = np.full(len(t), certificate.margins[0])
        axes.plot(at, certificate.thresholds[t], marker="s", markersize=4, linestyle="none", color=look(2).colour)
        return
    edges = (_edges(certificate.margins), _edges(certificate.thresholds))
    axes.pcolormesh(*edges, cells, cmap=ListedColormap([look(2).colour]), alpha=0.55, rasterized=True)


def _name_target(axes: Axes, target: float) -> None:
    """Write a target at the right edge, on white, clear of the curves' left ends."""
    axes.annotate(
        f"target {target:g}", (1.0, target), xytext=(0, -3), textcoords="offset points", fontsize=7, ha="right", va="top",
        bbox={"facecolor": "white", "edgecolor": "none", "alpha": 0.8, "pad": 0.8},
    )  # fmt: skip


def _edges(grid: NDArray[np.float64]) -> NDArray[np.float64]:
    """Cell borders around grid values, kept inside [0, 1]."""
    if len(grid) == 1:
        return np.array([0.0, 1.0])
    middle = (grid[1:] + grid[:-1]) / 2
    return np.concatenate([[max(0.0, 2 * grid[0] - middle[0])], middle, [min(1.0, 2 * grid[-1] - middle[-1])]])
