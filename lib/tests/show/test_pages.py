"""Pages that stand alone, and the index of a report."""

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import v4

from assay.show.index import IndexEntry, index_page
from assay.show.pages import notebook_page

SCRIPT = "<script>document.title = 'run'</script>"
PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


class Loads(HTMLParser):
    """Collects whatever a page would load, and its pictures."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.pictures: list[dict[str, str | None]] = []
        self.language: str | None = None

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "html":
            self.language = given.get("lang")
        if tag == "img":
            self.pictures.append(given)
        if tag in ("script", "link", "iframe", "object", "embed"):
            self.loads.append(tag)
        if "src" in given and not str(given["src"]).startswith("data:"):
            self.loads.append(str(given["src"]))


def read(page: str) -> Loads:
    loads = Loads()
    loads.feed(page)
    loads.close()
    return loads


def notebook(*cells: Any) -> nbformat.NotebookNode:
    return v4.new_notebook(cells=list(cells))


def shows(**data: object) -> nbformat.NotebookNode:
    bundle = {name.replace("__", "/"): value for name, value in data.items()}
    return v4.new_code_cell("secret_code()", outputs=[v4.new_output("display_data", data=bundle)])


def test_a_page_shows_prose_and_results_and_no_code() -> None:
    page = notebook_page(notebook(v4.new_markdown_cell("# Title\n\nProse."), shows(text__plain="the result")))
    assert "Prose." in page
    assert "<pre>the result</pre>" in page
    assert "secret_code" not in page


def test_a_page_states_language_title_and_width_and_loads_nothing() -> None:
    page = notebook_page(notebook(v4.new_markdown_cell("# A & B")))
    assert '<html lang="en">' in page
    assert "<title>A &amp; B – assay</title>" in page
    assert '<meta name="viewport" content="width=device-width, initial-scale=1">' in page
    assert read(page).loads == []
    assert not re.search(r"url\(|@import", page)


def test_a_page_forbids_the_browser_to_load_or_run_anything() -> None:
    assert "content=\"default-src 'none'; img-src data:; style-src 'unsafe-inline'\"" in notebook_page(notebook())


@pytest.mark.parametrize("kind", ["text__html", "text__markdown", "text__plain"])
def test_a_script_in_a_result_never_is_one(kind: str) -> None:
    page = notebook_page(notebook(v4.new_markdown_cell(SCRIPT), shows(**{kind: SCRIPT})))
    assert "<script" not in page


def test_markup_in_computed_markdown_shows_as_text() -> None:
    page = notebook_page(notebook(shows(text__markdown="**sure**: <b>model</b>")))
    assert "<strong>sure</strong>: &lt;b&gt;model&lt;/b&gt;" in page


def test_of_several_forms_the_richest_is_shown() -> None:
    page = notebook_page(notebook(shows(text__html="<p>rich</p>", text__plain="poor")))
    assert "<p>rich</p>" in page
    assert "poor" not in page


def test_a_picture_is_described_by_its_cell_or_by_what_stands_before_it() -> None:
    own = shows(image__png=PIXEL, text__plain="<Figure size 200x200>")
    own.metadata["alt"] = "Two bars of the same height."
    plain = shows(image__png=PIXEL + "\n", text__plain="<Figure size 200x200>")
    page = notebook_page(notebook(v4.new_markdown_cell("# T\n\n## Bars\n\nEqual."), own, plain))
    alternatives = [picture["alt"] for picture in read(page).pictures]
    assert alternatives == [
        "Two bars of the same height.",
        "Figure 2, not described by its author; it belongs to: Bars. Equal.",
    ]


def test_an_svg_result_becomes_a_picture_that_cannot_run() -> None:
    page = notebook_page(
        notebook(shows(**{"image__svg+xml": f'<svg xmlns="http://www.w3.org/2000/svg">{SCRIPT}</svg>'}))
    )
    assert "<svg" not in page
    assert len(read(page).pictures) == 1


def test_errors_written_aside_and_widgets_stay_in_the_notebook() -> None:
    cell = v4.new_code_cell(outputs=[v4.new_output("stream", name="stderr", text="aside"),
                                     v4.new_output("stream", name="stdout", text="printed")])  # fmt: skip
    widget = shows(**{"application__vnd.jupyter.widget-view+json": {"model_id": "x"}, "text__plain": "IntSlider()"})
    page = notebook_page(notebook(cell, widget))
    assert "printed" in page
    assert "aside" not in page
    assert "IntSlider" not in page


def test_a_cell_for_notebooks_alone_stays_out() -> None:
    cell = shows(text__plain="a slider")
    cell.metadata["tags"] = ["notebook-only"]
    assert "a slider" not in notebook_page(notebook(cell))


def test_a_failed_step_is_shown_as_one() -> None:
    cell = v4.new_code_cell(
        outputs=[v4.new_output("error", ename="ValueError", evalue="<b>", traceback=["secret path"])]
    )
    page = notebook_page(notebook(cell))
    assert "A step failed: ValueError: &lt;b&gt;" in page
    assert "secret path" not in page


def test_contents_are_listed_from_three_sections_on() -> None:
    two = notebook_page(notebook(v4.new_markdown_cell("# T\n\n## a\n\n## b")))
    three = notebook_page(notebook(v4.new_markdown_cell("# T\n\n## a\n\n## b\n\n## c")))
    assert "On this page" not in two
    assert re.findall(r'<li><a href="#(\w)">', three) == ["a", "b", "c"]


def test_the_settings_given_stand_above_the_title() -> None:
    content = notebook()
    content.metadata["assay"] = {"parameters": {"study": "<triage>", "threshold": 0.8}}
    page = notebook_page(content, name="20_thresholds", home="../index.html")
    assert '<p class="kicker">20_thresholds · study &lt;triage&gt; · threshold 0.8</p>' in page
    assert '<a class="home" href="../index.html">All pages</a>' in page


def entry(study: str, notebook: str, **more: str) -> IndexEntry:
    return IndexEntry(study, f"The {study} study", notebook, "Which threshold?", f"{study}/{notebook}.html", **more)


def test_the_index_links_every_page_from_its_table_and_from_its_finding() -> None:
    page = index_page([entry("a", "10"), entry("a", "20"), entry("b", "10", headline="It <holds>.")])
    for address in ("a/10.html", "a/20.html", "b/10.html"):
        assert page.count(f'href="{address}"') == 2
    assert "It &lt;holds&gt;." in page
    assert "<td>–</td>" in page  # there is no 20 on b


def test_a_failure_is_shown_plainly_and_not_linked() -> None:
    page = index_page([entry("a", "10", failure="10.ipynb, cell 3: <oops>"), entry("a", "20")])
    assert "1 of 2 runs did not finish" in page
    assert "10.ipynb, cell 3: &lt;oops&gt;" in page
    assert 'href="a/10.html"' not in page


@pytest.fixture(scope="module")
def sample_pages(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Write a page with all there is, made by a real run, and an index."""
    from assay.run import run_notebook

    folder = tmp_path_factory.mktemp("pages")
    sample = Path(__file__).parents[1] / "notebooks" / "sample.ipynb"
    run_notebook(sample, output=folder / "sample.ipynb", html=folder / "sample.html")
    entries = [
        entry("ci_claims", "10_calibrate", headline="Stated 0.9 is right 0.8."),
        entry("ci_claims", "20_thresholds", failure="x"),
    ]
    (folder / "index.html").write_text(index_page(entries))
    return [folder / "sample.html", folder / "index.html"]


@pytest.mark.parametrize("width", [360, 1280])
def test_a_page_opens_without_the_network_and_fits_the_screen(
    opens_alone: Callable[[Path, int], None], sample_pages: list[Path], width: int
) -> None:
    for path in sample_pages:
        opens_alone(path, width)


def test_a_page_prints_on_a4(browser: Any, sample_pages: list[Path]) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.goto(sample_pages[0].as_uri())
        document = page.pdf(prefer_css_page_size=True)
    boxes = {tuple(map(float, box.split())) for box in re.findall(rb"/MediaBox\s*\[([^\]]+)\]", document)}
    assert {(round(right), round(top)) for _, _, right, top in boxes} <= {(595, 842), (596, 842), (595, 841)}


def test_no_accessibility_rule_is_broken_seriously(
    serious_violations: Callable[[Path], list[str]], sample_pages: list[Path]
) -> None:
    for path in sample_pages:
        assert serious_violations(path) == []


def test_attacks_in_results_do_nothing_in_a_real_browser(browser: Any, tmp_path: Path) -> None:
    attacks = json.loads(Path(__file__).with_name("attacks.json").read_text(encoding="utf-8"))
    cells = [shows(**{kind: attack}) for attack in attacks for kind in ("text__html", "text__markdown")]
    # Without the policy, so that the cleaning alone is tested.
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", notebook_page(notebook(*cells)))
    (tmp_path / "page.html").write_text(page)
    with browser.new_context() as context:
        opened = context.new_page()
        happened: list[str] = []
        opened.on("dialog", lambda dialog: happened.append(dialog.dismiss() or "dialog"))
        opened.on("request", lambda request: happened.append(request.url))
        opened.goto((tmp_path / "page.html").as_uri())
        opened.wait_for_timeout(200)
        assert happened == [(tmp_path / "page.html").as_uri()]
        assert opened.evaluate("document.querySelectorAll('script').length") == 0
        assert opened.evaluate("document.querySelectorAll('main > .flow').length") == 1
