"""What notebook 00 shows: what was collected, what was written, and how much the confidence knows."""

import pytest

from assay.measure import hygiene_of
from assay.parameters import ParameterError, check
from assay.show import audit
from assay.show.hygiene import FEW, hygiene_findings
from assay.study import load_study


@pytest.fixture(scope="module")
def plant():
    return audit.open_answers(check("00_collect", {"study": "plant"}))


def test_every_answer_is_counted_and_what_is_not_recorded_is_not_nought(plant):
    table = audit.collected(plant).frame
    assert table["answers"].sum() == len(plant.study.answers)
    assert table["unreadable"].sum() == plant.study.answers["error"].notna().sum()
    trained = table[table["series"].str.startswith("tfidf")].iloc[0]
    assert trained[["tokens in, mean", "cost, US$"]].isna().all()
    assert trained["no cost known"] == trained["answers"]
    assert trained["asked"] == "not recorded"


def test_the_written_confidence_stands_beside_the_token_one_with_what_each_knows(plant):
    words = str(audit.information(plant.series))
    assert words.count("the number it wrote is not shown to tell right from wrong") == 2
    assert words.count("the probability of its tokens tells right from wrong (AUROC 0.") == 2
    table = audit.information_table(plant.series).frame.set_index("series")["tells right from wrong"]
    assert table[[name for name in table.index if name.endswith("verbal")]].tolist() == ["no", "no"]


def test_confidences_copied_from_the_examples_of_the_prompt_are_told(plant):
    examples = audit.example_confidences(plant.whole)
    assert {"brief", "traps"} <= set(examples)
    assert all(0 <= one <= 1 for each in examples.values() for one in each)
    # The variant whose examples state no confidence has none to copy.
    assert "label_only" not in examples
    looks = {one.name: one for one in hygiene_of(plant.series, examples)}
    copied = next(one for name, one in looks.items() if name.endswith("traps, verbal"))
    assert copied.constant_share is not None
    assert copied.constant_share > 0.5
    assert "stands in the examples of the prompt" in str(hygiene_findings([copied]))


def test_a_series_told_by_itself_is_named_once(plant):
    for look in hygiene_of(plant.series):
        assert str(hygiene_findings([look])).count(look.name) == 1


def test_many_series_are_told_together():
    study = load_study("ci_claims")
    opened = audit.open_answers(check("00_collect", {"study": "ci_claims"}))
    assert len(opened.series) > FEW
    words = hygiene_findings(hygiene_of(opened.series))
    assert len(words.paragraphs) <= 5
    lost = study.answers.groupby(["model", "prompt"])["error"].count()
    assert f"Some answers of {(lost > 0).sum()} of 15 series cannot be read" in str(words)
    assert f": {lost.max():,} of 1,130" in str(words)
    assert len(audit.information(opened.series).paragraphs) == 1


def test_answers_alike_are_not_ranked():
    opened = audit.open_answers(check("00_collect", {"study": "plant", "model": "tfidf_logistic"}))
    opened.series[0].answers["correct"] = True
    opened.series[0].answers["predicted"] = opened.series[0].answers["label"]
    assert "cannot be ranked, since its answers are all right or all wrong" in str(audit.information(opened.series))
    assert audit.information_table(opened.series).frame["tells right from wrong"].tolist() == ["not defined"]


def test_asking_needs_a_prompt():
    settings = check("00_collect", {"study": "plant", "ask": True, "model": "m"})
    with pytest.raises(ValueError, match="prompt must name a prompt"):
        audit.open_answers(settings)


def test_a_limit_is_a_whole_number_from_one():
    with pytest.raises(ParameterError, match="limit must be a whole number from 1"):
        check("00_collect", {"study": "plant", "limit": 0})
