"""Recorded answers as a classifier: what a model said to the items of a study, said again.

The router and the shadow take it like any other classifier, so that what they would have done is measured on real
answers without asking, and paying for, a single one.
"""

from collections.abc import Collection, Mapping
from typing import Any, Final

import pandas as pd

from assay.rules import Answer, Profile, Question, Rejected, Reply, Taxonomy, Transport, Usage, validate_questions
from assay.rules.answers import Calibration, Elicitation
from assay.rules.classifier import DEFAULT_MAX_STATE_CHARS, NotConfigured
from assay.study import Study
from assay.study.series import KEYS

DEFAULT_QUESTION: Final = "label"
"""Id of the question that the recorded answers answer."""


class ReplayedClassifier:
    """The recorded answers of one model, prompt, calibration and elicitation behind the `Classifier` protocol.

    Parameters
    ----------
    study : Study
    model, prompt, calibration, elicitation : str, optional
        Which of its answers; what is left out must be the same for all of them.
    question : str
        Id of the question that they answer.

    Raises
    ------
    StudyError
        If a value does not occur in the study.
    NotConfigured
        If several series of answers are left, or an item's id is the text of another.

    Notes
    -----
    A state is the text of an item, or the item's id: an item without a text, or with a text that another one has as
    well, can be asked about by its id alone (`recorded_states` says by what each is). An item that was answered in
    several runs has the answer of its lowest one.
    """

    def __init__(
        self,
        study: Study,
        *,
        model: str | None = None,
        prompt: str | None = None,
        calibration: str | None = None,
        elicitation: str | None = None,
        question: str = DEFAULT_QUESTION,
    ) -> None:
        chosen = study.select(model=model, prompt=prompt, calibration=calibration, elicitation=elicitation)
        series = chosen.series()
        if len(series) > 1:
            named = "; ".join(
                ", ".join(filter(None, row)) for row in series[list(KEYS)].itertuples(index=False, name=None)
            )
            raise NotConfigured(f"{study.name} has several series of answers, name one of: {named}")
        one = series.iloc[0]
        self._profile = Profile(
            one["model"],
            Calibration(one["calibration"]),
            Elicitation(one["elicitation"]) if one["elicitation"] else None,
            max(DEFAULT_MAX_STATE_CHARS, *(len(text) for text in chosen.items["text"])),
            one["prompt"],
        )
        self._question = question
        self._labels = class_question(study.taxonomy)[DEFAULT_QUESTION].labels
        self._rows = {row["item_id"]: row for row in chosen.first_answers().answers.to_dict("records")}
        self._ids = _ids_by_state(chosen.items, study.name)

    def profile(self) -> Profile:
        """Return where the recorded confidences come from."""
        return self._profile

    def recorded(self, item_id: str) -> Answer | None:
        """Return the answer to an item, None where it could not be read; KeyError where there is none."""
        row = self._rows[item_id]
        return None if pd.notna(row["error"]) else _answer(row, self._labels)

    async def ask(self, state: str, questions: Mapping[str, Question]) -> Reply:
        """Return the recorded answer to the item whose text is `state`.

        Raises
        ------
        QuestionError
            If the set of questions must not be asked.
        NotConfigured
            If something else is asked than the question that was recorded, among the classes of the study.
        Rejected
            If no answer to this text was recorded, if several items have it, or if the class recorded is not among the
            labels asked.
        Transport
            If the recorded answer could not be read; the message names the kind of fault.
        """
        validate_questions(questions)
        asked = questions.get(self._question)
        if asked is None or len(questions) > 1 or asked.kind != "choice":
            raise NotConfigured(
                f"the recorded answers answer one question alone, a choice with the id {self._question!r}"
            )
        item = self._ids.get(state)
        if item is None:
            known = state in self._ids
            raise Rejected(
                "several items have this text; their ids tell which one is asked about"
                if known
                else "no answer to this text was recorded"
            )
        row = self._rows[item]
        usage = _usage(row)
        if pd.notna(row["error"]):
            raise Transport(f"the recorded answer could not be read: {row['error']}", usage=usage)
        if row["predicted"] not in asked.labels:
            raise Rejected("the class that was recorded is not among the labels asked", usage=usage)
        return Reply({self._question: _answer(row, asked.labels)}, usage, row["model"], text_chars=_chars(row))


def recorded_states(items: pd.DataFrame) -> dict[str, str]:
    """Return the state by which a `ReplayedClassifier` is asked about each item, by item id.

    It is the text, so that an estimate of tokens is what it would be live; and the id where the text is empty or is that
    of several of the items.

    Parameters
    ----------
    items : DataFrame
        `Study.items` of a study from which the classifiers took their answers.
    """
    unclear = (items["text"] == "") | items["text"].duplicated(keep=False)
    states = items["text"].where(~unclear, items["item_id"])
    return dict(zip(items["item_id"], states, strict=True))


def class_question(taxonomy: Taxonomy, instructions: str = "Which class is it?") -> dict[str, Question]:
    """Return the question that a study's answers answer: a choice among its classes and the abstain name."""
    meanings = {one.name: one.meaning for one in taxonomy.classes}
    meanings.setdefault(taxonomy.abstain, "cannot be told")
    return {DEFAULT_QUESTION: Question.choice(instructions, meanings)}


def _ids_by_state(items: pd.DataFrame, study: str) -> dict[str, str | None]:
    """Map every state that names an item to its id, and a text that several items have to None."""
    ids: dict[str, str | None] = {name: name for name in items["item_id"]}
    texts = items[items["text"] != ""]
    confused = texts[texts["text"].isin(ids) & (texts["text"] != texts["item_id"])]
    if not confused.empty:
        item, text = confused[["item_id", "text"]].iloc[0]
        raise NotConfigured(f"{study}: the text of item {item!r} is the id of another, {text!r}")
    several = texts["text"].duplicated(keep=False)
    for name, text, shared in zip(texts["item_id"], texts["text"], several, strict=True):
        ids[text] = None if shared else name
    return ids


def _answer(row: Mapping[Any, Any], labels: Collection[str]) -> Answer:
    probabilities = {name: value for name, value in (row["alternatives"] or {}).items() if name in labels}
    probabilities[row["predicted"]] = max(row["confidence"], probabilities.get(row["predicted"], 0.0))
    return Answer("choice", row["predicted"], float(row["confidence"]), probabilities)


def _usage(row: Mapping[Any, Any]) -> Usage | None:
    if pd.isna(row["prompt_tokens"]) or pd.isna(row["completion_tokens"]):
        return None
    return Usage(int(row["prompt_tokens"]), int(row["completion_tokens"]))


def _chars(row: Mapping[Any, Any]) -> int | None:
    written = row.get("completion")
    return len(written) if isinstance(written, str) else None
