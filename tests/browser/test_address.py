"""What is looked at stands in the address, and whoever opens that sees the same."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import expect

from tests.browser import asking, measures
from tests.browser.feeds import Feeds
from tests.browser.sight import COMPACT, Look, Sight
from tests.lifecycle.hosting.running import Demo


@pytest.fixture(scope="module", autouse=True)
def pod(demo: Demo) -> str:
    asking.run(demo, "web", 1)
    return next(iter(asking.objects(demo, "pods")))


def test_a_moment_of_the_past_is_seen_by_whoever_gets_the_link(look: Look, pod: str) -> None:
    first = look(COMPACT)
    for _ in range(3):  # hops: three requests back there may be no node yet
        first.press("ArrowLeft")
    first.says(first.moment, "in the past")
    first.page.get_by_role("button", name="node-1", exact=True).first.click()
    expect(first.page).to_have_url(re.compile(r"[?&]r=\d+&h=\d+&sel=node/node-1"))
    first.settle()
    query = first.page.url.partition("?")[2]

    second = look(COMPACT, query=query)

    second.says(second.moment, "in the past")
    second.says(second.page.locator(".banner"), first.page.locator(".banner b").inner_text())
    expect(second.headline).to_have_text(first.headline.inner_text())
    first.press("Escape", "l")
    expect(first.page).not_to_have_url(re.compile(r"[?&](r|h|sel)="))


@pytest.mark.parametrize(("later", "query"), [("more", "r={rev}"), ("many", "r={rev}&h={seq}")])
def test_a_link_leads_there_while_the_newest_command_is_being_fetched(
    look: Look, demo: Demo, later: str, query: str
) -> None:
    made = next(
        record for record in asking.records(demo) if record.get("resource") == "deployments.apps"
    )
    stored = next(
        record for record in asking.records(demo, made["seq"]) if record["kind"] == "write"
    )
    asking.run(demo, later, 8)
    feeds = Feeds()

    leads = f"lang=en&theme=light&{query.format(**stored)}"
    sight = look(COMPACT, query=leads, before=feeds.route, arrives=False)
    live = feeds.live
    while feeds.live < live + 2 or not feeds.held:
        sight.settle()
    expect(sight.page.locator(".banner")).to_have_count(0)
    feeds.release()

    sight.says(sight.moment, "in the past")
    sight.says(sight.page.locator(".banner"), f"Revision {stored['rev']}")


def test_a_revision_and_a_tab_by_hand(look: Look, demo: Demo, pod: str) -> None:
    stored = asking.objects(demo, "deployments")["web"]["metadata"]["resourceVersion"]
    sight = look(COMPACT, query=f"lang=en&theme=dark&r={stored}&sel=pod/default/{pod}&tab=story")

    sight.says(sight.page.locator(".banner"), f"Revision {stored}")
    expect(sight.page.get_by_role("tab", name="Story")).to_have_attribute("aria-selected", "true")
    assert_laid_out(sight)


def test_a_link_to_what_is_not_there_says_what_is(look: Look) -> None:
    sight = look(COMPACT, query="lang=en&theme=light&r=999999")

    banner = sight.page.locator(".banner")
    sight.says(banner, re.compile(r"Revision 999999 of the link is not here: the newest is \d+"))
    assert_laid_out(sight)
    banner.get_by_role("button", name="Close").click()
    expect(banner).to_have_count(0)


def test_a_link_to_what_was_compacted_away_says_what_is_kept_and_leads_there(
    look: Look, demo: Demo
) -> None:
    body = json.dumps({"command": "etcdctl compaction 200"}).encode()
    asked = demo.ask("POST", f"{asking.CLUSTER}/console", body, Content_Type="application/json")
    assert json.loads(asked.read())["exit_code"] == 0
    sight = look(COMPACT, query="lang=en&theme=light&r=50")
    banner = sight.page.locator(".banner")

    sight.says(banner, "Revision 50 of the link is not kept: the oldest here is 200.")
    assert_laid_out(sight)

    banner.get_by_role("button", name="Go to revision 200").click()
    sight.says(banner, "Revision 200 ")
    sight.says(sight.moment, "in the past")


def test_what_is_looked_for_and_which_sorts_are_shown_is_in_the_link(look: Look) -> None:
    first = look(COMPACT)
    first.press("/")
    first.page.keyboard.type("kind:lease")
    first.button("heartbeats").click()
    first.press("Shift+ArrowLeft")
    expect(first.page).to_have_url(re.compile(r"[?&]r=\d+.*&q=kind:lease&show=beat$"))
    first.settle()

    second = look(COMPACT, query=first.page.url.partition("?")[2])

    expect(second.page.get_by_role("searchbox")).to_have_value("kind:lease")
    expect(second.button("heartbeats")).to_have_attribute("aria-pressed", "true")
    expect(second.button("reads")).to_have_attribute("aria-pressed", "false")
    second.says(second.page.locator(".banner"), first.page.locator(".banner b").inner_text())
    expect(second.page.locator(".found button").first).to_be_visible()


def test_back_and_forward_in_the_browser_go_where_one_was(look: Look) -> None:
    sight = look(COMPACT)
    page, chosen = sight.page, re.compile(r"[?&]sel=node/node-1")
    page.get_by_role("button", name="node-1", exact=True).first.click()
    expect(page).to_have_url(chosen)
    told = sight.headline.inner_text()
    sight.press("Escape")
    expect(page).not_to_have_url(chosen)
    for _ in range(4):  # one entry, however far one steps
        sight.press("ArrowLeft")
        sight.settle()
    sight.says(sight.moment, "in the past")
    expect(page).to_have_url(re.compile(r"[?&]r=\d+&h=\d+"))
    sight.settle()
    past = page.url

    page.go_back()
    expect(page).not_to_have_url(re.compile(r"[?&](r|h|sel)="))
    expect(page.locator(".banner")).to_have_count(0)
    page.go_back()
    expect(page).to_have_url(chosen)
    expect(sight.headline).to_have_text(told)
    page.go_forward()
    expect(page).not_to_have_url(chosen)
    expect(sight.headline).not_to_have_text(told)
    page.go_forward()
    expect(page).to_have_url(past)
    sight.says(sight.moment, "in the past")
    expect(page.get_by_role("slider")).to_have_attribute(
        "aria-valuenow", str(re.findall(r"h=(\d+)", past)[0])
    )


def test_the_link_is_copied(look: Look) -> None:
    sight = look(COMPACT, permissions=["clipboard-read", "clipboard-write"])
    sight.press("/")
    sight.page.keyboard.type("kind:pod")
    sight.press("Escape")
    sight.press("Shift+ArrowLeft")
    sight.says(sight.moment, "in the past")
    expect(sight.page).to_have_url(re.compile(r"[?&]h="))

    sight.button("Copy link").click()

    expect(sight.button("Copied")).to_be_visible()
    assert sight.page.evaluate("navigator.clipboard.readText()") == sight.page.url


def assert_laid_out(sight: Sight) -> None:
    sight.settle()
    wrong = sight.page.evaluate(measures.LAYOUT)
    assert wrong == [], json.dumps(wrong)
