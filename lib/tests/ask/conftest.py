import asyncio
import json
import threading

import pytest
from assay_test_server import ScriptedServer
from repositories import PROMPT

from assay.ask import Example, PromptFile, Sampling
from assay.rules import ContextRule, LabelClass, Taxonomy

STUDY = """
title = "t"
source = "s"
licence = "l"
seed = 1
[taxonomy]
abstain = "unsure"
[[taxonomy.class]]
name = "a"
[[taxonomy.class]]
name = "b"
[contract]
kind = "classification"
[items]
file = "items.jsonl"
[[answers]]
file = "not-there-yet.parquet"
calibration = "language_model"
elicitation = "verbal"
[prompts]
good = "good.toml"
"""


@pytest.fixture(scope="session")
def taxonomy() -> Taxonomy:
    names = ("historical", "reference", "unclear", "procedural", "advisory")
    return Taxonomy(
        classes=tuple(LabelClass(name, rank, f"what {name} means") for rank, name in enumerate(names)),
        abstain="unclear",
        threshold_exempt=("procedural",),
        context=(ContextRule("historical", "time_expression"),),
    )


@pytest.fixture(scope="session")
def prompt() -> PromptFile:
    """A classification prompt with two examples."""
    return PromptFile(
        "small",
        "classification",
        "Label the question. Reply with JSON: label, confidence, alternatives.",
        (
            Example("What tripped last night?", '{"label": "historical", "confidence": 0.93, "alternatives": {}}'),
            Example(
                "Is it safe to run dry?", '{"label": "advisory", "confidence": 0.8, "alternatives": {"reference": 0.1}}'
            ),
        ),
        Sampling(),
    )


@pytest.fixture(scope="session")
def distribution_prompt() -> PromptFile:
    questions = {
        "class": {"kind": "choice", "instructions": "Which class is it?"},
        "urgent": {"kind": "noul", "instructions": "Is it urgent?"},
    }
    return PromptFile("typed", "distribution", "Answer the questions as JSON.", (), Sampling(), questions, "class")


@pytest.fixture
def small_study(tmp_path, monkeypatch):
    folder = tmp_path / "data" / "small"
    folder.mkdir(parents=True)
    (folder / "study.toml").write_text(STUDY)
    (folder / "good.toml").write_text(PROMPT)
    lines = [{"item_id": f"i{n}", "text": f"the text number {n} of this study", "label": "ab"[n % 2]} for n in range(6)]
    (folder / "items.jsonl").write_text("\n".join(map(json.dumps, lines)))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    return folder


@pytest.fixture
def threaded_server():
    """Start a scripted server in a thread of its own; give its address for a script."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    running = []

    def start(script):
        one = ScriptedServer(script)
        asyncio.run_coroutine_threadsafe(one.__aenter__(), loop).result()
        running.append(one)
        return one

    yield start
    for one in running:
        asyncio.run_coroutine_threadsafe(one.__aexit__(None, None, None), loop).result()
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
