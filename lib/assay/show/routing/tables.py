"""The tables of a routing study."""

import pandas as pd

from assay.ask.recorded import FAILED
from assay.measure.floors import Earned
from assay.measure.routing import ROUTED, labelled_figures
from assay.rules import CostLedger, CostTotals, Role, RouteReason
from assay.show.prompts.tables import without_empty
from assay.show.routing.following import Followed
from assay.show.routing.opening import NOTHING
from assay.show.tables import Format, Table
from assay.show.words import Words, percent, short_interval

_ROWS = 10

_REASONS: dict[str, str] = {
    RouteReason.ROUTING_OFF: "routing is off: nothing was earned",
    RouteReason.CHEAP_ACCEPTED: "cheap: reaches both floors",
    RouteReason.ESCALATED_LOW_CONFIDENCE: "expensive: cheap confidence below its floor",
    RouteReason.ESCALATED_NARROW_MARGIN: "expensive: cheap margin below its floor",
    RouteReason.ESCALATED_CHEAP_FAILED: "expensive: cheap answer unreadable",
    FAILED: "no answer: the expensive model failed",
}

_ROLES = {Role.SERVED: "served", Role.SHADOW: "shadow", Role.DISCARDED: "paid for and thrown away"}


def floors_table(found: Followed | None) -> Table | Words:
    """Agreement and graded disagreements over the confidence floors, at the lowest margin floor."""
    if found is None:
        return Words()
    frame = map_frame(found.earned)
    margin = float(found.earned.map.margins[0])
    shown = frame[frame["margin from"] == margin].drop(columns=["margin from", "trusted"]).reset_index(drop=True)
    caption = (
        f"Agreement over the confidence floors at a margin from {margin:g}, and who was right where the two disagree"
    )
    formats: dict[str, Format] = {"confidence from": ".3g", "share that disagrees": _percent}
    return Table(shown, caption=caption, name="floors", formats=formats)


def map_frame(earned: Earned) -> pd.DataFrame:
    """Return one row per pair of floors: counts, rate, who was right where the two disagree, and whether it is trusted."""
    counted = earned.map
    rows = [
        {
            "confidence from": float(confidence),
            "margin from": float(margin),
            "answers": int(counted.measured[c, m]),
            "disagree": int(counted.measured[c, m] - counted.agreed[c, m]),
            "share that disagrees": counted.rate((c, m)),
            **{f"{who} right": int(counts[c, m]) for who, counts in counted.graded.items()},
            "trusted": bool(earned.trusted[c, m]),
        }
        for c, confidence in enumerate(counted.confidences)
        for m, margin in enumerate(counted.margins)
    ]
    frame = pd.DataFrame(rows)
    return frame.astype({"share that disagrees": float})


def systems_table(found: Followed | None) -> Table | Words:
    """Cheap alone, expensive alone and routed, on the same labelled items."""
    if found is None:
        return Words()
    rows = []
    for system in found.judged.systems:
        row: dict[str, object] = {"system": system.name, "items": system.figures.items}
        row["unreadable"] = system.figures.unreadable
        named = labelled_figures(system, found.study.taxonomy)
        row |= {f"{name}, %": short_interval(interval) for name, interval in named.items()}
        rows.append(row)
    off = "" if found.earned.at is not None else f"; with routing off, {ROUTED} is expensive alone"
    caption = f"The systems on labels, each answer taken at its word; in percent with 95 % intervals over items{off}"
    return Table(pd.DataFrame(rows), caption=caption, name="systems")


def reasons_table(found: Followed | None) -> Table | Words:
    """How many items came from which model, and why."""
    if found is None:
        return Words()
    counts = found.routed.answers["reason"].value_counts()
    rows = [
        {
            "who and why": _REASONS.get(str(reason), str(reason)),
            "items": int(number),
            "share": number / len(found.routed.answers),
        }
        for reason, number in counts.items()
    ]
    caption = "Who answered the judging items, and why"
    return Table(pd.DataFrame(rows), caption=caption, name="reasons", formats={"share": _percent})


def costs_table(found: Followed | None) -> Table | Words:
    """Calls, tokens and costs of both ways by model and role."""
    if found is None:
        return Words()
    rows = _cost_rows("always expensive", found.baseline.ledger) + _cost_rows("routed", found.routed.ledger)
    caption = "What the calls come to: failed calls and those without a price are counted apart"
    return Table(pd.DataFrame(rows), caption=caption, name="costs")


def differing_items(found: Followed | None) -> Table | Words:
    """The judging items on which the two disagree, the surest cheap answers first, for reading."""
    if found is None:
        return Words(NOTHING)
    answers = found.answers
    differ = answers[(answers["cheap"] != answers["expensive"]) & answers["cheap"].notna()]
    differ = differ.sort_values("confidence", ascending=False, kind="stable").head(200)
    texts = found.study.items.set_index("item_id")["text"]
    served = found.routed.answers.set_index("item_id")["model"]
    frame = pd.DataFrame(
        {
            "item": differ["item_id"],
            "text": differ["item_id"].map(texts),
            "label": differ["label"],
            "the cheap one says": differ["cheap"],
            "its confidence": differ["confidence"],
            "the expensive one says": differ["expensive"].fillna("unreadable"),
            "right": _who(differ),
            "served": ["cheap" if served[item] == found.cheap.model else "expensive" for item in differ["item_id"]],
        }
    ).reset_index(drop=True)
    if found.earned.at is None:
        frame = frame.drop(columns="served")
    caption = "Items on which the two disagree, the surest cheap answers first"
    return Table(
        without_empty(frame),
        caption=caption,
        name="differing-items",
        formats={"its confidence": ".2f"},
        max_rows=_ROWS,
    )


def _who(differ: pd.DataFrame) -> pd.Series:
    right = pd.Series("neither", index=differ.index)
    right[(differ["expensive"] == differ["label"]).to_numpy(dtype=bool)] = "expensive"
    right[(differ["cheap"] == differ["label"]).to_numpy(dtype=bool)] = "cheap"
    return right


def _cost_rows(way: str, ledger: CostLedger) -> list[dict[str, object]]:
    rows = []
    for model, role in dict.fromkeys((call.model, call.role) for call in ledger.calls):
        totals = ledger.totals(role=role, model=model)
        rows.append(
            {
                "way": way,
                "model": model,
                "calls were": _ROLES[role],
                "calls": totals.calls,
                "failed": totals.failed_calls,
                "without a price": totals.unpriced_calls,
                "tokens read": totals.usage.prompt_tokens,
                "tokens written": totals.usage.completion_tokens,
                "with estimated tokens": totals.estimated_calls,
                "cost": _cost(totals),
            }
        )
    return rows


def _cost(totals: CostTotals) -> str:
    return "unknown" if totals.total_usd is None else f"${totals.total_usd:,.4f}"


def _percent(value: object) -> str:
    return percent(float(value))  # type: ignore[arg-type]
