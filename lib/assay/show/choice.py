"""How firm an operating point is, and what it comes to under another mix of questions."""

from collections.abc import Sequence

import pandas as pd

from assay.measure.bootstrap import bootstrap_choice
from assay.measure.mix import mix_of
from assay.measure.operating import gate_name
from assay.measure.tuning import Tuned
from assay.show.tables import Table
from assay.show.words import Words, percent, short_interval
from assay.study import Study

DRAWS = 100


def firmness(tuned: Sequence[Tuned], seed: int) -> Table:
    """Where the best point falls when the items are drawn again, and what it does on the items left out."""
    rows = []
    for one in tuned:
        drawn = bootstrap_choice(one.table, one.table.taxonomy, seed=seed, gates=one.gates, draws=DRAWS)
        row: dict[str, object] = {
            "series": one.series.name,
            "threshold, middle 95 %": _range(drawn.threshold),
            "tie margin, middle 95 %": _range(drawn.tie_margin),
            "draws without a point": f"{drawn.without} of {drawn.draws}",
        }
        for gate, interval in zip(drawn.gates, drawn.figures, strict=True):
            row[f"{gate_name(gate)} left out, %"] = short_interval(interval)
        rows.append(row | {"coverage left out, %": short_interval(drawn.coverage)})
    caption = (
        f"The best point as observed, chosen again on {DRAWS} draws of the items; figures are of the items left out"
    )
    return Table(pd.DataFrame(rows), caption=caption, name="firmness")


def mix(tuned: Sequence[Tuned], study: Study) -> Table | Words:
    """Coverage, accepted accuracy and cost under the study's prevalence and cost matrix, where it has them."""
    if study.prevalence is None and study.costs is None:
        return Words(
            "The study states neither how often each class is asked in production nor what errors cost, so coverage and "
            "accepted accuracy are those of its own mix."
        )
    unit = f", {study.costs.unit}" if study.costs and study.costs.unit else ""
    rows = []
    for one in tuned:
        for name, prevalence in (("the items' own", None), ("production", study.prevalence)):
            if name == "production" and prevalence is None:
                continue
            figures = mix_of(one.counts, one.threshold, one.tie_margin, prevalence, study.costs)
            right = figures.accepted_accuracy
            rows.append(
                {
                    "series": one.series.name,
                    "mix": name,
                    "coverage": percent(figures.coverage),
                    "accepted accuracy": "not defined" if right is None else percent(right),
                    f"cost per question{unit}": figures.cost,
                }
            )
    caption = "Descriptive only: figures that depend on the mix of questions. The gates do not"
    return Table(pd.DataFrame(rows), caption=caption, name="mix")


def _range(bounds: tuple[float, float]) -> str:
    low, high = bounds
    return "none" if pd.isna(low) else f"{low:.3g} to {high:.3g}"
