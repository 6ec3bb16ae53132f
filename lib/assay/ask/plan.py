"""What a collection is about to ask: the asks of a study, and what they would take.

A plan asks nothing. Tokens are estimated from what earlier answers to the same prompt took, else from the length of the
texts, and a price that is not known stays unknown.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pandas as pd

from assay.ask.faults import HOPELESS, RETRIED
from assay.ask.prompts import PromptFile
from assay.ask.request import DEFAULT_SETTINGS, Ask, AskKey, Settings, build_request
from assay.ask.store import Store
from assay.rules import Call, CostTotals, PriceSheet, Role, Taxonomy, Usage, add_up
from assay.rules.calls import CHARS_PER_TOKEN
from assay.rules.parsing import DEFAULT_FIELDS, AnswerFields

AGAIN: Final = RETRIED | HOPELESS
"""Kinds of error after which an ask is asked again when a collection is resumed: the provider's, not the answer's."""


@dataclass(frozen=True)
class Plan:
    """What a collection would do.

    Parameters
    ----------
    asks : int
        Different asks in all.
    stored : int
        Those whose outcome is in the store and would not be asked again.
    by_series : mapping of (str, str) to int
        Asks that would be sent, by model and prompt name.
    totals : CostTotals
        Estimated tokens of the asks that would be sent, and their cost as far as prices are known. Completions of a
        prompt without recorded answers count as long as the prompt lets them be.
    """

    asks: int
    stored: int
    by_series: Mapping[tuple[str, str], int]
    totals: CostTotals

    @property
    def new(self) -> int:
        """Asks that would be sent."""
        return sum(self.by_series.values())

    def __str__(self) -> str:
        lines = [f"{self.asks:,} asks, {self.stored:,} of them in the store, {self.new:,} to send"]
        lines += [f"  {model}, prompt {prompt}: {count:,}" for (model, prompt), count in self.by_series.items()]
        if self.new:
            usage = self.totals.usage
            lines.append(f"about {usage.prompt_tokens:,} tokens to read and {usage.completion_tokens:,} to write")
            unknown = self.totals.unpriced_models
            lines.append(
                f"cost: unknown, there is no price for {', '.join(unknown)}"
                if unknown and not self.totals.known_picousd
                else f"cost: about {self.totals}"
            )
        return "\n".join(lines)


def make_asks(
    items: pd.DataFrame,
    prompts: Iterable[PromptFile],
    model: str,
    *,
    run: int = 0,
    settings: Settings = DEFAULT_SETTINGS,
) -> list[Ask]:
    """Put every item to a model under every prompt.

    Parameters
    ----------
    items : DataFrame
        With `item_id` and `text`, as `Study.items`.
    prompts : iterable of PromptFile
    model : str
    run : int
        Which repetition this is, from 0. Under a prompt with n samples, the repetition holds the runs from ``n * run``.
    settings : Settings

    Returns
    -------
    list of Ask
        Prompt by prompt, since a server keeps what it has read of the last one.

    Raises
    ------
    ValueError
        If `run` is negative, or an item has no text (the item is named).
    """
    if isinstance(run, bool) or not isinstance(run, int) or run < 0:
        raise ValueError(f"run must be a whole number of at least 0, got {run!r}")
    texts = list(zip(items["item_id"], items["text"], strict=True))
    for item_id, text in texts:
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"item {item_id!r} has no text to ask about")
    return [
        Ask(item_id, text, prompt, model, run * prompt.sampling.n + sample, settings)
        for prompt in prompts
        for sample in range(prompt.sampling.n)
        for item_id, text in texts
    ]


def make_plan(
    store: Store,
    asks: Sequence[Ask],
    taxonomy: Taxonomy,
    fields: AnswerFields = DEFAULT_FIELDS,
    *,
    prices: PriceSheet | None = None,
    again: Collection[str] = AGAIN,
) -> Plan:
    """Count what a collection would send and estimate what that takes.

    Parameters
    ----------
    store : Store
    asks : sequence of Ask
    taxonomy : Taxonomy
    fields : AnswerFields
    prices : PriceSheet, optional
    again : collection of str
        Kinds of error after which an ask is asked again.

    Raises
    ------
    StoreError
        If an item was asked with another text under the same id.
    """
    different = distinct(asks)
    states = store.states(different)
    new = [ask for key, ask in different.items() if not settled(states, key, again)]
    estimate = Estimate(store, taxonomy, fields)
    calls = [Call(ask.model, Role.SERVED, (), answered=True, usage=estimate(ask)) for ask in new]
    by_series = Counter((ask.model, ask.prompt.name) for ask in new)
    return Plan(len(different), len(different) - len(new), by_series, add_up(calls, prices or PriceSheet({})))


class Estimate:
    """Estimates the tokens of an ask.

    Parameters
    ----------
    store : Store
        What is known of the prompts so far.
    taxonomy : Taxonomy
    fields : AnswerFields
    """

    def __init__(self, store: Store, taxonomy: Taxonomy, fields: AnswerFields = DEFAULT_FIELDS) -> None:
        self._taxonomy = taxonomy
        self._fields = fields
        self._means = store.mean_usage()
        self._prefixes: dict[tuple[str, str], int] = {}

    def __call__(self, ask: Ask) -> Usage:
        """Return the tokens that an ask is expected to take, marked as an estimate."""
        mean = self._means.get((ask.model, ask.prompt.hash))
        if mean is not None:
            return Usage(*mean, estimated=True)
        return self.without_answers(ask)

    def without_answers(self, ask: Ask) -> Usage:
        """Return the same from the length of the texts alone, the completion at its limit."""
        series = (ask.prompt.hash, ask.settings.digest())
        if series not in self._prefixes:
            messages = build_request(ask, self._taxonomy, fields=self._fields)["messages"]
            self._prefixes[series] = sum(len(one["content"]) for one in messages) - len(ask.text)
        chars = self._prefixes[series] + len(ask.text)
        return Usage(-(-chars // CHARS_PER_TOKEN), ask.prompt.sampling.max_tokens, estimated=True)


def distinct(asks: Iterable[Ask]) -> dict[AskKey, Ask]:
    """Return the different asks in their order, by their keys."""
    return {ask.key: ask for ask in asks}


def settled(states: Mapping[AskKey, str | None], key: AskKey, again: Collection[str]) -> bool:
    """Tell whether an ask has an outcome that stands."""
    return key in states and states[key] not in again


def unsettled(states: Mapping[AskKey, str | None], asks: Collection[AskKey], again: Collection[str] = AGAIN) -> int:
    """Count the asks without an outcome that stands: those that have none, and those that would be asked again."""
    return sum(not settled(states, key, again) for key in asks)


def request_digests(
    asks: Iterable[Ask], taxonomy: Taxonomy, fields: AnswerFields = DEFAULT_FIELDS
) -> list[tuple[PromptFile, Settings, str]]:
    """Digest, for each prompt with its settings, all of the request that is the same for every item and model."""
    firsts: dict[tuple[str, str], Ask] = {}
    for ask in asks:
        firsts.setdefault((ask.prompt.hash, ask.settings.digest()), ask)
    return [(ask.prompt, ask.settings, _digest(build_request(ask, taxonomy, fields=fields))) for ask in firsts.values()]


def _digest(body: dict[str, Any]) -> str:
    shared = {**body, "model": None, "messages": body["messages"][:-1]}
    return hashlib.sha256(json.dumps(shared, sort_keys=True).encode()).hexdigest()
