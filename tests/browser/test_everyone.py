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

LARGE = (2560, 1440)
PHONE = (390, 844)
TABS_MAX = 120
# the key that brings a cell nearer, '' once it is in view
WAY = """(cell) => {
  const { left, right, top, bottom } = cell.getBoundingClientRect();
  for (let over = cell.parentElement; over; over = over.parentElement) {
    const { overflowX, overflowY, display } = getComputedStyle(over);
    const isAll = over === document.documentElement;
    if (display === 'contents' || over === document.body) continue;
    const room = isAll ? new DOMRect(0, 0, innerWidth, innerHeight) : over.getBoundingClientRect();
    if ((isAll || overflowY !== 'visible') && bottom > room.bottom + 1) return 'ArrowDown';
    if ((isAll || overflowX !== 'visible') && right > room.right + 1) return 'ArrowRight';
  }
  return '';
}"""
HOLDS_LAST = """() => document.activeElement !== document.body
  && document.activeElement.contains([...document.querySelectorAll('table')].at(-1))"""


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
    trace = imported(demo, session, tmp_path)
    scored = next(
        record["seq"]
        for record in records
        if (record["kind"], record.get("phase")) == ("schedule", "select")
    )
    for size in (PHONE, COMPACT, ROOMY):
        sight = look(size, query=f"theme=light&lang=en&trace={trace}&h={scored}")
        expect(sight.page.locator(".board .scores").last).to_be_visible()
        expect(sight.page.locator(".board")).to_contain_text("Total")
        assert_laid_out(sight)
        assert sight.page.evaluate(measures.CELLS) == [], size


@pytest.mark.parametrize(
    ("story", "query"),
    [
        ("preemption", "h={preempt}"),
        ("scheduling", "h={select}"),
        ("namespace", "h={last}&sel=object/namespaces//default"),
        ("jobs", "h={last}&sel=object/jobs.batch/default/broken"),
    ],
)
def test_every_cell_of_a_table_is_reached_by_the_keyboard(
    look: Look, demo: Demo, tmp_path: Path, story: str, query: str
) -> None:
    session = Session(default_inputs(seed=7))
    recorded.STORIES[story](session)
    trace = imported(demo, session, tmp_path)
    records = session.records()
    at = {record.get("phase"): record["seq"] for record in records if record["kind"] == "schedule"}
    at["last"] = records[-1]["seq"]
    for size in (PHONE, COMPACT):
        sight = look(size, query=f"theme=light&lang=en&trace={trace}&{query.format_map(at)}")
        table = sight.page.locator("table").last
        expect(table).to_be_visible()
        assert_laid_out(sight)
        assert sight.page.evaluate(measures.CELLS) == [], size
        until_last_cell_is_seen(sight)


def until_last_cell_is_seen(sight: Sight) -> None:
    """Tab to what holds the last table, if that is more than there is room for, and go there."""
    last = sight.page.locator("table :is(td, th)").last
    if not last.evaluate(WAY):
        return
    for _ in range(TABS_MAX):
        sight.press("Tab")
        if sight.page.evaluate(HOLDS_LAST):
            break
    else:
        raise AssertionError("what holds the table does not take the focus")
    for _ in range(TABS_MAX):
        if not (key := last.evaluate(WAY)):
            return
        sight.press(key)
        sight.settle()
    raise AssertionError("the last cell is never seen")


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


def imported(demo: Demo, session: Session, folder: Path) -> str:
    """The name of a run among the recordings of a demo."""
    archive.write_file(file := folder / "run.jsonl.gz", session.header(), session.records())
    answer = demo.ask("POST", "/viz/v1/traces/import", file.read_bytes())
    return str(json.loads(answer.read())["id"])


def assert_laid_out(sight: Sight) -> None:
    sight.settle()
    assert sight.page.evaluate(measures.LAYOUT) == []
