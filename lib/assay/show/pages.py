"""Pages for people who read no code: a notebook as one HTML file, and the index of a report.

A page stands alone. It holds its style and pictures, runs no script, loads nothing (and forbids the browser to), and
shows of a notebook only its prose and its results. The functions return the page; writing it is up to the caller.
"""

import base64
import html
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from nbformat import NotebookNode

import assay
from assay.show.markup import Body

ONLY_IN_NOTEBOOK = "notebook-only"
"""Tag of a cell that stays out of pages, such as one with widgets."""

_PICTURES = ("image/svg+xml", "image/png", "image/jpeg", "image/gif")


@dataclass(frozen=True)
class IndexEntry:
    """One run of a report, for its index.

    Parameters
    ----------
    study, study_title : str
        Name and title of the study.
    notebook : str
        Name of the notebook.
    question : str
        What the notebook asks, in words; the title of its page.
    address : str
        Address of the page, from the index.
    headline : str
        The finding in a sentence; may be blank.
    failure : str
        Why there is no page; blank for a run that finished.
    """

    study: str
    study_title: str
    notebook: str
    question: str
    address: str
    headline: str = ""
    failure: str = ""


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
    return _document(
        title=title,
        kicker=about,
        flow="".join(body.parts),
        sections=body.sections,
        home=home,
        subject=str(settings.get("study", "")),
    )


def index_page(entries: Sequence[IndexEntry], *, notes: Iterable[str] = ()) -> str:
    """Write the index of a report: every study against every notebook, then each finding in words.

    Parameters
    ----------
    entries : sequence of IndexEntry
        The runs, in the order in which studies and notebooks shall stand.
    notes : iterable of str, optional
        Sentences to put above the table.

    Returns
    -------
    str
        A whole HTML document.
    """
    failed = sum(bool(entry.failure) for entry in entries)
    studies = list(dict.fromkeys(entry.study for entry in entries))
    body = Body(title="Report")
    pages = len(entries) - failed
    body.parts.append(f"<p>{_count(pages, 'page', 'pages')} on {_count(len(studies), 'study', 'studies')}.</p>")
    if failed:
        notice = f"{failed} of {_count(len(entries), 'run', 'runs')} did not finish; each says why below."
        body.parts.append(f'<div class="assay-failure" role="note"><p>{notice}</p></div>')
    for note in notes:
        body.parts.append(f"<p>{html.escape(note)}</p>")
    body.parts.append(_matrix(entries, studies))
    for study in studies:
        own = [entry for entry in entries if entry.study == study]
        body.heading(2, own[0].study_title or study, html.escape(own[0].study_title or study))
        body.parts.append(f'<dl class="findings">{"".join(_finding(entry) for entry in own)}</dl>')
    return _document(title="Report", kicker="All studies", flow="\n".join(body.parts), sections=body.sections)


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


def _matrix(entries: Sequence[IndexEntry], studies: Sequence[str]) -> str:
    notebooks = list(dict.fromkeys(entry.notebook for entry in entries))
    found = {(entry.study, entry.notebook): entry for entry in entries}
    heads = "".join(f'<th scope="col">{html.escape(notebook)}</th>' for notebook in ("study", *notebooks))
    rows = (
        f'<tr><th scope="row">{html.escape(study)}</th>'
        + "".join(f"<td>{_state(found.get((study, notebook)))}</td>" for notebook in notebooks)
        + "</tr>"
        for study in studies
    )
    return (
        '<div class="table-region" role="region" tabindex="0" aria-label="Studies and notebooks"><table>'
        f"<caption>Studies and notebooks</caption><thead><tr>{heads}</tr></thead>"
        f"<tbody>{''.join(rows)}</tbody></table></div>"
    )


def _state(entry: IndexEntry | None) -> str:
    if entry is None:
        return "–"
    if entry.failure:
        return '<span class="state-failed">✗ failed</span>'
    label = html.escape(f"read {entry.notebook} on {entry.study}")
    return f'<a href="{html.escape(entry.address)}" aria-label="{label}">read</a>'


def _finding(entry: IndexEntry) -> str:
    question = html.escape(entry.question or entry.notebook)
    if entry.failure:
        return f'<dt>{question}</dt><dd><span class="state-failed">✗ Failed.</span> {html.escape(entry.failure)}</dd>'
    return (
        f'<dt><a href="{html.escape(entry.address)}">{question}</a></dt><dd>{html.escape(entry.headline) or "–"}</dd>'
    )


def _document(
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


def _count(number: int, one: str, several: str) -> str:
    return f"{number:,} {one if number == 1 else several}"


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 60 else text[:59] + "…"
