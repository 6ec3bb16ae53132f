"""Text and markup of unknown origin, made safe to stand in a page.

Whatever a notebook holds or shows passes through a `Body`: markdown becomes HTML, HTML is parsed and written anew from
a list of allowed elements, so that nothing in it can run, load anything, or break out of its place. The same pass gives
headings an order without gaps, tables a region that scrolls by itself, and pictures a text alternative.
"""

import html
import re
from collections import Counter
from dataclasses import dataclass, field
from html.parser import HTMLParser

import mistune

_PLAIN_ELEMENTS = frozenset(
    re.findall(
        r"\w+",
        """a abbr b blockquote caption cite code colgroup dd del details dfn div dl dt em figcaption figure i ins kbd li
        mark ol p pre q s samp section small span strong sub summary sup table tbody td tfoot th thead time tr u ul
        var""",
    )
)
_VOID_ELEMENTS = frozenset({"br", "col", "hr"})
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
# These go with all that is in them; of any other unknown element only the tags go.
_DROPPED_WHOLE = frozenset(
    re.findall(
        r"\w+",
        """audio canvas head iframe math noembed noframes noscript object script select style svg template textarea
        title video xmp""",
    )
)
_ATTRIBUTES = {
    "": {"class", "lang", "dir", "title", "aria-label", "role", "tabindex"},
    "a": {"href", "download"},
    "col": {"span"},
    "details": {"open"},
    "ol": {"start"},
    "td": {"colspan", "rowspan"},
    "th": {"colspan", "rowspan", "scope"},
    "time": {"datetime"},
}
_ROLES = frozenset({"region", "note", "group"})
_PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=\s]+")
_SAVED_FILE = re.compile(
    r"data:(?:text/csv|application/json|image/(?:png|svg\+xml))(?:;charset=[\w-]+)?;base64,[A-Za-z0-9+/=]+"
)
_EMPTY_ALTS = frozenset({"", "image", "img", "picture", "figure", "plot", "png", "svg"})
_UNSAID = "no description has been provided"

_TEX = {
    r"\alpha": "α", r"\beta": "β", r"\delta": "δ", r"\mu": "μ", r"\sigma": "σ", r"\tau": "τ", r"\theta": "θ",
    r"\le": "≤", r"\leq": "≤", r"\ge": "≥", r"\geq": "≥", r"\ne": "≠", r"\neq": "≠", r"\times": "×", r"\cdot": "·",
    r"\pm": "±", r"\approx": "≈", r"\in": "∈", r"\infty": "∞", r"\sum": "∑", r"\,": " ", r"\%": "%",
}  # fmt: skip


@dataclass
class Body:
    """The flow of a page as it is written: markup so far, title, sections, and what is near the next picture.

    Attributes
    ----------
    title : str
        Text of the first level-one heading; it is kept out of the flow, for the head of the page.
    sections : list of (str, str)
        Anchor and text of each level-two heading.
    parts : list of str
        The markup.
    """

    title: str = ""
    sections: list[tuple[str, str]] = field(default_factory=list)
    parts: list[str] = field(default_factory=list)
    _level: int = 1
    _anchors: Counter[str] = field(default_factory=Counter)
    _labels: Counter[str] = field(default_factory=Counter)
    _pictures: int = 0
    _heading: str = ""
    _sentence: str = ""

    def add_markdown(self, text: str, *, with_markup: bool) -> None:
        """Add markdown.

        Parameters
        ----------
        text : str
            The markdown.
        with_markup : bool
            Whether HTML in it is meant as such (an author wrote it) or shown as text (a program put it together).
        """
        self.add_html(str(_markdown(escape=not with_markup)(text)))

    def add_html(self, markup: str) -> None:
        """Add HTML, written anew with what is allowed."""
        writer = _Writer(self)
        writer.feed(markup)
        writer.finish()

    def add_text(self, text: str) -> None:
        """Add plain text as it is, line breaks and all."""
        if text.strip():
            self.parts.append(f"<pre>{html.escape(_without_escapes(text).rstrip(), quote=False)}</pre>")

    def add_failure(self, text: str) -> None:
        """Add a notice that a step of the notebook failed."""
        shown = html.escape(_without_escapes(text), quote=False)
        self.parts.append(f'<div class="assay-failure" role="note"><p>A step failed: {shown}</p></div>')

    def add_picture(self, media_type: str, encoded: str, alt: str = "") -> None:
        """Add a picture from its base64 text; without a useful ``alt`` the words around it are used."""
        address = f"data:{media_type};base64,{''.join(encoded.split())}"
        if _PICTURE.fullmatch(address):
            described = html.escape(self.describe_picture(alt))
            picture = f'<div class="picture"><img src="{address}" alt="{described}"></div>'
            self.parts.append(f'<figure class="assay-figure">{picture}</figure>')

    def describe_picture(self, alt: str) -> str:
        """Give a picture its alternative text: its own if it says anything, else the heading and text before it."""
        self._pictures += 1
        if alt.strip().lower() not in _EMPTY_ALTS and _UNSAID not in alt.lower():
            return alt.strip()
        around = ". ".join(part.rstrip(".") for part in (self._heading or self.title, self._sentence) if part)
        return f"Figure {self._pictures}, not described by its author" + (
            f"; it belongs to: {around}." if around else "."
        )

    def region_label(self, label: str) -> str:
        """Make the name of a region differ from those before it."""
        self._labels[label] += 1
        return label if self._labels[label] == 1 else f"{label} ({self._labels[label]})"

    def heading(self, level: int, text: str, inner: str) -> None:
        """Write a heading no more than one level below the one before it; the first of level one is the title."""
        if level == 1 and not self.title:
            self.title = text
            return
        level = max(2, min(level, self._level + 1))
        self._level, self._heading, self._sentence = level, text, ""
        slug = re.sub(r"[^\w]+", "-", text.lower()).strip("-") or "section"
        self._anchors[slug] += 1
        anchor = slug if self._anchors[slug] == 1 else f"{slug}-{self._anchors[slug]}"
        if level == 2:
            self.sections.append((anchor, text))
        self.parts.append(f'<h{level} id="{html.escape(anchor)}">{inner}</h{level}>')

    def remember(self, text: str) -> None:
        """Keep the last paragraph: a picture without a description is described by what is said before it."""
        if text.strip():
            self._sentence = " ".join(text.split())[:240]


@dataclass(frozen=True)
class _Element:
    """An element that is open, what closes it, and whether what is in it scrolls already."""

    tag: str
    closing: str
    scrolls: bool = False


class _Writer(HTMLParser):
    """Reads markup and writes the allowed part of it into a body, closing what was left open."""

    def __init__(self, body: Body) -> None:
        super().__init__(convert_charrefs=True)
        self._body = body
        self._open: list[_Element] = []
        self._dropping: list[str] = []
        self._heading: tuple[int, int, list[str]] | None = None  # its level, the parts before it, its text
        self._paragraph: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _DROPPED_WHOLE:
            self._dropping.append(tag)
        if self._dropping:
            return
        given = {name: value or "" for name, value in attrs}
        if tag == "img":
            self._picture(given)
        elif tag in _VOID_ELEMENTS:
            self._body.parts.append(f"<{tag}{self._attributes(tag, given)}>")
        elif tag in _HEADINGS and self._heading is None:
            self._heading = (int(tag[1]), len(self._body.parts), [])
            self._open.append(_Element(tag, ""))
        elif tag in _PLAIN_ELEMENTS:
            self._element(tag, given)

    def handle_endtag(self, tag: str) -> None:
        if self._dropping:
            if tag in self._dropping:
                del self._dropping[self._dropping.index(tag) :]
        elif any(element.tag == tag for element in self._open):
            while self._close() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self._dropping:
            return
        self._body.parts.append(html.escape(data, quote=False))
        self._paragraph.append(data)
        if self._heading is not None:
            self._heading[2].append(data)

    def finish(self) -> None:
        """Read what is left and close every element still open."""
        self.close()
        while self._open:
            self._close()

    def _element(self, tag: str, given: dict[str, str]) -> None:
        before, closing = "", f"</{tag}>"
        scrolls = tag == "div" and "table-region" in given.get("class", "").split()
        if tag == "table" and not any(element.scrolls for element in self._open):
            label = html.escape(self._body.region_label("Table"))
            before = f'<div class="table-region" role="region" tabindex="0" aria-label="{label}">'
            closing += "</div>"
        if tag == "p":
            self._paragraph.clear()
        self._body.parts.append(f"{before}<{tag}{self._attributes(tag, given)}>")
        self._open.append(_Element(tag, closing, scrolls))

    def _close(self) -> str:
        element = self._open.pop()
        if element.tag in _HEADINGS and self._heading is not None:
            level, start, said = self._heading
            inner = "".join(self._body.parts[start:]).strip()
            del self._body.parts[start:]
            self._heading = None
            self._body.heading(level, " ".join("".join(said).split()), inner)
            return element.tag
        if element.tag == "p":
            self._body.remember("".join(self._paragraph))
        self._body.parts.append(element.closing)
        return element.tag

    def _picture(self, given: dict[str, str]) -> None:
        alt = self._body.describe_picture(given.get("alt", ""))
        if not _PICTURE.fullmatch(given.get("src", "")):
            self._body.parts.append(
                f"<em>[picture left out, since it is not part of the page: {html.escape(alt)}]</em>"
            )
            return
        size = "".join(f' {name}="{given[name]}"' for name in ("width", "height") if given.get(name, "").isdigit())
        self._body.parts.append(f'<img src="{given["src"]}" alt="{html.escape(alt)}"{size}>')

    def _attributes(self, tag: str, given: dict[str, str]) -> str:
        written = []
        for name, value in given.items():
            if name not in _ATTRIBUTES[""] and name not in _ATTRIBUTES.get(tag, ()):
                continue
            if name == "href" and not _harmless_address(value, saved="download" in given):
                continue
            if (name == "tabindex" and value != "0") or (name == "role" and value not in _ROLES):
                continue
            if name == "aria-label" and given.get("role") == "region":
                value = self._body.region_label(value)
            written.append(f' {name}="{html.escape(value)}"')
        return "".join(written)


def _harmless_address(address: str, *, saved: bool) -> bool:
    """Allow links within the page, beside it and to the web, and files that the page itself holds."""
    if saved and _SAVED_FILE.fullmatch(address):
        return True
    bare = re.sub(r"[\x00-\x20]+", "", address).lower()
    scheme = re.match(r"[a-z][a-z0-9+.\-]*:", bare)
    return scheme.group() in ("http:", "https:", "mailto:") if scheme else not bare.startswith(("//", "\\"))


def _markdown(*, escape: bool) -> mistune.Markdown:
    reader = mistune.create_markdown(escape=escape, plugins=["table", "strikethrough"])
    # A price such as $5 must stay one: a formula neither starts nor ends with a blank, nor is followed by a digit.
    pattern = r"(?P<formula_sign>\$\$?)(?=[^\s$])(?P<formula_text>[^$\n]+?)(?<=\S)(?P=formula_sign)(?!\d)"
    reader.inline.register("formula", pattern, _parse_formula, before="link")
    if reader.renderer is not None:
        reader.renderer.register("formula", _write_formula)
    return reader


def _parse_formula(_inline: object, match: re.Match[str], state: mistune.InlineState) -> int:
    state.append_token({"type": "formula", "raw": match.group("formula_text")})
    return match.end()


def _write_formula(_renderer: object, text: str) -> str:
    """Write a short formula as text: no script is there to typeset it."""
    for name, sign in sorted(_TEX.items(), key=lambda pair: -len(pair[0])):
        text = re.sub(re.escape(name) + (r"(?![A-Za-z])" if name[-1].isalpha() else ""), sign, text)
    return f'<span class="formula">{html.escape(text.replace("{", "").replace("}", ""))}</span>'


def _without_escapes(text: str) -> str:
    """Drop terminal colours and control characters, and what a carriage return overwrites."""
    text = re.sub(r"\x1b\[[0-?]*[ -/]*[@-~]", "", text).replace("\r\n", "\n")
    text = re.sub(r"[^\n]*\r(?!\n)", "", text)
    return re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", text)
