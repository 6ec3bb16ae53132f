"""Collecting: every ask once, whatever happens on the way, and nothing that came is lost."""

import asyncio
import json
import random
import signal
import sys
import time
from collections import Counter
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pandas as pd
import pytest
from assay_test_server import ScriptedServer, Step, completed, refused

from assay.ask import Ask, Patience, Sampling, Settings, connect
from assay.ask.collection import collect
from assay.ask.database import StoreError
from assay.ask.plan import make_asks, make_plan
from assay.ask.progress import is_watched, progress_bar
from assay.ask.store import Store
from assay.rules import Price, PriceSheet

ANSWER = completed('{"label": "advisory", "confidence": 0.8, "alternatives": {}}')
PROCESS = Path(__file__).with_name("collector_process.py")
QUICK = Settings(patience=Patience(timeout=2.0, tries=2, first_wait=0.01, longest_wait=0.5))
PRICES = PriceSheet({"m": Price(1_000_000, 2_000_000)})
ONE_ASK = Decimal(210 * 1_000_000 + 16 * 2_000_000) / 10**12
"""US dollars of one answer of the test server under `PRICES`."""


def items(count):
    return pd.DataFrame(
        {"item_id": [f"i{one}" for one in range(count)], "text": [f"text {one}" for one in range(count)]}
    )


def asked_text(request):
    return request.body["messages"][-1]["content"]


@pytest.fixture
def run(tmp_path, prompt, taxonomy):
    """Collect from a server that follows a script; return what was done and how often each text was asked."""

    def collected(script, *, count=5, asks=None, path=None, **options):
        async def once():
            async with ScriptedServer(script) as server:
                async with connect(base_url=server.url, environment={}) as connection:
                    with Store(path or tmp_path / "answers.sqlite") as store:
                        wanted = make_asks(items(count), [prompt], "m", settings=QUICK) if asks is None else asks
                        done = await collect(connection, store, wanted, taxonomy, **options)
                        kept = {row.key.item_id: row.completion for row in store.rows()}
                return done, Counter(map(asked_text, server.requests)), kept

        return asyncio.run(once())

    return collected


def test_every_item_is_asked_once_and_asked_again_nothing_is(run):
    done, asked, kept = run([ANSWER], count=30, concurrency=4)
    assert (done.asks, done.stored, done.asked, done.left, done.errors) == (30, 0, 30, 0, {})
    assert asked == Counter(items(30)["text"])
    assert len(kept) == 30
    again, asked, _ = run([ANSWER], count=30)
    assert (again.stored, again.asked, again.left) == (30, 0, 0)
    assert not asked


def test_no_more_asks_are_in_flight_than_allowed(run):
    in_flight, most = 0, 0

    def script(request):
        nonlocal in_flight, most
        in_flight += 1
        most = max(most, in_flight)
        asyncio.get_running_loop().call_later(0.03, lower)
        return Step(body=ANSWER.body, delay=0.04)

    def lower():
        nonlocal in_flight
        in_flight -= 1

    run(script, count=24, concurrency=3)
    assert most == 3


def test_what_fails_is_stored_by_kind_and_the_run_goes_on(run, prompt):
    script = {
        "text 0": refused(400, "content_filter"),
        "text 1": completed(None, refusal="no"),
        "text 2": completed('{"label": "adv', finish_reason="length"),
        "text 3": refused(500),
        "text 4": Step(hang=True),
        "text 5": Step(cut=True),
        "text 6": refused(404, "model_not_found"),
        "text 7": Step(body=b"<html>"),
    }
    patient = Settings(patience=Patience(timeout=0.4, tries=2, first_wait=0.01))
    done, _, kept = run(
        lambda request: script.get(asked_text(request), ANSWER),
        asks=make_asks(items(12), [prompt], "m", settings=patient),
    )
    kinds = ["filtered", "refused", "truncated", "server_error", "timed_out", "connection_failed", "unknown_model"]
    assert [kept[f"i{n}"].error for n in range(7)] == kinds
    assert kept["i7"].error == "unreadable_reply"
    assert all(kept[f"i{n}"].error is None for n in range(8, 12))
    assert (done.asked, done.left, sum(done.errors.values())) == (12, 0, 8)


def test_only_what_was_the_providers_fault_is_asked_again(run):
    faults = {"text 0": refused(500), "text 1": completed(None, refusal="no")}
    run(lambda request: faults.get(asked_text(request), ANSWER))
    done, asked, kept = run([ANSWER])
    assert asked == {"text 0": 1}
    assert (done.stored, done.asked) == (4, 1)
    assert (kept["i0"].error, kept["i1"].error) == (None, "refused")


def test_a_model_that_cannot_answer_is_given_up_and_another_is_not(run, prompt):
    asks = [
        *make_asks(items(40), [prompt], "gone", settings=QUICK),
        *make_asks(items(10), [prompt], "m", settings=QUICK),
    ]
    done, _, _ = run(
        lambda request: refused(404, "model_not_found") if request.body["model"] == "gone" else ANSWER,
        asks=asks,
        concurrency=2,
    )
    assert done.asked - done.errors["unknown_model"] == 10
    assert done.errors["unknown_model"] <= 3 + 2
    assert done.left == 40 - done.errors["unknown_model"]
    assert "gone was given up after 3 failures in a row (unknown_model)" in str(done)


def test_failures_among_answers_are_no_reason_to_give_up(run):
    script = lambda request: refused(404, "model_not_found") if int(asked_text(request)[5:]) % 2 else ANSWER  # noqa: E731
    done, _, _ = run(script, count=40, concurrency=1)
    assert (done.asked, done.errors, done.stopped) == (40, {"unknown_model": 20}, ())


def test_it_stops_at_a_number_of_asks(run):
    done, asked, _ = run([ANSWER], count=20, max_asks=7)
    assert (done.asked, done.left, sum(asked.values())) == (7, 13, 7)
    done, asked, _ = run([ANSWER], count=20, max_asks=0)
    assert (done.stored, done.asked, not asked) == (7, 0, True)
    assert "13 left; stopped at the limit of 0 asks" in str(done)


def test_it_never_spends_more_than_its_limit(run, prompt, taxonomy):
    done, _, kept = run([ANSWER], count=200, concurrency=16, max_cost_usd=ONE_ASK * 30, prices=PRICES)
    assert done.totals.total_usd <= ONE_ASK * 30
    assert 0 < len(kept) == done.asked < 200
    assert "left; stopped before the next ask could pass the limit of $" in str(done)
    # What an ask may cost is its completion at the limit, far above what it turns out to cost: none is sent that might.
    ceiling = Decimal(300 * 2_000_000) / 10**12
    assert done.totals.total_usd > ONE_ASK * 30 - ceiling - ONE_ASK


def test_a_limit_of_cost_needs_a_price(run):
    with pytest.raises(ValueError, match="max_cost_usd needs the price of every model; there is none for m"):
        run([ANSWER], max_cost_usd=1)
    for wrong in (-1, float("nan"), True):
        with pytest.raises(ValueError, match="max_cost_usd must be a number of US dollars of at least 0"):
            run([ANSWER], max_cost_usd=wrong, prices=PRICES)


@pytest.mark.parametrize("concurrency", [0, 1.5, True])
def test_a_concurrency_that_is_none_is_refused(run, concurrency):
    with pytest.raises(ValueError, match="concurrency must be a whole number of at least 1"):
        run([ANSWER], concurrency=concurrency)


def test_an_item_that_was_changed_stops_the_run_before_anything_is_sent(run, prompt):
    run([ANSWER])
    with pytest.raises(StoreError, match="item 'i0' was asked with another text"):
        run(
            [ANSWER],
            asks=[Ask("i0", "another text", prompt, "m", 0, QUICK), Ask("i9", "text 9", prompt, "m", 0, QUICK)],
        )


def test_a_plan_counts_what_is_left_and_keeps_an_unknown_price_unknown(run, tmp_path, prompt, taxonomy):
    run([ANSWER], count=5)
    asks = make_asks(items(8), [prompt], "m", settings=QUICK)
    with Store(tmp_path / "answers.sqlite") as store:
        plan = make_plan(store, asks + asks, taxonomy)
        assert (plan.asks, plan.stored, plan.new) == (8, 5, 3)
        # The recorded answers took 210 and 16 tokens each.
        assert (plan.totals.usage.prompt_tokens, plan.totals.usage.completion_tokens) == (630, 48)
        assert plan.totals.total_picousd is None
        assert "cost: unknown, there is no price for m" in str(plan)
        priced = make_plan(store, asks, taxonomy, prices=PRICES)
        assert priced.totals.total_usd == ONE_ASK * 3
        assert "3 calls with estimated tokens" in str(priced)


def test_a_plan_without_answers_estimates_by_length_and_the_limit_of_a_completion(tmp_path, prompt, taxonomy):
    with Store(tmp_path / "answers.sqlite") as store:
        plan = make_plan(store, make_asks(items(1), [prompt], "m"), taxonomy)
    sent = len(prompt.system) + sum(len(one.question) + len(one.reply) for one in prompt.examples) + len("text 0")
    assert plan.totals.usage.prompt_tokens == -(-sent // 4)
    assert plan.totals.usage.completion_tokens == prompt.sampling.max_tokens


def test_samples_and_repetitions_are_runs_of_their_own(prompt):
    thrice = replace(prompt, sampling=Sampling(temperature=0.7, n=3))
    assert [ask.run for ask in make_asks(items(1), [thrice], "m", run=2)] == [6, 7, 8]
    assert [ask.run for ask in make_asks(items(1), [prompt], "m", run=2)] == [2]
    with pytest.raises(ValueError, match="run must be a whole number of at least 0, got -1"):
        make_asks(items(1), [prompt], "m", run=-1)


def test_an_item_without_text_is_named(prompt):
    blank = pd.DataFrame({"item_id": ["i1", "i2"], "text": ["something", "  "]})
    with pytest.raises(ValueError, match="item 'i2' has no text"):
        make_asks(blank, [prompt], "m")


def test_a_store_that_fails_under_way_stops_the_run_and_keeps_what_it_has(run, tmp_path, monkeypatch):
    add = Store.add
    calls = []

    def full(self, rows):
        calls.append(len(rows))
        if len(calls) > 3:
            raise StoreError("the disk is full", misuse=False)
        return add(self, rows)

    monkeypatch.setattr(Store, "add", full)
    with pytest.raises(StoreError, match="the disk is full"):
        run([ANSWER], count=50, concurrency=2)
    monkeypatch.undo()
    done, asked, kept = run([ANSWER], count=50)
    assert done.stored == sum(calls[:3])
    assert (len(kept), sum(asked.values())) == (50, 50 - sum(calls[:3]))


def test_a_cancelled_collection_keeps_what_has_come(tmp_path, prompt, taxonomy):
    async def once():
        asks = make_asks(items(400), [prompt], "m", settings=QUICK)
        async with (
            ScriptedServer(lambda request: Step(body=ANSWER.body, delay=0.01)) as server,
            connect(base_url=server.url, environment={}) as connection,
        ):
            with Store(tmp_path / "answers.sqlite") as store:
                work = asyncio.create_task(collect(connection, store, asks, taxonomy, concurrency=4))
                while len(server.requests) < 60:
                    await asyncio.sleep(0.005)
                work.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await work
                return len(server.requests), store.count(), list(store.read("SELECT * FROM claims"))

    sent, kept, claims = asyncio.run(once())
    assert sent - 4 <= kept <= sent
    assert claims == []
    assert not list(tmp_path.glob("*.lock*"))


def test_a_bar_is_shown_where_somebody_watches(monkeypatch, capsys):
    with progress_bar(3, 1) as bar:
        bar.update(2)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    assert is_watched()
    with progress_bar(3, 1) as bar:
        bar.update(2)
    assert "1/3" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    for name in ("JPY_SESSION_NAME", "VSCODE_PID"):
        monkeypatch.delenv(name, raising=False)
    assert not is_watched(), "a notebook that is run in a batch has a kernel and nobody in front of it"
    monkeypatch.setenv("JPY_SESSION_NAME", "00_collect.ipynb")
    assert is_watched()


class Collectors:
    """Collector processes and the server that they ask, which knows what it was asked and what it sent back."""

    def __init__(self, folder, count, concurrency, delay):
        self.path = folder / "answers.sqlite"
        self.count, self.concurrency = count, concurrency
        self.asked = []
        self.draw = random.Random(count)
        self.delay = delay

    def script(self, request):
        self.asked.append(asked_text(request))
        body = json.loads(ANSWER.body)
        body["choices"][0]["message"]["content"] = json.dumps({"label": "a", "confidence": 0.5, "of": self.asked[-1]})
        return Step(body=json.dumps(body).encode(), delay=self.delay * self.draw.random())

    async def start(self, server):
        arguments = [str(PROCESS), server.url, str(self.path), str(self.count), str(self.concurrency)]
        return await asyncio.create_subprocess_exec(sys.executable, *arguments, stdout=asyncio.subprocess.PIPE)

    async def stop_at(self, server, requests, how, wait=0.0):
        """Start a collector and stop it once so many requests have come in."""
        process = await self.start(server)
        while len(self.asked) < requests and process.returncode is None:
            await asyncio.sleep(0.001)
        await asyncio.sleep(wait)
        process.send_signal(how)
        await process.communicate()
        return process.returncode

    async def finish(self, server):
        process = await self.start(server)
        out, _ = await process.communicate()
        assert process.returncode == 0
        return [int(one) for one in out.split()]

    def kept(self):
        """Read every row; the seal of each is checked, and its text is the answer to its item."""
        with Store(self.path) as store:
            rows = list(store.rows())
        for row in rows:
            assert json.loads(row.completion.text)["of"] == f"text {row.key.item_id[1:]}"
        return [row.key.item_id for row in rows]


async def killed_and_resumed(record_tried, folder, kills, draw, count=500, concurrency=8):
    """Kill a collection at random moments, resume it each time; return asks in flight at each kill."""
    run = Collectors(folder, count, concurrency, delay=0.03)
    lost, safe = [], []
    async with ScriptedServer(run.script) as server:
        for moment in sorted(draw.sample(range(1, count - 1), kills)):
            before = len(run.asked)
            await run.stop_at(server, max(moment, before + 1), signal.SIGKILL, wait=draw.random() * 0.03)
            kept = run.kept()
            assert len(kept) == len(set(kept)), "an item stands twice"
            asked = Counter(run.asked)
            assert {f"text {one[1:]}" for one in kept} <= set(asked)
            lost.append(len(asked) - len(kept))
            safe.append((len(run.asked), {f"text {one[1:]}" for one in kept}))
        await run.finish(server)
    kept = run.kept()
    gone = set().union(*(stored for _, stored in safe)) - {f"text {one[1:]}" for one in kept}
    record_tried("kills of a collection", kills, lost=len(gone))
    assert sorted(kept, key=lambda one: int(one[1:])) == [f"i{one}" for one in range(count)]
    again = len(run.asked) - count
    for place, stored in safe:
        assert not stored & set(run.asked[place:]), "what was stored was asked again"
    assert max(lost) <= 2 * concurrency, "answers that had come were not on their way to the disk"
    return lost, again


def test_a_collection_that_is_killed_twice_loses_only_what_was_in_flight(record_tried, tmp_path):
    asyncio.run(killed_and_resumed(record_tried, tmp_path, 2, random.Random(7), count=200))


@pytest.mark.long
def test_a_collection_of_500_that_is_killed_ten_times_loses_only_what_was_in_flight(record_tried, tmp_path):
    seed = random.SystemRandom().randrange(10**6)
    lost, again = asyncio.run(killed_and_resumed(record_tried, tmp_path, 10, random.Random(seed)))
    print(f"seed {seed}: in flight at the kills {lost}; asked again {again} of 500")


def test_ctrl_c_ends_a_collection_in_order(tmp_path):
    async def once():
        run = Collectors(tmp_path, 300, 8, delay=0.03)
        async with ScriptedServer(run.script) as server:
            code = await run.stop_at(server, 40, signal.SIGINT)
            asked = len(run.asked)
        return code, asked, len(run.kept())

    code, asked, kept = asyncio.run(once())
    assert code != 0
    assert asked - 8 <= kept <= asked
    assert not list(tmp_path.glob("*.lock*"))


def test_two_processes_share_one_store_without_asking_anything_twice(tmp_path):
    async def once():
        run = Collectors(tmp_path, 150, 4, delay=0.05)
        async with ScriptedServer(run.script) as server:
            both = await asyncio.gather(run.finish(server), run.finish(server))
        return run, both

    run, both = asyncio.run(once())
    assert Counter(run.asked) == Counter(f"text {one}" for one in range(150))
    assert len(run.kept()) == 150
    for asked, stored, elsewhere, left in both:
        assert (asked + stored + elsewhere, left) == (150, 0)


def test_what_a_killed_process_had_claimed_is_free_at_once(tmp_path):
    async def once():
        run = Collectors(tmp_path, 60, 8, delay=0.05)
        async with ScriptedServer(run.script) as server:
            await run.stop_at(server, 20, signal.SIGKILL)
            with Store(run.path) as store:
                claimed = len(list(store.read("SELECT * FROM claims")))
            started = time.monotonic()
            done = await run.finish(server)
        return claimed, done, time.monotonic() - started

    claimed, (asked, stored, elsewhere, left), seconds = asyncio.run(once())
    assert claimed > 0
    assert (asked + stored, elsewhere, left) == (60, 0, 0)
    assert seconds < 30
