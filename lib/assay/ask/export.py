"""From the store to a study: the tidy long form, one row for each answer and each way its confidence was elicited.

The file is what a study reads under a ``table`` contract: predicted class, confidence, alternatives and missing context
were taken apart by the parsers, and a row that could not be read carries the kind of its fault.
"""

import io
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import assay
from assay.ask.database import StoreError
from assay.ask.prompts import PromptFile
from assay.ask.readings import read_answers
from assay.ask.store import Store, Stored
from assay.ask.votes import vote_rows
from assay.files import is_misplaced, write_whole
from assay.rules import PriceSheet, Taxonomy
from assay.rules.costs import PICO_PER_USD
from assay.rules.parsing import DEFAULT_FIELDS, AnswerFields

SCHEMA: Final = pa.schema(
    {
        "item_id": pa.string(),
        "model": pa.string(),
        "requested_model": pa.string(),
        "prompt": pa.string(),
        "run": pa.int64(),
        "calibration": pa.string(),
        "elicitation": pa.string(),
        "predicted": pa.string(),
        "confidence": pa.float64(),
        "alternatives": pa.string(),
        "missing_context": pa.list_(pa.string()),
        "error": pa.string(),
        "flags": pa.list_(pa.string()),
        "covered_mass": pa.float64(),
        "prompt_tokens": pa.int64(),
        "completion_tokens": pa.int64(),
        "cost_usd": pa.float64(),
        "latency_s": pa.float64(),
        "finish_reason": pa.string(),
        "asked_at": pa.string(),
        "prompt_hash": pa.string(),
        "settings_digest": pa.string(),
        "completion": pa.string(),
    }
)
"""Columns of the file. `alternatives` holds the JSON text of an object, `completion` what the model wrote."""

_KEY: Final = ("item_id", "requested_model", "prompt_hash", "settings_digest", "run")
"""The columns that make an `AskKey`."""

_ROWS_IN_A_GROUP: Final = 50_000


def tidy_rows(
    store: Store,
    taxonomy: Taxonomy,
    fields: AnswerFields = DEFAULT_FIELDS,
    *,
    prices: PriceSheet | None = None,
) -> Iterator[dict[str, Any]]:
    """Read everything in a store as rows of answers.

    Parameters
    ----------
    store : Store
    taxonomy : Taxonomy
    fields : AnswerFields
        What the fields of a classification are called.
    prices : PriceSheet, optional
        For the cost of each answer; a price that is not known gives none.

    Yields
    ------
    dict
        With the keys of `SCHEMA`: the rows of each ask and, after them, the votes. The verbal and the token row of one
        ask come of one call: each of them has its tokens and its cost.

    Notes
    -----
    `model` is the one that the reply names. A call that failed names none; it stands with the answers that its model
    gave, where these name one model only. Of two prompts with one name, and of one prompt asked under two settings,
    each has a part of its digest in its name.
    """
    prompts = store.prompts()
    series = list(
        store.read("SELECT DISTINCT model, prompt_hash, settings_digest, served_model FROM asks ORDER BY 1, 2, 3, 4")
    )
    names, served = _prompt_names(series, prompts), _served(series)
    samples = {digest: prompt.sampling.n for digest, prompt in prompts.items()}
    voting = []
    for stored in store.rows():
        prompt = prompts.get(stored.key.prompt_hash)
        if prompt is None:
            raise StoreError(f"{store.path}: the prompt of item {stored.key.item_id!r} is missing")
        about = _about(stored, names, served, prices or PriceSheet({}))
        for answer in read_answers(stored.completion, prompt, taxonomy, fields):
            row = {**answer, **about}
            if samples[prompt.hash] > 1:
                voting.append(row)
            yield row
    yield from vote_rows(voting, samples, taxonomy)[0]


def export_answers(
    store: Store,
    path: Path | str,
    taxonomy: Taxonomy,
    fields: AnswerFields = DEFAULT_FIELDS,
    *,
    prices: PriceSheet | None = None,
) -> int:
    """Write everything in a store as one parquet file, whole or not at all.

    Parameters
    ----------
    store : Store
    path : path of the file
    taxonomy : Taxonomy
    fields : AnswerFields
    prices : PriceSheet, optional

    Returns
    -------
    int
        Rows written.

    Raises
    ------
    StoreError
        If the store is damaged, or the file cannot be written.

    Notes
    -----
    The same store gives the same bytes. What was noted in the store is in the file's metadata, under ``assay``.
    """
    about = json.dumps({"version": assay.__version__, "notes": store.notes()}, sort_keys=True)
    buffer, count = io.BytesIO(), 0
    with pq.ParquetWriter(buffer, SCHEMA.with_metadata({"assay": about}), compression="zstd") as writer:
        group: list[dict[str, Any]] = []
        for row in tidy_rows(store, taxonomy, fields, prices=prices):
            group.append(_plain(row))
            count += 1
            if len(group) == _ROWS_IN_A_GROUP:
                writer.write_table(pa.Table.from_pylist(group, SCHEMA))
                group.clear()
        if group:
            writer.write_table(pa.Table.from_pylist(group, SCHEMA))
    try:
        write_whole(Path(path), buffer.getvalue())
    except OSError as error:
        said = f"{path}: cannot be written ({error.strerror or 'I/O error'})"
        raise StoreError(said, misuse=is_misplaced(error)) from None
    return count


def require_superseded(store: Store, path: Path) -> None:
    """Find out whether an export to a file loses none of the answers that it holds.

    Parameters
    ----------
    store : Store
        What is to be exported.
    path : Path
        A file that need not be there.

    Raises
    ------
    StoreError
        If it is there and is no export, or has answers that the store does not have.
    """
    if not path.exists():
        return
    try:
        with pq.ParquetFile(path) as file:
            exported = b"assay" in (file.schema_arrow.metadata or {})
            table = file.read(columns=[*_KEY, "elicitation"]) if exported else None
    except (OSError, pa.ArrowException):
        table = None
    if table is None:
        raise StoreError(f"{path}: is no export, and would be overwritten; export to a file of its own", misuse=True)
    # A vote is of several asks, each of which has rows of its own.
    asked = table.filter(pc.field("elicitation") != "vote").select(_KEY).to_pydict()
    others = set(zip(*asked.values(), strict=True)) - store.keys()
    if others:
        raise StoreError(
            f"{path}: holds {len(others):,} answers that the store does not have, which would be lost; export to a file "
            "of its own, or give the --store that they came from",
            misuse=True,
        )


def _about(
    stored: Stored, names: Mapping[tuple[str, str], str], served: Mapping[str, str], prices: PriceSheet
) -> dict[str, Any]:
    """Return what the asker knows of an answer."""
    key, completion = stored.key, stored.completion
    price = prices.price(key.model)
    known = price is not None and completion.usage is not None
    return {
        "item_id": key.item_id,
        "model": completion.served_model or served.get(key.model, key.model),
        "requested_model": key.model,
        "prompt": names[key.prompt_hash, key.settings_digest],
        "run": key.run,
        "asked_at": stored.asked_at,
        "cost_usd": price.cost(completion.usage) / PICO_PER_USD if known else None,  # type: ignore[union-attr, arg-type]
        "prompt_hash": key.prompt_hash,
        "settings_digest": key.settings_digest,
    }


def _prompt_names(
    series: list[tuple[str, str, str, str | None]], prompts: Mapping[str, PromptFile]
) -> dict[tuple[str, str], str]:
    """Return a name for each prompt with its settings, one that no other has."""
    asked = list(dict.fromkeys((prompt, settings) for _, prompt, settings, _ in series))
    by_name: dict[str, set[str]] = defaultdict(set)
    by_prompt: dict[str, set[str]] = defaultdict(set)
    for digest, settings in asked:
        by_name[prompts[digest].name if digest in prompts else ""].add(digest)
        by_prompt[digest].add(settings)
    names = {}
    for digest, settings in asked:
        name = prompts[digest].name if digest in prompts else ""
        names[digest, settings] = (
            name
            + (f"@{digest[:8]}" if len(by_name[name]) > 1 else "")
            + (f"/{settings[:8]}" if len(by_prompt[digest]) > 1 else "")
        )
    return names


def _served(series: list[tuple[str, str, str, str | None]]) -> dict[str, str]:
    """Return the model that answers under each name, for the names under which only one does."""
    answered: dict[str, set[str]] = defaultdict(set)
    for model, _, _, served in series:
        if served is not None:
            answered[model].add(served)
    return {model: next(iter(names)) for model, names in answered.items() if len(names) == 1}


def _plain(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row as the file has it: no number is a null, not a NaN."""
    plain = {name: row[name] for name in SCHEMA.names}
    for name in ("confidence", "covered_mass"):
        plain[name] = None if math.isnan(plain[name]) else plain[name]
    if plain["alternatives"] is not None:
        plain["alternatives"] = json.dumps(plain["alternatives"], ensure_ascii=False)
    for name in ("missing_context", "flags"):
        plain[name] = list(plain[name])
    return plain
