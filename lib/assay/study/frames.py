"""Taking a frame in hand as a study: what `Study.from_frame` is made of."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pandas as pd

from assay.rules import Taxonomy, TaxonomyError
from assay.rules.answers import Calibration, Elicitation
from assay.rules.taxonomy import fold
from assay.study.columns import ColumnSource, Table, distinct_objects, label_text
from assay.study.errors import StudyError, listed, shown
from assay.study.reading import FileSource
from assay.study.series import KEYS
from assay.study.settings import LEFT_OUT_COLUMNS, AnswersFile


def frame_sha256(answers: pd.DataFrame) -> str:
    """Return a digest of what a tidy frame says, as 64 hex digits: ids, labels, series, predictions and confidences."""
    digest = hashlib.sha256()
    for name in ("item_id", "label", *KEYS, "run", "predicted", "error"):
        codes, distinct = pd.factorize(answers[name])
        digest.update(
            codes.astype("<i8").tobytes() + "\x1f".join(map(str, np.asarray(distinct, dtype=object))).encode()
        )
    digest.update(answers["confidence"].to_numpy(dtype="<f8").tobytes())
    said = answers["alternatives"][answers["alternatives"].notna()]
    digest.update(json.dumps(list(zip(said.index.tolist(), said, strict=True)), sort_keys=True).encode())
    return digest.hexdigest()


def frame_table(frame: pd.DataFrame, name: str, item_id: str | None) -> Table:
    """Take a frame as a table named `name`; its rows get ids of their own, counted from 1, where it has none.

    Raises
    ------
    StudyError
        If it is no frame, has no rows, or a column twice.
    """
    if not isinstance(frame, pd.DataFrame):
        raise StudyError(f"frame must be a pandas DataFrame, got {type(frame).__name__}")
    repeated = frame.columns[frame.columns.duplicated()]
    if len(repeated):
        raise StudyError(f"{name}: the column {shown(repeated[0])} stands there twice")
    if frame.empty:
        raise StudyError(f"{name}: there are no rows", kind="empty_file")
    rows = frame.reset_index(drop=True)
    if item_id is None and "item_id" not in rows:
        rows["item_id"] = pd.Series(range(1, len(rows) + 1)).astype("str")
    return Table(name, rows)


def frame_spec(
    name: str,
    columns: dict[str, str | None],
    calibration: str,
    elicitation: str | None,
    leave_out: tuple[str, ...] = (),
) -> AnswersFile:
    """Say how a frame is to be taken: `columns` that are None are looked for under their own names, unless left out."""
    known = (*LEFT_OUT_COLUMNS, "text")
    for one in leave_out:
        if one not in known or columns.get(one) is not None:
            raise StudyError(
                f"leave_out: {shown(one)} is named as a column, too, or is none of {listed(known, at_most=20)}"
            )
    if calibration not in list(Calibration):
        raise StudyError(f"calibration must be one of {listed(Calibration)}, got {shown(calibration)}")
    if elicitation is not None and elicitation not in list(Elicitation):
        raise StudyError(f"elicitation must be one of {listed(Elicitation)}, got {shown(elicitation)}")
    own = Elicitation(elicitation) if elicitation and calibration != Calibration.CLASSIFIER else None
    sources = {given: ColumnSource(column) for given, column in columns.items() if column is not None}
    return AnswersFile(FileSource(Path(), name), Calibration(calibration), own, sources, leave_out=leave_out)


def inferred_taxonomy(labels: pd.Series, predictions: pd.Series, name: str, abstain: str = "abstain") -> Taxonomy:
    """Return the taxonomy of what occurs, in the order of the names, none of them safer than another.

    A prediction that no item has for a label is a class, too: it is wrong, and its confidence counts. Predictions that
    differ from a label only in case and padding, or say to abstain, are no classes of their own.
    """
    try:
        taxonomy = Taxonomy.of(*sorted(labels.drop_duplicates()), abstain=abstain)
    except TaxonomyError as error:
        raise StudyError(
            f"{name}: its labels are no taxonomy ({error}); write them in one spelling or give a taxonomy"
        ) from None
    said = (label_text(value) for value in distinct_objects(predictions)[1])
    further = {fold(text): text.strip() for text in said if text is not None and text.strip()}
    classes = [one for one in further.values() if taxonomy.resolve(one) is None]
    return Taxonomy.of(*sorted((*taxonomy.names, *classes)), abstain=abstain) if classes else taxonomy
