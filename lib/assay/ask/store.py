"""The store of answers: one SQLite file with one row for each ask, whatever came of it.

An answer that was stored is on the disk and is never replaced; a failure may be, by what a later try gives. Every row
carries a seal over its values, so that a file that was torn or changed is refused and not read as if it were whole.
What was asked (prompts, settings) stands in the same file, which can therefore be read without any other.
"""

import contextlib
import hashlib
import json
import math
import sqlite3
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from assay.ask.database import KEY, SAME_KEY, Database, StoreError
from assay.ask.prompts import Example, PromptFile, Sampling
from assay.ask.request import Ask, AskKey, Settings
from assay.ask.response import Completion

_VALUES: Final = (
    "text_hash", "asked_at", "text", "error", "detail", "finish_reason", "served_model", "prompt_tokens",
    "completion_tokens", "latency_s", "tries", "retry_after", "sent", "logprobs",
)  # fmt: skip
_COLUMNS: Final = (*KEY, *_VALUES)
_EVERYTHING: Final = ", ".join((*_COLUMNS, "seal"))
_INSERT: Final = (
    f"INSERT INTO asks ({_EVERYTHING}) VALUES ({', '.join('?' * (len(_COLUMNS) + 1))}) "  # noqa: S608 (names only)
    f"ON CONFLICT DO UPDATE SET {', '.join(f'{name} = excluded.{name}' for name in (*_VALUES, 'seal'))} "
    "WHERE asks.error IS NOT NULL"
)


@dataclass(frozen=True)
class Stored:
    """What one ask gave.

    Parameters
    ----------
    key : AskKey
    text_hash : str
        Sha256 of the item's text as it was asked, 64 hex digits.
    asked_at : str
        When the ask began: ISO 8601, UTC.
    completion : Completion
    """

    key: AskKey
    text_hash: str
    asked_at: str
    completion: Completion


class Store:
    """An open store; a context manager, which closes it.

    Parameters
    ----------
    path : path
        The file; it and its folder are made where they are missing.

    Raises
    ------
    StoreError
        If the file is not a store, belongs to another program or a newer version, is damaged, or cannot be opened.

    Notes
    -----
    Several processes may have one store open. One `Store` is for one thread at a time. The file must be on a disk of
    this machine: SQLite's write-ahead log does not work over a network. While a store is open, and after a kill until it
    is opened again, its newest rows are in the file ``-wal`` beside it: a copy needs both. Of a log that is torn, the
    transactions before the tear are read, each of them whole.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)
        self._database = Database(self.path)

    def add(self, rows: Iterable[Stored]) -> int:
        """Store what asks gave, all of it or nothing, and give back the claims on them.

        When it returns, the rows are on the disk.

        Returns
        -------
        int
            Rows written: those of which there was no answer yet.
        """
        sealed = [_sealed(row) for row in rows]
        with self.transaction() as cursor:
            written = cursor.executemany(_INSERT, sealed).rowcount
            cursor.executemany(f"DELETE FROM claims WHERE {SAME_KEY}", [one[: len(KEY)] for one in sealed])  # noqa: S608
        return max(written, 0)

    def get(self, key: AskKey) -> Stored | None:
        """Return what an ask gave, None if it was not asked."""
        query = f"SELECT {_EVERYTHING} FROM asks WHERE {SAME_KEY}"  # noqa: S608
        return next((self._unsealed(row) for row in self._database.read(query, key)), None)

    def states(self, asks: Mapping[AskKey, Ask]) -> dict[AskKey, str | None]:
        """Tell of each ask that is stored how it ended: None for an answer, else the kind of its error.

        Parameters
        ----------
        asks : mapping of AskKey to Ask

        Raises
        ------
        StoreError
            If an item was asked with another text under the same id.
        """
        states: dict[AskKey, str | None] = {}
        query = (
            f"SELECT {', '.join(KEY)}, text_hash, error FROM asks "  # noqa: S608
            "WHERE model = ? AND prompt_hash = ? AND settings_digest = ?"
        )
        for series in {(key.model, key.prompt_hash, key.settings_digest) for key in asks}:
            for *key, text_hash, error in self._database.read(query, series):
                ask = asks.get(AskKey(*key))
                if ask is None:
                    continue
                if text_hash != ask.text_hash:
                    raise StoreError(
                        f"{self.path}: item {ask.item_id!r} was asked with another text; "
                        "give the changed item another id, or use another store"
                    )
                states[AskKey(*key)] = error
        return states

    def keys(self) -> set[AskKey]:
        """Return what every row is stored under."""
        return {AskKey(*key) for key in self._database.read(f"SELECT {', '.join(KEY)} FROM asks")}  # noqa: S608

    def rows(self) -> Iterator[Stored]:
        """Read every row: by model, prompt, settings and run, and within these in the order in which they were asked.

        Raises
        ------
        StoreError
            At the first row that is not as it was written.
        """
        order = "model, prompt_hash, settings_digest, run, asked_at, item_id"
        yield from map(
            self._unsealed,
            self._database.read(f"SELECT {_EVERYTHING} FROM asks ORDER BY {order}"),  # noqa: S608
        )

    def count(self) -> int:
        """Return how many rows there are."""
        return int(next(self._database.read("SELECT count(*) FROM asks"))[0])

    def mean_usage(self) -> dict[tuple[str, str], tuple[int, int]]:
        """Return the mean tokens read and written by model and prompt hash, rounded up, where they were reported."""
        found = self._database.read(
            "SELECT model, prompt_hash, avg(prompt_tokens), avg(completion_tokens) FROM asks "
            "WHERE prompt_tokens IS NOT NULL GROUP BY model, prompt_hash"
        )
        return {(model, prompt): (math.ceil(read), math.ceil(written)) for model, prompt, read, written in found}

    def register(self, prompt: PromptFile, settings: Settings, request_digest: str) -> None:
        """Note what is about to be asked.

        Parameters
        ----------
        prompt : PromptFile
        settings : Settings
        request_digest : str
            Digest of everything in the request that is the same for all items and models.

        Raises
        ------
        StoreError
            If the same prompt and settings made another request before, because the classes or the names of the fields
            were others: the answers would not be comparable.
        """
        series = (prompt.hash, settings.digest())
        asked = {"format": settings.format, "top_logprobs": settings.top_logprobs, "seed": settings.seed}
        with self.transaction() as cursor:
            for table, values in (
                ("prompts", (prompt.hash, prompt.name, json.dumps(_prompt_document(prompt), ensure_ascii=False))),
                ("settings", (settings.digest(), json.dumps(asked))),
                ("requests", (*series, request_digest)),
            ):
                marks = ", ".join("?" * len(values))
                cursor.execute(f"INSERT INTO {table} VALUES ({marks}) ON CONFLICT DO NOTHING", values)  # noqa: S608
            query = "SELECT digest FROM requests WHERE prompt_hash = ? AND settings_digest = ?"
            if cursor.execute(query, series).fetchone()[0] != request_digest:
                raise StoreError(
                    f"{self.path}: prompt {prompt.name!r} was asked with other classes or field names; "
                    "use another store"
                )

    def prompts(self) -> dict[str, PromptFile]:
        """Return every prompt that was asked, by its hash."""
        found = self._database.read("SELECT hash, document FROM prompts ORDER BY rowid")
        return {digest: _prompt(json.loads(document), str(self.path)) for digest, document in found}

    def note(self, name: str, value: str) -> None:
        """Keep a fact about the answers, such as the digest of a weight file, under a name."""
        with self.transaction() as cursor:
            cursor.execute("INSERT OR REPLACE INTO notes VALUES (?, ?)", (name, value))

    def notes(self) -> dict[str, str]:
        """Return the facts that were noted."""
        return dict(self._database.read("SELECT name, value FROM notes ORDER BY name"))

    def read(self, query: str, values: Sequence[Any] = ()) -> Iterator[Any]:
        """Yield the rows of a query; for the modules that keep tables of their own here."""
        return self._database.read(query, values)

    def transaction(self) -> contextlib.AbstractContextManager[sqlite3.Cursor]:
        """Write in one transaction; for the modules that keep tables of their own here."""
        return self._database.transaction()

    def close(self) -> None:
        """Close the file; the store cannot be used afterwards."""
        self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _unsealed(self, row: Sequence[Any]) -> Stored:
        """Read a row back; it must have the seal that it was written with."""
        *values, seal = row
        key = AskKey(*values[: len(KEY)])
        if _seal(values) != seal:
            raise StoreError(
                f"{self.path}: the row of item {key.item_id!r}, model {key.model!r}, run {key.run} is not as it was "
                "written; go back to a copy of the file"
            )
        document = dict(zip(_COLUMNS, values, strict=True))
        counts = [document.pop("prompt_tokens"), document.pop("completion_tokens")]
        document["usage"] = None if counts[0] is None else counts
        logprobs = document.pop("logprobs")
        document["tokens"] = None if logprobs is None else json.loads(zlib.decompress(logprobs))
        document["sent"] = json.loads(document["sent"])
        return Stored(key, document["text_hash"], document["asked_at"], Completion.from_dict(document))


def _sealed(row: Stored) -> tuple[Any, ...]:
    """Return the values of a row, its seal last."""
    document = row.completion.to_dict()
    document["prompt_tokens"], document["completion_tokens"] = document["usage"] or (None, None)
    tokens = document["tokens"]
    # On these, level 1 of zlib takes a quarter of the time of the usual level for an eighth more bytes.
    packed = None if tokens is None else zlib.compress(json.dumps(tokens, separators=(",", ":")).encode(), 1)
    document |= {"text_hash": row.text_hash, "asked_at": row.asked_at, "sent": json.dumps(document["sent"])}
    document["logprobs"] = packed
    values = (*row.key, *(document[name] for name in _VALUES))
    return (*values, _seal(values))


def _seal(values: Sequence[Any]) -> bytes:
    *plain, logprobs = values
    return hashlib.sha256(json.dumps(list(plain)).encode() + (logprobs or b"")).digest()[:16]


def _prompt_document(prompt: PromptFile) -> dict[str, Any]:
    document = asdict(prompt)
    del document["source"]
    return document


def _prompt(document: dict[str, Any], source: str) -> PromptFile:
    document["examples"] = tuple(Example(**one) for one in document["examples"])
    document["sampling"] = Sampling(**document["sampling"])
    return PromptFile(**document, source=source)
