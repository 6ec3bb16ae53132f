"""Every benchmark in one run, as a table of ratios: `make bench`, or `python lib/benchmarks NAME ...` for some."""

import importlib
import os
import sys
from collections.abc import Mapping
from pathlib import Path

# One thread, as in a report that keeps every core busy: ratios then compare algorithms, not thread pools.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

HERE = Path(__file__).parent


def main() -> int:
    """Run the benchmarks and print their tables; 1 if a bar is missed."""
    sys.path.insert(0, str(HERE))
    names = sys.argv[1:] or sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
    missed = 0
    print(f"{'work':<78} {'ours, s':>9} {'other, s':>9} {'ratio':>8} {'bar':>6}  against")
    for name in names:
        for row in importlib.import_module(f"bench_{name}").rows():
            fields = row if isinstance(row, Mapping) else row._asdict()
            work, ours, other, theirs, ratio, bar = fields.values()
            missed += ratio < bar
            verdict = "" if ratio >= bar else "  MISSED"
            print(f"{work:<78} {ours:9.3f} {theirs:9.3f} {ratio:8.1f} {bar:6.1f}  {other}{verdict}", flush=True)
    if not sys.argv[1:] or "sweep" in names:
        print(f"\n{'answers':>12} {'seconds':>9} {'us an answer':>13} {'peak MB':>9}  sweep in blocks")
        for row in importlib.import_module("bench_sweep").growth():
            print(
                f"{row['answers']:12,} {row['seconds']:9.2f} {row['us_per_answer']:13.2f} {row['peak_MB']:9.0f}",
                flush=True,
            )
    print(f"\n{missed} bars missed" if missed else "\nevery bar is met")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
