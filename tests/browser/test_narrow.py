"""A phone, and windows at 200 %: one column, in which one still follows and acts."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser import asking, measures
from tests.browser.sight import Look, Sight
from tests.lifecycle.hosting.running import Demo

# the last name stands at the last line of the plot
NAMES_BESIDE_LANES = """() => {
  const line = [...document.querySelectorAll('.plot .laneline')].at(-1).getBoundingClientRect();
  const name = document.querySelector('.timeline .names li:last-child').getBoundingClientRect();
  return Math.abs(line.bottom - name.bottom) < 4;
}"""
PHONE, TWICE, HALF = (390, 844), (640, 360), (960, 540)  # 1280 and 1920 px at 200 %
SMALL = (360, 800)


@pytest.fixture(scope="module", autouse=True)
def told(demo: Demo) -> None:
    asking.run(demo, "web")


@pytest.mark.parametrize("size", [PHONE, TWICE, HALF])
@pytest.mark.parametrize("query", ["theme=light&lang=en", "theme=dark&lang=zh"])
def test_nothing_is_cut_covered_or_too_small_for_a_finger(
    look: Look, size: tuple[int, int], query: str
) -> None:
    sight = look(size, query=query)
    assert_laid_out(sight)
    for part in (".map[data-focus=scheduler]", ".map[data-focus=api]"):
        sight.back_to(part)
        assert_laid_out(sight)


def test_nothing_is_cut_on_the_smallest_phones(look: Look) -> None:
    sight = look(SMALL)
    assert_laid_out(sight)
    sight.back_to(".map[data-focus=api]")
    assert_laid_out(sight)
    expect(sight.button("Help")).to_be_in_viewport(ratio=1)


def test_a_follower_sees_headline_gates_and_controls_at_once(look: Look) -> None:
    sight = look(PHONE)
    sight.back_to(".map[data-focus=api]")

    expect(sight.headline).to_be_in_viewport(ratio=1)
    expect(sight.gate("authentication")).to_be_in_viewport(ratio=1)
    play = sight.button("Go on")
    expect(play).to_be_in_viewport(ratio=1)
    sight.page.mouse.wheel(0, 600)
    expect(sight.headline).to_be_in_viewport(ratio=1)
    expect(play).to_be_in_viewport(ratio=1)


def test_the_field_that_finds_leaves_its_chips_and_lanes_where_they_are_seen(look: Look) -> None:
    sight = look(PHONE)
    sight.press("/")
    sight.page.keyboard.type("kind:pod")
    sight.page.get_by_role("search").scroll_into_view_if_needed()
    close = sight.page.get_by_role("search").get_by_role("button").last
    expect(close).to_be_in_viewport(ratio=1)
    assert sight.until(NAMES_BESIDE_LANES)
    sight.page.evaluate("scrollTo(0, 0)")
    assert_laid_out(sight)
    close.click()
    assert sight.until(NAMES_BESIDE_LANES)


def test_a_manifest_is_sent_and_its_end_is_read_on_a_phone(look: Look) -> None:
    sight = look(PHONE)
    sight.send(asking.deployment("phone", 1))
    sight.says(sight.headline, "1 of 1 pod is ready")
    sight.button("Speed max").click()
    expect(sight.button("×10")).to_be_in_viewport(ratio=1)


def assert_laid_out(sight: Sight) -> None:
    sight.settle()
    wrong = [*sight.page.evaluate(measures.LAYOUT), *sight.page.evaluate(measures.TARGETS)]
    wrong += sight.page.evaluate(measures.CONTRAST)
    assert wrong == [], "\n".join(wrong)
