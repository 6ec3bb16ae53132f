"""Results of batches that come by hand: in files, in any order, of whatever batch, without a network or a key."""

import json

import pandas as pd
import pytest
from assay_test_server import reply
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.__main__ import main
from assay.ask.batch import open_batches
from assay.ask.batch_files import custom_id, read_lines, write_batches
from assay.ask.batch_results import take_results
from assay.ask.claims import claim_for_batch, waiting_in
from assay.ask.database import StoreError
from assay.ask.plan import make_asks
from assay.ask.store import Store
from assay.rules import LabelClass, Taxonomy
from assay.rules.documents import DocumentError

ANSWER = '{"label": "b", "confidence": 0.8, "alternatives": {}}'
WORDS = ("batch", "small", "--prompt", "good", "--model", "m", "--store", "s.sqlite")
FAILURES = {"rate_limited": (429, "rate_limit_exceeded"), "filtered": (400, "content_filter")}


def line(name, outcome=None, made=0):
    """One line of results: an answer, or a failure of a kind."""
    if outcome is None:
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": ANSWER}}
        response = {"status_code": 200, "body": {**reply(choice), "created": made}}
    else:
        status, code = FAILURES[outcome]
        response = {"status_code": status, "body": {"error": {"code": code, "message": "private words"}}}
    return json.dumps({"id": "r", "custom_id": name, "response": response, "error": None}).encode()


@pytest.fixture
def asks(prompt):
    items = pd.DataFrame({"item_id": [f"i{n}" for n in range(4)], "text": [f"text {n}" for n in range(4)]})
    return make_asks(items, [prompt], "m")


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "answers.sqlite") as opened:
        yield opened


def note_batch(store, batch, asks):
    """Leave a store as the submission of a batch does."""
    claim_for_batch(store, [ask.key for ask in asks], batch)
    with store.transaction() as cursor:
        cursor.execute("INSERT INTO batches VALUES (?, 'f', ?, 'validating', '2026')", (batch, len(asks)))


@pytest.fixture
def names(small_study, tmp_path, capsys):
    """The names of the requests that --write-only wrote, to be submitted by somebody else."""
    assert main([*WORDS[:-1], "elsewhere.sqlite", "--write-only"]) == 0
    capsys.readouterr()
    (path,) = tmp_path.glob("batches/*.jsonl")
    return [json.loads(one)["custom_id"] for one in path.read_bytes().splitlines()]


def test_files_of_results_fill_a_store_that_knows_of_no_batch_without_a_key(names, tmp_path, capsys):
    stranger = line("0" * 40)
    output = [line(names[5]), b"", b"  ", line(names[1]), b"}{", stranger, line(names[0]), line(names[3])]
    (tmp_path / "output.jsonl").write_bytes(b"\xef\xbb\xbf" + b"\r\n".join(output))
    (tmp_path / "errors.jsonl").write_bytes(line(names[2], "filtered") + b"\n" + line(names[4], "rate_limited"))
    assert main([*WORDS, "--results", "errors.jsonl", "--results", "output.jsonl"]) == 1
    printed = capsys.readouterr().out
    assert "errors.jsonl: 2 results stored, 2 of them without usable text (filtered 1, rate_limited 1)" in printed
    assert "output.jsonl: 4 results stored, 0 of them without" in printed
    assert "1 line belongs to no ask of this call\n1 line is no result" in printed
    assert "1 of 6 asks have no outcome that stands" in printed
    assert "private" not in printed
    # The one that failed in passing was asked again, elsewhere as well.
    (tmp_path / "second.jsonl").write_bytes(line(names[4]))
    assert main([*WORDS, "--results", "second.jsonl"]) == 0
    with Store("s.sqlite") as opened:
        assert len(list(opened.rows())) == 6
        assert [prompt.name for prompt in opened.prompts().values()] == ["good"]


def test_results_that_are_taken_twice_change_nothing_and_it_says_so(names, tmp_path, capsys):
    lines = [line(name) for name in names[1:]] + [line(names[0], "rate_limited")]
    (tmp_path / "r.jsonl").write_bytes(b"\n".join(lines))
    assert main([*WORDS, "--results", "r.jsonl"]) == 1
    with Store("s.sqlite") as opened:
        before = list(opened.rows())
    capsys.readouterr()
    assert main([*WORDS, "--results", "r.jsonl", "--results", "r.jsonl"]) == 1
    assert capsys.readouterr().out.count("r.jsonl: nothing changes\n6 results say no more than the store did") == 2
    with Store("s.sqlite") as opened:
        assert list(opened.rows()) == before


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "bad.jsonl: cannot be read (No such file or directory)"),
        ("é\n".encode("latin-1"), "bad.jsonl: not UTF-8 text (byte 1)"),
        ("{}\n".encode("utf-16"), "bad.jsonl: not UTF-8 text (byte 1)"),
    ],
)
def test_a_file_that_cannot_be_read_is_one_line_and_the_others_are_not_taken(names, tmp_path, capsys, content, said):
    (tmp_path / "good.jsonl").write_bytes(line(names[0]))
    if content is not None:
        (tmp_path / "bad.jsonl").write_bytes(content)
    assert main([*WORDS, "--results", "good.jsonl", "--results", "bad.jsonl"]) == 2
    assert capsys.readouterr().err == f"assay: {said}\n"
    assert not (tmp_path / "s.sqlite").exists()


@pytest.mark.parametrize(
    "other",
    [["--write-only"], ["--fetch-only"], ["--wait"], ["--dry-run"], ["--folder", "f"], ["--max-cost", "1"]],
)
def test_what_asks_a_provider_does_not_go_with_results_by_hand(small_study, capsys, other):
    assert main([*WORDS, "--results", "r.jsonl", *other]) == 2
    assert f"does nothing else: leave out {other[0]}\n" in capsys.readouterr().err


def test_a_file_of_requests_holds_no_results(store, asks, taxonomy, tmp_path):
    (path,) = write_batches(store, asks, taxonomy, tmp_path)
    taken = take_results(store, path.read_bytes().splitlines(), asks, taxonomy)
    assert (taken.stored, taken.unreadable) == (0, 4)
    assert str(taken) == "nothing changes\n4 lines are no results"


def test_asks_whose_results_came_wait_no_more_and_a_batch_of_which_nothing_waits_is_over(store, asks, taxonomy):
    note_batch(store, "b", asks)
    take_results(store, [line(custom_id(ask)) for ask in asks[:2]], asks, taxonomy)
    assert (waiting_in(store, "b"), open_batches(store)) == ([ask.key for ask in asks[2:]], ["b"])
    last = [line(custom_id(asks[2]), "rate_limited"), line(custom_id(asks[3]), "filtered")]
    take_results(store, last, asks, taxonomy)
    assert (waiting_in(store, "b"), open_batches(store)) == ([], [])


def test_an_answer_that_is_there_ends_the_wait_for_another(store, asks, taxonomy):
    lines = [line(custom_id(ask)) for ask in asks]
    take_results(store, lines, asks, taxonomy)
    note_batch(store, "late", asks)
    take_results(store, lines, asks, taxonomy)
    assert open_batches(store) == []


def test_an_old_failure_taken_again_does_not_free_what_waits_in_a_newer_batch(store, asks, taxonomy):
    old = [line(custom_id(ask), "rate_limited") for ask in asks]
    take_results(store, old, asks, taxonomy)
    note_batch(store, "newer", asks)
    take_results(store, old, asks, taxonomy)
    assert len(waiting_in(store, "newer")) == 4


def test_results_of_a_text_that_was_changed_since_belong_to_no_ask(store, asks, taxonomy, prompt):
    old = [line(custom_id(ask)) for ask in asks]
    changed = make_asks(pd.DataFrame({"item_id": ["i0", "i1"], "text": ["another text", "text 1"]}), [prompt], "m")
    taken = take_results(store, old, changed, taxonomy)
    assert (taken.stored, taken.unknown) == (1, 3)
    with pytest.raises(StoreError, match="asked with other classes"):
        take_results(store, old, asks, Taxonomy((LabelClass("a", 0), LabelClass("b", 1)), abstain="unsure"))


@pytest.mark.parametrize(("made", "year"), [(1_600_000_000, "2020"), (10**15, "now"), (True, "now"), ("x", "now")])
def test_an_answer_is_of_the_time_that_its_reply_tells_if_that_can_be(store, asks, taxonomy, made, year):
    take_results(store, [line(custom_id(asks[0]), made=made)], asks, taxonomy)
    at = store.get(asks[0].key).asked_at
    assert at.startswith("2020-09-13T12:26:40") if year == "2020" else at >= "2025"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None)
@given(data=st.data())
def test_the_order_of_lines_and_files_and_how_often_they_are_taken_changes_no_outcome(data, asks, taxonomy):
    outcome = st.sampled_from([None, "filtered", "rate_limited"])
    drawn = data.draw(st.lists(st.tuples(st.integers(0, 3), outcome), max_size=12))
    lines = [line(custom_id(asks[place]), kind) for place, kind in drawn]
    worth = ["rate_limited", "filtered", None]
    best = {}
    for place, kind in drawn:
        best[asks[place].key] = max(kind, best.get(asks[place].key, "rate_limited"), key=worth.index)
    files = data.draw(st.lists(st.permutations(lines), min_size=1, max_size=3))
    cut = data.draw(st.integers(0, len(lines)))
    with Store(":memory:") as store:
        for file in [files[0][cut:], *files, files[0][:cut]]:
            take_results(store, file, asks, taxonomy)
        assert {row.key: row.completion.error for row in store.rows()} == best


def test_a_file_of_something_else_is_refused_by_name(tmp_path):
    path = tmp_path / "answers.csv"
    path.write_text("label,predicted\na,b\n")
    with pytest.raises(DocumentError, match=r"answers\.csv: no line of it is a result of a batch"):
        read_lines(path)
    path.write_text("")
    assert read_lines(path) == []
