"""Keys are kept out of whatever is written."""

import base64
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.keys import looks_like_key, without_keys

SECRET = "not-a-shape-but-secret-7"


@pytest.mark.parametrize(
    "text",
    [
        "sk-proj-abcdefgh1234",
        "ghp_abcdefghijklmnop1234",
        "AKIAABCDEFGHIJKLMNOP",
        "hf_abcdefghijklmnop1234",
        "eyJhbGciOiJIUzI1.eyJzdWIiOiIx.sig",
    ],
)
def test_well_known_shapes_are_blanked_wherever_they_stand(text: str) -> None:
    assert looks_like_key("note", text)
    assert without_keys(f"before '{text}' after", {}) == "before '[key removed]' after"


def test_the_value_of_a_secret_variable_is_blanked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_API_KEY", SECRET)
    assert without_keys(f"x {SECRET} y") == "x [key removed] y"
    assert looks_like_key("note", f"x{SECRET}")


def test_short_values_and_harmless_variables_are_left_alone() -> None:
    text = "seven letters abc"
    assert without_keys(text, {"A_TOKEN": "abc", "EDITOR": "letters-and-more", "SHELL": "letters"}) == text


def test_of_two_secrets_one_within_the_other_nothing_is_left() -> None:
    environment = {"A_KEY": "inner-secret", "B_TOKEN": "outer-inner-secret-end"}
    assert without_keys("outer-inner-secret-end", environment) == "[key removed]"


def test_the_home_folder_becomes_a_tilde(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    assert Path.home() == Path("/home/ada")
    assert without_keys("/home/ada/work and /home/adams", {}) == "~/work and /home/adams"


def test_encoded_pictures_are_left_whole() -> None:
    encoded = base64.b64encode(bytes(range(256)) * 3).decode() + "AKIAABCDEFGHIJKLMNOP"
    assert without_keys(encoded, {}) == encoded


@given(st.text(max_size=200))
def test_a_text_without_keys_comes_back_unchanged(text: str) -> None:
    clean = without_keys(text, {})
    assert without_keys(clean, {}) == clean


@given(st.text(max_size=30), st.text(max_size=30))
def test_a_secret_never_comes_through(before: str, after: str) -> None:
    assert SECRET not in without_keys(before + SECRET + after, {"X_SECRET": SECRET})


@pytest.mark.parametrize(
    "name", ["api_key", "OPENAI_API_KEY", "token", "hf.token", "client-secret", "password", "auth"]
)
def test_telling_names_are_enough(name: str) -> None:
    assert looks_like_key(name, "x")
    assert not looks_like_key(name, "")
    assert not looks_like_key(name, 5)


@pytest.mark.parametrize("name", ["max_tokens", "keyword", "monkey", "elicitation", "author"])
def test_names_that_only_sound_alike_are_not(name: str) -> None:
    assert not looks_like_key(name, "token")
