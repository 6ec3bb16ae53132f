"""A small repository to run commands in, as processes of their own, on disks that are full or closed, and a server.

The repository has the layout of this one: a study that can be asked about, answered and reported on, and notebooks.
"""

import asyncio
import contextlib
import ctypes
import datetime
import json
import os
import resource
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay_test_server import ScriptedServer, completed

if TYPE_CHECKING:
    import pandas as pd

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parents[1]
FIXTURE = TESTS / "notebooks" / "20_thresholds.ipynb"
SHIPPED = ROOT / "notebooks"

STUDY = """\
title = "Small"
source = "written for a test"
licence = "MIT"
seed = 1
items.file = "items.jsonl"
contract.kind = "classification"
prompts.good = "good.toml"

[[answers]]
file = "answers.jsonl"
calibration = "language_model"
elicitation = "verbal"

[taxonomy]
abstain = "unsure"
class = [{ name = "a" }, { name = "b", rank = 1 }]

[[gate]]
metric = "class_accuracy"
classes = ["b"]
target = 0.8
"""
PROMPT = """\
name = "good"
contract = "classification"
system = "Label the text 'a' or 'b'. Reply with JSON."
[[example]]
question = "something else"
reply = '{"label": "a", "confidence": 0.9, "alternatives": {"b": 0.1}}'
[[example]]
question = "quite another thing"
reply = '{"label": "b", "confidence": 0.7, "alternatives": {"a": 0.3}}'
"""
ITEMS = 60


def make_repository(
    folder: Path, notebooks: tuple[Path, ...] = (FIXTURE,), studies: tuple[str, ...] = ("small",)
) -> Path:
    """Make a repository with these notebooks and studies."""
    (folder / "lib" / "assay").mkdir(parents=True)
    (folder / "notebooks").mkdir()
    for notebook in notebooks:
        shutil.copy(notebook, folder / "notebooks")
    for name in studies:
        study = folder / "data" / name
        study.mkdir(parents=True)
        (study / "study.toml").write_text(STUDY)
        (study / "good.toml").write_text(PROMPT)
        items = [{"item_id": f"i{n}", "text": f"the text number {n}", "label": "ab"[n % 2]} for n in range(ITEMS)]
        answers = [
            {
                "item_id": one["item_id"],
                "model": model,
                "prompt": "good",
                "run": 0,
                "completion": json.dumps(
                    {"label": one["label"] if n % 5 else "a", "confidence": 0.5 + n % 50 / 100, "alternatives": {}}
                ),
            }
            for model in ("large", "little")
            for n, one in enumerate(items)
        ]
        for file, rows in (("items.jsonl", items), ("answers.jsonl", answers)):
            (study / file).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


def make_policy(place: Path) -> "pd.DataFrame":
    """Write a policy of two classes, and return 240 labelled answers on which it holds."""
    import pandas as pd

    from assay.measure.certificate import certify
    from assay.measure.policies import policy_of
    from assay.rules import Gate, LabelClass, Taxonomy, save_policy

    taxonomy = Taxonomy((LabelClass("em"), LabelClass("ne")), "unsure", gates=(Gate("caught", ("em",)),))
    origin = {"calibration": "language_model", "elicitation": "vote", "model": "m1", "prompt": "p"}
    answers = pd.DataFrame({"label": ["em"] * 120 + ["ne"] * 120}).assign(confidence=0.9, **origin)
    answers = answers.assign(predicted=answers["label"], item_id=[f"n{row}" for row in range(len(answers))])
    certificate = certify(answers, taxonomy, seed=1, fixed=(0.5, 0.1))
    save_policy(policy_of(certificate, taxonomy, date=datetime.date.today()), place)
    return answers


def start(
    *words: str,
    folder: Path,
    environment: Mapping[str, str] | None = None,
    largest_file: int | None = None,
    closed: bool = False,
    **options: Any,
) -> "subprocess.Popen[str]":
    """Start the command line in a repository.

    With `largest_file`, no file may grow beyond so many bytes: writing then fails in the middle, as on a full disk.
    With `closed`, what the modes of files forbid is forbidden, also to root, who else may do everything.
    """

    def limit() -> None:
        if largest_file is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
        if closed and os.geteuid() == 0:
            drop_from_bounding_set, dac_override = 24, 1
            assert ctypes.CDLL(None).prctl(drop_from_bounding_set, dac_override, 0, 0, 0) == 0

    given = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **options}
    return subprocess.Popen(
        [sys.executable, "-m", "assay", *words],
        cwd=folder,
        env={**os.environ, **(environment or {})},
        text=True,
        preexec_fn=limit,
        **given,
    )


def assay(*words: str, folder: Path, **options: Any) -> "subprocess.CompletedProcess[str]":
    """Run the command line in a repository to its end; see `start`."""
    process = start(*words, folder=folder, **options)
    out, error = process.communicate(timeout=120)
    return subprocess.CompletedProcess(process.args, process.returncode, out, error)


def one_line(done: "subprocess.CompletedProcess[str]") -> str:
    """Return the last line of standard error, of which there is no more than one that is no progress."""
    lines = [line for line in done.stderr.splitlines() if not line.startswith("[")]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("assay: "), done.stderr
    assert "Traceback" not in done.stderr
    return lines[0]


@contextlib.contextmanager
def serving(script: Callable[[Any], Any]) -> Iterator[Any]:
    """Serve a script of `assay_test_server` from a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    running = ScriptedServer(script)
    try:
        asyncio.run_coroutine_threadsafe(running.__aenter__(), loop).result()
        yield running
    finally:
        asyncio.run_coroutine_threadsafe(running.__aexit__(None, None, None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def answer() -> Any:
    """Return the step of a server that answers."""
    return completed('{"label": "b", "confidence": 0.8, "alternatives": {}}')
