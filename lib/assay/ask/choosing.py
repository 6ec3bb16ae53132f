"""What the commands that ask have in common: which prompts, which store, what it may cost."""

import contextlib
from collections.abc import Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Final

from assay.ask.prompts import PromptFile, load_prompt
from assay.ask.source import Source, load_source
from assay.files import repository_root
from assay.rules import PriceSheet, load_prices
from assay.rules.documents import OneLineError

STORES: Final = Path("reports") / "answers"
"""Where the stores of studies are, under the root of the repository."""


class CommandError(OneLineError):
    """A command that was given what it cannot take."""


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


def price_sheet(path: Path | None) -> PriceSheet:
    """Read a price file; without one, every price is unknown."""
    return PriceSheet({}) if path is None else load_prices(path)
