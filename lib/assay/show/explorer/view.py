"""What the explorer shows at a spot: the picture, the figures with their gates, and the list of misrouted items."""

import base64
import html
import math
from dataclasses import dataclass

import pandas as pd

from assay.measure.binomial import FAIL, PASS
from assay.measure.gates import rounded_down, rounded_up
from assay.measure.operating import gate_name
from assay.measure.plane import Plane, Spot
from assay.show.explorer.drawing import WIDTH, picture
from assay.show.misroutes import misroute_frame
from assay.show.tables import NOTEBOOK_STYLE, csv_data, download_link, html_table
from assay.show.words import count, percent

MOST_LISTED = 40
"""Most misrouted items in the list; how many there are is always said."""

_LONGEST_TEXT = 400  # characters
_VERDICTS = {PASS: "would pass", FAIL: "would fail"}


@dataclass(frozen=True)
class View:
    """Three pieces of HTML, every text in them escaped."""

    figure: str
    gates: str
    misrouted: str


def view_of(plane: Plane, spot: Spot, backdrop: str, texts: pd.Series, subject: str, *, numbers: bool = False) -> View:
    """Write down a spot.

    Parameters
    ----------
    plane, spot, backdrop
        As for `assay.show.explorer.drawing.picture`.
    texts : Series of str by item id
    subject : str
        The series and the subgroup, in words.
    numbers : bool
        Whether the numbers behind the picture and its files go with it, as on a page; a slider does not wait for them.
    """
    return View(
        _figure(plane, spot, backdrop, subject, numbers), _gates(plane, spot, subject), _misrouted(plane, spot, texts)
    )


def finding(plane: Plane, spot: Spot) -> str:
    """Say in a sentence what the spot comes to."""
    at = f"At threshold {spot.threshold:.3g} and tie margin {spot.tie_margin:.3g}"
    coverage = spot.figures[spot.figures["figure"] == "coverage"]["estimate"].iloc[0]
    acted = f"{percent(coverage)} of {count(len(plane.table), 'item')} are acted on"
    gates = "".join(f", {gate_name(one.gate)} is {one.successes:,} of {one.trials:,}" for one in spot.gates)
    return f"{at}, {acted}{gates}"


def _figure(plane: Plane, spot: Spot, backdrop: str, subject: str, numbers: bool) -> str:
    title = finding(plane, spot)
    alt = (
        "Three square panels, axes from 0 to 1. Left and middle: step lines with 95 % interval bands, shares of items over "
        "the threshold and over the tie margin; a vertical line marks the point, dotted lines the targets. Right: a map of "
        "coverage, threshold up and tie margin across; hatching where every gate's observed figure meets its target, a ring "
        f"at the point. {subject}, n = {count(len(plane.table), 'item')}. {title}."
    )
    if not plane.margin_matters:
        title += ". No answer names a runner-up, so the tie margin changes nothing"
    drawn = picture(plane, spot, backdrop, title=title, alt=alt)
    source = f"data:image/svg+xml;base64,{base64.b64encode(drawn).decode()}"
    behind = _behind(spot, drawn, title) if numbers else ""
    label = html.escape(f"Picture: {title}")
    return (
        f'{NOTEBOOK_STYLE}<figure class="assay-figure">'
        f'<div class="picture wide" role="group" tabindex="0" aria-label="{label}">'
        f'<img src="{source}" alt="{html.escape(alt)}" width="{WIDTH}"></div>'
        f"<figcaption>{html.escape(title)}</figcaption>{behind}</figure>"
    )


def _behind(spot: Spot, drawn: bytes, title: str) -> str:
    lines = pd.concat([spot.along_threshold, spot.along_margin], ignore_index=True)
    table = html_table(lines, caption=f"The numbers behind: {title}")
    links = ", ".join(
        (
            download_link("CSV", "explorer.csv", csv_data(lines), "text/csv", of=title),
            download_link("SVG", "explorer.svg", drawn, "image/svg+xml", of=title),
        )
    )
    return (
        f"<details><summary>The numbers behind this figure</summary>{table}</details>"
        f'<p class="assay-downloads">Download: {links}</p>'
    )


def _gates(plane: Plane, spot: Spot, subject: str) -> str:
    judged = {gate_name(one.gate): one for one in spot.gates}
    rows = []
    for name, estimate, low, high, answers in spot.figures[["figure", "estimate", "low", "high", "answers"]].to_numpy(
        dtype=object
    ):
        gate = judged.get(name)
        known = not math.isnan(estimate)
        rows.append(
            {
                "figure": name,
                "counted": f"{round(estimate * answers):,} of {answers:,}" if known else "nothing",
                "share, %": f"{100 * estimate:.1f} ({100 * low:.1f}, {100 * high:.1f})" if known else None,
                "target": f"{gate.gate.target:g}" if gate else None,
                "at least": rounded_down(gate.lower) if gate else None,
                "at most": rounded_up(gate.upper) if gate else None,
                "each bound at": percent(1 - gate.gate.delta) if gate else None,
                "verdict, descriptive": _VERDICTS.get(gate.verdict, "undecided") if gate else None,
            }
        )
    caption = (
        f"{subject}: shares with 95 % intervals, one answer per item. Descriptive: a point looked for on these very "
        "items proves nothing on them, and no verdict here is a certificate"
    )
    return html_table(pd.DataFrame(rows), caption=caption)


def _misrouted(plane: Plane, spot: Spot, texts: pd.Series) -> str:
    number = len(spot.misrouted)
    if not number:
        return f"<p>No dangerous misroute among {count(len(plane.table), 'item')} at this point.</p>"
    frame = misroute_frame(plane.rows(spot, MOST_LISTED), texts, _LONGEST_TEXT)
    listed = "" if number <= MOST_LISTED else f"; the {MOST_LISTED} most confident are listed"
    caption = f"Dangerous misroutes: {number:,} of {count(len(plane.table), 'item')}, the most confident first{listed}"
    return html_table(frame, caption=caption, formats={"confidence": ".2f"})
