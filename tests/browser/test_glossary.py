"""Dotted words say what they mean: to the pointer, to the keyboard, and to a finger."""

from __future__ import annotations

import pytest
from playwright.sync_api import Locator, expect

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, Look, Sight
from tests.lifecycle.hosting.running import Demo

EXEMPT = "The priority level whose requests never wait"


@pytest.fixture(scope="module", autouse=True)
def stored(demo: Demo) -> None:
    assert asking.apply(demo, asking.pod("lone"))[0]["code"] == 201
    asking.until(lambda: asking.objects(demo, "pods")["lone"]["status"].get("phase") == "Running")
    asking.control(demo, action="pause")


def test_the_pointer_and_the_keyboard_open_what_a_word_means(look: Look, demo: Demo) -> None:
    sight = flow_control(look(COMPACT), demo)
    word = sight.page.locator(".dotted", has_text="exempt").first
    word.hover()
    expect(note(sight)).to_contain_text(EXEMPT)
    expect(word).to_have_attribute("aria-describedby", "term-note")
    assert sight.page.evaluate(measures.LAYOUT) == []
    sight.page.locator("#bar").hover()
    expect(note(sight)).to_be_hidden()

    word.focus()
    expect(note(sight)).to_contain_text(EXEMPT)
    assert sight.page.evaluate(measures.FOCUS_RING)[1]
    sight.press("Escape")
    expect(note(sight)).to_be_hidden()
    sight.says(sight.page.locator(".inspector"), "exempt")  # and nothing else was closed


def test_a_word_in_a_headline_says_what_it_means(look: Look, demo: Demo) -> None:
    records = asking.records(demo)
    made = next(
        record["seq"]
        for record in records
        if record["kind"] == "request"
        and record["resource"] == "replicasets.apps"
        and record["verb"] == "create"
    )
    gate = next(
        record["seq"]
        for record in records
        if record["span"] == made and record.get("gate") == "validation"
    )
    for lang, says in (("en", "keeps a number of equal pods"), ("zh", "保持一定数量相同 Pod")):
        query = f"h={gate}&sel=gate/{made}/validation&theme=light&lang={lang}"
        sight = look(COMPACT, query=query)
        word = sight.headline.locator(".dotted")
        word.focus()
        expect(note(sight)).to_contain_text(says)
        assert sight.page.evaluate(measures.LAYOUT) == []


def test_a_finger_opens_it_in_chinese(look: Look, demo: Demo) -> None:
    sight = flow_control(look((390, 844), query="theme=dark&lang=zh", has_touch=True), demo)
    sight.page.locator(".dotted", has_text="exempt").first.tap()
    expect(note(sight)).to_contain_text("请求从不等待的优先级")


def flow_control(sight: Sight, demo: Demo) -> Sight:
    """The explanation of why a request of an administrator did not wait."""
    records = asking.records(demo)
    outside = {record["seq"] for record in records if record.get("outside")}
    gate = next(
        record
        for record in records
        if record["kind"] == "gate"
        and record["gate"] == "flowcontrol"
        and record["detail"].get("priorityLevel") == "exempt"
        and record["span"] in outside
    )
    query = sight.page.url.partition("?")[2]
    where = f"sel=gate/{gate['span']}/flowcontrol"
    sight.page.goto(f"{sight.url}/?{query}&{where}")
    expect(sight.page.locator(".dotted").first).to_be_visible()
    return sight


def note(sight: Sight) -> Locator:
    return sight.page.get_by_role("tooltip", include_hidden=True)
