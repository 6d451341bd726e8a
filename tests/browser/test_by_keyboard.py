"""One walk without a pointer: Run it, a breakpoint, a fork, a search."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, Look, Sight
from tests.lifecycle.hosting.running import Demo

DEMO = ("--speed", "max")
TABS_MAX = 80
NAME = """() => {
  const { ariaLabel, labels, textContent } = document.activeElement;
  return (ariaLabel || labels?.[0]?.textContent || textContent).trim();
}"""


def test_run_it_a_breakpoint_a_fork_and_a_search_need_no_pointer(look: Look, demo: Demo) -> None:
    sight = look(COMPACT)
    runs_it(sight)
    stops_a_pod(sight, demo)
    forks_and_returns(sight)
    finds_what_it_did(sight)


def runs_it(sight: Sight) -> None:
    go_to(sight, "Run it")
    sight.press("Enter")
    sight.says(sight.headline, "3 of 3 pods are ready")
    sight.says(sight.moment, "live")


def stops_a_pod(sight: Sight, demo: Demo) -> None:
    """A breakpoint at admission holds it; without the breakpoint it goes on."""
    sight.press("b")
    expect(sight.button("1 breakpoint")).to_be_visible()
    go_to(sight, "Commands")
    sight.press("Enter")
    go_to(sight, "YAML, or a line of kubectl")
    sight.page.keyboard.type("kubectl run held --image=nginx")
    sight.press("Enter")
    sight.says(sight.moment, "paused at a breakpoint")
    expect(sight.gate("mutating")).to_have_class(re.compile("is-hold"))
    assert "held" not in asking.objects(demo, "pods")

    sight.press("Escape", "b")
    expect(sight.button("0 breakpoints")).to_be_visible()
    sight.press("Space")
    sight.says(sight.page.get_by_role("log"), "pod/held created")
    sight.says(sight.moment, "live")


def forks_and_returns(sight: Sight) -> None:
    sight.press("Shift+ArrowLeft", "f")
    sight.says(sight.page.locator(".banner"), "Your fork of demo")
    sight.says(sight.moment, "paused")
    go_to(sight, "Back to demo")
    sight.press("Enter")
    expect(sight.page).to_have_url(re.compile(r"^(?!.*cluster=)"))
    sight.press("l")
    sight.says(sight.moment, "live")


def finds_what_it_did(sight: Sight) -> None:
    sight.press("/")
    sight.page.keyboard.type("kind:pod verb:create held")
    found = sight.page.get_by_role("search")
    sight.says(found, re.compile(r"\d requests? found"))
    sight.press("Enter")
    expect(sight.page.locator(".found [aria-current]")).to_have_count(1)
    sight.press("Escape")
    expect(found.get_by_role("searchbox")).to_have_count(0)


def go_to(sight: Sight, name: str) -> None:
    """Press Tab until what begins so has the focus, which is seen on each part on the way."""
    passed: list[str] = []
    for _ in range(TABS_MAX):
        sight.press("Tab")
        here = str(sight.page.evaluate(NAME))
        what, ring = sight.page.evaluate(measures.FOCUS_RING)
        assert ring or what.startswith("BODY"), f"no focus ring on {what}"
        if here.startswith(name):
            return
        passed.append(here[:30])
    raise AssertionError(f"{name} is not reached by Tab: {passed}")
