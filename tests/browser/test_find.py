"""One field finds requests, and the map goes where they were decided."""

from __future__ import annotations

import json
import re

from playwright.sync_api import expect

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, Look, Sight
from tests.lifecycle.hosting.running import Demo


def test_a_refusal_is_found_by_keyboard_and_seen_where_it_was_refused(
    look: Look, demo: Demo
) -> None:
    asking.apply(demo, asking.deployment("mine", 1, "default"), "student")
    asking.run(demo, "web", 1)
    sight = look(COMPACT)

    sight.press("/")
    field = sight.page.get_by_role("searchbox", name="Find a request")
    expect(field).to_be_focused()
    sight.page.keyboard.type("code:403 user:student")
    sight.says(sight.headline, "1 request found")
    expect(sight.page.locator(".found li")).to_contain_text("POST Deployment mine")
    sight.press("Enter")

    expect(sight.page.locator("#g-authorization.is-deny")).to_be_visible()
    expect(sight.page.locator(".found [aria-current]")).to_have_count(1)
    assert_laid_out(sight)
    sight.press("Escape")
    sight.says(sight.headline, "Nobody refused this.")
    expect(field).to_have_count(0)


def test_enter_goes_from_hit_to_hit_and_each_is_a_mark_on_the_axis(look: Look, demo: Demo) -> None:
    asking.run(demo, "three", 3)
    sight = look()
    sight.press("/")
    sight.page.keyboard.type("kind:pod verb:create three binding")
    sight.says(sight.page.get_by_role("search"), "3 requests found")
    for place in (3, 1, 2):
        sight.press("Enter")
        sight.says(sight.page.get_by_role("search"), f"{place} of 3")
        expect(sight.page.locator(".plot .hit.here")).to_have_count(1)
    expect(sight.page.locator(".plot .hit")).to_have_count(3)
    assert_laid_out(sight)


def test_what_is_typed_at_once_after_the_key_is_for_the_field(look: Look) -> None:
    sight = look(COMPACT)
    pressed = """() => {
      document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '/', bubbles: true }));
      return document.activeElement.type;
    }"""
    assert sight.page.evaluate(pressed) == "search"


def test_heartbeats_are_marks_once_their_chip_is_pressed(look: Look) -> None:
    sight = look()
    chip = sight.button("heartbeats")
    expect(chip).to_have_attribute("aria-pressed", "false")
    expect(sight.page.locator(".plot .hit")).to_have_count(0)

    sight.press("/")
    chip.click()

    expect(chip).to_have_attribute("aria-pressed", "true")
    hits = sight.page.locator(".found li")
    sight.says(hits.filter(has_text="Lease").first, "Lease")
    heartbeat = re.compile(r"Lease|PATCH Node node-\d\s*status")
    expect(hits.filter(has_not_text=heartbeat)).to_have_count(0)


def test_where_the_pointer_is_on_the_axis_stands_what_was_then(look: Look, demo: Demo) -> None:
    asking.run(demo, "seen", 1)
    sight = look()
    sight.page.locator(".plot").hover(position={"x": 120, "y": 60})
    expect(sight.page.locator(".plot .hover text")).to_have_text(re.compile(r"^\+.* · r\d+ · \w"))
    sight.page.locator("#bar").hover()
    expect(sight.page.locator(".plot .hover")).to_have_count(0)


def assert_laid_out(sight: Sight) -> None:
    sight.settle()
    wrong = sight.page.evaluate(measures.LAYOUT)
    assert wrong == [], json.dumps(wrong)
