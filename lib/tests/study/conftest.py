"""Small studies written to a folder of their own, for tests that break one thing each."""

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

Files = Mapping[str, str | bytes]

SETTINGS = """\
title = "Two colours"
source = "written for a test"
licence = "MIT"
seed = 7

[items]
file = "items.csv"

[contract]
kind = "table"

[[answers]]
file = "answers.csv"
calibration = "language_model"
elicitation = "verbal"
model = "m"
prompt = "p"

[taxonomy]
abstain = "abstain"
class = [{ name = "red", rank = 0 }, { name = "blue", rank = 1 }]
"""

ITEMS = "item_id,text,label\n1,one,red\n2,two,blue\n3,three,blue\n"

ANSWERS = "item_id,predicted,confidence\n1,red,0.9\n2,red,0.6\n3,blue,0.75\n"


@pytest.fixture
def study_folder(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that writes a study: good files, those given instead of them, and `study.toml` edited."""

    def write(
        files: Files | None = None, *, settings: str = SETTINGS, replace: Mapping[str, str] | None = None
    ) -> Path:
        for old, new in (replace or {}).items():
            assert old in settings, old
            settings = settings.replace(old, new)
        folder = tmp_path / "colours"
        folder.mkdir(exist_ok=True)
        for name, content in {
            "items.csv": ITEMS,
            "answers.csv": ANSWERS,
            "study.toml": settings,
            **(files or {}),
        }.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if isinstance(content, bytes):
                path.write_bytes(content)
            else:
                path.write_text(content, encoding="utf-8", newline="")
        return folder

    return write


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Work in a repository without studies; returns its data folder."""
    for folder in ("notebooks", "lib/assay", "data"):
        (tmp_path / folder).mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path / "data"
