"""What columns and cells of answers usually look like: their names, their numbers, what makes an id or a tag.

Plain facts about names and values, each on its own; `assay.study.guess` puts them together and says what it supposed.
"""

import re
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from assay.rules.taxonomy import fold as fold_class
from assay.study.cells import ROUNDING, as_written, pairs_of
from assay.study.columns import distinct_objects, is_numeric
from assay.study.errors import StudyError

NAMES: dict[str, tuple[str, ...]] = {
    "label": (
        "label", "gold", "gold_label", "truth", "ground_truth", "true_label", "y_true", "actual", "target", "expected",
        "reference", "correct_label", "correct_answer", "human_label", "annotation", "category", "class",
    ),
    "predicted": (
        "predicted", "prediction", "pred", "predicted_label", "predicted_class", "y_pred", "model_label", "llm_label",
        "model_answer", "output_label", "choice", "output", "answer", "response", "class",
    ),
    "confidence": (
        "confidence", "conf", "stated_confidence", "verbal_confidence", "confidence_score", "certainty", "score",
        "probability", "prob", "y_prob", "y_score", "max_prob", "p",
    ),
    "probabilities": ("probabilities", "probs", "class_probabilities", "distribution", "scores"),
    "alternatives": ("alternatives", "runner_ups", "runners_up"),
    "item_id": (
        "item_id", "item", "id", "question_id", "qid", "example_id", "sample_id", "doc_id", "document_id", "case_id",
        "ticket_id", "uid", "uuid",
    ),
    "text": ("text", "question", "input", "query", "sentence", "utterance", "message", "claim", "content", "document"),
    "model": ("model", "model_name", "model_id", "llm", "engine", "deployment"),
    "prompt": ("prompt", "prompt_name", "prompt_id", "prompt_version", "template"),
    "run": ("run", "run_id", "repeat", "repetition", "trial"),
    "elicitation": ("elicitation",),
}  # fmt: skip
"""What each column may be called, the likeliest name first; case and punctuation do not count."""

ABSTENTIONS = (
    "abstain", "abstained", "abstention", "unclear", "unsure", "not_sure", "uncertain", "unknown", "undecided",
    "dont_know", "don_t_know", "i_don_t_know", "idk", "cannot_tell", "can_t_tell", "cannot_determine", "escalate", "ask",
)  # fmt: skip
"""Predictions that say to abstain, where no item is so labelled."""

AFFIXES = (
    "{}", "p_{}", "prob_{}", "probs_{}", "proba_{}", "probability_{}", "score_{}", "{}_prob", "{}_proba",
    "{}_probability", "{}_score",
)  # fmt: skip
"""What the column of a class's probability may be called, the class in place of the braces."""

MOST_TAG_VALUES = 20

_LONGEST_TAG = 40  # characters
_OF_THE_ANSWER = re.compile(
    "(?:is_)?(?:correct|right|wrong|match|matched|error|errors|finish_reason|status|date|asked_at|requested_model|"
    "prompt_tokens|completion_tokens|total_tokens|tokens|cost|cost_usd|price|latency|latency_s|seconds|explanation|"
    "reason|reasoning|rationale|logprob|logprobs|index|completion|raw|unnamed_0)"
)
_ALMOST_ALL = 0.99


def fold(name: object) -> str:
    """Return a name without case and punctuation: ``ticket_id`` for ``Ticket ID``."""
    return re.sub(r"[\W_]+", "_", fold_class(str(name))).strip("_")


def holds_maps(values: pd.Series) -> bool:
    """Tell whether a column holds maps of classes: objects, pairs or the JSON text of an object."""
    known = (one for one in values.dropna() if not (isinstance(one, str) and not one.strip()))
    return _is_map(next(known, None))


def numbers_of(values: pd.Series) -> pd.DataFrame:
    """Return the numbers of a column as whoever reads it as confidences takes them.

    Parameters
    ----------
    values : Series
        Numbers, texts, or maps of classes to either, whose numbers follow each other.

    Returns
    -------
    DataFrame
        A row for each cell, or for each number of a map: `number` as it is written, one in percent as a share, NaN for
        what is none or not finite; `percent`.
    """
    if is_numeric(values):
        plain = pd.DataFrame({"number": values.to_numpy(dtype=float, na_value=np.nan), "percent": False})
        return plain.replace([np.inf, -np.inf], np.nan)
    codes, distinct = distinct_objects(values)
    cells = [[value for _, value in pairs_of(one) or ()] if _is_map(one) else [one] for one in distinct]
    read = [[as_written(value) for value in cell] for cell in cells]
    rows = [one for code in codes.tolist() for one in read[code]]
    numbers = pd.DataFrame(rows, columns=["number", "percent"]).astype({"number": float, "percent": bool})
    numbers["number"] = numbers["number"].where(~numbers["percent"], numbers["number"] / 100)
    return numbers.replace([np.inf, -np.inf], np.nan)


def scale_of(numbers: pd.DataFrame, what: str) -> int:
    """Tell whether numbers go to 1 or to 100 by nearly all of them; what lies outside is out of scale, row by row.

    One that is written in percent is the same on either scale, and tells nothing where others do.

    Parameters
    ----------
    numbers : DataFrame
        As of `numbers_of`, none missing.
    what : str
        What the message calls them.

    Raises
    ------
    StudyError
        If neither can be told. Fractions beside numbers above 1 are the worst of it: on a scale of 100, the 0.9 of
        someone who is nearly certain would be less than one in a hundred.
    """
    plain = numbers["number"][~numbers["percent"]]
    if plain.empty:
        return 1
    one, hundred = (float(plain.between(0, top).mean()) for top in (1, 100))
    if one >= _ALMOST_ALL:
        return 1
    fractions, above = plain[plain.between(0, 1, inclusive="neither")], plain[plain > 1 + ROUNDING]
    if len(fractions) and len(above):
        raise StudyError(
            f"{what}: numbers such as {fractions.iloc[0]:.6g} ({len(fractions):,} of them) stand beside such as "
            f"{above.iloc[0]:.6g} ({len(above):,}), so that 1 or 100 may be certain; give --scale 1 or --scale 100, or "
            "write all on one scale"
        )
    if hundred >= _ALMOST_ALL and one <= 0.5:
        return 100
    raise StudyError(
        f"{what}: numbers from {plain.min():.6g} to {plain.max():.6g}, {100 * one:.0f} % of them from 0 to 1, are on no "
        "known scale; give --scale 1 or --scale 100 (what lies outside is then unreadable), or name another column"
    )


def identifies(ids: pd.Series, others: Iterable[pd.Series]) -> bool:
    """Tell whether every row has an id, and rows of one id agree on each of the other columns."""
    keys = ids.to_numpy()
    return bool(ids.notna().all()) and all(bool((one.groupby(keys).nunique() < 2).all()) for one in others)


def describes_items(name: str, values: pd.Series, ids: pd.Series) -> bool:
    """Tell whether a column of text describes items: few short values, the same in all rows of an item."""
    filled = values.dropna()
    few = 2 <= filled.nunique() <= min(MOST_TAG_VALUES, len(filled) / 2)
    if not few or filled.str.len().max() > _LONGEST_TAG or _OF_THE_ANSWER.fullmatch(fold(name)):
        return False
    return identifies(ids, [values.fillna("")])


def _is_map(cell: object) -> bool:
    return cell.lstrip().startswith("{") if isinstance(cell, str) else isinstance(cell, Mapping | list)
