"""From an object's menu it is scaled, restarted, cordoned and deleted by real requests, each beside
the line of kubectl that it stands for."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, expect

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, ROOMY, Look, Sight
from tests.lifecycle.hosting.running import Demo

WEB = "sel=object/deployments.apps/default/web"
NODE = "sel=node/node-2"


@pytest.fixture(scope="module", autouse=True)
def web(demo: Demo) -> None:
    asking.run(demo, "web", 2)


def test_a_deployment_is_scaled_from_its_menu_by_keyboard(look: Look, demo: Demo) -> None:
    sight = look(COMPACT, query=f"theme=light&lang=en&{WEB}")
    menu = opened(sight)
    sight.says(menu, "kubectl -n default scale deployment/web --replicas=2")
    menu.get_by_role("spinbutton", name="Replicas").fill("4")
    sight.says(menu, "kubectl -n default scale deployment/web --replicas=4")
    assert_laid_out(sight)
    menu.get_by_role("spinbutton").focus()

    sight.press("Shift+Tab", "Enter")

    sight.says(answers(sight), "kubectl -n default scale deployment/web --replicas=4  # admin")
    sight.says(answers(sight), "deployment.apps/web scaled")
    expect(menu).to_have_count(0)
    asking.until(lambda: status(demo, "web").get("readyReplicas") == 4)
    assert agent_of(demo, "patch", "scale") == "page"


def test_a_restart_makes_another_replica_set(look: Look, demo: Demo) -> None:
    before = {name for name in asking.objects(demo, "replicasets") if name.startswith("web-")}
    sight = look(ROOMY, query=f"theme=dark&lang=en&{WEB}")

    opened(sight).get_by_role("button", name="Restart", exact=True).click()

    sight.says(answers(sight), "deployment.apps/web restarted")
    asking.until(
        lambda: {n for n in asking.objects(demo, "replicasets") if n.startswith("web-")} > before
    )


def test_a_node_is_cordoned_and_uncordoned(look: Look, demo: Demo) -> None:
    sight = look(COMPACT, query=f"theme=light&lang=zh&{NODE}")
    assert_laid_out(sight)

    opened(sight, "修改").get_by_role("button", name=re.compile("^封锁")).click()

    sight.says(answers(sight), "node/node-2 cordoned")
    assert node(demo)["spec"]["unschedulable"] is True
    again = look(COMPACT, query=f"theme=light&lang=en&{NODE}")
    menu = opened(again)
    again.says(menu, "kubectl uncordon node-2")
    menu.get_by_role("button", name=re.compile("^Uncordon")).click()
    again.says(answers(again), "node/node-2 uncordoned")
    assert "unschedulable" not in node(demo)["spec"]


def test_a_refusal_is_told_in_the_statuss_own_words(look: Look, demo: Demo) -> None:
    sight = look(ROOMY, query=f"theme=light&lang=en&{WEB}")
    bench = sight.page.get_by_role("region", name="Requests and objects")
    bench.get_by_role("combobox", name="as").select_option("viewer")
    menu = opened(sight)

    menu.get_by_role("button", name="Restart", exact=True).click()

    sight.says(
        menu.get_by_role("alert"),
        'Error from server (Forbidden): deployments.apps "web" is forbidden: User "viewer" cannot'
        ' patch resource "deployments" in API group "apps" in the namespace "default"',
    )
    assert_laid_out(sight)
    bench.get_by_role("combobox", name="as").select_option("admin")


def test_a_deletion_asks_first_and_says_what_goes_with_it(look: Look, demo: Demo) -> None:
    asking.run(demo, "old", 2)
    sight = look(COMPACT, query="theme=dark&lang=en&sel=object/deployments.apps/default/old")
    menu = opened(sight)
    sight.press("ArrowUp", "Enter")
    asked = menu.get_by_role("alertdialog")
    sight.says(asked, "and with it 1 × ReplicaSet, 2 × Pod.")
    expect(asked.get_by_role("button", name="Keep it")).to_be_focused()
    assert_laid_out(sight)
    sight.press("Enter")
    expect(asked).to_have_count(0)
    expect(menu.get_by_role("button", name="Delete", exact=True)).to_be_focused()
    assert "old" in asking.objects(demo, "deployments")

    sight.press("Enter", "ArrowUp", "Enter")

    sight.says(answers(sight), 'deployment.apps "old" deleted')
    asking.until(lambda: "old" not in asking.objects(demo, "deployments"))


def test_who_watches_reads_why_and_may_copy_the_line(chromium: Browser, demo: Demo) -> None:
    given = ["clipboard-read", "clipboard-write"]
    sight = Sight(
        chromium,
        demo.endpoints["viewer_page"],
        COMPACT,
        permissions=given,
        query=f"theme=light&lang=en&{WEB}",
    )
    menu = opened(sight)
    sight.says(menu, "You are watching. Whoever has the other link drives the cluster.")
    restart = menu.get_by_role("button", name="Restart", exact=True)
    expect(restart).to_be_disabled()
    before = asking.state(demo)["seq"]
    restart.dispatch_event("click")

    menu.get_by_role("button", name=re.compile("^Copy: kubectl -n default rollout")).click()

    expect(menu.get_by_role("button", name=re.compile("^Copied"))).to_be_visible()
    line = sight.page.evaluate("navigator.clipboard.readText()")
    assert line == "kubectl -n default rollout restart deployment/web"
    assert not [
        record
        for record in asking.records(demo, before + 1)
        if record["kind"] == "request" and record["outside"]
    ]
    sight.press("Escape")
    expect(menu).to_have_count(0)
    expect(sight.button("Change it")).to_be_focused()
    sight.close()


def opened(sight: Sight, name: str = "Change it") -> Locator:
    """The menu of the object that is chosen."""
    sight.button(name).focus()
    sight.press("Enter")
    menu = sight.page.get_by_role("dialog", name=name)
    expect(menu).to_be_visible()
    return menu


def answers(sight: Sight) -> Locator:
    return sight.page.locator(".answers")


def status(demo: Demo, name: str) -> dict[str, Any]:
    return dict(asking.objects(demo, "deployments")[name].get("status") or {})


def node(demo: Demo) -> dict[str, Any]:
    return next(
        dict(record["object"])
        for record in reversed(asking.records(demo))
        if record["kind"] == "write" and (record["resource"], record["name"]) == ("nodes", "node-2")
    )


def agent_of(demo: Demo, verb: str, subresource: str) -> str:
    """Who sent the newest request of that sort."""
    return next(
        str(record["client"])
        for record in reversed(asking.records(demo))
        if record["kind"] == "request"
        and (record["verb"], record["subresource"]) == (verb, subresource)
    )


def assert_laid_out(sight: Sight) -> None:
    sight.settle()
    wrong = [*sight.page.evaluate(measures.LAYOUT), *sight.page.evaluate(measures.CONTRAST)]
    assert wrong == [], json.dumps(wrong)
