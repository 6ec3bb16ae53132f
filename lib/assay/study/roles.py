"""Which column of a table of answers serves which purpose: found by its name, or named by a person."""

from collections.abc import Iterable, Mapping, Sequence

import pandas as pd

from assay.rules.answers import Elicitation
from assay.study.columns import ColumnSource, Table
from assay.study.errors import StudyError, listed, nearest, shown
from assay.study.likely import AFFIXES, NAMES, fold, holds_maps, numbers_of

_WORDS = {"predicted": "predicted class", "item_id": "item id"}


class Roles:
    """The columns of one table as they are given their purposes, each one only, and what is said about it.

    Attributes
    ----------
    table : Table
    named : mapping of str to str
        The columns that a person named, by the keys of `NAMES`.
    columns : dict of str to str
        Those and the ones found by their names.
    said : list of (str, str)
        What was supposed, in words.

    Raises
    ------
    StudyError
        If a column that was named is not there, or was named for two purposes.
    """

    def __init__(self, table: Table, named: Mapping[str, str], without: Sequence[str] = ()) -> None:
        self.table = table
        self.named = named
        self.columns: dict[str, str] = {}
        self.said: list[tuple[str, str]] = []
        self._folded: dict[str, str] = {}
        for name in table.frame.columns:
            self._folded.setdefault(fold(name), name)
        for role, name in named.items():
            if name in self.columns.values():
                raise StudyError(f"{table.name}: column {shown(name)} was named for two purposes")
            self.require(name, f"the {word(role)}")
            self.columns[role] = name
        for role in NAMES:
            if role not in self.columns and role not in without and (name := self._found(role)):
                self.columns[role] = name
        # A number of its own is what was stated; maps of numbers are for where there is none.
        if "confidence" in self.columns and "probabilities" not in named:
            self.columns.pop("probabilities", None)
        elif "probabilities" in self.columns:
            self.columns.pop("confidence", None)
            self.columns.pop("alternatives", None)

    def __contains__(self, role: str) -> bool:
        return role in self.columns

    @property
    def has_number(self) -> bool:
        """Whether one column holds the confidence, or all probabilities."""
        return "confidence" in self or "probabilities" in self

    def require(self, name: str, purpose: str) -> None:
        """Raise `StudyError` unless there is such a column; the nearest is suggested."""
        known = self.table.frame.columns
        if name not in known:
            hint = nearest(name, known) or f" (the columns are {listed(known)})"
            raise StudyError(f"{self.table.name}: no column {shown(name)} for {purpose}{hint}", kind="missing_column")

    def raw(self, role: str) -> pd.Series:
        """Return the column of a purpose as it was read."""
        return self.table.raw(ColumnSource(self.columns[role]), f"the {word(role)}")

    def text(self, role: str) -> pd.Series:
        """Return the column of a purpose as text, NaN where it is empty."""
        return self.table.text(ColumnSource(self.columns[role]), f"the {word(role)}")

    def say(self, what: str, words: str) -> None:
        """Keep what was supposed."""
        self.said.append((what, words))

    def by_class(self, labels: pd.Series) -> dict[str, str]:
        """Return the column of each label's probability, where every label has one, all named after one pattern."""
        classes = [str(name) for name in labels.dropna().unique()]
        if self.has_number or len(classes) < 2:
            return {}
        for pattern in AFFIXES:
            columns = {name: self._folded.get(pattern.format(fold(name)), "") for name in sorted(classes)}
            free = len(set(columns.values()) - {"", *self.columns.values()}) == len(classes)
            if free and all(
                numbers_of(self.table.frame[one])["number"].notna().mean() > 0.5 for one in columns.values()
            ):
                return columns
        return {}

    def refuse_missing(self, wanted: Iterable[str], hint: str = "") -> None:
        """Raise `StudyError` if some of the purposes have no column, naming all of them and what was looked for."""
        looked = "; ".join(
            f"none for the {word(role)} (looked for {', '.join(NAMES[role])}; --{role}-column names it)"
            for role in wanted
            if role not in self
        )
        if looked:
            known = listed(self.table.frame.columns, at_most=20)
            raise StudyError(
                f"{self.table.name}: columns are missing: {looked}. Its columns are: {known}{hint}",
                kind="missing_column",
            )

    def _found(self, role: str) -> str:
        free = (self._folded[name] for name in NAMES[role] if name in self._folded)
        return next((one for one in free if one not in self.columns.values() and self._fits(role, one)), "")

    def _fits(self, role: str, name: str) -> bool:
        """Tell whether a column can serve its purpose at all."""
        if role in ("probabilities", "alternatives"):
            return holds_maps(self.table.frame[name])
        if role not in ("item_id", "text", "model", "prompt", "elicitation"):
            return True
        try:
            values = self.table.text(ColumnSource(name), f"the {word(role)}").dropna()
        except StudyError:
            return False
        known = values.isin([str(one) for one in Elicitation])
        return role != "elicitation" or (len(known) > 0 and bool(known.all()))


def word(role: str) -> str:
    """Return what messages call a purpose."""
    return _WORDS.get(role, role)
