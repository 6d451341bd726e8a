"""A browser for all tests here, and a demo that modules share, each with an empty cluster."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Playwright, sync_playwright

from tests.browser import asking
from tests.browser.sight import Look, Sight, start_chromium
from tests.lifecycle.hosting.running import REAL, Demo
from tests.suite import costs

TRACES = "/viz/v1/traces"
QUICK = "max"


# not for the whole session: while it runs, no other test can have a loop of its own
@pytest.fixture(scope="package")
def playwright() -> Iterator[Playwright]:
    with costs.adopting(costs.BROWSER, "chrom"):
        running = sync_playwright().start()
        yield running
        with costs.reaping(costs.BROWSER):
            running.stop()


@pytest.fixture(scope="package")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    browser = start_chromium(playwright)
    yield browser
    with costs.reaping(costs.BROWSER):
        browser.close()


@pytest.fixture(scope="package")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Demo]]:
    """The demo that modules have one after the other, once the first has asked for it."""
    demos: list[Demo] = []
    yield demos
    for demo in demos:
        demo.__exit__()


@pytest.fixture(scope="module")
def demo(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, shared: list[Demo]
) -> Iterator[Demo]:
    """An empty cluster whose own pods run, and which is the module's alone: the one of the module
    before, begun anew, or a demo with the options of the module's DEMO. Its SPEED says how fast it
    goes on from there."""
    options = getattr(request.module, "DEMO", ())
    speed = getattr(request.module, "SPEED", QUICK)
    with contextlib.ExitStack() as own:
        if shared and not options:
            running = shared.pop()
            own.push(running)  # it ends here, unless it is as new again
            begin_anew(running)
        else:
            where: Path = tmp_path_factory.mktemp("demo") / "data"
            running = own.enter_context(Demo(where, "--speed", QUICK, *options, driver=REAL))
        asking.until_installed(running)
        if speed != QUICK:
            asking.control(running, action="speed", speed=speed)
        if not options:
            own.pop_all()
            shared.append(running)
        yield running


def begin_anew(demo: Demo) -> None:
    """Another cluster in place of the one that is there, and no recordings."""
    epoch = asking.state(demo)["epoch"]
    asking.control(demo, action="reset")
    asking.until(lambda: asking.state(demo).get("epoch", epoch) != epoch)
    for trace in json.loads(demo.get(TRACES).read())["traces"]:
        demo.ask("DELETE", f"{TRACES}/{trace['id']}", b"")


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
