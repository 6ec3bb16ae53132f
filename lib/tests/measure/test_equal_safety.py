import numpy as np
import pandas as pd
import pytest

from assay.measure.comparison import compare
from assay.measure.equal_safety import equal_safety
from assay.rules import Gate, LabelClass, Taxonomy
from assay.study import Study

ITEMS = 2000


def study(**accepted: float) -> Study:
    """Variants that are right 97 times of 100 when sure of it, and sure of a share of the items; else like a coin."""
    rng = np.random.default_rng(0)
    label = rng.choice(["x", "y"], ITEMS)
    parts = []
    for name, share in accepted.items():
        sure = rng.random(ITEMS) < share
        hit = rng.random(ITEMS) < np.where(sure, 0.97, 0.5)
        predicted = np.where(hit, label, np.where(label == "x", "y", "x"))
        parts.append(
            pd.DataFrame(
                {"item_id": [f"q{i}" for i in range(ITEMS)], "label": label, "predicted": predicted, "prompt": name}
            ).assign(confidence=np.where(sure, 0.9, 0.6), model="m")
        )
    taxonomy = Taxonomy((LabelClass("x"), LabelClass("y")), "ask", gates=(Gate("accepted_accuracy", (), 0.90),))
    return Study.from_frame(pd.concat(parts, ignore_index=True), taxonomy=taxonomy)


def of(whole: Study):
    return equal_safety(whole, compare(whole, metrics=["accuracy"]))


def test_the_variant_that_is_sure_more_often_may_act_on_more():
    safety = of(study(bold=0.6, shy=0.4))
    assert [one.certificate.passed for one in safety.variants] == [True, True]
    (found,) = safety.differences
    assert (found.a, found.b) == ("bold", "shy")
    assert found.low < 0.2 < found.high
    coverages = [one.certificate.coverage.estimate for one in safety.variants]
    assert found.difference == pytest.approx(coverages[0] - coverages[1])
    assert found.items == safety.variants[0].certificate.tested_items < ITEMS


def test_each_of_the_variants_compared_is_given_its_share_of_delta():
    safety = of(study(a=0.5, b=0.5, c=0.5))
    assert {one.certificate.choices for one in safety.variants} == {3}
    assert {one.certificate.gates[0].gate.delta for one in safety.variants} == {0.05 / 3}


def test_a_variant_without_a_certificate_is_in_no_difference():
    safety = of(study(sure=0.6, never=0.0))
    assert {one.name: one.certificate.passed for one in safety.variants} == {"never": False, "sure": True}
    assert safety.differences == ()


def test_without_a_gate_there_is_no_safety_to_be_equal():
    whole = study(a=0.5, b=0.5)
    bare = Study.from_frame(whole.answers, taxonomy=Taxonomy.of("x", "y", abstain="ask"))
    assert of(bare).variants == ()
