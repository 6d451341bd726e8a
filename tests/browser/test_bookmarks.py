"""Bookmarks: titled pennants on the time axis, kept with the cluster and with its recording."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, Look, Sight
from tests.lifecycle.hosting.running import Demo

BOOKMARKS = "/viz/v1/clusters/demo/bookmarks"


@pytest.fixture(scope="module", autouse=True)
def marked(demo: Demo) -> None:
    """A pod's life with one bookmark; the cluster stands still behind it."""
    asking.run(demo, "web", 1)
    asking.control(demo, action="pause")


@pytest.fixture(autouse=True)
def fresh(demo: Demo) -> None:
    put(demo, [])


def test_a_moment_gets_a_title_by_keyboard_and_is_there_for_others(look: Look, demo: Demo) -> None:
    sight = look(COMPACT)
    sight.press("Shift+ArrowLeft", "m")
    title = sight.page.get_by_role("textbox", name="Bookmark")
    expect(title).to_be_focused()
    sight.page.keyboard.type("The pod is ready")
    sight.press("Enter")

    expect(pennants(sight)).to_have_text("The pod is ready")
    expect(pennants(sight)).to_have_attribute("aria-current", "true")
    expect(sight.page.locator(".plot .pole")).to_have_count(1)
    sight.settle()
    assert sight.page.evaluate(measures.LAYOUT) == []
    asking.until(lambda: [one["title"] for one in kept(demo)] == ["The pod is ready"])
    expect(pennants(look())).to_have_text("The pod is ready")


def test_a_pennant_leads_to_its_moment_where_it_is_renamed_and_removed(
    look: Look, demo: Demo
) -> None:
    seq = next(record for record in asking.records(demo) if record["kind"] == "schedule")["seq"]
    put(demo, [{"seq": seq, "t": moment(demo, seq), "title": "before"}])
    sight = look()
    sight.press("0")
    pennants(sight).click()
    expect(sight.page.get_by_role("slider")).to_have_attribute("aria-valuenow", str(seq))
    sight.page.get_by_role("textbox", name="Bookmark").fill("after")
    sight.button("Done").click()
    expect(pennants(sight)).to_have_text("after")
    asking.until(lambda: kept(demo)[0]["title"] == "after")
    pennants(sight).click()
    sight.button("Remove").click()
    expect(pennants(sight)).to_have_count(0)
    asking.until(lambda: kept(demo) == [])


def test_bookmarks_survive_the_library_and_the_file_and_are_changed_there(
    look: Look, demo: Demo, tmp_path: Path
) -> None:
    seq = next(record for record in asking.records(demo) if record["kind"] == "kubelet")["seq"]
    put(demo, [{"seq": seq, "t": moment(demo, seq), "title": "the kubelet begins"}])
    sight = look()
    sight.button("Recordings").click()
    dialog = sight.page.get_by_role("dialog", name="Recordings")
    dialog.get_by_role("textbox", name="Name").fill("lesson")
    sight.button("Save this one").click()
    row = dialog.get_by_role("listitem").filter(has_text="lesson")
    row.get_by_role("button", name="Open").click()
    sight.says(sight.moment, "recording")
    sight.press("0")
    pennants(sight).click()
    sight.page.get_by_role("textbox", name="Bookmark").fill("now the kubelet")
    sight.press("Enter")
    expect(pennants(sight)).to_have_text("now the kubelet")
    asking.until(lambda: header(demo, "lesson")["bookmarks"][0]["title"] == "now the kubelet")
    assert kept(demo)[0]["title"] == "the kubelet begins", "the cluster has its own"

    file = tmp_path / "from-a-colleague.jsonl.gz"
    file.write_bytes(demo.get("/viz/v1/traces/lesson").read())
    assert demo.ask("DELETE", "/viz/v1/traces/lesson", b"").status == 204
    sight.button("Recordings").click()
    dialog.locator("input[type=file]").set_input_files(file)
    expect(dialog).to_have_count(0)  # what is open behind it is a recording, too
    sight.says(sight.moment, "recording")
    sight.press("0")
    expect(pennants(sight)).to_have_text("now the kubelet")


def test_who_only_watches_sees_them_and_changes_none(chromium: Browser, demo: Demo) -> None:
    seq = asking.state(demo)["seq"]
    put(demo, [{"seq": seq, "t": moment(demo, seq), "title": "look here"}])
    sight = Sight(chromium, demo.endpoints["viewer_page"])
    sight.press("0")
    pennants(sight).click()
    expect(sight.page.get_by_role("textbox", name="Bookmark")).to_have_count(0)
    expect(sight.button("Bookmark this moment")).to_have_count(0)
    sight.close()


def test_a_fork_has_the_bookmarks_of_before_its_moment_and_its_own(look: Look, demo: Demo) -> None:
    last = {record["kind"]: record["seq"] for record in asking.records(demo)}
    bound, ready = last["schedule"], last["kubelet"]
    put(demo, [{"seq": bound, "t": moment(demo, bound), "title": "it is scheduled"}])
    sight = look(query=f"h={ready}&theme=light&lang=en")
    sight.press("f")
    sight.says(sight.page.locator(".banner"), "Your fork of demo")
    sight.press("0")
    expect(pennants(sight)).to_have_text("it is scheduled")

    sight.press("m")
    sight.page.get_by_role("textbox", name="Bookmark").fill("here it parts")
    sight.press("Enter")

    expect(pennants(sight)).to_have_text(["it is scheduled", "here it parts"])
    sight.button("Back to demo").click()
    sight.press("0")
    expect(pennants(sight)).to_have_text(["it is scheduled"])


def pennants(sight: Sight) -> Locator:
    return sight.page.get_by_role("list", name="Bookmarks").get_by_role("button")


def kept(demo: Demo) -> list[dict[str, Any]]:
    return list(json.loads(demo.get(BOOKMARKS).read())["bookmarks"])


def put(demo: Demo, bookmarks: list[dict[str, Any]]) -> None:
    body = json.dumps({"bookmarks": bookmarks}).encode()
    assert demo.ask("PUT", BOOKMARKS, body, Content_Type="application/json").status == 200


def moment(demo: Demo, seq: int) -> int:
    return int(asking.records(demo, seq)[0]["t"])


def header(demo: Demo, trace: str) -> dict[str, Any]:
    packed = demo.get(f"/viz/v1/traces/{trace}").read()
    return dict(json.loads(gzip.decompress(packed).splitlines()[0]))
