"""A model missing from the price file, as users met it: https://github.com/BerriAI/litellm/issues/25874."""

import json
from decimal import Decimal
from pathlib import Path

import pytest

from assay.rules.calls import Call, Role
from assay.rules.classifier import Usage
from assay.rules.costs import CostLedger, CostTotals, PriceSheet

HERE = Path(__file__).parent


@pytest.fixture
def totals() -> CostTotals:
    ledger = CostLedger(PriceSheet.from_json((HERE / "prices.json").read_text(encoding="utf-8")))
    for line in (HERE / "calls.jsonl").read_text(encoding="utf-8").splitlines():
        call = json.loads(line)
        usage = Usage(call["prompt_tokens"], call["completion_tokens"])
        ledger.record(Call(call["model"], Role.SERVED, (call["id"],), True, usage))
    return ledger.totals()


def test_a_total_with_an_unpriced_model_is_at_least_its_known_part(totals):
    (check,) = json.loads((HERE / "expected.json").read_text(encoding="utf-8"))["checks"]
    got = {
        "total_cost": totals.total_usd,
        "known_cost": pytest.approx(float(totals.known_usd), abs=check["tolerance"]),
        "unpriced_models": list(totals.unpriced_models),
        "zero_priced_models": list(totals.zero_priced_models),
        "within_budget": totals.within_budget(check["budget"]),
    }
    assert check["expect"] == got
    assert all(got[name] != faulty for name, faulty in check["must_not"].items())


def test_the_known_part_is_exact(totals):
    assert totals.known_usd == Decimal("0.00068")
    assert str(totals) == "at least $0.00068 for 4 calls; 1 call without a price (big-model-v9)"
