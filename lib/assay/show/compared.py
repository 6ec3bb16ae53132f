"""Every series side by side: what the notebooks' records say of each, put together for the index of a report.

Notebook 10 records what the confidence of a series is worth and notebook 90 what may be done with it, each under
``compared`` in its record, as plain numbers. Confidences of different origin are never pooled: a series has one.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from assay.measure.calibration_report import CalibrationReport
from assay.measure.intervals import Interval
from assay.measure.phrases import in_words
from assay.measure.tuning import Tuned
from assay.show.tables import Table
from assay.show.words import bounds, short_interval
from assay.study import Series

COMPARED = "compared"
"""Entry of a record that holds these rows."""

Row = Mapping[str, Any]


def confidence_rows(reports: Iterable[CalibrationReport]) -> list[dict[str, object]]:
    """What the confidence of each series is worth, for the record of notebook 10."""
    return [
        {
            **_names(report.series),
            "items": report.summary.items,
            "right": report.summary.accuracy,
            "stated": report.summary.confidence,
            "ece": report.summary.ece_mass,
            "auroc": report.summary.ranking.auroc,
            "calibrated": None if report.summary.test is None else not report.rejected,
        }
        for report in reports
    ]


def decision_rows(tuned: Iterable[Tuned], leading: Iterable[Tuned]) -> list[dict[str, object]]:
    """What may be done with the confidence of each series, for the record of notebook 90.

    Parameters
    ----------
    tuned : iterable of Tuned
    leading : iterable of Tuned
        Those among them that stand for their kind of confidence.
    """
    first = {one.series.name for one in leading}
    return [
        {
            **_names(one.series),
            "verdict": one.certificate.verdict,
            "threshold": one.threshold,
            "tie_margin": one.tie_margin,
            "coverage": one.figures.coverage,
            "leading": one.series.name in first,
        }
        for one in tuned
    ]


def joined_rows(rows: Iterable[Row]) -> list[dict[str, Any]]:
    """Put the rows of a study together, one per series, in the order in which they are met."""
    found: dict[str, dict[str, Any]] = {}
    for row in rows:
        found.setdefault(str(row.get("series", "")), {}).update(row)
    return list(found.values())


def side_by_side(studies: Mapping[str, Sequence[Row]]) -> Table | None:
    """One row for each study and kind of confidence: how many series, and the one that leads them.

    Parameters
    ----------
    studies : mapping of str to sequence of mappings
        `joined_rows` by the name of the study.

    Returns
    -------
    Table or None
        None where nothing is recorded.
    """
    lines = []
    for study, rows in studies.items():
        kinds: dict[str, list[Row]] = {}
        for row in rows:
            kinds.setdefault(str(row.get("confidence", "")), []).append(row)
        for kind, own in kinds.items():
            # Where no policy was tuned, the first series stands for the others.
            first = next((row for row in own if row.get("leading")), own[0])
            tested = [row["calibrated"] for row in own if row.get("calibrated") is not None]
            verdicts = [row["verdict"] for row in own if row.get("verdict")]
            lines.append(
                {
                    "study": study,
                    "confidence": kind,
                    "right, %": _share(first.get("right")),
                    "stated, %": _stated(first),
                    "not calibrated": f"{tested.count(False)} of {len(tested)}" if tested else None,
                    "certified": f"{verdicts.count('pass')} of {len(verdicts)}" if verdicts else None,
                    "acts on, %": _acts_on(first),
                    "leading series": first.get("series"),
                    **_finer(first),
                }
            )
    return _table(lines, "Studies and kinds of confidence side by side; figures of the leading series", "side-by-side")


def all_series(study: str, rows: Sequence[Row]) -> Table | None:
    """One row for each series of a study; None where nothing is recorded."""
    lines = [
        {
            "series": row.get("series"),
            "confidence": row.get("confidence"),
            "right, %": _share(row.get("right")),
            "stated, %": _stated(row),
            "verdict": row.get("verdict"),
            "acts on, %": _acts_on(row),
            **_finer(row),
        }
        for row in rows
    ]
    return _table(lines, f"Every series of {study}", "every-series")


def _names(series: Series) -> dict[str, object]:
    kind = series.elicitation or series.calibration
    return {"series": series.name, "confidence": in_words(kind)}


def _stated(row: Row) -> str | None:
    return None if row.get("stated") is None else f"{100 * row['stated']:.1f}"


def _acts_on(row: Row) -> str | None:
    """Coverage of a certified policy; that of a point which promises nothing is not to be compared."""
    return _share(row.get("coverage")) if row.get("verdict") == "pass" else None


def _finer(row: Row) -> dict[str, object]:
    return {"AUROC": _ratio(row.get("auroc")), "ECE": row.get("ece"), "items": row.get("items")}


def _table(lines: Sequence[dict[str, object]], caption: str, name: str) -> Table | None:
    if not lines:
        return None
    return Table(pd.DataFrame(lines), caption=caption, name=name, formats={"ECE": ".3f", "items": ",.0f"})


def _share(recorded: Row | None) -> str | None:
    interval = _interval(recorded)
    return None if interval is None else short_interval(interval)


def _ratio(recorded: Row | None) -> str | None:
    interval = _interval(recorded)
    return None if interval is None else bounds(interval)


def _interval(recorded: Row | None) -> Interval | None:
    """Read an interval from a record; one that says nothing has nulls."""
    try:
        interval = Interval(**(recorded or {}))
        return interval if interval.known and interval.estimate is not None else None
    except TypeError:
        return None
