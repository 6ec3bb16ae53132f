"""The answers that notebook 00 looks at: asked for now, recorded before, or, in a dry run, only foreseen."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from assay.ask.choosing import CommandError, usual_store
from assay.ask.commands import collect_answers
from assay.ask.plan import Plan
from assay.ask.prompts import PromptError, load_prompt
from assay.rules import AnswerError, parse_classification
from assay.settings import CollectSettings
from assay.show.calibration import scale_of
from assay.show.opening import Opened, open_study, read_prices
from assay.show.words import Words, count, listed
from assay.study import Series, Study, find_folder, load_study
from assay.study.settings import read_settings


@dataclass(frozen=True)
class Collection:
    """Answers to be looked at; shows itself as what would be asked, if that is known, and the study it opened.

    Attributes
    ----------
    opened : Opened, optional
        None for a dry run on a study that has no answers yet.
    plan : Plan, optional
        What a dry run found that asking would take.
    absent : tuple of str
        Names of the files of answers that are not there yet.
    """

    opened: Opened | None
    plan: Plan | None = None
    absent: tuple[str, ...] = ()

    @property
    def series(self) -> list[Series]:
        """The series there are."""
        return self.opened.series if self.opened else []

    @property
    def examples(self) -> dict[str, list[float]]:
        """The confidences in the examples of each prompt that the study keeps."""
        return example_confidences(self.opened.whole) if self.opened else {}

    @property
    def scale(self) -> int:
        """On which the confidences were written, 1 or 100."""
        return scale_of(self.opened.study) if self.opened else 1

    @property
    def hashes(self) -> dict[str, str]:
        """What the figures are computed from, for the record."""
        return {"data": self.opened.whole.data_sha256} if self.opened else {}

    @property
    def foreseen(self) -> Mapping[str, object] | None:
        """The plan of a dry run in numbers, for the record; the cost is None where it is not known."""
        if self.plan is None:
            return None
        usage, cost = self.plan.totals.usage, self.plan.totals.total_usd
        return {
            "asked": 0,
            "wanted": self.plan.asks,
            "in_store": self.plan.stored,
            "to_send": self.plan.new,
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "cost_usd": None if cost is None else float(cost),
        }

    def __repr__(self) -> str:
        return "\n\n".join(filter(None, (str(self._words()), repr(self.opened) if self.opened else "")))

    def _repr_html_(self) -> str:
        return self._words()._repr_html_() + (self.opened._repr_html_() if self.opened else "")

    def _words(self) -> Words:
        if self.plan is None:
            return Words()
        if self.opened is None:
            rest = (
                f"There are no answers to look at: the study names {listed(self.absent)}, which "
                f"{'is' if len(self.absent) == 1 else 'are'} not there yet."
            )
        else:
            rest = "What follows looks at the answers that the study has recorded."
        return Words(plan_words(self.plan), rest)


def open_answers(settings: CollectSettings) -> Collection:
    """Open the answers to be looked at: those the study has or, where the settings ask, those asked for now.

    What is asked is printed. With ``dry_run`` nothing is asked, and the answers that the study has, if it has any, are
    looked at.

    Raises
    ------
    CommandError
        There is no such prompt, the price that a limit needs is not known, or no model can be reached.
    DocumentError
        The price file cannot be read.
    """
    if not settings.ask:
        return Collection(open_study(settings))
    prices = read_prices(settings.prices)
    priced = prices is not None and settings.model is not None and prices.price(settings.model) is not None
    if settings.max_cost and not settings.local and not priced:
        raise CommandError(
            f"max_cost needs the price of {settings.model}, and {settings.prices} has none: add it, or leave out max_cost"
        )
    # "." names the study of the folder it is in.
    store = Path(settings.store) if settings.store else usual_store(Path(settings.study).expanduser().resolve().name)
    given = (settings.study, [str(settings.prompt)])
    asked = {
        "model": settings.model,
        "local": settings.local,
        "base_url": settings.base_url or None,
        "run": settings.run,
        "limit": settings.limit,
        "max_cost": settings.max_cost or None,
        "prices": Path(settings.prices).expanduser() if settings.prices else None,
        "concurrency": settings.concurrency,
        "store": store,
    }
    # A model is named by its replies, and what was asked before counts as well: neither selects.
    everything = settings.model_copy(update={"model": None, "prompt": None})
    if settings.dry_run:
        plans: list[Plan] = []
        collect_answers(*given, **asked, dry_run=True, planned=plans.append)  # type: ignore[arg-type]
        absent = _absent(settings.study)
        return Collection(None if absent else open_study(everything), plans[0], absent)
    collect_answers(*given, **asked, dry_run=True)  # type: ignore[arg-type]
    export = store.with_suffix(".parquet")
    collect_answers(*given, **asked, export=export)  # type: ignore[arg-type]
    return Collection(open_study(everything, load_study(settings.study, answers=export)))


def plan_words(plan: Plan) -> str:
    """Say what asking would take, and that nothing was asked."""
    if not plan.new:
        return (
            f"Nothing was asked: this is a dry run. Nothing is left to ask: all {count(plan.asks, 'ask')} are stored."
        )
    usage, cost = plan.totals.usage, plan.totals.total_usd
    sent = listed([f"{number:,} to {model} with prompt {prompt}" for (model, prompt), number in plan.by_series.items()])
    price = (
        f"What they would cost is not known: there is no price for {listed(plan.totals.unpriced_models)}."
        if cost is None
        else f"They would cost about {dollars(float(cost))}."
    )
    return (
        f"Nothing was asked: this is a dry run. Of {count(plan.asks, 'ask')}, {plan.stored:,} are in the store and "
        f"{plan.new:,} would be sent: {sent}. They would take about {count(usage.prompt_tokens, 'token')} to read and "
        f"{count(usage.completion_tokens, 'token')} to write. {price}"
    )


def dollars(amount: float) -> str:
    """Write an amount of US dollars, small ones to four places: ``US$0.0031``, ``US$12.40``, ``under US$0.0001``."""
    if 0 < amount < 0.0001:
        return "under US$0.0001"
    return f"US${amount:,.{2 if amount >= 1 or amount == 0 else 4}f}"


def example_confidences(study: Study) -> dict[str, list[float]]:
    """Read the confidences in the examples of each prompt that the study keeps; one that cannot be read has none."""
    found: dict[str, list[float]] = {}
    for name, path in study.prompts.items():
        try:
            prompt = load_prompt(path)
        except PromptError:
            continue
        for example in prompt.examples:
            try:
                answer = parse_classification(example.reply, study.taxonomy)
            except AnswerError:
                continue
            found.setdefault(name, []).append(answer.confidence)
    return found


def _absent(study: str) -> tuple[str, ...]:
    """Name the files of answers of a study that are not there."""
    folder = find_folder(study)
    assert folder is not None  # its items were read
    return tuple(one.source.name for one in read_settings(folder).answers if not one.source.path.exists())
