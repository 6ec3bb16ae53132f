"""What notebooks 10, 20 and 90 show, on a study small enough to count by hand."""

import dataclasses
from pathlib import Path

import nbformat
import numpy as np
import pandas as pd
import pytest

from assay.measure.calibration_report import calibration_report
from assay.measure.hygiene import hygiene
from assay.measure.recalibration_report import judge_maps
from assay.measure.tuning import tune
from assay.parameters import check
from assay.rules import Classification, Gate, LabelClass, PolicyError, Taxonomy, load_policy
from assay.show import calibration, certificates, choice, review, thresholds
from assay.show.opening import Opened, open_study
from assay.show.recalibration import recalibration_findings, recalibration_table
from assay.show.verdict import sign_off, verdict
from assay.study import Costs, Study, each_series

HOSTILE = '=HYPERLINK("http://example.org")<script>alert(1)</script>'


def make_study(items=400, wrong=0.0, models=("m1",), seed=3):
    rng = np.random.default_rng(seed)
    taxonomy = Taxonomy(
        (LabelClass("calm", 0), LabelClass("urgent", 1)), "ask", gates=(Gate("caught", ("urgent",), 0.95),)
    )
    rows = []
    for model in models:
        for number in range(items):
            label = "urgent" if number % 2 else "calm"
            slips = rng.random() < wrong
            said = {"urgent": "calm", "calm": "urgent"}[label] if slips else label
            confidence = round(float(rng.uniform(0.3, 0.6) if slips else rng.uniform(0.55, 1.0)), 2)
            other = "calm" if said == "urgent" else "urgent"
            rows.append(
                (f"i{number}", model, label, said, confidence, {other: round(1 - confidence, 2)}, "day", HOSTILE)
            )
    frame = pd.DataFrame(
        rows, columns=["item_id", "model", "label", "predicted", "confidence", "alternatives", "shift", "text"]
    )
    study = Study.from_frame(frame, taxonomy=taxonomy, alternatives="alternatives", tags=["shift"], text="text")
    return Opened(study, study, each_series(study), ())


def tune_all(opened, **fixed):
    study = opened.study
    return [tune(one, study.taxonomy, parts=study.parts(), seed=study.seed, grid=21, **fixed) for one in opened.series]


def test_a_safe_model_is_certified_and_its_region_is_drawn():
    opened = make_study()
    tuned = tune_all(opened)
    assert tuned[0].how == "certified"
    assert "Certified at" in str(review.verdicts(tuned))
    assert thresholds.headline(tuned).startswith("1 of 1 series have a certified policy")
    plane = thresholds.planes(tuned)
    assert "certified" in [text.get_text() for legend in plane.drawing.legends for text in legend.get_texts()]
    assert str(verdict(tuned)).startswith("PASS: 1 of 1 series certified; ")
    assert "decide on the certified policies" in repr(sign_off(tuned, opened))


def test_too_few_labels_certify_nothing_and_draw_no_region():
    opened = make_study(items=40)
    tuned = tune_all(opened)
    assert tuned[0].how == "descriptive"
    assert "too few labels" in str(review.verdicts(tuned))
    assert "59 needed" in str(review.verdicts(tuned))
    plane = thresholds.planes(tuned)
    assert "certified" not in [text.get_text() for legend in plane.drawing.legends for text in legend.get_texts()]
    assert "signing accepts none" in repr(sign_off(tuned, opened))
    assert "nothing was tested" in str(review.selection(tuned, opened))


def test_the_review_page_opens_with_one_verdict_marked_as_what_it_is():
    safe, unsafe, few = (
        tune_all(make_study()),
        tune_all(make_study(wrong=0.5), threshold=0.0, tie_margin=0.0),
        tune_all(make_study(items=40)),
    )
    assert [verdict(one).verdict for one in (safe, unsafe, few)] == ["pass", "fail", "undecided"]
    assert verdict([*unsafe, *few]).verdict == "undecided"
    assert verdict([*unsafe, *few, *safe]).verdict == "pass"
    assert str(verdict([*unsafe, *few])) == "UNDECIDED: no policy is certified in 2 series: 1 failed, 1 undecided"
    shown = verdict(unsafe)._repr_html_()
    assert shown.startswith('<div class="assay-verdict fail" role="note"><p><strong>FAIL.</strong> No policy is')


def test_a_confidence_that_all_bounds_share_is_said_below_the_gates_and_is_no_column():
    (safe,) = tune_all(make_study())
    table = certificates.certificate_table([safe])
    assert (list(table.hidden), table.note) == (["each bound at"], "Each bound holds at a confidence of 95.0 %.")
    (strict,) = tune_all(make_study(), delta=0.01)
    assert certificates.certificate_table([safe, strict]).hidden == ()


def test_on_the_review_page_nothing_but_its_introduction_stands_before_the_verdict():
    path = Path(__file__).parents[3] / "notebooks" / "90_review.ipynb"
    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    shows = [cell.source.splitlines()[-1] for cell in cells if "parameters" not in cell.metadata.get("tags", [])]
    assert shows[:3] == ["opened = open_study(run.settings)", "verdict(tuned)", "opened"]


def test_a_given_point_is_what_every_figure_describes():
    tuned = tune_all(make_study(), threshold=0.7, tie_margin=0.2)
    assert (tuned[0].threshold, tuned[0].tie_margin, tuned[0].how) == (0.7, 0.2, "given")
    row = thresholds.operating_table(tuned).frame.iloc[0]
    assert (row["threshold"], row["tie margin"]) == (0.7, 0.2)
    assert review.sensitivity(tuned[0]).frame["here"].tolist().count("operating point") == 2


def test_remarks_on_many_series_are_one_table_and_on_few_are_words():
    study = make_study(items=60, wrong=0.2, models=("m1", "m2", "m3", "m4", "m5"))
    reports = []
    for number, one in enumerate(study.series):
        answers = one.answers.copy()
        answers.loc[answers.index[: number + 1], ["predicted", "confidence"]] = None
        reports.append(calibration_report(dataclasses.replace(one, answers=answers)))
    table = calibration.notes(reports)
    assert table.frame["series"].tolist() == [one.name for one in study.series]
    assert table.frame["left out"].tolist() == [
        "1 unreadable answer",
        *(f"{n} unreadable answers" for n in range(2, 6)),
    ]
    assert "m1: 1 unreadable answer left out." in str(calibration.notes(reports[:2]))


def test_the_first_margin_that_changes_anything_is_the_smallest_gap():
    opened = make_study(wrong=0.2)
    tuned = tune_all(opened, threshold=0.0, tie_margin=0.0)
    margin = thresholds.first_effective_margin(tuned[0])
    gaps = [
        abs(confidence - next(iter(others.values())))
        for confidence, others in zip(
            opened.study.answers["confidence"], opened.study.answers["alternatives"], strict=True
        )
    ]
    on_grid = np.ceil(np.round(min(gaps) * 20, 9)) / 20
    assert margin == pytest.approx(max(on_grid, 0.05))


def test_classes_with_items_enough_have_their_frequency_with_its_interval():
    opened = make_study(items=200, wrong=0.1)
    table = calibration.classes(opened.series, opened.study.taxonomy.names).frame
    assert set(table["class"]) == {"calm", "urgent"}
    assert table["frequency"].str.fullmatch(r"0\.\d{3} \(0\.\d{3}, 0\.\d{3}\)").all()


def test_a_policy_of_several_series_is_refused_with_their_names(tmp_path):
    opened = make_study(items=40, models=("m1", "m2"))
    with pytest.raises(certificates.PolicyChoiceError, match=r"2 are chosen here \(m1 and m2\)"):
        certificates.write_policy(tune_all(opened), opened, str(tmp_path / "policy.json"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("draw", ["along_threshold", "along_margin", "planes", "safety_for_coverage", "margin_price"])
def test_every_figure_of_notebook_20_states_its_type_axes_and_count(draw):
    figure = getattr(thresholds, draw)(tune_all(make_study(items=60, wrong=0.1, models=("m1", "m2"))))
    assert "n = 60 items" in figure.alt
    assert "across" in figure.alt
    assert len(figure.table)
    assert not [name for name in figure.table.columns if "_" in name]


def test_a_margin_that_changes_nothing_is_said_and_not_drawn():
    opened = make_study(items=60)
    opened.study.answers["alternatives"] = None
    tuned = tune_all(Opened(opened.whole, opened.study, each_series(opened.study), ()))
    for draw in (thresholds.along_margin, thresholds.margin_price):
        assert "No tie margin changes any decision" in str(draw(tuned))


def test_the_table_behind_a_line_has_the_points_at_which_it_changes_and_no_others():
    one = tune_all(make_study(items=60, wrong=0.1))[0]
    table = thresholds.along_threshold([one]).table
    values = ["estimate", "low", "high", "answers"]
    for name, rows in table.groupby("figure"):
        assert (rows[values].fillna(-1).diff().iloc[1:] != 0).any(axis=1).all(), name
        full = one.along_threshold[one.along_threshold["figure"] == name].set_index("threshold")[values]
        held = rows.set_index("threshold, from")[values].reindex(full.index, method="ffill")
        pd.testing.assert_frame_equal(held, full, check_dtype=False)


def test_many_series_with_one_verdict_are_counted_and_the_nearest_is_told():
    opened = make_study(wrong=0.3, models=tuple(f"m{number}" for number in range(6)))
    tuned = tune_all(opened, threshold=0.0, tie_margin=0.0)
    (words,) = review.verdicts(tuned).paragraphs
    nearest = max(tuned, key=lambda one: one.certificate.gates[0].estimate)
    assert words.startswith("Failed: 6 of 6 series, each with its bounds in the table.")
    assert f"Closest to its gates, {nearest.series.name}: " in words


def test_of_many_classes_the_pairs_confused_most_are_listed():
    names = [f"class {number}" for number in range(14)]
    rows = [(name, name) for name in names] * 2 + [("class 1", "class 2")] * 3 + [("class 4", "class 5")]
    frame = pd.DataFrame(rows, columns=["label", "predicted"]).assign(confidence=0.9)
    gates = (Gate("accepted_accuracy", (), 0.5),)
    taxonomy = Taxonomy(tuple(LabelClass(name) for name in names), "ask", gates=gates)
    study = Study.from_frame(frame, taxonomy=taxonomy)
    table = review.decisions(tune_all(Opened(study, study, each_series(study), ()), threshold=0.0, tie_margin=0.0)[0])
    assert table.frame[["label", "decided", "answers"]].to_numpy().tolist() == [
        ["class 1", "class 2", 3],
        ["class 4", "class 5", 1],
    ]
    assert table.frame["of the label's answers"].tolist() == [3 / 5, 1 / 3]
    assert "28 are decided right, 0 abstain" in table.caption


@pytest.mark.parametrize("draw", [calibration.reliability, calibration.histograms])
def test_every_figure_of_notebook_10_states_its_type_axes_and_count(draw):
    opened = make_study(items=60, wrong=0.2, models=("m1", "m2"))
    figure = draw([calibration_report(one, resamples=100) for one in opened.series])
    assert "n = 60 items a series, 120 answers in all" in figure.alt
    assert "m1" in str(figure.table["series"].unique())
    assert not [name for name in figure.table.columns if "_" in name]


def test_a_pooled_accuracy_that_hides_a_gated_class_is_called_out():
    rows = [("calm", "calm")] * 96 + [("urgent", "calm")] * 2 + [("urgent", "urgent")] * 2
    frame = pd.DataFrame(rows, columns=["label", "predicted"]).assign(confidence=0.9)
    taxonomy = Taxonomy((LabelClass("calm", 0), LabelClass("urgent", 1)), "ask", gates=(Gate("caught", ("urgent",)),))
    study = Study.from_frame(frame, taxonomy=taxonomy)
    tuned = tune_all(Opened(study, study, each_series(study), ()), threshold=0.0, tie_margin=0.0)
    words = str(thresholds.pooled_hides(tuned))
    assert "98.0 %" in words
    assert "only 50.0 %" in words


def test_misroutes_show_a_hostile_text_as_text_and_neutralise_it_in_the_csv():
    opened = make_study(items=60, wrong=0.3)
    tuned = tune_all(opened, threshold=0.0, tie_margin=0.0)
    table = review.dangerous(tuned[0], opened)
    assert set(table.frame["label"]) == {"urgent"}
    page = table._repr_html_()
    assert "<script>" not in page
    assert "&lt;script&gt;" in page


def test_hygiene_and_findings_are_words_computed_from_the_answers():
    opened = make_study(items=60)
    assert "all 60 answers can be read" in str(calibration.hygiene_findings(hygiene(opened.study.answers)))
    report = calibration_report(opened.series[0], resamples=100)
    assert "100.0 %" in str(calibration.findings([report]))
    assert calibration.headline([report]).startswith(f"{int(report.rejected)} of 1 series")


def test_details_describe_one_series_for_each_kind_of_confidence():
    opened = make_study(models=("m1", "m2"), wrong=0.02)
    leading = review.leading(tune_all(opened))
    assert len(leading) == 1
    assert "language model verbal confidence" in str(review.leading_words(leading, leading))


def test_series_with_the_same_verdict_are_said_together():
    opened = make_study(items=40, models=("m1", "m2"))
    words = review.verdicts(tune_all(opened))
    assert len(words.paragraphs) == 1
    assert words.paragraphs[0].startswith("m1 and m2: Undecided: too few labels.")


def test_a_study_that_compares_within_a_tag_opens_the_group_that_says_most_about_the_gates():
    opened = open_study(check("20_thresholds", {"study": "triage"}))
    assert set(opened.study.items["tag_set"]) == {"semigran"}
    assert "left for a run of their own: kopka (45 items)" in opened.remarks[0]
    chosen = open_study(check("20_thresholds", {"study": "triage", "tags": "set=kopka"}))
    assert set(chosen.study.items["tag_set"]) == {"kopka"}
    assert not chosen.remarks


def test_items_without_an_answer_are_said_in_the_opening():
    model = "SmolLM2-135M-Instruct.Q4_1@b179c9523d0e"
    for settings, words in (
        ({"study": "plant"}, None),
        ({"study": "plant", "model": model}, "607 of the 927 items have no answer here and are not counted."),
        ({"study": "plant", "model": model, "part": "tuning"}, "607 of the 927 items have no answer here"),
        ({"study": "triage", "tags": "set=kopka"}, None),
    ):
        remarks = open_study(check("20_thresholds", settings)).remarks
        assert any(words in one for one in remarks) if words else not any("no answer" in one for one in remarks)


def test_a_part_and_another_seed_are_said_in_the_opening():
    settings = check("10_calibrate", {"study": "triage", "part": "tuning", "seed": 7, "model": "o3"})
    opened = open_study(settings)
    assert opened.study.seed == 7
    assert "split by seed 7" in opened.remarks[0]
    assert "Only the tuning part" in opened.remarks[-1]
    assert len(opened.study.items) < 45


def test_a_point_that_sends_everything_to_one_class_is_called_out():
    tuned = tune_all(make_study(items=40, wrong=0.2), threshold=0.0, tie_margin=1.0)
    assert "decides urgent for nearly every answer" in str(thresholds.findings(tuned))
    fair = tune_all(make_study(items=40), threshold=0.0, tie_margin=0.0)
    assert "no longer classifying" not in str(thresholds.findings(fair))


def test_the_margin_table_has_a_row_for_each_margin_that_changes_a_figure():
    opened = open_study(check("20_thresholds", {"study": "triage", "model": "o1-mini"}))
    table = thresholds.margin_table(tune_all(opened, threshold=0.0, tie_margin=0.0)).frame
    assert table["tie margin"].tolist() == [0.0, 0.2, 0.6, 0.8, 1.0]
    assert table["dangerous misroutes of em"].iloc[0].startswith("6 of 15 (40.0 %, 95 % interval 19.8 to 64.3")
    assert table["dangerous misroutes of em"].iloc[-1].startswith("0 of 15")


def test_a_policy_file_is_written_for_one_certified_series_and_is_what_a_service_loads(tmp_path):
    opened = make_study()
    words = certificates.write_policy(tune_all(opened), opened, str(tmp_path / "policy.json"))
    policy = load_policy(tmp_path / "policy.json")
    assert (policy.verdict, policy.model) == ("pass", "m1")
    answer = Classification("urgent", 0.99)
    assert policy.decide(answer, calibration="language_model", elicitation="verbal", model="m1").label == "urgent"
    assert "until" in str(words)


def test_a_policy_of_several_series_or_without_a_certificate_is_not_passed_off_as_one(tmp_path):
    path = tmp_path / "policy.json"
    several = make_study(items=40, models=("m1", "m2"))
    with pytest.raises(ValueError, match="2 are chosen here"):
        certificates.write_policy(tune_all(several), several, str(path))
    assert not path.exists()
    few = make_study(items=40)
    assert "refused wherever it is applied" in str(certificates.write_policy(tune_all(few), few, str(path)))
    with pytest.raises(PolicyError, match="undecided"):
        load_policy(path).decide(Classification("urgent", 0.99), calibration="language_model", elicitation="verbal")


def test_maps_are_judged_on_the_part_they_were_not_fitted_on_and_said_in_words():
    opened = make_study(items=400, wrong=0.3, models=("m1", "m2"))
    maps = judge_maps(opened.series, opened.study.parts(), seed=1)
    assert {one.kind for one in maps} == {"temperature", "platt", "isotonic", "beta"}
    assert all(one.verdict is None or one.verdict.items <= 201 for one in maps)
    favoured = [one for one in maps if one.favoured]
    words = str(recalibration_findings(maps))
    assert all(one.series in words for one in favoured)
    assert len(recalibration_table(maps).frame) == 8
    assert "no map can be fitted" in str(recalibration_table([]))


def test_the_firmness_of_a_point_is_judged_on_items_left_out():
    opened = make_study(items=120, wrong=0.05)
    table = choice.firmness(tune_all(opened), seed=1).frame
    assert table["series"].tolist() == ["m1"]
    assert "coverage left out, %" in table.columns


def test_prevalence_and_costs_change_only_the_figures_marked_as_descriptive():
    opened = make_study(items=60, wrong=0.2)
    tuned = tune_all(opened, threshold=0.5, tie_margin=0.1)
    assert "states neither" in str(choice.mix(tuned, opened.whole))
    study = dataclasses.replace(
        opened.whole, prevalence={"calm": 0.9, "urgent": 0.1}, costs=Costs(100.0, 5.0, 1.0, "EUR")
    )
    table = choice.mix(tuned, study)
    assert table.caption.startswith("Descriptive only")
    assert table.frame["mix"].tolist() == ["the items' own", "production"]
    weighed = Opened(study, study, each_series(study), ())
    pd.testing.assert_frame_equal(
        certificates.certificate_table(tuned).frame,
        certificates.certificate_table(tune_all(weighed, threshold=0.5, tie_margin=0.1)).frame,
    )


def test_a_threshold_that_a_pooled_gate_accepts_is_refused_by_the_gate_of_the_rarest_class():
    # Five classes as in production; the rarest is the dangerous one, and is misread as the commonest in 12 % of cases.
    rng = np.random.default_rng(11)
    names = ("common", "second", "third", "fourth", "rare")
    label = rng.choice(names, 20_000, p=(0.45, 0.25, 0.15, 0.10, 0.05))
    slips = rng.random(len(label)) < np.where(label == "rare", 0.12, 0.04)
    predicted = np.where(slips, np.where(label == "common", "second", "common"), label)
    frame = pd.DataFrame({"label": label, "predicted": predicted, "confidence": 0.9})
    taxonomy = Taxonomy(
        tuple(LabelClass(name, rank) for rank, name in enumerate(names)), "ask", gates=(Gate("caught", ("rare",)),)
    )
    study = Study.from_frame(frame, taxonomy=taxonomy)
    opened = Opened(study, study, each_series(study), ())
    tuned = tune_all(opened, threshold=0.8, tie_margin=0.1)
    pooled, caught = tuned[0].figures.accepted_accuracy, tuned[0].figures.caught["rare"]
    assert pooled.estimate >= 0.95
    assert caught.estimate < 0.92
    assert "hides the class that matters" in str(thresholds.pooled_hides(tuned))
    assert tuned[0].certificate.verdict == "fail"
    pooled_gate = [Gate("accepted_accuracy")]
    assert tune(opened.series[0], taxonomy, parts=study.parts(), seed=0, gates=pooled_gate, threshold=0.8, tie_margin=0.1
                ).certificate.verdict == "pass"  # fmt: skip
