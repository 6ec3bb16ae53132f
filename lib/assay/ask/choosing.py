"""What the commands that ask have in common: which prompts, which store, what it may cost."""

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Final

import pandas as pd

from assay.ask.client import Connection, connect
from assay.ask.plan import make_asks
from assay.ask.prompts import PromptFile, load_prompt
from assay.ask.request import DEFAULT_SETTINGS, Ask, Settings
from assay.ask.source import Source, load_source
from assay.files import Output, repository_root, require_apart
from assay.rules import PriceSheet, load_prices
from assay.rules.classifier import NotConfigured
from assay.rules.documents import OneLineError

STORES: Final = Path("reports") / "answers"
"""Where the stores of studies are, under the root of the repository."""


class CommandError(OneLineError):
    """A command that was given what it cannot take."""


@dataclass(frozen=True)
class Choice:
    """What a command that asks was told to ask, checked.

    Parameters
    ----------
    source : Source
    items : DataFrame
        Those of the source that are to be asked.
    prompts : sequence of PromptFile
    run : int
        Which repetition, from 0.
    prices : PriceSheet
    budget : Decimal, optional
        US dollars that the asks may cost.
    store : Path
        Where the answers go.
    files : sequence of Path
        What was read to know all this.
    """

    source: Source
    items: pd.DataFrame
    prompts: Sequence[PromptFile]
    run: int
    prices: PriceSheet
    budget: Decimal | None
    store: Path
    files: Sequence[Path]

    def asks(self, model: str, settings: Settings = DEFAULT_SETTINGS, *, every_item: bool = False) -> list[Ask]:
        """Put what was chosen to a model, or every item of the source."""
        return make_asks(
            self.source.items if every_item else self.items, self.prompts, model, run=self.run, settings=settings
        )


def choose(
    study: str,
    prompts: Sequence[str],
    *,
    run: int = 0,
    limit: int | None = None,
    max_cost: str | None = None,
    prices: Path | None = None,
    store: Path | None = None,
) -> Choice:
    """Read what is to be asked, and refuse what is no choice; nothing is written.

    Parameters
    ----------
    study, prompts, run, limit, max_cost, prices, store
        As for `assay.ask.commands.collect_answers`.

    Raises
    ------
    CommandError, OutputError, StudyError, PromptError, DocumentError
        One line that names what was given.
    """
    source = load_source(study)
    if source.items.empty:
        raise CommandError(
            f"{source.name}: none of its items has a text to ask about; name the column that does in study.toml, as in "
            'columns = { text = "question" } under [items]'
        )
    files = prompt_files(prompts, source)
    if limit is not None and limit < 1:
        raise CommandError(f"--limit must be at least 1, got {limit}")
    budget, sheet = us_dollars(max_cost), price_sheet(prices)
    items = source.items if limit is None else source.items.head(limit)
    read = [*source.files, *(prompt_path(one, source) for one in prompts), *([] if prices is None else [prices])]
    place = store or usual_store(source.name)
    require_apart([Output("--store", place)], read)
    return Choice(source, items, files, run, sheet, budget, place, read)


def say_textless(source: Source) -> None:
    """Print how many items are not asked for want of a text, if there are any."""
    if source.textless:
        print(f"items without a text, not asked: {source.textless:,}")


def connection_to(base_url: str | None) -> Connection:
    """Build a client from the environment; without what it needs there, `CommandError` says what to set."""
    try:
        return connect(base_url=base_url)
    except NotConfigured as error:
        raise CommandError(str(error)) from None


def prompt_files(given: Sequence[str], source: Source) -> list[PromptFile]:
    """Read prompts given as paths or as names of prompts of the study; at least one."""
    if not given:
        raise CommandError("--prompt is needed: a prompt file, or the name of a prompt of the study")
    return [load_prompt(prompt_path(one, source)) for one in given]


def prompt_path(given: str, source: Source) -> Path:
    """Find a prompt given as a path or as the name of a prompt of the study."""
    path = Path(given)
    if path.is_file():
        return path
    if given in source.prompts:
        return source.prompts[given]
    names = ", ".join(source.prompts) or "none"
    raise CommandError(f"{given}: no such file, nor a prompt of {source.name} (it has: {names})")


def surrounding_study(path: Path) -> Source | None:
    """Return the study in whose folder a file lies, if there is one."""
    for folder in path.absolute().parents[:2]:
        if (folder / "study.toml").is_file():
            return load_source(str(folder))
    return None


def usual_store(study: str) -> Path:
    """Say where the answers of a study go unless another place is named."""
    return repository_root() / STORES / f"{study}.sqlite"


def us_dollars(given: str | None) -> Decimal | None:
    """Read an amount of US dollars; None if none is given."""
    if given is None:
        return None
    with contextlib.suppress(InvalidOperation):
        amount = Decimal(given)
        if amount.is_finite() and amount >= 0:
            return amount
    raise CommandError(f"--max-cost must be a number of US dollars of at least 0, got {given!r}")


def require_price(budget: Decimal | None, prices: PriceSheet, model: str) -> None:
    """Refuse a cost limit that cannot be kept, since what the model costs is not known."""
    if budget is not None and prices.price(model) is None:
        raise CommandError(f"--max-cost needs the price of {model}: give --prices, a file that holds it")


def price_sheet(path: Path | None) -> PriceSheet:
    """Read a price file; without one, every price is unknown."""
    return PriceSheet({}) if path is None else load_prices(path)
