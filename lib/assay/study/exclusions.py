"""What was left out of a study, counted by reason: nothing is dropped in silence."""

from collections.abc import Iterable

import pandas as pd

from assay.study.errors import listed

UNLABELLED_ITEM = "item without a label"
UNKNOWN_ITEM = "answer to an unknown item"
ANSWER_TO_UNLABELLED = "answer to an item without a label"
ANNOTATION_WITHOUT_ITEM = "annotation row without an item id"
ANNOTATION_OF_UNKNOWN = "annotation of an unknown item"
ANNOTATION_WITHOUT_LABEL = "annotation without a label"

_COLUMNS = {"source": "str", "reason": "str", "count": "int64", "examples": "str"}
_EXAMPLES = 5


class Exclusions:
    """A count for each source and reason, filled while a study is loaded."""

    def __init__(self) -> None:
        self._rows: list[tuple[str, str, int, str]] = []

    def add(self, source: str, reason: str, ids: Iterable[object]) -> None:
        """Count one row for each of `ids`, the first few distinct of which are shown as examples; none is no entry."""
        ids = list(ids)
        if ids:
            distinct = list(dict.fromkeys(one for one in ids if isinstance(one, str)))
            self._rows.append((source, reason, len(ids), listed(distinct, at_most=_EXAMPLES) if distinct else ""))

    def frame(self) -> pd.DataFrame:
        """Return the counts: `source`, `reason`, `count`, and `examples` (the first few ids, as text)."""
        return pd.DataFrame(self._rows, columns=list(_COLUMNS)).astype(_COLUMNS)
