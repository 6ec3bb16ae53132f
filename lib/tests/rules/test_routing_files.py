"""A routing policy and its evidence as the two files that a service loads."""

import json

import pytest

from assay.rules import (
    AgreementReport,
    Comparison,
    DocumentError,
    KindAgreement,
    RoutingPolicy,
    Side,
    Thresholds,
    evidence_path,
    load_routing,
    save_routing,
)

EVIDENCE = AgreementReport(Side("cheap-a"), Side("dear-b"), {"label": KindAgreement((Comparison(0.9, 0.8, True),))})
POLICY = RoutingPolicy("measured", thresholds={"cheap-a": Thresholds("classifier", 0.8)}, evidence=EVIDENCE.digest())


def test_policy_and_evidence_come_back_as_they_were_written(tmp_path):
    save_routing(POLICY, EVIDENCE, tmp_path / "routing.json")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["routing.evidence.json", "routing.json"]
    policy, evidence = load_routing(tmp_path / "routing.json")
    assert policy == POLICY
    assert evidence.digest() == EVIDENCE.digest() == policy.evidence


def test_other_evidence_than_the_policy_names_is_not_written(tmp_path):
    other = AgreementReport(Side("cheap-a"), Side("dear-b"))
    with pytest.raises(ValueError, match=f"tuned on evidence {EVIDENCE.digest()}, got {other.digest()}"):
        save_routing(POLICY, other, tmp_path / "routing.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("routing.json", r"^routing\.json: policy\.mode is missing"),
        ("routing.evidence.json", r"^routing\.evidence\.json: evidence\.cheap is missing"),
    ],
)
def test_a_broken_file_is_named_with_the_field(tmp_path, broken, message):
    save_routing(POLICY, EVIDENCE, tmp_path / "routing.json")
    document = json.loads((tmp_path / broken).read_text())
    del document["mode" if broken == "routing.json" else "cheap"]
    (tmp_path / broken).write_text(json.dumps(document))
    with pytest.raises(DocumentError, match=message):
        load_routing(tmp_path / "routing.json")


def test_a_policy_without_its_evidence_beside_it_is_refused(tmp_path):
    save_routing(POLICY, EVIDENCE, tmp_path / "routing.json")
    evidence_path(tmp_path / "routing.json").unlink()
    with pytest.raises(DocumentError, match=r"routing\.evidence\.json: cannot be read"):
        load_routing(tmp_path / "routing.json")
