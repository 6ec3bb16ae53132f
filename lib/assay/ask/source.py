"""What is asked about: the items, classes and prompts of a study; its answers are read only where they carry the items."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from assay.rules import Taxonomy
from assay.rules.parsing import DEFAULT_FIELDS, AnswerFields
from assay.study import ClassificationContract, Contract, StudyError, find_folder, find_studies
from assay.study.errors import listed, nearest, shown
from assay.study.loading import read_items
from assay.study.settings import read_settings, study_files


@dataclass(frozen=True)
class Source:
    """What a study has to ask about.

    Parameters
    ----------
    name : str
    taxonomy : Taxonomy
    contract : Contract
        How the study's own answers are written.
    items : DataFrame
        As `Study.items`; those that have a text.
    prompts : mapping of str to Path
        The files of the prompts that the study keeps.
    files : sequence of Path
        All files that the study is read from.
    answers : sequence of Path
        Those among them that are of answers alone, and not read for this: where new answers may go.
    textless : int
        Items that were left out since they have no text.
    """

    name: str
    taxonomy: Taxonomy
    contract: Contract
    items: pd.DataFrame
    prompts: Mapping[str, Path]
    files: Sequence[Path] = ()
    answers: Sequence[Path] = ()
    textless: int = 0

    @property
    def fields(self) -> AnswerFields:
        """What the fields of a classification are called."""
        return self.contract.fields if isinstance(self.contract, ClassificationContract) else DEFAULT_FIELDS


def load_source(name_or_path: str) -> Source:
    """Read what a study has to ask about.

    Parameters
    ----------
    name_or_path : str
        Name of a study, or path of a folder with a `study.toml`.

    Raises
    ------
    StudyError
        If there is no such study, or it cannot be read.
    """
    folder = find_folder(name_or_path)
    if folder is None:
        found = find_studies()
        hint = nearest(name_or_path, found)
        raise StudyError(f"there is no study {shown(name_or_path)}{hint}; studies found: {listed(found)}")
    settings = read_settings(folder)
    items = read_items(settings)
    texts = items[items["text"].str.strip() != ""].reset_index(drop=True)
    return Source(
        folder.name,
        settings.taxonomy,
        settings.contract,
        texts,
        settings.prompts,
        study_files(folder),
        [] if settings.items.source is None else [one.source.path for one in settings.answers],
        len(items) - len(texts),
    )
