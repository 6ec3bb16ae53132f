"""Two series of a study's recorded answers, put through the real shadow and the real router.

Nothing is asked and nothing paid: both sides replay what they said, and everything else runs as it would live.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pandas as pd

from assay.ask.replay import DEFAULT_QUESTION, ReplayedClassifier, class_question, recorded_states
from assay.ask.shadowing import Asked, measure_agreement
from assay.rules import (
    AgreementReport,
    AskError,
    CostLedger,
    NotConfigured,
    PriceSheet,
    Question,
    RoutingClassifier,
    RoutingPolicy,
    Taxonomy,
    answer_margin,
)
from assay.study import Series, Study, StudyError

FAILED = "expensive_failed"
"""Reason of an item that got no answer: the model that had to serve it failed."""

_NEVER = 3600.0
"""Seconds; a recorded answer needs no deadline, and the shadow wants one."""


@dataclass(frozen=True)
class RecordedPair:
    """A cheap and an expensive series on the items that both answered.

    Attributes
    ----------
    cheap, expensive : ReplayedClassifier
    items : DataFrame
        Rows of `Study.items` that both answered.
    only_cheap, only_expensive : tuple of str
        Ids of the items that one of them did not answer; they are left out.
    taxonomy : Taxonomy
    states : dict of str to str
        By what each item is asked about.
    """

    cheap: ReplayedClassifier
    expensive: ReplayedClassifier
    items: pd.DataFrame
    only_cheap: tuple[str, ...]
    only_expensive: tuple[str, ...]
    taxonomy: Taxonomy
    states: dict[str, str]

    @classmethod
    def of(cls, study: Study, cheap: Series, expensive: Series) -> "RecordedPair":
        """Pair two series of a study.

        Raises
        ------
        StudyError
            If they are of one model, which a router would hold under one name, or share no item.
        """
        if cheap.model == expensive.model:
            raise StudyError(f"cheap and expensive are both answers of {cheap.model!r}; a router needs two models")
        answered = [set(one.answers["item_id"]) for one in (cheap, expensive)]
        both = answered[0] & answered[1]
        if not both:
            raise StudyError(f"{cheap.name} and {expensive.name} of {study.name} have no item in common")
        ids = study.items["item_id"]
        return cls(
            cheap=_replayed(study, cheap),
            expensive=_replayed(study, expensive),
            items=study.items[ids.isin(both)].reset_index(drop=True),
            only_cheap=tuple(ids[ids.isin(answered[0] - both)]),
            only_expensive=tuple(ids[ids.isin(answered[1] - both)]),
            taxonomy=study.taxonomy,
            states=recorded_states(study.items),
        )

    @property
    def questions(self) -> dict[str, Question]:
        """What both answered: which class it is."""
        return class_question(self.taxonomy)

    def answers(self, item_ids: pd.Series) -> pd.DataFrame:
        """Put the answers of both side by side.

        Returns
        -------
        DataFrame
            One row for each of `item_ids`: ``item_id``, ``label``, ``cheap`` and ``expensive`` (the class each said,
            missing where unreadable), and the cheap answer's ``confidence`` and ``margin`` (NaN where unreadable).
        """
        labels = self.items.set_index("item_id")["label"]
        rows = []
        for item in item_ids:
            cheap, expensive = self.cheap.recorded(item), self.expensive.recorded(item)
            rows.append(
                {
                    "item_id": item,
                    "label": labels[item],
                    "cheap": None if cheap is None else cheap.value,
                    "expensive": None if expensive is None else expensive.value,
                    "confidence": float("nan") if cheap is None else cheap.confidence,
                    "margin": float("nan") if cheap is None else answer_margin(cheap),
                }
            )
        return pd.DataFrame(rows, columns=["item_id", "label", "cheap", "expensive", "confidence", "margin"])


@dataclass(frozen=True)
class RoutedAnswers:
    """What a router served for recorded items.

    Attributes
    ----------
    answers : DataFrame
        One row for each item: ``item_id``, ``label``, ``predicted`` (missing where the call failed), ``model`` (who
        gave it) and ``reason`` (a `RouteReason`, or `FAILED`).
    ledger : CostLedger
        Every call.
    """

    answers: pd.DataFrame
    ledger: CostLedger


async def recorded_agreement(pair: RecordedPair, item_ids: pd.Series) -> AgreementReport:
    """Measure the agreement of a pair over some of its items; labels grade the disagreements."""
    labels = pair.items.set_index("item_id")["label"]
    asked = [Asked(item, pair.states[item], {DEFAULT_QUESTION: labels[item]}) for item in item_ids]
    with _quiet():
        return await measure_agreement(
            pair.cheap, pair.expensive, asked, pair.questions, cheap_timeout=_NEVER, at_once=1
        )


async def recorded_routing(
    pair: RecordedPair,
    item_ids: pd.Series,
    policy: RoutingPolicy | None = None,
    *,
    evidence: AgreementReport | None = None,
    prices: PriceSheet | None = None,
) -> RoutedAnswers:
    """Put items through the router, which replays both models.

    Parameters
    ----------
    pair : RecordedPair
    item_ids : Series of str
        Some of the pair's items.
    policy : RoutingPolicy, optional
        Off by default: the expensive model answers everything.
    evidence : AgreementReport, optional
    prices : PriceSheet, optional

    Raises
    ------
    RoutingRefused
        If policy or evidence belong to another pair.
    """
    ledger = CostLedger(prices)
    router = RoutingClassifier(pair.cheap, pair.expensive, policy, evidence=evidence, ledger=ledger)
    labels = pair.items.set_index("item_id")["label"]
    questions = pair.questions
    rows = []
    with _quiet():
        for item in item_ids:
            row = {"item_id": item, "label": labels[item], "predicted": None, "model": None, "reason": FAILED}
            try:
                reply = await router.ask(pair.states[item], questions)
            except NotConfigured:
                raise
            except AskError:
                pass  # in the ledger; the item is left without an answer
            else:
                source = reply.sources[DEFAULT_QUESTION]
                row |= {
                    "predicted": reply.answers[DEFAULT_QUESTION].value,
                    "model": source.model,
                    "reason": str(source.reason),
                }
            rows.append(row)
    return RoutedAnswers(pd.DataFrame(rows, columns=["item_id", "label", "predicted", "model", "reason"]), ledger)


def _replayed(study: Study, series: Series) -> ReplayedClassifier:
    return ReplayedClassifier(
        study,
        model=series.model,
        prompt=series.prompt,
        calibration=series.calibration,
        elicitation=series.elicitation,
    )


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep a line of log for each unreadable answer off the page: they are counted in the evidence and the ledger."""
    loggers = [logging.getLogger(name) for name in ("assay.rules.shadow", "assay.rules.routing")]
    levels = [one.level for one in loggers]
    for one in loggers:
        one.setLevel(logging.ERROR)
    try:
        yield
    finally:
        for one, level in zip(loggers, levels, strict=True):
            one.setLevel(level)
