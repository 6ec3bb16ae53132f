"""A key that is in the environment is nowhere else: not in a file that any command leaves, nor in what one prints.

Every command is run in a repository of its own, with a home and a temporary folder of its own, against a server that
does its worst: it sends back what it was sent. Then every file is searched, also within databases, tables, pictures and
packed columns.
"""

import base64
import contextlib
import json
import logging
import re
import sqlite3
import traceback
import zlib
from collections.abc import Iterator
from pathlib import Path

import nbformat
import pandas as pd
import pytest
from assay_test_server import completed, refused
from nbformat import v4
from repositories import FIXTURE, ITEMS, SHIPPED, make_repository, serving

from assay.__main__ import COMMANDS, main

CANARIES = {
    "OPENAI_API_KEY": "canary-openai-5f1c0d",
    "AZURE_OPENAI_API_KEY": "canary-azure-77ab21",
    "AZURE_OPENAI_AD_TOKEN": "canary-token-90ce44",
    "HF_TOKEN": "canary-hub-1d2e3f",
    "DATABASE_PASSWORD": "canary-word-aa00bb",
}
LEAKS = """\
import json, logging, os, sys
from IPython.display import HTML, Markdown, display
everything = json.dumps(dict(os.environ))
print(everything); print(everything, file=sys.stderr); logging.warning(everything)
display(HTML(f"<p>{everything}</p>")); display(Markdown(everything)); display({"all": everything})
everything"""
_ENCODED = re.compile(rb"[A-Za-z0-9+/]{24,}={0,2}")


def contents(path: Path) -> Iterator[bytes]:
    """Yield what is in a file: its bytes, and what a reader of its kind gets out of them."""
    raw = path.read_bytes()
    yield raw
    for run in _ENCODED.findall(raw[:20_000_000]):
        with contextlib.suppress(ValueError):
            yield base64.b64decode(run[: len(run) // 4 * 4])
    if raw.startswith(b"SQLite format 3\0"):
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        for (table,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'").fetchall():
            for row in connection.execute(f'SELECT * FROM "{table}"'):  # noqa: S608 (a name of the file itself)
                for value in row:
                    yield value if isinstance(value, bytes) else str(value).encode()
                    with contextlib.suppress(zlib.error, TypeError):
                        yield zlib.decompress(value)
        connection.close()
    if path.suffix == ".parquet":
        yield pd.read_parquet(path).to_json(default_handler=str).encode()


def found_in(folder: Path) -> tuple[int, list[str]]:
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    leaks = []
    for path in files:
        for piece in contents(path):
            leaks += [f"{path.name}: {name}" for name, key in CANARIES.items() if key.encode() in piece]
    return len(files), leaks


def write_leaks(folder: Path) -> None:
    cells = [v4.new_code_cell("share = 0.5", metadata={"tags": ["parameters"]}), v4.new_code_cell(LEAKS)]
    cells.append(v4.new_code_cell("if share > 0.5:\n    raise RuntimeError(everything)"))
    kernel = {"name": "python3", "display_name": "python3"}
    nbformat.write(v4.new_notebook(cells=cells, metadata={"kernelspec": kernel}), folder / "notebooks" / "leaks.ipynb")


def echo(request):
    """Answer with every header that came, as the text, the name of the model and the tokens; every fifth time refuse."""
    said = " ".join(request.headers.values())
    echo.count += 1
    if echo.count % 5 == 0:
        return refused(400, "invalid_prompt", message=f"Incorrect API key provided: {said}")
    text = json.dumps({"label": "a", "confidence": 0.5, "why": said})
    logprobs = [{"token": text, "logprob": -0.1, "bytes": list(text.encode()), "top_logprobs": []}]
    step = completed(text, logprobs=logprobs)
    key = request.headers.get("api-key") or request.headers.get("authorization", "")
    return type(step)(body=step.body.replace(b"served-1", f"served {key}"[:90].encode()))


def every_command(repository: Path, server: str) -> dict[str, list[tuple[str, ...]]]:
    pd.DataFrame({"label": ["a"] * 9, "predicted": ["a"] * 9, "confidence": [0.5] * 9}).to_parquet(
        repository / "counted.parquet"
    )
    (repository / "answers.csv").write_text("label,predicted,confidence\n" + "a,a,0.9\nb,a,0.6\n" * 20)
    (repository / "results.jsonl").write_text('{"custom_id": "x", "response": null, "error": {"code": "x"}}\n')
    (repository / "grid.yaml").write_text("notebook: 20_thresholds\nproduct: {study: [small], threshold: [0.5]}\n")
    ask = ("collect", "small", "--prompt", "good", "--limit", "20")
    key = CANARIES["OPENAI_API_KEY"]
    return {
        "new": [("new", "of_tests", "--from", "answers.csv"), ("new", "other", "--from", "answers.csv", "--title", f"x {key}")],
        "run": [
            ("run", "leaks", "--html", "leaks.html"),
            ("run", "leaks", "-p", "share=0.75", "--html", "fails.html", "--debug"),
            ("run", "20_thresholds", "-p", "study=small", "-p", "policy=policy.json"),
            ("run", "20_thresholds", "-p", f"model={key}"),
            ("run", "20_thresholds", "-p", f"study={key}", "--debug"),
        ],
        "report": [("report", "small", "--workers", "1")],
        "grid": [("grid", "grid.yaml", "--workers", "1")],
        "results": [("results", "--output", "table.parquet"), ("results", "--output", "table.csv")],
        "count": [("count", "counted.parquet", "--taxonomy", "small", "--output", "counts.json", "--workers", "1")],
        "check": [("check", "policy.json", "answers.csv", "--debug")],
        "collect": [
            (*ask, "--model", "m", "--base-url", server, "--export", "asked.parquet"),
            (*ask, "--model", key, "--base-url", server),
            (*ask, "--model", "m", "--base-url", f"{server}/{key}", "--store", "other.sqlite", "--debug"),
        ],
        "batch": [
            ("batch", *ask[1:], "--model", "m", "--base-url", server, "--store", "batch.sqlite", "--write-only"),
            ("batch", *ask[1:], "--model", "m", "--base-url", server, "--store", "batch.sqlite", "--debug"),
            ("batch", *ask[1:], "--model", key, "--base-url", server),
            ("batch", *ask[1:], "--model", "m", "--store", "batch.sqlite", "--results", "results.jsonl", "--debug"),
        ],
        "serve": [("serve", "--help"), ("serve", "--gguf", key)],
        "lint": [("lint", "good", "--study", "small"), ("lint", key, "--debug")],
    }  # fmt: skip


def said_by(words: tuple[str, ...], capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    """Run a command and return its code and all that it printed, tracebacks included."""
    code = 1
    try:
        code = main(words)
    except SystemExit as left:
        code = int(left.code or 0)
    except Exception:
        traceback.print_exc()
    printed = capfd.readouterr()
    return code, printed.out + printed.err


@pytest.mark.parametrize("notebooks", ["fixture", pytest.param("shipped", marks=pytest.mark.long)])
def test_no_key_is_anywhere_after_every_command(
    notebooks: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    record_tried,
) -> None:
    taken = (FIXTURE,) if notebooks == "fixture" else tuple(SHIPPED.glob("*.ipynb"))
    repository = make_repository(tmp_path / "r", notebooks=taken)
    write_leaks(repository)
    monkeypatch.chdir(repository)
    for name, folder in (("HOME", "home"), ("TMPDIR", "temporary")):
        (tmp_path / folder).mkdir()
        monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.setattr("tempfile.tempdir", None)
    for name in ("OPENAI_BASE_URL", "AZURE_OPENAI_ENDPOINT"):
        monkeypatch.delenv(name, raising=False)
    for name, key in CANARIES.items():
        monkeypatch.setenv(name, key)
    caplog.set_level(logging.DEBUG)
    printed, codes, echo.count = [], {}, 0
    with serving(echo) as server:
        commands = every_command(repository, server.url)
        assert set(commands) == {module.__name__.rpartition(".")[2] for module in COMMANDS}
        for words in (one for group in commands.values() for one in group):
            codes[words], said = said_by(words, capfd)
            printed.append(said)
        # An Azure endpoint is sent its key wherever it is, and this one sends it back.
        monkeypatch.delenv("OPENAI_API_KEY")
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url.removesuffix("/v1"))
        monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
        words = ("collect", "small", "--prompt", "good", "--model", "deployed", "--export", "azure.parquet", "--debug")
        printed.append(said_by(words, capfd)[1])
        assert f"{ITEMS} asks" in printed[-1]
        assert any(request.headers.get("api-key") == CANARIES["AZURE_OPENAI_API_KEY"] for request in server.requests)
    printed.append(caplog.text)
    searched, leaks = found_in(tmp_path)
    leaks += [f"printed: {name}" for name, key in CANARIES.items() for text in printed if key in text]
    record_tried("searches for a key where none may be", searched + len(printed), lost=len(leaks))
    assert leaks == []
    assert searched > 20
    # What should work did: there was something to search.
    for words in (
        commands[name][0] for name in ("new", "run", "report", "grid", "results", "count", "collect", "batch", "lint")
    ):
        assert codes[words] == 0, words
    assert (repository / "leaks.html").read_text().count("[key removed]") >= 3 * len(CANARIES)


def test_the_search_finds_a_key_wherever_one_may_hide(tmp_path: Path) -> None:
    key = next(iter(CANARIES.values()))
    (tmp_path / "page.html").write_text(
        f'<img src="data:image/png;base64,{base64.b64encode(f"text {key}".encode()).decode()}">'
    )
    pd.DataFrame({"a": [key]}).to_parquet(tmp_path / "t.parquet", compression="zstd")
    connection = sqlite3.connect(tmp_path / "s.sqlite")
    connection.execute("CREATE TABLE t (a BLOB)")
    connection.execute("INSERT INTO t VALUES (?)", [zlib.compress(key.encode())])
    connection.commit()
    connection.close()
    assert {leak.split(":")[0] for leak in found_in(tmp_path)[1]} == {"page.html", "t.parquet", "s.sqlite"}
