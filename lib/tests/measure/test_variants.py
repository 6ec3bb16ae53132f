import pandas as pd
import pytest

from assay.measure.variants import split_variants, variant_columns


def answers(*series: tuple[str, ...], names=("model", "prompt"), items=("q1", "q2")) -> pd.DataFrame:
    rows = [dict(zip(names, one, strict=True)) | {"item_id": item, "correct": True} for one in series for item in items]
    return pd.DataFrame(rows)


def test_prompts_are_compared_where_a_model_has_several():
    assert variant_columns(answers(("m", "p"), ("m", "q"), ("n", "p"))) == ("prompt",)


def test_models_are_compared_where_each_has_one_prompt():
    assert variant_columns(answers(("m", "p"), ("n", "q"))) == ("model", "prompt")
    assert variant_columns(answers(("m", "p"), ("n", "p"))) == ("model",)


def test_one_series_is_a_variant_without_another():
    assert variant_columns(answers(("m", "p"))) == ("model",)


def test_a_frame_that_tells_no_variants_apart_is_refused():
    with pytest.raises(ValueError, match="no column tells variants apart"):
        variant_columns(pd.DataFrame({"item_id": ["q1"], "correct": [True]}))


def test_groups_are_named_by_what_tells_them_apart():
    frame = answers(("m", "p"), ("m", "q"), ("n", "p")).assign(calibration="language_model")
    variants, items = split_variants(frame, ("prompt",), ("model", "calibration"))
    assert [(one.group, one.name) for one in variants] == [("m", "p"), ("m", "q"), ("n", "p")]
    assert list(items) == ["q1", "q2"]
    assert [list(one.item) for one in variants] == [[0, 1]] * 3


def test_an_elicitation_names_a_group_without_its_calibration_which_it_implies():
    names = ("calibration", "elicitation", "prompt")
    series = [("language_model", "token"), ("language_model", "verbal"), ("classifier", "")]
    frame = answers(*((*one, prompt) for one in series for prompt in "pq"), names=names)
    variants, _ = split_variants(frame, ("prompt",), ("calibration", "elicitation"))
    assert [one.group for one in variants] == ["classifier"] * 2 + ["token"] * 2 + ["verbal"] * 2


def test_a_name_holds_no_more_than_it_needs():
    variants, _ = split_variants(answers(("m", "p"), ("n", "q")), ("model", "prompt"), ())
    assert [one.name for one in variants] == ["m", "n"]
    variants, _ = split_variants(answers(("m", "p"), ("m", "q"), ("n", "q")), ("model", "prompt"), ())
    assert [one.name for one in variants] == ["m, p", "m, q", "n, q"]


def test_variants_keep_their_own_rows_wherever_they_stand():
    frame = answers(("m", "p"), ("m", "q")).sample(frac=1, random_state=1)
    frame.loc[frame["prompt"] == "q", "correct"] = False
    variants, items = split_variants(frame, ("prompt",), ("model",))
    for one, right in zip(variants, (True, False), strict=True):
        assert (one.answers["correct"] == right).all()
        assert list(items[one.item]) == list(one.answers["item_id"])


def test_runs_of_an_item_are_no_repetition():
    frame = pd.concat([answers(("m", "p")).assign(run=run) for run in (1, 2)], ignore_index=True)
    (variant,), _ = split_variants(frame, ("prompt",), ("model",))
    assert variant.repeated


@pytest.mark.parametrize(("runs", "where"), [(True, "twice in run 3$"), (False, "twice; a column run tells")])
def test_an_item_answered_twice_is_refused_by_name(runs, where):
    frame = pd.concat([answers(("m", "p"), ("m", "q")), answers(("m", "q"), items=("q2",))], ignore_index=True)
    frame = frame.assign(run=3) if runs else frame
    with pytest.raises(ValueError, match=f"variant 'q' answers item 'q2' {where}"):
        split_variants(frame, ("prompt",), ("model",))


def test_a_missing_id_is_refused_by_row():
    frame = answers(("m", "p"))
    frame.loc[1, "item_id"] = None
    with pytest.raises(ValueError, match="item_id is missing in row 2"):
        split_variants(frame, ("prompt",), ())


@pytest.mark.parametrize(("variants", "within"), [(("nonsense",), ()), (("prompt",), ("nonsense",))])
def test_an_unknown_column_is_refused_naming_those_there_are(variants, within):
    with pytest.raises(ValueError, match="no column 'nonsense'; it has: model, prompt, item_id"):
        split_variants(answers(("m", "p")), variants, within)


def test_no_column_at_all_is_refused():
    with pytest.raises(ValueError, match="variants must name at least one column"):
        split_variants(answers(("m", "p")), (), ())
