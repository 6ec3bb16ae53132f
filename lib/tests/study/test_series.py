"""Finding the series that a person means."""

import pandas as pd
import pytest

from assay.study import Study, StudyError, find_series


@pytest.fixture(scope="module")
def study() -> Study:
    rows = [("m1", "p1"), ("m1", "p2"), ("m2", "p1"), ("lone", "p3")]
    frame = pd.DataFrame(rows, columns=["model", "prompt"]).assign(
        item_id="1", label="a", predicted="a", confidence=0.5
    )
    return Study.from_frame(frame)


@pytest.mark.parametrize("name", ["m1, p2", "m1,p2", " p2 , m1 ", "p2", "m1, p2, verbal", "m1, p2, language_model"])
def test_as_much_as_tells_a_series_apart_names_it(study, name):
    found = find_series(study, name)
    assert (found.model, found.prompt) == ("m1", "p2")


def test_a_model_with_one_series_is_named_by_itself(study):
    assert find_series(study, "lone").prompt == "p3"


def test_a_name_that_means_several_is_refused_with_those_it_means(study):
    with pytest.raises(StudyError, match=r"2 series that are meant by 'm1': m1, p1; m1, p2; say which") as refused:
        find_series(study, "m1")
    assert refused.value.kind == "unknown_value"


@pytest.mark.parametrize("name", ["m3", "m1, p3", "", "m1, p1, token"])
def test_a_name_that_means_none_is_refused_with_those_there_are(study, name):
    with pytest.raises(StudyError, match=r"has no series .*there are: lone, p3"):
        find_series(study, name)
