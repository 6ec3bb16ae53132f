"""A classifier that was trained on the study's own labels: words and letters, a linear model, calibrated probabilities.

It is the cheap end of the comparison, and its numbers are those of calibration ``classifier``. Nothing it says about an
item was learnt from that item's label: on the tuning part every answer comes from a model that was fitted without it,
and the certification part is answered by the one model fitted on the whole tuning part, which is what is certified.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pandas as pd
import sklearn
from sklearn.calibration import CalibratedClassifierCV
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import FeatureUnion, Pipeline
from threadpoolctl import threadpool_limits

from assay.ask.replay import DEFAULT_QUESTION
from assay.rules import Answer, Profile, Question, Reply, Taxonomy, validate_questions
from assay.rules.answers import Calibration
from assay.rules.classifier import NotConfigured, prepare_state
from assay.study import CERTIFICATION, TUNING, Study

Texts = Sequence[str] | np.ndarray

NAME: Final = "tfidf_logistic"
FOLDS: Final = 5

PROMPT: Final = "text"
"""Stands where answers of language models name their prompt: the classifier is given the item's text and no more."""


@dataclass(frozen=True)
class Recipe:
    """How the classifier is made.

    Parameters
    ----------
    inverse_penalty : float
        Of the logistic regression (scikit-learn's C), above 0.
    folds : int
        Parts of the tuning items, at least 2: each is answered by what was fitted on the others. The calibration of
        each fit has folds of its own, as many, inside what it is fitted on.
    seed : int
        Decides the folds.
    """

    inverse_penalty: float = 3.0
    folds: int = FOLDS
    seed: int = 0

    def __post_init__(self) -> None:
        if isinstance(self.folds, bool) or not isinstance(self.folds, int) or self.folds < 2:
            raise ValueError(f"folds must be a whole number of at least 2, got {self.folds!r}")
        if not 0 < self.inverse_penalty < float("inf"):
            raise ValueError(f"inverse_penalty must be a number above 0, got {self.inverse_penalty!r}")


DEFAULT_RECIPE: Final = Recipe()

# Short words and question marks count: "do I" and "?" say more about what is asked than most nouns.
_WORD: Final = r"\b\w+\b|[?!]"


class TrainedClassifier:
    """A fitted classifier behind the `Classifier` protocol.

    Parameters
    ----------
    model : scikit-learn classifier
        Fitted, with `predict_proba`.
    labels : sequence of str
        The classes in the order of its columns.
    fingerprint : str
        Sha256 of what it was fitted on and how, 64 hex digits.
    question : str
        Id of the question that it answers.
    """

    def __init__(self, model: Any, labels: Sequence[str], fingerprint: str, question: str = DEFAULT_QUESTION) -> None:
        self._model = model
        self.labels = tuple(labels)
        self.fingerprint = fingerprint
        self._question = question

    def profile(self) -> Profile:
        """Return what it is; its prompt is the item's text."""
        return Profile(NAME, Calibration.CLASSIFIER, prompt=PROMPT)

    async def ask(self, state: str, questions: Mapping[str, Question]) -> Reply:
        """Classify one text.

        Raises
        ------
        QuestionError
            If the set of questions must not be asked.
        NotConfigured
            If something else is asked than a choice, under the id it knows, among labels that hold all its classes.
        """
        validate_questions(questions)
        asked = questions.get(self._question)
        if asked is None or len(questions) > 1 or asked.kind != "choice" or not set(self.labels) <= set(asked.labels):
            raise NotConfigured(
                f"{NAME} answers one question, a choice with the id {self._question!r} whose labels hold "
                f"{', '.join(self.labels)}"
            )
        shares = dict.fromkeys(asked.labels, 0.0) | self.probabilities([prepare_state(state)])[0]
        chosen = max(shares, key=lambda name: shares[name])
        return Reply({self._question: Answer("choice", chosen, shares[chosen], shares)}, model=NAME)

    def probabilities(self, texts: Texts) -> list[dict[str, float]]:
        """Return the probability of every class for each text; each adds up to 1."""
        return [dict(zip(self.labels, row, strict=True)) for row in self.shares(texts).tolist()]

    def shares(self, texts: Texts) -> np.ndarray:
        """Return the same as an array, shape (n_texts, n_classes), its columns in the order of `labels`."""
        with _one_thread():
            return np.asarray(self._model.predict_proba(list(texts)))


def train(texts: Texts, labels: Texts, taxonomy: Taxonomy, recipe: Recipe = DEFAULT_RECIPE) -> TrainedClassifier:
    """Fit a classifier and calibrate it by temperature on folds of what it is given.

    Parameters
    ----------
    texts, labels : sequences of str, shape (n_items,)
    taxonomy : Taxonomy
    recipe : Recipe

    Returns
    -------
    TrainedClassifier
        The same for the same arguments: the seed decides all that is drawn.

    Raises
    ------
    ValueError
        If there are fewer than two classes, or a class has fewer items than there are folds (it is named).
    """
    classes = np.asarray(labels, dtype=object)
    _check_counts(classes, taxonomy, recipe.folds)
    with _one_thread():
        model = _estimator(recipe).fit(list(texts), classes)
    about = {"texts": list(texts), "labels": classes.tolist(), "recipe": vars(recipe), "sklearn": sklearn.__version__}
    fingerprint = hashlib.sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()
    return TrainedClassifier(model, model.classes_.tolist(), fingerprint)


def answer_study(study: Study, recipe: Recipe = DEFAULT_RECIPE) -> tuple[pd.DataFrame, TrainedClassifier]:
    """Answer every item of a study, none of them by a model that has seen its label.

    Parameters
    ----------
    study : Study
        Its items have texts.
    recipe : Recipe

    Returns
    -------
    DataFrame
        One row for each item, in the order of the items: `item_id`, `model`, `prompt`, `run` (0), `calibration`,
        `predicted`, `confidence`, `alternatives` (the JSON text of an object with the other classes) and
        `missing_context` (that of an empty list).
    TrainedClassifier
        The one fitted on the tuning part, which answered the certification part.

    Raises
    ------
    ValueError
        If an item has no text, or a class has too few tuning items for the folds.
    """
    items = study.items
    blank = items["item_id"][items["text"].str.strip() == ""]
    if len(blank):
        raise ValueError(f"{study.name}: item {blank.iloc[0]!r} has no text to learn from")
    parts = study.parts().reindex(items["item_id"])
    tuning, certifying = (np.flatnonzero((parts == part).to_numpy()) for part in (TUNING, CERTIFICATION))
    texts, labels = items["text"].to_numpy(dtype=object), items["label"].to_numpy(dtype=object)
    classifier = train(texts[tuning], labels[tuning], study.taxonomy, recipe)
    shares = np.zeros((len(items), len(classifier.labels)))
    if len(certifying):
        shares[certifying] = classifier.shares(texts[certifying])
    shares[tuning] = _out_of_fold(texts[tuning], labels[tuning], recipe)
    return _frame(items["item_id"], classifier.labels, shares), classifier


def _out_of_fold(texts: np.ndarray, labels: np.ndarray, recipe: Recipe) -> np.ndarray:
    """Return probabilities of each text from a whole fit, calibration included, on the folds it is not in."""
    classes = np.unique(labels)
    shares = np.zeros((len(texts), len(classes)))
    with _one_thread():
        for fitted, held_out in _folds(recipe).split(texts, labels):
            model = _estimator(recipe).fit(texts[fitted], labels[fitted])
            shares[np.ix_(held_out, np.searchsorted(classes, model.classes_))] = model.predict_proba(texts[held_out])
    return shares


def _one_thread() -> Any:
    # Sums in an order of their own on each number of threads; and on a busy machine, waiting for one another takes
    # these small products ten times as long.
    return threadpool_limits(1)


def _estimator(recipe: Recipe) -> CalibratedClassifierCV:
    features = FeatureUnion(
        [
            ("words", TfidfVectorizer(token_pattern=_WORD, ngram_range=(1, 2), sublinear_tf=True)),
            # Parts of words stand up to misspelling, and know a tag by its letters.
            ("letters", TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 5), sublinear_tf=True, min_df=2)),
        ]
    )
    # The classes that matter most are not the ones that are met most often.
    linear = LogisticRegression(C=recipe.inverse_penalty, class_weight="balanced", max_iter=2000)
    # One model on all it is given, and one temperature from the folds: what is certified is one model, not an average.
    return CalibratedClassifierCV(
        Pipeline([("features", features), ("linear", linear)]), method="temperature", cv=_folds(recipe), ensemble=False
    )


def _folds(recipe: Recipe) -> StratifiedKFold:
    return StratifiedKFold(recipe.folds, shuffle=True, random_state=recipe.seed)


def _frame(item_ids: pd.Series, labels: Sequence[str], shares: np.ndarray) -> pd.DataFrame:
    chosen = shares.argmax(axis=1)
    alternatives = [
        json.dumps({name: share for place, (name, share) in enumerate(zip(labels, row, strict=True)) if place != best})
        for row, best in zip(shares.tolist(), chosen.tolist(), strict=True)
    ]
    return pd.DataFrame(
        {
            "item_id": item_ids.to_numpy(),
            "model": NAME,
            "prompt": PROMPT,
            "run": 0,
            "calibration": str(Calibration.CLASSIFIER),
            "predicted": np.asarray(labels, dtype=object)[chosen],
            "confidence": shares.max(axis=1),
            "alternatives": alternatives,
            # A classifier names nothing that a question lacks.
            "missing_context": "[]",
        }
    )


def _check_counts(labels: np.ndarray, taxonomy: Taxonomy, folds: int) -> None:
    names, counts = np.unique(labels.astype(str), return_counts=True)
    if len(names) < 2:
        raise ValueError(f"a classifier needs at least two classes to learn, got {len(names)}")
    needed = folds + 1  # A fold of the outer split may hold one item of the class, and every inner one needs one more.
    for name, count in zip(names.tolist(), counts.tolist(), strict=True):
        if name not in taxonomy:
            raise ValueError(f"{name!r} is not a class of the taxonomy")
        if count < needed:
            raise ValueError(f"class {name!r} has {count} items to learn from; {needed} are needed for {folds} folds")
