import json
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from assay.measure.comparison import Comparison, compare
from assay.measure.equal_safety import equal_safety
from assay.measure.metrics import ACCURACY, BRIER
from assay.measure.over_runs import over_runs
from assay.parameters import check
from assay.show import prompts as show
from assay.show.figure import Figure
from assay.show.prompts.findings import NO_SAFETY, NOTHING
from assay.show.prompts.gaps import amount, gap, p_words
from assay.show.tables import Table
from assay.show.words import Words
from assay.study import Study, load_study

HAIKU = "claude-haiku-4-5-20251001"
NOTEBOOK = Path(__file__).parents[3] / "notebooks" / "30_prompts.ipynb"


def study(hostile: str = "", **accuracy: float) -> Study:
    rng = np.random.default_rng(0)
    hard = rng.normal(size=300)
    parts = []
    for name, share in accuracy.items():
        right = hard + 0.4 * rng.normal(size=300) < np.quantile(hard, share)
        frame = pd.DataFrame({"item_id": [f"q{i:03d}" for i in range(300)], "label": "x", "prompt": name})
        frame["text"] = hostile or "what?"
        frame["predicted"] = np.where(right, "x", "y")
        frame["confidence"] = np.where(rng.random(300) < 0.05, np.nan, 0.8)
        parts.append(frame)
    return Study.from_frame(pd.concat(parts, ignore_index=True), text="text")


@pytest.fixture(scope="module")
def apart() -> Comparison:
    return compare(study(good=0.9, fair=0.6, poor=0.58))


@pytest.fixture(scope="module")
def claims() -> Study:
    return load_study("ci_claims").select(model=HAIKU)


@pytest.fixture(scope="module")
def of_claims(claims) -> Comparison:
    return compare(claims, seed=claims.seed)


def test_the_better_variant_is_named_with_size_and_p_values(apart):
    said = str(show.findings(apart))
    assert "good is better than fair by" in said
    assert "good is better than poor by" in said
    assert "worse" not in said
    assert "fair is better" not in said
    assert "Holm-adjusted" in said


def test_what_is_not_found_is_given_its_size(of_claims):
    said = str(show.findings(of_claims))
    assert "No detectable difference at this size in any of 10 pairs" in said
    assert "would show a true difference of" in said
    assert "among the 10 tests" in said
    assert show.headline(of_claims) == "No detectable difference in accuracy at this size in any of 10 pairs"


def test_the_headline_names_the_pair_most_apart(apart):
    assert show.headline(apart).startswith("2 of 3 pairs differ in accuracy; most apart: good is better than ")


def test_the_headline_counts_the_pairs_of_every_primary_metric():
    said = show.headline(compare(study(good=0.9, poor=0.6), primary=["auroc", "accuracy"]))
    assert said.startswith(
        "No detectable difference in AUROC at this size in the one pair; the one pair differs in accuracy; most"
    )


def test_variants_level_at_the_top_are_not_ranked_in_words():
    comparison = compare(study(good=0.9, fair=0.6).answers.assign(correct=True, confidence=0.8))
    assert "fair and 1 more alike" in show.ranking(comparison).title


def test_a_score_is_not_written_as_a_percentage():
    frame = show.variants_table(compare(study(good=0.9, fair=0.6), primary="brier")).frame
    assert frame["Brier score"].str.match(r"0\.\d{3} \(0\.\d{3}, 0\.\d{3}\)").all()


def test_the_paragraph_on_the_published_claim_is_computed(claims, of_claims):
    over = over_runs(claims.answers, of_claims)
    said = str(show.runs_words(over, of_claims, claims))
    found = of_claims.pair("L1", "L5").of("accuracy")
    assert "they report p = 0.002" in said
    assert "p = 0.002 over runs, effect 1.00" in said
    assert f"p = {p_words(found.p_value)}, Holm-adjusted {p_words(found.adjusted)}" in said
    assert "What they do not support is that it would be ahead on other items" in said
    assert "L1 is right more often on 10 of them and L5 on 5" in said


def test_no_claim_is_put_on_another_study(of_claims, claims):
    other = Study.from_frame(claims.answers[["item_id", "label", "predicted", "confidence", "model", "prompt", "run"]])
    over = over_runs(claims.answers, of_claims)
    assert "report" not in str(show.runs_words(over, of_claims, other))


def test_pairs_stand_with_the_smallest_p_value_first(apart):
    frame = show.pairs_table(apart).frame
    assert frame["p, Holm"].is_monotonic_increasing
    assert list(frame["pair"])[-1] == "fair against poor"
    assert list(frame["the first is"])[-1] == "no detectable difference at this size"


def test_unreadable_answers_are_shown_both_ways(apart):
    shown = show.unreadable_both_ways(apart).frame
    assert {"counted", "left out", "order", "difference, counted", "difference, left out"} <= set(shown.columns)
    assert shown["difference, counted"].str.endswith("on 300 items").all()


def test_other_metrics_are_called_exploratory(apart):
    table = show.exploratory(apart)
    assert table.caption.startswith("Exploratory")
    assert {"Brier score", "ECE", "log loss, nats"} <= set(table.frame.columns)


def test_what_has_no_partner_is_said():
    whole = study(a=0.8, b=0.8)
    missing = whole.answers[~((whole.answers["prompt"] == "a") & whole.answers["item_id"].isin(["q004", "q007"]))]
    said = str(show.what_is_compared(compare(missing)))
    assert "2 items only in b (q004 and q007)" in said


def test_variants_alone_are_named_with_what_would_compare_them():
    said = str(show.what_is_compared(compare(load_study("triage").select(tags={"set": "semigran"}))))
    assert "With nothing to be compared with: gpt-4.5 (jul25)" in said
    assert "parameter prompt" in said


def test_pictures_state_a_finding_and_can_be_read_without_being_seen(apart):
    for figure in (show.ranking(apart), show.matrix(apart), show.ranking(apart, BRIER), show.matrix(apart, BRIER)):
        assert isinstance(figure, Figure)
        assert "n = 300" in figure.alt or "Square tables" in figure.alt
        assert figure.png.startswith(b"\x89PNG")
    assert show.matrix(apart).title.startswith("2 of 3 pairs differ in accuracy")


def test_the_matrix_says_in_words_what_its_shades_say(apart):
    drawn = show.matrix(apart).svg.decode()
    # Two pairs, each way round, and the key.
    assert drawn.count(">better<") == drawn.count(">worse<") == 2
    assert "no detectable difference at this size" in drawn


def test_the_matrix_is_square(apart):
    (axes,) = show.matrix(apart).drawing.axes
    assert axes.get_aspect() == 1
    assert axes.get_xlim() == axes.get_ylim()[::-1]


def test_the_ranking_marks_figures_with_unreadable_answers_left_out(apart, of_claims):
    assert "unreadable answers left out" in show.ranking(apart).svg.decode()
    assert "accuracy (readable)" in show.ranking(of_claims).table


def test_models_with_long_names_still_fit(tmp_path):
    name = "a-model-with-a-name-that-goes-on-and-on-and-on-2026-01-01"
    frame = study(a=0.8, b=0.7).answers
    comparison = compare(frame.assign(model=np.where(frame["prompt"] == "a", name, "m")))
    for figure in (show.ranking(comparison), show.matrix(comparison)):
        assert figure.png


def test_what_items_and_models_wrote_is_escaped_and_no_formula():
    hostile = study(hostile='=cmd|"<script>alert(1)</script>', a=0.9, b=0.5)
    table = show.differing_items(compare(hostile), hostile)
    assert "<script>" not in table._repr_html_()
    assert len(table.frame) > 50
    assert "(the first 10 of" in table._repr_html_()


def test_answers_are_shown_with_how_often_they_were_given(claims, of_claims):
    frame = show.differing_items(of_claims, claims).frame
    assert frame["the first says"].str.fullmatch(r".+; ([1-9]|10) times").all()


def test_coverage_at_equal_safety_is_said_in_words():
    whole = load_study("banking77").select(part=None)
    safety = equal_safety(whole, compare(whole, metrics=["accuracy"]))
    assert str(show.equal_safety_words(safety)).startswith(
        "1 of 2 variants may act at the safety asked for: Qwen3-30B-A3B"
    )
    frame = show.equal_safety_table(safety).frame.set_index("variant")
    assert frame.loc["llama3.2:3b", "coverage, %"] == "none"


def test_with_nothing_to_compare_everything_says_so(claims):
    alone = claims.select(prompt="L1")
    comparison = compare(alone)
    safety = equal_safety(alone, comparison)
    shown = [show.ranking(comparison), show.matrix(comparison), show.pairs_table(comparison)]
    shown += [show.findings(comparison), show.unreadable_both_ways(comparison), show.exploratory(comparison)]
    shown += [show.differing_items(comparison, alone)]
    assert {str(one) for one in shown} == {NOTHING}
    assert str(show.equal_safety_words(safety)) == str(show.equal_safety_table(safety)) == NO_SAFETY
    assert NOTHING in str(show.what_is_compared(comparison))
    assert show.headline(comparison) == NOTHING
    assert isinstance(show.variants_table(comparison), Table)
    assert isinstance(show.runs_table(over_runs(alone.answers, comparison), comparison), Words)


def test_a_choice_is_opened_on_the_tuning_part_and_certificates_on_both():
    choosing = show.open_for_choosing(check("30_prompts", {"study": "banking77"}))
    assert choosing.selection.part == "tuning"
    assert len(choosing.study.items) < len(choosing.both.items)
    assert "tuning part alone" in choosing._repr_html_()


def test_all_items_are_opened_where_no_certificate_is_within_reach():
    choosing = show.open_for_choosing(check("30_prompts", {"study": "ci_claims"}))
    assert len(choosing.study.items) == 113
    assert "no certificate is within reach" in choosing._repr_html_()


@pytest.mark.parametrize(
    ("value", "words"), [(0.5, "0.50"), (0.0213, "0.021"), (0.0004, "under 0.001"), (math.nan, "none")]
)
def test_p_values_are_written_as_people_read_them(value, words):
    assert p_words(value) == words


def test_differences_have_a_true_minus_sign_and_nothing_has_none():
    assert gap(ACCURACY, -0.0234) == "−2.3"
    assert gap(ACCURACY, -0.0001) == "0.0"
    assert gap(BRIER, -0.0251) == "−0.025"
    assert amount(ACCURACY, 0.8354) == "83.5 %"
    assert amount(BRIER, math.nan) == gap(BRIER, math.nan) == "not defined"


def test_the_notebook_gives_run_every_parameter_it_declares():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    declared = {}
    exec(sources[0], declared)  # noqa: S102 - the literals of our own parameters cell
    declared.pop("__builtins__")
    settings = check("30_prompts", declared)
    assert set(declared) == set(type(settings).model_fields)
    assert all(f"{name}={name}" in sources[1] for name in declared)
    assert sources[-1].startswith("run.record(")
