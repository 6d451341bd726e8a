"""Large windows, large text, many nodes, arrows in a menu, and a pointer that drags."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect

from lifecycle.hosting.scripted import Session, default_inputs
from lifecycle.trace import archive
from tests.browser import asking, measures
from tests.browser.sight import COMPACT, ROOMY, Look, Sight
from tests.js import recorded
from tests.lifecycle.hosting.running import Demo

DEMO = ("--speed", "max")
LARGE = (2560, 1440)


@pytest.fixture(scope="module", autouse=True)
def told(demo: Demo) -> None:
    asking.run(demo, "web")


def test_a_large_window_shows_more_and_nothing_lies_on_another(look: Look) -> None:
    sight = look(LARGE)
    assert_laid_out(sight)
    shown = sight.page.locator(".tree .row").count()
    for part in (".map[data-focus=scheduler]", ".map[data-focus=api]"):
        sight.back_to(part)
        assert_laid_out(sight)
    assert shown > 3


def test_text_half_as_large_again_leaves_the_window_whole(look: Look) -> None:
    sight = look(COMPACT)
    wire = sight.context.new_cdp_session(sight.page)
    wire.send("Page.setFontSizes", {"fontSizes": {"standard": 24}})
    sight.page.evaluate("dispatchEvent(new Event('resize'))")
    sight.until("() => parseFloat(getComputedStyle(document.documentElement).fontSize) > 20")
    assert_laid_out(sight)
    sight.back_to(".map[data-focus=api]")
    assert_laid_out(sight)


@pytest.mark.parametrize("nodes", [6, 60])
def test_scores_are_readable_with_many_nodes(
    look: Look, demo: Demo, tmp_path: Path, nodes: int
) -> None:
    session = Session(default_inputs(seed=7, nodes=nodes))
    recorded.full(session)
    records = session.records()
    archive.write_file(file := tmp_path / "many.jsonl.gz", session.header(), records)
    answer = demo.ask("POST", "/viz/v1/traces/import", file.read_bytes())
    trace = json.loads(answer.read())["id"]
    scored = next(
        one["seq"] for one in records if (one["kind"], one.get("phase")) == ("schedule", "select")
    )
    for size in (COMPACT, ROOMY):
        sight = look(size, query=f"theme=light&lang=en&trace={trace}&h={scored}")
        expect(sight.page.locator(".board .scores").last).to_be_visible()
        expect(sight.page.locator(".board")).to_contain_text("Total")
        assert_laid_out(sight)


def test_arrows_go_through_a_menu_and_escape_leaves_it(look: Look) -> None:
    sight = look(COMPACT)
    sight.button("Theme").focus()
    sight.press("Enter")
    expect(sight.page.locator("#bar .item").first).to_be_visible()
    focused = sight.page.locator(":focus")
    sight.press("ArrowDown")
    sight.says(focused, "Light")
    sight.press("ArrowDown")
    sight.says(focused, "Dark")
    sight.press("ArrowUp", "ArrowUp")
    sight.says(focused, "Projector")
    sight.press("Escape")
    expect(sight.button("Theme")).to_be_focused()


def test_dragging_over_the_picture_selects_no_text(look: Look) -> None:
    sight = look()
    for part in ("#map", "#timeline .plot", "#bar"):
        box = sight.page.locator(part).bounding_box()
        assert box
        sight.page.mouse.move(box["x"] + 30, box["y"] + 20)
        sight.page.mouse.down()
        sight.page.mouse.move(box["x"] + box["width"] - 20, box["y"] + box["height"] - 8, steps=5)
        sight.page.mouse.up()
        assert sight.page.evaluate("String(getSelection())") == "", part


def assert_laid_out(sight: Sight) -> None:
    sight.settle()
    assert sight.page.evaluate(measures.LAYOUT) == []
