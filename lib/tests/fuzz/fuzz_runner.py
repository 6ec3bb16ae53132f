"""Running one target under the coverage-guided fuzzer, in a process of its own."""

import os
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from fuzz_seeds import seeds

HERE = Path(__file__).parent
SLOWEST = 10
"""Seconds after which one input counts as a finding; what is linear takes milliseconds."""
LONGEST = 4_096
"""Bytes of the longest input tried."""


@dataclass(frozen=True)
class Outcome:
    """What fuzzing of one target came to.

    Parameters
    ----------
    target : str
    tried : int
        Inputs.
    finding : Path or None
        The file of the input that failed, or, where the fuzzer itself failed, the folder it would be in.
    said : str
        All that the fuzzer printed.
    """

    target: str
    tried: int
    finding: Path | None
    said: str

    def __str__(self) -> str:
        return f"{self.target:16} {self.tried:10,} inputs  {self.finding or 'nothing found'}"


def fuzz(target: str, seconds: int, findings: Path) -> Outcome:
    """Fuzz one target for some seconds.

    Parameters
    ----------
    target : str
    seconds : int
        From the first input on; some more go into the start.
    findings : Path
        The folder that an input which fails is saved in.
    """
    findings.mkdir(parents=True, exist_ok=True)
    before = set(findings.iterdir())
    with tempfile.TemporaryDirectory(prefix="assay-corpus-") as corpus:
        for number, seed in enumerate(seeds(target)):
            (Path(corpus) / f"{number:03}").write_bytes(seed)
        limits = [f"-max_total_time={seconds}", f"-timeout={SLOWEST}", f"-max_len={LONGEST}", "-rss_limit_mb=4096"]
        done = subprocess.run(
            [sys.executable, HERE / "guided.py", target, corpus, f"-artifact_prefix={findings}/{target}-", *limits],
            capture_output=True,
            text=True,
            errors="replace",
            env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
            check=False,
        )
    said = done.stdout + done.stderr
    counts = re.findall(r"^#(\d+)\t|^Done (\d+) runs", said, flags=re.MULTILINE)
    saved = sorted(set(findings.iterdir()) - before)
    finding = saved[0] if saved else findings if done.returncode else None
    said += f"\nexit code {done.returncode}\n"
    return Outcome(target, int("".join(counts[-1])) if counts else 0, finding, said)
