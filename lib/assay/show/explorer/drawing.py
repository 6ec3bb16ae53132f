"""The explorer's picture, written as SVG: figures over the threshold and over the tie margin, and the plane.

A slider asks for many pictures a second, and matplotlib takes a fifth of a second for a single panel. So this picture is
written by hand, in the colours, markers and line styles of all others, in a few milliseconds.
"""

import base64
import html
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from matplotlib.image import imsave
from numpy.typing import NDArray

from assay.measure.plane import Plane, Spot
from assay.show.decisions import COVERAGE_SHADES
from assay.show.style import BLACK, BLUE, GREY, INK, Look, look

WIDTH = 960
_SIDE = 240  # of a panel; all lengths are CSS pixels
_LEFT, _TOP, _GAP = 52, 34, 78
_UNDER = 44
_LINE = 20
_TICKS = (0, 0.25, 0.5, 0.75, 1)
_DASHES = {"-": "", "--": "6 3", "-.": "7 2 1.5 2", ":": "1.5 2"}
_MARKERS = {
    "o": "M-3 0a3 3 0 1 0 6 0a3 3 0 1 0 -6 0Z",
    "s": "M-3 -3H3V3H-3Z",
    "^": "M0 -4L3.6 3H-3.6Z",
    "D": "M0 -4L4 0L0 4L-4 0Z",
    "v": "M0 4L3.6 -3H-3.6Z",
    "P": "M-1.3 -4H1.3V-1.3H4V1.3H1.3V4H-1.3V1.3H-4V-1.3H-1.3Z",
    "X": "M-3.5 -3.5L3.5 3.5M3.5 -3.5L-3.5 3.5",
    "*": "M0 -4L1.2 -1.3L4 -1.2L1.8 .6L2.6 3.5L0 1.9L-2.6 3.5L-1.8 .6L-4 -1.2L-1.2 -1.3Z",
}


@dataclass(frozen=True)
class _Panel:
    """A square from 0 to 1 in both directions at a place of the picture."""

    left: float

    def x(self, value: float) -> float:
        return round(self.left + _SIDE * value, 1)

    def y(self, value: float) -> float:
        return round(_TOP + _SIDE * (1 - value), 1)


_PANELS = tuple(_Panel(_LEFT + place * (_SIDE + _GAP)) for place in range(3))


def plane_backdrop(plane: Plane) -> str:
    """Draw what of a plane does not depend on the point: coverage as shade, and hatching where every gate is met."""
    panel = _PANELS[2]
    even = np.linspace(0, 1, 101)
    t, m = (
        np.abs(line[:, None] - even[None, :]).argmin(axis=0) for line in (plane.counts.thresholds, plane.counts.margins)
    )
    coverage = plane.counts.coverage()[np.ix_(t, m)]
    sink = io.BytesIO()
    imsave(
        sink, coverage, cmap=COVERAGE_SHADES, vmin=0, vmax=1, origin="lower", format="png", metadata={"Software": ""}
    )
    shades = base64.b64encode(sink.getvalue()).decode()
    hatched = "".join(_runs(panel, plane.meets[np.ix_(t, m)], even))
    return (
        f'<image x="{panel.x(0)}" y="{panel.y(1)}" width="{_SIDE}" height="{_SIDE}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{shades}"/>'
        f'<path d="{hatched}" fill="url(#hatch)"/>'
    )


def picture(plane: Plane, spot: Spot, backdrop: str, *, title: str, alt: str) -> bytes:
    """Draw the three panels at a spot.

    Parameters
    ----------
    plane : Plane
    spot : Spot
    backdrop : str
        What `plane_backdrop` drew of this plane.
    title, alt : str
        Go into the picture, for whoever keeps it apart from its page.

    Returns
    -------
    bytes
        An SVG document, `WIDTH` pixels wide.
    """
    names = list(dict.fromkeys(spot.along_threshold["figure"]))
    # The misroutes of a class and what is right of it mirror each other where ranks are equal; lines are few on purpose.
    shown = [name for name in names if not name.startswith("dangerous misroutes")]
    targets = sorted({finding.gate.target for finding in spot.gates})
    parts = [
        *_frame(_PANELS[0], "threshold", "share of items", f"At tie margin {spot.tie_margin:.3g}"),
        *_curves(_PANELS[0], spot.along_threshold, "threshold", shown, targets, spot.threshold),
        *_frame(_PANELS[1], "tie margin", "share of items", f"At threshold {spot.threshold:.3g}"),
        *_curves(_PANELS[1], spot.along_margin, "tie_margin", shown, targets, spot.tie_margin),
        backdrop,
        *_frame(_PANELS[2], "tie margin", "threshold", "All points: darker acts on more", grid=False),
        *_cross(_PANELS[2], spot),
    ]
    key, height = _key(shown, hatched=bool(plane.meets.any()))
    height += _TOP + _SIDE + _UNDER
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" viewBox="0 0 {WIDTH} {height}" '
        f'role="img" font-family="DejaVu Sans, Verdana, sans-serif" font-size="11" fill="{INK}">'
        f"<title>{html.escape(title)}</title><desc>{html.escape(alt)}</desc>"
        '<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse">'
        f'<path d="M-1 7L7 -1" stroke="{BLUE}" stroke-width="1"/></pattern></defs>'
        f'<rect width="{WIDTH}" height="{height}" fill="#FFFFFF"/>{"".join(parts)}{key}</svg>'
    ).encode()


def _frame(panel: _Panel, across: str, up: str, title: str, *, grid: bool = True) -> Iterator[str]:
    for tick in _TICKS:
        x, y = panel.x(tick), panel.y(tick)
        if grid:
            yield f'<path d="M{panel.x(0)} {y}H{panel.x(1)}M{x} {panel.y(0)}V{panel.y(1)}" stroke="#E4E4E4"/>'
        yield f'<text x="{x}" y="{panel.y(0) + 15}" text-anchor="middle">{tick:g}</text>'
        yield f'<text x="{panel.x(0) - 6}" y="{y + 4}" text-anchor="end">{tick:g}</text>'
    yield f'<path d="M{panel.x(0)} {panel.y(1)}V{panel.y(0)}H{panel.x(1)}" fill="none" stroke="{GREY}"/>'
    yield f'<text x="{panel.x(0)}" y="{panel.y(1) - 12}" font-weight="bold">{html.escape(title)}</text>'
    yield f'<text x="{panel.x(0.5)}" y="{panel.y(0) + 32}" text-anchor="middle">{across}</text>'
    x, y = panel.x(0) - 38, panel.y(0.5)
    yield f'<text x="{x}" y="{y}" text-anchor="middle" transform="rotate(-90 {x} {y})">{up}</text>'


def _curves(
    panel: _Panel, along: pd.DataFrame, by: str, names: Sequence[str], targets: Sequence[float], chosen: float
) -> Iterator[str]:
    lines = []
    for place, name in enumerate(names):
        rows = along[along["figure"] == name]
        x, estimate, low, high = (rows[column].to_numpy() for column in (by, "estimate", "low", "high"))
        style = look(place)
        for known in _stretches(estimate):
            band = _steps(panel, x[known], high[known]) + _steps(panel, x[known], low[known], back=True)
            yield f'<path d="M{band}Z" fill="{style.colour}" opacity="0.14"/>'
            lines.append(
                f'<path d="M{_steps(panel, x[known], estimate[known])}" fill="none" {_stroke(style)}/>'
                + "".join(
                    _marker(style, panel.x(x[at]), panel.y(estimate[at]))
                    for at in range(known.start + 3 * place % 12, known.stop, 12)
                )
            )
    yield from lines
    for target in targets:
        y = panel.y(target)
        yield f'<path d="M{panel.x(0)} {y}H{panel.x(1)}" stroke="{INK}" stroke-dasharray="1 2"/>'
        yield (
            f'<text x="{panel.x(1) - 2}" y="{y + 11}" font-size="9" text-anchor="end" stroke="#FFFFFF" stroke-width="3" '
            f'paint-order="stroke">target {target:g}</text>'
        )
    yield f'<path d="M{panel.x(chosen)} {panel.y(0)}V{panel.y(1)}" stroke="{BLACK}" stroke-width="1.6"/>'


def _cross(panel: _Panel, spot: Spot) -> Iterator[str]:
    x, y = panel.x(spot.tie_margin), panel.y(spot.threshold)
    yield f'<path d="M{panel.x(0)} {y}H{panel.x(1)}M{x} {panel.y(0)}V{panel.y(1)}" stroke="{BLACK}" stroke-dasharray="2 3"/>'
    yield f'<circle cx="{x}" cy="{y}" r="6" fill="#FFFFFF" stroke="{BLACK}" stroke-width="2.2"/>'


def _key(names: Sequence[str], *, hatched: bool) -> tuple[str, int]:
    """Explain lines and marks under the panels; returns the markup and its height."""
    entries = [
        (
            f'<path d="M0 -4H30" fill="none" {_stroke(look(place))}/>{_marker(look(place), 15, -4)}',
            name,
        )
        for place, name in enumerate(names)
    ]
    entries.append((f'<path d="M15 -13V4" stroke="{BLACK}" stroke-width="1.6"/>', "the point looked at"))
    if hatched:
        entries.append(
            (
                f'<rect x="4" y="-12" width="22" height="13" fill="url(#hatch)" stroke="{BLUE}"/>',
                "observed figures meet every gate",
            )
        )
    x, line, written = float(_LEFT), 1, []
    for mark, words in entries:
        width = 50 + 6.8 * len(words)
        if x > _LEFT and x + width > WIDTH:
            x, line = float(_LEFT), line + 1
        at = _TOP + _SIDE + _UNDER + line * _LINE - 6
        written.append(
            f'<g transform="translate({x:.1f} {at})">{mark}<text x="37" y="0">{html.escape(words)}</text></g>'
        )
        x += width
    return "".join(written), line * _LINE + 4


def _stroke(style: Look) -> str:
    dashes = _DASHES[style.line] if isinstance(style.line, str) else " ".join(map(str, style.line[1]))
    return f'stroke="{style.colour}" stroke-width="1.8"' + (f' stroke-dasharray="{dashes}"' if dashes else "")


def _marker(style: Look, x: float, y: float) -> str:
    inside = "none" if style.marker == "X" else style.colour
    return (
        f'<path transform="translate({x} {y})" d="{_MARKERS[style.marker]}" fill="{inside}" stroke="{style.colour}"/>'
    )


def _stretches(values: NDArray[np.float64]) -> Iterator[slice]:
    """Yield the runs of numbers between NaNs."""
    known = np.concatenate([[False], ~np.isnan(values), [False]])
    edges = np.flatnonzero(known[1:] != known[:-1])
    for start, stop in edges.reshape(-1, 2):
        yield slice(int(start), int(stop))


def _steps(panel: _Panel, x: NDArray[np.float64], y: NDArray[np.float64], *, back: bool = False) -> str:
    """Write a line that keeps each height until the next place; backwards it closes a band that went forward."""
    kept = np.concatenate([[True], np.diff(y) != 0])
    kept[-1] = True
    x, y = x[kept], y[kept]
    points = [(x[0], y[0])]
    for place in range(1, len(x)):
        points += [(x[place], y[place - 1]), (x[place], y[place])]
    if back:
        points.reverse()
    return ("L" if back else "") + "L".join(f"{panel.x(one)} {panel.y(other)}" for one, other in points)


def _runs(panel: _Panel, met: NDArray[np.bool_], even: NDArray[np.float64]) -> Iterator[str]:
    """Write the cells where something holds as rectangles, one for each run of a row."""
    half = (even[1] - even[0]) / 2
    for row in range(len(even)):
        edges = np.flatnonzero(np.diff(np.concatenate([[0], met[row].astype(int), [0]])))
        for start, stop in edges.reshape(-1, 2):
            left, right = max(0.0, even[start] - half), min(1.0, even[stop - 1] + half)
            low, high = max(0.0, even[row] - half), min(1.0, even[row] + half)
            yield f"M{panel.x(left)} {panel.y(low)}V{panel.y(high)}H{panel.x(right)}V{panel.y(low)}Z"
