import datetime
import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from assay.__main__ import main
from assay.measure.anytime import anytime_bounds
from assay.measure.certificate import certify
from assay.measure.drift import check, check_files
from assay.measure.policies import policy_of
from assay.rules import Gate, LabelClass, Taxonomy
from assay.rules.policy import PolicyRefused, save_policy
from assay.rules.recalibration import RecalibrationMap

SHIPPED = Path(__file__).parents[3] / "data"
TODAY = datetime.date(2026, 3, 1)
TRIAGE = Taxonomy(
    (LabelClass("sc", 0), LabelClass("ne", 1), LabelClass("em", 2)), "unsure", gates=(Gate("caught", ("em",)),)
)
TWO_GATES = (Gate("caught", ("em",)), Gate("class_accuracy", ("ne",)))


def log(labels, predicted=None, confidence=0.9, **columns):
    frame = pd.DataFrame({"label": labels, "predicted": labels if predicted is None else predicted})
    origin = {"calibration": "language_model", "elicitation": "vote", "model": "m1", "prompt": "p1"}
    frame = frame.assign(confidence=confidence, item_id=[f"n{number}" for number in range(len(frame))], **origin)
    return frame.assign(**columns)


def certified(gates=None, **fields):
    certificate = certify(log(["em"] * 80 + ["ne"] * 80), TRIAGE, seed=1, gates=gates, fixed=(0.5, 0.1))
    return policy_of(certificate, TRIAGE, **{"date": TODAY, **fields})


def em(hits, misses):
    """Emergencies, the missed ones spread evenly among the caught."""
    missed = np.zeros(hits + misses, dtype=bool)
    missed[np.linspace(0, hits + misses - 1, misses).astype(int)] = True
    return log(["em"] * (hits + misses), np.where(missed, "sc", "em").tolist())


def test_a_spotless_log_holds_a_bad_one_is_violated_and_a_short_one_cannot_tell():
    reports = [check(certified(), answers, today=TODAY) for answers in (em(120, 0), em(60, 20), em(20, 0))]
    assert [report.verdict for report in reports] == ["holds", "violated", "cannot tell"]
    assert [report.exit_code for report in reports] == [0, 1, 3]


def test_the_report_counts_and_bounds_what_it_saw():
    report = check(certified(), em(115, 5), today=TODAY)
    (gate,) = report.gates
    assert (gate.successes, gate.trials) == (115, 120)
    assert (gate.lower, gate.upper) == anytime_bounds(115, 120, 0.05, 0.05)
    assert "115 of 120 (0.958)" in report.words


def test_a_violation_once_shown_stands():
    bad_then_good = log(["em"] * 3000, ["sc"] * 30 + ["em"] * 2970)
    report = check(certified(), bad_then_good, today=TODAY)
    (gate,) = report.gates
    assert (report.verdict, gate.lower > 0.95) == ("violated", True)
    assert gate.violated_at < 10
    assert f"first shown after {gate.violated_at}" in report.words


def test_a_violation_shares_delta_over_the_gates_and_holding_does_not():
    one, two = certified(), certified(TWO_GATES)
    assert [check(policy, em(88, 0), today=TODAY).gates[0].verdict for policy in (one, two)] == ["holds", "holds"]
    misses = next(n for n in range(1, 20) if check(one, em(20, n), today=TODAY).verdict == "violated")
    assert check(two, em(20, misses), today=TODAY).gates[0].verdict == "cannot tell"


def test_all_gates_have_to_hold():
    policy = certified(TWO_GATES)
    only_em = check(policy, em(200, 0), today=TODAY)
    assert [gate.verdict for gate in only_em.gates] == ["holds", "cannot tell"]
    assert only_em.verdict == "cannot tell"
    assert check(policy, log(["em"] * 200 + ["ne"] * 200), today=TODAY).verdict == "holds"


def test_only_labelled_answers_one_per_item_are_counted():
    answers = em(40, 0).assign(run=2)
    answers.loc[:9, "label"] = None
    again = answers.iloc[20:30].assign(run=1, predicted=None)
    report = check(certified(), pd.concat([answers, again]), today=TODAY)
    assert (report.answers, report.unlabelled, report.repeated, report.unreadable) == (30, 10, 10, 10)
    assert report.gates[0].successes == 30  # unreadable is abstained, and so caught


def test_nothing_labelled_cannot_tell():
    report = check(certified(), em(5, 0).assign(label=None), today=TODAY)
    assert (report.verdict, report.answers, report.unlabelled) == ("cannot tell", 0, 5)


def test_answers_go_through_the_map_of_the_policy():
    halving = RecalibrationMap("platt", {"slope": 1.0, "intercept": -3.0}, "language_model", "vote")
    answers = em(30, 0)
    assert check(certified(), answers, today=TODAY).abstained == 0
    assert check(certified(recalibration=halving), answers, today=TODAY).abstained == 30


@pytest.mark.parametrize(
    ("origin", "both"),
    [
        ({"calibration": "classifier", "elicitation": ""}, ("language_model", "classifier")),
        ({"elicitation": "verbal"}, ("vote", "verbal")),
        ({"model": "m2"}, ("m1", "m2")),
        ({"prompt": "p2"}, ("p1", "p2")),
    ],
)
def test_answers_of_another_origin_are_refused_and_both_named(origin, both):
    with pytest.raises(PolicyRefused) as refused:
        check(certified(), em(100, 0).assign(**origin), today=TODAY)
    assert all(name in str(refused.value) for name in both)


def test_one_answer_of_another_origin_is_enough_to_refuse():
    answers = em(100, 0)
    answers.loc[99, "calibration"] = "classifier"
    with pytest.raises(PolicyRefused, match=r"language_model.*classifier"):
        check(certified(), answers, today=TODAY)


def test_another_model_or_prompt_is_checked_where_allowed_by_name():
    answers = em(120, 0).assign(model="m2", prompt="p2")
    assert check(certified(), answers, today=TODAY, allow=("model", "prompt")).verdict == "holds"
    with pytest.raises(PolicyRefused, match="prompt p1"):
        check(certified(), answers, today=TODAY, allow=("model",))


def test_prompts_of_one_name_but_another_text_are_refused():
    policy = certified(prompt_sha256="a" * 64)
    with pytest.raises(PolicyRefused, match=r"a{64}.*b{64}"):
        check(policy, em(100, 0), prompt_sha256="b" * 64, today=TODAY)
    assert check(policy, em(100, 0).assign(prompt="renamed"), prompt_sha256="a" * 64, today=TODAY).verdict == "holds"


def test_an_expired_policy_is_refused_unless_allowed():
    late = TODAY + datetime.timedelta(days=181)
    with pytest.raises(PolicyRefused, match="reviewed by 2026-08-28"):
        check(certified(), em(100, 0), today=late)
    assert check(certified(), em(100, 0), today=late, allow=("expired",)).verdict == "holds"


@pytest.mark.parametrize("column", ["label", "calibration"])
def test_answers_without_a_needed_column_are_refused(column):
    with pytest.raises(ValueError, match=f"no column '{column}'"):
        check(certified(), em(10, 0).drop(columns=column), today=TODAY)


# Files, as the command line reads them.


@pytest.fixture
def policy_file(tmp_path):
    path = tmp_path / "policy.json"
    save_policy(certified(date=datetime.date.today()), path)
    return path


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_files_of_every_kind_give_the_code_of_the_verdict(policy_file, tmp_path, ending):
    path = tmp_path / f"answers.{ending}"
    for answers, code in ((em(120, 0), 0), (em(60, 20), 1), (em(20, 0), 3)):
        if ending == "csv":
            answers.to_csv(path, index=False)
        elif ending == "jsonl":
            answers.to_json(path, orient="records", lines=True)
        else:
            answers.to_parquet(path)
        assert check_files(policy_file, path)[0] == code


def test_whole_completions_are_read_as_answers(policy_file, tmp_path):
    path = tmp_path / "answers.jsonl"
    said = [json.dumps({"label": "em", "confidence": 0.9}), "no idea"] * 60
    answers = em(120, 0).drop(columns=["predicted", "confidence"]).assign(completion=said)
    answers.to_json(path, orient="records", lines=True)
    code, text = check_files(policy_file, path)
    assert (code, "60 unreadable" in text) == (0, True)


def test_answers_of_another_calibration_are_unusable_input_and_both_are_named(policy_file, tmp_path):
    path = tmp_path / "answers.csv"
    em(20, 0).assign(calibration="classifier", elicitation="").to_csv(path, index=False)
    code, text = check_files(policy_file, path)
    assert code == 2
    assert "language_model" in text
    assert "classifier" in text
    assert "\n" not in text


def test_a_tampered_policy_is_unusable_input_and_its_field_is_named(policy_file, tmp_path):
    policy_file.write_text(policy_file.read_text().replace('"threshold": 0.5', '"threshold": 0.4'))
    em(20, 0).to_csv(tmp_path / "answers.csv", index=False)
    code, text = check_files(policy_file, tmp_path / "answers.csv")
    assert (code, "policy.threshold was changed" in text) == (2, True)


def test_an_unknown_label_is_unusable_input_and_its_row_is_named(policy_file, tmp_path):
    answers = em(20, 0)
    answers.loc[4, "label"] = "emm"
    answers.to_csv(tmp_path / "answers.csv", index=False)
    code, text = check_files(policy_file, tmp_path / "answers.csv")
    assert code == 2
    assert "data row 5" in text
    assert "'emm' is not a class of the policy (did you mean 'em'?)" in text


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        (["foo"], "no column label, calibration, predicted, confidence (or completion for the last two); it has foo"),
        (["labels", "completion"], "no column label (did you mean 'labels'?), calibration; it has labels, completion"),
        (
            ["label", "predicted", "completion"],
            "no column calibration, confidence; it has label, predicted, completion",
        ),
        (["label", "calibration", "confidence"], "no column predicted; it has label, calibration, confidence"),
    ],
)
def test_all_columns_that_are_missing_are_named_in_one_line(policy_file, tmp_path, columns, said):
    pd.DataFrame([["x"] * len(columns)], columns=columns).to_csv(tmp_path / "answers.csv", index=False)
    assert check_files(policy_file, tmp_path / "answers.csv") == (2, f"answers.csv: {said}")


@pytest.mark.parametrize("missing", ["policy.json", "answers.csv"])
def test_a_missing_file_is_unusable_input(policy_file, tmp_path, missing):
    em(20, 0).to_csv(tmp_path / "answers.csv", index=False)
    (tmp_path / missing).unlink()
    code, text = check_files(policy_file, tmp_path / "answers.csv")
    assert (code, text.startswith(missing)) == (2, True)


@pytest.mark.parametrize(
    ("written", "options"),
    [
        ({"sep": ";"}, {"delimiter": ";"}),
        ({"sep": "\t"}, {"delimiter": r"\t"}),
        ({"sep": ";", "decimal": ","}, {"delimiter": ";", "decimal": ","}),
        ({"decimal": ","}, {"decimal": ","}),
        ({"encoding": "utf-16"}, {"encoding": "utf-16"}),
    ],
    ids=["semicolons", "tabs", "german", "commas", "utf-16"],
)
def test_a_file_as_a_spreadsheet_writes_it_is_read_once_its_message_is_followed(
    policy_file, tmp_path, written, options, monkeypatch, capsys
):
    monkeypatch.chdir(tmp_path)
    em(120, 0).to_csv("answers.csv", index=False, **written)
    given = []
    for name, value in options.items():
        assert main(["check", "policy.json", "answers.csv", *given]) == 2
        said = capsys.readouterr().err
        assert said.startswith("assay: answers.csv")
        assert f'give --{name} "{value}"' in said
        given += [f"--{name}", value]
    assert main(["check", "policy.json", "answers.csv", *given]) == 0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"encoding": "klingon"}, "--encoding: 'klingon' is no text encoding"),
        ({"encoding": "rot13"}, "--encoding: 'rot13' is no text encoding"),
        ({"delimiter": "ab"}, "--delimiter must be one ASCII character, got 'ab'"),
        ({"delimiter": ""}, "--delimiter must be one ASCII character, got ''"),
        ({"decimal": "x"}, '--decimal must be "." or ","'),
        ({"encoding": "latin-1", "delimiter": ";"}, "study.toml says how its files are written; leave out --encoding"),
    ],
)
def test_what_is_said_of_a_file_is_checked(policy_file, tmp_path, options, said):
    em(20, 0).to_csv(tmp_path / "answers.csv", index=False)
    code, text = check_files(policy_file, tmp_path if len(options) > 1 else tmp_path / "answers.csv", **options)
    assert (code, said in text) == (2, True)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"elicitation": "verbal"}, "the policy was tuned on elicitation vote, and these answers have verbal"),
        ({"model": "m2"}, "the policy was tuned on model m1, and these answers have m2"),
        ({"prompt": "p2"}, "the policy was tuned on prompt p1, and these answers have p2"),
        ({"calibration": ""}, "calibration is missing; it is needed to check a policy"),
        ({"calibration": "guess"}, "calibration must be "),
        ({"elicitation": "guess"}, "elicitation must be "),
    ],
)
@pytest.mark.parametrize(("ending", "row"), [("csv", "data row 20 (header not counted)"), ("jsonl", "row 20")])
def test_an_answer_that_the_policy_is_not_for_is_named_by_file_and_row(
    policy_file, tmp_path, change, said, ending, row
):
    answers = em(20, 0)
    for column, value in change.items():
        answers.loc[19, column] = value
    path = tmp_path / f"answers.{ending}"
    answers.to_csv(path, index=False) if ending == "csv" else answers.to_json(path, orient="records", lines=True)
    code, text = check_files(policy_file, path)
    assert (code, text.startswith(f"{path.name}, {row}: {said}")) == (2, True), text


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"date": datetime.date(2020, 1, 1)}, "the policy was to be reviewed by"),
        ({"date": datetime.date.today(), "gates": (Gate("caught", ("em",), target=0.999),)}, "the policy's verdict is"),
    ],
)
def test_a_policy_that_is_not_to_be_used_is_named_by_its_file(tmp_path, fields, said):
    save_policy(certified(**fields), tmp_path / "p.json")
    em(20, 0).to_csv(tmp_path / "answers.csv", index=False)
    code, text = check_files(tmp_path / "p.json", tmp_path / "answers.csv")
    assert (code, text.startswith(f"p.json: {said}")) == (2, True), text


def test_a_study_of_other_classes_is_named_with_the_item_and_the_label(policy_file):
    code, text = check_files(policy_file, SHIPPED / "plant")
    assert code == 2
    assert re.match(r"plant, item '[^']+': the label '[^']+' is not a class of the policy", text), text
