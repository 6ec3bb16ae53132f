"""The explorer in a real JupyterLab in a real browser: sliders move, all else follows, and a policy is written."""

import os
import secrets
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbformat import v4

from assay.rules import load_policy
from assay.study import load_study

CHROMIUM = "/usr/bin/chromium"
QUIET = ["--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync"]
DATA = Path(__file__).parents[3] / "data"
CELL = """\
from assay.show.explorer import explore
explore("ci_claims", threshold=0.5, tie_margin=0.1)"""
SECONDS = 60


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[tuple[str, Path]]:
    """Serve a repository with one notebook; yields the notebook's address and the repository."""
    if not Path(CHROMIUM).exists():
        if os.environ.get("ASSAY_REQUIRE_BROWSER") == "1":
            pytest.fail(f"ASSAY_REQUIRE_BROWSER is set and there is no {CHROMIUM}")
        pytest.skip(f"there is no {CHROMIUM}")
    for folder in ("notebooks", "lib/assay", "settings"):
        (tmp_path / folder).mkdir(parents=True)
    kernel = {"kernelspec": {"name": "python3", "display_name": "Python 3"}}
    notebook = v4.new_notebook(cells=[v4.new_code_cell(CELL)], metadata=kernel)
    nbformat.write(notebook, tmp_path / "notebooks" / "look.ipynb")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    token = secrets.token_hex(16)
    environment = {**os.environ, "ASSAY_DATA": str(DATA), "JUPYTER_TOKEN": token, "OMP_NUM_THREADS": "1"}
    environment |= {f"JUPYTER_{kind}_DIR": str(tmp_path / "settings") for kind in ("CONFIG", "DATA", "RUNTIME")}
    words = ["--no-browser", "--allow-root", "--ip=127.0.0.1", f"--port={port}", "--ServerApp.port_retries=0"]
    log = tmp_path / "lab.log"
    with log.open("wb") as sink:
        server = subprocess.Popen(
            [sys.executable, "-m", "jupyterlab", *words], cwd=tmp_path, env=environment, stdout=sink, stderr=sink
        )
    address = f"http://127.0.0.1:{port}"
    try:
        _wait_for(f"{address}/api?token={token}", server, log)
        yield f"{address}/lab/tree/notebooks/look.ipynb?reset&token={token}", tmp_path
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait_for(address: str, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + SECONDS
    while time.monotonic() < until and server.poll() is None:
        try:
            urllib.request.urlopen(address, timeout=5).close()  # noqa: S310 (loopback)
            return
        except (urllib.error.URLError, OSError):
            time.sleep(0.2)
    pytest.fail(f"JupyterLab did not start: {log.read_text(errors='replace')[-2000:]}")


def test_the_slider_moves_the_figures_and_the_list_and_fixing_writes_a_policy(lab: tuple[str, Path]) -> None:
    from playwright.sync_api import expect, sync_playwright

    expect.set_options(timeout=SECONDS * 1000)
    address, repository = lab
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        page = browser.new_page(viewport={"width": 1280, "height": 1000})
        page.set_default_timeout(SECONDS * 1000)
        page.goto(address)
        page.locator(".jp-Notebook .jp-CodeCell").first.click()
        expect(page.locator(".jp-Notebook-ExecutionIndicator[data-status='idle']")).to_be_visible()
        page.keyboard.press("Control+Enter")
        handle = page.locator(".widget-slider .noUi-handle").first
        caption = page.locator(".assay-figure figcaption")
        misroutes = page.locator(".table-region caption", has_text="Dangerous misroutes")
        expect(caption).to_contain_text("At threshold 0.5 and tie margin 0.1")
        assert page.locator(".assay-figure").count() == 1  # and not what stands in for it, besides
        before = picture(page), misroutes.inner_text()

        for _ in range(30):
            handle.press("ArrowRight")
        expect(caption).to_contain_text("At threshold 0.8 and tie margin 0.1")
        expect(misroutes).not_to_contain_text(before[1])
        assert picture(page) != before[0]
        assert page.get_by_label("Threshold", exact=True).input_value() == "0.8"

        page.get_by_label("Threshold", exact=True).fill("0.7")
        page.get_by_label("Threshold", exact=True).press("Enter")
        expect(caption).to_contain_text("At threshold 0.7 and tie margin 0.1")
        page.get_by_label("Series", exact=True).select_option(index=3)
        page.get_by_label("Subgroup", exact=True).select_option(index=2)
        expect(page.locator(".table-region caption").first).to_contain_text(", theme ")
        styled = "element => [getComputedStyle(element).textAlign, getComputedStyle(element).whiteSpace]"
        assert page.locator(".table-region td.short").first.evaluate(styled) == ["left", "nowrap"]

        page.get_by_role("button", name="Fix this policy").click()
        said = page.get_by_role("status").filter(has_text="Written: reports/policies/")
        expect(said).to_contain_text("refused wherever it is applied")
        browser.close()
    (file,) = (repository / "reports" / "policies").iterdir()
    policy = load_policy(file)
    assert (policy.threshold, policy.tie_margin, policy.verdict) == (0.7, 0.1, "undecided")
    assert policy.data_sha256 == load_study("ci_claims").data_sha256


def picture(page: Any) -> str:
    return str(page.locator(".assay-figure img").get_attribute("src"))
