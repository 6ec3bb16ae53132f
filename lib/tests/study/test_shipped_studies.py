"""The studies that ship: what was published of them comes out, and their files are those that were recorded."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from assay.study import Study, check_manifest, load_study

DATA = Path(__file__).parents[3] / "data"
STUDIES = ("banking77", "ci_claims", "mmlu", "triage")


@pytest.fixture(scope="module")
def studies() -> dict[str, Study]:
    return {name: load_study(DATA / name) for name in STUDIES}


@pytest.mark.parametrize("name", STUDIES)
def test_every_file_has_the_recorded_sha256(name: str) -> None:
    assert check_manifest(DATA / name) == ()


@pytest.mark.parametrize("name", STUDIES)
def test_licence_and_data_card_ship_with_the_data(name: str) -> None:
    assert {"LICENSE", "README.md", "study.toml", "manifest.json"} <= {path.name for path in (DATA / name).iterdir()}
    assert all(path.stat().st_size < 3_000_000 for path in (DATA / name).rglob("*"))


@pytest.mark.parametrize("name", STUDIES)
def test_every_answer_stays_and_nothing_is_excluded_but_headings(name: str, studies: dict[str, Study]) -> None:
    study = studies[name]
    counts = {"banking77": (13_083, 26_166), "ci_claims": (113, 16_950), "mmlu": (2_886, 28_860), "triage": (90, 675)}
    assert (len(study.items), len(study.answers)) == counts[name]
    assert set(study.excluded["reason"]) <= {"annotation row without an item id"}


@pytest.mark.parametrize("name", STUDIES)
def test_one_tidy_frame_for_all_studies(name: str, studies: dict[str, Study]) -> None:
    answers = studies[name].answers
    unreadable = answers["error"].notna()
    assert (answers["predicted"].isna() == unreadable).all()
    assert (answers["confidence"].isna() == unreadable).all()
    assert (answers["correct"].isna() == unreadable).all()
    assert answers["confidence"].dropna().between(0, 1).all()
    known = {*studies[name].taxonomy.names, studies[name].taxonomy.abstain}
    assert set(answers["predicted"].dropna()) <= known
    assert set(answers["label"]) <= set(studies[name].taxonomy.names)
    assert not answers.duplicated(["item_id", "model", "prompt", "run", "elicitation"]).any()


def test_published_figures_of_ci_claims(studies: dict[str, Study]) -> None:
    answers = studies["ci_claims"].select(model="claude-haiku-4-5-20251001", prompt="L1").answers
    accepted = answers[answers["confidence"] >= 0.80]
    assert (len(answers), len(accepted), int(accepted["correct"].sum())) == (1_130, 642, 582)


def test_costs_of_ci_claims_are_those_of_the_file(studies: dict[str, Study]) -> None:
    raw = pd.read_parquet(DATA / "ci_claims/raw/answers.parquet")
    summed = studies["ci_claims"].answers.groupby("model")["cost_usd"].sum()
    assert summed.to_dict() == pytest.approx(raw.groupby("model")["cost_usd"].sum().to_dict())
    assert summed.sum() == pytest.approx(8.644492)


def test_unreadable_answers_of_ci_claims_are_counted_by_kind(studies: dict[str, Study]) -> None:
    errors = studies["ci_claims"].answers.groupby("model")["error"].value_counts()
    assert errors.to_dict() == {
        ("claude-haiku-4-5-20251001", "unknown_class"): 23,
        ("gpt-4o-mini-2024-07-18", "unknown_class"): 1_234,
    }


def test_both_annotators_of_ci_claims_labelled_every_claim(studies: dict[str, Study]) -> None:
    study = studies["ci_claims"]
    joined = study.annotations.merge(study.items, on="item_id")
    agree = (joined["label_x"] == joined["label_y"]).groupby(joined["annotator"]).sum()
    assert agree.to_dict() == {"annotator 1": 103, "annotator 2": 106}
    assert len(joined) == 226


def test_prompts_of_ci_claims_are_hashed_as_they_were_asked(studies: dict[str, Study]) -> None:
    recorded = json.loads((DATA / "ci_claims/manifest.json").read_text())
    assert studies["ci_claims"].prompt_sha256("L3") == recorded["prompts/prompt_L3.txt"]
    assert studies["ci_claims"].prompt_sha256("L9") is None


def test_triage_is_split_into_sets_and_months(studies: dict[str, Study]) -> None:
    study = studies["triage"]
    assert study.compare_within == "set"
    assert set(study.answers["prompt"]) == {"mar25", "jul25"}
    assert study.items.groupby("tag_set")["label"].value_counts().to_dict() == {
        ("kopka", "ne"): 30, ("kopka", "sc"): 13, ("kopka", "em"): 2,
        ("semigran", "em"): 15, ("semigran", "ne"): 15, ("semigran", "sc"): 15,
    }  # fmt: skip


def test_votes_of_triage_are_its_confidences_and_runner_ups(studies: dict[str, Study]) -> None:
    answers = studies["triage"].answers
    assert set(answers["confidence"]) == {0.6, 0.8, 1.0}
    refusal = answers[[bool(flags) for flags in answers["flags"]]]
    assert refusal["flags"].tolist() == [("unknown_alternative",)]
    assert refusal["alternatives"].tolist() == [{"em": 0.0, "sc": 0.0}]


@pytest.mark.parametrize("name", ["mmlu", "triage"])
def test_correctness_is_that_of_the_file(name: str, studies: dict[str, Study]) -> None:
    raw = pd.read_parquet(DATA / name / "raw/answers.parquet")
    assert (studies[name].answers["correct"].astype(bool) == raw["correct"]).all()


def test_mmlu_has_whole_probability_vectors_with_real_ties(studies: dict[str, Study]) -> None:
    answers = studies["mmlu"].answers
    sums = answers["confidence"] + answers["alternatives"].map(lambda others: sum(others.values()))
    np.testing.assert_allclose(sums, 1, atol=2e-6)
    assert int((answers["confidence"] == answers["alternatives"].map(lambda others: max(others.values()))).sum()) == 447
    assert studies["mmlu"].items["tag_subject"].nunique() == 16


def test_banking77_rescales_nothing_in_silence(studies: dict[str, Study]) -> None:
    answers = studies["banking77"].answers
    suspicious = answers[answers["flags"].map(lambda flags: "suspicious_scale" in flags)]
    assert suspicious["model"].value_counts().to_dict() == {"llama3.2:3b": 37}
    assert ((suspicious["confidence"] > 0) & (suspicious["confidence"] <= 0.01)).all()
    raw = pd.read_parquet(DATA / "banking77/raw/answers.parquet")
    np.testing.assert_array_equal(answers["confidence"], raw["confidence_raw"].astype(float) / 100)


def test_zeros_of_banking77_are_what_they_are(studies: dict[str, Study]) -> None:
    answers = studies["banking77"].answers
    zeros = answers[answers["confidence"] == 0].groupby("model")
    assert zeros.size().to_dict() == {"Qwen3-30B-A3B": 1_838, "llama3.2:3b": 1_966}
    assert zeros["correct"].mean().round(2).to_dict() == {"Qwen3-30B-A3B": 0.79, "llama3.2:3b": 0.37}
    small = studies["banking77"].select(model="llama3.2:3b").answers
    above, below = small[small["confidence"] > 0.99], small[small["confidence"] < 0.50]
    assert (round(above["correct"].mean(), 2), round(below["correct"].mean(), 2)) == (0.55, 0.62)


def test_gates_are_those_of_the_design(studies: dict[str, Study]) -> None:
    gates = {name: [str(gate) for gate in study.taxonomy.gates] for name, study in studies.items()}
    assert gates == {
        "banking77": ["accepted accuracy at least 0.8"],
        "ci_claims": ["accepted accuracy at least 0.9"],
        "mmlu": ["accepted accuracy at least 0.75"],
        "triage": ["caught of em at least 0.95"],
    }
    assert studies["triage"].taxonomy.ranks == {"sc": 0, "ne": 1, "em": 2}
