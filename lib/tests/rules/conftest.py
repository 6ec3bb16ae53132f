import json
from pathlib import Path

import pytest

from assay.rules import ContextRule, LabelClass, Question, Taxonomy

VECTORS = Path(__file__).parents[1] / "vectors"


@pytest.fixture(scope="session")
def plant_taxonomy() -> Taxonomy:
    """The taxonomy under which the safety vectors were made."""
    names = ("historical", "reference", "unclear", "procedural", "advisory")
    return Taxonomy(
        classes=tuple(LabelClass(name, rank) for rank, name in enumerate(names)),
        abstain="unclear",
        threshold_exempt=("procedural",),
        context=(ContextRule("historical", "time_expression"),),
    )


@pytest.fixture(scope="session")
def vectors():
    """Read a vector file by its stem."""

    def read(stem: str) -> list[dict]:
        with (VECTORS / f"{stem}.jsonl").open(encoding="utf-8") as lines:
            return [json.loads(line) for line in lines]

    return read


@pytest.fixture(scope="session")
def question_of():
    """Build a question from its entry in a vector line."""

    def build(case: dict) -> Question:
        if case["type"] == "choice":
            return Question.choice(case["instructions"], case["criteria"])
        if case["type"] == "score":
            return Question.score(case["instructions"], case["levels"])
        return Question.noul(case["instructions"])

    return build
