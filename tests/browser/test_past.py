"""Going back: by key, by drag and by the tape, to the objects as they were, and live again."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser import asking
from tests.browser.sight import COMPACT, ROOMY, Look, Sight
from tests.lifecycle.hosting.running import Demo


@pytest.fixture(scope="module", autouse=True)
def nginx(demo: Demo) -> None:
    """Three pods ran; since then the cluster stands still."""
    asking.run(demo, "nginx")
    asking.control(demo, action="pause")


@pytest.mark.parametrize("size", [ROOMY, COMPACT])
def test_back_by_key_shows_the_revision_and_what_is_dotted(
    look: Look, demo: Demo, size: tuple[int, int]
) -> None:
    sight = look(size)
    live = asking.state(demo)["revision"]
    sight.says(sight.moment, "paused")

    sight.press("ArrowLeft", *["Shift+ArrowLeft"] * 3)
    sight.settle()

    banner = banner_of(sight)
    sight.says(banner, re.compile(rf"Revision \d+ .*ive is {live}"))
    shown = revision_of(banner)
    assert shown < live
    sight.says(sight.moment, "in the past")
    ghost = sight.page.locator(".tape .cell.ghost")
    expect(ghost.first).to_be_visible()
    assert ghost.first.evaluate("(e) => getComputedStyle(e).borderTopStyle") == "dotted"
    assert int(re.findall(r"\d+", ghost.first.inner_text())[0]) > shown
    expect(sight.page.locator(".timeline rect.future")).to_be_visible()
    expect(sight.page.locator(".timeline .headtext")).to_have_text(f"r{shown}")

    sight.button("Go live").click()
    expect(banner).to_have_count(0)
    sight.says(sight.moment, "paused")


def test_the_tape_shows_the_objects_as_they_were(look: Look, demo: Demo) -> None:
    sight = look()
    writes = [r for r in asking.records(demo) if r["kind"] == "write"]
    pods = [r for r in writes if r["resource"] == "pods" and r["namespace"] == "default"]
    bound = [r for r in pods if r["object"]["spec"].get("nodeName")]
    first = bound[0]
    expect(sight.page.locator(".tree .row[title^='Pod ']")).to_have_count(3)

    choose(sight, first["rev"])
    row = sight.page.locator(f".tree .row[title='Pod {first['name']}']")
    sight.says(row, f"{first['object']['spec']['nodeName']} · r{first['rev']}")
    shown = sight.page.locator(".tree .row[title^='Pod ']").all_inner_texts()
    made = {r["name"] for r in pods if r["rev"] <= first["rev"]}
    assert len(shown) == len(made)
    assert len([one for one in shown if "node-" not in one]) == len(made) - 1
    sight.says(sight.page.locator(".tree .row[title='Deployment nginx']"), "0 / 3")
    choose(sight, pods[0]["rev"])
    expect(sight.page.locator(".tree .row[title^='Pod ']")).to_have_count(1)
    assert "node-" not in sight.page.locator(".tree .row[title^='Pod ']").inner_text()
    sight.press("l")
    expect(banner_of(sight)).to_have_count(0)
    sight.says(sight.page.locator(".tree .row[title='Deployment nginx']"), "3 / 3")


def test_the_head_of_the_timeline_can_be_dragged(look: Look) -> None:
    sight = look()
    box = sight.page.get_by_role("slider").bounding_box()
    assert box
    mouse, y = sight.page.mouse, box["y"] + box["height"] - 4
    mouse.move(box["x"] + box["width"] * 0.9, y)
    mouse.down()
    mouse.move(box["x"] + box["width"] * 0.5, y, steps=5)
    sight.settle()
    half = revision_of(banner_of(sight))
    mouse.move(box["x"] + 2, y, steps=5)
    mouse.up()
    sight.settle()

    assert revision_of(banner_of(sight)) < half
    sight.press("Escape")
    expect(banner_of(sight)).to_have_count(0)


def choose(sight: Sight, revision: int) -> None:
    """Go back request by request until the tape has the revision, then choose it."""
    cell = sight.page.locator(".tape").get_by_role("button", name=re.compile(rf"^{revision}\b"))
    for _ in range(60):
        if cell.count():
            break
        sight.press("Shift+ArrowLeft")
        sight.settle()
    cell.click()
    sight.says(banner_of(sight), f"Revision {revision} ")


def banner_of(sight: Sight) -> Locator:
    return sight.page.locator(".banner")


def revision_of(banner: Locator) -> int:
    found = re.search(r"Revision (\d+)", banner.inner_text())
    assert found
    return int(found[1])
