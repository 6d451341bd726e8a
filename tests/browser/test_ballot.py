"""A class says which node it will be, each on a page of its own; who drives sees how many say
which, and all see what it is."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Locator, expect

from tests.browser.sight import COMPACT, Look, Sight
from tests.lifecycle.hosting.running import Demo

SPEED = 1
PHONE = (390, 844)
GUESS = re.compile("^I say node-")


def test_each_page_answers_once_and_all_see_which_it_is_and_why(
    look: Look, demo: Demo, chromium: Browser
) -> None:
    driver = look(COMPACT)
    link = demo.endpoints["viewer_page"]
    pupils = [
        Sight(chromium, link, size, expects="WebSocket|status of 404") for size in (PHONE, COMPACT)
    ]
    driver.button(re.compile("^Begin")).click()
    panel = driver.page.get_by_role("dialog", name="Begin")
    panel.get_by_role("button", name="Why this node").click()
    driver.says(banner(driver), "Which node?")

    first, second = pupils
    for pupil in pupils:
        pupil.says(banner(pupil), "Which node?")
        expect(banner(pupil).get_by_role("button")).to_have_count(0)
        expect(pupil.page.get_by_role("button", name=GUESS)).to_have_count(2)
    one, other = first.page.get_by_role("button", name=GUESS).all()
    names = [guess.inner_text().removeprefix("I say ") for guess in (one, other)]
    one.click()
    first.says(banner(first), f"You said {names[0]}.")
    other.click()  # another thought
    first.says(banner(first), f"You said {names[1]}.")
    expect(other).to_have_attribute("aria-pressed", "true")
    second.page.get_by_role("button", name=f"I say {names[1]}").click()

    driver.says(banner(driver), "2 answers so far.")
    driver.says(card(driver, names[1]), "2 say this one")
    for pupil in pupils:
        expect(pupil.page.locator(".node .polled")).to_have_count(0)  # nobody says what others say
    driver.page.get_by_role("button", name="Just show me").click()

    won = driver.page.locator(".node.won h2")
    expect(won).to_be_visible()
    node = won.inner_text()
    right = 2 if node == names[1] else 0
    driver.says(banner(driver), f"It is {node}.")
    said = f"Right: {node}." if right else f"You said {names[1]}. It is {node}."
    for sight in (driver, *pupils):
        sight.says(banner(sight), f"{right} of 2 said so.")
        sight.says(card(sight, names[1]), "2 say this one")
        sight.says(banner(sight), "points")
    for pupil in pupils:
        pupil.says(banner(pupil), said)
        pupil.close()


def banner(sight: Sight) -> Locator:
    return sight.page.locator(".banner.lesson")


def card(sight: Sight, node: str) -> Locator:
    return sight.page.locator(f"#n-{node}")
