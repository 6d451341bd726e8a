"""What a browser fetches for the page: little, once, and nothing before it is needed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Browser, Page, Playwright, expect

from tests.browser import asking
from tests.browser.sight import Look, Sight, start_chromium
from tests.lifecycle.hosting.running import Demo

SPEED = 1
WIRE_MAX = 200 * 1024  # bytes of all that the first picture takes, with their heads
JOINED = "/static/joined/js"
ICON = "/static/mark.svg"
CHINESE = f"{JOINED}/i18n/chinese.js"
OTHER = "#bar button[aria-label*='中文'], #bar button[aria-label*='English']"
# each rule as the browser understood it, of the sheets one by one and of all in one
RULES = """async () => {
  const read = (sheet) => [...sheet.cssRules].flatMap((rule) =>
    rule.styleSheet ? read(rule.styleSheet) : [rule.cssText.replace(/\\s+/g, ' ')]);
  const link = document.createElement('link');
  Object.assign(link, { rel: 'stylesheet', href: '/static/css/page.css', media: 'print' });
  const loaded = new Promise((done) => { link.onload = done; });
  document.head.append(link);
  await loaded;
  const joined = [...document.styleSheets].find((one) => one.href.includes('/joined/'));
  return [read(link.sheet), read(joined)];
}"""

FAILS = "(address) => import(address).then(() => false, () => true)"


@pytest.fixture(scope="module")
def chromium(playwright: Playwright) -> Iterator[Browser]:
    """The whole of it, which fetches the icon, too."""
    browser = start_chromium(playwright, whole=True)
    yield browser
    browser.close()


class Fetched:
    """What a page fetches: its address, and the bytes that it takes on the wire."""

    def __init__(self) -> None:
        self.bytes: dict[str, float] = {}

    def watch(self, page: Page) -> None:
        wire = page.context.new_cdp_session(page)
        names: dict[str, str] = {}

        def asked(told: dict[str, object]) -> None:
            request, number = told["request"], str(told["requestId"])
            before = told.get("redirectResponse")
            if before:  # the same request goes on
                self._add(names[number], before["encodedDataLength"])  # type: ignore[index]
            names[number] = request["url"]  # type: ignore[index]

        wire.on("Network.requestWillBeSent", asked)
        wire.on(
            "Network.loadingFinished",
            lambda told: self._add(names[told["requestId"]], told["encodedDataLength"]),
        )
        wire.send("Network.enable")

    def _add(self, name: str, length: float) -> None:
        self.bytes[name] = self.bytes.get(name, 0) + length

    def of(self, part: str) -> list[str]:
        return [name for name in self.bytes if part in name]


def watched(look: Callable[..., Sight], query: str) -> tuple[Sight, Fetched]:
    fetched = Fetched()
    return look(query=query, before=fetched.watch), fetched


def test_the_first_picture_takes_two_hundred_kibibytes_at_most(look: Look) -> None:
    for language in ("en", "zh"):
        _, fetched = watched(look, f"theme=light&lang={language}")

        assert len(fetched.of("/static/joined/")) == 3
        assert fetched.of("/static/js/") == [f"{_origin(fetched)}/static/js/theme.js"]
        assert 100 * 1024 < sum(fetched.bytes.values()) < WIRE_MAX, fetched.bytes


def test_a_language_is_fetched_when_it_is_spoken_first_and_then_no_more(look: Look) -> None:
    sight, fetched = watched(look, "theme=light&lang=en")
    begin = sight.page.get_by_role("button", name="Begin")
    expect(begin).to_be_visible()
    assert fetched.of(CHINESE) == []

    sight.page.locator(OTHER).click()

    expect(sight.page.get_by_role("button", name="开始")).to_be_visible()
    assert sight.page.evaluate("document.documentElement.lang") == "zh-Hans"
    sight.page.route("**/static/**", lambda route: route.abort())  # from here on nothing comes
    sight.page.locator(OTHER).click()
    expect(begin).to_be_visible()
    sight.page.locator(OTHER).click()
    expect(sight.page.get_by_role("button", name="开始")).to_be_visible()


def test_a_language_that_cannot_be_fetched_is_spoken_once_it_can(look: Look) -> None:
    sight = look(query="theme=light&lang=en", expects="chinese.js|ERR_FAILED")
    sight.page.route(f"**{CHINESE}*", lambda route: route.abort())
    with sight.page.expect_event("requestfailed") as failed:
        sight.page.locator(OTHER).click()
    assert sight.page.evaluate(FAILS, failed.value.url)  # and the page knows it, too
    expect(sight.page.get_by_role("button", name="Begin")).to_be_visible()
    assert sight.page.evaluate("document.documentElement.lang") == "en"

    sight.page.unroute(f"**{CHINESE}*")
    sight.page.locator(OTHER).click()

    expect(sight.page.get_by_role("button", name="开始")).to_be_visible()


def test_another_address_fetches_the_icon_no_more(look: Look, demo: Demo) -> None:
    asking.run(demo, "web", 1)
    sight, fetched = watched(look, "theme=light&lang=en")
    taken = []

    for _ in range(4):  # Chromium asks for it each time
        with sight.page.expect_event("requestfinished", lambda one: one.url.endswith(ICON)):
            sight.press("ArrowLeft")
        sight.settle()
        taken.append(fetched.bytes[f"{_origin(fetched)}{ICON}"])

    assert len(set(taken)) == 1, taken


def test_the_joined_style_sheet_has_the_rules_of_all_of_them(look: Look) -> None:
    one_by_one, joined = look().page.evaluate(RULES)
    assert len(joined) > 500
    assert joined == one_by_one


def _origin(fetched: Fetched) -> str:
    return next(iter(fetched.bytes)).partition("/?")[0]
