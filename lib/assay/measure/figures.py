"""The decision figures at one operating point, each with its interval.

The figures are shares of answers; their intervals count items, since repeated answers to one item are not
independent. What each figure counts is defined once, in `outcomes` of the sweep.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from assay.measure.decide import Decisions, decide_table
from assay.measure.intervals import Interval, clustered_proportion
from assay.measure.sweep import ABSTAINED, DANGEROUS, RIGHT, RIGHT_ABSTAINED, SAFER, outcomes
from assay.measure.table import UNREADABLE, AnswerTable, decision_names
from assay.rules import Gate, Taxonomy

Which: TypeAlias = tuple[str, str]
"""A figure by its name (``dangerous`` is what is not ``caught``), and the class it is about; blank for all answers."""

BY_CLASS = ("class_accuracy", "caught", "accepted_accuracy")
"""Figures that there are of each class, under the names of the gates that bound them."""


@dataclass(frozen=True)
class DecisionFigures:
    """What the decisions of a set of answers amount to at one (threshold, tie margin).

    Attributes
    ----------
    threshold, tie_margin : float
    answers, items, unreadable : int
    coverage : Interval
        Share of answers acted on (not abstained).
    accepted_accuracy : Interval
        Share right among those acted on.
    class_accuracy, caught, accepted_by_class : dict of str to Interval
        By label; `accepted_by_class` by decided class. See the design's decision figures.
    over_restriction : Interval
        Among items whose label no gate names: share abstained or decided a class of higher rank.
    dangerous : int
        Answers neither right, abstained nor decided a safer class.
    """

    threshold: float
    tie_margin: float
    answers: int
    items: int
    unreadable: int
    coverage: Interval
    accepted_accuracy: Interval
    class_accuracy: dict[str, Interval]
    caught: dict[str, Interval]
    accepted_by_class: dict[str, Interval]
    over_restriction: Interval
    dangerous: int

    def gate(self, gate: Gate) -> Interval:
        """Return the figure that a gate of at most one class bounds."""
        return self.figure((gate.metric, "".join(gate.classes)))

    def figure(self, which: Which) -> Interval:
        """Return a figure by name, and of the class that it is about."""
        metric, name = which
        if metric == "dangerous":
            return complement(self.caught[name])
        if not name:
            of_all = {
                "coverage": self.coverage,
                "accepted_accuracy": self.accepted_accuracy,
                "over_restriction": self.over_restriction,
            }
            return of_all[metric]
        of_class = {
            "class_accuracy": self.class_accuracy,
            "caught": self.caught,
            "accepted_accuracy": self.accepted_by_class,
        }
        return of_class[metric][name]


def decision_figures(
    answers: pd.DataFrame | AnswerTable,
    taxonomy: Taxonomy,
    threshold: float,
    tie_margin: float = 0.10,
    *,
    classes: Iterable[str] | None = None,
    confidence: float = 0.95,
) -> DecisionFigures:
    """Count the decisions at one operating point.

    Parameters
    ----------
    answers : tidy frame or AnswerTable
    taxonomy : Taxonomy
    threshold, tie_margin : float in [0, 1]
    classes : names, optional
        Classes to report one by one: by default all of them up to 100, and the gated ones beyond.
    confidence : float in (0, 1)
        Two-sided confidence of every interval; Wilson at the effective number of items.
    """
    table = answers if isinstance(answers, AnswerTable) else AnswerTable.from_frame(answers, taxonomy)
    decisions = decide_table(table, threshold, tie_margin)
    return figures_of(table, decisions, threshold, tie_margin, classes=classes, confidence=confidence)


def figures_of(
    table: AnswerTable,
    decisions: Decisions,
    threshold: float,
    tie_margin: float,
    *,
    classes: Iterable[str] | None = None,
    confidence: float = 0.95,
) -> DecisionFigures:
    """Count decisions already made; see `decision_figures`."""
    taxonomy = table.taxonomy
    if classes is None:
        classes = taxonomy.names if len(taxonomy.names) <= 100 else taxonomy.gated
    classes = tuple(classes)
    of_all: list[Which] = [("coverage", ""), ("accepted_accuracy", ""), ("over_restriction", "")]
    of_classes: list[Which] = [(metric, name) for metric in BY_CLASS for name in classes]
    wanted = [*of_all, *of_classes]
    found = {
        which: clustered_proportion(hits, np.ones(len(hits)), items, confidence)
        for which, (hits, items) in zip(wanted, counted(table, decisions.code, wanted), strict=True)
    }
    class_accuracy, caught, accepted = ({name: found[metric, name] for name in classes} for metric in BY_CLASS)
    return DecisionFigures(
        threshold=threshold,
        tie_margin=tie_margin,
        answers=len(table),
        items=len(np.unique(table.item)),
        unreadable=int((table.predicted == UNREADABLE).sum()),
        coverage=found["coverage", ""],
        accepted_accuracy=found["accepted_accuracy", ""],
        class_accuracy=class_accuracy,
        caught=caught,
        accepted_by_class=accepted,
        over_restriction=found["over_restriction", ""],
        dangerous=len(misrouted(table, decisions)),
    )


def counted(
    table: AnswerTable, code: NDArray[np.int32], figures: Iterable[Which]
) -> list[tuple[NDArray[np.bool_], NDArray[np.int64]]]:
    """Give, for each figure, the answers that it counts: whether each is a hit, and its item; of decisions as codes."""
    outcome = outcomes(table, np.arange(len(table)), code)
    acted = (outcome == RIGHT) | (outcome == SAFER) | (outcome == DANGEROUS)
    names = decision_names(table.taxonomy)
    found = []
    for metric, name in figures:
        labelled = table.label == names.index(name) if name else np.ones(len(table), dtype=bool)
        if metric == "coverage":
            hits, trials = acted, labelled
        elif metric == "class_accuracy":
            hits, trials = (outcome == RIGHT) | (outcome == RIGHT_ABSTAINED), labelled
        elif metric == "caught":
            hits, trials = outcome != DANGEROUS, labelled
        elif metric == "dangerous":
            hits, trials = outcome == DANGEROUS, labelled
        elif metric == "accepted_accuracy":
            hits, trials = outcome == RIGHT, acted & (code == names.index(name)) if name else acted
        elif metric == "over_restriction":
            gated = np.isin(table.label, [names.index(one) for one in table.taxonomy.gated])
            hits, trials = (outcome == ABSTAINED) | (outcome == SAFER), ~gated
        else:
            raise ValueError(f"no figure is named {metric!r}")
        found.append((hits[trials], table.item[trials]))
    return found


def complement(interval: Interval) -> Interval:
    """Return the interval of one minus a proportion."""
    return Interval(1 - interval.estimate, 1 - interval.high, 1 - interval.low, interval.n, interval.n_effective)


def confusion(table: AnswerTable, decisions: Decisions) -> pd.DataFrame:
    """Count decisions (columns) by label (rows); labels and decisions that never occur are left out."""
    names = np.array(decision_names(table.taxonomy), dtype=object)
    counts = pd.crosstab(
        pd.Categorical(names[table.label], categories=names),
        pd.Categorical(names[decisions.code], categories=names),
    )
    counts.index.name, counts.columns.name = "label", "decision"
    return counts


def misroutes(frame: pd.DataFrame, taxonomy: Taxonomy, threshold: float, tie_margin: float = 0.10) -> pd.DataFrame:
    """Return the rows of `frame` whose decision is a dangerous misroute, with ``decision`` and ``reasons`` added."""
    table = AnswerTable.from_frame(frame, taxonomy)
    decisions = decide_table(table, threshold, tie_margin)
    return with_decisions(frame, table, decisions, misrouted(table, decisions))


def misrouted(table: AnswerTable, decisions: Decisions) -> NDArray[np.intp]:
    """Return the positions of the answers whose decision is a dangerous misroute."""
    return np.flatnonzero(outcomes(table, np.arange(len(table)), decisions.code) == DANGEROUS)


def with_decisions(
    frame: pd.DataFrame, table: AnswerTable, decisions: Decisions, rows: NDArray[np.intp]
) -> pd.DataFrame:
    """Return some rows of the frame that `table` was made of, with ``decision`` and ``reasons`` added."""
    names = np.array(decision_names(table.taxonomy), dtype=object)
    found = frame.iloc[rows].copy()
    found["decision"] = names[decisions.code[rows]]
    found["reasons"] = [tuple(reason for reason, fired in decisions.fired.items() if fired[row]) for row in rows]
    return found
