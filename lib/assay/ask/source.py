"""What is asked about: the items, classes and prompts of a study, read without its answers, which need not be there."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from assay.rules import Taxonomy
from assay.rules.parsing import DEFAULT_FIELDS, AnswerFields
from assay.study import ClassificationContract, Contract, StudyError, find_folder, find_studies
from assay.study.errors import listed, nearest, shown
from assay.study.exclusions import Exclusions
from assay.study.items import items_of_file
from assay.study.reading import read_table
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
        As `Study.items`.
    prompts : mapping of str to Path
        The files of the prompts that the study keeps.
    files : sequence of Path
        All files that the study is read from.
    """

    name: str
    taxonomy: Taxonomy
    contract: Contract
    items: pd.DataFrame
    prompts: Mapping[str, Path]
    files: Sequence[Path] = ()

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
        If there is no such study, it cannot be read, or it keeps no items of its own apart from its answers.
    """
    folder = find_folder(name_or_path)
    if folder is None:
        found = find_studies()
        hint = nearest(name_or_path, found)
        raise StudyError(f"there is no study {shown(name_or_path)}{hint}; studies found: {listed(found)}")
    settings = read_settings(folder)
    if settings.items.source is None:
        raise StudyError(f"{folder.name}: its study.toml names no file of items, so there is nothing to ask about")
    items = items_of_file(read_table(settings.items.source), settings.items.columns, settings.items.tags, Exclusions())
    return Source(folder.name, settings.taxonomy, settings.contract, items.frame, settings.prompts, study_files(folder))
