"""Who is asking what: claims on asks, so that several processes share the work on one store.

A claim is a row in the store that names its owner. An owner that asks holds a lock on a file beside the store for as
long as it lives; the system gives the lock up when the process ends, however it ends, and the claims with it. The owner
of asks that are waiting in a batch is the batch, which no process holds, until its results are in.
"""

import contextlib
import json
import secrets
import sys
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Final, NamedTuple, Self

from assay.ask.database import KEY, StoreError
from assay.ask.request import AskKey
from assay.ask.store import Store

BATCH: Final = "batch:"
"""What the name of an owner begins with that is a batch."""


_WANTED: Final = [f"json_extract(wanted.value, '$[{place}]')" for place in range(len(KEY))]
_STANDING: Final = (
    "SELECT json_group_array(json_array(wanted.key, asks.run IS NOT NULL, asks.error, claims.owner)) "
    "FROM json_each(?) AS wanted "
    + " ".join(
        f"LEFT JOIN {table} ON {' AND '.join(f'{table}.{name} = {one}' for name, one in zip(KEY, _WANTED, strict=True))}"
        for table in ("asks", "claims")
    )
)
_CLAIM: Final = f"INSERT OR REPLACE INTO claims SELECT {', '.join(_WANTED)}, ? FROM json_each(?) AS wanted"  # noqa: S608


class Taken(NamedTuple):
    """What became of the asks that an owner wanted.

    `granted` are its own now, `held` are another owner's, `waiting` are in a batch, and `settled` were answered.
    """

    granted: list[AskKey]
    held: list[AskKey]
    waiting: list[AskKey]
    settled: list[AskKey]


class Claims:
    """The claims of one owner; a context manager, which gives back those that are left.

    Parameters
    ----------
    store : Store
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.owner = secrets.token_hex(8)
        self._path = _lock_path(store, self.owner)
        self._lock: IO[bytes] | None = None

    def take(self, keys: Sequence[AskKey], again: Collection[str]) -> Taken:
        """Claim asks; of each that is not to be had, say why.

        Parameters
        ----------
        keys : sequence of AskKey
        again : collection of str
            Kinds of error after which an ask is asked again.
        """
        taken = Taken([], [], [], [])
        alive: dict[str, bool] = {self.owner: True}
        with self._store.transaction() as cursor:
            # One statement for all: between any two, the thread would wait for others that have work of their own.
            found = json.loads(cursor.execute(_STANDING, (json.dumps(keys),)).fetchone()[0])
            for place, asked, error, owner in found:
                key = keys[place]
                if asked and error not in again:
                    taken.settled.append(key)
                elif owner is not None and owner.startswith(BATCH):
                    taken.waiting.append(key)
                elif owner not in (None, self.owner) and alive.setdefault(owner, _alive(self._store, owner)):
                    taken.held.append(key)
                else:
                    taken.granted.append(key)
            cursor.execute(_CLAIM, (self.owner, json.dumps(taken.granted)))
        return taken

    def give_back(self) -> None:
        """Give up all claims of this owner."""
        with self._store.transaction() as cursor:
            cursor.execute("DELETE FROM claims WHERE owner = ?", (self.owner,))

    def __enter__(self) -> Self:
        # Locked before it gets its name: under that name it is never seen unlocked while its owner lives.
        new = self._path.with_name(f"{self._path.name}.new")
        try:
            self._lock = new.open("xb")
            _try_lock(self._lock)
            new.replace(self._path)
        except OSError as error:
            raise StoreError(f"{self._path}: cannot be written ({error.strerror or 'I/O error'})") from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self.give_back()
        finally:
            self._path.unlink(missing_ok=True)
            if self._lock is not None:
                self._lock.close()


def claim_for_batch(store: Store, keys: Iterable[AskKey], batch: str) -> None:
    """Mark asks as waiting in a batch."""
    with store.transaction() as cursor:
        cursor.executemany(
            "INSERT OR REPLACE INTO claims VALUES (?, ?, ?, ?, ?, ?)", [(*key, BATCH + batch) for key in keys]
        )


def waiting_in(store: Store, batch: str) -> list[AskKey]:
    """Return the asks that wait in a batch."""
    found = store.read(f"SELECT {', '.join(KEY)} FROM claims WHERE owner = ?", (BATCH + batch,))  # noqa: S608 (names only)
    return [AskKey(*key) for key in found]


def under_way(store: Store) -> set[AskKey]:
    """Return the asks that wait in a batch, or that a process which is alive is asking."""
    found = list(store.read(f"SELECT owner, {', '.join(KEY)} FROM claims"))  # noqa: S608 (names only)
    owners = {owner for owner, *_ in found}
    alive = {owner for owner in owners if owner.startswith(BATCH) or _alive(store, owner)}
    return {AskKey(*key) for owner, *key in found if owner in alive}


def end_batch(store: Store, batch: str) -> list[AskKey]:
    """Give back the claims of a batch and return the asks of which nothing has come."""
    with store.transaction() as cursor:
        columns = ", ".join(KEY)
        left = cursor.execute(
            f"SELECT {columns} FROM claims WHERE owner = ? ORDER BY {columns}",  # noqa: S608 (names only)
            (BATCH + batch,),
        ).fetchall()
        cursor.execute("DELETE FROM claims WHERE owner = ?", (BATCH + batch,))
    return [AskKey(*key) for key in left]


def _lock_path(store: Store, owner: str) -> Path:
    return store.path.with_name(f"{store.path.name}-{owner}.lock")


def _alive(store: Store, owner: str) -> bool:
    """Tell whether the process of an owner is there; the lock file of one that is not is removed."""
    path = _lock_path(store, owner)
    try:
        with path.open("rb") as file:
            if not _try_lock(file):
                return True
            with contextlib.suppress(OSError):
                path.unlink()
    except OSError:
        pass
    return False


if sys.platform == "win32":

    def _try_lock(file: IO[bytes]) -> bool:
        # Without this lock two processes may ask the same; what is stored is still one row for each ask.
        return True

else:
    import fcntl

    def _try_lock(file: IO[bytes]) -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True
