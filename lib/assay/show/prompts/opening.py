"""Opening a study for a choice of variants."""

from dataclasses import dataclass, replace

from assay.measure.selection import ALL, Selection, items_for_choosing
from assay.settings import Settings
from assay.show.opening import Opened, open_study
from assay.show.words import count
from assay.study.series import each_series
from assay.study.study import Study


@dataclass(frozen=True)
class Choosing:
    """A study opened for a choice; shows itself as the other notebooks' opening does.

    Attributes
    ----------
    opened : Opened
        Restricted to the items that the choice may see.
    both : Study
        The same selection with the items of both parts, for certificates.
    selection : Selection
    """

    opened: Opened
    both: Study
    selection: Selection

    @property
    def study(self) -> Study:
        """What the choice may see."""
        return self.opened.study

    def _repr_html_(self) -> str:
        return self.opened._repr_html_()

    def __repr__(self) -> str:
        return repr(self.opened)


def open_for_choosing(settings: Settings) -> Choosing:
    """Open the study that settings name, on the items that a choice may see; see `items_for_choosing`."""
    opened = open_study(settings.model_copy(update={"part": ALL}))
    both = opened.study
    selection = items_for_choosing(both, settings.part)
    study = both if selection.part == ALL else both.select(part=selection.part)
    remark = f"{selection.reason} That is {count(len(study.items), 'item')}."
    chosen = replace(opened, study=study, series=each_series(study), remarks=(*opened.remarks, remark))
    return Choosing(chosen, both, selection)
