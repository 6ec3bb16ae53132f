"""A study in hand: items with labels, answers of models, and what is asked of a policy.

`assay.study.load_study` reads one from its folder, and `Study.from_frame` takes a frame. Either way the answers end in
one tidy frame with the same columns, so that everything downstream is written once.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

import numpy as np
import pandas as pd

from assay.rules import Taxonomy
from assay.rules.parsing import SCALES
from assay.study.answers import answer_source, series_codes, tidy_answers
from assay.study.columns import ColumnSource, positions
from assay.study.contract import Contract, TableContract
from assay.study.errors import StudyError, listed, nearest, shown
from assay.study.exclusions import Exclusions
from assay.study.frames import frame_sha256, frame_spec, frame_table, inferred_taxonomy
from assay.study.items import TAG_PREFIX, items_of_answers, refuse_unknown_labels
from assay.study.parts import PARTS, Split
from assay.study.reading import file_sha256
from assay.study.series import KEYS
from assay.study.settings import Costs, check_share


@dataclass(frozen=True, eq=False)
class Study:
    """Items, answers and what is asked of a policy.

    Attributes
    ----------
    name, title, source, licence : str
    folder : Path or None
        None for a study made of a frame.
    taxonomy : Taxonomy
        With its gates.
    contract : Contract
        How the answers were written.
    items : DataFrame
        One row for each labelled item: `item_id`, `text` (may be empty), `label`, and a column ``tag_<name>`` for each
        tag.
    answers : DataFrame
        One row for each answer, unreadable ones included, in the order of the files:

        ======================== ========= ======================================================================
        item_id, label           str
        model, prompt            str       ``unnamed`` where the study does not say
        run                      int64     1 where the study does not say
        calibration, elicitation str       elicitation is empty for a classifier
        predicted                str       a class or the abstain name; missing where unreadable
        confidence               float64   in [0, 1] whatever the scale written; NaN where unreadable
        alternatives             object    dict of runner-up classes, or None. The predicted class is among them only
                                           where it was given a larger number there than its confidence
        missing_context, flags   object    tuples of str
        error                    str       why it is unreadable; missing where it is not
        correct                  boolean   whether predicted is the label; NA where unreadable
        prompt_tokens,           Int64     NA where not recorded
        completion_tokens
        cost_usd, latency_s      Float64   US dollars and seconds; NA where not recorded
        asked_at                 str
        tag_<name>               str       empty where the item has none
        requested_model          str       only where the study has it: the name that was asked for, while `model` is
                                           what the reply says
        completion               str       only where the study has it: what the model wrote
        ======================== ========= ======================================================================

        Rows share the dicts and tuples in it: they are for reading.
    excluded : DataFrame
        What was left out: `source`, `reason`, `count`, `examples`.
    annotations : DataFrame
        Labels of further people: `item_id`, `annotator`, `label`. Empty where there are none.
    seed : int
    certification_share : float in (0, 1)
    data_sha256 : str
        Digest of the files of items and answers, or of the frame; the same for whatever is selected from the study.
    prompts : mapping of str to Path
        The file of each prompt that the study keeps.
    prevalence : mapping of str to float, or None
        The share of each class in production.
    costs : Costs or None
    compare_within : str
        The tag whose values are data sets of their own, never pooled; empty where there is none.
    """

    name: str
    title: str
    source: str
    licence: str
    folder: Path | None
    taxonomy: Taxonomy
    contract: Contract
    items: pd.DataFrame
    answers: pd.DataFrame
    excluded: pd.DataFrame
    annotations: pd.DataFrame
    split: Split
    data_sha256: str
    prompts: Mapping[str, Path] = field(default_factory=dict)
    prevalence: Mapping[str, float] | None = None
    costs: Costs | None = None
    compare_within: str = ""

    @classmethod
    def from_frame(
        cls,
        frame: pd.DataFrame,
        *,
        taxonomy: Taxonomy | None = None,
        name: str = "frame",
        label: str = "label",
        predicted: str = "predicted",
        confidence: str = "confidence",
        probabilities: str | None = None,
        alternatives: str | None = None,
        missing_context: str | None = None,
        scale: int = 1,
        item_id: str | None = None,
        text: str | None = None,
        model: str | None = None,
        prompt: str | None = None,
        run: str | None = None,
        tags: Iterable[str] = (),
        leave_out: Iterable[str] = (),
        calibration: str = "language_model",
        elicitation: str | None = "verbal",
        title: str = "",
        seed: int = 0,
        certification_share: float = 0.5,
    ) -> Self:
        """Make a study of a frame with one row for each answer.

        Parameters
        ----------
        frame : DataFrame
            Not changed.
        taxonomy : Taxonomy, optional
            Without one, the labels and predictions that occur are the classes, none safer than another, without a gate.
        name, title : str
        label, predicted, confidence : str
            Columns. Where `probabilities` is given, `confidence` is not looked at.
        probabilities : str, optional
            A column of maps from class to probability, the predicted class among them.
        alternatives : str, optional
            A column of maps from runner-up class to confidence.
        missing_context : str, optional
            A column of lists of names.
        scale : {1, 100}
            The number that means certainty. A confidence outside it makes the answer unreadable; nothing is rescaled.
        item_id : str, optional
            The column of item ids; by default ``item_id`` where there is one, else every row is an item of its own,
            numbered from 1.
        text, model, prompt, run : str, optional
            Columns; by default those of these names where there are any. So for ``requested_model`` and the columns of
            tokens, cost, latency and time in `Study.answers`.
        tags : iterable of str
            Columns that describe the items.
        leave_out : iterable of str
            Columns that hold something else than these names say, such as an `error` of 0 and 1, and are not taken by them.
        calibration : {"language_model", "classifier"}
        elicitation : {"verbal", "token", "vote"}, optional
            Not for a classifier.
        seed : int
        certification_share : float in (0, 1)

        Raises
        ------
        StudyError
            If a column is missing, labels are of mixed types or no classes, or an item has two labels or is answered
            twice in one run.
        """
        table = frame_table(frame, name, item_id)
        columns = {"item_id": item_id, "label": label, "model": model, "prompt": prompt, "run": run}
        if scale not in SCALES:
            raise StudyError(f"scale must be 1 or 100, got {shown(scale)}")
        contract = TableContract(
            predicted, None if probabilities else confidence, alternatives, probabilities, missing_context, scale
        )
        exclusions = Exclusions()
        left_out = tuple(leave_out)
        source = answer_source(table, frame_spec(name, columns, calibration, elicitation, left_out))
        items = items_of_answers(
            [table],
            [source.item_ids],
            ColumnSource(label),
            {} if text is None else {"text": ColumnSource(text)},
            {tag: ColumnSource(tag) for tag in tags},
            exclusions,
            left_out,
        )
        if taxonomy is None:
            taxonomy = inferred_taxonomy(
                items.frame["label"], table.raw(ColumnSource(predicted), "the predicted class"), name
            )
        refuse_unknown_labels(items.frame["label"], items.frame["item_id"], taxonomy, name)
        answers = tidy_answers([source], items, contract, taxonomy, exclusions)
        share = check_share(certification_share, "certification_share")
        return cls(
            name=name,
            title=title or name,
            source="a frame",
            licence="",
            folder=None,
            taxonomy=taxonomy,
            contract=contract,
            items=items.frame,
            answers=answers,
            excluded=exclusions.frame(),
            annotations=no_annotations(),
            split=Split(items.frame["item_id"], items.frame["label"], seed, share),
            data_sha256=frame_sha256(answers),
        )

    @property
    def seed(self) -> int:
        """What the split of the items depends on, besides their ids."""
        return self.split.seed

    @property
    def certification_share(self) -> float:
        """The share of each label's items that certifies."""
        return self.split.certification_share

    @property
    def tags(self) -> tuple[str, ...]:
        """Names of the tags of the items."""
        return tuple(name.removeprefix(TAG_PREFIX) for name in self.items.columns if name.startswith(TAG_PREFIX))

    def select(
        self,
        model: str | Iterable[str] | None = None,
        prompt: str | Iterable[str] | None = None,
        elicitation: str | Iterable[str] | None = None,
        calibration: str | Iterable[str] | None = None,
        tags: Mapping[str, str | Iterable[str]] | None = None,
        part: str | None = None,
    ) -> Self:
        """Restrict the study to some of its answers, and its items to those that they answer.

        Parameters
        ----------
        model, prompt, elicitation, calibration : str or iterable of str, optional
            One or more of the values in the answers.
        tags : mapping of str to str or iterable of str, optional
            Values by tag.
        part : {"tuning", "certification"}, optional
            A part of the items, as `parts` has it.

        Returns
        -------
        Study
            Its items keep the part they have in the whole study.

        Raises
        ------
        StudyError
            If a value does not occur in the answers, naming those that do; if a tag is not known; if values that all
            occur do so in no answer together.
        """
        wanted: dict[str, str | Iterable[str]] = {}
        for name, value in {
            "model": model,
            "prompt": prompt,
            "elicitation": elicitation,
            "calibration": calibration,
        }.items():
            if value is not None:
                wanted[name] = value
        for tag, value in (tags or {}).items():
            if tag not in self.tags:
                hint = f"{nearest(str(tag), self.tags)}; its tags are: {listed(self.tags)}"
                raise StudyError(f"{self.name} has no tag {shown(tag)}{hint}", kind="unknown_value")
            wanted[TAG_PREFIX + tag] = value
        kept = np.ones(len(self.answers), dtype=bool)
        for column, value in wanted.items():
            kept &= self.answers[column].isin(self._existing(column, value)).to_numpy()
        if part is not None:
            if part not in PARTS:
                raise StudyError(f"part must be one of {listed(PARTS)}, got {shown(part)}", kind="unknown_value")
            place = positions(self.answers["item_id"], self.items["item_id"])
            kept &= (self.parts() == part).to_numpy()[place]
        if not kept.any():
            asked = ", ".join(f"{name.removeprefix(TAG_PREFIX)} {shown(value)}" for name, value in wanted.items())
            raise StudyError(f"{self.name} has no answer with {asked}", kind="unknown_value")
        return self._with_answers(self.answers[kept].reset_index(drop=True))

    def series(self) -> pd.DataFrame:
        """Count the answers whose confidences are comparable.

        Returns
        -------
        DataFrame
            One row for each model, prompt, calibration and elicitation in the order of their first answers, with the
            number of `answers`, of distinct `items`, of `runs`, and of answers that are `unreadable`.
        """
        counted = self.answers.assign(unreadable=self.answers["error"].notna())
        grouped = counted.groupby(list(KEYS), sort=False, as_index=False, observed=True)
        return grouped.agg(
            answers=("item_id", "size"),
            items=("item_id", "nunique"),
            runs=("run", "nunique"),
            unreadable=("unreadable", "sum"),
        )

    def parts(self) -> pd.Series:
        """Tell which items a policy is tuned on and which certify it.

        Returns
        -------
        Series of str
            ``tuning`` or ``certification``, indexed by item id in the order of `items`. Half of each label's items (or
            the study's `certification_share`) certify. The split is that of the whole study: selecting from it moves
            no item from one part to the other, so that what was tuned on one selection stays unseen in another.
        """
        return self.split.parts.iloc[positions(self.items["item_id"], self.split.item_ids)]

    def with_seed(self, seed: int) -> Self:
        """Return the study with its items split by another seed."""
        return replace(self, split=replace(self.split, seed=seed))

    def first_answers(self) -> Self:
        """Keep one answer of each item in each series: that of its lowest run, readable or not."""
        order = np.lexsort((np.arange(len(self.answers)), self.answers["run"].to_numpy()))
        codes = pd.Series(series_codes(self.answers, "item_id"))
        first = codes.iloc[order].drop_duplicates().index.sort_values()
        return self._with_answers(self.answers.loc[first].reset_index(drop=True))

    def prompt_sha256(self, prompt: str) -> str | None:
        """Return the sha256 of the file of a prompt, or None where the study keeps none for it."""
        return file_sha256(self.prompts[prompt]) if prompt in self.prompts else None

    def __repr__(self) -> str:
        return f"<Study {self.name}: {len(self.items):,} items, {len(self.answers):,} answers>"

    def _existing(self, column: str, value: str | Iterable[str]) -> list[str]:
        name = column.removeprefix(TAG_PREFIX)
        values = [value] if isinstance(value, str) else list(value) if isinstance(value, Iterable) else [value]
        if not all(isinstance(one, str) for one in values):
            raise StudyError(f"{name} must be text or a list of texts, got {shown(value)}", kind="unknown_value")
        known = list(self.answers[column].drop_duplicates())
        for one in values:
            if one not in known:
                hint = f"{nearest(str(one), known)}; there are: {listed(known)}"
                raise StudyError(f"{self.name} has no answers with {name} {shown(one)}{hint}", kind="unknown_value")
        return values

    def _with_answers(self, answers: pd.DataFrame) -> Self:
        answered = np.zeros(len(self.items), dtype=bool)
        answered[positions(answers["item_id"], self.items["item_id"])] = True
        return replace(self, answers=answers, items=self.items[answered].reset_index(drop=True))


def no_annotations() -> pd.DataFrame:
    """Return the annotations of a study that has none."""
    return pd.DataFrame({name: pd.Series(dtype="str") for name in ("item_id", "annotator", "label")})
