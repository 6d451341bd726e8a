"""axe-core finds nothing amiss with what the page shows, in each theme and language: each moment
in one look of the day, in the long suite in all."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.browser import asking
from tests.browser.axe import LOOKS, PHONE, dressed, looks_of, violations
from tests.browser.sight import Look, Sight
from tests.lifecycle.hosting.running import Demo

BUILT = "How this API server was built"


@pytest.fixture(scope="module", autouse=True)
def told(demo: Demo) -> Iterator[None]:
    """A Deployment that runs, a refusal, and now a pod held inside admission."""
    asking.run(demo, "web", 2)
    asking.apply(demo, asking.deployment("mine", 1, "default"), "student")
    stop = {"id": "token", "kind": "plugin", "plugin": "ServiceAccount", "phase": "mutating"}
    asking.control(demo, action="breakpoint", set=[stop])
    waiting = demo.connect()
    body = asking.pod("held").encode()
    waiting.request("POST", f"{asking.CLUSTER}/apply", body, demo.credential)
    asking.until(lambda: asking.state(demo)["held"])
    yield
    waiting.close()


def test_nothing_is_amiss_in_any_state_theme_or_language(look: Look) -> None:
    sight = look((1280, 800), query="theme=light&lang=en", expects="status of 4")
    wrong: list[str] = []
    for moment, go in MOMENTS.items():
        go(sight)
        for dress in looks_of(moment):
            found = violations(sight, dress)
            wrong += [f"{moment}, {' '.join(dress)}: {one}" for one in found]
        dressed(sight, LOOKS[0])
    assert not wrong, "\n".join(["", *wrong])


def test_nothing_is_amiss_on_a_phone(look: Look) -> None:
    wrong: list[str] = []
    sight = look(PHONE, query="theme=light&lang=en", has_touch=True)
    for moment in ("held", "gate", "search", "refused", "at rest", "object", "editor"):
        MOMENTS[moment](sight)
        wrong += [f"{moment}: {violation}" for violation in violations(sight, LOOKS[0])]
    assert not wrong, "\n".join(["", *wrong])


def alone(go: Callable[[Sight], None]) -> Callable[[Sight], None]:
    """With nothing open that was opened before."""

    def leave(sight: Sight) -> None:
        for _ in range(3):
            sight.press("Escape")
        expect(sight.page.get_by_role("dialog")).to_have_count(0)
        go(sight)

    return leave


def gate(sight: Sight) -> None:
    expect(sight.held).to_be_visible()
    sight.gate("mutating").get_by_role("button").first.click()
    expect(sight.page.locator("#inspector [role=tab]").nth(1)).to_be_visible()


def answered(sight: Sight) -> None:
    sight.commands().get_by_role("textbox").fill("kubectl describe pods")
    sight.press("Enter")
    sight.says(sight.page.locator(".answers .run").first, "stands in the tab Objects")


def search(sight: Sight) -> None:
    sight.press("/")
    sight.page.keyboard.type("kind:pod")
    sight.press("Enter")
    expect(sight.page.locator(".find input")).to_have_value("kind:pod")


def back_to(part: str) -> Callable[[Sight], None]:
    return lambda sight: sight.back_to(part)


def chosen(sight: Sight) -> None:
    """A Deployment, chosen in the list of objects."""
    sight.press("l")
    tab = sight.page.get_by_role("tab", name="Objects")
    tab.click()
    sight.page.locator(".tree .row[title='Deployment web']").click()
    expect(sight.page.locator(".kindboard")).to_be_visible()


def pressed(name: str) -> Callable[[Sight], None]:
    return lambda sight: sight.button(name).click()


def opened(ask: Callable[[Sight], None]) -> Callable[[Sight], None]:
    """A dialog, which is there once it is loaded."""

    def go(sight: Sight) -> None:
        ask(sight)
        expect(sight.page.get_by_role("dialog")).to_be_visible()

    return alone(go)


def forked(sight: Sight) -> None:
    sight.press("Shift+ArrowLeft", "f")
    sight.says(sight.page.locator(".banner"), "Your fork of demo")


# in this order, each from where the one before ended
MOMENTS: dict[str, Callable[[Sight], None]] = {
    "held": lambda sight: expect(sight.held).to_be_visible(),
    "gate": gate,
    "its second tab": lambda sight: sight.page.locator("#inspector [role=tab]").nth(1).click(),
    "answers": answered,
    "help": opened(lambda sight: sight.press("?")),
    "begin": opened(lambda sight: sight.page.locator(".brand").click()),
    "built": opened(pressed(BUILT)),
    "recordings": opened(pressed("Recordings")),
    "breakpoints": opened(pressed("1 breakpoint")),
    "search": alone(search),
    "refused": alone(back_to(".gate.is-deny")),
    "decision": back_to(".board table"),
    "at rest": back_to(".slim"),
    "object": alone(chosen),
    "its menu": pressed("Change it"),
    "editor": opened(pressed("Editor")),
    "fork": alone(forked),
    "comparison": pressed("Compare with demo"),
}
