"""Answers by the million, from parquet through sweep and calibration: memory, time, and whether time is linear.

Each size is counted in a process of its own, as `assay count --workers 1` does, whose peak of resident memory the
system reports; `rows` holds that of 10^7 answers to its bar, and `growth` prints how both grow.
"""

import functools
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from timing import Row

FILES = 64
MOST_MB = 1500
SIZES = (10**4, 10**5, 10**6, 10**7)
NAMES = ("historical", "reference", "unclear", "procedural", "advisory")
TAXONOMY = """
[taxonomy]
abstain = "unclear"
threshold_exempt = ["procedural"]
class = [
  { name = "historical", rank = 0 }, { name = "reference", rank = 1 }, { name = "unclear", rank = 2 },
  { name = "procedural", rank = 3 }, { name = "advisory", rank = 4 },
]
[[gate]]
metric = "class_accuracy"
classes = ["procedural", "advisory"]
"""


def rows() -> Iterator[Row]:
    """Hold memory to its bar, and the time of the largest size to what is linear in a tenth of it."""
    for kind in ("hundredths", "continuous"):
        largest, smaller = (measured(size, kind) for size in (SIZES[-1], SIZES[-2]))
        work = f"{SIZES[-1]:,} answers from {FILES} parquet files, {kind}"
        peak, most = largest["peak_MB"] / 1000, MOST_MB / 1000
        yield Row(f"{work}: GB at peak", peak, "the most allowed", most, 1.0)
        linear = 10 * smaller["seconds"]
        yield Row(f"{work}: time", largest["seconds"], "twice ten times a tenth of them", 2 * linear, 1.0)


def growth(sizes: tuple[int, ...] = SIZES) -> Iterator[dict[str, object]]:
    """Time and peak memory as the answers grow, for confidences in hundredths and for continuous ones."""
    for kind in ("hundredths", "continuous"):
        for size in sizes:
            found = measured(size, kind)
            yield {"work": kind, "answers": size, "us_per_answer": 1e6 * found["seconds"] / size, **found}


@functools.cache
def measured(size: int, kind: str) -> dict[str, float]:
    """Count `size` answers in a process of its own."""
    with tempfile.TemporaryDirectory(prefix="assay-bench-") as folder:
        write_answers(Path(folder), size, kind)
        done = subprocess.run([sys.executable, __file__, folder], capture_output=True, text=True, check=True)
        found: dict[str, float] = json.loads(done.stdout)
    assert found.pop("answers") == size
    return found


def write_answers(folder: Path, size: int, kind: str, files: int = FILES) -> None:
    """Write made answers, spread over files."""
    (folder / "taxonomy.toml").write_text(TAXONOMY)
    names = pa.array(NAMES)
    for number, rows in enumerate(np.array_split(np.arange(size), files)):
        if not len(rows):
            continue
        rng = np.random.default_rng(number)
        confidence = rng.beta(4, 1.5, len(rows))
        if kind == "hundredths":
            confidence = confidence.round(2)
        label = rng.integers(0, len(NAMES), len(rows))
        right = rng.random(len(rows)) < confidence
        predicted = np.where(right, label, (label + rng.integers(1, len(NAMES), len(rows))) % len(NAMES))
        table = pa.table(
            {
                "item_id": pa.array(rows).cast(pa.string()),
                "label": names.take(pa.array(label)),
                "predicted": names.take(pa.array(predicted)),
                "confidence": confidence,
            }
        )
        pq.write_table(table, folder / f"part-{number:03d}.parquet")


def count(folder: Path) -> None:
    """Count a folder in this process and print the figures that `measured` wants."""
    from assay.count import count_answers, find_source, read_taxonomy
    from assay.measure.tally_figures import tally_figures

    began = time.perf_counter()
    counted = count_answers(find_source([folder], read_taxonomy(str(folder / "taxonomy.toml"))), workers=1)
    figures = tally_figures(counted)
    took = time.perf_counter() - began
    # Linux counts in KiB, macOS in bytes.
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (1e6 if sys.platform == "darwin" else 1e6 / 1024)
    print(json.dumps({"answers": figures.answers, "seconds": took, "peak_MB": peak}))


if __name__ == "__main__":
    count(Path(sys.argv[1]))
