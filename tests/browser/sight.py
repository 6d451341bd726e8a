"""One browser window on one demo: what a visitor sees and does, and what the browser complains of.

Chromium is driven as it is installed; without it every test here fails. Nothing waits a fixed
time: what is wanted is waited for, up to a deadline.
"""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Locator, Page, Playwright, expect

from tests.suite import opened, waiting

WAIT_MS = waiting.seconds() * 1000
expect.set_options(timeout=WAIT_MS)
ROOMY, COMPACT = (1920, 1080), (1280, 720)
GATES = (
    "authentication", "audit", "flowcontrol", "authorization", "routing", "decode", "mutating",
    "prepare", "validation", "validating", "etcd",
)  # fmt: skip
# Chromium takes the last list it is given: these are Playwright's own, and two pages of the address
# bar, which take a third of the time in which a window opens
_FEATURES = (
    "AvoidUnnecessaryBeforeUnloadCheckSync", "DestroyProfileOnBrowserClose", "HttpsUpgrades",
    "HttpsFirstBalancedModeAutoEnable", "LensOverlay", "MediaRouter", "PaintHolding",
    "ThirdPartyStoragePartitioning", "AvoidCorsURLLoaderRestartOnRedirect", "OptimizationHints",
    "NetworkTimeServiceQuerying", "AimEnabled", "PreconnectToSearch",
    "WebUIOmniboxPopup", "WebUIOmniboxAimPopup",
)  # fmt: skip
_WHOLE = ("chromium", "chromium-browser")
# the same page for less, without what stands around it: no icon is fetched; not every system has it
_HEADLESS = "chromium-headless-shell"
_ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    f"--disable-features={','.join(_FEATURES)}",
]


def start_chromium(playwright: Playwright, *, whole: bool = False) -> Browser:
    """The browser of this machine, or what of it draws the page, where that is there and the
    `whole` is not asked for. Fails without one: these tests prove nothing otherwise."""
    programs = _WHOLE if whole else (_HEADLESS, *_WHOLE)
    program = next(filter(None, map(shutil.which, programs)), None)
    assert program, "the browser tests need Chromium on the PATH: tests/setup installs it"
    return playwright.chromium.launch(executable_path=program, args=_ARGUMENTS)


class Sight:
    """A window with the page in it."""

    def __init__(
        self,
        browser: Browser,
        link: str,
        size: tuple[int, int] = ROOMY,
        *,
        query: str = "theme=light&lang=en",
        expects: str = "",
        arrives: bool = True,
        before: Callable[[Page], None] = lambda _: None,
        **options: Any,
    ) -> None:
        """Opens the page's link, after `before`. Complaints that match `expects` are part of the
        test; all others are failures. It is waited for until the page is where the link leads,
        unless it cannot arrive yet."""
        self._expects = re.compile(expects) if expects else None
        self.url, _, token = link.partition("/?")
        self.complaints, self._foreign = list[str](), list[str]()
        self.context = browser.new_context(
            viewport={"width": size[0], "height": size[1]}, **options
        )
        self.context.set_default_timeout(WAIT_MS)
        self.page: Page = self.context.new_page()
        opened.note(opened.WINDOWS, self)
        self.page.on("console", lambda said: self._heard(said.type, said.text))
        self.page.on("pageerror", lambda error: self.complaints.append(f"error {error}"))
        self.page.on("requestfailed", lambda one: self._failed(one.url, one.failure or ""))
        self.page.on("request", lambda one: self._asked(one.url))
        self.page.on("websocket", lambda one: self._asked(one.url))
        before(self.page)
        self.page.goto(f"{self.url}/?{token}&{query}")
        drawn = self.page.locator(".map :is(.node, .bay, .rollout, .kindboard)")
        expect(drawn.first).to_be_visible()
        if arrives:
            expect(self.page.locator("body")).to_have_attribute("aria-busy", "false")

    def _heard(self, level: str, text: str) -> None:
        if level in ("error", "warning"):
            self._complain(f"{level} {text}")

    def _failed(self, url: str, why: str) -> None:
        # a page that is closed or shown anew ends what it was reading
        if why != "net::ERR_ABORTED":
            self._complain(f"failed {url}: {why}")

    def _asked(self, url: str) -> None:
        host = urlsplit(self.url).netloc
        if urlsplit(url).netloc != host and not url.startswith(("data:", "blob:")):
            self._foreign.append(url)

    def _complain(self, text: str) -> None:
        if not (self._expects and self._expects.search(text)):
            self.complaints.append(text)

    def close(self) -> None:
        """Close the window; fails when anything was amiss while it was open."""
        opened.gone(opened.WINDOWS, self)
        self.context.close()
        assert not self.complaints, self.complaints
        assert not self._foreign, f"asked of other servers: {self._foreign}"

    # -- parts --------------------------------------------------------------------------------

    def button(self, name: str | re.Pattern[str], exact: bool = True) -> Locator:
        return self.page.get_by_role("button", name=name, exact=exact)

    def gate(self, name: str) -> Locator:
        return self.page.locator(f"#g-{name}")

    @property
    def moment(self) -> Locator:
        """What the bar says of the time: live, paused, in the past, …"""
        return self.page.locator(".clock .state")

    @property
    def headline(self) -> Locator:
        return self.page.get_by_role("complementary").get_by_role("heading", level=1)

    @property
    def held(self) -> Locator:
        """The gates at which a request is held."""
        return self.page.locator(".gate.is-hold")

    def says(self, what: Locator, text: str | re.Pattern[str]) -> None:
        expect(what).to_contain_text(text)

    # -- doing --------------------------------------------------------------------------------

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def settle(self) -> None:
        """Two frames on: what was asked for is drawn, and what moves is where it goes."""
        self.page.evaluate(
            """() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => {
                Promise.allSettled(document.getAnimations().map((a) => a.finished)).then(done);
            })))"""
        )

    def back_to(self, part: str) -> None:
        """Back, hop by hop and request by request, until that part is seen.

        How far that is depends on what the cluster's components have asked for since. What is seen
        of a cluster that goes on counts for nothing, as it is something else in a moment.
        """
        for _ in range(400):
            if self.page.locator(f"body.is-past {part}").count():
                return
            self.press("Shift+ArrowLeft", "ArrowLeft")
            self.settle()
        raise AssertionError(f"{part} was never seen")

    def until(self, script: str, *arguments: Any) -> Any:
        """Wait for a script to answer something true."""
        found = self.page.wait_for_function(script, arg=list(arguments), timeout=WAIT_MS)
        return found.json_value()

    def send(self, manifest: str, user: str = "") -> None:
        """Send a manifest from the bench, as a visitor would."""
        bench = self.commands()
        if user:
            bench.get_by_role("combobox", name="as").select_option(user)
        bench.get_by_role("textbox").fill(manifest)
        bench.get_by_role("button", name="Send").click()

    def commands(self) -> Locator:
        """The place for commands, which on a small screen the objects may have taken."""
        bench = self.page.get_by_role("region", name="Requests and objects")
        tab = bench.get_by_role("tab", name="Commands")
        if tab.count():
            tab.click()
        expect(bench.get_by_role("log").or_(bench.get_by_text("You are watching"))).to_be_visible()
        return bench

    def shot(self, file: Path) -> None:
        self.page.screenshot(path=str(file))


Look = Callable[..., Sight]
