"""What is left out until it is asked for, and where it is then."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, Look, Sight
from tests.lifecycle.hosting.running import Demo

BUILT = "How this API server was built"


@pytest.fixture(scope="module", autouse=True)
def pod(demo: Demo) -> None:
    asking.run(demo, "web", 1)
    with asking.soon(demo):
        asking.until_recorded(demo, lease)
    asking.control(demo, action="pause")


def test_the_records_are_behind_the_badge_and_what_took_part_is_under_why(
    look: Look, demo: Demo
) -> None:
    sight = look(COMPACT)
    sight.press("Shift+ArrowLeft", "Shift+ArrowLeft")
    inspector = sight.page.get_by_role("complementary")
    for name in ("Raw", "What"):
        expect(inspector.get_by_role("tab", name=name, exact=True)).to_have_count(0)
    sight.says(inspector, "About this step")

    badge = inspector.get_by_role("button", name=re.compile("the records this is read from"))
    badge.click()
    text = inspector.get_by_role("region", name="Raw").locator(".code").first.inner_text()
    shown = json.loads(text)
    (stored,) = [
        record for record in asking.records(demo, shown["seq"]) if record["seq"] == shown["seq"]
    ]
    assert shown["kind"] == stored["kind"] and shown["t"] == stored["t"]
    assert_laid_out(sight)
    badge.click()
    sight.says(inspector, "About this step")


def test_one_door_leads_to_how_the_server_was_built(look: Look) -> None:
    for size in ((1920, 1080), COMPACT):
        sight = look(size)
        expect(sight.button(BUILT)).to_have_count(1)
        sight.press("?")
        dialog = sight.page.get_by_role("dialog")
        expect(dialog).to_be_visible()
        expect(dialog.get_by_role("button", name=BUILT)).to_have_count(0)


def test_leases_are_off_the_tape_until_heartbeats_are_shown(look: Look, demo: Demo) -> None:
    renewed = next(record for record in reversed(asking.records(demo)) if lease(record))
    sight = look(query=f"r={renewed['rev']}")
    expect(cells(sight).first).to_be_visible()
    expect(cells(sight).filter(has_text="leases")).to_have_count(0)
    sight.button("heartbeats").click()
    sight.says(sight.page.locator(".tape .cell.at"), "leases")
    assert_laid_out(sight)


def test_the_kubelets_stops_are_drawn_while_a_pod_starts(look: Look, demo: Demo) -> None:
    sight = look()
    expect(sight.page.locator(".node .kubelet")).to_have_count(0)
    begun = next(
        record
        for record in asking.records(demo)
        if record["kind"] == "kubelet" and record["pod"].startswith("default/")
    )
    sight.page.goto(f"{sight.page.url.split('&r=')[0]}&h={begun['seq']}")
    expect(sight.page.locator(".node :is(.kubelet, .steps)").first).to_be_visible()
    assert_laid_out(sight)


def lease(record: dict[str, object]) -> bool:
    return record["kind"] == "write" and str(record.get("resource", "")).startswith("leases")


def cells(sight: Sight) -> Locator:
    return sight.page.locator(".tape .cell")


def assert_laid_out(sight: Sight) -> None:
    sight.settle()
    wrong = sight.page.evaluate(measures.LAYOUT)
    assert wrong == [], json.dumps(wrong)
