import dataclasses
import datetime
import json
import subprocess
import sys

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.rules.gate_result import GateResult
from assay.rules.policy import Policy, PolicyError, PolicyRefused, load_policy, policy_schema, save_policy
from assay.rules.recalibration import RecalibrationMap
from assay.rules.safety import Classification, apply_safety_rules
from assay.rules.sealed import seal
from assay.rules.taxonomy import ContextRule, Gate, LabelClass, Taxonomy

TODAY = datetime.date(2026, 3, 1)
TAXONOMY = Taxonomy(
    classes=(LabelClass("sc", 0, "stay at home"), LabelClass("ne", 1), LabelClass("em", 2)),
    abstain="unsure",
    threshold_exempt=("em",),
    never_loosen=True,
    context=(ContextRule("sc", "age"),),
    gates=(Gate("caught", ("em",)), Gate("accepted_accuracy", (), 0.9)),
)
GATES = (
    GateResult("caught", "em", 0.95, 0.05, 100, 100, 0.9704, 1.0, "pass"),
    GateResult("accepted_accuracy", None, 0.9, 0.05, 290, 300, 0.944, 0.981, "pass"),
)
PLATT = RecalibrationMap("platt", {"slope": 0.8, "intercept": -0.4}, "language_model", "vote", 0.2, 1.0, 150)

SAID = Classification("ne", 0.8, {"em": 0.75})


def policy(**fields):
    usual = {
        "taxonomy": TAXONOMY,
        "calibration": "language_model",
        "elicitation": "vote",
        "model": "m1",
        "prompt": "p1",
        "prompt_sha256": "a" * 64,
        "data_sha256": "d" * 64,
        "threshold": 0.6,
        "tie_margin": 0.1,
        "gates": GATES,
        "verdict": "pass",
        "seed": 3,
        "date": TODAY,
        "review_by": TODAY + datetime.timedelta(days=90),
        "package_version": "0.1.0",
    }
    return Policy(**{**usual, **fields})


def document(**fields):
    """The content of a policy file without its digests."""
    content = json.loads(policy(**fields).to_json())
    return {name: value for name, value in content.items() if name not in ("digests", "digest")}


def decide(one, **given):
    return one.decide(SAID, **{"calibration": "language_model", "today": TODAY, **given})


# What comes back is what was written.


@settings(max_examples=25, deadline=None)
@given(
    st.floats(0, 1),
    st.floats(0, 1),
    st.sampled_from([None, PLATT]),
    st.none() | st.text(st.characters(exclude_categories=["Cs"]), min_size=1),
    st.integers(-(2**63), 2**63),
)
def test_a_policy_comes_back_as_it_was_written(threshold, tie_margin, recalibration, model, seed):
    written = policy(threshold=threshold, tie_margin=tie_margin, recalibration=recalibration, model=model, seed=seed)
    text = written.to_json()
    assert Policy.from_json(text) == written
    assert Policy.from_json(text).to_json() == text
    jsonschema.validate(json.loads(text), policy_schema())


def test_a_file_comes_back_as_it_was_saved_and_leaves_nothing_beside_it(tmp_path):
    save_policy(policy(), tmp_path / "policy.json")
    assert load_policy(tmp_path / "policy.json") == policy()
    assert [path.name for path in tmp_path.iterdir()] == ["policy.json"]


def test_a_policy_that_cannot_be_written_leaves_the_old_one(tmp_path):
    path = tmp_path / "policy.json"
    save_policy(policy(), path)
    broken = policy()
    object.__setattr__(broken, "threshold", float("nan"))
    with pytest.raises(ValueError, match="not JSON compliant"):
        save_policy(broken, path)
    assert load_policy(path) == policy()
    assert len(list(tmp_path.iterdir())) == 1


def test_a_write_that_fails_leaves_nothing_beside_it(tmp_path):
    (tmp_path / "policy.json").mkdir()
    with pytest.raises(OSError, match=r"policy\.json"):
        save_policy(policy(), tmp_path / "policy.json")
    assert [path.name for path in tmp_path.iterdir()] == ["policy.json"]


# What it decides is what the rules decide.


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(TAXONOMY.names),
    st.floats(0, 1),
    st.dictionaries(st.sampled_from(TAXONOMY.names), st.floats(0, 1)),
    st.sampled_from([(), ("age",)]),
)
def test_a_policy_decides_by_the_safety_rules(label, confidence, alternatives, missing):
    said = Classification(label, confidence, alternatives, missing)
    expected = apply_safety_rules(said, taxonomy=TAXONOMY, threshold=0.6, tie_margin=0.1)
    assert policy().decide(said, calibration="language_model", today=TODAY) == expected


def test_a_recalibration_map_comes_before_the_threshold_and_the_margin():
    said = Classification("ne", 0.7, {"em": 0.55})
    recalibrated = Classification("ne", PLATT.apply(0.7), {"em": PLATT.apply(0.55)})
    with_map = policy(recalibration=PLATT)
    assert with_map.recalibrated(said) == recalibrated
    decision = with_map.decide(said, calibration="language_model", today=TODAY)
    assert decision.label == "unsure"  # 0.7 becomes 0.569, below the threshold of 0.6
    assert policy().decide(said, calibration="language_model", today=TODAY).label == "ne"


# What it refuses.


@pytest.mark.parametrize("kind", ["calibration", "elicitation"])
def test_another_calibration_or_elicitation_is_refused_and_both_are_named(kind):
    other, own = {"calibration": ("classifier", "language_model"), "elicitation": ("verbal", "vote")}[kind]
    with pytest.raises(PolicyRefused, match=f"{kind} {own}, and these answers have {other}") as refused:
        decide(policy(), **{kind: other})
    assert refused.value.kind == kind
    with pytest.raises(ValueError, match=f"allow may name .*, got '{kind}'"):
        decide(policy(), **{kind: other}, allow=(kind,))


@pytest.mark.parametrize(
    ("kind", "fields", "given"),
    [
        ("model", {}, {"model": "m2"}),
        ("prompt", {}, {"prompt_sha256": "b" * 64}),
        ("expired", {}, {"today": TODAY + datetime.timedelta(days=91)}),
        ("fail", {"verdict": "fail"}, {}),
        ("undecided", {"verdict": "undecided"}, {}),
    ],
)
def test_what_may_be_allowed_by_name_is_refused_otherwise(kind, fields, given):
    one = policy(**fields)
    with pytest.raises(PolicyRefused) as refused:
        decide(one, **given)
    assert refused.value.kind == kind
    for other in {"model", "prompt", "expired", "fail", "undecided"} - {kind}:
        with pytest.raises(PolicyRefused):
            decide(one, **given, allow=(other,))
    assert decide(one, **given, allow=(kind,)).label == "em"


def test_what_either_side_leaves_open_is_not_compared():
    assert decide(policy()).label == "em"
    open_policy = policy(elicitation=None, model=None, prompt_sha256=None)
    assert decide(open_policy, elicitation="verbal", model="m2", prompt_sha256="b" * 64).label == "em"


def test_the_last_day_for_review_is_still_in_time():
    assert decide(policy(), today=TODAY + datetime.timedelta(days=90)).label == "em"


def test_a_bare_string_is_no_collection_of_allowances():
    with pytest.raises(ValueError, match=r"allow must be a collection of names, such as \('model',\)"):
        decide(policy(), allow="model")


# What is wrong with a file is named.


@pytest.mark.parametrize("name", sorted(json.loads(policy().to_json())))
def test_a_missing_field_is_named(name):
    content = json.loads(policy().to_json())
    del content[name]
    with pytest.raises(PolicyError, match=rf"policy\.{name} is missing|policy\.digests must hold"):
        Policy.from_json(json.dumps(content))


CHANGES = {
    "threshold": 0.55,
    "tie_margin": 0.2,
    "verdict": "undecided",
    "review_by": "2036-03-01",
    "calibration": "classifier",
    "elicitation": None,
    "model": "m2",
    "prompt_sha256": "b" * 64,
    "data_sha256": None,
    "seed": 4,
    "package_version": "9",
    "recalibration": PLATT.to_dict(),
    "gates": [],
}


@pytest.mark.parametrize("name", sorted(CHANGES))
def test_a_field_changed_after_writing_is_named(name):
    content = json.loads(policy().to_json())
    content[name] = CHANGES[name]
    with pytest.raises(PolicyError, match=rf"policy\.{name} was changed"):
        Policy.from_json(json.dumps(content))


def test_a_change_deep_in_the_taxonomy_is_named():
    content = json.loads(policy().to_json())
    content["taxonomy"]["taxonomy"]["class"][0]["rank"] = 9
    with pytest.raises(PolicyError, match=r"policy\.taxonomy was changed"):
        Policy.from_json(json.dumps(content))


def test_a_field_with_its_digest_from_another_policy_is_found():
    content, other = (json.loads(policy(threshold=value).to_json()) for value in (0.6, 0.3))
    content["threshold"], content["digests"]["threshold"] = other["threshold"], other["digests"]["threshold"]
    with pytest.raises(PolicyError, match=r"policy\.digest is not that of the file's content"):
        Policy.from_json(json.dumps(content))


def test_a_taxonomy_under_the_hash_of_another_is_refused():
    content = document()
    content["taxonomy_sha256"] = "0" * 64
    with pytest.raises(PolicyError, match=r"policy\.taxonomy_sha256 is not that of policy\.taxonomy"):
        Policy.from_json(seal(content))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99])
def test_a_truncated_file_is_refused_and_the_field_it_breaks_off_in_is_named(record_tried, share):
    text = policy().to_json()
    cut = text[: int(len(text) * share)]
    fields = [name for name in json.loads(text) if f'\n  "{name}":' in cut]
    where = rf"it breaks off in policy\.{fields[-1]}" if fields else "it breaks off before the first field"
    with pytest.raises(PolicyError, match=where):
        Policy.from_json(cut)
    record_tried("policy files torn or changed at some byte", 1)


@settings(max_examples=200)
@given(st.floats(0, 1, exclude_max=True), st.integers(1, 127))
def test_a_policy_changed_at_any_byte_is_refused_or_means_the_same(record_tried, place, flip):
    content = bytearray(policy(recalibration=PLATT).to_json().encode())
    content[int(place * len(content))] ^= flip
    try:
        read = Policy.from_json(content.decode())
    except PolicyError:
        read = None
    wrong = read not in (None, policy(recalibration=PLATT))
    record_tried("policy files torn or changed at some byte", 1, lost=int(wrong))
    assert not wrong


INVALID = [
    ("threshold", 1.2, r"policy\.threshold must be a number in \[0, 1\], got 1\.2"),
    ("threshold", True, r"policy\.threshold must be a number in \[0, 1\]"),
    ("threshold", "0.5", r"policy\.threshold must be a number in \[0, 1\]"),
    ("tie_margin", -0.1, r"policy\.tie_margin must be a number in \[0, 1\]"),
    ("tie_margin", None, r"policy\.tie_margin must be a number in \[0, 1\]"),
    ("calibration", "oracle", r"policy\.calibration must be one of classifier, language_model"),
    ("elicitation", "guess", r"policy\.elicitation must be one of verbal, token, vote"),
    ("model", 4, r"policy\.model must be a string or null"),
    ("prompt_sha256", "abc", r"policy\.prompt_sha256 must be 64 hex digits"),
    ("seed", 1.5, r"policy\.seed must be a whole number, got 1\.5"),
    ("seed", True, r"policy\.seed must be a whole number, got True"),
    ("date", "yesterday", r"policy\.date must be a day such as 2026-03-31"),
    ("review_by", "2025-01-01", r"policy\.review_by 2025-01-01 must not lie before date 2026-03-01"),
    ("verdict", "certified", r"policy\.verdict must be one of pass, fail, undecided"),
    ("gates", {}, r"policy\.gates must be an array of objects"),
    ("gates", [], r"policy\.verdict is pass, but the gates do not all pass"),
    ("taxonomy", [], r"policy\.taxonomy must be an object"),
    ("taxonomy", {"taxonomy": {"abstain": "unsure"}}, r"policy\.taxonomy: taxonomy\.class: missing"),
    ("recalibration", {"kind": "magic"}, r"policy\.recalibration\.kind must be one of"),
    ("version", 2, r"policy\.version must be 1, got 2"),
    ("format", "assay-routing-policy", r"policy\.format must be 'assay-policy'"),
]


@pytest.mark.parametrize(("name", "value", "message"), INVALID)
def test_an_invalid_field_is_named_even_if_it_was_sealed(name, value, message):
    content = document()
    content[name] = value
    with pytest.raises(PolicyError, match=message):
        Policy.from_json(seal(content))


GATE_FAULTS = [
    ({"metric": "luck"}, "gate metric must be one of"),
    ({"class": "xx"}, r"policy\.gates\[0\]\.class 'xx' is not a class"),
    ({"target": 1.0}, "target must lie strictly between 0 and 1"),
    ({"successes": 101}, r"successes must lie between 0 and trials \(100\), got 101"),
    ({"trials": 2.5}, r"policy\.gates\[0\]\.trials must be a whole number"),
    ({"lower": 0.94}, r"verdict is pass, but lower 0\.94 does not reach target 0\.95"),
    ({"verdict": "fail"}, r"verdict is fail, but upper 1\.0 is not below target 0\.95"),
    ({"successes": 0}, r"lower 0\.9704 and upper 1\.0 must enclose 0 successes of 100"),
    ({"lower": 0.99, "upper": 0.98}, "0 <= lower <= upper <= 1"),
    ({"extra": 1}, r"policy\.gates\[0\]: unknown field 'extra'"),
]


@pytest.mark.parametrize(("change", "message"), GATE_FAULTS)
def test_an_invalid_gate_is_named_even_if_it_was_sealed(change, message):
    content = document()
    content["gates"][0].update(change)
    with pytest.raises(PolicyError, match=message):
        Policy.from_json(seal(content))


def test_an_unknown_field_is_named_with_the_nearest():
    content = document()
    content["threshhold"] = 0.5
    with pytest.raises(PolicyError, match=r"unknown field 'threshhold' .did you mean 'threshold'"):
        Policy.from_json(seal(content))


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity", "1e999"])
def test_numbers_that_json_does_not_have_are_refused(constant):
    text = policy().to_json().replace('"threshold": 0.6', f'"threshold": {constant}')
    with pytest.raises(PolicyError, match=rf"policy\.\S*threshold: (the number )?{constant} is (not JSON|too large)"):
        Policy.from_json(text)


def test_a_field_given_twice_is_refused():
    text = policy().to_json().replace('"threshold": 0.6', '"threshold": 0.6, "threshold": 0.1')
    with pytest.raises(PolicyError, match="'threshold' is given twice"):
        Policy.from_json(text)


@pytest.mark.parametrize("text", ["", "[]", "null", '"policy"', "{", "[" * 100_000])
def test_what_is_no_json_object_is_refused(text):
    with pytest.raises(PolicyError, match="policy"):
        Policy.from_json(text)


def test_what_the_schema_refuses_is_refused_by_the_reader():
    schema = jsonschema.Draft202012Validator(policy_schema())
    jsonschema.Draft202012Validator.check_schema(policy_schema())
    changes = [{name: value} for name, value, _ in INVALID] + [
        {"gates": [{**document()["gates"][0], **one}]} for one, _ in GATE_FAULTS
    ]
    refused = 0
    for change in changes:
        text = seal({**document(), **change})
        if not schema.is_valid(json.loads(text)):
            refused += 1
            with pytest.raises(PolicyError):
                Policy.from_json(text)
    assert refused > len(changes) / 2


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"threshold": float("nan")}, r"policy\.threshold must be a number in \[0, 1\], got nan"),
        (
            {"calibration": "classifier", "elicitation": None, "recalibration": PLATT},
            r"policy\.recalibration: .*classifier",
        ),
        ({"gates": (dataclasses.replace(GATES[0], verdict="undecided"),)}, r"policy\.verdict is pass, but the gates"),
    ],
)
def test_a_contradictory_policy_cannot_be_made(fields, message):
    with pytest.raises(PolicyError, match=message):
        policy(**fields)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(PolicyError, match=r"none\.json: cannot be read"):
        load_policy(tmp_path / "none.json")
    (tmp_path / "latin.json").write_bytes(b"\xe9")
    with pytest.raises(PolicyError, match=r"latin\.json: not UTF-8 text \(byte 1\)"):
        load_policy(tmp_path / "latin.json")
    (tmp_path / "empty.json").write_text("")
    with pytest.raises(PolicyError, match=r"empty\.json: policy is not JSON"):
        load_policy(tmp_path / "empty.json")


def test_a_policy_is_loaded_and_applied_with_the_standard_library_alone(tmp_path):
    save_policy(policy(recalibration=PLATT), tmp_path / "policy.json")
    code = (
        "import sys, datetime; from assay.rules.policy import load_policy; from assay.rules.safety import Classification;"
        f"p = load_policy({str(tmp_path / 'policy.json')!r});"
        "print(p.decide(Classification('em', 0.9), calibration='language_model', today=datetime.date(2026, 3, 1)).label);"
        "foreign = {name.split('.')[0] for name in sys.modules} - set(sys.stdlib_module_names) - {'assay'};"
        "print(sorted(name for name in foreign if not name.startswith('_')))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    label, foreign = run.stdout.splitlines()
    assert label == "em"
    assert "numpy" not in foreign
    assert "pandas" not in foreign
    assert "scipy" not in foreign
