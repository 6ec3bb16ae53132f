"""Votes: what the repeated samples of one item say together.

Under a prompt with n samples, every n runs of an item are one vote, which is a further answer with an elicitation of
its own. A vote is made of all its samples or not at all: a share of fewer is another number.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from assay.ask.readings import vote
from assay.rules import Taxonomy
from assay.rules.answers import Elicitation
from assay.study import SEVERAL_MODELS

_SERIES: Final = ("item_id", "requested_model", "prompt_hash", "settings_digest")


def vote_rows(
    rows: Iterable[Mapping[str, Any]], samples: Mapping[str, int], taxonomy: Taxonomy
) -> tuple[list[dict[str, Any]], int]:
    """Let the samples of each item vote.

    Parameters
    ----------
    rows : iterable of mappings
        Answers, as `assay.ask.export.tidy_rows` gives them; only the ``verbal`` ones are looked at.
    samples : mapping of str to int
        How many samples make a vote, by prompt hash; a prompt with fewer than 2, or that is not in it, has none.
    taxonomy : Taxonomy

    Returns
    -------
    list of dict
        A ``vote`` row for each vote, with the keys of the samples' rows. Its run counts the votes of the item from 0,
        its time is that of its first sample, and its cost is that of all samples where all of them are known.
    int
        Votes that were left out because some of their samples are missing.
    """
    ballots: dict[tuple[Any, ...], dict[int, Mapping[str, Any]]] = {}
    for row in rows:
        size = samples.get(row["prompt_hash"], 1)
        if size > 1 and row["elicitation"] == Elicitation.VERBAL:
            of = (*(row[name] for name in _SERIES), row["run"] // size)
            ballots.setdefault(of, {})[row["run"]] = row
    votes, incomplete = [], 0
    for (*_, prompt_hash, _digest, run), by_run in ballots.items():
        if len(by_run) < samples[prompt_hash]:
            incomplete += 1
        else:
            votes.append(_row([by_run[one] for one in sorted(by_run)], run, taxonomy))
    return votes, incomplete


def _row(cast: list[Mapping[str, Any]], run: int, taxonomy: Taxonomy) -> dict[str, Any]:
    said = vote(cast, taxonomy)
    row: dict[str, Any] = {**cast[0], **said, "run": run, "asked_at": min(one["asked_at"] for one in cast)}
    costs = [one["cost_usd"] for one in cast]
    row["cost_usd"] = None if None in costs else sum(costs)
    if len({one["model"] for one in cast}) > 1:
        row["flags"] = (*row["flags"], SEVERAL_MODELS)
    return row
