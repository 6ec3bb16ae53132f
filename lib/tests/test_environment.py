"""The two ways to set up pin the same versions."""

import importlib.util
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

LIB = Path(__file__).parents[1]
ROOT = LIB.parent

specification = importlib.util.spec_from_file_location("lock", LIB / "lock.py")
lock = importlib.util.module_from_spec(specification)
specification.loader.exec_module(lock)


@pytest.fixture
def pip_part() -> list[str]:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    return next(part["pip"] for part in environment["dependencies"] if isinstance(part, dict))


def test_the_conda_environment_repeats_the_pins_of_the_lock():
    locked = (LIB / "requirements.lock").read_text(encoding="utf-8")
    assert (ROOT / "environment.yml").read_text(encoding="utf-8") == lock.environment(locked)
    assert len(lock.pins(locked)) > 100


def test_every_pin_has_a_hash_and_no_index_is_named():
    locked = (LIB / "requirements.lock").read_text(encoding="utf-8")
    entries = locked.split("\n")
    for number, line in enumerate(entries):
        if line and not line.startswith((" ", "#")):
            assert "--hash=sha256:" in entries[number + 1], line
    assert "index-url" not in locked
    assert "://" not in locked


def test_the_pip_part_of_the_conda_environment_installs(pip_part, tmp_path):
    requirements = tmp_path / "requirements.txt"
    requirements.write_text("\n".join(pip_part), encoding="utf-8")
    python = tmp_path / "venv" / "bin" / "python"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    uv = Path(sys.executable).with_name("uv")
    subprocess.run([uv, "pip", "install", "-q", "--python", python, "-r", requirements], cwd=ROOT, check=True)
    code = "import assay, assay.rules, sklearn, jupyterlab; print(assay.__version__)"
    done = subprocess.run([python, "-c", code], check=True, capture_output=True, text=True, cwd=tmp_path)
    assert done.stdout.strip() == "0.1.0"
