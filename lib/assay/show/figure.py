"""A drawing made fit for a page: the picture, what it shows in words, and the numbers behind it.

`Figure` takes a matplotlib drawing and shows itself in a notebook as one HTML ``figure``: an SVG picture with a text
alternative, its title, the table behind it and downloads as CSV, SVG and PNG. The picture is an image of its own
inside the page, so the names in one drawing never clash with those in another, and nothing in it can run.
"""

import base64
import html
import io
import re
from functools import cached_property

import matplotlib as mpl
import pandas as pd
from matplotlib import pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

from assay.show.tables import NOTEBOOK_STYLE, csv_data, download_link, file_name, html_table

_PNG_DOTS_PER_INCH = 160
_SHORTEST_ALT = 20
_WIDE = 560  # CSS pixels
_COORDINATES = re.compile(r'(?<=\s)(?:d|x|y|points)="[^"]*"')
_DECIMAL = re.compile(r"-?\d+\.\d{3,}")
_ROWS_SHOWN = 100


class Figure:
    """A finished figure.

    Parameters
    ----------
    drawing : matplotlib.axes.Axes or matplotlib.figure.Figure
        The drawing; it is taken over (pyplot forgets it, so that a notebook shows it once).
    title : str
        The finding, in a sentence.
    alt : str
        What a reader who does not see the picture needs: its type, its axes, how many items it is about, and the
        finding.
    table : pandas.DataFrame
        The numbers behind the picture.
    name : str
        Name of the files to download, without ending: letters, digits and hyphens.

    Raises
    ------
    ValueError
        The title is blank, the alternative text shorter than 20 characters, or the name no file name.
    """

    def __init__(self, drawing: Axes | Drawing, *, title: str, alt: str, table: pd.DataFrame, name: str) -> None:
        if not title.strip():
            raise ValueError("title must state the finding, got a blank text")
        if len(alt.strip()) < _SHORTEST_ALT:
            raise ValueError(
                f"alt must state type, axes, count and finding, {_SHORTEST_ALT} characters or more, got {alt!r}"
            )
        drawn = drawing.get_figure(root=True) if isinstance(drawing, Axes) else drawing
        if not isinstance(drawn, Drawing):
            raise ValueError(
                f"drawing must be the axes or the figure of a matplotlib drawing, got {type(drawing).__name__}"
            )
        self.drawing = drawn
        self.title = title.strip()
        self.alt = alt.strip()
        self.table = table
        self.name = file_name(name)
        plt.close(drawn)

    def __repr__(self) -> str:
        return f"{self.title}. {self.alt}"

    @cached_property
    def svg(self) -> bytes:
        """The picture as an SVG document with its text as text; the same drawing gives the same bytes."""
        sink = io.BytesIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        with mpl.rc_context({"svg.fonttype": "none", "svg.hashsalt": self.name, "svg.image_inline": True}):
            self.drawing.savefig(sink, format="svg", bbox_inches=self._frame, metadata=nothing)
        document = sink.getvalue().decode()
        opening = re.search(r"<svg\b[^>]*>", document)
        if opening is None:  # pragma: no cover - matplotlib always writes the element
            raise ValueError("matplotlib wrote no svg element")
        title, alt = (html.escape(" ".join(text.split())) for text in (self.title, self.alt))
        words = f"<title>{title}</title><desc>{alt}</desc>"
        body = re.sub(r"<metadata>.*?</metadata>", "", document[opening.end() :], count=1, flags=re.DOTALL)
        return _compact(f"{opening.group()}{words}{body}").encode()

    @cached_property
    def png(self) -> bytes:
        """The picture as a PNG at 160 dots per inch."""
        sink = io.BytesIO()
        self.drawing.savefig(
            sink, format="png", dpi=_PNG_DOTS_PER_INCH, bbox_inches=self._frame, metadata={"Software": None}
        )
        return sink.getvalue()

    @cached_property
    def _frame(self) -> str | None:
        """What savefig is told of the frame, after laying the drawing out once for all the files made of it.

        A layout engine would run again, and a tight frame draw everything twice, for each file: together most of the
        time that a figure takes. A drawing without an engine gets the tight frame, lest labels are cut off.
        """
        engine = self.drawing.get_layout_engine()
        if engine is None:
            return "tight"
        engine.execute(self.drawing)
        self.drawing.set_layout_engine("none")
        return None

    def _repr_html_(self) -> str:
        width = _width(self.svg)
        source = f"data:image/svg+xml;base64,{base64.b64encode(self.svg).decode()}"
        table = html_table(self.table, caption=f"The numbers behind: {self.title}", max_rows=_ROWS_SHOWN)
        links = ", ".join(
            (
                download_link("CSV", f"{self.name}.csv", csv_data(self.table), "text/csv", of=self.title),
                download_link("SVG", f"{self.name}.svg", self.svg, "image/svg+xml", of=self.title),
                download_link("PNG", f"{self.name}.png", self.png, "image/png", of=self.title),
            )
        )
        label, alt = html.escape(f"Picture: {self.title}"), html.escape(self.alt)
        # On a phone a wide picture scrolls sideways, so the keyboard must reach it.
        wide = f' wide" role="group" tabindex="0" aria-label="{label}' if width > _WIDE else ""
        return (
            f'{NOTEBOOK_STYLE}<figure class="assay-figure">'
            f'<div class="picture{wide}"><img src="{source}" alt="{alt}" width="{width}"></div>'
            f"<figcaption>{html.escape(self.title)}</figcaption>"
            f"<details><summary>The numbers behind this figure</summary>{table}</details>"
            f'<p class="assay-downloads">Download: {links}</p></figure>'
        )


def _compact(svg: str) -> str:
    """Write coordinates to a hundredth of a point, less than any screen or printer shows: half the size of a file."""

    def rounded(attribute: re.Match[str]) -> str:
        return _DECIMAL.sub(lambda number: f"{float(number.group()):.2f}".rstrip("0").rstrip("."), attribute.group())

    return _COORDINATES.sub(rounded, svg).replace(" \n", " ").replace("\n", "")


def _width(svg: bytes) -> int:
    """Width of the picture in CSS pixels; matplotlib states it in points."""
    stated = re.search(rb'\bwidth="([0-9.]+)pt"', svg)
    return round(float(stated.group(1)) * 96 / 72) if stated else 640
