"""Every benchmark in one run, as a table of ratios: `make bench`, or `python lib/benchmarks NAME ...` for some."""

import importlib
import os
import sys
from pathlib import Path

from timing import HEAD

# One thread, as in a report that keeps every core busy: ratios then compare algorithms, not thread pools.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

HERE = Path(__file__).parent


def main() -> int:
    """Run the benchmarks and print their tables; 1 if a bar is missed."""
    names = sys.argv[1:] or sorted(path.stem.removeprefix("bench_") for path in HERE.glob("bench_*.py"))
    missed = 0
    print(HEAD)
    for name in names:
        for row in importlib.import_module(f"bench_{name}").rows():
            missed += row.ratio < row.bar
            print(row, flush=True)
    if not sys.argv[1:] or "sweep" in names:
        print(f"\n{'answers':>12} {'seconds':>9} {'us an answer':>13} {'peak MB':>9}  sweep in blocks")
        for row in importlib.import_module("bench_sweep").growth():
            print(
                f"{row['answers']:12,} {row['seconds']:9.2f} {row['us_per_answer']:13.2f} {row['peak_MB']:9.0f}",
                flush=True,
            )
    if not sys.argv[1:] or "scale" in names:
        print(
            f"\n{'answers':>12} {'seconds':>9} {'us an answer':>13} {'peak MB':>9}  from parquet through sweep and calibration"
        )
        for row in importlib.import_module("bench_scale").growth():
            print(
                f"{row['answers']:12,} {row['seconds']:9.2f} {row['us_per_answer']:13.2f} {row['peak_MB']:9.0f}  "
                f"{row['work']}",
                flush=True,
            )
    print(f"\n{missed} bars missed" if missed else "\nevery bar is met")
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
