"""The store: what went in comes out, an answer is never lost or replaced, and a damaged file is refused."""

import math
import sqlite3
import threading
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.ask import Ask, AskKey, Completion, PromptFile, Settings, Token
from assay.ask.claims import Claims, claim_for_batch, end_batch
from assay.ask.database import StoreError
from assay.ask.response import Alternative
from assay.ask.store import Store, Stored
from assay.rules.classifier import Usage

KEY = AskKey("i1", "m", "p" * 64, "s" * 64, 0)
WHEN = "2026-01-02T03:04:05.678+00:00"
ANSWER = Completion(text='{"label": "a"}', usage=Usage(7, 3), served_model="m-1", latency_s=0.25)
FAILURE = Completion(error="server_error", detail="the provider's server failed", tries=5)


def stored(completion=ANSWER, key=KEY, text_hash="t" * 64):
    return Stored(key, text_hash, WHEN, completion)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "answers.sqlite") as opened:
        yield opened


text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
logprob = st.none() | st.floats(-50, 0)
alternative = st.builds(lambda text, number, raw: Alternative(text, number, raw), text, logprob, st.binary(max_size=4))
token = st.builds(
    lambda one, top: Token(one.text, one.logprob, one.raw, tuple(top)), alternative, st.lists(alternative, max_size=3)
)
completion = st.builds(
    Completion,
    text=st.none() | text,
    error=st.none() | st.sampled_from(["empty", "truncated"]),
    detail=text,
    finish_reason=st.none() | text,
    usage=st.none() | st.builds(Usage, st.integers(0, 10**6), st.integers(0, 10**6)),
    served_model=st.none() | text,
    tokens=st.none() | st.lists(token, min_size=1, max_size=3).map(tuple),
    latency_s=st.none() | st.floats(0, 1e6),
    tries=st.integers(1, 9),
    sent=st.dictionaries(text, st.integers() | text, max_size=3),
    retry_after=st.none() | st.floats(0, 1e6),
)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(one=completion, item=text, run=st.integers(0, 5))
def test_what_went_in_comes_out(tmp_path_factory, one, item, run):
    path = tmp_path_factory.mktemp("store") / "answers.sqlite"
    row = stored(one, KEY._replace(item_id=item, run=run))
    with Store(path) as opened:
        assert opened.add([row]) == 1
    with Store(path) as opened:
        assert list(opened.rows()) == [opened.get(row.key)] == [row]


def test_an_answer_is_never_replaced_and_a_failure_is(store):
    assert store.add([stored(FAILURE)]) == 1
    assert store.add([stored(ANSWER)]) == 1
    assert store.add([stored(FAILURE)]) == 0
    assert store.add([stored(replace(ANSWER, text="another"))]) == 0
    assert store.get(KEY).completion == ANSWER
    assert store.count() == 1


def test_a_group_is_stored_whole_or_not_at_all(store):
    bad = stored(replace(ANSWER, latency_s="not a number"), KEY._replace(item_id="i2"))
    with pytest.raises(sqlite3.IntegrityError):
        store.add([stored(), bad])
    assert store.count() == 0


def test_rows_come_in_the_order_in_which_they_were_asked(store):
    late = Stored(KEY, "t", "2026-01-02T00:00:02.000+00:00", ANSWER)
    early = Stored(KEY._replace(item_id="z"), "t", "2026-01-02T00:00:01.000+00:00", ANSWER)
    store.add([late, early])
    assert [row.key.item_id for row in store.rows()] == ["z", "i1"]


def test_a_text_that_was_changed_under_its_id_is_refused(store, prompt):
    ask = Ask("i1", "the first text", prompt, "m")
    store.add([Stored(ask.key, ask.text_hash, WHEN, ANSWER)])
    assert store.states({ask.key: ask}) == {ask.key: None}
    with pytest.raises(StoreError, match="item 'i1' was asked with another text"):
        store.states({ask.key: replace(ask, text="the second text")})


def test_the_same_prompt_with_other_classes_is_refused(store, prompt):
    store.register(prompt, Settings(), "1" * 64)
    store.register(prompt, Settings(), "1" * 64)
    with pytest.raises(StoreError, match="prompt 'small' was asked with other classes"):
        store.register(prompt, Settings(), "2" * 64)


def test_prompts_come_back_with_their_hash(store, prompt, distribution_prompt):
    for one in (prompt, distribution_prompt):
        store.register(one, Settings(), "1" * 64)
    assert store.prompts() == {prompt.hash: prompt, distribution_prompt.hash: distribution_prompt}
    assert all(one.hash == digest for digest, one in store.prompts().items())


def test_the_file_survives_being_closed_without_a_farewell(tmp_path):
    first = Store(tmp_path / "answers.sqlite")
    first.add([stored()])
    # Not closed: what a killed process leaves is the file and its log.
    with Store(tmp_path / "answers.sqlite") as second:
        assert second.get(KEY) == stored()
    first.close()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"item_id,answer\n", "not a store of answers"),
        (b"SQLite format 3\0" + b"\xff" * 4096, "the file is damaged"),
    ],
)
def test_a_file_that_is_no_store_is_refused_and_left_as_it_is(tmp_path, content, said):
    path = tmp_path / "answers.sqlite"
    path.write_bytes(content)
    with pytest.raises(StoreError, match=said):
        Store(path)
    assert path.read_bytes() == content


def test_the_database_of_another_program_is_refused_and_left_as_it_is(tmp_path):
    path = tmp_path / "answers.sqlite"
    with sqlite3.connect(path) as other:
        other.execute("CREATE TABLE asks (item_id TEXT)")
    other.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match="another program"):
        Store(path)
    assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir()] == ["answers.sqlite"]


def test_a_store_of_a_later_version_is_refused(tmp_path):
    path = tmp_path / "answers.sqlite"
    Store(path).close()
    with sqlite3.connect(path) as other:
        other.execute("PRAGMA user_version = 2")
    other.close()
    with pytest.raises(StoreError, match="a store of version 2; this program reads version 1"):
        Store(path)


def test_a_folder_and_a_place_that_cannot_be_written_are_named(tmp_path):
    with pytest.raises(StoreError, match=r"cannot be opened \(Is a directory\)"):
        Store(tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be opened"):
        Store(tmp_path / "file" / "answers.sqlite")


def test_a_row_that_was_changed_is_refused_by_its_item(tmp_path):
    path = tmp_path / "answers.sqlite"
    with Store(path) as opened:
        opened.add([stored(), stored(key=KEY._replace(item_id="i2"))])
    with sqlite3.connect(path) as other:
        other.execute("""UPDATE asks SET text = '{"label": "b"}' WHERE item_id = 'i2'""")
    other.close()
    with Store(path) as opened:
        assert opened.get(KEY) == stored()
        with pytest.raises(StoreError, match=r"row of item 'i2'.* is not as it was written") as raised:
            list(opened.rows())
    assert "label" not in str(raised.value)


@settings(max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.floats(0, 1, exclude_max=True), cut=st.booleans(), flip=st.integers(1, 255))
def test_a_file_torn_or_changed_anywhere_reads_right_or_is_refused(record_tried, tmp_path, at, cut, flip):
    path = tmp_path / "torn.sqlite"
    for one in tmp_path.glob("torn.sqlite*"):
        one.unlink()
    rows = [
        stored(replace(ANSWER, text=f"answer {place} " + "x" * 300), KEY._replace(run=place)) for place in range(60)
    ]
    with Store(path) as opened:
        opened.add(rows)
    content = bytearray(path.read_bytes())
    place = int(at * len(content))
    if cut:
        content = content[:place]
    else:
        content[place] ^= flip
    path.write_bytes(content)
    try:
        with Store(path) as opened:
            found = list(opened.rows())
    except StoreError:
        found = rows
    # A byte that means nothing may change; an empty file is a new store, and says so by its count.
    wrong = found != rows and not (cut and place == 0 and not found)
    record_tried("stores torn or changed at a random byte", 1, lost=int(wrong))
    assert not wrong


def test_two_stores_on_one_file_write_at_the_same_time(tmp_path):
    path = tmp_path / "answers.sqlite"
    errors = []

    def write(half):
        try:
            with Store(path) as opened:
                for place in range(100):
                    opened.add([stored(key=KEY._replace(item_id=f"i{place}", run=half))])
                    opened.add([stored(key=KEY._replace(item_id=f"both{place}"))])
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(half,)) for half in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
    with Store(path) as opened:
        assert len(list(opened.rows())) == opened.count() == 300


def test_a_full_disk_is_a_failure_and_keeps_what_was_stored(tmp_path):
    path = tmp_path / "answers.sqlite"
    with Store(path) as opened:
        opened.add([stored()])
        # SQLite answers as on a full disk when the file may grow no further.
        pages = next(opened.read("PRAGMA page_count"))[0]
        list(opened.read(f"PRAGMA max_page_count = {pages}"))
        big = [stored(replace(ANSWER, text="x" * 5000), KEY._replace(item_id=f"i{n}")) for n in range(2, 40)]
        with pytest.raises(StoreError, match="the disk is full") as raised:
            opened.add(big)
    assert raised.value.misuse is False
    with Store(path) as opened:
        assert [row.key for row in opened.rows()] == [KEY]


def test_an_ask_is_one_owners_until_it_is_given_back_or_stored(tmp_path):
    path = tmp_path / "answers.sqlite"
    other = KEY._replace(item_id="i2")
    with Store(path) as first, Store(path) as second, Claims(first) as ours:
        assert ours.take([KEY, other], ()).granted == [KEY, other]
        with Claims(second) as theirs:
            assert theirs.take([KEY], ()).held == [KEY]
            first.add([stored()])
            assert theirs.take([KEY], ()).settled == [KEY]
            ours.give_back()
            assert theirs.take([other], ()).granted == [other]
    assert not list(tmp_path.glob("*.lock"))


def test_a_failure_that_may_pass_is_granted_again_and_another_is_not(store):
    refusal = KEY._replace(item_id="i2")
    store.add([stored(FAILURE), stored(replace(FAILURE, error="refused"), refusal)])
    with Claims(store) as claims:
        taken = claims.take([KEY, refusal], {"server_error"})
    assert (taken.granted, taken.settled) == ([KEY], [refusal])


def test_what_waits_in_a_batch_is_nobody_elses_until_the_batch_ends(store):
    claim_for_batch(store, [KEY], "b1")
    with Claims(store) as claims:
        assert claims.take([KEY], ()).waiting == [KEY]
        assert end_batch(store, "b1") == [KEY]
        assert claims.take([KEY], ()).granted == [KEY]


def test_the_mean_usage_counts_only_what_was_reported(store):
    store.add([stored(replace(ANSWER, usage=Usage(10, 4)))])
    store.add([stored(replace(ANSWER, usage=Usage(11, 5)), KEY._replace(item_id="i2"))])
    store.add([stored(replace(ANSWER, usage=None), KEY._replace(item_id="i3"))])
    assert store.mean_usage() == {("m", KEY.prompt_hash): (math.ceil(10.5), math.ceil(4.5))}


def test_prompts_keep_their_questions(store):
    typed = PromptFile(
        "t", "distribution", "Answer.", questions={"q": {"kind": "noul", "instructions": "?"}}, question="q"
    )
    store.register(typed, Settings(), "1")
    assert store.prompts()[typed.hash] == typed
