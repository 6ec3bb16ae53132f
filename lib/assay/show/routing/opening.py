"""Opening a study for routing: which series is cheap, which is expensive, and on which items each thing is decided."""

from dataclasses import dataclass, replace

import pandas as pd

from assay.ask.recorded import RecordedPair
from assay.measure.selection import ALL, Selection, items_for_choosing
from assay.settings import RoutingSettings
from assay.show.opening import Opened, open_study
from assay.show.words import count, listed
from assay.study.errors import StudyError
from assay.study.parts import CERTIFICATION, TUNING
from assay.study.series import Series, find_series

NOTHING = "There is nothing to route between here."

_CLASSIFIER = "classifier"


@dataclass(frozen=True)
class OpenedPair:
    """A study opened for routing; shows itself as the other notebooks' opening does.

    Attributes
    ----------
    opened : Opened
        With the pair and the split among its remarks.
    cheap, expensive : Series or None
    pair : RecordedPair or None
        None where there is nothing to route between; the remarks say why.
    selection : Selection or None
        On which items the floors are chosen.
    """

    opened: Opened
    cheap: Series | None = None
    expensive: Series | None = None
    pair: RecordedPair | None = None
    selection: Selection | None = None

    @property
    def choosing(self) -> pd.Series:
        """Ids of the items that the choice of floors sees."""
        return self._items(None if self.selection is None else self.selection.part)

    @property
    def judging(self) -> pd.Series:
        """Ids of the items that judge what was chosen: those it did not see, or all where it saw all."""
        other = {TUNING: CERTIFICATION, CERTIFICATION: TUNING}
        return self._items(None if self.selection is None else other.get(self.selection.part, ALL))

    def _items(self, part: str | None) -> pd.Series:
        if self.pair is None:
            return pd.Series(dtype="str")
        ids = self.pair.items["item_id"]
        if part == ALL:
            return ids
        return ids[(ids.map(self.opened.whole.parts()) == part).to_numpy()].reset_index(drop=True)

    def _repr_html_(self) -> str:
        return self.opened._repr_html_()

    def __repr__(self) -> str:
        return repr(self.opened)


def open_pair(settings: RoutingSettings) -> OpenedPair:
    """Open the study that settings name and find the cheap and the expensive series in it.

    Both may be named. Where neither is, a trained classifier is cheap beside a language model, and else the series with
    the lowest recorded cost an answer is cheap and the one with the highest expensive. Where that does not tell, or
    there is one model alone, nothing is routed, and the remarks say what is lacking.

    Raises
    ------
    StudyError
        If a named series is not one of the study, if only one is named and the other does not follow, or if the two are
        no pair.
    """
    opened = open_study(settings.model_copy(update={"part": ALL}))
    if not settings.cheap and not settings.expensive:
        found = _usual_pair(opened.series)
        if isinstance(found, str):
            return OpenedPair(_remarked(opened, f"{NOTHING} {found}"))
        cheap, expensive, why = found
    else:
        cheap, expensive = _named_pair(opened, settings)
        why = ""
    pair = RecordedPair.of(opened.study, cheap, expensive)
    limited = replace(
        opened.study,
        items=pair.items,
        answers=pd.concat([cheap.answers, expensive.answers])
        .loc[lambda rows: rows["item_id"].isin(pair.items["item_id"])]
        .reset_index(drop=True),
    )
    selection = items_for_choosing(limited, settings.part)
    opening = OpenedPair(opened, cheap, expensive, pair, selection)
    if opening.choosing.empty or opening.judging.empty:
        return OpenedPair(_remarked(opened, f"{NOTHING} {_one_sided(opening)}"))
    shown = replace(opened, study=limited, series=[cheap, expensive])
    remarks = [f"Cheap: {cheap.name}. Expensive: {expensive.name}.{why}", *_left_out(pair), _split(opening, selection)]
    return replace(opening, opened=_remarked(shown, *remarks))


def _named_pair(opened: Opened, settings: RoutingSettings) -> tuple[Series, Series]:
    named = {name: getattr(settings, name) for name in ("cheap", "expensive")}
    found = {name: find_series(opened.study, value) for name, value in named.items() if value}
    for name in named:
        if name not in found:
            (other,) = found.values()
            rest = [one for one in opened.series if one.model != other.model]
            if len(rest) != 1:
                raise StudyError(
                    f"{name} must name a series, since it does not follow from the other: there are "
                    f"{'; '.join(one.name for one in rest)}"
                )
            found[name] = rest[0]
    return found["cheap"], found["expensive"]


def _usual_pair(series: list[Series]) -> tuple[Series, Series, str] | str:
    """Find a cheap and an expensive series and how they were told, or say why not."""
    models = sorted({one.model for one in series})
    if len(models) < 2:
        answers = "Its one series is" if len(series) == 1 else f"All {len(series)} series are"
        return f"{answers} of one model, {models[0]}; a router needs a cheap and an expensive one."
    trained = [one for one in series if one.calibration == _CLASSIFIER]
    asked = [one for one in series if one.calibration != _CLASSIFIER]
    if len(trained) == 1 and len(asked) == 1:
        return trained[0], asked[0], " A trained classifier is taken to be the cheap one."
    costs = {position: one.answers["cost_usd"].mean() for position, one in enumerate(series)}
    if all(pd.notna(cost) for cost in costs.values()):
        cheapest, dearest = min(costs, key=lambda one: costs[one]), max(costs, key=lambda one: costs[one])
        if series[cheapest].model != series[dearest].model:
            return series[cheapest], series[dearest], " That is by the recorded cost of an answer, lowest and highest."
    return (
        "Which series is cheap and which is expensive is not recorded; the parameters cheap and expensive name them. "
        f"There are: {'; '.join(one.name for one in series)}."
    )


def _left_out(pair: RecordedPair) -> list[str]:
    return [
        f"Left out, since only the {name} series answers them: {count(len(ids), 'item')} ({listed(ids, 5)})."
        for name, ids in (("cheap", pair.only_cheap), ("expensive", pair.only_expensive))
        if ids
    ]


def _split(opening: OpenedPair, selection: Selection) -> str:
    chosen, judged = count(len(opening.choosing), "item"), count(len(opening.judging), "item")
    where = (
        "The same items judge what is chosen, which flatters it."
        if selection.part == ALL
        else f"What is chosen on {chosen} is judged on the {judged} of the other part."
    )
    return (
        f"{count(len(opening.pair.items) if opening.pair else 0, 'item')} answered by both. {selection.reason} {where}"
    )


def _one_sided(opening: OpenedPair) -> str:
    chosen, judged = count(len(opening.choosing), "item"), count(len(opening.judging), "item")
    return f"Of the items that both answered, {chosen} would choose and {judged} would judge; neither may be none."


def _remarked(opened: Opened, *remarks: str) -> Opened:
    return replace(opened, remarks=(*opened.remarks, *remarks))
