"""A progress bar where somebody watches: in a terminal and in Jupyter, not in a batch."""

import contextlib
import os
import sys
from collections.abc import Iterator
from typing import Any, Final

# Set for the kernels of JupyterLab and of its kind; a notebook that is run in a batch has none of them.
_SOMEBODY_WATCHES: Final = ("JPY_SESSION_NAME", "VSCODE_PID")


def is_watched() -> bool:
    """Tell whether a bar would be seen."""
    if "ipykernel" in sys.modules:
        return any(os.environ.get(name) for name in _SOMEBODY_WATCHES)
    return sys.stderr is not None and sys.stderr.isatty()


@contextlib.contextmanager
def progress_bar(total: int, done: int, shown: bool | None = None) -> Iterator[Any]:
    """Show how many of `total` asks are done, beginning at `done`.

    Parameters
    ----------
    total, done : int
    shown : bool, optional
        By default, where somebody watches.

    Yields
    ------
    tqdm.tqdm
    """
    shown = is_watched() if shown is None else shown
    if shown and "ipykernel" in sys.modules:
        from tqdm.auto import tqdm
    else:
        from tqdm import tqdm
    with tqdm(total=total, initial=done, unit=" asks", disable=not shown, leave=False, file=sys.stderr) as bar:
        yield bar
