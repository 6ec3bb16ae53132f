"""Servers that do not keep to the rules, or die: bounded in memory and time, and nothing lost that was acknowledged."""

import asyncio
import gzip
import json
import signal
import subprocess
import sys
from pathlib import Path

import assay_test_server
import pytest
from assay_test_server import ScriptedServer, Step, completed, reply

from assay.ask import Ask, Patience, Settings, ask_once, bounded, connect
from assay.ask.collection import collect
from assay.ask.plan import make_asks
from assay.ask.response import Completion
from assay.ask.store import Store, StoreError

ONCE = Settings(patience=Patience(timeout=20.0, tries=1))
ANSWER = completed('{"label": "advisory", "confidence": 0.8, "alternatives": {}}')


def asked(script, prompt, taxonomy, environment=None, key_variable=None, settings=ONCE):
    async def once():
        async with ScriptedServer(script) as server:
            given = {"environment": environment or {}, "key_variable": key_variable}
            async with connect(base_url=server.url, **given) as connection:
                return await ask_once(connection, Ask("i1", "Is it safe?", prompt, "m", 0, settings), taxonomy)

    return asyncio.run(once())


def test_a_reply_of_ten_megabytes_is_read_and_stored_whole(prompt, taxonomy, tmp_path, record_tried):
    text = '{"label": "advisory", "confidence": 0.8, "alternatives": {}, "why": "' + "x" * 10_000_000 + '"}'
    items = {"item_id": ["i1"], "text": ["Is it safe?"]}

    async def once():
        import pandas as pd

        async with ScriptedServer([completed(text)]) as server:
            with Store(tmp_path / "s.sqlite") as store:
                async with connect(base_url=server.url, environment={}) as connection:
                    asks = make_asks(pd.DataFrame(items), [prompt], "m", settings=ONCE)
                    await collect(connection, store, asks, taxonomy)
                return [row.completion.text for row in store.rows()]

    kept = asyncio.run(once())
    record_tried("servers that break the rules", 1, lost=int(kept != [text]))
    assert kept == [text]


@pytest.mark.parametrize("status", [200, 500])
def test_a_server_that_never_stops_sending_is_cut_off(status, prompt, taxonomy, monkeypatch, record_tried):
    monkeypatch.setattr(bounded, "MOST_BYTES", 2**20)
    # Read to its end it would be an answer.
    endless = Step(status, ANSWER.body + b" " * (16 * 2**20))
    got = asked([endless], prompt, taxonomy)
    record_tried("servers that break the rules", 1, lost=int(got.error != "unreadable_reply"))
    assert got.error == "unreadable_reply"


def test_a_small_reply_that_unpacks_to_a_large_one_is_cut_off(prompt, taxonomy, monkeypatch, record_tried):
    monkeypatch.setattr(bounded, "MOST_COMPRESSED", 10_000)
    packed = {"content-encoding": "gzip"}
    bomb = gzip.compress(ANSWER.body + b" " * (32 * 2**20))
    got = asked([Step(body=bomb, headers=packed)], prompt, taxonomy)
    record_tried("servers that break the rules", 1, lost=int(got.error != "unreadable_reply"))
    assert got.error == "unreadable_reply"
    honest = asked([Step(body=gzip.compress(ANSWER.body), headers=packed)], prompt, taxonomy)
    assert honest.error is None, "a server that compresses though it was asked not to is read all the same"


@pytest.mark.parametrize(
    ("step", "kind"),
    [
        (Step(body=ANSWER.body[:40], promised=len(ANSWER.body), cut=True), "connection_failed"),
        (Step(body=ANSWER.body[:40]), "unreadable_reply"),
        (Step(body=b" " * 100, pace=0.05), "timed_out"),
        (Step(body=ANSWER.body.replace(b"advisory", b"adv\xff\xfe")), "unreadable_reply"),
        (Step(body=b"<!doctype html><title>Sign in</title>", headers={"content-type": "text/html"}), "unreadable_reply"),
        (Step(body=b"HTTP/1.1 200 OK\r\n\r\n{}"), "unreadable_reply"),
        (Step(headers={"content-length": "-5"}, cut=True, body=b"x"), "connection_failed"),
        (Step(headers={"content-encoding": "gzip"}, body=b"not gzip"), "connection_failed"),
        (Step(307, headers={"location": "http://127.0.0.1:1/v1/chat/completions"}), "connection_failed"),
    ],
    ids=["half", "half-whole", "drip", "utf-8", "html", "nested", "length", "packed", "redirected"],
)  # fmt: skip
def test_what_is_no_reply_is_an_error_of_its_kind(step, kind, prompt, taxonomy, record_tried):
    got = asked([step], prompt, taxonomy, settings=Settings(patience=Patience(timeout=1.0, tries=1)))
    record_tried("servers that break the rules", 1, lost=int(got.error != kind))
    assert (got.error, got.text) == (kind, None)


def test_a_server_that_echoes_the_key_does_not_have_it_stored(prompt, taxonomy, tmp_path, record_tried):
    key = "canary-key-0123456789"

    def echo(request):
        said = request.headers["authorization"]
        choice = {"index": 0, "finish_reason": "stop", "message": {"content": f'{{"label": "{said}"}}'}}
        return Step(body=json.dumps({**reply(choice), "model": said}).encode())

    got = asked(echo, prompt, taxonomy, {"MY_KEY": key}, "MY_KEY")
    record_tried("searches for a key where none may be", 1, lost=int(key in repr(got)))
    assert isinstance(got, Completion)
    assert key not in repr(got)
    assert "[key removed]" in got.text


SERVER = """
import asyncio, sys
sys.path.insert(0, sys.argv[1])
from assay_test_server import ScriptedServer, completed
async def main():
    async with ScriptedServer([completed('{"label": "advisory", "confidence": 0.8, "alternatives": {}}')]) as server:
        print(server.url, flush=True)
        await asyncio.sleep(600)
asyncio.run(main())
"""


def test_a_server_that_is_killed_in_the_middle_loses_nothing_that_was_stored(prompt, taxonomy, tmp_path, record_tried):
    """A process of its own stands for a local model that dies; the test of the embedded one needs the extra."""
    import pandas as pd

    count = 400
    items = pd.DataFrame(
        {"item_id": [f"i{n}" for n in range(count)], "text": [f"What is P-{n}?" for n in range(count)]}
    )
    asks = make_asks(items, [prompt], "m", settings=Settings(patience=Patience(timeout=5, tries=2, first_wait=0.01)))

    def started():
        process = subprocess.Popen(
            [sys.executable, "-c", SERVER, str(Path(assay_test_server.__file__).parent)],
            stdout=subprocess.PIPE,
            text=True,
        )
        return process, process.stdout.readline().strip()

    async def once(store, process, url, kill_at=None):
        async with connect(base_url=url, environment={}) as connection:
            work = asyncio.create_task(collect(connection, store, asks, taxonomy, concurrency=4))
            while kill_at is not None and store.count() < kill_at:
                await asyncio.sleep(0.005)
            if kill_at is not None:
                process.send_signal(signal.SIGKILL)
            return await work

    with Store(tmp_path / "s.sqlite") as store:
        process, url = started()
        done = asyncio.run(once(store, process, url, kill_at=30))
        process.communicate()
        good = {row.key for row in store.rows() if row.completion.error is None}
        assert len(good) >= 30
        assert done.left > 0
        assert "m was given up after" in str(done)
        assert "connection_failed" in str(done)
        process, url = started()
        again = asyncio.run(once(store, process, url))
        process.kill()
        process.communicate()
        kept = {row.key for row in store.rows() if row.completion.error is None}
    record_tried("servers that died in the middle", 1, lost=len(good - kept))
    assert again.left == 0
    assert len(kept) == count


def test_a_log_torn_anywhere_gives_whole_transactions_from_the_first_on(tmp_path, prompt, record_tried):
    """What a killed process leaves beside the file: no row in it is half, and none is there without those before it."""

    from assay.ask.store import Stored

    path = tmp_path / "s.sqlite"
    ask = Ask("i0", "text", prompt, "m", 0, ONCE)
    store = Store(path)
    for number in range(12):
        rows = [
            Stored(
                ask.key._replace(item_id=f"i{number}", run=run), ask.text_hash, "2026-01-01", Completion(text="x" * 900)
            )
            for run in range(3)
        ]
        assert store.add(rows) == 3
    main, log = path.read_bytes(), Path(f"{path}-wal").read_bytes()
    store.close()
    wrong, places = 0, [int(len(log) * share / 40) for share in range(40)]
    for number, place in enumerate(places):
        torn = tmp_path / f"torn{number}.sqlite"
        torn.write_bytes(main)
        changed = log[:place] if number % 2 else log[:place] + bytes([log[place] ^ 255]) + log[place + 1 :]
        Path(f"{torn}-wal").write_bytes(changed)
        try:
            with Store(torn) as opened:
                found = [(row.key.item_id, row.key.run) for row in opened.rows()]
        except StoreError:
            continue
        transactions = len(found) // 3
        expected = {(f"i{one}", run) for one in range(transactions) for run in range(3)}
        wrong += set(found) != expected or len(found) != len(expected)
    record_tried("logs of a store torn or changed at some byte", len(places), lost=wrong)
    assert not wrong
