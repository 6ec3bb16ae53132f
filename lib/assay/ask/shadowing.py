"""Measuring how often a cheap model agrees with an expensive one, live or on recorded answers.

Both are asked through `ShadowClassifier`, so what is measured on recorded answers is what the shadow would have measured
when they were given. The report is the evidence that a routing policy rests on.
"""

import asyncio
import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from assay.ask.progress import progress_bar
from assay.rules import AskError, Classifier, CostLedger, NotConfigured, Question, ShadowClassifier
from assay.rules.agreement import Value
from assay.rules.evidence import AgreementReport


@dataclass(frozen=True)
class Asked:
    """What one call is about.

    Attributes
    ----------
    item : str
        Its id, by which the evidence tells where a disagreement came from.
    state : str
        The text that both models see.
    truths : mapping of str to str, float or bool
        The right answers by question id, where they are known; no model sees them.
    """

    item: str
    state: str
    truths: Mapping[str, Value] = field(default_factory=dict)


async def measure_agreement(
    cheap: Classifier,
    expensive: Classifier,
    asked: Iterable[Asked],
    questions: Mapping[str, Question],
    *,
    cheap_timeout: float,
    at_once: int = 4,
    ledger: CostLedger | None = None,
    progress: bool | None = None,
) -> AgreementReport:
    """Ask two models the same questions about the same states and compare what they say.

    Parameters
    ----------
    cheap, expensive : Classifier
        Any two: live, recorded, routers themselves.
    asked : iterable of Asked
        With distinct ids.
    questions : mapping of str to Question
        Asked about every state.
    cheap_timeout : float
        Seconds after which a cheap call counts as failed.
    at_once : int
        Calls under way at the same time, at least 1.
    ledger : CostLedger, optional
        Where the calls are recorded.
    progress : bool, optional
        Whether to show a bar; by default, where somebody watches.

    Returns
    -------
    AgreementReport
        Its comparisons in the order of `asked`, whatever the order in which replies came. A call in which either model
        failed is counted as an error of the questions asked.

    Raises
    ------
    NotConfigured
        If the expensive model cannot be asked at all.
    ValueError
        If two ids are the same, or `at_once` or `cheap_timeout` is out of range.
    """
    waiting = list(asked)
    place = {one.item: position for position, one in enumerate(waiting)}
    if len(place) < len(waiting):
        repeated = next(one.item for position, one in enumerate(waiting) if place[one.item] != position)
        raise ValueError(f"item {repeated!r} is asked about twice")
    if isinstance(at_once, bool) or not isinstance(at_once, int) or at_once < 1:
        raise ValueError(f"at_once must be a whole number of at least 1, got {at_once!r}")
    shadow = ShadowClassifier(cheap, expensive, cheap_timeout=cheap_timeout, ledger=ledger)
    left = iter(waiting)
    with progress_bar(len(waiting), 0, progress) as bar:

        async def work() -> None:
            for one in left:
                try:
                    await shadow.ask(one.state, questions, truths=one.truths, item=one.item)
                except NotConfigured:
                    raise
                except AskError:
                    pass  # in the log as an error, and in the ledger
                bar.update()

        await _all_or_none(asyncio.create_task(work()) for _ in range(min(at_once, len(waiting))))
    report = shadow.log.report()
    kinds = {
        name: replace(kind, comparisons=tuple(sorted(kind.comparisons, key=lambda one: place[one.item])))
        for name, kind in report.kinds.items()
    }
    return replace(report, kinds=kinds)


async def _all_or_none(tasks: Iterable["asyncio.Task[None]"]) -> None:
    """Wait for all; when one fails, or the caller gives up, stop the others and see them end."""
    running = list(tasks)
    try:
        await asyncio.gather(*running)
    finally:
        for one in running:
            one.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(*running, return_exceptions=True)
