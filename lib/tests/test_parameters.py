"""What notebooks may be told, and how a refusal reads."""

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.parameters import (
    ParameterError,
    check,
    check_against_literals,
    literals,
    read_text,
)
from assay.settings import NOTEBOOKS

HASH = "9f86d081884c7d659a2feaa0c55ad015"


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_a_study_is_all_that_must_be_given(notebook: str) -> None:
    settings = check(notebook, {"study": "triage"})
    assert settings.study == "triage"
    assert settings.model is None


@pytest.mark.parametrize("notebook", NOTEBOOKS)
def test_every_setting_says_what_is_allowed(notebook: str) -> None:
    assert all(field.description for field in NOTEBOOKS[notebook].model_fields.values())


def test_an_unknown_name_is_refused_with_the_nearest_known_one() -> None:
    with pytest.raises(ParameterError, match=r"unknown parameter 'studdy' for 20_thresholds; did you mean study\?"):
        check("20_thresholds", {"studdy": "triage"})


def test_an_unknown_name_like_no_other_is_refused_with_all_known_ones() -> None:
    with pytest.raises(ParameterError, match=r"unknown parameter 'zzz' for 10_calibrate; it has study, model, "):
        check("10_calibrate", {"study": "triage", "zzz": 1})


def test_a_missing_study_is_named() -> None:
    with pytest.raises(ParameterError, match="study is missing; it must be the name of a study"):
        check("20_thresholds", {})


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("tie_margin", "oops", "tie_margin must be a number from 0 to 1, or None to have it tuned, got 'oops'"),
        ("tie_margin", 1.5, "tie_margin must be a number from 0 to 1, .* got 1.5"),
        ("tie_margin", True, "tie_margin must be a number from 0 to 1, .* got True"),
        ("tie_margin", float("nan"), "tie_margin must be a number from 0 to 1, .* got nan"),
        ("threshold", -1e-9, "threshold must be a number from 0 to 1, .* got -1e-09"),
        ("tie_margin", float("inf"), "tie_margin must be a number from 0 to 1, .* got inf"),
        ("delta", float("nan"), "delta must be a number above 0 and below 1, .* got nan"),
        ("delta", 0, "delta must be a number above 0 and below 1, .* got 0"),
        ("delta", 1, "delta must be a number above 0 and below 1, .* got 1"),
        ("grid", 10, "grid must be a whole number from 11 to 1001, got 10"),
        ("grid", 101.0, "grid must be a whole number from 11 to 1001, got 101.0"),
        ("study", 7, "study must be the name of a study or the path of its folder, got 7"),
        ("study", "", "study must be the name of a study or the path of its folder, got ''"),
        ("part", "half", "part must be all, tuning or certification, got 'half'"),
        ("calibration", "verbal", "calibration must be classifier, language_model or None, got 'verbal'"),
        ("elicitation", "written", "elicitation must be verbal, token, vote or None, got 'written'"),
        ("tags", "semigran", "tags must be \"\" or name=value pairs between commas, got 'semigran'"),
        ("seed", -1, "seed must be a whole number from 0, .* got -1"),
    ],
)
def test_a_value_that_is_not_allowed_is_named_with_what_is(name: str, value: object, message: str) -> None:
    with pytest.raises(ParameterError, match=message):
        check("20_thresholds", {"study": "triage", name: value})


def test_a_value_of_a_foreign_type_is_named_by_its_type_alone() -> None:
    with pytest.raises(ParameterError, match=r"calibration must be .* or None, got a value of type module$"):
        check("20_thresholds", {"study": "triage", "calibration": string})


def test_several_faults_are_told_in_one_line() -> None:
    with pytest.raises(ParameterError) as error:
        check("20_thresholds", {"study": "triage", "grid": 0, "part": ""})
    assert str(error.value).count(" must be ") == 2
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("value", [0, 0.0, 1, 1.0, 0.5])
def test_both_ends_of_a_range_are_in_it(value: float) -> None:
    assert check("20_thresholds", {"study": "t", "threshold": value}).model_dump()["threshold"] == value


def test_an_empty_text_for_an_optional_name_means_none() -> None:
    assert check("10_calibrate", {"study": "t", "model": "", "calibration": ""}).model is None


def test_tags_become_a_selection() -> None:
    assert check("10_calibrate", {"study": "t", "tags": "set=semigran, ward = a b"}).selection == {
        "set": "semigran",
        "ward": "a b",
    }
    assert check("10_calibrate", {"study": "t"}).selection == {}


def test_what_chooses_a_prompt_sees_the_tuning_part_unless_told_otherwise() -> None:
    assert check("30_prompts", {"study": "t"}).part == "tuning"
    assert check("20_thresholds", {"study": "t"}).part == "all"


def test_floors_are_given_as_text_or_as_a_list_and_put_in_order() -> None:
    text = check("40_routing", {"study": "t", "confidence_floors": "0.9, 0.5"})
    listed = check("40_routing", {"study": "t", "confidence_floors": [0.9, 0.5]})
    assert text.confidence_floors == listed.confidence_floors == [0.5, 0.9]
    assert check("40_routing", {"study": "t"}).confidence_floors == []
    for wrong in ("0.9, 0.9", "1.1", "high", "nan", [-0.1]):
        with pytest.raises(ParameterError, match="margin_floors must be numbers from 0 to 1"):
            check("40_routing", {"study": "t", "margin_floors": wrong})


def test_primary_metrics_are_given_as_text_or_as_a_list() -> None:
    text = check("30_prompts", {"study": "t", "primary": "accuracy, brier"})
    listed = check("30_prompts", {"study": "t", "primary": ["accuracy", "brier"]})
    assert text == listed
    with pytest.raises(ParameterError, match="primary must be the name of a metric"):
        check("30_prompts", {"study": "t", "primary": "accuracy,accuracy"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("api_key", "anything"),
        ("token", "x1"),
        ("db_password", "x1"),
        ("model", "sk-test-EXAMPLE-0000"),
        ("model", "Bearer abcdefgh12345"),
        ("model", HASH),
        ("record", "https://user:pass@host/x"),
        ("primary", ["accuracy", "sk-test-EXAMPLE-0000"]),
    ],
)
def test_what_looks_like_a_key_is_refused_and_not_repeated(name: str, value: object) -> None:
    with pytest.raises(ParameterError, match="looks like a key and was refused; set keys in the environment") as error:
        check("30_prompts", {"study": "t", name: value})
    assert str(value if isinstance(value, str) else value[-1]) not in str(error.value)  # type: ignore[index]


def test_a_key_typed_as_a_name_is_not_repeated() -> None:
    with pytest.raises(ParameterError) as error:
        check("30_prompts", {"study": "t", "sk-test-EXAMPLE-0000": "x"})
    assert "EXAMPLE" not in str(error.value)


@pytest.mark.parametrize(
    "model",
    [
        "claude-haiku-4-5-20251001",
        "meta-llama/Llama-3.2-3B-Instruct-Turbo-20250101",
        "llama3.2:3b",
        "Qwen3-30B-A3B-Instruct-2507-FP8-dynamic-long-name",
        "gpt-oss-120b",
    ],
)
def test_names_of_models_do_not_look_like_keys(model: str) -> None:
    assert check("10_calibrate", {"study": "t", "model": model}).model == model


@given(st.text(string.ascii_letters + string.digits, min_size=40, max_size=60).filter(lambda t: len(set(t)) > 20))
def test_long_random_letters_and_digits_look_like_a_key(value: str) -> None:
    if value.isalpha():
        value += "7"
    with pytest.raises(ParameterError):
        check("10_calibrate", {"study": "t", "model": value})


@given(
    st.dictionaries(
        st.sampled_from(list(NOTEBOOKS["20_thresholds"].model_fields)),
        st.one_of(
            st.none(),
            st.booleans(),
            st.integers(),
            st.floats(),
            st.text(max_size=8),
            st.lists(st.integers(), max_size=2),
        ),
    )
)
def test_any_values_give_settings_or_the_one_error(values: dict[str, object]) -> None:
    try:
        study = check("20_thresholds", values).study
    except ParameterError as error:
        study, message = None, str(error)
    assert study == values["study"] if study else "\n" not in message


def test_text_typed_for_a_text_parameter_stays_text() -> None:
    assert read_text("20_thresholds", "study", "1") == "1"
    assert read_text("20_thresholds", "study", "None") == "None"
    assert read_text("20_thresholds", "model", "None") is None
    assert read_text("20_thresholds", "model", "3.0") == "3.0"


@pytest.mark.parametrize(
    ("text", "value"), [("0.1", 0.1), ("1", 1), ("None", None), ("true", True), ("oops", "oops"), ("nan", "nan")]
)
def test_text_typed_for_a_number_is_read_as_one_if_it_is_one(text: str, value: object) -> None:
    read = read_text("20_thresholds", "tie_margin", text)
    assert read == value
    assert type(read) is type(value)


def test_literals_of_a_cell_are_read_without_running_it() -> None:
    source = 'a = 1\nb: float = -2.5\nc = open("/nowhere")\nd, e = 1, 2\nf = ["x", {"y": None}]\n'
    assert literals(source) == {"a": 1, "b": -2.5, "c": ..., "f": ["x", {"y": None}]}


def test_a_parameters_cell_that_is_not_python_is_refused() -> None:
    with pytest.raises(ParameterError, match="not valid Python"):
        literals("a = = 1")


@pytest.mark.parametrize(
    ("given_value", "fault"),
    [
        ({"share": "half"}, "share must be a number, got 'half'"),
        ({"count": 1.5}, "count must be a whole number, got 1.5"),
        ({"count": True}, "count must be a whole number, got True"),
        ({"name": 3}, "name must be text, got 3"),
        ({"shar": 1.0}, "unknown parameter 'shar' for mine; did you mean share?"),
    ],
)
def test_a_notebook_without_a_model_is_held_to_the_types_of_its_literals(
    given_value: dict[str, object], fault: str
) -> None:
    declared = {"share": 0.5, "count": 3, "name": "x", "free": None}
    with pytest.raises(ParameterError, match=fault):
        check_against_literals(given_value, declared, "mine")


def test_a_whole_number_may_replace_a_decimal_one_and_anything_may_replace_none() -> None:
    declared = {"share": 0.5, "free": None, "computed": ...}
    effective = check_against_literals({"share": 1, "free": "x", "computed": [1]}, declared, "mine")
    assert effective == {"share": 1, "free": "x", "computed": [1]}


def test_a_key_that_the_notebook_itself_holds_is_refused_too() -> None:
    with pytest.raises(ParameterError, match="looks like a key"):
        check_against_literals({}, {"api_key": "sk-test-EXAMPLE-0000"}, "mine")


def test_a_notebook_shows_the_one_message_instead_of_a_traceback() -> None:
    assert ParameterError("grid must be 11")._render_traceback_() == ["ParameterError: grid must be 11"]
