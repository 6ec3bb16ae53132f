"""How every drawing looks: colours, markers and line styles that stay apart in grey, and axes with words on them.

The palette is Okabe and Ito's (Color Universal Design, 2008). No series is told apart by colour alone: each has its
own marker and line style too.
"""

import textwrap
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Drawing

BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, VERMILION, PURPLE = (
    "#000000",
    "#E69F00",
    "#56B4E9",
    "#009E73",
    "#F0E442",
    "#0072B2",
    "#D55E00",
    "#CC79A7",
)
GREY = "#767676"
INK = "#222222"
PANEL = 3.1
"""Side of a square panel, inches."""


@dataclass(frozen=True)
class Look:
    """Colour, marker and line style of one series."""

    colour: str
    marker: str
    line: str | tuple[int, tuple[int, ...]]


LOOKS = (
    Look(BLUE, "o", "-"),
    Look(VERMILION, "s", "--"),
    Look(GREEN, "^", "-."),
    Look(ORANGE, "D", ":"),
    Look(PURPLE, "v", (0, (5, 1, 1, 1, 1, 1))),
    Look(SKY, "P", (0, (3, 1))),
    Look(BLACK, "X", (0, (1, 1))),
    Look(GREY, "*", (0, (8, 2))),
)


def look(position: int) -> Look:
    """Return the look of the series at a position; they repeat after eight."""
    return LOOKS[position % len(LOOKS)]


@contextmanager
def house_style() -> Iterator[None]:
    """Draw with the fonts, sizes and spines of this project, and leave the caller's settings as they were."""
    with mpl.rc_context(
        {
            "font.family": "sans-serif",
            "font.sans-serif": ["DejaVu Sans"],
            "font.size": 9,
            "axes.titlesize": 9.5,
            "axes.titleweight": "bold",
            "axes.titlelocation": "left",
            "axes.labelsize": 9,
            "axes.edgecolor": GREY,
            "axes.labelcolor": INK,
            "text.color": INK,
            "xtick.color": INK,
            "ytick.color": INK,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.axisbelow": True,
            "axes.grid": True,
            "grid.color": "#E4E4E4",
            "grid.linewidth": 0.6,
            "legend.frameon": False,
            "legend.fontsize": 8.5,
            "lines.linewidth": 1.6,
            "lines.markersize": 5,
            "figure.facecolor": "white",
            "figure.constrained_layout.use": True,
            "hatch.linewidth": 0.5,
        }
    ):
        yield


def panels(count: int, *, across: int = 4, width: float = PANEL, height: float = PANEL) -> tuple[Drawing, list[Axes]]:
    """Make a drawing of `count` panels, at most `across` in a row; sizes in inches."""
    columns = min(across, count)
    if count <= 2:
        # Few panels have the room of a page: larger, and wide enough for the words below them.
        width, height = 1.35 * width, 1.25 * height
    rows = -(-count // columns)
    drawing = Drawing(figsize=(width * columns, height * rows), layout="constrained")
    axes = [drawing.add_subplot(rows, columns, position + 1) for position in range(count)]
    return drawing, axes


def unit_square(axes: Axes, x: str, y: str) -> Axes:
    """Make square axes from 0 to 1 with the given words on them."""
    axes.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), xlabel=x, ylabel=y, aspect="equal")
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])
    return axes


def outer_labels_only(axes: Sequence[Axes], across: int = 4) -> None:
    """Keep axis words only on the left column and the lowest panel of each column."""
    columns = min(across, len(axes))
    for position, one in enumerate(axes):
        if position % columns:
            one.set_ylabel("")
        if position + columns < len(axes):
            one.set_xlabel("")


def panel_name(name: str, across: int = 26) -> str:
    """Break a series' name into at most two lines that fit above a panel; a long model name gives way to what follows."""
    lines = textwrap.wrap(name, across, break_long_words=True)
    if len(lines) <= 2:
        return "\n".join(lines)
    model, _, rest = name.partition(", ")
    first = model if len(model) <= across else f"{model[: across - 1]}…"
    second = rest if len(rest) <= across else f"…{rest[1 - across :]}"
    return f"{first}\n{second}"
