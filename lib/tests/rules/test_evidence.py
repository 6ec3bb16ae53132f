import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.rules.answers import Answer, Calibration, Elicitation
from assay.rules.documents import DocumentError
from assay.rules.evidence import AgreementLog, AgreementReport, Comparison, KindAgreement, Side

NAN = math.nan
CHEAP, EXPENSIVE = Side("cheap-a"), Side("dear-b")

shares = st.one_of(st.just(NAN), st.integers(0, 100).map(lambda value: value / 100), st.floats(0, 1))
agreeing = st.builds(Comparison, confidence=shares, margin=shares, agreed=st.just(True), item=st.text(max_size=3))
disagreeing = st.builds(
    Comparison,
    confidence=shares,
    margin=shares,
    agreed=st.just(False),
    right=st.sampled_from([None, "cheap", "expensive", "neither"]),
    cheap=st.one_of(st.text(max_size=3), st.booleans(), st.floats(-9, 9), st.just(NAN)),
    expensive=st.one_of(st.text(max_size=3), st.booleans(), st.floats(-9, 9)),
)
kind_agreements = st.builds(
    KindAgreement,
    comparisons=st.lists(st.one_of(agreeing, disagreeing), max_size=8).map(tuple),
    errors=st.integers(0, 5),
)
sides = st.builds(
    Side,
    model=st.text(min_size=1, max_size=4),
    calibration=st.sampled_from([None, *Calibration]),
    elicitation=st.sampled_from([None, *Elicitation]),
    prompt=st.sampled_from([None, "L1"]),
)
reports = st.builds(
    AgreementReport,
    cheap=sides,
    expensive=sides,
    kinds=st.dictionaries(st.text(max_size=4), kind_agreements, max_size=3),
)


def choice(label: str, confidence: float = 0.9) -> Answer:
    return Answer("choice", label, confidence)


def document(**changes) -> dict:
    report = AgreementReport(CHEAP, EXPENSIVE, {"lang": KindAgreement((Comparison(0.9, 0.8, True),))})
    return json.loads(report.to_json()) | changes


@given(reports)
def test_a_report_comes_back_from_json_as_it_was(report):
    again = AgreementReport.from_json(report.to_json())
    assert again.to_json() == report.to_json()
    assert repr(again) == repr(AgreementReport(report.cheap, report.expensive, dict(sorted(report.kinds.items()))))


@given(reports)
def test_a_report_is_json_without_nan(report):
    def refuse(constant: str) -> None:
        raise AssertionError(constant)

    json.loads(report.to_json(), parse_constant=refuse)


@given(kind_agreements, shares, shares, shares, shares)
def test_higher_floors_never_count_more(kind, low, high, other_low, other_high):
    floors = [0.0 if math.isnan(one) else one for one in (low, high, other_low, other_high)]
    below = kind.agreement_at(min(floors[:2]), min(floors[2:]))
    above = kind.agreement_at(max(floors[:2]), max(floors[2:]))
    assert above.measured <= below.measured <= kind.overall.measured
    assert above.agreed <= below.agreed


@given(kind_agreements)
def test_a_floor_of_zero_still_leaves_out_what_is_not_a_number(kind):
    usable = [one for one in kind.comparisons if not math.isnan(one.confidence) and not math.isnan(one.margin)]
    assert kind.agreement_at(0.0, 0.0).measured == len(usable)


def test_a_confidence_of_exactly_the_floor_is_counted():
    kind = KindAgreement((Comparison(0.1 + 0.2, 0.3, True),))
    assert kind.agreement_at(0.3, 0.1 + 0.2).measured == 1
    assert kind.agreement_at(0.300000002).measured == 0


def test_a_rate_over_nothing_is_none():
    nothing = KindAgreement().agreement_at(0.5, 0.5)
    assert nothing.rate is None
    assert nothing.disagreement_rate is None


def test_a_rate_is_the_share_of_what_was_measured():
    kind = KindAgreement((Comparison(0.9, 0.8, True), Comparison(0.9, 0.8, False), Comparison(0.1, 0.8, False)))
    assert kind.agreement_at(0.5).rate == 0.5
    assert kind.overall.disagreement_rate == pytest.approx(2 / 3)


def test_counts_are_per_kind():
    log = AgreementLog(CHEAP, EXPENSIVE)
    log.record("lang", choice("en"), choice("en"))
    log.record("tone", choice("warm"), choice("cold"))
    counts = log.report().agreement_at(0.5)
    assert counts["lang"].rate == 1.0
    assert counts["tone"].rate == 0.0


def test_a_side_that_failed_is_an_error_and_in_no_rate():
    log = AgreementLog(CHEAP, EXPENSIVE)
    log.record("lang", None, choice("en"))
    log.record("lang", choice("en"), None)
    log.record("lang", choice("en"), choice("en"))
    kind = log.report().kinds["lang"]
    assert kind.errors == 2
    assert kind.overall.measured == 1
    assert kind.overall.rate == 1.0


def test_disagreements_are_graded_by_who_was_right():
    log = AgreementLog(CHEAP, EXPENSIVE)
    for truth in ("en", "fr", "de", None):
        log.record("lang", choice("en"), choice("fr"), truth=truth, item=f"item for {truth}")
    log.record("lang", choice("en"), choice("en"), truth="fr")
    kind = log.report().kinds["lang"]
    assert kind.graded == {"cheap": 1, "expensive": 1, "neither": 1}
    assert [one.right for one in kind.disagreements] == ["cheap", "expensive", "neither", None]
    assert [(one.cheap, one.expensive) for one in kind.disagreements] == [("en", "fr")] * 4
    assert kind.disagreements[0].item == "item for en"


def test_the_log_keeps_the_cheap_answers_confidence_and_margin():
    log = AgreementLog(CHEAP, EXPENSIVE)
    log.record("lang", Answer("choice", "en", 0.6, {"en": 0.6, "fr": 0.1}), choice("en", 0.99))
    (one,) = log.report().kinds["lang"].comparisons
    assert one.confidence == 0.6
    assert one.margin == pytest.approx(0.3)


def test_a_confidence_on_another_scale_is_kept_as_not_a_number():
    log = AgreementLog(CHEAP, EXPENSIVE)
    log.record("lang", choice("en", 85), choice("en"))
    assert math.isnan(log.report().kinds["lang"].comparisons[0].confidence)


def test_the_digest_tells_evidence_apart():
    one = AgreementReport(CHEAP, EXPENSIVE, {"lang": KindAgreement((Comparison(0.9, 0.8, True),))})
    same = AgreementReport.from_json(one.to_json())
    other = AgreementReport(CHEAP, EXPENSIVE, {"lang": KindAgreement((Comparison(0.9, 0.8, False),))})
    assert one.digest() == same.digest() != other.digest()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"format": "another"}, "evidence.format must be 'assay-agreement', got 'another'"),
        ({"version": 2}, "evidence.version must be 1, got 2"),
        ({"cheap": "cheap-a"}, "evidence.cheap must be an object, got a string"),
        ({"cheap": {"model": 3}}, "evidence.cheap.model must be a string, got 3"),
        ({"cheap": {"model": "a", "calibration": "x"}}, "evidence.cheap.calibration must be one of classifier"),
        ({"cheap": {"model": "a", "colour": 1}}, "evidence.cheap: unknown field 'colour'"),
        ({"kinds": []}, "evidence.kinds must be an object of objects, got an array"),
        ({"kindz": {}}, "evidence: unknown field 'kindz' (did you mean 'kinds'?)"),
        ({"kinds": {"q": {"comparisons": []}}}, "evidence.kinds.q.errors is missing"),
        ({"kinds": {"q": {"errors": -1, "comparisons": []}}}, "errors must be a whole number of at least 0, got -1"),
        ({"kinds": {"q": {"errors": True, "comparisons": []}}}, "errors must be a whole number"),
        ({"kinds": {"q": {"errors": 0, "comparisons": {}}}}, "comparisons must be an array of objects, got an object"),
    ],
)
def test_a_broken_report_is_refused_by_field(changes, message):
    with pytest.raises(DocumentError) as refused:
        AgreementReport.from_json(json.dumps(document(**changes)))
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("comparison", "message"),
    [
        ({"confidence": 1.5}, "comparisons[0].confidence must be a number in [0, 1] or null, got 1.5"),
        ({"margin": "0.5"}, "comparisons[0].margin must be a number in [0, 1] or null, got '0.5'"),
        ({"agreed": 1}, "comparisons[0].agreed must be true or false, got 1"),
        ({"right": "cheap"}, "comparisons[0].right must be one of cheap, expensive, neither, and only where agreed"),
        ({"agreed": False, "right": "both"}, "got 'both'"),
        ({"agreed": False, "cheap": []}, "comparisons[0].cheap must be a label, a number, true, false or null"),
        ({"marginn": 0.5}, "comparisons[0]: unknown field 'marginn' (did you mean 'margin'?)"),
    ],
)
def test_a_broken_comparison_is_refused_by_field(comparison, message):
    one = {"confidence": 0.9, "margin": 0.8, "agreed": True} | comparison
    text = json.dumps(document(kinds={"lang": {"errors": 0, "comparisons": [one]}}))
    with pytest.raises(DocumentError) as refused:
        AgreementReport.from_json(text)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "evidence is not JSON (line 1, column 1)"),
        ("[]", "evidence must be an object, got an array"),
        ('{"format": NaN}', "evidence.format: NaN is not JSON"),
        ('{"version": 1e999}', "evidence.version: the number 1e999 is too large"),
        ('{"kinds": [0, {"a": -1e999, "b": 1e999}]}', "evidence.kinds[1].a: the number -1e999 is too large"),
        ('{"version": -%s}' % ("9" * 400), "evidence.version: the number -9999999999999999999 is too large"),
        ("Infinity", "evidence: Infinity is not JSON"),
        ('{"format": "a", "format": "b"}', "evidence: field 'format' is given twice"),
        ("[" * 100_000, "evidence is not JSON"),
    ],
)
def test_a_text_that_is_no_report_is_refused(text, message):
    with pytest.raises(DocumentError) as refused:
        AgreementReport.from_json(text)
    assert message in str(refused.value)


@pytest.mark.parametrize("floor", [NAN, -0.1, 1.1, "0.5", True])
def test_a_floor_outside_the_unit_interval_is_refused(floor):
    with pytest.raises(ValueError, match=r"min_confidence must lie in \[0, 1\]"):
        KindAgreement().agreement_at(min_confidence=floor)


def test_a_comparison_out_of_range_is_refused():
    with pytest.raises(ValueError, match=r"confidence must lie in \[0, 1\] or be NaN, got 85"):
        Comparison(85, 0.5, True)
    with pytest.raises(ValueError, match="only for a disagreement"):
        Comparison(0.9, 0.5, True, right="cheap")
