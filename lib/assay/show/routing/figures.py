"""The pictures of notebook 40: the map of agreement, and what each share served by the cheap model is worth on labels."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Patch, Rectangle

from assay.measure.floors import Earned
from assay.measure.operating import gate_name
from assay.measure.routing import CHEAP, EXPENSIVE, GAIN
from assay.show.figure import Figure
from assay.show.prompts.gaps import MINUS
from assay.show.routing.following import Followed
from assay.show.routing.tables import map_frame
from assay.show.style import BLACK, GREEN, GREY, INK, house_style, look, panels, unit_square
from assay.show.words import Words, count, percent

# Light enough at its darkest for black figures on it.
_SHADES = LinearSegmentedColormap.from_list("disagreement", ["#FFFFFF", "#B4B4B4"])
_DARKEST = 0.5
"""The disagreement rate from which on cells are as dark as they get."""


def agreement_map(found: Followed | None) -> Figure | Words:
    """Disagreement at every pair of floors with its counts: those trusted have a frame, those chosen a thick one."""
    if found is None:
        return Words()
    earned = found.earned
    rows, columns = earned.map.measured.shape
    with house_style():
        drawing, (axes,) = panels(1, width=(1.6 + 0.74 * columns) / 1.35, height=(1.3 + 0.44 * rows) / 1.25)
        draw_agreement_map(axes, earned)
        drawing.legend(handles=_key(earned), loc="outside lower center", ncols=2, fontsize=8)
    nearest = earned.map.rate(earned.nearest)
    confidence, margin = earned.map.floors(earned.nearest)
    where = f"confidence from {confidence:g} and margin from {margin:g}"
    if earned.at is not None and nearest is not None:
        title = f"Earned: {where}, where {percent(nearest)} of {int(earned.map.measured[earned.nearest]):,} answers disagree"
    else:
        title = "No pair of floors is trusted" + (f"; nearest is {where}" if nearest is not None else "")
    alt = (
        f"Table of shaded cells: floor of the cheap answer's confidence up ({rows}), floor of its margin across ({columns}); "
        f"each cell holds the share of answers that disagree with the expensive model and the number of answers that reach "
        f"both floors; darker is more disagreement, framed is trusted. n = {count(int(earned.map.measured.max()), 'answer')}. "
        f"{title}."
    )
    return Figure(drawing, title=title, alt=alt, table=map_frame(earned), name="agreement-map")


def draw_agreement_map(axes: Axes, earned: Earned) -> Axes:
    """Draw the map: confidence floors up, margin floors across, rate and count in every cell."""
    counted = earned.map
    for row in range(len(counted.confidences)):
        for column in range(len(counted.margins)):
            rate, measured = counted.rate((row, column)), int(counted.measured[row, column])
            shade = _SHADES(min(rate, _DARKEST) / _DARKEST) if rate is not None else "white"
            axes.add_patch(
                Rectangle((column - 0.5, row - 0.5), 1, 1, facecolor=shade, edgecolor="#BBBBBB", linewidth=0.5)
            )
            few = measured < earned.min_questions
            text = "none" if rate is None else f"{100 * rate:.1f} %\n{measured:,}"
            style = "italic" if few else "normal"
            axes.text(column, row, text, ha="center", va="center", fontsize=7.5, fontstyle=style, color=INK)
            chosen = earned.nearest == (row, column)
            if chosen or earned.trusted[row, column]:
                axes.add_patch(
                    Rectangle(
                        (column - 0.46, row - 0.44), 0.92, 0.88, fill=False, edgecolor=BLACK if chosen else GREEN,
                        linewidth=3 if chosen and earned.at else 1.5, linestyle="-" if earned.at else "--", zorder=3,
                    )
                )  # fmt: skip
    axes.set_xticks(range(len(counted.margins)), [f"{one:g}" for one in counted.margins])
    axes.set_yticks(range(len(counted.confidences)), [f"{one:g}" for one in counted.confidences])
    axes.set(
        xlim=(-0.5, len(counted.margins) - 0.5),
        ylim=(-0.5, len(counted.confidences) - 0.5),
        xlabel="floor of the cheap answer's margin",
        ylabel="floor of the cheap answer's confidence",
    )
    axes.grid(visible=False)
    axes.tick_params(length=0)
    return axes


def share_served(found: Followed | None) -> Figure | Words:
    """Accuracy, and each gated class's figures, against the share that the cheap model serves, as its floor moves."""
    if found is None:
        return Words()
    along = found.along
    named = dict.fromkeys(along["figure"])
    names = ["accuracy", GAIN, *(name for name in named if name not in ("accuracy", GAIN))]
    margin = float(found.earned.map.margins[0])
    with house_style():
        drawing, axes = panels(len(names), across=2 if len(names) == 4 else 3)
        for position, (name, panel) in enumerate(zip(names, axes, strict=True)):
            draw_share_served(panel, along[along["figure"] == name], position)
            panel.set_title(name)
            if name == GAIN:
                _points(panel, along[along["figure"] == name])
            if name == "accuracy":
                _alone(panel, found)
            _target(panel, found, name)
            _mark_chosen(panel, found, name)
            panel.legend(loc="best", fontsize=7.5)
    accuracy = along[along["figure"] == "accuracy"]
    low, high = accuracy["estimate"].min(), accuracy["estimate"].max()
    title = (
        f"At a margin from {margin:g}, over all confidence floors, the routed system is right on {percent(low)} to "
        f"{percent(high)} of {count(len(found.answers), 'item')}"
    )
    alt = (
        f"Lines with 95 % interval bars, {count(len(names), 'panel')}: share served by the cheap model across, share of "
        f"items up, both 0 to 1, and in one panel the difference from the expensive model alone in points; one "
        f"point for each of {len(accuracy)} confidence floors at a margin floor of {margin:g}. Panels: "
        f"{', '.join(names)}. n = {len(found.answers):,} items. {title}."
    )
    return Figure(drawing, title=title, alt=alt, table=along, name="share-served")


def draw_share_served(axes: Axes, rows: pd.DataFrame, position: int) -> Axes:
    """Draw one figure over the share served, with its intervals; floors written at the ends."""
    style = look(position)
    unit_square(axes, "share served by the cheap model", "share of items")
    known = rows[rows["items"] > 0]
    errors = [known["estimate"] - known["low"], known["high"] - known["estimate"]]
    axes.errorbar(
        known["served_cheap"], known["estimate"], yerr=np.clip(np.array(errors, dtype=float), 0, None), color=style.colour,
        marker=style.marker, linestyle=style.line, elinewidth=0.9, capsize=2, label="routed, one point a floor",
    )  # fmt: skip
    for row in (known.head(1), known.tail(1)):
        for one in row.itertuples():
            axes.annotate(
                f"{one.min_confidence:g}",
                (one.served_cheap, one.high),
                xytext=(0, 3),
                textcoords="offset points",
                ha="center",
                fontsize=7.5,
            )
    return axes


def _points(axes: Axes, rows: pd.DataFrame) -> None:
    """Turn a unit square into one of differences, symmetric about none and wide enough for the intervals of `rows`."""
    reach = max(0.05, np.ceil(20 * np.nanmax(np.abs(rows[["low", "high"]].to_numpy(float)))) / 20)
    ticks = np.linspace(-reach, reach, 5)
    axes.set(ylim=(-1.08 * reach, 1.08 * reach), ylabel="points of accuracy", aspect="auto", box_aspect=1)
    axes.set_yticks(ticks, [f"{100 * one:+.3g}".replace("-", MINUS) if one else "0" for one in ticks])
    axes.axhline(0, color=INK, linewidth=1, linestyle=(0, (6, 2)), label="expensive alone", zorder=1)


def _alone(axes: Axes, found: Followed) -> None:
    for name, line in ((EXPENSIVE, (0, (6, 2))), (CHEAP, (0, (1, 1.5)))):
        share = found.judged.system(name).accuracy.estimate
        axes.axhline(share, color=INK, linewidth=1, linestyle=line, label=f"{name}: {percent(share)}", zorder=1)


def _target(axes: Axes, found: Followed, name: str) -> None:
    for gate in (one for each in found.study.taxonomy.gates for one in each.each()):
        if gate.classes and name == gate_name(gate):
            axes.axhline(
                gate.target, color=GREY, linewidth=1.2, linestyle=":", label=f"target {percent(gate.target, 0)}"
            )


def _mark_chosen(axes: Axes, found: Followed, name: str) -> None:
    floors = found.earned.floors
    if floors is None:
        return
    rows = found.at_nearest[found.at_nearest["figure"] == name]
    axes.plot(
        rows["served_cheap"], rows["estimate"], marker="o", markersize=11, markerfacecolor="none", markeredgecolor=BLACK,
        markeredgewidth=2, linestyle="none", zorder=5, label=f"chosen: {floors[0]:g} and margin {floors[1]:g}",
    )  # fmt: skip


def _key(earned: Earned) -> list[Patch]:
    handles = [
        Patch(
            facecolor=_SHADES(1.0),
            edgecolor="#BBBBBB",
            label=f"share that disagrees; darkest from {percent(_DARKEST, 0)}",
        ),
        Patch(facecolor="none", edgecolor="none", label=f"in italics: fewer than {earned.min_questions:,} answers"),
    ]
    if earned.at is not None:
        handles += [
            Patch(facecolor="none", edgecolor=GREEN, linewidth=1.4, label="trusted"),
            Patch(facecolor="none", edgecolor=BLACK, linewidth=3, label="chosen: trusted, and serves the most"),
        ]
    else:
        handles.append(
            Patch(facecolor="none", edgecolor=BLACK, linewidth=1.6, linestyle="--", label="nearest, not trusted")
        )
    return handles
