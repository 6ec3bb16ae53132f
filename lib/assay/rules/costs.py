"""What the calls cost, in whole pico-USD, with what is not known kept apart from what is.

Prices and sums are integers, so that nothing is lost by adding up: a price of $X per million tokens, written in
micro-USD, is the same integer in pico-USD per token. A model without a price is unknown, never free, and a total with
such a call in it is a lower bound: it claims no saving and passes no budget.
"""

import json
import math
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, Inexact, localcontext
from pathlib import Path
from typing import Self

from assay.rules.calls import Call, Role
from assay.rules.classifier import Usage
from assay.rules.documents import DocumentError, Fields, read_document
from assay.rules.sealed import load_text

PICO_PER_USD = 10**12
PICO_PER_TOKEN_PER_USD_PER_MILLION = 10**6
MAX_DIGITS = 400
"""Digits of a price; a double, the largest number that a document may hold, has fewer before its point."""


@dataclass(frozen=True)
class Price:
    """Price of one model.

    Parameters
    ----------
    input, output : int
        Pico-USD per token read and per token written, 0 or more. A price of 0 is a price.
    """

    input: int
    output: int

    def __post_init__(self) -> None:
        for name in ("input", "output"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 0:
                raise ValueError(f"price.{name} must be a whole number of pico-USD, at least 0, got {value!r}")

    def cost(self, usage: Usage) -> int:
        """Return the cost of `usage` in pico-USD."""
        return self.input * usage.prompt_tokens + self.output * usage.completion_tokens


@dataclass(frozen=True)
class PriceSheet:
    """Prices by model name; a model that is not on it has no known price."""

    prices: Mapping[str, Price]

    def price(self, model: str) -> Price | None:
        """Return the price of `model`, None where it is unknown."""
        return self.prices.get(model)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read a price file.

        The file is an object of models, each with its `input_per_million` and `output_per_million`: US dollars per
        million tokens, read as the decimals they are written as.

        Raises
        ------
        DocumentError
            If a field is missing, unknown, given twice, negative, no number, or finer than one pico-USD per token.
        """
        table = read_document(text, "prices", exact=True)
        return cls({model: _price(fields) for model, fields in table.all_objects()})

    def to_json(self) -> str:
        """Write the price file that `from_json` reads back to an equal sheet."""
        lines = [
            f"{json.dumps(model)}: {{"
            f'"input_per_million": {_dollars_per_million(price.input)}, '
            f'"output_per_million": {_dollars_per_million(price.output)}}}'
            for model, price in sorted(self.prices.items())
        ]
        return "{" + ", ".join(lines) + "}"


def load_prices(path: str | os.PathLike[str]) -> PriceSheet:
    """Read a price file.

    Raises
    ------
    DocumentError
        If the file cannot be read or `PriceSheet.from_json` refuses it; the message begins with the file's name.
    """
    path = Path(path)
    text = load_text(path)
    try:
        return PriceSheet.from_json(text)
    except DocumentError as error:
        raise DocumentError(f"{path.name}: {error}") from None


@dataclass(frozen=True)
class CostTotals:
    """What a set of calls cost, as far as that is known.

    Parameters
    ----------
    calls : int
    known_picousd : int
        Sum over the calls whose tokens and price are known, in pico-USD.
    unpriced_calls : int
        Calls that took tokens of a model without a price.
    failed_calls : int
        Calls without a reply. One whose error reported no tokens adds nothing to the sum; where a provider charges for
        failures all the same, even a total is a lower bound.
    estimated_calls : int
        Calls whose tokens were estimated from the length of the texts.
    usage : Usage
        Tokens of all calls that report or estimate them.
    unpriced_models, zero_priced_models : tuple of str
        Models called that have no price, and that have one of 0; sorted.
    """

    calls: int
    known_picousd: int
    unpriced_calls: int
    failed_calls: int
    estimated_calls: int
    usage: Usage
    unpriced_models: tuple[str, ...] = ()
    zero_priced_models: tuple[str, ...] = ()

    @property
    def total_picousd(self) -> int | None:
        """The total in pico-USD; None where a call is unpriced, since the known part is then only a lower bound."""
        return None if self.unpriced_calls else self.known_picousd

    @property
    def known_usd(self) -> Decimal:
        """The known part in US dollars."""
        return Decimal(self.known_picousd) / PICO_PER_USD

    @property
    def total_usd(self) -> Decimal | None:
        """The total in US dollars, None where it is not known."""
        return None if self.total_picousd is None else self.known_usd

    def within_budget(self, budget_usd: Decimal | float) -> bool | None:
        """Tell whether the calls stayed within a budget in US dollars (equal passes).

        Returns
        -------
        bool or None
            False as soon as the known part alone is over; None where it is not and some call is unpriced; a budget is
            kept only by a total that is known.

        Raises
        ------
        ValueError
            If the budget is not a number of at least 0.
        """
        if isinstance(budget_usd, bool) or not isinstance(budget_usd, int | float | Decimal):
            raise ValueError(f"budget_usd must be a number of at least 0, got {budget_usd!r}")
        if not math.isfinite(budget_usd) or budget_usd < 0:
            raise ValueError(f"budget_usd must be a number of at least 0, got {budget_usd!r}")
        # A float stands for the decimal it prints as: 0.1 is a tenth.
        budget = Decimal(repr(budget_usd)) if isinstance(budget_usd, float) else Decimal(budget_usd)
        if self.known_usd > budget:
            return False
        return None if self.unpriced_calls else True

    def __str__(self) -> str:
        amount = f"${self.known_usd.normalize():f}"
        notes = []
        if self.unpriced_calls:
            amount = f"at least {amount}"
            notes.append(f"{_calls(self.unpriced_calls)} without a price ({', '.join(self.unpriced_models)})")
        if self.failed_calls:
            notes.append(f"{_calls(self.failed_calls)} failed")
        if self.estimated_calls:
            notes.append(f"{_calls(self.estimated_calls)} with estimated tokens")
        return f"{amount} for {_calls(self.calls)}" + "".join(f"; {note}" for note in notes)


class CostLedger:
    """Every call in the order in which it returned, and what the calls add up to.

    Parameters
    ----------
    prices : PriceSheet, optional
        Without one, every model is unpriced.
    """

    def __init__(self, prices: PriceSheet | None = None) -> None:
        self.prices = PriceSheet({}) if prices is None else prices
        self._calls: list[Call] = []

    @property
    def calls(self) -> tuple[Call, ...]:
        """The calls recorded so far."""
        return tuple(self._calls)

    def record(self, call: Call) -> int:
        """Add a call and return its position, counted from 0."""
        self._calls.append(call)
        return len(self._calls) - 1

    def discard(self, position: int) -> None:
        """Change the role of a recorded call: its answers were to be served and were thrown away after all."""
        self._calls[position] = replace(self._calls[position], role=Role.DISCARDED)

    def totals(self, *, role: Role | str | None = None, model: str | None = None) -> CostTotals:
        """Add up all calls, or those of one role or one model."""
        wanted = None if role is None else Role(role)
        return add_up(
            (one for one in self._calls if wanted in (None, one.role) and model in (None, one.model)), self.prices
        )


def add_up(calls: Iterable[Call], prices: PriceSheet) -> CostTotals:
    """Add up what `calls` cost by `prices`."""
    count = known = unpriced = failed = estimated = 0
    usage = Usage(0, 0)
    without_price: set[str] = set()
    free: set[str] = set()
    for call in calls:
        count += 1
        failed += not call.answered
        price = prices.price(call.model)
        if price == Price(0, 0):
            free.add(call.model)
        if call.usage is None:
            continue
        usage += call.usage
        estimated += call.usage.estimated
        if price is None:
            unpriced += 1
            without_price.add(call.model)
        else:
            known += price.cost(call.usage)
    return CostTotals(
        count, known, unpriced, failed, estimated, usage, tuple(sorted(without_price)), tuple(sorted(free))
    )


def saving(baseline: CostTotals, actual: CostTotals) -> int | None:
    """Return what `actual` saved against `baseline` in pico-USD (negative: it cost more).

    None where either holds an unpriced call: no saving is claimed on an unknown price.
    """
    if baseline.total_picousd is None or actual.total_picousd is None:
        return None
    return baseline.total_picousd - actual.total_picousd


def _price(fields: Fields) -> Price:
    price = Price(_pico_per_token(fields, "input_per_million"), _pico_per_token(fields, "output_per_million"))
    fields.done()
    return price


def _pico_per_token(fields: Fields, name: str) -> int:
    dollars = fields.decimal(name)
    try:
        with localcontext() as context:
            # A price is read to the last digit or not at all: the usual 28 digits would round a longer one in silence.
            context.prec = MAX_DIGITS
            context.traps[Inexact] = True
            scaled = dollars * PICO_PER_TOKEN_PER_USD_PER_MILLION
            whole = scaled == scaled.to_integral_value()
    except Inexact:
        whole = False
    if not whole:
        raise DocumentError(
            f"{fields.where}.{name} must be a whole number of micro-USD per million tokens (at most six decimals), "
            f"got {dollars}"
        )
    return int(scaled)


def _dollars_per_million(picousd: int) -> str:
    whole, part = divmod(picousd, PICO_PER_TOKEN_PER_USD_PER_MILLION)
    return f"{whole}.{part:06}".rstrip("0").rstrip(".")


def _calls(count: int) -> str:
    return "1 call" if count == 1 else f"{count} calls"
