"""The index of a report: which pages there are, what each found, and every series side by side."""

import html
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.show.compared import Row, all_series, joined_rows, side_by_side
from assay.show.markup import Body
from assay.show.pages import document
from assay.show.words import count


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
    compared : sequence of mappings
        What the record of the run says of each series; see `assay.show.compared`.
    """

    study: str
    study_title: str
    notebook: str
    question: str
    address: str
    headline: str = ""
    failure: str = ""
    compared: Sequence[Row] = ()


def index_page(entries: Sequence[IndexEntry], *, notes: Iterable[str] = ()) -> str:
    """Write the index of a report: every study against every notebook, the series side by side, each finding in words.

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
    body.parts.append(f"<p>{count(pages, 'page')} on {count(len(studies), 'study', 'studies')}.</p>")
    if failed:
        notice = f"{failed} of {count(len(entries), 'run')} did not finish; each says why below."
        body.parts.append(f'<div class="assay-failure" role="note"><p>{notice}</p></div>')
    for note in notes:
        body.parts.append(f"<p>{html.escape(note)}</p>")
    body.parts.append(_matrix(entries, studies))
    compared = {
        study: joined_rows(row for entry in entries if entry.study == study for row in entry.compared)
        for study in studies
    }
    if (table := side_by_side(compared)) is not None:
        body.heading(2, "Side by side", "Side by side")
        body.add_html(table._repr_html_())
    for study in studies:
        own = [entry for entry in entries if entry.study == study]
        body.heading(2, own[0].study_title or study, html.escape(own[0].study_title or study))
        body.parts.append(f'<dl class="findings">{"".join(_finding(entry) for entry in own)}</dl>')
        if (table := all_series(study, compared[study])) is not None:
            body.add_html(f"<details><summary>{html.escape(table.caption)}</summary>{table._repr_html_()}</details>")
    return document(title="Report", kicker="All studies", flow="\n".join(body.parts), sections=body.sections)


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
