import pytest

from assay.measure.metrics import ACCURACY, BRIER, COST, find_metrics, metrics_of
from assay.rules import Gate, LabelClass, Taxonomy

TAXONOMY = Taxonomy((LabelClass("em"), LabelClass("sc")), "ask", gates=(Gate("caught", ("em",)),))
KNOWN = metrics_of(TAXONOMY)


def test_class_metrics_are_those_of_gated_classes():
    assert {metric.of for metric in KNOWN} == {"", "em"}
    assert not any(metric.of for metric in metrics_of(None))


@pytest.mark.parametrize(
    ("name", "metric"), [("accuracy", ACCURACY), ("Brier_score", BRIER), ("brier", BRIER), ("COST", COST)]
)
def test_a_metric_goes_by_its_name_or_a_short_one(name, metric):
    assert find_metrics(name, KNOWN, "primary") == (metric,)


def test_several_keep_their_order():
    assert [one.name for one in find_metrics(["caught em", "accuracy"], KNOWN, "primary")] == ["caught em", "accuracy"]


def test_a_misspelt_name_is_answered_with_the_nearest():
    with pytest.raises(ValueError, match="primary: no metric is called 'acuracy'; did you mean 'accuracy'"):
        find_metrics("acuracy", KNOWN, "primary")


def test_a_class_without_a_gate_has_no_metric():
    with pytest.raises(ValueError, match="no metric is called 'caught xx'"):
        find_metrics("caught xx", metrics_of(None), "primary")


@pytest.mark.parametrize("names", [[], ["accuracy", "ACCURACY"]])
def test_none_and_twice_the_same_are_refused(names):
    with pytest.raises(ValueError, match="primary must name at least one metric and none twice"):
        find_metrics(names, KNOWN, "primary")
