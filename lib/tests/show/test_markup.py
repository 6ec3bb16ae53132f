"""Markup of unknown origin stands in a page as harmless markup or as text."""

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.show.markup import Body

HARMLESS = re.compile(r"a|abbr|b|blockquote|br|caption|cite|code|col|colgroup|d[dlt]|del|details|dfn|div|em|figcaption|figure|"
                      r"h[2-6]|hr|i|img|ins|kbd|li|mark|ol|p|pre|q|s|samp|section|small|span|strong|sub|summary|sup|"
                      r"t(able|body|d|foot|h|head|ime|r)|u|ul|var")  # fmt: skip
VOID = {"br", "col", "hr", "img"}

ATTACKS: list[str] = json.loads(Path(__file__).with_name("attacks.json").read_text(encoding="utf-8"))
PIECES = [
    "<p>",
    "</p>",
    "<div>",
    "</div>",
    "<table>",
    "<h1>",
    "</h3>",
    "<h2>x",
    "&lt;",
    "<",
    ">",
    '"',
    "x",
    "<!--",
    "-->",
    "</",
]


class Checker(HTMLParser):
    """Fails on any element or attribute that could act, and on elements that are not closed in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert HARMLESS.fullmatch(tag), tag
        for name, value in attrs:
            assert not name.startswith("on"), name
            assert name not in {"style", "srcset", "background", "action", "formaction", "srcdoc"}, name
            if name == "src":
                assert str(value).startswith("data:image/")
            if name == "href":
                assert re.match(r"https?:|mailto:|#|data:(text/csv|image/|application/json)|[^:/\\]*$", str(value)), (
                    value
                )
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_comment(self, data: str) -> None:
        raise AssertionError("a comment came through")


def html_of(markup: str) -> str:
    body = Body()
    body.add_html(markup)
    return "".join(body.parts)


def check(markup: str) -> None:
    checker = Checker()
    checker.feed(markup)
    checker.close()
    assert checker.open == []


@pytest.mark.parametrize("attack", ATTACKS)
def test_nothing_that_acts_comes_through(attack: str) -> None:
    check(html_of(attack))
    body = Body()
    body.add_markdown(attack, with_markup=True)
    body.add_markdown(attack, with_markup=False)
    check("".join(body.parts))


@given(st.lists(st.sampled_from([*ATTACKS, *PIECES]), max_size=8))
def test_no_mixture_of_pieces_comes_through_either(pieces: list[str]) -> None:
    check(html_of("".join(pieces)))


@given(st.text(max_size=60))
def test_any_text_is_taken(text: str) -> None:
    check(html_of(text))
    for with_markup in (True, False):
        body = Body()
        body.add_markdown(text, with_markup=with_markup)
        check("".join(body.parts))


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"]), max_size=40))
def test_plain_text_shows_as_itself(text: str) -> None:
    class Text(HTMLParser):
        said = ""

        def handle_data(self, data: str) -> None:
            self.said += data

    body = Body()
    body.add_text(text)
    reader = Text()
    reader.feed("".join(body.parts))
    reader.close()
    assert reader.said.strip() == text.strip()


def test_html_in_computed_markdown_is_text_and_in_an_authors_is_markup() -> None:
    computed, written = Body(), Body()
    computed.add_markdown("a <b>bold</b> name", with_markup=False)
    written.add_markdown("a <b>bold</b> name", with_markup=True)
    assert "&lt;b&gt;bold" in "".join(computed.parts)
    assert "<b>bold</b>" in "".join(written.parts)


def test_of_what_only_acts_not_even_the_text_is_left() -> None:
    assert html_of("<p>a<script>var b</script><style>c {}</style><svg><text>d</text></svg>e</p>") == "<p>ae</p>"


def test_the_first_heading_of_level_one_is_the_title_and_not_in_the_flow() -> None:
    body = Body()
    body.add_markdown("# The *title*\n\ntext\n\n# Another", with_markup=True)
    assert body.title == "The title"
    assert "".join(body.parts).count("<h") == 1
    assert body.sections == [("another", "Another")]


def test_headings_go_down_one_level_at_a_time() -> None:
    body = Body()
    body.add_markdown("# t\n\n### a\n\n##### b\n\n## c\n\n#### d", with_markup=True)
    assert re.findall(r"<h(\d)", "".join(body.parts)) == ["2", "3", "2", "3"]


def test_headings_of_one_name_have_anchors_of_their_own() -> None:
    body = Body()
    body.add_html("<h2>Same</h2><h2>Same</h2><h2>!</h2>")
    assert [anchor for anchor, _ in body.sections] == ["same", "same-2", "section"]


def test_a_table_without_a_region_gets_one_and_names_of_regions_differ() -> None:
    shown = html_of("<table><tr><td>1</td></tr></table>" * 2)
    assert re.findall(r'aria-label="([^"]+)"', shown) == ["Table", "Table (2)"]
    within = html_of('<div class="table-region" role="region" tabindex="0" aria-label="x"><table></table></div>')
    assert within.count("table-region") == 1


@pytest.mark.parametrize("alt", ["", "Image", "image", "png", "No description has been provided for this image"])
def test_a_picture_that_its_author_did_not_describe_is_described_by_what_stands_before_it(alt: str) -> None:
    body = Body()
    body.add_markdown("## Reliability of B\n\nThe gap is 0.2.", with_markup=True)
    assert body.describe_picture(alt) == (
        "Figure 1, not described by its author; it belongs to: Reliability of B. The gap is 0.2."
    )


def test_a_picture_that_its_author_described_keeps_that() -> None:
    assert Body().describe_picture("Two lines that cross.") == "Two lines that cross."


def test_a_picture_from_elsewhere_is_left_out_and_said_to_be() -> None:
    shown = html_of('<p>Before.</p><img src="https://x.example/x.png" alt="A long alternative">')
    assert "[picture left out, since it is not part of the page: A long alternative]" in shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("gap at $p = 0.9$ is", 'gap at <span class="formula">p = 0.9</span> is'),
        (r"$\alpha \le 0.05$", '<span class="formula">α ≤ 0.05</span>'),
        ("$a < b$", '<span class="formula">a &lt; b</span>'),
        ("$$x$$", '<span class="formula">x</span>'),
        ("from $5 to $10 each", "from $5 to $10 each"),
        ("between $5-$10", "between $5-$10"),
    ],
)
def test_formulas_are_text_and_prices_are_no_formulas(text: str, shown: str) -> None:
    body = Body()
    body.add_markdown(text, with_markup=True)
    assert "".join(body.parts).strip() == f"<p>{shown}</p>"


def test_terminal_colours_and_overwritten_lines_are_dropped() -> None:
    body = Body()
    body.add_text("\x1b[31mred\x1b[0m\n 10%\r 20%\r100%\r\nlast\x07")
    assert body.parts == ["<pre>red\n100%\nlast</pre>"]


def test_an_answer_of_megabytes_is_read_in_time() -> None:
    check(html_of("<b>" * 2_000 + "<table>" * 500 + "x" * 1_000_000))
    check(html_of('<img src="data:image/png;base64,' + "A" * 3_000_000 + '" alt="A long alternative">'))
