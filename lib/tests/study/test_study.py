"""A study in hand: selecting from it, its series, its parts, its first answers."""

from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.study import CERTIFICATION, Study, StudyError, load_study

DATA = Path(__file__).parents[3] / "data"


@pytest.fixture(scope="module")
def triage() -> Study:
    return load_study(DATA / "triage")


def test_a_selection_restricts_answers_and_the_items_they_answer(triage: Study) -> None:
    chosen = triage.select(model="medask", prompt="jul25", tags={"set": "semigran"})
    assert set(chosen.answers["model"]) == {"medask"}
    assert set(chosen.answers["item_id"]) == set(chosen.items["item_id"])
    assert (len(chosen.items), len(chosen.answers)) == (45, 45)
    assert len(triage.select(model="o3").items) == 45
    assert len(triage.answers) == 675


def test_several_values_may_be_selected_at_once(triage: Study) -> None:
    chosen = triage.select(model=["o1", "o3"], elicitation="vote", calibration="language_model")
    assert set(chosen.answers["model"]) == {"o1", "o3"}


def test_selecting_nothing_keeps_all(triage: Study) -> None:
    assert len(triage.select().answers) == 675


@pytest.mark.parametrize(
    ("wanted", "message"),
    [
        (
            {"model": "gpt-4"},
            r"triage has no answers with model 'gpt-4' \(did you mean 'gpt-4.5'\?\); there are: medask, ",
        ),
        ({"prompt": "may25"}, r"no answers with prompt 'may25'.*there are: jul25, mar25"),
        ({"elicitation": "verbal"}, r"no answers with elicitation 'verbal'; there are: vote"),
        ({"tags": {"set": "x"}}, r"no answers with set 'x'; there are: kopka, semigran"),
        ({"tags": {"sets": "kopka"}}, r"no tag 'sets' \(did you mean 'set'\?\); its tags are: set"),
        ({"model": "o3", "tags": {"set": "kopka"}}, r"no answer with model 'o3', set 'kopka'"),
        ({"part": "test"}, r"part must be one of tuning, certification, got 'test'"),
        ({"model": 3}, r"model must be text or a list of texts, got 3"),
    ],
)
def test_what_is_not_there_is_named_with_what_is(triage: Study, wanted: dict[str, object], message: str) -> None:
    with pytest.raises(StudyError, match=message) as caught:
        triage.select(**wanted)  # type: ignore[arg-type]
    assert caught.value.kind == "unknown_value"


def test_series_are_counted_apart(triage: Study) -> None:
    series = triage.series()
    assert len(series) == 10
    assert series["answers"].sum() == 675
    medask = series[(series["model"] == "medask") & (series["prompt"] == "mar25")]
    assert medask[["answers", "items", "runs", "unreadable"]].to_numpy().tolist() == [[90, 90, 1, 0]]


def test_a_selection_keeps_every_item_in_its_part(triage: Study) -> None:
    whole = triage.parts()
    for chosen in (triage.select(tags={"set": "semigran"}), triage.select(model="o3"), triage.first_answers()):
        assert chosen.parts().to_dict() == whole.loc[chosen.items["item_id"]].to_dict()


def test_the_parts_share_no_item(triage: Study) -> None:
    tuning, certification = triage.select(part="tuning"), triage.select(part="certification")
    assert not set(tuning.items["item_id"]) & set(certification.items["item_id"])
    assert len(tuning.items) + len(certification.items) == len(triage.items)
    assert set(certification.parts()) == {CERTIFICATION}


def test_another_seed_splits_otherwise(triage: Study) -> None:
    other = triage.with_seed(triage.seed + 1)
    assert other.seed == triage.seed + 1
    assert other.parts().index.equals(triage.parts().index)
    assert (other.parts() != triage.parts()).any()


def test_a_selection_is_of_the_same_data(triage: Study) -> None:
    assert triage.select(model="o3").data_sha256 == triage.data_sha256


runs = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xy"), st.integers(1, 4)), min_size=1, unique=True)


@given(runs)
@settings(max_examples=25, deadline=None)
def test_the_first_answer_of_an_item_is_that_of_its_lowest_run(rows: list[tuple[str, str, int]]) -> None:
    frame = pd.DataFrame(rows, columns=["item_id", "model", "run"])
    # Every other answer is unreadable: it counts as its item's first all the same.
    frame = frame.assign(
        label="red", predicted="red", confidence=[0.5 if row % 2 else None for row in range(len(rows))]
    )
    first = Study.from_frame(frame).first_answers().answers
    expected = {(item, model): min(run for i, m, run in rows if (i, m) == (item, model)) for item, model, _ in rows}
    assert {(one.item_id, one.model): one.run for one in first.itertuples()} == expected
    assert len(first) == len(expected)
