"""Pages for people who read no code: a notebook as one HTML file.

A page stands alone. It holds its style and pictures, runs no script, loads nothing (and forbids the browser to), and
shows of a notebook only its prose and its results. The functions return the page; writing it is up to the caller.
"""

import base64
import html
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

import assay
from assay.show.markup import Body

ONLY_IN_NOTEBOOK = "notebook-only"
"""Tag of a cell that stays out of pages, such as one with widgets."""

_PICTURES = ("image/svg+xml", "image/png", "image/jpeg", "image/gif")


def notebook_page(content: NotebookNode, *, name: str = "", home: str = "") -> str:
    """Write an executed notebook as a page.

    Parameters
    ----------
    content : nbformat.NotebookNode
        The notebook with its outputs.
    name : str, optional
        Name of the notebook, for the line above the title.
    home : str, optional
        Address of the index, to link back to it.

    Returns
    -------
    str
        A whole HTML document. Markdown cells and results are shown, code and what was written to the error stream are
        not, nor are cells tagged ``notebook-only``. Text of unknown origin is escaped or reduced to harmless markup.
    """
    body = Body()
    for cell in content.cells:
        if ONLY_IN_NOTEBOOK in cell.metadata.get("tags", []):
            continue
        if cell.cell_type == "markdown":
            body.add_markdown(cell.source, with_markup=True)
        elif cell.cell_type == "code":
            for output in cell.outputs:
                _add_output(body, output, cell.metadata)
    settings = content.metadata.get("assay", {}).get("parameters", {})
    title = body.title or name or "Notebook"
    about = " · ".join(part for part in (name, *(f"{key} {_short(value)}" for key, value in settings.items())) if part)
    return document(
        title=title,
        kicker=about,
        flow="".join(body.parts),
        sections=body.sections,
        home=home,
        subject=str(settings.get("study", "")),
    )


def _add_output(body: Body, output: NotebookNode, cell_metadata: Mapping[str, Any]) -> None:
    """Add one result: its richest harmless form. Streams of errors stay in the notebook."""
    if output.output_type == "error":
        body.add_failure(f"{output.get('ename', 'error')}: {output.get('evalue', '')}")
        return
    if output.output_type == "stream":
        if output.get("name") == "stdout":
            body.add_text(_joined(output.text))
        return
    data = output.get("data", {})
    if "text/html" in data:
        body.add_html(_joined(data["text/html"]))
    elif "text/markdown" in data:
        body.add_markdown(_joined(data["text/markdown"]), with_markup=False)
    elif kind := next((kind for kind in _PICTURES if kind in data), None):
        own = output.get("metadata", {}).get(kind, {}).get("alt") or output.get("metadata", {}).get("alt")
        picture = _joined(data[kind])
        encoded = base64.b64encode(picture.encode()).decode() if kind == "image/svg+xml" else picture
        body.add_picture(kind, encoded, str(own or cell_metadata.get("alt", "")))
    elif "application/vnd.jupyter.widget-view+json" not in data:
        body.add_text(_joined(data.get("text/plain", "")))


def document(
    *, title: str, kicker: str, flow: str, sections: Sequence[tuple[str, str]], home: str = "", subject: str = ""
) -> str:
    """Put head, landmarks and style around the flow of a page."""
    contents = ""
    if len(sections) > 2:
        links = "".join(
            f'<li><a href="#{html.escape(anchor)}">{html.escape(text)}</a></li>' for anchor, text in sections
        )
        heading = '<h2 id="on-this-page">On this page</h2>'
        contents = f'<nav class="contents" aria-labelledby="on-this-page">{heading}<ol>{links}</ol></nav>'
    back = f'<a class="home" href="{html.escape(home)}">All pages</a>' if home else ""
    full_title = " – ".join(part for part in (title, subject, "assay") if part)
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; img-src data:; style-src 'unsafe-inline'">
<meta name="generator" content="assay {assay.__version__}">
<title>{html.escape(full_title)}</title>
<style>
{_style()}</style>
</head>
<body>
<a class="skip" href="#main">Skip to the text</a>
<header class="top"><div class="page"><span class="mark">assay</span>{back}</div></header>
<main id="main" class="page{" with-contents" if contents else ""}" tabindex="-1">
<div class="opening"><p class="kicker">{html.escape(kicker)}</p><h1>{html.escape(title)}</h1></div>
{contents}
<div class="flow">
{flow}
</div>
</main>
<footer class="foot"><div class="page"><p>Made by assay {assay.__version__}. \
This file holds all it shows: it runs no program and loads nothing.</p></div></footer>
</body>
</html>
"""


@cache
def _style() -> str:
    return Path(__file__).with_name("_page.css").read_text(encoding="utf-8")


def _joined(text: str | Sequence[str]) -> str:
    return text if isinstance(text, str) else "".join(text)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:59] + "…"
