"""What recalibrating would mend: maps fitted on the tuning part and judged on the other."""

from collections.abc import Sequence

import pandas as pd

from assay.measure.intervals import Interval
from assay.measure.recalibration_report import JudgedMap
from assay.show.tables import Table
from assay.show.words import Words, listed

NOTHING = "No series has right and wrong answers in both parts, so no map can be fitted and judged."


def recalibration_table(maps: Sequence[JudgedMap]) -> Table | Words:
    """One row per series and map, judged on items that it was not fitted on."""
    if not maps:
        return Words(NOTHING)
    rows = []
    for one in maps:
        row: dict[str, object] = {"series": one.series, "map": one.kind, "favoured": "yes" if one.favoured else ""}
        if one.verdict is not None:
            row |= {
                "ECE before": one.verdict.ece_before,
                "ECE after": one.verdict.ece_after,
                "Brier before": one.verdict.brier_before,
                "change of Brier": _change(one.verdict.brier_change),
                "log loss before": one.verdict.log_loss_before,
                "change of log loss": _change(one.verdict.log_loss_change),
                "outside the fitted range": one.verdict.extrapolated,
            }
        rows.append(row | {"note": one.note})
    three = ("ECE before", "ECE after", "Brier before", "log loss before")
    caption = "Maps fitted on the tuning part and judged on the certification part; a change below 0 is better"
    return Table(pd.DataFrame(rows), caption=caption, name="recalibration", formats=dict.fromkeys(three, ".3f"))


def recalibration_findings(maps: Sequence[JudgedMap]) -> Words:
    """Say for which series the map that the tuning part favours makes the other part better, beyond chance."""
    favoured = [one for one in maps if one.favoured]
    helped = [one.series for one in favoured if one.helps]
    unshown = [one.series for one in favoured if not one.helps]
    left = [name for name in dict.fromkeys(one.series for one in maps) if name not in {one.series for one in favoured}]
    return Words(
        f"The favoured map lowers the Brier score of the other part beyond chance for {listed(helped)}."
        if helped
        else "",
        f"For {listed(unshown)} the favoured map changes nothing that this many items could show." if unshown else "",
        f"For {listed(left)} the tuning part favours the confidences as they were stated." if left else "",
    )


def _change(interval: Interval) -> str:
    return f"{interval.estimate:+.4f} ({interval.low:+.4f}, {interval.high:+.4f})"
