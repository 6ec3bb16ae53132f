"""Looking at a study by hand: what is on show, that it follows, and what is written when a policy is fixed."""

import base64
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import jsonschema
import numpy as np
import pandas as pd
import pytest

from assay.rules import Gate, LabelClass, Taxonomy, load_policy
from assay.rules.policy import policy_schema
from assay.settings import ThresholdsSettings
from assay.show.explorer import explore
from assay.show.explorer.explorer import EVERYTHING
from assay.show.explorer.panel import Panel
from assay.show.explorer.view import MOST_LISTED
from assay.show.opening import open_study
from assay.show.pages import notebook_page
from assay.study import Study

HOSTILE = '=HYPERLINK("http://example.org")<script>alert(1)</script>'


def make_study(items=400, wrong=0.0, models=("m1", "m2"), text=HOSTILE):
    rng = np.random.default_rng(3)
    taxonomy = Taxonomy(
        (LabelClass("calm", 0), LabelClass("<urgent>", 1)), "ask", gates=(Gate("caught", ("<urgent>",), 0.95),)
    )
    rows = []
    for model in models:
        for number in range(items):
            label, other = ("<urgent>", "calm") if number % 2 else ("calm", "<urgent>")
            said = other if rng.random() < wrong else label
            rival = "calm" if said == "<urgent>" else "<urgent>"
            confidence = round(float(rng.uniform(0.5, 1)), 2)
            rows.append((f"i{number}", model, label, said, confidence, {rival: round(1 - confidence, 2)}, text, "day"))
    columns = ["item_id", "model", "label", "predicted", "confidence", "alternatives", "text", "shift"]
    frame = pd.DataFrame(rows, columns=columns)
    frame.loc[frame["item_id"].str.endswith("7"), "shift"] = "night"
    return Study.from_frame(frame, taxonomy=taxonomy, alternatives="alternatives", tags=["shift"])


def opened(part, **made):
    study = make_study(**made)
    return open_study(ThresholdsSettings.model_validate({"study": study.name, "part": part}), study)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for folder in ("notebooks", "lib/assay"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def listed(markup: str) -> int:
    return len(re.findall(r'<tr><th scope="row"', markup))


def test_figure_gates_and_list_follow_the_sliders():
    panel = Panel(explore(opened("all", wrong=0.2), threshold=0.0, tie_margin=0.0))
    before = panel.figure.value, panel.gates.value, panel.misrouted.value
    panel.threshold.value = 0.8
    after = panel.figure.value, panel.gates.value, panel.misrouted.value
    assert all(old != new for old, new in zip(before, after, strict=True))
    assert "At threshold 0.8 and tie margin 0" in panel.figure.value
    panel.tie_margin.value = 0.6
    assert "At threshold 0.8 and tie margin 0.6" in panel.figure.value
    panel.threshold.value = 1.0
    assert "No dangerous misroute" in panel.misrouted.value or listed(panel.misrouted.value) < listed(after[2])


def test_series_and_subgroup_are_chosen():
    panel = Panel(explore(opened("all", wrong=0.2), threshold=0.5, tie_margin=0.1))
    assert [name for name, _ in panel.series.options] == ["m1", "m2"]
    assert [name for name, _ in panel.subgroup.options] == [
        "all 400 items",
        "shift = day (360 items)",
        "shift = night (40 items)",
    ]
    panel.series.value = 1
    panel.subgroup.value = ("shift", "night")
    assert "m2, shift night" in panel.gates.value
    assert "n = 40 items" in panel.figure.value


def test_a_study_that_compares_within_a_tag_only_is_never_pooled():
    explorer = explore("triage")
    assert EVERYTHING in explorer.subgroups.values()
    assert len(explorer.opened.study.items["tag_set"].unique()) == 1


def test_what_is_on_show_is_called_descriptive():
    assert "no verdict here is a certificate" in Panel(explore(opened("all"))).gates.value


def test_the_list_is_capped_and_says_how_many_there_are():
    panel = Panel(explore(opened("all", wrong=1.0), threshold=0.0, tie_margin=0.0))
    assert listed(panel.misrouted.value) == MOST_LISTED
    assert (
        f"Dangerous misroutes: 200 of 400 items, the most confident first; the {MOST_LISTED} most confident are listed"
        in (panel.misrouted.value)
    )


def test_texts_and_names_are_escaped_and_long_ones_cut():
    explorer = explore(opened("all", wrong=0.5, text=HOSTILE + "x" * 5000), threshold=0.0, tie_margin=0.0)
    panel = Panel(explorer)
    shown = panel.figure.value + panel.gates.value + panel.misrouted.value + explorer._repr_html_()
    assert "<script" not in shown
    assert "<urgent>" not in shown
    assert "&lt;script&gt;" in shown
    assert "x" * 400 not in panel.misrouted.value


def test_the_picture_is_svg_that_says_what_it_shows():
    panel = Panel(explore(opened("all", wrong=0.2), threshold=0.7, tie_margin=0.1))
    source = re.search(r'src="data:image/svg\+xml;base64,([^"]+)" alt="([^"]+)"', panel.figure.value)
    assert source is not None
    drawing = ElementTree.fromstring(base64.b64decode(source[1]))  # noqa: S314 (our own)
    words = [element.text for element in drawing.iter() if element.text]
    assert "caught <urgent>" in words
    assert "target 0.95" in words
    for part in ("axes from 0 to 1", "95 % interval", "n = 400 items", "m1", "At threshold 0.7"):
        assert part in source[2]


def test_no_widget_is_made_where_nobody_is_there():
    # The kernel of a run, and plain Python, take no input.
    bundle = explore(opened("all"))._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html"}


def test_with_someone_there_the_widget_comes_with_what_stands_in_for_it(monkeypatch):
    monkeypatch.setattr("assay.show.explorer.explorer._attended", lambda: True)
    bundle = explore(opened("all"))._repr_mimebundle_()
    assert set(bundle) == {"text/plain", "text/html", "application/vnd.jupyter.widget-view+json"}


@pytest.mark.parametrize("attended", [False, True])
def test_a_page_shows_the_starting_point_and_neither_an_empty_box_nor_a_script(monkeypatch, attended):
    from nbformat import v4

    monkeypatch.setattr("assay.show.explorer.explorer._attended", lambda: attended)
    explorer = explore(opened("all", wrong=0.2), threshold=0.7, tie_margin=0.1)
    output = v4.new_output("execute_result", data=explorer._repr_mimebundle_())
    page = notebook_page(v4.new_notebook(cells=[v4.new_code_cell("x", outputs=[output])]))
    assert "At threshold 0.7 and tie margin 0.1" in page
    assert "Dangerous misroutes" in page
    assert "<script" not in page
    assert "widget" not in page
    assert page.count("<style>") == 1
    assert 'download="explorer.csv"' in page
    assert 'download="explorer.svg"' in page


def test_a_notebook_converted_to_html_shows_the_same_when_it_was_run_without_a_front_end():
    from nbconvert import HTMLExporter
    from nbformat import v4

    output = v4.new_output("execute_result", data=explore(opened("all"))._repr_mimebundle_())
    converted, _ = HTMLExporter().from_notebook_node(v4.new_notebook(cells=[v4.new_code_cell("x", outputs=[output])]))
    assert "assay-explorer" in converted
    assert "widget-view" not in converted


def test_it_starts_where_it_is_told_and_else_at_the_best_point_as_observed():
    given = explore(opened("all"), series="m2", threshold=0.123, tie_margin=0.4)
    assert (given.start.series, given.start.threshold, given.start.tie_margin) == (1, 0.123, 0.4)
    assert "At threshold 0.123 and tie margin 0.4" in given._repr_html_()
    own = explore(opened("all"), threshold=0.5)
    assert own.start.threshold == 0.5


@pytest.mark.parametrize(
    ("given", "message"),
    [({"series": "m3"}, "there is no series 'm3'; there are: m1, m2"), ({"threshold": 1.2}, "threshold must lie in"),
     ({"tie_margin": -0.1}, "tie_margin must lie in")],
)  # fmt: skip
def test_a_start_that_is_not_there_is_refused(given, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        explore(opened("all"), **given)


def test_a_study_shows_its_tuning_part_where_a_certificate_is_within_reach_and_says_so():
    whole = make_study()
    explorer = explore(whole)
    assert set(whole.parts()[explorer.opened.study.items["item_id"]]) == {"tuning"}
    assert "the certification part is left for a certificate" in explorer._repr_html_()
    few = explore(make_study(items=40))
    assert len(few.opened.study.items) == 40
    assert "no certificate is within reach" in few._repr_html_()


def test_a_study_without_a_gate_can_be_looked_at():
    frame = pd.DataFrame({"label": ["a", "b"], "predicted": ["a", "a"], "confidence": [0.9, 0.4]})
    panel = Panel(explore(Study.from_frame(frame)))
    assert "coverage" in panel.gates.value


def press(panel: Panel) -> str:
    panel.fix.click()
    return panel.status.value


def test_fixing_a_point_picked_on_all_items_writes_a_policy_that_is_refused(repository):
    panel = Panel(explore(opened("all"), threshold=0.6, tie_margin=0.1))
    said = press(panel)
    file = repository / "reports" / "policies" / "frame-m1-t0.6-m0.1.json"
    policy = load_policy(file)
    jsonschema.validate(json.loads(file.read_text()), policy_schema())
    assert (policy.threshold, policy.tie_margin, policy.verdict) == (0.6, 0.1, "undecided")
    assert {gate.verdict for gate in policy.gates} == {"undecided"}
    assert policy.gates[0].trials == 200
    assert "Written: reports/policies/frame-m1-t0.6-m0.1.json. Undecided" in said
    assert "refused wherever it is applied" in said


def test_fixing_a_point_picked_on_the_tuning_part_has_it_tested_on_the_rest_once(repository):
    panel = Panel(explore(opened("tuning"), threshold=0.6, tie_margin=0.1))
    said = press(panel)
    policy = load_policy(repository / "reports" / "policies" / "frame-m1-t0.6-m0.1.json")
    assert policy.verdict == "pass"
    assert policy.gates[0].trials == 100
    assert "It applies to answers of m1 until" in said
    panel.threshold.value = 0.7
    assert "have answered already" in press(panel)
    assert load_policy(repository / "reports" / "policies" / "frame-m1-t0.7-m0.1.json").verdict == "undecided"
    # The same point again is the same test.
    panel.threshold.value = 0.6
    panel.path.value = "again.json"
    press(panel)
    (repository / "reports" / "policies" / "frame-m1-t0.7-m0.1.json").unlink()
    panel.path.value = "once-more.json"
    press(panel)
    assert load_policy(repository / "once-more.json").verdict == "pass"
    panel.path.value = ""
    panel.threshold.value = 0.7
    # Another series has its own answers.
    panel.series.value = 1
    press(panel)
    assert load_policy(repository / "reports" / "policies" / "frame-m2-t0.7-m0.1.json").verdict == "pass"


def test_a_look_at_one_subgroup_fixes_the_policy_of_the_whole_series(repository):
    panel = Panel(explore(opened("all"), threshold=0.6, tie_margin=0.1))
    panel.subgroup.value = ("shift", "night")
    press(panel)
    policy = load_policy(repository / "reports" / "policies" / "frame-m1-t0.6-m0.1.json")
    assert policy.gates[0].trials == 200


def test_a_file_that_is_there_is_not_written_over_and_another_place_may_be_named(repository):
    panel = Panel(explore(opened("all"), threshold=0.6, tie_margin=0.1))
    press(panel)
    file = repository / "reports" / "policies" / "frame-m1-t0.6-m0.1.json"
    before = file.read_bytes()
    assert "is there already and stays as it is" in press(panel)
    assert file.read_bytes() == before
    panel.path.value = "elsewhere/mine.json"
    panel.threshold.value = 0.65
    assert panel.path.value == "elsewhere/mine.json"
    assert "Written: elsewhere/mine.json" in press(panel)
    assert load_policy(repository / "elsewhere" / "mine.json").threshold == 0.65
    panel.path.value = "mine.txt"
    assert "Nothing was written: the policy file must end in .json" in press(panel)
    panel.path.value = "/proc/none/mine.json"
    assert "Nothing was written" in press(panel)


def test_every_control_has_a_label():
    panel = Panel(explore(opened("all")))
    labelled = [panel.series, panel.subgroup, panel.path, panel.fix]
    assert all(control.description for control in labelled)
    rows = [box for box in panel.widget.children if hasattr(box, "children")]
    assert [row.children[0].description for row in rows] == ["Threshold", "Tie margin"]
    rows[0].children[0].value = 0.42
    assert panel.threshold.value == 0.42
