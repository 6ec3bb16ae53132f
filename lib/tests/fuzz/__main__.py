"""Coverage-guided fuzzing of every target in `fuzz_targets`: `make fuzz`, or `python lib/tests/fuzz [TARGET ...]`.

Each target runs for its share of the time, from the inputs in `fuzz_seeds`. An input on which a target raises, or takes
longer than ten seconds, is saved and ends the run with exit code 1; `--repeat` runs a target on it once more.
"""

import argparse
import importlib.util
import sys
from pathlib import Path

from fuzz_runner import fuzz
from fuzz_targets import TARGETS

HERE = Path(__file__).parent
FINDINGS = HERE.parents[2] / "reports" / "fuzz"


def main() -> int:
    """Fuzz the targets named, or all; 1 where an input failed, 2 where there is nothing to fuzz with."""
    words = argparse.ArgumentParser(prog="fuzz", description="Coverage-guided fuzzing of every reader.")
    words.add_argument(
        "targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}; all unless some are named"
    )
    words.add_argument("--seconds", type=int, default=600, help="for all targets together (default 600)")
    words.add_argument("--findings", type=Path, default=FINDINGS, help="folder for inputs that fail")
    words.add_argument("--repeat", type=Path, metavar="FILE", help="run the one target named on this input instead")
    given = words.parse_args()
    for name in given.targets:
        if name not in TARGETS:
            words.error(f"there is no target {name!r}; there are {', '.join(TARGETS)}")
    if given.repeat is not None:
        if len(given.targets) != 1:
            words.error("--repeat takes one target")
        TARGETS[given.targets[0]](given.repeat.read_bytes())
        return 0
    if importlib.util.find_spec("atheris") is None:
        words.error("atheris is not installed; it has wheels for Linux alone (`make fuzz` installs it there)")
    chosen = given.targets or list(TARGETS)
    found = 0
    for name in chosen:
        outcome = fuzz(name, max(1, given.seconds // len(chosen)), given.findings)
        print(outcome, flush=True)
        if outcome.finding is not None:
            found += 1
            print(outcome.said[-4_000:], file=sys.stderr)
            print(f"again: python lib/tests/fuzz {name} --repeat {outcome.finding}", file=sys.stderr, flush=True)
    return int(found > 0)


if __name__ == "__main__":
    sys.exit(main())
