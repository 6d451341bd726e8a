"""A browser for all tests here, and a demo of its own for each module that asks for one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright

from tests.browser import asking
from tests.browser.sight import Look, Sight, start_chromium
from tests.lifecycle.hosting.running import REAL, Demo


# not for the whole session: while it runs, no other test can have a loop of its own
@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    with sync_playwright() as running:
        yield running


@pytest.fixture(scope="package")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    browser = start_chromium(playwright)
    yield browser
    browser.close()


@pytest.fixture(scope="module")
def demo(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Demo]:
    """A fresh cluster whose own pods run; a module's DEMO says with which options."""
    options = getattr(request.module, "DEMO", ())
    where: Path = tmp_path_factory.mktemp("demo") / "data"
    with Demo(where, *options, driver=REAL) as running:
        asking.until_installed(running)
        yield running


@pytest.fixture
def look(chromium: Browser, demo: Demo) -> Iterator[Look]:
    """Open windows on the demo; all are closed, and must have been quiet, at the end."""
    opened: list[Sight] = []

    def one(*arguments: object, **options: object) -> Sight:
        sight = Sight(chromium, demo.endpoints["page"], *arguments, **options)  # type: ignore[arg-type]
        opened.append(sight)
        return sight

    yield one
    for sight in opened:
        sight.close()
