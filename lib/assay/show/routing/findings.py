"""What a routing study found, in words computed from its numbers."""

from assay.ask.recorded import FAILED
from assay.measure.certificate import TOO_FEW
from assay.measure.floors import FloorMap
from assay.measure.intervals import Interval, plain_proportion
from assay.measure.metrics import ACCURACY
from assay.measure.pairing import BETTER, WORSE, Difference
from assay.measure.routing import CHEAP, EXPENSIVE, GAIN, ROUTED
from assay.rules import CostTotals, Role, RouteReason, evidence_path, save_routing, saving
from assay.rules.costs import PICO_PER_USD
from assay.show.prompts.gaps import gap, said
from assay.show.routing.following import Followed
from assay.show.routing.opening import NOTHING
from assay.show.words import Words, confidence_words, count, listed, percent, sentence, with_interval

HIDDEN = "Agreement is not correctness."


def earned_words(found: Followed | None) -> Words:
    """Which floors are earned, on which counts; or which bound failed, and by how much."""
    if found is None:
        return Words(NOTHING)
    earned = found.earned
    places = earned.map.measured.size
    overall = found.measured.overall
    errors = found.measured.errors
    same = with_interval(plain_proportion(overall.agreed, overall.measured))
    lost = f"; {count(errors, 'item is', 'items are')} in no rate, since either failed" if errors else ""
    lines = [
        f"Both gave a readable answer to {count(overall.measured, 'item')}, and the same one to {same} of them{lost}.",
        _graded(found),
    ]
    at = f"{_floors(earned.map, earned.nearest)}: {_counted(earned.map, earned.nearest)}"
    allowed = f"at most {percent(earned.max_disagreement_rate)}, on at least {count(earned.min_questions, 'answer')}"
    if earned.at is not None:
        bound = _disagreement(earned.map, earned.at).high
        lines.append(
            f"Earned: the cheap model may answer at {at} (allowed: {allowed}). "
            f"Of {places} candidate floors these serve the most."
            + (
                f" As many answers do not exclude a true rate of up to {percent(bound)}, which is more than allowed."
                if bound > earned.max_disagreement_rate
                else ""
            )
        )
    elif earned.reason is RouteReason.DISAGREEMENT_TOO_HIGH:
        over = (earned.map.rate(earned.nearest) or 0.0) - earned.max_disagreement_rate
        lines.append(
            f"Nothing is earned: at none of {places} candidate floors is disagreement low enough. The bound that fails is "
            f"the disagreement rate ({allowed}). Nearest comes {at}, {gap(ACCURACY, over)} points too many."
        )
    else:
        short = earned.min_questions - int(earned.map.measured[earned.nearest])
        lines.append(
            f"Nothing is earned: none of {places} candidate floors is reached by answers enough. The bound that fails is the "
            f"number of questions ({allowed}). Most are measured at {at}; {count(short, 'answer is', 'answers are')} lacking."
        )
    if earned.too_few is not None and earned.reason is RouteReason.DISAGREEMENT_TOO_HIGH:
        short = earned.min_questions - int(earned.map.measured[earned.too_few])
        lines.append(
            f"Floors that would keep the rate are reached too rarely: {_floors(earned.map, earned.too_few)}: "
            f"{_counted(earned.map, earned.too_few)}, {count(short, 'answer', 'answers')} short of the number asked for."
        )
    return Words(*lines)


def served_words(found: Followed | None) -> Words:
    """What the router served on the judging items, and how often the expensive model would have said something else."""
    if found is None:
        return Words(NOTHING)
    judged, routed = found.judged, found.routed.answers
    failed = int((routed["reason"] == FAILED).sum())
    items = "items that the choice did not see" if found.judged_apart else "items, the same that chose the floors"
    if found.earned.at is None:
        lines = [f"Routing stays off: the expensive model serves all {len(routed):,} {items}."]
    else:
        lines = [
            f"Of {len(routed):,} {items}, the cheap model serves {with_interval(judged.served_cheap)}. On "
            f"{with_interval(judged.disagreed)} of those the expensive model says something else"
            + (
                f", {'within' if judged.disagreed.estimate <= found.earned.max_disagreement_rate else 'above'} the "
                f"{percent(found.earned.max_disagreement_rate)} allowed."
                if judged.disagreed.known
                else "."
            )
        ]
    if failed:
        lines.append(
            f"{count(failed, 'item')} got no answer, since the expensive model's could not be read; none of them "
            "counts as right."
        )
    return Words(*lines)


def labels_words(found: Followed | None) -> Words:
    """Which model is better on labels, what routing does to that, and what agreement is worth as a stand-in."""
    if found is None:
        return Words(NOTHING)
    judged = found.judged
    cheap, dear, routed = (judged.system(name).accuracy for name in (CHEAP, EXPENSIVE, ROUTED))
    alone = _difference(found, CHEAP, EXPENSIVE)
    items = count(cheap.n, "item")
    lines = [
        f"By the labels of {items}, the cheap model ({found.cheap.model}) is right on {with_interval(cheap)} and the expensive "
        f"one ({found.expensive.model}) on {with_interval(dear)}. "
        f"{_verdict(found, CHEAP, EXPENSIVE, ('the cheap model', 'the expensive one'))}"
    ]
    if found.earned.at is not None:
        names = ("the routed system", "the expensive model alone")
        lines.append(
            f"The routed system is right on {with_interval(routed)}. {_verdict(found, ROUTED, EXPENSIVE, names)}"
        )
    else:
        lines.append(_nearest_would(found))
    lines.append(f"{HIDDEN} {_agreement_says(found, alone)}")
    return Words(*lines)


def certificate_words(found: Followed | None) -> Words:
    """The verdict on the routed system against the study's gates, as a policy fixed before the judging items."""
    if found is None:
        return Words(NOTHING)
    certificate = found.judged.certificate
    what = "the routed system" if found.earned.at is not None else "the expensive model, which serves everything,"
    if certificate is None:
        return Words(f"There is no certificate for {what.rstrip(',')}: {found.judged.refusal}.")
    if certificate.mode == TOO_FEW:
        return Words(f"For {what.rstrip(',')}: {certificate.reason}")
    passed = "keeps every gate" if certificate.passed else "is not certified"
    findings = " ".join(sentence(finding.words) for finding in certificate.gates)
    return Words(
        f"Settled before these {count(certificate.tested_items, 'item')} were looked at, {what} {passed}. {findings}"
    )


def cost_words(found: Followed | None) -> Words:
    """What routing costs against always asking the expensive model, with what is not known kept apart."""
    if found is None:
        return Words(NOTHING)
    routed, baseline = (one.ledger.totals() for one in (found.routed, found.baseline))
    twice = found.routed.ledger.totals(role=Role.DISCARDED)
    lines = [f"Always the expensive model: {_total(baseline)}. Routed: {_total(routed)}."]
    saved = saving(baseline, routed)
    if saved is None:
        missing = listed(sorted({*baseline.unpriced_models, *routed.unpriced_models}))
        lines.append(f"No saving is claimed: the price of {missing} is not known, and unknown is not free.")
    elif found.earned.at is not None:
        lines.append(_saved(saved, baseline))
    if twice.calls:
        amount = f", {_usd(twice.known_picousd)} of the total" if not twice.unpriced_calls else ""
        lines.append(
            f"{count(twice.calls, 'question was', 'questions were')} paid for twice{amount}: the cheap answer did not reach "
            "the floors and was thrown away."
        )
    if routed.estimated_calls or baseline.estimated_calls:
        lines.append(
            "Tokens that were not recorded are estimated from the texts at four characters a token; few-shot examples and "
            "system prompts are not in that, so real costs are higher."
        )
    if routed.zero_priced_models:
        lines.append(
            f"The price file gives {listed(routed.zero_priced_models)} a price of 0, which is taken as stated."
        )
    return Words(*lines)


def write_routing(found: Followed | None, path: str) -> Words:
    """Write the routing policy and its evidence where the settings ask for it, and say what they may be used for."""
    if found is None:
        return Words(NOTHING)
    if not path:
        return Words("No routing policy was asked for; the parameter policy names where to write one.")
    save_routing(found.policy, found.evidence, path)
    cheap, dear = found.evidence.cheap, found.evidence.expensive
    origin = confidence_words(cheap.calibration, cheap.elicitation)
    use = (
        "Its mode is off, since nothing was earned: a router that loads it asks the expensive model everything."
        if found.earned.at is None
        else f"A router takes it for {cheap.model} (prompt {cheap.prompt}, {origin} confidences) beside {dear.model}, "
        "and refuses other models, prompts, calibrations and evidence."
    )
    return Words(f"The routing policy was written, and its evidence beside it as {evidence_path(path).name}. {use}")


def headline(found: Followed | None) -> str:
    """Return one sentence for the index of a report."""
    if found is None:
        return NOTHING
    alone = _difference(found, CHEAP, EXPENSIVE)
    if found.earned.at is not None:
        routed, dear = (found.judged.system(name).accuracy.estimate for name in (ROUTED, EXPENSIVE))
        return (
            f"{found.cheap.model} may answer {percent(found.judged.served_cheap.estimate)} of the questions; "
            f"the routed system is right on {percent(routed)}, {found.expensive.model} alone on {percent(dear)}: "
            f"{_short_verdict(_difference(found, ROUTED, EXPENSIVE))}"
        )
    earned = found.earned
    rate = earned.map.rate(earned.nearest)
    why = (
        f"{percent(rate)} disagreement at best, {percent(earned.max_disagreement_rate)} allowed"
        if earned.reason is RouteReason.DISAGREEMENT_TOO_HIGH and rate is not None
        else f"{earned.map.measured[earned.nearest]:,} of {earned.min_questions:,} questions measured"
    )
    better = (
        f", although on labels it is better than {found.expensive.model} by {gap(ACCURACY, alone.difference)} points"
        if alone is not None and alone.verdict == BETTER
        else ""
    )
    return f"{found.cheap.model} earns no question by agreement ({why}){better}"


def _agreement_says(found: Followed, alone: Difference | None) -> str:
    wrong = found.judged.agreed_wrong
    both = (
        f"of the {count(wrong.n, 'item')} on which both say the same, both are wrong on {with_interval(wrong)}"
        if wrong.known
        else "the two never say the same"
    )
    if alone is not None and alone.verdict == BETTER:
        refused = (
            "earns nothing here because it disagrees with a model that is right less often"
            if found.earned.at is None
            else "is held back here wherever it disagrees with a model that is right less often"
        )
        return f"The cheap model {refused}; where there are labels, they decide and not the agreement. And {both}."
    return f"A high rate says that the cheap model stands in for the expensive one, not that either is right: {both}."


def _graded(found: Followed) -> str:
    graded = found.measured.graded
    total = sum(graded.values())
    if not total:
        return ""
    return (
        f"By the labels, of {count(total, 'disagreement')} the cheap model is right in {graded['cheap']:,}, the expensive "
        f"one in {graded['expensive']:,}, and neither in {graded['neither']:,}."
    )


def _difference(found: Followed, a: str, b: str) -> Difference | None:
    """Return the paired difference of accuracy; None where the two are one and the same."""
    try:
        return found.judged.comparison.pair(a, b).of(ACCURACY)
    except KeyError:
        return None


def _verdict(found: Followed, first: str, second: str, names: tuple[str, str]) -> str:
    one = _difference(found, first, second)
    if one is not None and one.verdict == WORSE:
        first, second, names, one = second, first, names[::-1], _difference(found, second, first)
    if one is None:
        return f"{names[0]} is the same as {names[1]}."
    if one.verdict == BETTER:
        return sentence(f"{names[0]} is better than {names[1]} by {said(one)}")
    return f"No detectable difference at this size: {said(one)}."


def _short_verdict(one: Difference | None) -> str:
    if one is None:
        return "the same"
    found = one.verdict in (BETTER, WORSE)
    return f"{one.verdict} by {gap(ACCURACY, abs(one.difference))} points" if found else one.verdict


def _nearest_would(found: Followed) -> str:
    """Say what the floors that come nearest would have done, had they been allowed."""
    rows = found.at_nearest.set_index("figure")
    right, gain = (rows.loc[name].to_dict() for name in ("accuracy", GAIN))
    if not right["served_cheap"] > 0:
        return ""
    low, high = gap(ACCURACY, gain["low"]), gap(ACCURACY, gain["high"])
    return (
        f"Had the floors that come nearest been allowed, the cheap model would have served {percent(right['served_cheap'])} "
        f"and the system been right on {percent(right['estimate'])}: {gap(ACCURACY, gain['estimate'])} points against the "
        f"expensive model alone (95 % interval {low} to {high}, exploratory)."
    )


def _floors(counted: FloorMap, at: tuple[int, int]) -> str:
    confidence, margin = counted.floors(at)
    return f"confidence from {confidence:g} and margin from {margin:g}"


def _counted(counted: FloorMap, at: tuple[int, int]) -> str:
    measured = int(counted.measured[at])
    if not measured:
        return "no answer reaches both"
    disagree = measured - int(counted.agreed[at])
    return f"{disagree:,} of {count(measured, 'answer')} disagree, {with_interval(_disagreement(counted, at))}"


def _disagreement(counted: FloorMap, at: tuple[int, int]) -> Interval:
    measured = int(counted.measured[at])
    return plain_proportion(measured - int(counted.agreed[at]), measured)


def _saved(saved: int, baseline: CostTotals) -> str:
    share = abs(saved) / baseline.known_picousd if baseline.known_picousd else float("nan")
    word = "saves" if saved >= 0 else "costs a further"
    return f"Routing {word} {_usd(abs(saved))}, {percent(share)} of what always asking the expensive model costs."


def _total(totals: CostTotals) -> str:
    """Say what calls cost; of a sum in which a price is lacking, which, and not how small the known part is."""
    if totals.total_usd is not None:
        return str(totals)
    known = f" beyond {_usd(totals.known_picousd)}" if totals.known_picousd else ""
    failed = f"; {count(totals.failed_calls, 'call')} failed" if totals.failed_calls else ""
    return f"{count(totals.calls, 'call')} of unknown cost{known}{failed}"


def _usd(picousd: int) -> str:
    return f"${picousd / PICO_PER_USD:,.4g}"
