"""The metrics that variants are compared by: what each counts, its unit, and which way is better.

A metric is either an average over items of something each item has by itself (a share of right answers, a Brier score,
tokens), or a property of all answers together (calibration error, AUROC).
"""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.rules import Taxonomy

SHARE, MEAN, CALIBRATION, RANKING = "share", "mean", "calibration", "ranking"

RIGHT, CAUGHT = "right", "caught"

LEFT_OUT = " (readable)"
"""Ends the name of a metric that leaves unreadable answers out, where its namesake counts them."""


@dataclass(frozen=True)
class Metric:
    """One metric.

    Attributes
    ----------
    name : str
        Such as ``accuracy``, ``caught em`` or ``Brier score``.
    form : {"share", "mean", "calibration", "ranking"}
        A share of answers; a mean of numbers; the calibration error; the area under the ROC curve.
    unit : str
        What a value of 1 means; empty for shares and for scores without one.
    higher_is_better : bool
    of : str
        The class it is about, or empty.
    hit : {"", "right", "caught"}
        For a class metric, what the decision on an item of the class has to be.
    left_out : bool
        Whether unreadable answers are left out although they could be counted as not right.
    """

    name: str
    form: str
    unit: str = ""
    higher_is_better: bool = True
    of: str = ""
    hit: str = ""
    left_out: bool = False


ACCURACY = Metric("accuracy", SHARE)
ACCURACY_READABLE = Metric("accuracy" + LEFT_OUT, SHARE, left_out=True)
BRIER = Metric("Brier score", MEAN, higher_is_better=False)
LOG_LOSS = Metric("log loss", MEAN, "nats", higher_is_better=False)
CALIBRATION_ERROR = Metric("ECE", CALIBRATION, higher_is_better=False)
AUROC = Metric("AUROC", RANKING)
UNREADABLE_RATE = Metric("unreadable", SHARE, higher_is_better=False)
TOKENS = Metric("tokens per answer", MEAN, "tokens", higher_is_better=False)
COST = Metric("cost per 1,000 answers", MEAN, "US dollars", higher_is_better=False)

CONFIDENCE_METRICS = (BRIER, LOG_LOSS, CALIBRATION_ERROR, AUROC)

SHORT_NAMES = {
    "brier": BRIER,
    "log_loss": LOG_LOSS,
    "ece": CALIBRATION_ERROR,
    "auroc": AUROC,
    "tokens": TOKENS,
    "cost": COST,
}
"""What settings may call a metric, besides its name."""


def metrics_of(taxonomy: Taxonomy | None) -> tuple[Metric, ...]:
    """Return every metric that variants under a taxonomy can be compared by, class metrics for its gated classes."""
    by_class: list[Metric] = []
    for name in taxonomy.gated if taxonomy else ():
        for words, hit in (("class accuracy", RIGHT), ("caught", CAUGHT)):
            by_class += [
                Metric(f"{words} {name}", SHARE, of=name, hit=hit),
                Metric(f"{words} {name}{LEFT_OUT}", SHARE, of=name, hit=hit, left_out=True),
            ]
    return (ACCURACY, ACCURACY_READABLE, *by_class, *CONFIDENCE_METRICS, UNREADABLE_RATE, TOKENS, COST)


def find_metrics(names: str | Iterable[str], known: Sequence[Metric], argument: str) -> tuple[Metric, ...]:
    """Return the metrics that some names mean; case, and underscores in place of spaces, do not matter.

    Raises
    ------
    ValueError
        For a name that none of `known` has, with the nearest, and for none at all or one given twice.
    """
    by_name = {_folded(metric.name): metric for metric in known}
    by_name |= {_folded(name): metric for name, metric in SHORT_NAMES.items() if metric in known}
    found = []
    for name in [names] if isinstance(names, str) else names:
        metric = by_name.get(_folded(name))
        if metric is None:
            near = difflib.get_close_matches(_folded(name), by_name, n=1)
            hint = (
                f"did you mean {by_name[near[0]].name!r}?" if near else f"known are {', '.join(m.name for m in known)}"
            )
            raise ValueError(f"{argument}: no metric is called {name!r}; {hint}")
        found.append(metric)
    if not found or len(set(found)) < len(found):
        raise ValueError(f"{argument} must name at least one metric and none twice, got {names!r}")
    return tuple(found)


def _folded(name: str) -> str:
    return " ".join(name.replace("_", " ").casefold().split())
