"""How one comes to the page: by the link, without it, with the link to watch, from another site."""

from __future__ import annotations

import http.server
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.browser import asking
from tests.browser.sight import COMPACT, Look, Sight
from tests.lifecycle.hosting.running import REAL, Demo, kept_ports


@pytest.fixture
def window(chromium: Browser) -> Iterator[BrowserContext]:
    context = chromium.new_context(locale="en", color_scheme="light")
    yield context
    context.close()


def test_the_link_leaves_no_token_in_the_address_or_the_history(look: Look, demo: Demo) -> None:
    sight = look()
    assert demo.endpoints["token"] not in sight.page.url
    assert sight.page.evaluate("document.cookie + document.referrer") == ""
    sight.page.reload()
    expect(sight.page.locator(".map .node, .map .bay").first).to_be_visible()


def test_without_the_link_a_token_can_be_pasted(window: BrowserContext, demo: Demo) -> None:
    page = window.new_page()
    page.goto(f"{demo.endpoints['http']}/")
    expect(page.get_by_role("heading", name="This page opens with a link")).to_be_visible()
    page.get_by_role("textbox", name="Token").fill("not the token")
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_role("alert")).to_contain_text("not one of this cluster")
    page.get_by_role("textbox", name="Token").fill(demo.endpoints["token"])
    page.get_by_role("button", name="Open").click()
    is_open(page)
    assert page.url == f"{demo.endpoints['http']}/"


def test_whoever_has_a_session_comes_in_from_another_site_too(
    window: BrowserContext, demo: Demo
) -> None:
    """A link on another site brings no cookie along that is SameSite=Strict."""
    for link in (demo.endpoints["page"], f"{demo.endpoints['http']}/"):
        page = window.new_page()
        with elsewhere(
            f'<a href="{link}&lang=en">in</a>'
            if "?" in link
            else f'<a href="{link}?lang=en">in</a>'
        ) as site:
            page.goto(site)
            page.get_by_role("link", name="in").click()
            is_open(page)


def test_a_viewer_looks_at_everything_and_is_offered_nothing_to_change(
    chromium: Browser, demo: Demo
) -> None:
    asking.run(demo, "web", 1)
    sight = Sight(chromium, demo.endpoints["viewer_page"], COMPACT)
    sight.says(sight.commands(), "You are watching.")
    expect(sight.button("The keys in etcd")).to_have_count(0)
    for button in ("0 breakpoints", "Speed max"):
        expect(sight.button(button)).to_be_disabled()
    for button in ("Send", "Save this one", "Stop the API server"):
        expect(sight.button(button)).to_have_count(0)
    expect(sight.page.get_by_role("combobox", name="as")).to_have_count(0)
    sight.says(sight.page.locator("#client header"), "The page")
    sight.press("b", "ArrowLeft", "l")
    assert asking.state(demo)["breakpoints"] == [] and asking.state(demo)["mode"] == "max"
    sight.close()


def test_a_viewer_pauses_what_is_shown_and_not_the_cluster(chromium: Browser, demo: Demo) -> None:
    asking.free(demo, 1)
    sight = Sight(chromium, demo.endpoints["viewer_page"], COMPACT)
    for button in ("Forward one hop", "Forward one request"):
        expect(sight.button(button)).to_be_disabled()
    sight.button("Pause").click()
    sight.says(sight.moment, "paused here")
    asking.run(demo, "more", 1)
    sight.says(sight.moment, re.compile(r"^paused here, .* behind$"))
    assert asking.state(demo)["mode"] == "run"
    sight.button("Go on").click()
    sight.says(sight.moment, "showing, ")
    sight.press("l")
    sight.says(sight.moment, "live")
    asking.control(demo, action="pause")
    sight.says(sight.moment, "paused")
    expect(sight.button("Go on")).to_be_disabled()
    sight.close()
    asking.free(demo, "max")


def test_a_session_that_ended_is_told_in_words(chromium: Browser, tmp_path: Path) -> None:
    options = ("--speed", "max", *kept_ports())
    with Demo(tmp_path, *options, driver=REAL) as first:
        sight = Sight(chromium, first.endpoints["page"], expects="WebSocket|ERR_CON|status of 401")
    with Demo(tmp_path, *options, "--new-tokens", driver=REAL):
        sight.says(sight.page.locator(".banner"), "Your session has ended")
        sight.page.reload()
        expect(sight.page.get_by_role("textbox", name="Token")).to_be_visible()
        sight.close()


def is_open(page: Page) -> None:
    expect(page.locator(".map .node, .map .bay").first).to_be_visible()


class elsewhere:
    """Another site on this machine: its own name, which is not that of the demo."""

    def __init__(self, body: str) -> None:
        page = f"<!doctype html>{body}".encode()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(page)))
                self.end_headers()
                self.wfile.write(page)

            def log_message(self, *_: object) -> None:
                """Keeps the tests quiet."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self) -> str:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return f"http://localhost:{self._server.server_port}/"

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
