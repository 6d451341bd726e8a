"""One walk without a pointer: Run it, a breakpoint, a fork, a search."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, Look, Sight
from tests.lifecycle.hosting.running import Demo

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


def test_n_and_p_go_from_chapter_to_chapter_and_each_is_spoken(look: Look, demo: Demo) -> None:
    asking.run(demo, "told", 1)
    asking.control(demo, action="pause")
    sight = look(COMPACT)
    spoken = sight.page.get_by_role("status").last
    expect(spoken).to_have_attribute("aria-live", "polite")
    back = [goes(sight, "p")]
    while back[-1] > 1:
        back.append(goes(sight, "p"))
        expect(spoken).to_contain_text(first_sentence(sight))
    assert back == list(range(back[0], 0, -1)) and len(back) > 4

    on = [goes(sight, "n") for _ in back[1:]]

    assert on == list(range(2, back[0] + 1))
    expect(spoken).to_contain_text(first_sentence(sight))
    asking.free(demo, "max")


def test_a_gate_is_spoken_when_it_is_asked_for(look: Look, demo: Demo) -> None:
    asking.run(demo, "gates", 1)
    asking.control(demo, action="pause")
    sight = look(COMPACT)
    sight.back_to(".corridor:not(.slim) .gate.is-allow")
    spoken = sight.page.get_by_role("status").last
    gate = sight.gate("authorization").get_by_role("button").first
    before = first_sentence(sight)
    gate.focus()
    sight.press("Enter")
    expect(sight.headline).not_to_contain_text(before)
    expect(spoken).to_contain_text(first_sentence(sight))
    sight.press("Escape")
    expect(spoken).to_contain_text(before)
    asking.free(demo, "max")


def test_what_comes_soon_after_another_sentence_is_spoken_though_nothing_is_drawn_any_more(
    look: Look, demo: Demo
) -> None:
    asking.control(demo, action="pause")
    sight = look(COMPACT)
    spoken = sight.page.get_by_role("status").last
    sight.says(spoken, first_sentence(sight))  # what it arrived with may be said a moment later
    sight.page.evaluate("window.requestAnimationFrame = () => 0")
    before = spoken.inner_text()
    gate = sight.gate("authorization").get_by_role("button").first
    gate.focus()
    sight.press("Enter", "Shift")
    expect(spoken).not_to_have_text(before)
    sight.press("Escape", "Shift")
    expect(spoken).to_have_text(before)
    asking.free(demo, "max")


def test_after_a_dialog_or_a_menu_the_focus_is_where_it_was(look: Look) -> None:
    sight = look(COMPACT)
    focused = sight.page.locator(":focus")
    dialog = sight.page.get_by_role("dialog")
    for name in ("Recordings", "How this API server was built", "Help", "Editor"):
        opener = sight.button(name)
        opener.focus()
        sight.press("Enter")
        expect(sight.page.locator("[role=dialog]:focus, [role=dialog] :focus")).to_have_count(1)
        sight.press("Escape")
        expect(dialog).to_have_count(0)
        expect(opener).to_be_focused()
    for name, item in (("Theme", "Light"), ("0 breakpoints", ""), ("Cluster demo", "demo")):
        opener = sight.button(name)
        opener.focus()
        sight.press("Enter", "ArrowDown")
        sight.says(focused, item)
        sight.press("Enter" if item else "Escape")
        expect(dialog).to_have_count(0)
        expect(opener).to_be_focused()


def test_a_key_that_comes_before_the_next_frame_is_for_the_menu_that_opens(look: Look) -> None:
    sight = look(COMPACT)
    sight.page.evaluate("window.requestAnimationFrame = () => 0")
    sight.button("Theme").focus()
    sight.press("Enter", "ArrowDown", "ArrowDown")
    sight.says(sight.page.locator(":focus"), "Dark")


def goes(sight: Sight, key: str) -> int:
    """The number of the chapter that a key leads to, once it is another one."""
    chapter = sight.page.locator(".inspector .chapter")
    before = chapter.inner_text() if chapter.count() else ""
    sight.press(key)
    sight.settle()
    expect(chapter).to_be_visible()
    expect(chapter).not_to_have_text(before)
    return int(chapter.inner_text().split(" ")[0])


def first_sentence(sight: Sight) -> str:
    return sight.headline.inner_text().replace("\n", " ").split(".")[0]


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
