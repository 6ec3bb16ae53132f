"""Studies: labelled items and the answers that models gave to them, on disk or in a frame.

`load_study` finds one by name and reads it; `Study.from_frame` takes a frame. Every fault is a `StudyError`, one line.
"""

from assay.study.answers import CALL_FAILED, SEVERAL_MODELS, UNNAMED
from assay.study.contract import (
    ClassificationContract,
    Contract,
    DistributionContract,
    Reading,
    TableContract,
    VerdictContract,
)
from assay.study.errors import StudyError
from assay.study.loading import find_folder, find_studies, load_study
from assay.study.manifest import check_manifest, write_manifest
from assay.study.parts import CERTIFICATION, PARTS, TUNING, split_items
from assay.study.series import Series, each_series, find_series
from assay.study.settings import Costs
from assay.study.study import Study

__all__ = [
    "CALL_FAILED",
    "CERTIFICATION",
    "PARTS",
    "SEVERAL_MODELS",
    "TUNING",
    "UNNAMED",
    "ClassificationContract",
    "Contract",
    "Costs",
    "DistributionContract",
    "Reading",
    "Series",
    "Study",
    "StudyError",
    "TableContract",
    "VerdictContract",
    "check_manifest",
    "each_series",
    "find_folder",
    "find_series",
    "find_studies",
    "load_study",
    "split_items",
    "write_manifest",
]
