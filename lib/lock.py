"""Resolve the dependencies again: writes lib/requirements.lock and the pip part of environment.yml (`make lock`).

The lock is universal (every platform, Python 3.11 and newer) and carries hashes. The conda environment repeats the
same pins without hashes, since pip takes no editable install in hash mode.
"""

import subprocess
import sys
from pathlib import Path

LIB = Path(__file__).parent
LOCK = LIB / "requirements.lock"
ENVIRONMENT = LIB.parent / "environment.yml"

HEAD = """\
# Conda gives Python and pip; pip gives the pins of lib/requirements.lock. Written by `make lock`.
name: assay
channels:
  - conda-forge
dependencies:
  - python>=3.11
  - pip
  - pip:
"""


def pins(lock: str) -> list[str]:
    """Return the pinned requirements of a lock file, without hashes and comments."""
    lines = [line.rstrip(" \\") for line in lock.splitlines() if line and not line.startswith((" ", "#"))]
    return [line for line in lines if "==" in line]


def environment(lock: str) -> str:
    """Return the text of environment.yml for a lock file."""
    listed = "".join(f"      - {pin!r}\n" if "'" not in pin else f'      - "{pin}"\n' for pin in pins(lock))
    return HEAD + listed + "      - -e lib\n"


def main() -> None:
    """Compile the lock with uv and write both files."""
    options = ["--universal", "--generate-hashes", "--no-emit-index-url", "--no-emit-find-links", "--no-header"]
    command = ["pip", "compile", "pyproject.toml", "--extra", "dev", *options, "-o", LOCK.name, *sys.argv[1:]]
    subprocess.run([Path(sys.executable).with_name("uv"), *command], cwd=LIB, check=True, stdout=subprocess.DEVNULL)
    ENVIRONMENT.write_text(environment(LOCK.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
