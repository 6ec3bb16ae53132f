"""Fixtures that look at pages in a real browser; without one their tests are skipped, or fail where CI demands them.

They last for a module: while the browser is there an event loop runs, in which other tests could start none.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = "/usr/bin/chromium"
QUIET = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Start Chromium, or skip where there is none (with ASSAY_REQUIRE_BROWSER=1: fail)."""
    if not Path(CHROMIUM).exists():
        _without(f"there is no {CHROMIUM}")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=CHROMIUM, args=QUIET)
        yield chromium
        chromium.close()


@pytest.fixture(scope="module")
def opens_alone(browser: Any) -> Callable[[Path, int], None]:
    """Give a function that opens a page without the network and checks that it is silent, whole and fits the width."""

    def look(path: Path, width: int) -> None:
        with browser.new_context(viewport={"width": width, "height": 800}, offline=True) as context:
            page = context.new_page()
            said: list[str] = []
            asked: list[str] = []
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            page.on("request", lambda request: asked.append(request.url))
            page.goto(path.as_uri())
            assert said == []
            assert [url for url in asked if not url.startswith("data:")] == [path.as_uri()]
            assert page.evaluate("document.documentElement.scrollWidth") <= width
            assert page.evaluate("[...document.images].every(image => image.naturalWidth > 0)")

    return look


@pytest.fixture(scope="module")
def serious_violations(browser: Any) -> Callable[[Path], list[str]]:
    """Give a function that runs axe-core (its file in ASSAY_AXE) on a page and names what is seriously wrong."""
    axe = Path(os.environ.get("ASSAY_AXE", ""))
    if not axe.is_file():
        _without("ASSAY_AXE names no axe.min.js")

    def look(path: Path) -> list[str]:
        # The page's own policy would keep the checker out.
        with browser.new_context(bypass_csp=True) as context:
            page = context.new_page()
            page.goto(path.as_uri())
            page.evaluate("document.querySelectorAll('details').forEach(one => one.open = true)")
            page.evaluate(axe.read_text(encoding="utf-8"))
            found = page.evaluate("axe.run({resultTypes: ['violations']})")
        assert len(found["passes"]) > 20
        return [one["id"] for one in found["violations"] if one["impact"] in ("serious", "critical")]

    return look


def _without(reason: str) -> None:
    if os.environ.get("ASSAY_REQUIRE_BROWSER") == "1":
        pytest.fail(f"ASSAY_REQUIRE_BROWSER is set and {reason}")
    pytest.skip(reason)
