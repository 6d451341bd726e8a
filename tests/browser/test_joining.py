"""Joining late: the picture first, what came before when somebody looks there."""

from __future__ import annotations

import json
import re
import zlib
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser import asking
from tests.browser.feeds import Feeds
from tests.browser.sight import COMPACT, Look
from tests.lifecycle.hosting.running import Demo

PODS = 40
PATH = "/ws/v1/clusters/demo/trace"


@pytest.fixture(scope="module", autouse=True)
def crowd(demo: Demo) -> None:
    """Pods ran; since then the cluster stands still."""
    asking.run(demo, "nginx", replicas=PODS)
    asking.control(demo, action="pause")


def feed(demo: Demo, query: str, last: int) -> tuple[list[Any], int]:
    """The frames up to a record, and their bytes."""
    socket = demo.feed(f"{PATH}?{query}&encoding=deflate")
    frames: list[Any] = []
    size = 0
    while not frames or frames[-1].get("records", [{"seq": 0}])[-1]["seq"] < last:
        opcode, payload = socket.frame()
        size += len(payload)
        frames.append(json.loads(zlib.decompress(payload) if opcode == 2 else payload))
    socket.close()
    return frames, size


def test_who_joins_gets_the_state_and_the_recent_past_and_nothing_twice(demo: Demo) -> None:
    last = asking.state(demo)["seq"]
    (hello, begin, *rest), size = feed(demo, "keyframe=now", last)
    keyframe = begin["keyframe"]
    assert hello["hello"]["seq"] == last and 0 < last - keyframe["seq"] < 3000
    got = [record["seq"] for frame in rest for record in frame["records"]]
    assert got == list(range(keyframe["seq"] + 1, last + 1))
    writes = [record for record in keyframe["records"] if record["kind"] == "write"]
    pods = [write for write in writes if write["resource"] == "pods"]
    assert len([pod for pod in pods if pod["namespace"] == "default"]) == PODS
    _, whole = feed(demo, "from=1", last)
    assert size < whole / 3


def test_a_part_of_the_past_ends_where_it_was_asked_to(demo: Demo) -> None:
    socket = demo.feed(f"{PATH}?keyframe=3000&to=4000")
    assert "hello" in socket.json()
    keyframe = socket.json()["keyframe"]
    got: list[int] = []
    while not got or got[-1] < 4000:
        got += [record["seq"] for record in socket.json()["records"]]
    assert 2000 < keyframe["seq"] <= 3000 and got == list(range(keyframe["seq"] + 1, 4001))
    socket.close()


def test_a_page_that_joins_shows_all_pods_and_tells_the_story_of_one_from_its_beginning(
    look: Look,
) -> None:
    sight = look()
    inspector = sight.page.locator("#inspector")
    expect(inspector).to_contain_text(f"{PODS} of {PODS} pods are ready")
    inspector.get_by_role("button", name=re.compile("ready · node-")).first.click()
    expect(inspector).to_contain_text("saw it and made a ReplicaSet")
    expect(inspector).to_contain_text("Ready")


def test_a_page_that_goes_left_of_what_it_has_loads_it(look: Look) -> None:
    sight = look()
    plot = sight.page.locator(".timeline .plot")
    expect(plot).not_to_have_attribute("aria-valuemin", "1")
    expect(sight.page.get_by_text("Loading earlier hops")).to_have_count(0)
    sight.press(*"----")  # the whole way of the command
    sight.settle()
    box = plot.bounding_box()
    assert box is not None
    sight.page.mouse.click(box["x"] + 2, box["y"] + box["height"] / 2)
    expect(plot).to_have_attribute("aria-valuemin", "1")
    expect(sight.page.locator("body.is-past")).to_have_count(1)


def test_a_link_far_back_shows_its_moment_before_what_lies_between(look: Look, demo: Demo) -> None:
    web = "deployments.apps", "nginx"
    made = next(
        record
        for record in asking.records(demo)
        if record["kind"] == "write" and (record["resource"], record["name"]) == web
    )
    feeds = Feeds(passing=f"to={made['seq'] + 1000}")
    query = f"theme=light&lang=en&h={made['seq']}"

    sight = look(COMPACT, query=query, before=feeds.route, arrives=False)

    slider, body = sight.page.get_by_role("slider"), sight.page.locator("body")
    sight.says(sight.page.locator(".banner"), f"Revision {made['rev']}")
    newest = asking.state(demo)["revision"]
    sight.says(sight.page.locator(".banner"), f"live is {newest}")
    expect(slider).to_have_attribute("aria-valuenow", str(made["seq"]))
    expect(body).to_have_attribute("aria-busy", "true")
    sight.says(sight.page.locator(".timeline .tools"), "Loading earlier hops")
    sight.press("ArrowRight")
    expect(slider).not_to_have_attribute("aria-valuenow", str(made["seq"]))
    there = str(slider.get_attribute("aria-valuenow"))
    feeds.release()
    expect(body).to_have_attribute("aria-busy", "false")
    expect(slider).to_have_attribute("aria-valuenow", there)
    expect(slider).to_have_attribute("aria-valuemax", str(asking.state(demo)["seq"]))
    sight.press("l")
    sight.says(sight.moment, "paused")
