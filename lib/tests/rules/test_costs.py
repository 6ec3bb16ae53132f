import json
import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.rules.answers import Answer, Question
from assay.rules.calls import Call, Role, estimate_usage
from assay.rules.classifier import Reply, Usage
from assay.rules.costs import CostLedger, Price, PriceSheet, add_up, load_prices, saving
from assay.rules.documents import DocumentError

SHEET = PriceSheet({"small": Price(200_000, 800_000), "house": Price(0, 0)})
LANG = Question.choice("Which language?", {"en": "English", "fr": "French"})

usages = st.builds(Usage, st.integers(0, 10**7), st.integers(0, 10**5), st.booleans())
calls = st.builds(
    Call,
    model=st.sampled_from(["small", "house", "unheard-of"]),
    role=st.sampled_from(Role),
    questions=st.just(("lang",)),
    answered=st.just(True),
    usage=usages,
)
failed = st.builds(
    Call,
    model=st.sampled_from(["small", "unheard-of"]),
    role=st.sampled_from(Role),
    questions=st.just(("lang",)),
    answered=st.just(False),
)
ledgers = st.lists(st.one_of(calls, failed), max_size=12)


def answered(model: str, prompt: int = 1000, completion: int = 50, role: str = "served", **usage: bool) -> Call:
    return Call(model, Role(role), ("lang",), True, Usage(prompt, completion, **usage))


def ledger(*entries: Call, prices: PriceSheet = SHEET) -> CostLedger:
    book = CostLedger(prices)
    for one in entries:
        book.record(one)
    return book


@given(ledgers, ledgers)
def test_totals_of_two_parts_add_up(first, second):
    whole, left, right = (add_up(part, SHEET) for part in (first + second, first, second))
    for name in ("calls", "known_picousd", "unpriced_calls", "failed_calls", "estimated_calls"):
        assert getattr(whole, name) == getattr(left, name) + getattr(right, name)


@given(ledgers)
def test_the_roles_split_the_total(entries):
    book = ledger(*entries)
    assert book.totals().known_picousd == sum(book.totals(role=role).known_picousd for role in Role)
    assert book.totals().calls == sum(book.totals(role=role).calls for role in Role)


@given(ledgers)
def test_a_total_is_known_exactly_when_every_call_is_priced(entries):
    totals = add_up(entries, SHEET)
    unpriced = sum(one.answered and one.model == "unheard-of" for one in entries)
    assert totals.unpriced_calls == unpriced
    assert (totals.total_picousd is None) is (unpriced > 0)


@given(st.dictionaries(st.text(max_size=5), st.builds(Price, st.integers(0, 10**9), st.integers(0, 10**9)), max_size=4))
def test_a_price_sheet_comes_back_from_json_as_it_was(prices):
    sheet = PriceSheet(prices)
    assert PriceSheet.from_json(sheet.to_json()) == sheet


def test_dollars_per_million_in_micro_dollars_are_pico_dollars_per_token():
    sheet = PriceSheet.from_json('{"m": {"input_per_million": 0.075, "output_per_million": 15}}')
    assert sheet.price("m") == Price(75_000, 15_000_000)
    assert sheet.price("m").cost(Usage(10**6, 0)) == 75_000 * 10**6
    assert ledger(answered("m", 10**6, 0), prices=sheet).totals().total_usd == Decimal("0.075")


def test_a_price_is_read_as_the_decimal_it_is_written_as():
    # In doubles, 1.005 * 1e6 falls short of 1005000.
    sheet = PriceSheet.from_json('{"m": {"input_per_million": 1.005, "output_per_million": 1.5e-5}}')
    assert sheet.price("m") == Price(1_005_000, 15)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"m": {"input_per_million": 1}}', "prices.m.output_per_million is missing"),
        (
            '{"m": {"input_per_million": -1, "output_per_million": 1}}',
            "prices.m.input_per_million must be a number of at",
        ),
        ('{"m": {"input_per_million": "1", "output_per_million": 1}}', "at least 0, got '1'"),
        ('{"m": {"input_per_million": true, "output_per_million": 1}}', "at least 0, got True"),
        ('{"m": {"input_per_million": null, "output_per_million": 1}}', "at least 0, got null"),
        ('{"m": {"input_per_million": 0.0000001, "output_per_million": 1}}', "at most six decimals"),
        ('{"m": {"input_per_million": 1, "output_per_million": 1, "input": 1}}', "prices.m: unknown field 'input'"),
        ('{"m": 3}', "prices.m must be an object, got a number"),
        ('{"m": {}, "m": {}}', "prices: field 'm' is given twice"),
        ("", "prices is not JSON"),
    ],
)
def test_a_broken_price_file_is_refused_by_field(text, message):
    with pytest.raises(DocumentError) as refused:
        PriceSheet.from_json(text)
    assert message in str(refused.value)


def test_a_price_file_is_read_from_its_path_and_named_where_it_is_wrong(tmp_path):
    file = tmp_path / "prices.json"
    sheet = PriceSheet({"m": Price(150_000, 600_000)})
    file.write_text("\ufeff" + sheet.to_json(), encoding="utf-8")
    assert load_prices(file) == sheet
    for content, said in (
        (b'{"m": {"input_per_million": 1}}', r"prices\.json: prices\.m\.output_per_million"),
        ("{} \u00e9".encode("latin-1"), r"prices\.json: not UTF-8 text \(byte 4\)"),
    ):
        file.write_bytes(content)
        with pytest.raises(DocumentError, match=said):
            load_prices(str(file))
    with pytest.raises(DocumentError, match=r"none\.json: cannot be read \(No such file"):
        load_prices(tmp_path / "none.json")


def test_a_model_without_a_price_is_unknown_and_not_free():
    totals = ledger(answered("small"), answered("unheard-of")).totals()
    assert totals.total_picousd is None
    assert totals.known_picousd == 1000 * 200_000 + 50 * 800_000
    assert totals.unpriced_models == ("unheard-of",)
    assert str(totals).startswith("at least $0.00024 for 2 calls; 1 call without a price (unheard-of)")


def test_a_price_of_zero_is_a_price():
    totals = ledger(answered("house")).totals()
    assert totals.total_picousd == 0
    assert totals.zero_priced_models == ("house",)
    assert str(totals) == "$0 for 1 call"


def test_without_a_price_sheet_every_model_is_unpriced():
    assert ledger(answered("small"), prices=PriceSheet({})).totals().total_usd is None


def test_a_failed_call_is_counted_apart_from_an_unpriced_one():
    book = ledger(answered("unheard-of"), Call("unheard-of", Role.SERVED, ("lang",), False, error="Transient"))
    totals = book.totals()
    assert (totals.calls, totals.unpriced_calls, totals.failed_calls) == (2, 1, 1)


def test_a_failed_call_that_reports_its_tokens_is_paid_for():
    call = Call("small", Role.SERVED, ("lang",), False, Usage(1000, 0), error="Rejected")
    assert ledger(call).totals().known_picousd == 200_000_000


def test_a_budget_is_kept_only_by_a_total_that_is_known():
    known = answered("small")
    assert ledger(known).totals().within_budget(0.001) is True
    assert ledger(known, answered("unheard-of")).totals().within_budget(0.001) is None
    assert ledger(known, answered("unheard-of")).totals().within_budget(0.0001) is False


def test_a_budget_of_exactly_the_total_is_kept():
    totals = ledger(answered("small", 500_000, 0)).totals()
    assert totals.within_budget(0.1) is True
    assert totals.within_budget(Decimal("0.0999999999")) is False


@pytest.mark.parametrize("budget", [math.nan, math.inf, -1, "1", None, True])
def test_a_budget_that_is_no_amount_is_refused(budget):
    with pytest.raises(ValueError, match="budget_usd must be a number of at least 0"):
        ledger().totals().within_budget(budget)


def test_no_saving_is_claimed_on_an_unknown_price():
    known, unknown = ledger(answered("small")).totals(), ledger(answered("unheard-of")).totals()
    assert saving(known, known) == 0
    assert saving(known, unknown) is None
    assert saving(unknown, known) is None
    assert saving(known, ledger(answered("house")).totals()) == known.known_picousd


def test_an_estimate_is_four_characters_a_token_rounded_up_and_marked():
    bare = estimate_usage("", {"q": Question.noul("abc")})
    assert bare == Usage(4, 0, estimated=True)  # 1 + 3 + "true" and "false": 13 characters
    assert estimate_usage("abcd", {"q": Question.noul("abc")}).prompt_tokens == 5
    assert estimate_usage("", {"q": Question.noul("abc")}, Reply({}, text_chars=9)).completion_tokens == 3


def test_an_estimate_counts_what_each_question_says():
    said = sum(map(len, ("lang", "Which language?", "en", "English", "fr", "French")))
    assert estimate_usage("", {"lang": LANG}).prompt_tokens == math.ceil(said / 4)


def test_a_reply_without_a_text_is_as_long_as_its_answers():
    answers = {"lang": Answer("choice", "en", 0.9, {"en": 0.9, "fr": 0.1})}
    written = {"answers": {"lang": {"value": "en", "probabilities": {"en": 0.9, "fr": 0.1}}}}
    assert estimate_usage("", {"lang": LANG}, Reply(answers)).completion_tokens == math.ceil(
        len(json.dumps(written)) / 4
    )


def test_estimated_calls_are_counted():
    totals = ledger(answered("small"), answered("small", estimated=True)).totals()
    assert totals.estimated_calls == 1
    assert "1 call with estimated tokens" in str(totals)


def test_totals_can_be_taken_of_one_model():
    book = ledger(answered("small"), answered("unheard-of"))
    assert book.totals(model="small").total_picousd == 240_000_000


def test_a_call_that_was_answered_needs_its_tokens():
    with pytest.raises(ValueError, match="usage is needed"):
        Call("small", Role.SERVED, ("lang",), True)


@pytest.mark.parametrize("tokens", [-1, 1.5, True, "3", None])
def test_tokens_that_are_no_count_are_refused(tokens):
    with pytest.raises(ValueError, match=r"usage\.prompt_tokens must be a whole number"):
        Usage(tokens, 0)


@pytest.mark.parametrize("price", [-1, 0.2, True])
def test_a_price_that_is_no_whole_number_is_refused(price):
    with pytest.raises(ValueError, match=r"price\.input must be a whole number of pico-USD"):
        Price(price, 0)


@pytest.mark.parametrize("dollars", ["1" * 40 + ".5", "1" + "0" * 300, "0.000001", "12.5", "0"])
def test_a_price_of_any_length_is_read_to_its_last_digit(dollars):
    sheet = PriceSheet.from_json(f'{{"m": {{"input_per_million": {dollars}, "output_per_million": 0}}}}')
    assert sheet.prices["m"].input == Fraction(dollars) * 10**6
    assert PriceSheet.from_json(sheet.to_json()) == sheet


@pytest.mark.parametrize(
    "dollars", ["0.0000001", "1.000000" + "0" * 30 + "1", "1." + "0" * 500 + "1", "1e-7", "1e-300", "2e-" + "8" * 100]
)
def test_a_price_finer_than_a_pico_dollar_is_never_rounded(dollars):
    with pytest.raises(DocumentError, match=r"^prices.*(whole number of micro-USD|too small)"):
        PriceSheet.from_json(f'{{"m": {{"input_per_million": {dollars}, "output_per_million": 0}}}}')
