"""What asks may cost: a limit in US dollars, and the most that one ask can come to."""

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from itertools import accumulate

from assay.ask.plan import Estimate
from assay.ask.request import Ask
from assay.rules import Price, PriceSheet, Usage
from assay.rules.costs import PICO_PER_USD


def cost_limit(given: Decimal | float, asks: Iterable[Ask], prices: PriceSheet) -> int:
    """Return a cost limit in pico-USD.

    Parameters
    ----------
    given : Decimal or float
        US dollars, at least 0.
    asks : iterable of Ask
    prices : PriceSheet

    Raises
    ------
    ValueError
        If it is no such number, or there is no price for the model of an ask.
    """
    number = isinstance(given, int | float | Decimal) and not isinstance(given, bool)
    if not number or not math.isfinite(given) or given < 0:
        raise ValueError(f"max_cost_usd must be a number of US dollars of at least 0, got {given!r}")
    unknown = sorted({ask.model for ask in asks if prices.price(ask.model) is None})
    if unknown:
        raise ValueError(f"max_cost_usd needs the price of every model; there is none for {', '.join(unknown)}")
    return int(Decimal(str(given)) * PICO_PER_USD)


def ceiling(ask: Ask, estimate: Estimate, prices: PriceSheet) -> int:
    """Return the most that an ask is expected to cost, its completion at its limit, in pico-USD."""
    expected, longest = estimate(ask), estimate.without_answers(ask)
    price = prices.price(ask.model) or Price(0, 0)
    return price.cost(Usage(max(expected.prompt_tokens, longest.prompt_tokens), longest.completion_tokens))


def affordable(asks: Sequence[Ask], limit: int, estimate: Estimate, prices: PriceSheet) -> Sequence[Ask]:
    """Return as many asks, from the first on, as cannot together pass a limit in pico-USD."""
    totals = accumulate(ceiling(ask, estimate, prices) for ask in asks)
    return asks[: next((place for place, total in enumerate(totals) if total > limit), len(asks))]


def reached(limit: int) -> str:
    """Say why no more is asked at a limit in pico-USD."""
    dollars = (Decimal(limit) / PICO_PER_USD).normalize()
    return f"stopped before the next ask could pass the limit of ${dollars:f}"
