"""What asks may cost: as many as surely fit, from the first on."""

from decimal import Decimal

import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.ask.budget import affordable, ceiling, cost_limit, reached
from assay.ask.plan import Estimate, make_asks
from assay.ask.store import Store
from assay.rules import PriceSheet

PRICES = PriceSheet.from_json('{"m": {"input_per_million": 1, "output_per_million": 2}}')


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40, deadline=None)
@given(lengths=st.lists(st.integers(1, 5000), min_size=1, max_size=12), share=st.integers(0, 12))
def test_what_is_granted_fits_and_with_the_next_ask_would_not(lengths, share, prompt, taxonomy):
    items = pd.DataFrame({"item_id": [str(n) for n in range(len(lengths))], "text": ["x" * n for n in lengths]})
    asks = make_asks(items, [prompt], "m")
    with Store(":memory:") as store:
        estimate = Estimate(store, taxonomy)
        costs = [ceiling(ask, estimate, PRICES) for ask in asks]
        # The exact sum of the first few is the edge: it is within the limit, one pico-dollar less is not.
        edge = sum(costs[:share])
        granted = list(affordable(asks, edge, estimate, PRICES))
        assert granted == asks[:share]
        if granted:
            assert list(affordable(asks, edge - 1, estimate, PRICES)) == granted[:-1]


def test_a_limit_is_read_and_said_in_dollars(prompt):
    asks = make_asks(pd.DataFrame({"item_id": ["i"], "text": ["t"]}), [prompt], "m")
    assert cost_limit(Decimal("0.0012"), asks, PRICES) == 1_200_000_000
    assert reached(1_200_000_000) == "stopped before the next ask could pass the limit of $0.0012"
