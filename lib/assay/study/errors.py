"""How this room reports what is wrong with a study.

Every fault of a study is a `StudyError` whose message is one line: the file, the row or column, the value and what is
allowed. A value that a person wrote (a label, a setting, an id) is shown; one that a model wrote is only pointed at.
"""

import difflib
from collections.abc import Iterable

from assay.rules.documents import OneLineError

_LONGEST_SHOWN = 60
_MOST_COMPARED = 2_000


class StudyError(OneLineError):
    """A study that cannot be found, read or trusted.

    Parameters
    ----------
    message : str
    kind : str
        A stable name of the fault, for code that has to tell one from another: ``duplicate_ids``,
        ``ids_do_not_match``, ``labels_differ``, ``mixed_label_types``, ``missing_column``, ``unknown_label``,
        ``empty_file``, ``unreadable_file``, ``encoding``, ``unknown_study``, ``unknown_value`` or ``invalid``.
    """

    def __init__(self, message: str, *, kind: str = "invalid") -> None:
        super().__init__(message)
        self.kind = kind


def to_declare(setting: str, value: str, *, options: bool) -> str:
    """Say how to declare how a file is written: in the study that it belongs to, or by an option of the command."""
    return f'give --{setting} "{value}"' if options else f'set {setting} = "{value}"'


def shown(value: object) -> str:
    """Return `value` as it is quoted in a message: its repr on one line, long ones cut in the middle."""
    text = repr(value)
    if len(text) <= _LONGEST_SHOWN:
        return text
    half = (_LONGEST_SHOWN - 1) // 2
    return f"{text[:half]}…{text[-half:]}"


def listed(values: Iterable[object], *, at_most: int = 8) -> str:
    """Return `values` separated by commas, the tail of a long list counted instead of named."""
    names = [value if isinstance(value, str) and value.isprintable() else shown(value) for value in values]
    if not names:
        return "none"
    head = ", ".join(shown(name)[1:-1] if len(name) > _LONGEST_SHOWN else name for name in names[:at_most])
    return head if len(names) <= at_most else f"{head} and {len(names) - at_most:,} more"


def nearest(name: str, known: Iterable[str]) -> str:
    """Return `` (did you mean 'x'?)`` for the known name most like `name`, or an empty string.

    Only the first 2,000 known names are compared letter by letter, lest a million labels take minutes.
    """
    known = list(known)
    folded = name.strip().casefold()
    same = [one for one in known if one.strip().casefold() == folded]
    close = same or difflib.get_close_matches(name[:200], known[:_MOST_COMPARED], n=1)
    return f" (did you mean {shown(close[0])}?)" if close else ""
