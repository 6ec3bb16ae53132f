"""Votes of repeated samples, and the long form in which answers leave the store."""

import asyncio
import json
import math
from dataclasses import replace

import pandas as pd
import pyarrow.parquet as pq
import pytest
from assay_test_server import ScriptedServer, completed, refused

from assay.ask import Completion, Sampling, Settings, connect
from assay.ask.collection import collect
from assay.ask.database import StoreError
from assay.ask.export import SCHEMA, export_answers, tidy_rows
from assay.ask.plan import make_asks
from assay.ask.store import Store, Stored
from assay.ask.votes import vote_rows
from assay.rules import Price, PriceSheet, Taxonomy
from assay.rules.classifier import Usage
from assay.study import SEVERAL_MODELS, load_study

WHEN = "2026-01-02T03:04:{:02d}.000+00:00"


def said(label, confidence=0.9):
    return json.dumps({"label": label, "confidence": confidence, "alternatives": {}})


def fill(store, prompt, taxonomy, texts, *, settings=None, model="m", served="served-1"):
    """Store completions: a list for each item, one for each run; None for a failure, "" for one that is not there."""
    settings = settings or Settings()
    store.register(prompt, settings, "1" * 64)
    second = 0
    for item, runs in texts.items():
        frame = pd.DataFrame({"item_id": [item], "text": [f"about {item}"]})
        for run, text in enumerate(runs):
            if text == "":
                continue
            ask = replace(make_asks(frame, [prompt], model, settings=settings)[0], run=run)
            failed = Completion(error="server_error", detail="failed", tries=2)
            answer = Completion(text=text, usage=Usage(100, 10), served_model=served, latency_s=0.5)
            store.add([Stored(ask.key, ask.text_hash, WHEN.format(second), failed if text is None else answer)])
            second += 1


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "answers.sqlite") as opened:
        yield opened


@pytest.fixture(scope="module")
def thrice(prompt):
    return replace(prompt, name="thrice", sampling=Sampling(0.7, n=3))


def votes(store, taxonomy, **options):
    return [row for row in tidy_rows(store, taxonomy, **options) if row["elicitation"] == "vote"]


def test_the_share_of_the_winner_is_the_confidence_and_the_others_are_alternatives(store, thrice, taxonomy):
    fill(store, thrice, taxonomy, {"i1": [said("advisory"), said("reference"), said("advisory")]})
    (vote,) = votes(store, taxonomy, prices=PriceSheet({"m": Price(1_000_000, 0)}))
    assert (vote["predicted"], vote["run"], vote["item_id"]) == ("advisory", 0, "i1")
    assert vote["confidence"] == pytest.approx(2 / 3)
    assert vote["alternatives"] == {"reference": pytest.approx(1 / 3)}
    assert (vote["prompt_tokens"], vote["cost_usd"]) == (300, pytest.approx(3 * 100 * 1e-6))
    assert vote["asked_at"] == WHEN.format(0)
    assert vote["completion"] is None


def test_an_unreadable_sample_counts_against_the_winner(store, thrice, taxonomy):
    fill(store, thrice, taxonomy, {"i1": [said("advisory"), None, "no JSON"]})
    (vote,) = votes(store, taxonomy)
    assert (vote["predicted"], vote["confidence"]) == ("advisory", pytest.approx(1 / 3))


def test_a_vote_of_fewer_samples_than_asked_for_is_left_out_and_counted(store, thrice, taxonomy):
    fill(store, thrice, taxonomy, {"i1": [said("advisory"), said("advisory"), ""], "i2": [said("reference")] * 3})
    rows = list(tidy_rows(store, taxonomy))
    made, incomplete = vote_rows(rows, {thrice.hash: 3}, taxonomy)
    assert ([vote["item_id"] for vote in made], incomplete) == (["i2"], 1)


def test_further_samples_are_a_further_vote(store, thrice, taxonomy):
    fill(store, thrice, taxonomy, {"i1": [said("advisory")] * 3 + [said("reference")] * 3})
    assert [(vote["run"], vote["predicted"]) for vote in votes(store, taxonomy)] == [(0, "advisory"), (1, "reference")]


def test_a_prompt_that_samples_once_has_no_votes(store, prompt, taxonomy):
    fill(store, prompt, taxonomy, {"i1": [said("advisory")] * 3})
    assert votes(store, taxonomy) == []


def test_samples_of_two_models_under_one_name_are_flagged(store, thrice, taxonomy):
    fill(store, thrice, taxonomy, {"i1": [said("advisory"), said("advisory"), ""]}, served="served-1")
    fill(store, thrice, taxonomy, {"i1": ["", "", said("advisory")]}, served="served-2")
    (vote,) = votes(store, taxonomy)
    assert vote["flags"] == (SEVERAL_MODELS,)


def test_every_ask_gives_a_row_for_each_elicitation_and_failures_stay(tmp_path, prompt, taxonomy):
    script = {"text 0": refused(500), "text 1": completed("no JSON")}

    async def once():
        items = pd.DataFrame({"item_id": ["i0", "i1", "i2"], "text": ["text 0", "text 1", "text 2"]})

        def reply(request):
            return script.get(request.body["messages"][-1]["content"], completed(said("advisory", 0.8)))

        async with ScriptedServer(reply) as server, connect(base_url=server.url, environment={}) as connection:
            with Store(tmp_path / "answers.sqlite") as store:
                settings = Settings(patience=replace(Settings().patience, tries=1))
                asks = make_asks(items, [prompt], "m", settings=settings)
                await collect(connection, store, asks, taxonomy)
                return list(tidy_rows(store, taxonomy))

    rows = asyncio.run(once())
    assert [(row["item_id"], row["elicitation"]) for row in sorted(rows, key=lambda row: row["item_id"])] == [
        (item, how) for item in ("i0", "i1", "i2") for how in ("verbal", "token")
    ]
    errors = {(row["item_id"], row["elicitation"]): row["error"] for row in rows}
    assert errors["i0", "verbal"] == "server_error"
    assert errors["i1", "verbal"] == "not_json"
    assert errors["i2", "verbal"] is None
    assert errors["i2", "token"] == "no_logprobs"
    # The failed call names no model; it stands with the answers of the one that answers under that name.
    assert {row["model"] for row in rows} == {"served-1"}
    assert {row["requested_model"] for row in rows} == {"m"}


def test_an_unknown_price_gives_no_cost_and_a_price_of_zero_gives_zero(store, prompt, taxonomy):
    fill(store, prompt, taxonomy, {"i1": [said("advisory")]})
    assert [row["cost_usd"] for row in tidy_rows(store, taxonomy)] == [None]
    assert [row["cost_usd"] for row in tidy_rows(store, taxonomy, prices=PriceSheet({"m": Price(0, 0)}))] == [0]


def test_prompts_of_one_name_and_settings_of_one_prompt_are_told_apart(store, prompt, taxonomy):
    other = replace(prompt, system="Other words.")
    fill(store, prompt, taxonomy, {"i1": [said("advisory")]})
    fill(store, other, taxonomy, {"i1": [said("advisory")]})
    fill(store, other, taxonomy, {"i1": [said("reference")]}, settings=Settings(seed=1))
    names = {row["prompt"] for row in tidy_rows(store, taxonomy)}
    assert names == {
        f"small@{prompt.hash[:8]}",
        f"small@{other.hash[:8]}/{Settings().digest()[:8]}",
        f"small@{other.hash[:8]}/{Settings(seed=1).digest()[:8]}",
    }


STUDY = """
title = "t"
source = "s"
licence = "l"
seed = 1
[taxonomy]
abstain = "unclear"
{classes}
[contract]
kind = "table"
label = "predicted"
confidence = "confidence"
alternatives = "alternatives"
missing_context = "missing_context"
[items]
file = "items.jsonl"
[[answers]]
file = "answers.parquet"
calibration = "language_model"
"""


def test_the_file_is_read_by_a_study_as_it_was_written(tmp_path, store, thrice, taxonomy):
    answer = json.dumps(
        {
            "label": "historical",
            "confidence": 0.7,
            "alternatives": {"unclear": 0.3},
            "missing_context": ["time_expression"],
        }
    )
    fill(store, thrice, taxonomy, {"i1": [answer, answer, None], "i2": [said("advisory")] * 3})
    folder = tmp_path / "study"
    folder.mkdir()
    assert export_answers(store, folder / "answers.parquet", taxonomy) == 8
    classes = "".join(f'[[taxonomy.class]]\nname = "{one.name}"\nrank = {one.rank}\n' for one in taxonomy.classes)
    (folder / "study.toml").write_text(STUDY.format(classes=classes))
    lines = [json.dumps({"item_id": one, "text": f"about {one}", "label": "historical"}) for one in ("i1", "i2")]
    (folder / "items.jsonl").write_text("\n".join(lines))
    study = load_study(folder)
    assert study.excluded.empty
    assert set(study.answers["elicitation"]) == {"verbal", "vote"}
    verbal = study.answers[(study.answers["item_id"] == "i1") & (study.answers["elicitation"] == "verbal")]
    assert verbal["confidence"].tolist()[:2] == [0.7, 0.7]
    assert verbal["alternatives"].tolist()[0] == {"unclear": 0.3}
    assert verbal["missing_context"].tolist()[0] == ("time_expression",)
    assert verbal["error"].tolist()[2] == "server_error"
    vote = study.answers[(study.answers["item_id"] == "i1") & (study.answers["elicitation"] == "vote")]
    assert vote["confidence"].tolist() == [pytest.approx(2 / 3)]


def test_the_same_store_gives_the_same_bytes_with_its_notes(tmp_path, store, prompt, taxonomy):
    fill(store, prompt, taxonomy, {"i1": [said("advisory")]})
    store.note("weights", "abc")
    for name in ("one", "two"):
        export_answers(store, tmp_path / f"{name}.parquet", taxonomy)
    assert (tmp_path / "one.parquet").read_bytes() == (tmp_path / "two.parquet").read_bytes()
    table = pq.read_table(tmp_path / "one.parquet")
    assert table.schema.equals(SCHEMA)
    assert json.loads(table.schema.metadata[b"assay"])["notes"] == {"weights": "abc"}


def test_an_empty_store_gives_an_empty_file(tmp_path, store, taxonomy):
    assert export_answers(store, tmp_path / "none.parquet", taxonomy) == 0
    assert pq.read_table(tmp_path / "none.parquet").num_rows == 0


def test_a_file_that_cannot_be_written_is_named(tmp_path, store, taxonomy):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match=r"answers\.parquet: cannot be written"):
        export_answers(store, tmp_path / "file" / "answers.parquet", taxonomy)


def test_a_tie_goes_to_the_safer_class(store, prompt):
    twice = replace(prompt, sampling=Sampling(0.7, n=2))
    ranked = Taxonomy.from_dict(
        {"taxonomy": {"abstain": "unsure", "class": [{"name": "a", "rank": 0}, {"name": "b", "rank": 1}]}}
    )
    fill(store, twice, ranked, {"i1": [said("a"), said("b")]})
    (vote,) = votes(store, ranked)
    assert (vote["predicted"], vote["confidence"], vote["alternatives"]) == ("b", 0.5, {"a": 0.5})
    assert math.isnan(vote["covered_mass"])
