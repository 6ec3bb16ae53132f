"""Recorded answers as a classifier: what a model said to the items of a study, said again.

The router and the shadow take it like any other classifier, so that what they would have done is measured on real
answers without asking, and paying for, a single one.
"""

from collections.abc import Mapping
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
        If several series of answers are left, or two items have the same text and different ids.

    Notes
    -----
    A state is the text of an item, or its id where the item has no text. An item that was answered in several runs has
    the answer of its lowest one.
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
        self._taxonomy = study.taxonomy
        self._rows = {row["item_id"]: row for row in chosen.first_answers().answers.to_dict("records")}
        self._ids = _ids_by_state(chosen.items, study.name)

    def profile(self) -> Profile:
        """Return where the recorded confidences come from."""
        return self._profile

    async def ask(self, state: str, questions: Mapping[str, Question]) -> Reply:
        """Return the recorded answer to the item whose text is `state`.

        Raises
        ------
        QuestionError
            If the set of questions must not be asked.
        NotConfigured
            If something else is asked than the question that was recorded, among the classes of the study.
        Rejected
            If no answer to this text was recorded, or its class is not among the labels asked.
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
            raise Rejected("no answer to this text was recorded")
        row = self._rows[item]
        usage = _usage(row)
        if pd.notna(row["error"]):
            raise Transport(f"the recorded answer could not be read: {row['error']}", usage=usage)
        if row["predicted"] not in asked.labels:
            raise Rejected("the class that was recorded is not among the labels asked", usage=usage)
        probabilities = {name: value for name, value in (row["alternatives"] or {}).items() if name in asked.labels}
        probabilities[row["predicted"]] = max(row["confidence"], probabilities.get(row["predicted"], 0.0))
        answer = Answer("choice", row["predicted"], float(row["confidence"]), probabilities)
        return Reply({self._question: answer}, usage, row["model"], text_chars=_chars(row))


def class_question(taxonomy: Taxonomy, instructions: str = "Which class is it?") -> dict[str, Question]:
    """Return the question that a study's answers answer: a choice among its classes and the abstain name."""
    meanings = {one.name: one.meaning for one in taxonomy.classes}
    meanings.setdefault(taxonomy.abstain, "cannot be told")
    return {DEFAULT_QUESTION: Question.choice(instructions, meanings)}


def _ids_by_state(items: pd.DataFrame, study: str) -> dict[str, str]:
    states = items["text"].where(items["text"] != "", items["item_id"])
    repeated = states.duplicated(keep=False)
    if repeated.any():
        ids = ", ".join(repr(one) for one in items["item_id"][repeated].head(2))
        raise NotConfigured(f"{study}: items {ids} have the same text, which does not tell which one is asked about")
    return dict(zip(states, items["item_id"], strict=True))


def _usage(row: Mapping[Any, Any]) -> Usage | None:
    if pd.isna(row["prompt_tokens"]) or pd.isna(row["completion_tokens"]):
        return None
    return Usage(int(row["prompt_tokens"]), int(row["completion_tokens"]))


def _chars(row: Mapping[Any, Any]) -> int | None:
    written = row.get("completion")
    return len(written) if isinstance(written, str) else None
