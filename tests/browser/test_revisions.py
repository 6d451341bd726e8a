"""Any two revisions of an object stand beside each other, without what every write changes."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, ROOMY, Look, Sight
from tests.lifecycle.hosting.running import Demo

CHOSEN = "sel=object/deployments.apps/default/web"
PHONE = (390, 844)


@pytest.fixture(scope="module")
def revisions(demo: Demo) -> list[int]:
    """Of the Deployment, the oldest first; the cluster stands still behind them."""
    asking.run(demo, "web", 2)
    asking.control(demo, action="pause")
    return [
        record["rev"]
        for record in asking.records(demo)
        if record["kind"] == "write"
        and (record["resource"], record["name"]) == ("deployments.apps", "web")
    ]


def test_any_two_revisions_are_compared_by_keyboard(look: Look, revisions: list[int]) -> None:
    sight = look(COMPACT, query=f"theme=light&lang=en&{CHOSEN}")
    dialog = opened(sight)
    older = dialog.get_by_role("combobox", name="From")
    newer = dialog.get_by_role("combobox", name="To")
    expect(newer.locator("option")).to_have_count(len(revisions))
    head = dialog.get_by_role("columnheader")
    expect(head).to_have_text([f"r{revisions[-2]}", f"r{revisions[-1]}"])

    older.focus()
    sight.press("Home", "Enter")

    expect(head.first).to_have_text(f"r{revisions[0]}")
    rows = dialog.locator("tbody tr").all_inner_texts()
    assert any("deployment.kubernetes.io/revision" in row for row in rows)
    assert not any("resourceVersion" in row or "managedFields" in row for row in rows)
    dialog.get_by_role("button", name="Older revision: To").focus()
    sight.press("Enter")
    expect(head.last).to_have_text(f"r{revisions[-2]}")
    assert_laid_out(sight)

    dialog.get_by_role("checkbox", name=re.compile("resourceVersion")).focus()
    sight.press("Space")

    sight.says(dialog.locator("td del").first, f'resourceVersion: "{revisions[0]}"')
    dialog.get_by_role("button", name="One below the other").focus()
    sight.press("Enter")
    sight.says(dialog.locator(".diff del").first, f'resourceVersion: "{revisions[0]}"')
    assert_laid_out(sight)
    sight.press("Escape")
    expect(dialog).to_have_count(0)
    expect(sight.button("Compare two revisions")).to_be_focused()


def test_what_comes_after_the_cursor_cannot_be_chosen(look: Look, revisions: list[int]) -> None:
    sight = look(ROOMY, query=f"theme=dark&lang=zh&r={revisions[2]}&{CHOSEN}")
    dialog = opened(sight, "比较两个修订")
    expect(dialog.get_by_role("columnheader")).to_have_count(2)
    said = dialog.get_by_role("combobox").last.locator("option").all_inner_texts()
    assert [int(one.split(" ")[0][1:]) for one in said] == revisions[:3]
    assert_laid_out(sight)


def test_on_a_phone_they_stand_one_below_the_other(look: Look, revisions: list[int]) -> None:
    sight = look(PHONE, query=f"theme=projector&lang=en&{CHOSEN}")
    dialog = opened(sight)
    sight.says(dialog.get_by_role("status"), re.compile(r"^\d+ lines? added, \d+ removed$"))
    expect(dialog.get_by_role("table")).to_have_count(0)
    box = dialog.bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= PHONE[0]
    assert sight.page.evaluate(measures.CONTRAST) == []


def opened(sight: Sight, name: str = "Compare two revisions") -> Locator:
    sight.button(name).focus()
    sight.press("Enter")
    return sight.page.get_by_role("dialog")


def assert_laid_out(sight: Sight) -> None:
    sight.settle()
    wrong = [*sight.page.evaluate(measures.LAYOUT), *sight.page.evaluate(measures.CONTRAST)]
    assert wrong == [], json.dumps(wrong)
