"""What a collection did, in numbers and in words."""

from collections.abc import Mapping
from dataclasses import dataclass

from assay.rules import CostTotals


@dataclass(frozen=True)
class Collected:
    """What a collection did.

    Parameters
    ----------
    asks : int
        Different asks that were wanted.
    stored : int
        Those whose outcome was in the store before.
    asked : int
        Those asked now; their outcome is in the store.
    elsewhere : int
        Those that another process asked meanwhile.
    waiting : int
        Those that wait in a batch and were not asked.
    errors : mapping of str to int
        Of those asked now, how many gave no usable text, by kind.
    stopped : tuple of str
        Why asks are left over, in words; empty if none are.
    totals : CostTotals
        What the asks of now took and cost.
    seconds : float
    """

    asks: int
    stored: int
    asked: int
    elsewhere: int
    waiting: int
    errors: Mapping[str, int]
    stopped: tuple[str, ...]
    totals: CostTotals
    seconds: float

    @property
    def left(self) -> int:
        """Asks that have no outcome in the store."""
        return self.asks - self.stored - self.asked - self.elsewhere

    def __str__(self) -> str:
        failed = sum(self.errors.values())
        kinds = ", ".join(f"{kind} {count:,}" for kind, count in sorted(self.errors.items()))
        lines = [
            f"{self.asks:,} asks: {self.stored:,} were in the store, {self.asked:,} asked in {self.seconds:.1f} s, "
            f"{failed:,} of them without usable text" + (f" ({kinds})" if kinds else "")
        ]
        if self.elsewhere:
            lines.append(f"{self.elsewhere:,} were asked by another process")
        if self.waiting:
            lines.append(f"{self.waiting:,} wait in a batch")
        if self.left:
            lines.append(f"{self.left:,} left" + "".join(f"; {reason}" for reason in self.stopped))
        if self.asked:
            lines.append(f"cost: {self.totals}")
        return "\n".join(lines)
