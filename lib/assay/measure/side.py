"""The sides of a comparison: every variant of a group, reduced to what pairs are computed from."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.measure.cells import Cells
from assay.measure.differences import calibration_error, gaps_by_item
from assay.measure.intervals import FloatArray
from assay.measure.item_means import Confidences, ItemMeans, item_means
from assay.measure.metrics import AUROC, CALIBRATION_ERROR, Metric
from assay.measure.placements import area_by_item
from assay.measure.reliability import cut
from assay.measure.variants import Variant
from assay.rules import Taxonomy

BINS = 10


@dataclass(frozen=True)
class Side:
    """One variant among those it is compared with; arrays run over the items of the comparison.

    Attributes
    ----------
    name : str
    repeated : bool
        Whether some item was answered more than once.
    means : ItemMeans
    gaps : (items, bins) float64, or None
        What each item adds to the gap of each bin of the calibration error. The bins hold about equal numbers of the
        answers of all variants of the group together: the same bins for all, so that swapping answers moves none.
    """

    name: str
    repeated: bool
    means: ItemMeans
    gaps: FloatArray | None

    @property
    def answered(self) -> npt.NDArray[np.bool_]:
        """The items with an answer."""
        return np.asarray(self.means.answers > 0)

    @property
    def readable(self) -> npt.NDArray[np.bool_]:
        """The items with an answer that could be read."""
        return np.asarray(self.means.readable > 0)

    @property
    def unreadable(self) -> int:
        """Number of answers that could not be read."""
        return int((self.means.answers - self.means.readable).sum())

    def estimates(self) -> dict[str, float]:
        """Every metric over all items of this variant, by name; NaN where there is nothing to count."""
        found = {name: _mean(values) for name, values in self.means.values.items()}
        if self.gaps is not None:
            found[CALIBRATION_ERROR.name] = calibration_error(self.gaps[self.readable])
        if self.means.confidences is not None:
            found[AUROC.name] = area_by_item(self.means.confidences, len(self.means.answers))[0]
        return found


@dataclass(frozen=True)
class Group:
    """The variants that are compared with each other."""

    name: str
    sides: tuple[Side, ...]


def read_groups(
    variants: Sequence[Variant],
    items: int,
    metrics: Sequence[Metric],
    taxonomy: Taxonomy | None,
    threshold: float,
    tie_margin: float,
) -> list[Group]:
    """Reduce variants to sides, group by group, in their order."""
    groups = []
    for name in dict.fromkeys(variant.group for variant in variants):
        members = [variant for variant in variants if variant.group == name]
        means = [item_means(one.answers, one.item, items, metrics, taxonomy, threshold, tie_margin) for one in members]
        gaps = _gaps([one.confidences for one in means], items)
        sides = [Side(one.name, one.repeated, mean, gap) for one, mean, gap in zip(members, means, gaps, strict=True)]
        groups.append(Group(name, tuple(sides)))
    return groups


def _gaps(stated: Sequence[Confidences | None], items: int) -> list[FloatArray | None]:
    present = [one for one in stated if one is not None and len(one.confidence)]
    if not present:
        return [None] * len(stated)
    confidence, count = np.unique(np.concatenate([one.confidence for one in present]), return_counts=True)
    bins = cut(Cells(confidence, count, np.zeros_like(count)), BINS, "mass")
    return [None if one is None else gaps_by_item(one, bins.place(one.confidence), len(bins), items) for one in stated]


def _mean(values: FloatArray) -> float:
    defined = values[~np.isnan(values)]
    return float(defined.mean()) if len(defined) else float("nan")
