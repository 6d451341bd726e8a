"""The page fits its window, can be read and operated, in each size, theme and language.

Each moment is looked at in two sizes and languages of the day, in the long suite in all.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import expect

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, ROOMY, Look, Sight
from tests.lifecycle.hosting.running import Demo
from tests.suite import seeds

SIZES = (ROOMY, (1366, 768), COMPACT)
THEMES = ("light", "dark", "projector")
LANGUAGES = ("en", "zh")
LOOKS = [(language, size) for language in LANGUAGES for size in SIZES]
LOOKS_DRAWN = 2  # of each moment in a theme; `make test-long` sees all of them
ACTIVE = {"button", "link", "textbox", "combobox", "slider", "tab", "checkbox", "option"}


@pytest.fixture(scope="module", autouse=True)
def told(demo: Demo) -> Iterator[None]:
    """A rollout, a refusal, and now a pod held inside admission."""
    asking.run(demo, "nginx")
    asking.apply(demo, asking.deployment("mine", 1, "default"), "student")
    stop = {"id": "token", "kind": "plugin", "plugin": "ServiceAccount", "phase": "mutating"}
    asking.control(demo, action="breakpoint", set=[stop])
    waiting = demo.connect()
    body = asking.pod("held").encode()
    waiting.request("POST", f"{asking.CLUSTER}/apply", body, demo.credential)
    asking.until(lambda: asking.state(demo)["held"])
    yield
    waiting.close()


@pytest.mark.parametrize("theme", THEMES)
def test_nothing_overlaps_is_cut_or_hard_to_read(look: Look, theme: str) -> None:
    wrong: list[str] = []
    sight = look(query=f"theme={theme}&lang=en")
    for moment, go in MOMENTS.items():
        go(sight)
        for language, (width, height) in seeds.draw(f"layout {theme} {moment}", LOOKS, LOOKS_DRAWN):
            speak(sight, language)
            sight.page.set_viewport_size({"width": width, "height": height})
            sight.settle()
            for measure in (measures.LAYOUT, measures.CONTRAST):
                found = sight.page.evaluate(measure)
                wrong += [f"{language} {width}x{height}, {moment}: {one}" for one in found]
        speak(sight, "en")
        sight.page.set_viewport_size({"width": COMPACT[0], "height": COMPACT[1]})
    assert not wrong, "\n".join(["", *wrong])


@pytest.mark.parametrize("size", SIZES)
def test_what_can_be_pressed_is_not_too_small(look: Look, size: tuple[int, int]) -> None:
    sight = look(size)
    for moment in ("held", "refused", "at rest"):
        MOMENTS[moment](sight)
        assert sight.page.evaluate(measures.TARGETS) == [], moment


def speak(sight: Sight, language: str) -> None:
    before = sight.page.evaluate("document.documentElement.lang")
    if before.startswith(language):
        return
    button = sight.page.locator(
        "#bar button[aria-label*='中文'], #bar button[aria-label*='English']"
    )
    button.dispatch_event("click")
    sight.until("([before]) => document.documentElement.lang !== before", before)


def helped(sight: Sight) -> None:
    sight.press("?")
    expect(sight.page.get_by_role("dialog")).to_be_visible()  # it is loaded first


# in this order, each from where the one before ended
MOMENTS: dict[str, Callable[[Sight], None]] = {
    "held": lambda sight: expect(sight.held).to_be_visible(),
    "refused": lambda sight: sight.back_to(".gate.is-deny"),
    "at rest": lambda sight: sight.back_to(".slim"),
    "decision": lambda sight: sight.back_to(".board table"),
    "gates": lambda sight: sight.page.locator("#api h2 button").click(),
    "live": lambda sight: sight.press("l"),
    "objects": lambda sight: sight.page.locator(".bench [role=tab]").last.click(),
    "help": helped,
}


@pytest.mark.parametrize("size", [ROOMY, COMPACT])
def test_the_keyboard_is_seen_and_everything_has_a_name(look: Look, size: tuple[int, int]) -> None:
    sight = look(size)
    sight.press("ArrowLeft")

    unnamed = [
        line
        for line in sight.page.locator("body").aria_snapshot().splitlines()
        if (found := re.match(r"\s*- (\w+)(.*)", line))
        and found[1] in ACTIVE
        and '"' not in found[2]
        and "/" not in found[2]
    ]
    assert not unnamed
    seen = set()
    for _ in range(120):
        sight.press("Tab")
        what, ring = sight.page.evaluate(measures.FOCUS_RING)
        if what.startswith("BODY"):
            break
        assert ring, f"no focus ring on {what}"
        seen.add(what)
    assert len(seen) > 25


def test_each_step_is_announced_in_the_headlines_words(look: Look) -> None:
    sight = look()
    told = sight.page.get_by_role("status").last
    expect(told).to_have_attribute("aria-live", "polite")
    said = set()
    for _ in range(20):  # steps of a pull have one headline
        sight.press("ArrowLeft")
        sight.settle()
        headline = sight.headline.inner_text().replace("\n", " ")
        expect(told).to_contain_text(headline.split(".")[0])
        said.add(headline)
    assert len(said) > 2


def test_reduced_motion_moves_nothing(look: Look) -> None:
    sight = look(reduced_motion="reduce")
    sight.page.evaluate(
        """() => {
          window.moved = 0;
          const see = () => {
            const long = (a) => a.effect.getTiming().duration > 1;
            window.moved += document.getAnimations().filter(long).length;
            requestAnimationFrame(see);
          };
          see();
        }"""
    )
    sight.press(*["ArrowLeft"] * 4, *["Shift+ArrowLeft"] * 4, *["ArrowRight"] * 4)
    sight.settle()
    assert sight.page.evaluate("window.moved") == 0
