"""Recorded answers through the real shadow and the real router, by two independent ways of counting."""

import asyncio
import logging

import numpy as np
import pandas as pd
import pytest

from assay.ask.recorded import FAILED, RecordedPair, recorded_agreement, recorded_routing
from assay.ask.replay import DEFAULT_QUESTION
from assay.rules import (
    AgreementLog,
    PriceSheet,
    Role,
    RoutingPolicy,
    RoutingRefused,
    Side,
    Taxonomy,
    Thresholds,
    saving,
)
from assay.study import Study, StudyError, find_series

CLASSES = Taxonomy.of("a", "b", abstain="unsure")
ITEMS = 60


def study(**dear: object) -> Study:
    """Two models on 60 items, some unreadable, some texts shared; the cheap one is righter the surer it says it is."""
    rng = np.random.default_rng(4)
    labels = rng.choice(["a", "b"], ITEMS)
    sure = rng.integers(50, 101, ITEMS) / 100
    frames = []
    for model, right in (("cheap", rng.random(ITEMS) < sure), ("dear", rng.random(ITEMS) < 0.9)):
        frame = pd.DataFrame({"item_id": [f"i{n:02d}" for n in range(ITEMS)], "label": labels, "model": model})
        frame["text"] = [f"text {n // 2}" if n < 4 else f"text {n}" for n in range(ITEMS)]
        frame["predicted"] = np.where(right, labels, np.where(labels == "a", "b", "a"))
        frame["confidence"] = sure
        frame["prompt_tokens"], frame["completion_tokens"] = 100, 10
        frames.append(frame)
    frames[0].loc[[7, 9], "predicted"] = "?"
    frames[1].loc[[8, 9], "predicted"] = "?"
    frames[1] = frames[1].assign(**dear).iloc[:-2]
    return Study.from_frame(pd.concat(frames, ignore_index=True), taxonomy=CLASSES)


def pair_of(one: Study) -> RecordedPair:
    return RecordedPair.of(one, find_series(one, "cheap"), find_series(one, "dear"))


PAIR = pair_of(study())
ALL = PAIR.items["item_id"]


def agreement(pair: RecordedPair = PAIR, items: pd.Series = ALL):
    return asyncio.run(recorded_agreement(pair, items))


def policy(confidence: float, margin: float = 0.0, rate: float = 1.0) -> RoutingPolicy:
    thresholds = Thresholds("language_model", confidence, margin, "verbal", "cheap")
    return RoutingPolicy("measured", thresholds={"cheap": thresholds}, max_disagreement_rate=rate, min_questions=1)


def test_items_that_one_side_lacks_are_named_and_left_out():
    assert (PAIR.only_cheap, PAIR.only_expensive) == (("i58", "i59"), ())
    assert len(PAIR.items) == ITEMS - 2


def test_the_shadow_counts_what_comparing_the_recorded_answers_side_by_side_counts():
    log = AgreementLog(Side.of(PAIR.cheap.profile()), Side.of(PAIR.expensive.profile()))
    for item, label in zip(ALL, PAIR.items["label"], strict=True):
        cheap, dear = PAIR.cheap.recorded(item), PAIR.expensive.recorded(item)
        log.record(DEFAULT_QUESTION, cheap, dear, truth=label, item=item)
    report = agreement()
    assert report.to_json() == log.report().to_json()
    assert report.kinds[DEFAULT_QUESTION].errors == 3
    assert sum(report.kinds[DEFAULT_QUESTION].graded.values()) == len(report.kinds[DEFAULT_QUESTION].disagreements)


def test_evidence_of_some_items_holds_no_other():
    report = agreement(items=ALL.head(20))
    assert {one.item for one in report.kinds[DEFAULT_QUESTION].comparisons} <= set(ALL.head(20))


@pytest.mark.parametrize("floors", [(0.0, 0.0), (0.7, 0.0), (0.7, 0.6), (1.0, 1.0)])
def test_the_router_serves_what_the_floors_say_and_escalates_the_rest(floors):
    routed = asyncio.run(recorded_routing(PAIR, ALL, policy(*floors), evidence=agreement())).answers
    sides = PAIR.answers(ALL)
    reaches = (sides["confidence"] >= floors[0] - 1e-9) & (sides["margin"] >= floors[1] - 1e-9)
    assert list(routed["item_id"]) == list(ALL)
    assert (routed["model"] == "cheap").tolist() == reaches.tolist()
    served = sides["cheap"].where(reaches, sides["expensive"])
    assert routed["predicted"].fillna("none").tolist() == served.fillna("none").tolist()
    assert (routed["reason"] == FAILED).tolist() == (~reaches & sides["expensive"].isna()).tolist()


def test_an_escalated_question_is_paid_for_twice_and_a_failed_call_is_counted_apart():
    prices = PriceSheet.from_json(
        '{"cheap": {"input_per_million": 1, "output_per_million": 1}, '
        '"dear": {"input_per_million": 10, "output_per_million": 10}}'
    )
    routed = asyncio.run(recorded_routing(PAIR, ALL, policy(0.8), evidence=agreement(), prices=prices))
    baseline = asyncio.run(recorded_routing(PAIR, ALL, prices=prices))
    escalated = int((routed.answers["model"] != "cheap").sum())
    discarded, served = (routed.ledger.totals(role=role) for role in (Role.DISCARDED, Role.SERVED))
    assert (discarded.calls, served.calls) == (escalated, len(ALL))
    assert discarded.failed_calls == 2
    assert baseline.ledger.totals().calls == len(ALL)
    assert saving(baseline.ledger.totals(), routed.ledger.totals()) == (
        baseline.ledger.totals().known_picousd - served.known_picousd - discarded.known_picousd
    )


def test_without_prices_nothing_is_free_and_no_saving_is_claimed():
    routed = asyncio.run(recorded_routing(PAIR, ALL, policy(0.8), evidence=agreement())).ledger.totals()
    baseline = asyncio.run(recorded_routing(PAIR, ALL)).ledger.totals()
    assert routed.total_usd is None
    assert routed.unpriced_models == ("cheap", "dear")
    assert saving(baseline, routed) is None


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"model": "elsewhere"}, ["'dear'", "'elsewhere'"]),
        ({"prompt": "L2"}, ["unnamed", "L2"]),
    ],
)
def test_evidence_of_another_pair_or_prompt_is_refused_and_both_are_named(other, named):
    changed = study(**other)
    another = RecordedPair.of(changed, find_series(changed, "cheap"), find_series(changed, other.get("model", "dear")))
    with pytest.raises(RoutingRefused) as refused:
        asyncio.run(recorded_routing(another, another.items["item_id"], policy(0.8), evidence=agreement()))
    for name in named:
        assert name in str(refused.value)


def test_recorded_failures_are_counted_and_no_line_of_log_is_written_for_each(caplog):
    agreement()
    asyncio.run(recorded_routing(PAIR, ALL, policy(0.8), evidence=agreement()))
    assert not caplog.records
    assert logging.getLogger("assay.rules.shadow").level == logging.NOTSET


def test_two_series_of_one_model_are_no_pair():
    one = study(model="cheap", prompt="other")
    first, second = find_series(one, "unnamed"), find_series(one, "other")
    with pytest.raises(StudyError, match="both answers of 'cheap'"):
        RecordedPair.of(one, first, second)


def test_two_series_without_a_common_item_are_no_pair():
    frame = pd.DataFrame(
        {"item_id": ["1", "2"], "label": "a", "predicted": "a", "confidence": 0.5, "model": ["cheap", "dear"]}
    )
    with pytest.raises(StudyError, match="no item in common"):
        pair_of(Study.from_frame(frame, taxonomy=CLASSES))
