"""Figures fit for a page."""

import base64
import io
import re
from typing import Any
from xml.etree import ElementTree

import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure as Drawing
from PIL import Image

from assay.show.figure import Figure

ALT = "Reliability diagram: share right against confidence, n = 113, below the diagonal."


def draw(width: float = 5.0, *, label: str = "share right", **given: Any) -> Figure:
    drawing = Drawing(figsize=(width, 4))
    axes = drawing.add_subplot()
    axes.plot([0, 0.5, 1], [0, 0.2, 1], "o-")
    axes.set(xlabel="stated confidence", ylabel=label)
    arguments: dict[str, Any] = {
        "title": "Stated 0.5, right 0.2",
        "alt": ALT,
        "table": pd.DataFrame({"stated": [0.5], "right": [0.2]}),
        "name": "reliability",
        **given,
    }
    return Figure(axes, **arguments)


def test_the_same_drawing_gives_the_same_bytes() -> None:
    first, second = draw(), draw()
    assert first.svg == second.svg
    assert first.png == second.png


def test_the_settings_of_the_caller_are_left_as_they_were() -> None:
    before = dict(mpl.rcParams)
    _ = draw().svg
    assert dict(mpl.rcParams) == before


def test_the_svg_holds_its_text_as_text_and_says_what_it_is() -> None:
    root = ElementTree.fromstring(draw().svg)  # noqa: S314  (our own bytes)
    texts = ["".join(element.itertext()) for element in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "stated confidence" in texts
    assert root[0].text == "Stated 0.5, right 0.2"
    assert root[1].text == ALT


def test_the_svg_names_no_date_and_no_program() -> None:
    svg = draw().svg.decode()
    assert "<metadata" not in svg
    assert "<!DOCTYPE" not in svg
    assert not re.search(r"20\d\d-\d\d-\d\d", svg)


def test_the_png_is_one() -> None:
    picture = Image.open(io.BytesIO(draw().png))
    assert picture.format == "PNG"
    assert picture.width > 700


def test_a_figure_shows_picture_words_table_and_downloads() -> None:
    shown = draw()._repr_html_()
    assert re.search(rf'<img src="data:image/svg\+xml;base64,[^"]+" alt="{re.escape(ALT)}" width="\d+">', shown)
    assert "<figcaption>Stated 0.5, right 0.2</figcaption>" in shown
    assert re.search(r"<details><summary>[^<]+</summary>.*<td[^>]*>0.200</td>.*</details>", shown)
    assert re.findall(r'download="([^"]+)"', shown) == ["reliability.csv", "reliability.svg", "reliability.png"]


def test_the_downloads_are_the_files_they_say() -> None:
    figure = draw()
    links = re.findall(r'<a download="[^"]+" href="data:[^;]+;base64,([^"]+)"', figure._repr_html_())
    assert [base64.b64decode(link) for link in links] == [
        b"\xef\xbb\xbfstated,right\r\n0.5,0.2\r\n",
        figure.svg,
        figure.png,
    ]


def test_only_a_wide_picture_scrolls_and_can_be_reached_by_keyboard() -> None:
    assert 'class="picture wide" role="group" tabindex="0"' in draw(9.0)._repr_html_()
    assert 'class="picture">' in draw(4.0)._repr_html_()


def test_markup_in_words_and_labels_stays_text() -> None:
    evil = '"><script>alert(1)</script>'
    figure = draw(title=evil, alt=evil * 2, label=evil, table=pd.DataFrame({evil: [evil]}))
    assert "<script" not in figure._repr_html_()
    assert b"<script" not in figure.svg


def test_pyplot_forgets_the_drawing_so_that_it_is_shown_once() -> None:
    with mpl.rc_context({"backend": "agg"}):
        drawing, axes = plt.subplots()
        Figure(axes, title="t", alt=ALT, table=pd.DataFrame(), name="x")
        assert not plt.fignum_exists(drawing.number)


def test_text_in_place_of_the_picture_says_the_same() -> None:
    assert repr(draw()) == f"Stated 0.5, right 0.2. {ALT}"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"title": " "}, "title must state the finding"),
        ({"alt": "a plot"}, "alt must state type, axes, count and finding"),
        ({"name": "A b"}, "name must be small letters"),
    ],
)
def test_a_figure_without_words_is_refused(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        draw(**given)


def test_only_a_drawing_can_be_a_figure() -> None:
    with pytest.raises(ValueError, match="drawing must be the axes or the figure of a matplotlib drawing, got str"):
        Figure("x", title="t", alt=ALT, table=pd.DataFrame(), name="x")  # type: ignore[arg-type]
