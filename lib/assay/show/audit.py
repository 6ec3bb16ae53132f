"""What a study's models answered and whether it is fit to use (notebook 00): asked now, or recorded before."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from assay.ask.choosing import CommandError, usual_store
from assay.ask.commands import collect_answers
from assay.ask.prompts import PromptError, load_prompt
from assay.measure.intervals import Interval
from assay.measure.judged import Judged
from assay.measure.ranking import auroc
from assay.rules import AnswerError, parse_classification
from assay.settings import CollectSettings
from assay.show.opening import Opened, open_study
from assay.show.tables import Table
from assay.show.words import Words, bounds, count, listed
from assay.study import Series, Study, load_study

FEW = 6


def open_answers(settings: CollectSettings) -> Opened:
    """Open the answers to be looked at: those the study has or, where the settings ask, those asked for now.

    What would be asked, and what was, is printed. With ``dry_run`` nothing is asked, and the answers that the study has
    are looked at.

    Raises
    ------
    CommandError
        The settings that ask do not go together, or no model can be reached.
    """
    if not settings.ask:
        return open_study(settings)
    if settings.prompt is None:
        raise CommandError("prompt must name a prompt of the study to ask with, got None")
    if settings.local and (settings.model is not None or settings.base_url):
        raise CommandError("local asks a model of its own: leave out model and base_url")
    if not settings.local and settings.model is None:
        raise CommandError("model must name the model to ask, unless local is True, got None")
    # "." names the study of the folder it is in.
    store = Path(settings.store) if settings.store else usual_store(Path(settings.study).expanduser().resolve().name)
    asked = {
        "model": settings.model,
        "local": settings.local,
        "base_url": settings.base_url or None,
        "run": settings.run,
        "limit": settings.limit,
        "max_cost": settings.max_cost or None,
        "prices": Path(settings.prices) if settings.prices else None,
        "concurrency": settings.concurrency,
        "store": store,
    }
    collect_answers(settings.study, [settings.prompt], **asked, dry_run=True)  # type: ignore[arg-type]
    # A model is named by its replies, and what was asked before counts as well: neither selects.
    everything = settings.model_copy(update={"model": None, "prompt": None})
    if settings.dry_run:
        return open_study(everything)
    export = store.with_suffix(".parquet")
    collect_answers(settings.study, [settings.prompt], **asked, export=export)  # type: ignore[arg-type]
    return open_study(everything, load_study(settings.study, answers=export))


def collected(opened: Opened) -> Table:
    """One row per series: how many answers, of what, when, and what they took where that is known."""
    rows = []
    for one in opened.series:
        answers = one.answers
        asked = answers["asked_at"].dropna().sort_values()
        kinds = answers["error"].dropna().value_counts()
        rows.append(
            {
                "series": one.name,
                "items": one.items,
                "answers": len(answers),
                "runs": int(answers["run"].nunique()),
                "unreadable": int(kinds.sum()),
                "why": listed([f"{str(kind).replace('_', ' ')} {number:,}" for kind, number in kinds.items()]),
                "asked": f"{asked.iloc[0][:10]} to {asked.iloc[-1][:10]}" if len(asked) else "not recorded",
                "tokens in, mean": _mean(answers["prompt_tokens"]),
                "tokens out, mean": _mean(answers["completion_tokens"]),
                "cost, US$": _total(answers["cost_usd"]),
                "no cost known": int(answers["cost_usd"].isna().sum()),
                "seconds, median": _median(answers["latency_s"]),
            }
        )
    formats = {"tokens in, mean": ",.0f", "tokens out, mean": ",.0f", "cost, US$": ".4f", "seconds, median": ".2f"}
    caption = "What was collected; a cost or time that is not recorded is not known, never nothing"
    return Table(pd.DataFrame(rows), caption=caption, name="collected", formats=formats)


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


def information_table(series: Sequence[Series]) -> Table:
    """One row per series: how well its confidence tells right from wrong answers."""
    rows = [
        {
            "series": one.name,
            "answers": int(one.answers["error"].isna().sum()),
            "AUROC": bounds(area, 2),
            "tells right from wrong": _tells(area),
        }
        for one in series
        for area in [_area(one)]
    ]
    caption = (
        "How much the confidence knows: AUROC of confidence against correctness, 95 % intervals over items; 0.5 is none"
    )
    return Table(pd.DataFrame(rows), caption=caption, name="information")


def information(series: Sequence[Series]) -> Words:
    """Say how much each confidence knows; of one model and prompt, the kinds of confidence side by side."""
    together: dict[tuple[str, str], list[Series]] = {}
    for one in series:
        together.setdefault((one.model, one.prompt), []).append(one)
    pairs = [own for own in together.values() if len(own) > 1]
    paragraphs = [_side_by_side(own) for own in pairs[:FEW]]
    alone = [own[0] for own in together.values() if len(own) == 1]
    if len(alone) == 1:
        paragraphs.append(_side_by_side(alone))
    elif alone:
        telling = [one for one in alone if _tells(_area(one)) == "yes"]
        known = [area for one in alone if (area := _area(one)) is not None]
        if known:
            paragraphs.append(
                f"{len(telling)} of {count(len(alone), 'series', 'series')} with one kind of confidence: it tells right from "
                f"wrong answers beyond chance (AUROC from {min(area.estimate for area in known):.2f} to "
                f"{max(area.estimate for area in known):.2f}, each with its interval in the table)."
            )
    return Words(*(paragraphs or ["No series has both right and wrong answers, so nothing can be ranked."]))


def headline(opened: Opened) -> str:
    """Return one sentence for the index of a report."""
    answers = opened.study.answers
    lost = int(answers["error"].notna().sum())
    telling = [_tells(_area(one)) for one in opened.series].count("yes")
    return (
        f"{count(len(answers), 'answer')} in {count(len(opened.series), 'series', 'series')}, {lost:,} unreadable; in "
        f"{telling} of them the confidence tells right from wrong beyond chance"
    )


def _side_by_side(own: Sequence[Series]) -> str:
    said = []
    for one in own:
        area = _area(one)
        kind = {
            "verbal": "the number it wrote",
            "token": "the probability of its tokens",
            "vote": "its vote share",
        }.get(one.elicitation, one.calibration.replace("_", " "))
        if area is None:
            said.append(f"{kind} cannot be ranked, since its answers are all right or all wrong")
            continue
        tells = {"yes": "tells right from wrong", "no": "is not shown to tell right from wrong", "inverted": "misleads"}
        said.append(
            f"{kind} {tells[_tells(area)]} (AUROC {area.estimate:.2f}, 95 % interval {area.low:.2f} to {area.high:.2f})"
        )
    return f"{own[0].model}, {own[0].prompt}: {'; '.join(said)}. An AUROC of 0.5 is what a confidence without content gives."


def _area(one: Series) -> Interval | None:
    judged = Judged.from_frame(one.answers)
    if not len(judged):
        return None
    area = auroc(judged).auroc
    return area if area.known else None


def _tells(area: Interval | None) -> str:
    if area is None:
        return "not defined"
    return "yes" if area.low > 0.5 else "inverted" if area.high < 0.5 else "no"


def _mean(values: pd.Series) -> float | None:
    return float(values.mean()) if values.notna().any() else None


def _total(values: pd.Series) -> float | None:
    return float(values.sum()) if values.notna().any() else None


def _median(values: pd.Series) -> float | None:
    return float(values.median()) if values.notna().any() else None
