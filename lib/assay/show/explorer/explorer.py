"""The explorer: one study, looked at from any threshold, tie margin, series and subgroup.

An `Explorer` knows nothing of widgets: it turns a `Choice` into HTML. In a notebook with someone at it, it shows itself
as `assay.show.explorer.panel` arranges it; everywhere else (a run by papermill or `assay run`, a page, a notebook
converted to HTML) as the same figures at the point it starts from, which nothing can move.
"""

import html
import os
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import pandas as pd

from assay.measure.plane import Plane, Spot
from assay.measure.selection import items_for_choosing
from assay.settings import ThresholdsSettings
from assay.show.explorer.drawing import plane_backdrop
from assay.show.explorer.fixing import Fixed, fix_policy, usual_path
from assay.show.explorer.view import View, view_of
from assay.show.opening import Opened, open_study
from assay.show.words import count
from assay.study import Study, load_study

_MOST_GROUPS = 100
_KEPT = 16

Subgroup = tuple[str, str]
"""A tag and one of its values; both empty for all items."""

EVERYTHING: Subgroup = ("", "")


@dataclass(frozen=True)
class Choice:
    """What is looked at: a series by its position, a subgroup, and a point."""

    series: int
    subgroup: Subgroup
    threshold: float
    tie_margin: float


class Explorer:
    """A study to be looked at by hand; see `explore`."""

    def __init__(self, opened: Opened, start: Choice, grid: int = 101, remark: str = "") -> None:
        self.opened = opened
        self.grid = grid
        self.remark = remark
        self._holding = (start.threshold, start.tie_margin)
        self._planes = lru_cache(_KEPT)(self._count)
        self._texts = opened.study.items.set_index("item_id")["text"]
        self.start = start

    @cached_property
    def series(self) -> dict[str, int]:
        """Positions of the series by name."""
        return {one.name: position for position, one in enumerate(self.opened.series)}

    @cached_property
    def subgroups(self) -> dict[str, Subgroup]:
        """Subgroups by what they are called, all items first unless the study compares only within a tag."""
        items = self.opened.study.items
        within = self.opened.whole.compare_within
        found: dict[str, Subgroup] = {}
        if not within or items[f"tag_{within}"].nunique() < 2:
            found[f"all {count(len(items), 'item')}"] = EVERYTHING
        for tag in self.opened.study.tags:
            sizes = items[f"tag_{tag}"].replace("", pd.NA).value_counts().sort_index()
            for value, size in list(sizes.items())[:_MOST_GROUPS]:
                found[f"{tag} = {value} ({count(int(size), 'item')})"] = (tag, str(value))
        return found

    def spot(self, choice: Choice) -> tuple[Plane, Spot, str]:
        """Return the plane of a choice, the spot on it, and the plane's backdrop.

        Raises
        ------
        ValueError
            If the series has no answer in the subgroup.
        """
        plane, backdrop = self._planes(choice.series, choice.subgroup)
        return plane, plane.spot(choice.threshold, choice.tie_margin), backdrop

    def view(self, choice: Choice, *, numbers: bool = False) -> View:
        """Return what is shown at a choice."""
        plane, spot, backdrop = self.spot(choice)
        return view_of(plane, spot, backdrop, self._texts, self.subject(choice), numbers=numbers)

    def subject(self, choice: Choice) -> str:
        """Name the series and the subgroup of a choice."""
        tag, value = choice.subgroup
        name = self.opened.series[choice.series].name
        return f"{name}, {tag} {value}" if tag else name

    def policy_path(self, choice: Choice) -> Path:
        """Return where the policy of a choice goes unless another place is named."""
        return usual_path(self.opened.whole.name, self.opened.series[choice.series].name, self._point(choice))

    def fix(self, choice: Choice, path: str | Path = "") -> Fixed:
        """Write the policy of a choice; see `assay.show.explorer.fixing.fix_policy`."""
        where = path or self.policy_path(choice)
        return fix_policy(self.opened, self.opened.series[choice.series], self._point(choice), where)

    def _point(self, choice: Choice) -> tuple[float, float]:
        return self._planes(choice.series, choice.subgroup)[0].nearest(choice.threshold, choice.tie_margin)

    def _count(self, series: int, subgroup: Subgroup) -> tuple[Plane, str]:
        answers = self.opened.series[series].answers
        tag, value = subgroup
        if tag:
            answers = answers[answers[f"tag_{tag}"] == value]
        if answers.empty:
            raise ValueError(f"{self.opened.series[series].name} has no answer to an item of {tag} {value}")
        plane = Plane.of(answers, self.opened.study.taxonomy, grid=self.grid, holding=[self._holding])
        return plane, plane_backdrop(plane)

    def __repr__(self) -> str:
        return f"Explorer of {self.opened.study.title}: {count(len(self.series), 'series', 'series')}"

    def _repr_html_(self) -> str:
        view = self.view(self.start, numbers=True)
        remark = f"<p>{html.escape(self.remark)}</p>" if self.remark else ""
        return f'<div class="assay-explorer">{remark}{view.figure}{view.gates}{view.misrouted}</div>'

    def _repr_mimebundle_(self, include: object = None, exclude: object = None) -> dict[str, Any]:
        shown: dict[str, Any] = {"text/plain": repr(self), "text/html": self._repr_html_()}
        if _attended():
            from assay.show.explorer.panel import Panel

            shown |= Panel(self).widget._repr_mimebundle_()
            shown["text/plain"] = repr(self)
        return shown


def explore(
    study: Opened | Study | str | os.PathLike[str],
    *,
    series: str | None = None,
    threshold: float | None = None,
    tie_margin: float | None = None,
    grid: int = 101,
) -> Explorer:
    """Look at a study by hand: move threshold and tie margin, and see figures, gates and misrouted items follow.

    Parameters
    ----------
    study : Opened, Study, name or path
        An opened study is shown as it was restricted. Any other is restricted to its tuning part where a certificate is
        within reach, so that a policy picked by hand can still be tested on the certification part.
    series : str, optional
        Name of the series to start from, the first by default.
    threshold, tie_margin : float in [0, 1], optional
        The point to start from; by default the best as observed, given the other where one is named.
    grid : int
        Number of thresholds and of margins that the sliders stop at, evenly spaced over [0, 1].

    Returns
    -------
    Explorer
        Shows itself with sliders in a notebook, and without them where nobody is there to move them.

    Raises
    ------
    ValueError
        If there is no such series, or an argument is out of range.
    """
    opened, remark = (study, "") if isinstance(study, Opened) else _open(study)
    for name, value in (("threshold", threshold), ("tie_margin", tie_margin)):
        if value is not None and not 0 <= value <= 1:
            raise ValueError(f"{name} must lie in [0, 1], got {value!r}")
    names = [one.name for one in opened.series]
    if series is not None and series not in names:
        raise ValueError(f"there is no series {series!r}; there are: {', '.join(names)}")
    position = 0 if series is None else names.index(series)
    probe = Explorer(opened, Choice(position, EVERYTHING, threshold or 0.0, tie_margin or 0.0), grid)
    first = replace(probe.start, subgroup=next(iter(probe.subgroups.values())))
    if threshold is None or tie_margin is None:
        best = probe.spot(first)[0].best()
        first = replace(
            first,
            threshold=best[0] if threshold is None else threshold,
            tie_margin=best[1] if tie_margin is None else tie_margin,
        )
    return Explorer(opened, first, grid, remark)


def _open(study: Study | str | os.PathLike[str]) -> tuple[Opened, str]:
    whole = study if isinstance(study, Study) else load_study(study)
    settings = ThresholdsSettings.model_validate({"study": whole.name})
    opened = open_study(settings, whole)
    chosen = items_for_choosing(opened.study)
    if chosen.part != "all":
        opened = open_study(settings.model_copy(update={"part": chosen.part}), whole)
    return opened, chosen.reason


def _attended() -> bool:
    """Tell whether a person is at the notebook: whoever runs one without takes no input, and says so to the kernel."""
    from IPython.core.getipython import get_ipython

    kernel = getattr(get_ipython(), "kernel", None)
    request = kernel.get_parent("shell") if kernel is not None else {}
    return bool(request.get("content", {}).get("allow_stdin", False))
