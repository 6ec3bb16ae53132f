"""How far a command has come, on a terminal and in a log."""

import sys
from typing import Any, TextIO


class Progress:
    """A bar on a terminal; elsewhere one line a step for steps that have a name."""

    def __init__(self, unit: str, stream: TextIO | None = None) -> None:
        self._unit = unit
        self._stream = stream or sys.stderr
        self._bar: Any = None
        self._done = 0

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def show(self, done: int, total: int) -> None:
        """Move the bar to a count."""
        if self._stream.isatty():
            if self._bar is None:
                from tqdm import tqdm

                self._bar = tqdm(total=total, unit=f" {self._unit}", file=self._stream, leave=False, delay=0.5)
            self._bar.update(done - self._bar.n)

    def step(self, total: int, line: str) -> None:
        """Move by one and say what was done."""
        self._done += 1
        self.show(self._done, total)
        if self._bar is not None:
            self._bar.set_postfix_str(line)
        else:
            print(f"[{self._done}/{total}] {line}", file=self._stream, flush=True)
