"""The page on routing: what it says, computed from numbers, on real recorded answers and on studies of its own."""

import asyncio
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from assay.ask.recorded import RecordedPair
from assay.ask.replay import class_question
from assay.parameters import check
from assay.record import plain
from assay.rules import DocumentError, Gate, LabelClass, RoutingClassifier, RoutingRefused, Taxonomy, load_routing
from assay.settings import RoutingSettings
from assay.show import routing as show
from assay.show.figure import Figure
from assay.show.opening import Opened
from assay.show.routing import opening
from assay.show.tables import Table
from assay.show.words import Words
from assay.study import Study, StudyError, each_series, load_study
from assay.study.series import find_series

NOTEBOOK = Path(__file__).parents[3] / "notebooks" / "40_routing.ipynb"
SMOLLM2 = "SmolLM2-135M-Instruct.Q4_1@b179c9523d0e"
PLANT = {"study": "plant", "cheap": "tfidf_logistic", "expensive": f"{SMOLLM2}, traps, verbal"}
CLAIMS = {"study": "ci_claims", "cheap": "deepseek-chat, L1", "expensive": "claude-haiku-4-5-20251001, L1"}
BANKING = {"study": "banking77", "cheap": "llama3.2:3b", "expensive": "Qwen3-30B-A3B"}
PRICES = {
    "deepseek-chat": {"input_per_million": 0.27, "output_per_million": 1.1},
    "claude-haiku-4-5-20251001": {"input_per_million": 1, "output_per_million": 5},
}
SECTIONS = (
    show.earned_words,
    show.agreement_map,
    show.floors_table,
    show.served_words,
    show.reasons_table,
    show.labels_words,
    show.systems_table,
    show.share_served,
    show.certificate_words,
    show.cost_words,
    show.costs_table,
    show.differing_items,
)


def follow(**parameters: object) -> show.Followed | None:
    settings = check("40_routing", parameters)
    return asyncio.run(show.follow(show.open_pair(settings), settings))


@pytest.fixture(scope="module")
def plant() -> show.Followed:
    return follow(**PLANT)


@pytest.fixture(scope="module")
def claims() -> show.Followed:
    return follow(**CLAIMS)


@pytest.fixture(scope="module")
def banking() -> show.Followed:
    return follow(**BANKING)


def study(models: int = 2, text: str = "what?", **columns: object) -> Study:
    rng = np.random.default_rng(2)
    frames = []
    for number in range(models):
        frame = pd.DataFrame({"item_id": [f"q{n:03d}" for n in range(80)], "label": "x", "model": f"m{number}"})
        frame["predicted"] = np.where(rng.random(80) < 0.8, "x", "y")
        frames.append(frame.assign(confidence=0.9, text=text, **columns))
    frames[0]["cost_usd"] = 0.001
    frames[-1]["cost_usd"] = 0.01
    return Study.from_frame(pd.concat(frames, ignore_index=True))


def opened(one: Study, monkeypatch: pytest.MonkeyPatch, **parameters: object) -> show.OpenedPair:
    """Open a study that is not on disk."""
    monkeypatch.setattr(opening, "open_study", lambda settings: Opened(one, one, each_series(one), ()))
    return show.open_pair(RoutingSettings(study="made", **parameters))


# banking77: two language models, evidence on one half, the policy on the other


def test_where_nothing_is_earned_the_bound_that_fails_is_named_and_by_how_much(banking):
    said = str(show.earned_words(banking))
    assert "Nothing is earned" in said
    assert "The bound that fails is the disagreement rate (at most 5.0 %, on at least 20 answers)" in said
    nearest = banking.measured.agreement_at(0.3, 0.0)
    disagree = nearest.measured - nearest.agreed
    over = f"{100 * (disagree / nearest.measured - 0.05):.1f} points too many"
    assert f"{disagree:,} of {nearest.measured:,} answers disagree" in said
    assert over in said


def test_the_evidence_is_of_one_half_and_the_judgement_of_the_other(banking):
    chosen = {one.item for one in banking.measured.comparisons}
    judged = set(banking.answers["item_id"])
    parts = load_study("banking77").parts()
    assert not chosen & judged
    assert set(parts[list(chosen)]) == {"tuning"}
    assert set(parts[list(judged)]) == {"certification"}
    assert len(chosen | judged) == 13_083
    assert banking.judged.certificate.tested_items == len(judged)


def test_a_wider_bound_is_earned_served_and_judged_on_the_other_half():
    found = follow(**BANKING, max_disagreement_rate=0.35)
    served = str(show.served_words(found))
    share = found.judged.served_cheap.estimate
    assert 0.5 < share < 1
    assert f"the cheap model serves {100 * share:.1f} %" in served
    assert "items that the choice did not see" in served
    assert "The routed system is right on" in str(show.labels_words(found))
    assert show.headline(found).startswith("llama3.2:3b may answer")
    assert set(show.reasons_table(found).frame["who and why"]) == {
        "cheap: reaches both floors",
        "expensive: cheap confidence below its floor",
    }


def test_without_a_price_file_no_cost_and_no_saving_is_claimed(banking):
    said = str(show.cost_words(banking))
    assert "of unknown cost" in said
    assert "No saving is claimed: the price of Qwen3-30B-A3B is not known" in said
    assert "estimated" in said
    assert set(show.costs_table(banking).frame["cost"]) == {"unknown"}


# plant: the cheap one is better, and agreement does not know it


def test_on_plant_labels_say_that_the_cheap_model_is_better_and_agreement_does_not(plant):
    said = str(show.labels_words(plant))
    cheap, dear = (plant.judged.system(name).accuracy.estimate for name in ("cheap alone", "expensive alone"))
    assert cheap > dear
    assert f"The cheap model is better than the expensive one by {100 * (cheap - dear):.1f} points" in said
    assert "Agreement is not correctness. The cheap model earns nothing here because it disagrees" in said
    assert "although on labels it is better" in show.headline(plant)


def test_disagreements_are_graded_by_who_was_right(plant):
    graded = plant.measured.graded
    assert graded["cheap"] > graded["expensive"]
    assert f"the cheap model is right in {graded['cheap']:,}" in str(show.earned_words(plant))


def test_items_that_only_one_answers_are_counted_and_named(plant):
    page = show.open_pair(check("40_routing", PLANT))._repr_html_()
    assert "only the cheap series answers them: 607 items (plant-0321" in page
    assert "320 items answered by both" in page


def test_an_unreadable_expensive_answer_is_no_answer_and_not_right(plant):
    assert "3 items got no answer" in str(show.served_words(plant))
    failed = plant.routed.answers[plant.routed.answers["reason"] == "expensive_failed"]
    assert failed["predicted"].isna().all()


# ci_claims: something is earned on few items, and said to be little


def test_what_is_earned_on_few_answers_is_said_to_exclude_little(claims):
    said = str(show.earned_words(claims))
    assert (
        "Earned: the cheap model may answer at confidence from 0.95 and margin from 0.9: 1 of 30 answers disagree"
        in said
    )
    assert "do not exclude a true rate of up to" in said


def test_with_too_few_labels_all_items_choose_and_that_is_said(claims):
    assert claims.selection.part == "all"
    assert not claims.judged_apart
    assert "the same that chose the floors" in str(show.served_words(claims))
    assert "none are left to certify on" in str(show.certificate_words(claims))


def test_prices_tell_the_saving_and_what_escalations_cost(tmp_path, claims):
    (tmp_path / "prices.json").write_text(json.dumps(PRICES))
    found = follow(**CLAIMS, prices=str(tmp_path / "prices.json"))
    said = str(show.cost_words(found))
    baseline, routed = (one.ledger.totals().known_picousd for one in (found.baseline, found.routed))
    assert f"{100 * (baseline - routed) / baseline:.1f} % of what always asking the expensive model costs" in said
    assert "83 questions were paid for twice" in said
    assert set(show.costs_table(found).frame["calls were"]) == {"served", "paid for and thrown away"}


def test_choosing_on_all_items_is_allowed_and_leaves_no_certificate():
    found = follow(**BANKING, part="all", confidence_floors="0.5", margin_floors="0")
    assert found.selection.part == "all"
    assert "the floors were chosen on all items, so none are left to certify on" in str(show.certificate_words(found))


# The policy file


def test_the_policy_that_is_written_is_loaded_by_the_router_and_refused_by_others(tmp_path, claims):
    said = str(show.write_routing(claims, str(tmp_path / "routing.json")))
    assert "its evidence beside it as routing.evidence.json" in said
    policy, evidence = load_routing(tmp_path / "routing.json")
    pair = claims.pair
    router = RoutingClassifier(pair.cheap, pair.expensive, policy, evidence=evidence)
    state = pair.states[claims.routed.answers.loc[claims.routed.answers["model"] == "deepseek-chat", "item_id"].iloc[0]]
    reply = asyncio.run(router.ask(state, class_question(claims.study.taxonomy)))
    assert reply.sources["label"].model == "deepseek-chat"
    whole = load_study("ci_claims")
    other_prompt = RecordedPair.of(
        whole, find_series(whole, "deepseek-chat, L2"), find_series(whole, "claude-haiku-4-5-20251001, L1")
    )
    with pytest.raises(RoutingRefused, match=r"prompt L1, 'deepseek-chat' reports L2"):
        RoutingClassifier(other_prompt.cheap, other_prompt.expensive, policy, evidence=evidence)
    with pytest.raises(RoutingRefused, match="tuned on evidence"):
        RoutingClassifier(pair.cheap, pair.expensive, policy)
    with pytest.raises(RoutingRefused, match=r"'deepseek-chat' \(cheap\)") as refused:
        RoutingClassifier(pair.expensive, pair.cheap, policy, evidence=evidence)
    assert "'claude-haiku-4-5-20251001' (cheap)" in str(refused.value)


def test_where_nothing_is_earned_the_policy_that_is_written_asks_the_expensive_model(tmp_path, plant):
    assert "Its mode is off" in str(show.write_routing(plant, str(tmp_path / "routing.json")))
    policy, evidence = load_routing(tmp_path / "routing.json")
    assert RoutingClassifier(plant.pair.cheap, plant.pair.expensive, policy, evidence=evidence).policy.mode == "off"


def test_no_policy_is_written_unless_asked_for(plant):
    assert "No routing policy was asked for" in str(show.write_routing(plant, ""))


# Pictures and tables


def test_the_map_has_every_count_and_says_its_finding(claims, plant):
    for found, finding in (
        (claims, "Earned: confidence from 0.95"),
        (plant, "No pair of floors is trusted; nearest is"),
    ):
        figure = show.agreement_map(found)
        assert isinstance(figure, Figure)
        assert figure.title.startswith(finding)
        assert figure.title in figure.alt
        assert len(figure.table) == found.earned.map.measured.size
        drawn = figure.svg.decode()
        assert f"{int(found.earned.map.measured.max()):,}" in drawn
        assert "none" in drawn or (figure.table["answers"] > 0).all()


def test_the_map_tells_trusted_floors_by_a_frame_and_not_by_colour_alone(claims):
    legend = show.agreement_map(claims).drawing.legends[0]
    frames = {text.get_text(): patch for text, patch in zip(legend.get_texts(), legend.get_patches(), strict=True)}
    assert frames["trusted"].get_linewidth() != frames["chosen: trusted, and serves the most"].get_linewidth()


def test_the_curve_is_drawn_for_accuracy_the_gain_and_every_gated_class(plant):
    figure = show.share_served(plant)
    panels = [axes.get_title(loc="left") or axes.get_title() for axes in figure.drawing.axes]
    assert panels == [
        "accuracy",
        "accuracy less expensive alone",
        "class accuracy procedural",
        "caught procedural",
        "class accuracy advisory",
        "caught advisory",
    ]
    assert "320 items" in figure.alt


def test_what_items_say_is_escaped_and_no_formula(monkeypatch):
    hostile = "=cmd|' /C calc'!A0 <script>alert(1)</script>"
    pair = opened(study(text=hostile), monkeypatch)
    found = asyncio.run(show.follow(pair, RoutingSettings(study="made")))
    page = show.differing_items(found)._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_the_record_holds_the_figures_and_the_policy(claims):
    record = plain(show.record_of(claims))
    assert record["policy"]["mode"] == "measured"
    assert record["evidence"] == claims.evidence.digest() == record["policy"]["evidence"]
    assert record["items"] == {"shared": 113, "choosing": 113, "judging": 113, "only_cheap": 0, "only_expensive": 0}
    assert record["systems"]["routed"]["accuracy"]["n"] == 113


def test_the_same_parameters_give_the_same_record(claims):
    assert plain(show.record_of(follow(**CLAIMS))) == plain(show.record_of(claims))


# Which series is cheap


def test_a_study_of_one_series_ends_with_a_clear_page(monkeypatch, tmp_path):
    pair = opened(study(models=1), monkeypatch)
    found = asyncio.run(show.follow(pair, RoutingSettings(study="made")))
    assert f"{show.NOTHING} Its one series is of one model, m0" in pair._repr_html_()
    assert found is None
    assert all(isinstance(section(found), Words) for section in SECTIONS)
    assert str(show.earned_words(found)) == show.headline(found) == show.NOTHING
    assert show.record_of(found) == {}
    assert str(show.write_routing(found, str(tmp_path / "routing.json"))) == show.NOTHING
    assert not list(tmp_path.iterdir())


def test_mmlu_has_one_model_and_nothing_to_route_between():
    assert follow(study="mmlu") is None


@pytest.mark.parametrize(
    ("items", "predicted"),
    [(1, ("x", "x")), (1, ("x", "?")), (40, ("?", "?")), (40, ("x", "?")), (40, ("?", "x"))],
    ids=["one item", "one item and no answer", "nothing readable", "no expensive answer", "no cheap answer"],
)
def test_the_smallest_and_the_emptiest_pairs_end_with_a_page(items, predicted, monkeypatch):
    frames = [
        pd.DataFrame({"item_id": [f"q{n}" for n in range(items)], "label": "x", "model": f"m{side}", "predicted": said})
        for side, said in enumerate(predicted)
    ]
    frame = pd.concat(frames, ignore_index=True).assign(confidence=0.9)
    taxonomy = Taxonomy(
        classes=(LabelClass("x", 1), LabelClass("y", 0)), abstain="none", gates=(Gate("caught", ("x",), 0.9, 0.05),)
    )
    pair = opened(Study.from_frame(frame, taxonomy=taxonomy), monkeypatch, cheap="m0", expensive="m1")
    found = asyncio.run(show.follow(pair, RoutingSettings(study="made")))
    page = "".join(section(found)._repr_html_() for section in SECTIONS)
    assert "Nothing is earned" in page or "Earned" in page
    assert not re.search(r"[>\s(]nan[<\s,)]", page, re.IGNORECASE)
    assert plain(show.record_of(found))["policy"]["mode"] in ("off", "measured")


@pytest.mark.parametrize("part", ["certification", "tuning"])
def test_a_pair_with_no_item_to_choose_on_or_to_judge_by_ends_with_a_page(part, monkeypatch):
    one = study()
    part_of_all = one.select(part=part)
    pair = opened(part_of_all, monkeypatch, part="certification", cheap="m0", expensive="m1")
    assert pair.pair is None
    assert "neither may be none" in pair._repr_html_()


def test_recorded_costs_tell_which_is_cheap(monkeypatch):
    pair = opened(study(), monkeypatch)
    assert (pair.cheap.model, pair.expensive.model) == ("m0", "m1")
    assert "by the recorded cost of an answer" in pair._repr_html_()


def test_a_trained_classifier_is_cheap_beside_a_language_model(monkeypatch):
    settings = {"study": "plant", "model": None, "elicitation": None}
    chosen = load_study("plant").select(
        model=["tfidf_logistic", SMOLLM2], prompt=["text", "traps"], elicitation=["", "token"]
    )
    monkeypatch.setattr(opening, "open_study", lambda _: Opened(chosen, chosen, each_series(chosen), ()))
    pair = show.open_pair(check("40_routing", settings))
    assert (pair.cheap.model, pair.expensive.elicitation) == ("tfidf_logistic", "token")
    assert "A trained classifier is taken to be the cheap one" in pair._repr_html_()


def test_where_costs_are_not_recorded_the_series_have_to_be_named():
    pair = show.open_pair(check("40_routing", {"study": "banking77"}))
    assert pair.pair is None
    assert "the parameters cheap and expensive name them. There are: Qwen3-30B-A3B" in pair._repr_html_()


def test_one_name_is_enough_where_the_other_follows():
    pair = show.open_pair(check("40_routing", {"study": "banking77", "cheap": "llama3.2:3b"}))
    assert pair.expensive.model == "Qwen3-30B-A3B"
    with pytest.raises(StudyError, match="expensive must name a series"):
        show.open_pair(check("40_routing", {"study": "ci_claims", "cheap": "deepseek-chat, L1"}))


def test_a_name_that_means_no_series_or_several_is_refused_with_those_there_are():
    for name, said in (("Qwen", r"no series 'Qwen'.*Qwen3-30B-A3B"), ("language_model", "2 series that are meant by")):
        with pytest.raises(StudyError, match=said):
            show.open_pair(check("40_routing", {**BANKING, "expensive": name}))


def test_a_price_file_that_cannot_be_used_is_refused_by_field(tmp_path):
    settings = check("40_routing", {**CLAIMS, "prices": str(tmp_path / "none.json")})
    with pytest.raises(DocumentError, match=r"prices must be the path of a price file: none\.json: cannot be read"):
        asyncio.run(show.follow(show.open_pair(settings), settings))
    (tmp_path / "prices.json").write_text('{"deepseek-chat": {"input_per_million": -1, "output_per_million": 0}}')
    settings = check("40_routing", {**CLAIMS, "prices": str(tmp_path / "prices.json")})
    with pytest.raises(DocumentError, match=r"prices\.deepseek-chat\.input_per_million must be a number of at least 0"):
        asyncio.run(show.follow(show.open_pair(settings), settings))


def test_all_sections_draw_on_real_answers(plant):
    for section in SECTIONS:
        assert isinstance(section(plant), (Words, Table, Figure))


def test_the_notebook_gives_run_every_parameter_it_declares():
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    declared: dict[str, object] = {}
    exec(sources[0], declared)  # noqa: S102 - the literals of our own parameters cell
    declared.pop("__builtins__")
    settings = check("40_routing", declared)
    assert set(declared) == set(type(settings).model_fields)
    assert all(f"{name}={name}" in sources[1] for name in declared)
    assert sources[-1].startswith("run.record(")
