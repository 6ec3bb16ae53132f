"""What the commands do, from a study on disk to what they print and the code they return."""

import signal
import subprocess
import sys

import httpx
import pandas as pd
import pytest
from assay_test_server import Step, completed, refused

from assay.ask import choosing, commands
from assay.ask.commands import CommandError
from assay.ask.database import StoreError
from assay.ask.local import missing_extra
from assay.ask.request import Patience, Settings
from assay.files import OutputError
from assay.study import StudyError

ANSWER = completed('{"label": "b", "confidence": 0.8, "alternatives": {}}')


def collect(server, tmp_path, **options):
    given = {"model": "m", "base_url": server.url, "store": tmp_path / "s.sqlite", **options}
    return commands.collect_answers("small", ["good"], **given)


def test_a_study_without_answers_is_collected_summed_up_and_exported(small_study, threaded_server, tmp_path, capsys):
    running = threaded_server([ANSWER])
    assert collect(running, tmp_path, export=tmp_path / "answers.parquet") == 0
    printed = capsys.readouterr().out
    assert "6 asks: 0 were in the store, 6 asked" in printed
    assert [line.split() for line in printed.splitlines() if line.split()[:1] == ["good"]] == [
        ["good", "token", "0", "0", "6"],
        ["good", "verbal", "3", "3", "0"],
    ]
    assert "unreadable, each kind of confidence counted: no_logprobs 6" in printed
    assert len(pd.read_parquet(tmp_path / "answers.parquet")) == 12
    assert collect(running, tmp_path) == 0
    assert "6 were in the store, 0 asked" in capsys.readouterr().out
    assert len(running.requests) == 6


def test_a_limit_takes_the_first_items_every_time(small_study, threaded_server, tmp_path):
    running = threaded_server([ANSWER])
    assert collect(running, tmp_path, limit=2) == 0
    assert collect(running, tmp_path, limit=2) == 0
    assert [request.body["messages"][-1]["content"][:17] for request in running.requests] == [
        "the text number 0",
        "the text number 1",
    ]


def test_a_dry_run_asks_nothing_and_makes_nothing(small_study, threaded_server, tmp_path, capsys):
    running = threaded_server([ANSWER])
    assert collect(running, tmp_path, dry_run=True) == 0
    assert "6 asks, 0 of them in the store, 6 to send" in capsys.readouterr().out
    assert not running.requests
    assert not (tmp_path / "s.sqlite").exists()


def test_a_dry_run_refuses_an_export_that_asking_would_refuse(small_study, threaded_server, tmp_path):
    running = threaded_server([ANSWER])
    with pytest.raises(OutputError, match=r"--export must end in \.parquet"):
        collect(running, tmp_path, dry_run=True, export=tmp_path / "answers.csv")
    with pytest.raises(OutputError, match="--export and --store would both write"):
        collect(running, tmp_path, dry_run=True, store=tmp_path / "x.parquet", export=tmp_path / "x.parquet")
    assert collect(running, tmp_path, dry_run=True, export=tmp_path / "made" / "x.parquet") == 0
    assert not (tmp_path / "made").exists()


def carry_the_items(small_study, texts, items='columns = { text = "question", label = "truth" }', head="question"):
    """Let the answers of the study carry its items, with these texts."""
    settings = (small_study / "study.toml").read_text()
    settings = settings.replace('file = "items.jsonl"', items).replace("not-there-yet.parquet", "answers.csv")
    (small_study / "study.toml").write_text(settings.replace('kind = "classification"', 'kind = "table"'))
    rows = [f"i{n},{text},{'ab'[n % 2]},a,0.{n + 5}" for n, text in enumerate(texts)]
    (small_study / "answers.csv").write_text("\n".join([f"item_id,{head},truth,label,confidence", *rows]))


def test_items_that_the_answers_carry_are_asked_and_those_without_a_text_are_not(
    small_study, threaded_server, tmp_path, capsys
):
    carry_the_items(small_study, ["one", "", "two", "   "])
    running = threaded_server([ANSWER])
    assert collect(running, tmp_path, dry_run=True) == 0
    assert "items without a text, not asked: 2\n2 asks" in capsys.readouterr().out
    assert collect(running, tmp_path, concurrency=1) == 0
    assert "items without a text, not asked: 2\n2 asks" in capsys.readouterr().out
    assert [one.body["messages"][-1]["content"] for one in running.requests] == ["one", "two"]


@pytest.mark.parametrize(
    ("texts", "items", "head"),
    [
        (["", " "], 'columns = { text = "question", label = "truth" }', "question"),
        (["one", "two"], 'columns = { label = "truth" }', "question"),
        (["one", "two"], 'columns = { label = "truth" }\nleave_out = ["text"]', "text"),
    ],
)
def test_a_study_none_of_whose_items_has_a_text_is_refused(small_study, texts, items, head):
    carry_the_items(small_study, texts, items, head)
    with pytest.raises(CommandError, match=r"small: none of its items has a text to ask about; name the column"):
        commands.collect_answers("small", ["good"], model="m", dry_run=True)
    assert commands.lint(["good"], study="small") == 0


def test_what_is_all_stored_is_summed_up_and_exported_without_a_key_or_a_server(
    small_study, threaded_server, tmp_path, capsys
):
    assert collect(threaded_server([ANSWER]), tmp_path) == 0
    capsys.readouterr()
    given = {"model": "m", "store": tmp_path / "s.sqlite", "export": tmp_path / "a.parquet"}
    assert commands.collect_answers("small", ["good"], **given) == 0
    assert "6 asks: 6 were in the store, 0 asked" in capsys.readouterr().out
    assert len(pd.read_parquet(tmp_path / "a.parquet")) == 12
    with pytest.raises(CommandError, match="OPENAI_API_KEY is not set"):
        commands.collect_answers("small", ["good"], **given, run=1)


def test_answers_may_be_exported_to_where_the_study_keeps_them_again_and_again(
    small_study, threaded_server, tmp_path, capsys
):
    running = threaded_server([ANSWER])
    assert collect(running, tmp_path, limit=2) == 0
    assert "the study has no answers yet: --export data/small/not-there-yet.parquet makes these its own" in (
        capsys.readouterr().out
    )
    own = small_study / "not-there-yet.parquet"
    assert collect(running, tmp_path, limit=2, export=own) == 0
    assert len(pd.read_parquet(own)) == 4
    assert collect(running, tmp_path, export=own) == 0
    assert len(pd.read_parquet(own)) == 12
    assert "has no answers yet" not in capsys.readouterr().out


def test_answers_that_the_store_does_not_have_are_not_overwritten_and_nothing_is_asked(
    small_study, threaded_server, tmp_path
):
    running = threaded_server([ANSWER])
    own, other = small_study / "not-there-yet.parquet", tmp_path / "other.sqlite"
    assert collect(running, tmp_path, export=own) == 0
    before = own.read_bytes()
    for dry_run in (True, False):
        with pytest.raises(StoreError, match=r"holds 6 answers that the store does not have, which would be lost"):
            collect(running, tmp_path, store=other, export=own, dry_run=dry_run)
    pd.DataFrame({"item_id": ["i1"], "label": ["a"]}).to_parquet(own)
    with pytest.raises(StoreError, match=r"not-there-yet\.parquet: is no export, and would be overwritten"):
        collect(running, tmp_path, run=1, export=own)
    own.write_text("by hand")
    with pytest.raises(StoreError, match=r"not-there-yet\.parquet: is no export, and would be overwritten"):
        collect(running, tmp_path, run=1, export=own)
    assert (len(running.requests), own.read_text()) == (6, "by hand")
    own.write_bytes(before)
    assert collect(running, tmp_path, run=1, export=own) == 0
    assert len(pd.read_parquet(own)) == 24


def test_votes_in_an_export_do_not_keep_it_from_being_made_anew(small_study, threaded_server, tmp_path):
    prompt = small_study / "good.toml"
    prompt.write_text(prompt.read_text() + "[sampling]\ntemperature = 1\nn = 3\n")
    own = small_study / "not-there-yet.parquet"
    for _ in range(2):
        assert collect(threaded_server([ANSWER]), tmp_path, export=own) == 0
    assert set(pd.read_parquet(own)["elicitation"]) == {"verbal", "token", "vote"}


def test_answers_that_are_read_for_the_items_are_not_overwritten(small_study, threaded_server, tmp_path):
    carry_the_items(small_study, ["one", "two"])
    settings = (small_study / "study.toml").read_text()
    pd.read_csv(small_study / "answers.csv").to_parquet(small_study / "answers.parquet")
    (small_study / "study.toml").write_text(settings.replace("answers.csv", "answers.parquet"))
    with pytest.raises(OutputError, match=r"--export would overwrite data/small/answers\.parquet, which is read here"):
        collect(threaded_server([ANSWER]), tmp_path, export=small_study / "answers.parquet")


def test_what_is_left_is_a_failure(small_study, threaded_server, tmp_path, capsys):
    assert collect(threaded_server([refused(401)]), tmp_path, concurrency=1) == 1
    assert "m was given up after 3 failures in a row (unauthorised)" in capsys.readouterr().out


PROVIDERS_FAULTS = {
    "key": refused(401),
    "model": refused(404),
    "too many": refused(429),
    "quota": refused(429, "insufficient_quota"),
    "server": refused(500),
    "redirect": Step(307, headers={"location": "http://127.0.0.1:1/v1/chat/completions"}),
    "redirect without a place": Step(302),
    "not modified": Step(304),
    "no content": Step(204),
    "half": Step(body=ANSWER.body[:40], promised=len(ANSWER.body), cut=True),
    "page": Step(body=b"<!doctype html><title>Sign in</title>", headers={"content-type": "text/html"}),
}
ANSWERS_FAULTS = {"filter": refused(400, "content_filter"), "length": refused(400, "context_length_exceeded")}


@pytest.mark.parametrize("fault", PROVIDERS_FAULTS)
def test_a_collection_in_which_every_call_failed_is_a_failure_and_asks_again(
    fault, small_study, threaded_server, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(commands, "Settings", lambda **_: Settings(patience=Patience(timeout=5, tries=1)))
    assert collect(threaded_server([PROVIDERS_FAULTS[fault]]), tmp_path) == 1
    assert "6 of 6 asks have no outcome that stands; call again to ask them" in capsys.readouterr().out
    assert collect(threaded_server([ANSWER]), tmp_path) == 0
    said = capsys.readouterr().out
    assert "6 asked" in said
    assert "no outcome that stands" not in said


@pytest.mark.parametrize("fault", ANSWERS_FAULTS)
def test_a_failure_that_is_the_answers_stands(fault, small_study, threaded_server, tmp_path):
    running = threaded_server([ANSWERS_FAULTS[fault]])
    assert collect(running, tmp_path) == 0
    assert collect(running, tmp_path) == 0
    assert len(running.requests) == 6


def test_the_store_is_under_the_root_by_default(small_study, threaded_server, tmp_path, monkeypatch):
    monkeypatch.setattr(choosing, "repository_root", lambda: tmp_path)
    assert collect(threaded_server([ANSWER]), tmp_path, store=None) == 0
    assert (tmp_path / "reports" / "answers" / "small.sqlite").is_file()


def test_without_a_key_it_says_what_to_set(small_study):
    with pytest.raises(CommandError, match="OPENAI_API_KEY is not set: set it to ask models at"):
        commands.collect_answers("small", ["good"], model="m")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"prompts": []}, "--prompt is needed"),
        ({"prompts": ["bad"]}, r"bad: no such file, nor a prompt of small \(it has: good\)"),
        ({}, "--model is needed, or --local"),
        ({"model": "m", "local": True}, "leave out --model"),
        ({"model": "m", "limit": 0}, "--limit must be at least 1, got 0"),
        ({"model": "m", "max_cost": "much"}, "--max-cost must be a number of US dollars of at least 0, got 'much'"),
        ({"model": "m", "max_cost": "nan"}, "--max-cost must be a number"),
    ],
)
def test_a_misuse_is_one_line(small_study, options, said):
    with pytest.raises(CommandError, match=said):
        commands.collect_answers("small", **{"prompts": ["good"], **options})


def test_an_unknown_study_is_named_with_the_nearest():
    with pytest.raises(StudyError, match=r"there is no study 'trage'.*did you mean 'triage'"):
        commands.collect_answers("trage", ["good"], model="m")


def test_a_cost_limit_with_a_price_file_holds(small_study, threaded_server, tmp_path, capsys):
    prices = tmp_path / "prices.json"
    prices.write_text('{"m": {"input_per_million": 1, "output_per_million": 2}}')
    running = threaded_server([ANSWER])
    with pytest.raises(CommandError, match="--max-cost needs the price of m: give --prices"):
        collect(running, tmp_path, max_cost="0.001")
    assert not (tmp_path / "s.sqlite").exists()
    assert collect(running, tmp_path, max_cost="0.0012", prices=prices, concurrency=1) == 1
    assert "stopped before the next ask could pass the limit of $0.0012" in capsys.readouterr().out
    assert 0 < len(running.requests) < 6


def test_lint_of_a_good_prompt_is_0_and_of_one_that_leaks_is_1(small_study, tmp_path, capsys):
    assert commands.lint(["good"], study="small") == 0
    said = capsys.readouterr().out
    assert "nothing to find fault with" in said
    assert "--study" not in said
    elsewhere = tmp_path / "elsewhere.toml"
    elsewhere.write_text((small_study / "good.toml").read_text())
    assert commands.lint([str(elsewhere)]) == 0
    assert "neither its labels nor leaks of items were looked for; give --study" in capsys.readouterr().out
    leak = small_study / "leak.toml"
    leak.write_text(
        (small_study / "good.toml").read_text().replace("something else", "the text number 3 of this study")
    )
    assert commands.lint([str(leak)]) == 1
    printed = capsys.readouterr().out
    assert "leak.toml: example 1" in printed
    assert "a leak" in printed


@pytest.mark.skipif(bool(missing_extra()), reason=missing_extra() or "")
def test_serve_prints_where_and_ends_when_told(tmp_path):
    command = [sys.executable, "-m", "assay", "serve", "--threads", "1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    lines = [process.stdout.readline() for _ in range(3)]
    url = lines[2].split()[2]
    assert httpx.get(f"{url}/models", trust_env=False).json()["data"][0]["id"] == lines[0].split()[1]
    process.send_signal(signal.SIGTERM)
    process.communicate()
    assert process.returncode == 0
    with pytest.raises(httpx.TransportError):
        httpx.get(f"{url}/models", trust_env=False)
