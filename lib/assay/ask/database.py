"""The SQLite file under the store: opened with care, written in durable transactions, its errors in one line.

Several processes may have it open. A process that is killed leaves the last transaction that was finished: the
write-ahead log of SQLite brings the file back to it.
"""

import contextlib
import sqlite3
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

APPLICATION_ID: Final = 0x61737379
"""Marks an SQLite file as a store of answers."""

VERSION: Final = 1

KEY: Final = ("item_id", "model", "prompt_hash", "settings_digest", "run")
"""The columns that make two asks the same ask."""

SAME_KEY: Final = " AND ".join(f"{name} = ?" for name in KEY)

_KEY_COLUMNS: Final = "item_id TEXT, model TEXT, prompt_hash TEXT, settings_digest TEXT, run INTEGER"
_PRIMARY_KEY: Final = f"PRIMARY KEY ({', '.join(KEY)})"
_TABLES: Final = (
    f"CREATE TABLE asks ({_KEY_COLUMNS}, text_hash TEXT NOT NULL, asked_at TEXT NOT NULL, text TEXT, error TEXT, "
    "detail TEXT NOT NULL, finish_reason TEXT, served_model TEXT, prompt_tokens INTEGER, completion_tokens INTEGER, "
    "latency_s REAL, tries INTEGER NOT NULL, retry_after REAL, sent TEXT NOT NULL, logprobs BLOB, seal BLOB NOT NULL, "
    f"{_PRIMARY_KEY}) STRICT",
    "CREATE TABLE prompts (hash TEXT PRIMARY KEY, name TEXT NOT NULL, document TEXT NOT NULL) STRICT",
    "CREATE TABLE settings (digest TEXT PRIMARY KEY, document TEXT NOT NULL) STRICT",
    "CREATE TABLE requests (prompt_hash TEXT, settings_digest TEXT, digest TEXT NOT NULL, "
    "PRIMARY KEY (prompt_hash, settings_digest)) STRICT",
    f"CREATE TABLE claims ({_KEY_COLUMNS}, owner TEXT NOT NULL, {_PRIMARY_KEY}) STRICT",
    "CREATE TABLE batches (id TEXT PRIMARY KEY, file TEXT NOT NULL, asks INTEGER NOT NULL, state TEXT NOT NULL, "
    "submitted_at TEXT NOT NULL) STRICT",
    "CREATE TABLE notes (name TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT",
)
_HEADER: Final = b"SQLite format 3\0"
_BUSY_S: Final = 60.0

_TROUBLE: Final = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk cannot be read or written",
    sqlite3.SQLITE_BUSY: f"another process has kept the file locked for {_BUSY_S:g} s",
    sqlite3.SQLITE_LOCKED: "another process has the file locked",
    sqlite3.SQLITE_READONLY: "the file cannot be written",
    sqlite3.SQLITE_PERM: "the file cannot be written",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened",
    sqlite3.SQLITE_ERROR: "the file has not the tables of a store of answers",
}
_UNDER_WAY: Final = {sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
"""Trouble that has nothing to do with which file was given."""


class StoreError(ValueError):
    """A store that cannot be opened, read, written or trusted; one line that names the file.

    Parameters
    ----------
    message : str
    misuse : bool
        Whether the file or place given is wrong, rather than writing having failed under way.
    """

    def __init__(self, message: str, *, misuse: bool = True) -> None:
        super().__init__(message)
        self.misuse = misuse


class Database:
    """An open file.

    Parameters
    ----------
    path : Path
        Made, with its folder, where it is missing.

    Raises
    ------
    StoreError
        If it is not a store, belongs to another program or version, is damaged, or cannot be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            header = b""
            if path.exists():
                with path.open("rb") as file:
                    header = file.read(len(_HEADER))
        except OSError as error:
            raise StoreError(f"{path}: cannot be opened ({error.strerror or 'I/O error'})") from None
        if header and header != _HEADER:
            raise StoreError(f"{path}: not a store of answers")
        with self._errors():
            self._connection = sqlite3.connect(path, timeout=_BUSY_S, isolation_level=None, check_same_thread=False)
            try:
                self._prepare()
            except BaseException:
                self._connection.close()
                raise

    def read(self, query: str, values: Sequence[Any] = ()) -> Iterator[Any]:
        """Yield the rows of a query."""
        with self._errors():
            yield from self._connection.execute(query, tuple(values))

    @contextlib.contextmanager
    def transaction(self) -> Iterator[sqlite3.Cursor]:
        """Write in one transaction, which is on the disk when the block ends and undone where it raises."""
        with self._errors():
            cursor = self._connection.cursor()
            cursor.execute("BEGIN IMMEDIATE")
            try:
                yield cursor
                cursor.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):
                    cursor.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()

    def _prepare(self) -> None:
        connection = self._connection
        connection.execute("PRAGMA synchronous = FULL")
        if self._pragma("application_id") != APPLICATION_ID:
            # A file of another program is left as it is, down to its journal.
            if connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]:
                raise StoreError(f"{self.path}: an SQLite file of another program, not a store of answers")
            self._use_write_ahead_log()
            self._create()
        version = self._pragma("user_version")
        if version != VERSION:
            raise StoreError(f"{self.path}: a store of version {version}; this program reads version {VERSION}")
        self._use_write_ahead_log()
        if self._pragma("quick_check(1)") != "ok":
            raise StoreError(f"{self.path}: the file is damaged; go back to a copy of it, or to another store")

    def _pragma(self, name: str) -> Any:
        return self._connection.execute(f"PRAGMA {name}").fetchone()[0]

    def _use_write_ahead_log(self) -> None:
        deadline = time.monotonic() + _BUSY_S
        while True:
            try:
                self._connection.execute("PRAGMA journal_mode = WAL")
                return
            except sqlite3.OperationalError as error:
                # Changing the mode does not wait for another process that is changing it.
                if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)

    def _create(self) -> None:
        self._connection.execute("BEGIN IMMEDIATE")
        # Another process may have been quicker.
        if self._pragma("application_id") != APPLICATION_ID:
            for statement in _TABLES:
                self._connection.execute(statement)
            self._connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
            self._connection.execute(f"PRAGMA user_version = {VERSION}")
        self._connection.execute("COMMIT")

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn what SQLite raises into a `StoreError`."""
        try:
            yield
        except sqlite3.IntegrityError:
            raise
        except sqlite3.DatabaseError as error:
            # SQLite's own words may hold what stands in the file.
            code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
            said = _TROUBLE.get(code, "the file is damaged, or no store of answers")
            raise StoreError(f"{self.path}: {said}", misuse=code not in _UNDER_WAY) from None
        except UnicodeDecodeError:
            # A flipped bit can make a name or a text of the file, or SQLite's words about it, no UTF-8.
            raise StoreError(f"{self.path}: the file is damaged, or no store of answers", misuse=True) from None
