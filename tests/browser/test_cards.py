"""A scenario runs in a cluster that is as it was when it was ready, whatever became of the one that
is open: in a copy, and whoever only watches goes along."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, ROOMY, Look, Sight
from tests.lifecycle.hosting.running import Demo

COPY = "In a copy of demo as it was when it was ready."
NO_EXECUTE = {"key": "broken", "effect": "NoExecute"}


@pytest.fixture
def changed(demo: Demo) -> Iterator[Demo]:
    """A cluster in which no pod can run any more, and which has what a card would make.

    Ask for it before a window: its copies may go only once no page looks at them any more.
    """
    asking.apply(demo, asking.deployment("nginx", 1))
    nodes = "\n---\n".join(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": f"node-{number}"},
                "spec": {"taints": [NO_EXECUTE]},
            }
        )
        for number in (1, 2, 3)
    )
    answer = demo.ask("POST", f"{asking.CLUSTER}/apply?as=admin&server-side=true", nodes.encode())
    assert {result["code"] for result in json.loads(answer.read())["results"]} == {200}
    yield demo
    for fork in forks(demo):
        demo.ask("DELETE", f"/viz/v1/clusters/{fork['name']}", b"")
    asking.free(demo, "max")


def test_the_first_card_runs_in_the_cluster_itself_while_nobody_has_changed_anything(
    look: Look, demo: Demo
) -> None:
    assert asking.state(demo)["untouched"]
    sight = look(COMPACT)

    begin(sight, "Why does a student get 403?")

    told(sight)
    expect(sight.page).to_have_url(re.compile(r"^(?!.*cluster=)"))
    assert forks(demo) == []
    assert not asking.state(demo)["untouched"]


def test_where_no_pod_can_run_and_its_name_is_taken_a_card_runs_in_a_copy_and_says_so(
    changed: Demo, look: Look
) -> None:
    sight = look(COMPACT)

    begin(sight, "Run it")

    told(sight)
    sight.says(sight.page.get_by_role("log"), "deployment.apps/nginx created")
    [copy] = forks(changed)
    sight.says(sight.page.locator(".banner"), COPY)
    assert (copy["how"], copy["state"]) == ("anew", "ready")
    assert deployments(changed, copy["name"])["nginx"]["status"]["readyReplicas"] == 3
    assert asking.objects(changed, "deployments")["nginx"]["spec"]["replicas"] == 1
    assert_well(sight)

    sight.button("Back to demo").click()

    expect(sight.page).to_have_url(re.compile(r"^(?!.*cluster=)"))
    asking.until(lambda: forks(changed) == [])


def test_again_takes_the_place_of_the_copy_before_and_uses_up_no_forks(
    changed: Demo, look: Look
) -> None:
    for _ in range(5):
        assert make(changed, {"seq": 100})[0] == 201
    asking.until(lambda: {fork["state"] for fork in forks(changed)} == {"ready"})
    sight = look(ROOMY)
    begin(sight, "Why does a student get 403?")
    told(sight)
    seen = {copies(changed)}

    for times in (2, 3):
        sight.button("Again").click()
        refused = sight.page.get_by_role("log").get_by_text("Error from server (Forbidden)")
        expect(refused).to_have_count(times)
        told(sight)
        seen.add(copies(changed))

    assert len(seen) == 3 and all(len(names) == 1 for names in seen)
    assert len(forks(changed)) == 6
    assert make(changed, {"seq": 100})[0] == 400


def test_a_card_runs_though_the_cluster_is_paused_and_leaves_it_so(
    changed: Demo, look: Look
) -> None:
    asking.control(changed, action="pause")
    sight = look(COMPACT)
    sight.says(sight.moment, "paused")

    begin(sight, "Why does my pod stay Pending?")

    told(sight)
    sight.says(sight.page.get_by_role("log"), "pod/big created")
    assert asking.state(changed)["mode"] == "paused"


def test_a_card_runs_over_a_recording(changed: Demo, look: Look) -> None:
    body = json.dumps({"name": "class", "cluster": "demo"}).encode()
    made = changed.ask("POST", "/viz/v1/traces", body, Content_Type="application/json")
    trace = json.loads(made.read())["id"]
    sight = look(COMPACT, query=f"theme=dark&lang=en&trace={trace}")
    sight.says(sight.moment, "recording")

    begin(sight, "Why does my pod stay Pending?")

    told(sight)
    sight.says(sight.moment, "live")
    sight.says(sight.page.locator(".banner"), COPY)
    assert_well(sight)


def test_while_a_copy_is_made_a_line_says_how_far_it_is(changed: Demo, look: Look) -> None:
    sight = look((390, 844), query="theme=light&lang=zh")
    sight.page.evaluate(
        """() => new MutationObserver(() => {
            const said = document.querySelector('.banner.making');
            if (said) window.said = [said.textContent, !!said.querySelector('progress')];
        }).observe(document.body, {childList: true, subtree: true, characterData: true})"""
    )

    sight.button("开始").click()
    sight.page.get_by_role("dialog").get_by_role("button", name="学生为什么得到 403？").click()

    sight.says(sight.page.locator(".banner"), "讲完了。")
    sight.says(sight.page.locator(".banner"), "在 demo 刚就绪时的副本中。")
    said, has_progress = sight.page.evaluate("window.said")
    assert re.fullmatch(r"正在生成 demo 刚就绪时的副本：\d+%", said) and has_progress
    sight.page.evaluate("scrollTo(0, 0)")
    assert_well(sight)


def test_who_only_watches_goes_along_into_each_copy_and_back(
    changed: Demo, look: Look, chromium: Browser
) -> None:
    driver = look(COMPACT)
    follower = Sight(
        chromium, changed.endpoints["viewer_page"], (390, 844), expects="WebSocket|status of 404"
    )
    begin(driver, "Why does a student get 403?")
    told(driver)
    [first] = copies(changed)
    expect(follower.page).to_have_url(re.compile(f"cluster={first}(&|$)"))
    follower.says(follower.page.locator(".banner"), COPY)
    follower.says(follower.gate("authorization"), "403")

    driver.button("Again").click()
    follower.page.wait_for_url(lambda url: "cluster=" in url and f"cluster={first}" not in url)
    [second] = copies(changed)
    expect(follower.page).to_have_url(re.compile(f"cluster={second}(&|$)"))
    follower.says(follower.page.locator(".banner"), COPY)
    assert first != second

    told(driver)
    for place, address in (("demo", r"^(?!.*cluster=)"), (second, f"cluster={second}(&|$)")):
        driver.button(re.compile("^Cluster demo")).click()
        menu = driver.page.get_by_role("dialog")
        menu.get_by_role("button", name=re.compile(f"^{place} (?!from)")).click()
        expect(driver.page).to_have_url(re.compile(address))
        expect(follower.page).to_have_url(re.compile(address))
    driver.button("Back to demo").click()
    expect(follower.page).to_have_url(re.compile(r"^(?!.*cluster=)"))
    follower.says(follower.moment, "live")
    expect(follower.page.locator(".banner")).to_have_count(0)
    follower.close()


def test_who_only_watches_is_not_told_of_the_forks_of_a_copy_that_went_meanwhile(
    changed: Demo, look: Look, chromium: Browser
) -> None:
    driver = look(COMPACT)
    begin(driver, "Why does a student get 403?")
    told(driver)
    late: list[Route] = []

    def keep(page: Page) -> None:
        page.route("**/demo-fork-*/forks", lambda route: late.append(route))

    follower = Sight(
        chromium,
        changed.endpoints["viewer_page"],
        COMPACT,
        before=keep,
        expects="WebSocket|status of 404",
    )
    # the handler runs while Playwright waits for the page
    (route,) = asking.until(lambda: late if follower.until("() => true") else [])
    driver.button("Back to demo").click()
    asking.until(lambda: forks(changed) == [])
    expect(follower.page).to_have_url(re.compile(r"^(?!.*cluster=)"))

    with follower.page.expect_response("**/demo-fork-*/forks") as answered:
        route.continue_()

    assert answered.value.status == 404
    answered.value.finished()
    follower.settle()
    expect(follower.page.locator(".banner")).to_have_count(0)
    follower.close()


# what says where who drives has gone waits until it is let through
HOLD = """() => {
    const ask = window.fetch;
    window.held = [];
    window.fetch = (url, how) => !String(how?.body).includes('"stage"') ? ask(url, how)
        : new Promise((done) => held.push(() => done(ask(url, how))));
}"""


def test_where_who_drives_has_gone_is_told_one_after_the_other(changed: Demo, look: Look) -> None:
    driver = look(COMPACT)
    begin(driver, "Why does a student get 403?")
    told(driver)
    [copy] = copies(changed)
    driver.page.evaluate(HOLD)
    for place, address in (("demo", r"^(?!.*cluster=)"), (copy, f"cluster={copy}(&|$)")):
        driver.button(re.compile("^Cluster demo")).click()
        menu = driver.page.get_by_role("dialog")
        menu.get_by_role("button", name=re.compile(f"^{place} (?!from)")).click()
        expect(driver.page).to_have_url(re.compile(address))
    assert driver.page.evaluate("held.length") == 1
    driver.page.evaluate("held.shift()()")
    driver.until("() => held.length === 1")
    driver.page.evaluate("held.shift()()")
    driver.says(driver.page.locator(".banner"), COPY)


def test_a_copy_is_forked_where_what_would_have_to_change_is_tried(
    changed: Demo, look: Look
) -> None:
    sight = look(COMPACT)
    begin(sight, "Why does a student get 403?")
    told(sight)
    [copy] = copies(changed)

    sight.press("f")

    sight.says(sight.page.locator(".banner"), f"Your fork of {copy}")
    [fork] = json.loads(changed.get(f"/viz/v1/clusters/{copy}/forks").read())["forks"]
    assert (fork["how"], fork["why"]) == ("rerun", "")
    sight.button(f"Back to {copy}").click()
    sight.says(sight.page.locator(".banner"), COPY)
    sight.button("Back to demo").click()
    asking.until(lambda: "demo" in {cluster["cluster"] for cluster in clusters(changed)})
    asking.until(lambda: len(clusters(changed)) == 1)


def begin(sight: Sight, name: str) -> None:
    sight.button(re.compile("^Begin")).click()
    sight.page.get_by_role("dialog", name="Begin").get_by_role("button", name=name).click()


def told(sight: Sight) -> Locator:
    """The banner of what was told to its end."""
    banner = sight.page.locator(".banner.lesson")
    sight.says(banner, "Told to its end.")
    return banner


def forks(demo: Demo) -> list[dict[str, Any]]:
    return list(json.loads(demo.get(f"{asking.CLUSTER}/forks").read())["forks"])


def copies(demo: Demo) -> tuple[str, ...]:
    return tuple(fork["name"] for fork in forks(demo) if fork["anew"])


def clusters(demo: Demo) -> list[dict[str, Any]]:
    return list(json.loads(demo.get("/viz/v1/clusters").read())["clusters"])


def make(demo: Demo, wanted: dict[str, Any]) -> tuple[int, Any]:
    body = json.dumps(wanted).encode()
    answer = demo.ask("POST", f"{asking.CLUSTER}/forks", body, Content_Type="application/json")
    return answer.status, json.loads(answer.read())


def deployments(demo: Demo, cluster: str) -> dict[str, Any]:
    prefix = "/registry/deployments/default/"
    found = json.loads(demo.get(f"/viz/v1/clusters/{cluster}/objects?prefix={prefix}").read())
    return {key.rpartition("/")[2]: one for key, one in found["objects"].items()}


def assert_well(sight: Sight) -> None:
    sight.settle()
    wrong = [*sight.page.evaluate(measures.LAYOUT), *sight.page.evaluate(measures.CONTRAST)]
    assert wrong == [], json.dumps(wrong)
