"""The parts of the page that a safety reviewer reads and signs (notebook 90)."""

from collections.abc import Mapping, Sequence

import pandas as pd

from assay.measure.binomial import FAIL, PASS, UNDECIDED
from assay.measure.decide import decide_table
from assay.measure.figures import confusion, decision_figures, misroutes
from assay.measure.operating import gate_name, named_figures, worst_slack
from assay.measure.phrases import kinds_in_words
from assay.measure.planning import labels_needed
from assay.measure.tuning import CERTIFIED, Tuned
from assay.show.misroutes import misroute_frame
from assay.show.opening import Opened
from assay.show.tables import Table
from assay.show.thresholds import HOW
from assay.show.words import Words, confidence_words, count, dates, listed, listed_series, percent, short_interval
from assay.study import Series

STEPS = (-0.10, -0.05, 0.0, 0.05, 0.10)
"""How far around the operating point the sensitivity table looks, in thresholds and in tie margins."""

MOST_CLASSES = 12
MOST_PAIRS = 25
FEW = 3

VERDICT_WORDS = {PASS: "Certified", UNDECIDED: "Undecided", FAIL: "Failed"}


def evaluated(opened: Opened) -> Table:
    """What was evaluated: a row per series with its prompt, dates and counts."""
    rows = []
    for series in opened.series:
        answers = series.answers
        digest = opened.whole.prompt_sha256(series.prompt)
        rows.append(
            {
                "model": series.model,
                "prompt": series.prompt,
                "prompt sha256": digest[:12] if digest else "not kept",
                "confidence": confidence_words(series.calibration, series.elicitation),
                "asked": dates(answers["asked_at"].dropna() if "asked_at" in answers else ()),
                "items": series.items,
                "answers": len(answers),
                "unreadable": int(answers["error"].notna().sum()),
                "why unreadable": kinds_in_words(answers["error"].value_counts().to_dict()),
            }
        )
    caption = "Prompts, dates and unreadable answers, one row per series"
    # The opening counts them in a table of its own.
    counted = ("items", "answers", "unreadable")
    return Table(pd.DataFrame(rows), caption=caption, name="evaluated", hidden=counted)


def verdicts(tuned: Sequence[Tuned]) -> Words:
    """Say the verdict of each series; of many with one verdict, how many there are and the one that leads them."""
    paragraphs = []
    for verdict in (PASS, UNDECIDED, FAIL):
        alike = [one for one in tuned if one.certificate.verdict == verdict]
        about: dict[str, list[Series]] = {}
        for one in alike:
            about.setdefault(one.certificate.reason, []).append(one.series)
        if len(about) <= FEW:
            paragraphs += [f"{listed_series(own)}: {reason}" for reason, own in about.items()]
            continue
        first = max(alike, key=_merit)
        leads = "With the most coverage" if verdict == PASS else "Closest to its gates"
        paragraphs.append(
            f"{VERDICT_WORDS[verdict]}: {len(alike)} of {count(len(tuned), 'series', 'series')}, each with its bounds in the "
            f"table. {leads}, {first.series.name}: {first.certificate.reason}"
        )
    return Words(*paragraphs)


def selection(tuned: Sequence[Tuned], opened: Opened) -> Words:
    """How many policies and prompts were tried, and what kept the choice off the items that judge it."""
    models, prompts = (opened.study.answers[name].nunique() for name in ("model", "prompt"))
    candidates = sum(one.certificate.candidates for one in tuned)
    tested = sum(one.certificate.candidates_tested for one in tuned)
    passed = sum(one.certificate.candidates_passed for one in tuned)
    split = [one.certificate for one in tuned if one.certificate.tuning_items]
    paragraphs = [
        f"{count(models, 'model')}, {count(prompts, 'prompt')}, {count(len(tuned), 'series', 'series')}; "
        f"{count(candidates, 'candidate policy', 'candidate policies')} that the counts tell apart, of which {tested:,} "
        f"{'was' if tested == 1 else 'were'} tested and {passed:,} passed.",
    ]
    if split:
        sizes = sorted({f"{one.tuning_items:,} items to tune, {one.tested_items:,} to certify" for one in split})
        paragraphs.append(
            "Candidates were put in order on the tuning items alone and tested on the certification items in that order, "
            f"until the first that failed ({listed(sizes)}; "
            f"split by a hash of the item id and seed {opened.whole.seed}). The chance of certifying a policy that misses a "
            "gate is at most the stated delta for each series by itself."
        )
        if len(tuned) > 1:
            paragraphs.append(
                f"The {len(tuned)} series are certified apart. Picking the best of several certified series afterwards "
                f"spends the allowance {len(tuned)} times over: with that in mind, each should be tested at delta divided by "
                f"{len(tuned)}."
            )
    else:
        paragraphs.append(
            "There are too few labels for any split, so nothing was tested: every figure describes all items, and the point "
            "shown was picked on the very items it is shown on."
        )
    return Words(*paragraphs)


def leading(tuned: Sequence[Tuned]) -> list[Tuned]:
    """Pick the series that the details describe: for each kind of confidence, the certified one with most coverage.

    Where none is certified, the one whose gates come closest to their targets.
    """
    best: dict[tuple[str, str], Tuned] = {}
    for one in tuned:
        kind = (one.series.calibration, one.series.elicitation)
        if kind not in best or _merit(one) > _merit(best[kind]):
            best[kind] = one
    return list(best.values())


def leading_words(chosen: Sequence[Tuned], tuned: Sequence[Tuned]) -> Words:
    """Say which series the details below describe, and why."""
    return Words(
        *(
            f"Details for {confidence_words(one.series.calibration, one.series.elicitation)} confidence: {one.series.name}, "
            f"threshold {one.threshold:.3g}, tie margin {one.tie_margin:.3g} ({HOW[one.how]}). "
            + (
                "Of its certified policies, the one with the most coverage on the tuning part."
                if one.how == CERTIFIED
                else f"Of {len(tuned)} series, its observed figures come closest to the gates; it carries no promise."
            )
            for one in chosen
        )
    )


def decisions(one: Tuned) -> Table:
    """Decisions by label with counts, abstentions last; of many classes, the pairs that are confused most."""
    counts = confusion(one.table, decide_table(one.table, one.threshold, one.tie_margin))
    abstain = one.table.taxonomy.abstain
    if len(counts) > MOST_CLASSES:
        return _confused(one, counts, abstain)
    last = [abstain] if abstain in counts.columns else []
    counts = counts[[name for name in counts.columns if name not in last] + last]
    frame = counts.reset_index(names="label")
    frame["all"] = frame.drop(columns="label").sum(axis=1)
    caption = f"What was decided (columns) for items of each label (rows): {one.series.name}, counts of answers"
    return Table(frame, caption=caption, name="decisions")


def dangerous(one: Tuned, opened: Opened) -> Table | Words:
    """Every dangerous misroute at the operating point, with the question, the decision and why."""
    found = misroutes(one.series.answers, one.table.taxonomy, one.threshold, one.tie_margin)
    if found.empty:
        return Words(f"{one.series.name}: no dangerous misroute among {count(len(one.table), 'answer')}.")
    frame = misroute_frame(found, opened.study.items.set_index("item_id")["text"])
    if one.series.repeated:
        frame["run"] = found["run"].to_numpy()
    caption = f"Dangerous misroutes: {one.series.name}, {len(frame):,} of {len(one.table):,} answers"
    return Table(frame, caption=caption, name="misroutes", max_rows=60, formats={"confidence": ".2f"})


def subgroups(one: Tuned) -> Table | Words:
    """The gates' figures at the operating point for every value of every tag."""
    answers = one.series.answers
    rows = []
    for tag in [name for name in answers.columns if name.startswith("tag_")]:
        for value, group in answers[answers[tag].fillna("") != ""].groupby(tag, observed=True):
            figures = decision_figures(
                group, one.table.taxonomy, one.threshold, one.tie_margin, classes=one.table.taxonomy.gated
            )
            named = named_figures(figures, one.gates)
            row: dict[str, object] = {"tag": tag.removeprefix("tag_"), "value": value, "items": figures.items}
            rows.append(row | {f"{name}, %": short_interval(interval) for name, interval in named.items()})
    if not rows:
        return Words("The items carry no tags, so there are no subgroups to look at.")
    caption = f"Subgroups at the operating point: {one.series.name}; shares in percent with 95 % intervals over items"
    return Table(pd.DataFrame(rows), caption=caption, name="subgroups")


def sensitivity(one: Tuned) -> Table:
    """The figures a little away from the operating point: how much hangs on its exact place."""
    rows = []
    for name, base, other in (
        ("threshold", one.threshold, one.tie_margin),
        ("tie margin", one.tie_margin, one.threshold),
    ):
        for value in sorted({round(min(1.0, max(0.0, base + step)), 9) for step in STEPS}):
            point = (value, other) if name == "threshold" else (other, value)
            figures = decision_figures(one.table, one.table.taxonomy, *point, classes=one.table.taxonomy.gated)
            row: dict[str, object] = {
                "moved": name,
                "threshold": point[0],
                "tie margin": point[1],
                "here": "operating point" if value == base else "",
            }
            named = named_figures(figures, one.gates)
            rows.append(row | {f"{key}, %": short_interval(interval) for key, interval in named.items()})
    caption = f"Around the operating point: {one.series.name}; one setting moved at a time"
    formats = {"threshold": ".3g", "tie margin": ".3g"}
    return Table(pd.DataFrame(rows), caption=caption, name="sensitivity", formats=formats)


def limits(opened: Opened, tuned: Sequence[Tuned]) -> Words:
    """What the data cannot show."""
    study = opened.whole
    labels = opened.study.items["label"].value_counts()
    lines = [
        f"Labels: {count(len(opened.study.items), 'item')} in {count(len(labels), 'class', 'classes')}, from "
        f"{int(labels.min()):,} to {int(labels.max()):,} a class. A figure of a class of few items has a wide interval however "
        "many answers there are.",
    ]
    if study.prevalence is None:
        lines.append(
            "Coverage, accepted accuracy and over-restriction depend on how often each class is asked for. The mix here is the "
            "test set's, not production's; class accuracy and caught do not depend on it."
        )
    if any(one.series.repeated for one in tuned):
        lines.append("Items were asked several times; gates count one answer per item, and intervals count items.")
    if any(not opened.whole.prompt_sha256(series.prompt) for series in opened.series):
        lines.append(
            "The text of some prompts is not kept with the data, so which prompt was certified cannot be checked."
        )
    lines.append(
        "The certificate is about items drawn like these from the same source. It says nothing of another model version, "
        "prompt, kind of confidence or population of questions."
    )
    return Words(*lines)


def drift_plan(tuned: Sequence[Tuned]) -> Words:
    """How the policy is to be watched, with the labels that a fall would take to be seen."""
    lines = [
        "Label a steady sample of production answers, keep them in one growing file, and run assay check on it as often as "
        "wanted: its bound allows for looking repeatedly."
    ]
    for gate in tuned[0].gates:
        hoped = min(0.999, (1 + gate.target) / 2)
        needed = labels_needed(gate.target, hoped, gate.delta)
        lines.append(
            f"{gate_name(gate)}: showing {percent(gate.target, 0)} afresh takes about {_labels(needed)} if the true rate is "
            f"{percent(hoped)}; a true rate further below the target is seen with fewer."
        )
    lines.append("A new model version, prompt or kind of confidence ends the policy at once: it is refused by name.")
    return Words(*lines)


def provenance(facts: Mapping[str, object]) -> Table:
    """Where everything came from: one row per fact."""
    rows = [{"what": name, "value": "not known" if value is None else str(value)} for name, value in facts.items()]
    return Table(pd.DataFrame(rows), caption="Provenance", name="provenance")


def _confused(one: Tuned, counts: pd.DataFrame, abstain: str) -> Table:
    """One row for each label and each other class decided for it, the most frequent first."""
    long = counts.rename_axis("label").reset_index().melt("label", var_name="decided", value_name="answers")
    of_label = long["label"].map(counts.sum(axis=1))
    wrong = long["label"] != long["decided"]
    acted = long["decided"] != abstain
    right, asked = (int(long.loc[rows, "answers"].sum()) for rows in (~wrong & acted, ~acted))
    frame = long.assign(**{"of the label's answers": long["answers"] / of_label})[wrong & acted & (long["answers"] > 0)]
    frame = frame.sort_values(["answers", "label", "decided"], ascending=[False, True, True], ignore_index=True)
    caption = (
        f"Classes taken for another, the most frequent first: {one.series.name}, {int(frame['answers'].sum()):,} of "
        f"{len(one.table):,} answers ({right:,} are decided right, {asked:,} abstain)"
    )
    formats = {"of the label's answers": ".1%"}
    return Table(frame, caption=caption, name="decisions", formats=formats, max_rows=MOST_PAIRS)


def _merit(one: Tuned) -> tuple[bool, float, float]:
    """What makes a series the one to look at: certified with more coverage, else closer to its gates and more right."""
    t, m = one.counts.at(one.threshold, one.tie_margin)
    slack = min(0.0, float(worst_slack(one.counts, one.gates)[t, m]))
    right = float(one.counts.accepted_accuracy()[0][t, m]) / one.counts.total
    if one.certificate.passed:
        return True, one.certificate.tuning_coverage.estimate, right
    return False, slack, right


def _labels(needed: int | None) -> str:
    return "more than 10,000 labels" if needed is None else count(needed, "label")
