"""What one can begin with opens at any time, and what was told ends with what can follow."""

from __future__ import annotations

import json
import re

from playwright.sync_api import Locator, expect

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, Look, Sight
from tests.lifecycle.hosting.running import Demo

LOST = "WebSocket connection|status of 50[0-9]"
STUDENT = "Why does a student get 403?"


def test_a_question_is_ticked_once_it_was_asked_and_runs_again(look: Look) -> None:
    sight = look(COMPACT)
    question = begin(sight).get_by_role("button", name=STUDENT)
    expect(question.get_by_role("img", name="asked before")).to_have_count(0)
    assert_laid_out(sight)

    refused = sight.page.get_by_role("log").get_by_text("Error from server (Forbidden)")
    for times in (1, 2):
        question.click()
        expect(refused).to_have_count(times)
        sight.says(sight.page.locator(".banner"), "Told to its end.")
        begin(sight)
        expect(question.get_by_role("img", name="asked before")).to_be_visible()
    assert_laid_out(sight)
    sight.press("Escape")
    expect(sight.page.get_by_role("dialog")).to_have_count(0)


def test_a_question_runs_though_the_cluster_is_held_by_the_one_before(look: Look) -> None:
    sight = look()
    begin(sight).get_by_role("button", name="Who put a token").click()
    expect(sight.held).to_be_visible()

    begin(sight).get_by_role("button", name="Why this node").click()

    sight.says(sight.page.locator(".banner"), "Which node?")
    sight.says(sight.moment, "paused at a breakpoint")


def test_in_chinese_by_keyboard(look: Look) -> None:
    sight = look(COMPACT, query="theme=dark&lang=zh")
    sight.button("开始").focus()
    sight.press("Enter")

    sight.says(sight.page.get_by_role("dialog"), "学生为什么得到 403？")
    assert_laid_out(sight)


def test_what_there_is_stands_by_theme_with_how_long_it_takes(look: Look) -> None:
    panel = begin(look(COMPACT))

    for theme in ("The way of a request", "A place for a pod", "When it goes wrong"):
        expect(panel.get_by_role("heading", name=theme)).to_be_visible()
    expect(panel.get_by_role("button", name="What is a crash loop?")).to_contain_text("about 20 s")
    expect(panel.get_by_role("button", name="Run it")).to_contain_text("about 35 s")


def test_one_guesses_on_the_picture_before_the_scores_and_is_told(look: Look) -> None:
    sight = look(COMPACT)
    begin(sight).get_by_role("button", name="Why this node").click()

    banner = sight.page.locator(".banner")
    sight.says(banner, "Which node?")
    guesses = sight.page.get_by_role("button", name=re.compile("^I say node-"))
    expect(guesses).to_have_count(2)
    expect(sight.page.locator(".node.out")).to_contain_text("dedicated=gpu")
    expect(sight.page.locator(".board tfoot")).to_have_count(0)
    assert_laid_out(sight)
    guess = guesses.first.inner_text().removeprefix("I say ")
    guesses.first.focus()
    sight.press("Enter")

    won = sight.page.locator(".node.won h2")
    expect(won).to_be_visible()
    node = won.inner_text()
    said = f"Right: {node}." if node == guess else f"You said {guess}. It is {node}."
    sight.says(banner, said)
    total = sight.page.locator(".board tfoot .lead").inner_text().split()[-1]
    sight.says(banner, f"{total} points")
    assert_laid_out(sight)
    banner.get_by_role("button", name="Go on").click()
    sight.says(banner, "Told to its end.")
    expect(sight.button("0 breakpoints")).to_be_visible()


def test_what_was_told_ends_with_again_a_change_and_the_next(look: Look) -> None:
    sight = look(COMPACT)
    begin(sight).get_by_role("button", name="Why does my pod stay Pending?").click()
    banner = sight.page.locator(".banner")
    sight.says(banner, "Told to its end.")
    assert_laid_out(sight)

    banner.get_by_role("button", name="Again").click()
    log = sight.page.get_by_role("log")
    expect(log.get_by_text("pod/big created")).to_have_count(2)
    sight.says(banner, "Told to its end.")
    assert_laid_out(sight)
    banner.get_by_role("button", name="Change one thing").click()

    text = sight.page.get_by_role("textbox", name="YAML")
    expect(text).to_be_focused()
    picked = "t => t.value.slice(t.selectionStart, t.selectionEnd)"
    assert text.evaluate(picked) == 'cpu: "64"'
    sight.page.keyboard.type('cpu: "1"')
    sight.press("Control+Enter")
    sight.says(log, "pod/big-2 created")
    expect(banner).not_to_contain_text("Told to its end.")


def test_start_over_asks_once_and_empties_the_cluster_for_all(look: Look, demo: Demo) -> None:
    asking.run(demo, "before", 1)
    driver, other = look(COMPACT, expects=LOST), look(expects=LOST)
    shown = other.page.get_by_title("Deployment before")
    expect(shown).to_be_visible()

    panel = begin(driver)
    panel.get_by_role("button", name="Start over with an empty cluster").click()
    expect(panel).to_contain_text("All objects go")
    assert_laid_out(driver)
    assert "before" in asking.objects(demo, "deployments")
    panel.get_by_role("button", name="Start over", exact=True).click()

    for sight in (driver, other):
        expect(sight.headline).to_have_text("The cluster is running. It waits for you.")
        sight.says(sight.moment, "live")
    expect(shown).to_have_count(0)
    assert asking.objects(demo, "deployments") == {}
    begin(driver).get_by_role("button", name="Run it").click()
    driver.says(driver.page.get_by_role("log"), "deployment.apps/nginx created")
    assert "nginx" in asking.objects(demo, "deployments")


def begin(sight: Sight) -> Locator:
    """The panel, opened by the mark."""
    sight.button(re.compile("^Begin")).click()
    return sight.page.get_by_role("dialog", name="Begin")


def assert_laid_out(sight: Sight) -> None:
    sight.settle()
    wrong = sight.page.evaluate(measures.LAYOUT)
    assert wrong == [], json.dumps(wrong)
