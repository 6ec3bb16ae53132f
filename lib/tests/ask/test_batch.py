"""Batches: what is written, submitted once, polled, and taken in whatever order it comes."""

import asyncio
import json
import random
import re
import time
from dataclasses import replace
from urllib.parse import parse_qs, urlsplit

import pandas as pd
import pytest
from assay_test_server import ScriptedServer, Step, completed, refused, reply

from assay.__main__ import main
from assay.ask import Completion, batch_files, build_request, connect
from assay.ask.batch import BatchError, fetch, open_batches, poll, submit
from assay.ask.batch_files import custom_id, write_batches
from assay.ask.batch_results import ingest
from assay.ask.batches import batch_answers
from assay.ask.choosing import CommandError
from assay.ask.claims import Claims, claim_for_batch
from assay.ask.collection import collect
from assay.ask.database import StoreError
from assay.ask.plan import make_asks
from assay.ask.store import Store, Stored

ANSWER = '{"label": "advisory", "confidence": 0.8, "alternatives": {}}'


class Provider:
    """A provider of batches, as OpenAI's is: takes a file, makes a batch of it, gives files back."""

    def __init__(self):
        self.files, self.batches, self.uploads, self.pages = {}, [], 0, 0

    def __call__(self, request):
        path = request.path.removeprefix("/v1")
        if path == "/files":
            self.uploads += 1
            self.files[f"f{self.uploads}"] = request.raw
            return told({"id": f"f{self.uploads}", "object": "file", "bytes": 1, "created_at": 0, "filename": "x",
                         "purpose": "batch", "status": "processed"})  # fmt: skip
        if path.startswith("/files/"):
            return Step(body=self.files[path.split("/")[2]])
        if path == "/batches" and request.method == "POST":
            made = {"id": f"b{len(self.batches)}", "object": "batch", "endpoint": request.body["endpoint"],
                    "input_file_id": request.body["input_file_id"], "completion_window": "24h", "status": "validating",
                    "created_at": int(time.time()), "metadata": request.body["metadata"]}  # fmt: skip
            self.batches.append(made)
            return told(made)
        if path.startswith("/batches?"):
            return told(self.page(parse_qs(urlsplit(path).query)))
        return told(next(one for one in self.batches if one["id"] == path.split("/")[2]))

    def page(self, query):
        """List batches as OpenAI does: the newest first, so many from after the one that is named."""
        self.pages += 1
        newest = self.batches[::-1]
        after = query.get("after")
        start = 0 if after is None else 1 + [one["id"] for one in newest].index(after[0])
        stop = start + int(query["limit"][0])
        return {"object": "list", "data": newest[start:stop], "has_more": stop < len(newest)}

    def make_others(self, count, days=0.0):
        """Make batches of other files, so many days ago."""
        for _ in range(count):
            other = {**self.batches[0], "id": f"b{len(self.batches)}", "metadata": None, "status": "completed"}
            self.batches.append({**other, "created_at": int(time.time() - days * 86_400)})

    def end(self, state, output=(), errors=()):
        """Let the last batch end with these lines."""
        self.files |= {"out": b"\n".join(output), "err": b"\n".join(errors)}
        self.batches[-1] |= {"status": state, "output_file_id": "out" if output else None,
                             "error_file_id": "err" if errors else None,
                             "request_counts": {"completed": len(output), "failed": len(errors), "total": 5}}  # fmt: skip


def told(body):
    return Step(body=json.dumps(body).encode())


def result(ask, content=ANSWER, status=200, error=None):
    return result_of(custom_id(ask), content, status, error)


def result_of(name, content=ANSWER, status=200, error=None):
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
    body = reply(choice) if error is None else {"error": error}
    line = {"id": "r", "custom_id": name, "response": {"status_code": status, "body": body}, "error": None}
    return json.dumps(line).encode()


@pytest.fixture
def asks(prompt):
    items = pd.DataFrame({"item_id": [f"i{n}" for n in range(5)], "text": [f"text {n} é\u2028" for n in range(5)]})
    return make_asks(items, [prompt], "m")


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "answers.sqlite") as opened:
        yield opened


def with_server(script, work):
    async def once():
        async with ScriptedServer(script) as server, connect(base_url=server.url, environment={}) as connection:
            return await work(connection)

    return asyncio.run(once())


def written(store, asks, taxonomy, folder):
    return write_batches(store, asks, taxonomy, folder)


def test_the_file_holds_each_request_as_it_would_be_sent(store, asks, taxonomy, tmp_path):
    (path,) = written(store, asks, taxonomy, tmp_path / "batches")
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    assert [line["body"] for line in lines] == [build_request(ask, taxonomy) for ask in asks]
    assert {(line["method"], line["url"]) for line in lines} == {("POST", "/v1/chat/completions")}
    assert len({line["custom_id"] for line in lines}) == 5


def test_what_is_stored_or_waits_already_is_not_written(store, asks, taxonomy, tmp_path):
    store.add([Stored(asks[0].key, asks[0].text_hash, "2026", Completion(text=ANSWER))])
    claim_for_batch(store, [asks[1].key], "b")
    (path,) = written(store, asks, taxonomy, tmp_path)
    assert [json.loads(line)["custom_id"] for line in path.read_bytes().splitlines()] == [
        custom_id(ask) for ask in asks[2:]
    ]


def test_what_a_killed_collection_was_asking_is_written_and_what_a_living_one_asks_is_not(
    store, asks, taxonomy, tmp_path
):
    with store.transaction() as cursor:
        cursor.execute("INSERT INTO claims VALUES (?, ?, ?, ?, ?, 'gone')", asks[0].key)
    with Claims(store) as living:
        living.take([asks[1].key], ())
        (path,) = written(store, asks, taxonomy, tmp_path)
    names = {json.loads(line)["custom_id"] for line in path.read_bytes().splitlines()}
    assert names == {custom_id(ask) for ask in (asks[0], *asks[2:])}


def test_files_are_cut_at_what_a_provider_takes(store, asks, taxonomy, tmp_path, monkeypatch):
    monkeypatch.setattr(batch_files, "MOST_REQUESTS", 2)
    assert [len(path.read_bytes().splitlines()) for path in written(store, asks, taxonomy, tmp_path)] == [2, 2, 1]
    monkeypatch.setattr(batch_files, "MOST_BYTES", 10)
    assert len(written(store, asks, taxonomy, tmp_path)) == 5


def test_a_batch_is_of_one_model(store, asks, taxonomy, tmp_path):
    with pytest.raises(ValueError, match="a batch asks one model, got m, n"):
        written(store, [asks[0], replace(asks[1], model="n")], taxonomy, tmp_path)


def test_a_place_that_cannot_be_written_is_named(store, asks, taxonomy, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be written"):
        written(store, asks, taxonomy, tmp_path / "file")


def test_results_are_taken_in_any_order_and_what_is_missing_is_free_again(store, asks, taxonomy, tmp_path):
    provider = Provider()
    draw = random.Random(3)

    async def work(connection):
        (path,) = write_batches(store, asks, taxonomy, tmp_path)
        batch = await submit(connection, store, path, asks)
        assert open_batches(store) == [batch]
        state = await poll(connection, batch)
        assert (state.state, state.ended) == ("validating", False)
        with pytest.raises(BatchError, match="has not ended: it is validating"):
            await fetch(connection, batch)
        output = [result(asks[0]), result(asks[1], content=""), result(asks[2], "no JSON"), b'{"no": 1}', b"}{"]
        output += [result(replace(asks[0], item_id="stranger")), result(asks[0], "the second result of one ask")]
        first, *others = output
        draw.shuffle(others)
        failed = [result(asks[3], status=429, error={"code": "x", "message": "private words"})]
        provider.end("expired", [first, *others], failed)
        state = await poll(connection, batch)
        assert (state.ended, state.done, state.failed) == (True, 7, 1)
        return batch, await fetch(connection, batch)

    batch, lines = with_server(provider, work)
    taken = ingest(store, batch, lines, asks)
    assert (taken.stored, taken.errors) == (4, {"empty": 1, "rate_limited": 1})
    assert (taken.missing, taken.unknown, taken.unreadable) == (("i4",), 1, 2)
    assert "of 1 nothing came, the first is item 'i4'" in str(taken)
    assert "private words" not in str(taken)
    assert store.get(asks[0].key).completion.text == ANSWER
    assert open_batches(store) == []
    (path,) = written(store, asks, taxonomy, tmp_path)
    again = {json.loads(line)["custom_id"] for line in path.read_bytes().splitlines()}
    assert again == {custom_id(asks[3]), custom_id(asks[4])}


def test_a_provider_that_sends_the_key_back_does_not_have_it_stored(store, asks):
    key = "sk-test-EXAMPLE-0000-not-a-real-key"
    assert ingest(store, "b", [result(asks[0], f"the key is {key}")], asks, key=key).stored == 1
    assert store.get(asks[0].key).completion.text == "the key is [key removed]"


def test_ingesting_twice_changes_nothing(store, asks):
    lines = [result(ask) for ask in asks]
    assert ingest(store, "b", lines, asks).stored == 5
    before = list(store.rows())
    again = ingest(store, "b", reversed(lines), asks)
    assert (again.stored, again.known) == (0, 5)
    assert list(store.rows()) == before


def test_a_failure_of_a_later_batch_takes_the_place_of_an_earlier_one_and_of_no_answer(store, asks):
    ingest(store, "b0", [result(asks[0], status=429, error={"code": "x"}), result(asks[1])], asks)
    later = [result(ask, status=429, error={"code": "insufficient_quota"}) for ask in asks[:2]]
    taken = ingest(store, "b1", later, asks)
    assert (taken.stored, taken.known, taken.errors) == (1, 1, {"quota_exhausted": 1})
    assert [store.get(ask.key).completion.error for ask in asks[:2]] == ["quota_exhausted", None]


def test_a_file_is_submitted_once_even_if_nobody_noted_that_it_was(store, asks, taxonomy, tmp_path):
    provider = Provider()

    async def work(connection):
        (path,) = write_batches(store, asks, taxonomy, tmp_path)
        first = await submit(connection, store, path, asks)
        with store.transaction() as cursor:
            cursor.execute("DELETE FROM batches")
            cursor.execute("DELETE FROM claims")
        assert await submit(connection, store, path, asks) == first
        provider.end("completed")
        assert ingest(store, first, [], asks).missing == tuple(ask.item_id for ask in asks)
        return first, await submit(connection, store, path, asks)

    first, second = with_server(provider, work)
    assert (first, second, provider.uploads) == ("b0", "b1", 2)


def submitted_and_forgotten(provider, store, asks, taxonomy, folder, meanwhile):
    """Submit a file, forget that it was, and submit it again after something has happened; return both ids."""

    async def work(connection):
        (path,) = write_batches(store, asks, taxonomy, folder)
        first = await submit(connection, store, path, asks)
        with store.transaction() as cursor:
            cursor.execute("DELETE FROM batches")
            cursor.execute("DELETE FROM claims")
        meanwhile()
        return first, await asyncio.wait_for(submit(connection, store, path, asks), 20)

    return with_server(provider, work)


@pytest.mark.parametrize("others", [99, 100, 350])
def test_a_submission_is_found_behind_however_many_of_today(others, store, asks, taxonomy, tmp_path):
    provider = Provider()
    found = submitted_and_forgotten(
        provider, store, asks, taxonomy, tmp_path, lambda: provider.make_others(others, days=0.5)
    )
    assert (found, provider.uploads) == (("b0", "b0"), 1)


def test_batches_whose_results_no_provider_keeps_are_not_gone_through(store, asks, taxonomy, tmp_path):
    provider = Provider()

    def meanwhile():
        provider.batches[0]["created_at"] -= 40 * 86_400
        provider.make_others(500, days=33)
        provider.make_others(150, days=1)
        provider.pages = 0

    first, second = submitted_and_forgotten(provider, store, asks, taxonomy, tmp_path, meanwhile)
    assert (first != second, provider.uploads) == (True, 2)
    # Two pages hold batches of yesterday; the third holds none that could still be of use.
    assert provider.pages == 3


def test_a_provider_that_gives_the_same_page_for_ever_is_asked_no_more(store, asks, taxonomy, tmp_path):
    provider = Provider()

    def meanwhile():
        provider.batches.pop()
        provider.batches.append({**told_batch, "id": "other", "metadata": None})
        provider.page = lambda _: {"object": "list", "data": provider.batches[:1], "has_more": True}

    told_batch = {"id": "b", "object": "batch", "endpoint": "e", "input_file_id": "f", "completion_window": "24h",
                  "status": "validating", "created_at": int(time.time())}  # fmt: skip
    first, second = submitted_and_forgotten(provider, store, asks, taxonomy, tmp_path, meanwhile)
    assert (first, second, provider.uploads) == ("b0", "b1", 2)


def test_a_collection_leaves_alone_what_waits_in_a_batch(store, asks, taxonomy):
    claim_for_batch(store, [ask.key for ask in asks[:3]], "b")

    async def work(connection):
        return await collect(connection, store, asks, taxonomy)

    done = with_server([completed(ANSWER)], work)
    assert (done.asked, done.waiting, done.left) == (2, 3, 3)
    assert "3 wait in a batch" in str(done)


def test_a_provider_that_refuses_is_one_line_without_its_words(store, asks, taxonomy, tmp_path):
    (path,) = written(store, asks, taxonomy, tmp_path)

    async def work(connection):
        await submit(connection, store, path, asks)

    with pytest.raises(BatchError, match=r"was not submitted: .*\(HTTP 401\)") as raised:
        with_server([refused(401, message="the private key")], work)
    assert "private" not in str(raised.value)
    assert not list(store.read("SELECT * FROM claims"))


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ({"response": None, "error": {"code": "batch_expired", "message": "m"}}, "timed_out"),
        ({"response": {"status_code": 500, "body": {"error": {"code": "boom"}}}}, "server_error"),
        ({"response": {"status_code": 400, "body": {"error": {"code": "content_filter"}}}}, "filtered"),
        ({"response": {"status_code": 400, "body": {"error": {"message": "temperature"}}}}, "rejected"),
        ({"response": {"status_code": 200, "body": []}}, "unreadable_reply"),
        ({"response": 5}, "rejected"),
    ],
)
def test_what_failed_is_named_by_kind(store, asks, line, kind):
    taken = ingest(store, "b", [json.dumps({"custom_id": custom_id(asks[0]), **line}).encode()], asks)
    assert taken.errors == {kind: 1}
    assert store.get(asks[0].key).completion.error == kind


def uploaded(provider, which):
    return re.findall(r'"custom_id": "([0-9a-f]{40})"', provider.files[which].decode())


def test_the_command_submits_once_takes_in_what_ended_and_submits_again_what_was_lost(
    small_study, threaded_server, tmp_path, monkeypatch, capsys
):
    monkeypatch.setenv("OPENAI_API_KEY", "not a real one")
    provider = Provider()
    words = ["batch", "small", "--prompt", "good", "--model", "m", "--store", str(tmp_path / "s.sqlite")]
    words += ["--base-url", threaded_server(provider).url]
    assert main([*words, "--dry-run"]) == 0
    assert "6 asks, 0 of them in the store, 6 to send" in capsys.readouterr().out
    assert (provider.uploads, list(tmp_path.glob("batches/*"))) == (0, [])

    assert main([*words, "--write-only"]) == 0
    assert "written: " in capsys.readouterr().out
    assert (provider.uploads, len(list(tmp_path.glob("batches/*.jsonl")))) == (0, 1)

    assert main(words) == 1
    assert "6 of 6 asks have no outcome that stands; 1 batches have not ended" in capsys.readouterr().out
    assert main(words) == 1
    assert "b0: validating" in capsys.readouterr().out
    assert (provider.uploads, len(provider.batches)) == (1, 1)

    names = uploaded(provider, "f1")
    assert len(names) == 6
    answer = '{"label": "b", "confidence": 0.8, "alternatives": {}}'
    # In another order, one refused, one lost.
    lines = [result_of(name, answer) for name in reversed(names[:4])]
    provider.end("completed", lines, [result_of(names[4], status=400, error={"code": "content_filter"})])
    assert main([*words, "--fetch-only"]) == 1
    printed = capsys.readouterr().out
    assert "b0: completed; 5 results stored" in printed
    assert "of 1 nothing came" in printed
    assert provider.uploads == 1

    assert main(words) == 1
    assert uploaded(provider, "f2") == [names[5]]
    provider.end("completed", [result_of(names[5], answer)])
    assert main([*words, "--wait", "--every", "0.01"]) == 0
    assert "0 of 6 asks have no outcome that stands" in capsys.readouterr().out
    assert (main(words), provider.uploads) == (0, 2)


@pytest.fixture
def command(small_study, threaded_server, tmp_path, monkeypatch):
    """A provider, and the words of the command that asks it."""
    monkeypatch.setenv("OPENAI_API_KEY", "not a real one")
    provider = Provider()
    words = ["batch", "small", "--prompt", "good", "--model", "m", "--store", str(tmp_path / "s.sqlite")]
    return provider, [*words, "--base-url", threaded_server(provider).url]


@pytest.mark.parametrize("other", [["--limit", "2"], ["--run", "1"]])
def test_a_call_about_other_asks_leaves_a_batch_and_its_results_alone(command, other, tmp_path, capsys):
    provider, words = command
    assert main(words) == 1
    answer = '{"label": "b", "confidence": 0.8, "alternatives": {}}'
    provider.end("completed", [result_of(name, answer) for name in uploaded(provider, "f1")])
    assert main([*words, *other, "--fetch-only"]) == 1
    assert "b0: left alone" in capsys.readouterr().out
    assert (main(words), provider.uploads) == (0, 1)
    with Store(tmp_path / "s.sqlite") as opened:
        assert len(list(opened.rows())) == 6


@pytest.mark.parametrize(("status", "code"), [(429, "rate_limit_exceeded"), (500, "boom")])
def test_a_failure_that_is_asked_again_leaves_the_command_undone(command, status, code, capsys):
    provider, words = command
    assert main(words) == 1
    first, *others = uploaded(provider, "f1")
    provider.end(
        "completed", [result_of(name) for name in others], [result_of(first, status=status, error={"code": code})]
    )
    assert main([*words, "--fetch-only"]) == 1
    assert "1 of 6 asks have no outcome that stands" in capsys.readouterr().out


FAULTS = [(400, "content_filter"), (400, "context_length_exceeded")]


def test_failures_that_stand_are_done_as_they_are_for_collect_and_are_counted(command, threaded_server, capsys):
    provider, words = command
    assert main(words) == 1
    names = uploaded(provider, "f1")
    failed = [
        result_of(name, status=status, error={"code": code})
        for name, (status, code) in zip(names, FAULTS, strict=False)
    ]
    provider.end("completed", [result_of(name) for name in names[2:]], failed)
    by_batch = main([*words, "--fetch-only"])
    printed = capsys.readouterr().out
    assert "0 of 6 asks have no outcome that stands" in printed
    assert "2 ended without usable text and are not asked again (filtered 1, too_long 1)" in printed

    script = [*(refused(status, code) for status, code in FAULTS), completed(ANSWER)]
    one_by_one = [*words[1:-1], threaded_server(script).url, "--concurrency", "1"]
    one_by_one[one_by_one.index("--store") + 1] += ".other"
    assert by_batch == main(["collect", *one_by_one]) == 0
    assert "2 of them without usable text (filtered 1, too_long 1)" in capsys.readouterr().out


def test_of_failures_that_are_asked_again_it_is_not_said_that_they_ended(command, capsys):
    provider, words = command
    assert main(words) == 1
    names = uploaded(provider, "f1")
    provider.end("completed", [result_of(name, status=429, error={"code": "x"}) for name in names])
    assert main([*words, "--fetch-only"]) == 1
    assert "ended without usable text" not in capsys.readouterr().out


def test_what_waits_in_a_batch_is_not_said_to_be_sent(command, capsys):
    _, words = command
    assert main(words) == 1
    capsys.readouterr()
    assert main([*words, "--dry-run"]) == 0
    printed = capsys.readouterr().out
    assert "0 to send" in printed
    assert "6 more asks wait in a batch" in printed


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--write-only", "--fetch-only"], "--write-only asks nothing of a provider: leave out --fetch-only"),
        (["--write-only", "--wait"], "--write-only asks nothing of a provider: leave out --wait"),
        (["--every", "inf"], "--every must be a finite number of seconds above 0, got inf"),
        (["--every", "0"], "--every must be a finite number of seconds above 0, got 0"),
    ],
)
def test_a_misuse_of_the_command_is_one_line(small_study, more, said, capsys):
    assert main(["batch", "small", "--prompt", "good", "--model", "m", *more]) == 2
    assert said in capsys.readouterr().err


PRICES = '{"m": {"input_per_million": 1, "output_per_million": 2}}'


def test_a_cost_limit_keeps_back_what_could_pass_it_before_anything_is_submitted(command, tmp_path, capsys):
    provider, words = command
    prices = tmp_path / "prices.json"
    prices.write_text(PRICES)
    # Completions at their limit of 300 tokens are $0.0006 each, and the texts add less than a tenth.
    words = [*words, "--prices", str(prices), "--max-cost", "0.0014"]
    assert main(words) == 1
    printed = capsys.readouterr().out
    assert "4 of 6 asks were not submitted: stopped before the next ask could pass the limit of $0.0014" in printed
    first = uploaded(provider, "f1")
    assert len(first) == 2
    # What waits is submitted already: the limit is that of the asks of now.
    assert main(words) == 1
    assert "2 of 4 asks were not submitted" in capsys.readouterr().out
    assert len(uploaded(provider, "f2")) == 2
    assert not set(first) & set(uploaded(provider, "f2"))


def test_a_cost_limit_below_one_ask_submits_nothing_and_one_above_all_says_nothing(command, tmp_path, capsys):
    provider, words = command
    prices = tmp_path / "prices.json"
    prices.write_text(PRICES)
    assert main([*words, "--prices", str(prices), "--max-cost", "0"]) == 1
    assert "6 of 6 asks were not submitted" in capsys.readouterr().out
    assert (provider.uploads, list(tmp_path.glob("batches/*"))) == (0, [])
    assert main([*words, "--prices", str(prices), "--max-cost", "1"]) == 1
    assert "not submitted" not in capsys.readouterr().out
    assert len(uploaded(provider, "f1")) == 6


def test_files_are_written_up_to_the_cost_limit_and_what_is_beyond_leaves_the_command_undone(command, tmp_path, capsys):
    provider, words = command
    prices = tmp_path / "prices.json"
    prices.write_text(PRICES)
    assert main([*words, "--write-only", "--prices", str(prices), "--max-cost", "0.0014"]) == 1
    assert "4 of 6 asks were not written: stopped before" in capsys.readouterr().out
    (path,) = tmp_path.glob("batches/*.jsonl")
    assert (len(path.read_bytes().splitlines()), provider.uploads) == (2, 0)


@pytest.mark.parametrize(
    ("variables", "url"),
    [
        ({}, "/v1/chat/completions"),
        ({"AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com"}, "/chat/completions"),
        ({"AZURE_OPENAI_ENDPOINT": "https://x.openai.azure.com", "OPENAI_API_KEY": "k"}, "/v1/chat/completions"),
        ({"AZURE_OPENAI_ENDPOINT": "https://x", "OPENAI_BASE_URL": "https://y/v1"}, "/v1/chat/completions"),
    ],
)
def test_files_are_written_without_a_key_for_the_provider_that_would_be_asked(
    small_study, tmp_path, monkeypatch, variables, url
):
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT", "AZURE_OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    store = tmp_path / "s.sqlite"
    assert main(["batch", "small", "--prompt", "good", "--model", "m", "--store", str(store), "--write-only"]) == 0
    (path,) = tmp_path.glob("batches/*.jsonl")
    assert {json.loads(line)["url"] for line in path.read_bytes().splitlines()} == {url}


def test_a_limit_below_one_item_is_refused(small_study):
    with pytest.raises(CommandError, match="--limit must be at least 1, got 0"):
        batch_answers("small", ["good"], model="m", limit=0)


def forget(store):
    """Leave a store as a kill does that comes after the provider took a batch and before that was noted."""
    with Store(store) as opened, opened.transaction() as cursor:
        cursor.execute("DELETE FROM batches")
        cursor.execute("DELETE FROM claims")


@pytest.mark.parametrize("changed", [["--limit", "2"], ["--max-cost", "0.0014", "--prices", "prices.json"], []])
def test_what_was_submitted_before_a_kill_is_not_submitted_again_whatever_the_limit_is_now(
    changed, command, tmp_path, capsys
):
    provider, words = command
    (tmp_path / "prices.json").write_text(PRICES)
    assert main(words) == 1
    forget(tmp_path / "s.sqlite")
    capsys.readouterr()
    assert main([*words, *changed]) == 1
    assert "b0: submitted before, and found again" in capsys.readouterr().out
    assert (provider.uploads, len(provider.batches)) == (1, 1)
    assert main(words) == 1
    assert "b0: validating" in capsys.readouterr().out
    assert (provider.uploads, len(provider.batches)) == (1, 1)
    provider.end("completed", [result_of(name) for name in uploaded(provider, "f1")])
    assert main(words) == 0


def test_what_was_submitted_before_a_kill_for_another_run_is_to_be_taken_in_first(command, tmp_path, capsys):
    provider, words = command
    assert main(words) == 1
    forget(tmp_path / "s.sqlite")
    assert main([*words, "--run", "1"]) == 1
    said = "was submitted as b0 before a kill, and holds 6 asks of another prompt, model or run; call with those first"
    assert said in capsys.readouterr().err
    assert (provider.uploads, len(provider.batches)) == (1, 1)
    assert main(words) == 1
    assert main([*words, "--run", "1"]) == 1
    assert (provider.uploads, len(provider.batches)) == (2, 2)


def test_files_that_were_written_and_not_submitted_hinder_nothing(command, tmp_path):
    provider, words = command
    assert main([*words, "--write-only", "--limit", "3"]) == 0
    (tmp_path / "batches" / "batch-of-somebody.jsonl").write_bytes(b"\xff no JSON")
    assert main(words) == 1
    assert len(uploaded(provider, "f1")) == 6
