"""The tables and findings of notebook 10: is the confidence real?"""

from collections.abc import Sequence

import pandas as pd

from assay.measure.agreement import annotator_agreement
from assay.measure.calibration_report import CalibrationReport, by_tag
from assay.measure.classwise import MIN_ITEMS, class_calibration
from assay.measure.clustering import compare_clustering
from assay.measure.intervals import Interval
from assay.measure.phrases import in_words
from assay.show.hygiene import hygiene_findings, hygiene_table
from assay.show.reliability import histograms, reliability
from assay.show.tables import Table
from assay.show.words import Words, bounds, count, listed, short_interval, span, with_interval
from assay.study import Series, Study

FEW = 4
"""Up to so many series are told one by one; of more it is said what they have in common."""

__all__ = [
    "classes",
    "errors",
    "findings",
    "headline",
    "histograms",
    "humans",
    "hygiene_findings",
    "hygiene_table",
    "notes",
    "reliability",
    "repeats",
    "scale_of",
    "scores",
    "subgroups",
]


def errors(reports: Sequence[CalibrationReport]) -> Table:
    """One row per series: how far the stated confidence is off, beside what a calibrated model would show."""
    rows = []
    for report in reports:
        summary, test = report.summary, report.summary.test
        rows.append(
            {
                "series": report.series.name,
                "items": summary.items,
                "answers": summary.answers,
                "unreadable": summary.unreadable,
                "right, %": short_interval(summary.accuracy),
                "mean confidence, %": 100 * summary.confidence,
                "ECE, equal mass": summary.ece_mass,
                "equal width": summary.ece_width,
                "debiased": summary.ece_debiased,
                "smooth ECE": summary.smooth.error,
                "ECE of one answer per item": test.ece if test else None,
                "calibrated: mean": test.calibrated_mean if test else None,
                "calibrated: 95 % under": test.calibrated_high if test else None,
                "p": _p(test.p_value) if test else "not tested",
            }
        )
    three = (
        *("ECE, equal mass", "equal width", "debiased", "smooth ECE", "ECE of one answer per item"),
        *("calibrated: mean", "calibrated: 95 % under"),
    )
    caption = "Calibration errors; the last columns test one answer per item against a calibrated model"
    formats = dict.fromkeys(three, ".3f") | {"mean confidence, %": ".1f"}
    return Table(pd.DataFrame(rows), caption=caption, name="calibration-errors", formats=formats)


def scores(reports: Sequence[CalibrationReport]) -> Table:
    """One row per series: scores, the parts of the Brier score, order, and the calibration line."""
    rows = [
        {
            "series": report.series.name,
            "Brier": bounds(report.summary.brier.interval),
            "miscalibration": report.summary.decomposition.miscalibration,
            "discrimination": report.summary.decomposition.discrimination,
            "uncertainty": report.summary.decomposition.uncertainty,
            "log loss, nats": bounds(report.summary.log_loss.interval),
            "certain and wrong": report.summary.log_loss.certain_and_wrong,
            "AUROC": bounds(report.summary.ranking.auroc),
            "intercept": bounds(report.summary.line.intercept),
            "slope": bounds(report.summary.line.slope),
        }
        for report in reports
    ]
    caption = (
        "Scores with 95 % intervals over items; miscalibration less discrimination plus uncertainty is the Brier score"
    )
    formats = dict.fromkeys(("miscalibration", "discrimination", "uncertainty"), ".3f")
    return Table(pd.DataFrame(rows), caption=caption, name="scores", formats=formats)


def findings(reports: Sequence[CalibrationReport]) -> Words:
    """Say of each series whether its confidence can be taken at its word, and whether it orders answers at all."""
    if len(reports) <= FEW:
        return Words(*(_finding(report) for report in reports))
    rejected = [report.series.name for report in reports if report.rejected]
    over = sum(report.gap > 0 and report.summary.confidence > report.summary.accuracy.high for report in reports)
    under = sum(report.gap < 0 and report.summary.confidence < report.summary.accuracy.low for report in reports)
    areas = [report.summary.ranking.auroc for report in reports if report.summary.ranking.auroc.known]
    telling = sum(area.low > 0.5 for area in areas)
    worst = max(reports, key=lambda report: abs(report.gap))
    return Words(
        f"Of {len(reports)} series, {over} state more than they get right, beyond their intervals, and {under} less. "
        f"Stated on average: {span([report.summary.confidence for report in reports])}; right: "
        f"{span([report.summary.accuracy.estimate for report in reports])}.",
        f"Not calibrated (p at most 0.05, each tested by itself): {listed(rejected, most=20)}."
        if rejected
        else "No series shows a miscalibration that could be detected at this size.",
        f"As a ranking, confidence tells right from wrong in {telling} of {len(areas)} series (AUROC from "
        f"{min(area.estimate for area in areas):.2f} to {max(area.estimate for area in areas):.2f})."
        if areas
        else "",
        f"The widest gap: {_finding(worst)}",
    )


def _finding(report: CalibrationReport) -> str:
    return f"{report.series.name}: {' '.join(report.summary.findings())}"


def notes(reports: Sequence[CalibrationReport]) -> Words | Table:
    """Return what a reader must know of the figures: each remark once, or as a table where they would be a wall."""
    about: dict[str, list[str]] = {}
    for report in reports:
        for note in report.summary.notes:
            about.setdefault(note, []).append(report.series.name)
    if len(about) > FEW < len(reports):
        rows = [{"series": report.series.name, **_by_subject(report.summary.notes)} for report in reports]
        return Table(pd.DataFrame(rows).fillna("none"), caption="What to know of the figures above", name="notes")
    return Words(*(f"{_about(names, len(reports))}: {note}." for note, names in about.items()))


def repeats(reports: Sequence[CalibrationReport]) -> Words:
    """Compare intervals that count items with ones that take repeated answers for independent, for one series."""
    repeated = [report for report in reports if report.judged.repeated]
    if not repeated:
        return Words("Every item has one answer per series, so answers and items are the same count here.")
    return Words(f"{repeated[0].series.name}: {' '.join(compare_clustering(repeated[0].judged).findings())}")


def classes(series: Sequence[Series], names: Sequence[str]) -> Table | Words:
    """Class-wise calibration, for classes of `MIN_ITEMS` items or more."""
    enough = [
        one for one in series if one.answers.drop_duplicates("item_id")["label"].value_counts().max() >= MIN_ITEMS
    ]
    if not enough:
        return Words(f"No class labels {MIN_ITEMS} items or more, so classes by themselves would show only noise.")
    tables = []
    for one in enough:
        labels = one.answers.drop_duplicates("item_id")["label"].value_counts()
        kept = [name for name in names if labels.get(name, 0) >= MIN_ITEMS]
        tables.append(class_calibration(one.answers, kept).assign(series=one.name))
    frame = pd.concat(tables, ignore_index=True)
    shares = zip(frame["frequency"], frame["frequency_low"], frame["frequency_high"], strict=True)
    frame["frequency"] = [bounds(Interval(*share, n=1, n_effective=1.0)) for share in shares]
    shown = frame.drop(columns=["frequency_low", "frequency_high"]).rename(columns=in_words)
    order = ["series", *(name for name in shown.columns if name != "series")]
    three = ("confidence", "brier", "ece", "ece calibrated mean", "ece calibrated high", "p value", "p holm")
    caption = f"Calibration of each class that labels {MIN_ITEMS} items or more; p is adjusted within a series (Holm)"
    return Table(shown[order], caption=caption, name="classes", formats=dict.fromkeys(three, ".3f"))


def subgroups(series: Sequence[Series]) -> Table | Words:
    """Accuracy against mean confidence by every tag of the items."""
    tables = [table for one in series if len(table := by_tag(one))]
    if not tables:
        return Words("The items of this study carry no tags, so there are no subgroups to look at.")
    frame = pd.concat(tables, ignore_index=True)
    frame["accuracy"] = [short_interval(one) for one in frame["accuracy"]]
    return Table(
        frame.rename(columns={"accuracy": "right, %", "confidence": "mean confidence"}),
        caption="Stated confidence against what was right, by tag; a small group has a wide interval",
        name="by-tag",
        formats={"mean confidence": ".3f", "gap": "+.3f"},
        max_rows=400,
    )


def humans(study: Study) -> Words:
    """Say how well people agree on the labels: a ceiling for what a model can be seen to reach."""
    agreements = annotator_agreement(study)
    if not agreements:
        return Words("One label per item: how well people agree, and so how high a model can reach, is not known here.")
    return Words(
        *(
            f"{one.first} and {one.second} give the same label to {with_interval(one.agreement)} of "
            f"{count(one.agreement.n, 'item')} (kappa {one.kappa:.2f})."
            for one in agreements
        )
    )


def headline(reports: Sequence[CalibrationReport]) -> str:
    """Return one sentence for the index of a report."""
    if not reports:
        return "No readable answer"
    worst = max(reports, key=lambda report: abs(report.gap))
    direction = "over" if worst.gap > 0 else "under"
    rejected = sum(report.rejected for report in reports)
    return (
        f"{rejected} of {len(reports)} series are not calibrated (p at most 0.05); widest gap: {worst.series.name}, "
        f"{abs(100 * worst.gap):.0f} points {direction}confident"
    )


def scale_of(study: Study) -> int:
    """Return the scale on which the study's confidences were written, 1 or 100."""
    return int(getattr(study.contract, "scale", 1))


def _by_subject(remarks: Sequence[str]) -> dict[str, str]:
    """Sort remarks such as ``log loss: 2 answers certain and wrong`` by what they are about."""
    found: dict[str, str] = {}
    for remark in remarks:
        subject, told, text = remark.partition(": ")
        subject, text = (subject, text) if told else ("left out", remark.removesuffix(" left out"))
        found[subject] = f"{found[subject]}; {text}" if subject in found else text
    return found


def _about(names: Sequence[str], of: int) -> str:
    if len(names) == of > 1:
        return "Every series"
    return listed(names, most=4)


def _p(value: float) -> str:
    return "< 0.001" if value < 0.001 else f"{value:.3f}"
