"""A lane says how its component learns what there is; a cycle says what it sends to bind a pod."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, ROOMY, Look, Sight
from tests.lifecycle.hosting.running import Demo

# which of the two parts of the map the blue line ends at
_WIRE_ENDS = """(part) => {
  const path = document.querySelector('.wire.live');
  const ends = [0, path.getTotalLength()].map((at) =>
    path.getPointAtLength(at).matrixTransform(path.getScreenCTM()));
  const touches = (id) => {
    const box = document.getElementById(id).getBoundingClientRect();
    return ends.some(({ x, y }) => y > box.top - 1 && y < box.bottom + 1
      && Math.min(Math.abs(x - box.left), Math.abs(x - box.right)) < 3);
  };
  return ['watchcache', part].filter(touches);
}"""


@pytest.fixture(scope="module", autouse=True)
def trace(demo: Demo) -> list[dict[str, Any]]:
    """Of a cluster that stands still with a pod that runs."""
    asking.run(demo, "web", 1)
    asking.control(demo, action="pause")
    return asking.records(demo)


def test_each_informer_of_a_lane_says_what_the_records_tell(
    look: Look, demo: Demo, trace: list[dict[str, Any]]
) -> None:
    sight = look(COMPACT)
    sight.button("deployment").click()
    sight.page.get_by_role("tab", name="Informers").click()
    rows = informers(sight, 0)
    told = next(one for one in synced(trace, "deployment") if "reads" in one)
    names = rows.locator("b").all_inner_texts()
    assert names == [resource.partition(".")[0] for resource in told["reads"]]

    own = rows.filter(has_text="deployments")
    listed = next(
        one["why"]
        for one in synced(trace, told["process"])
        if one.get("resource") == "deployments.apps"
    )
    count = len(asking.objects(demo, "deployments")) + 1  # and coredns
    sight.says(own, f"List: {listed}.")
    sight.says(own, f"Cache: {count} objects.")
    sight.says(own, "Handlers (added, updated, deleted): the object’s own key.")
    sight.says(rows.filter(has_text="replicasets"), "the key of its owner.")
    assert_well(sight)


def test_a_blue_line_leads_from_the_watch_cache_to_what_it_woke(
    look: Look, trace: list[dict[str, Any]]
) -> None:
    sight = look(COMPACT)
    for component, part in (("deployment", "lane-deployment"), ("scheduler", "sched")):
        work = next(
            one["seq"]
            for one in trace
            if one["kind"] == "work" and one["component"] == component and "web" in one["key"]
        )
        sight.page.goto(f"{sight.page.url.partition('&h=')[0]}&h={work}")
        expect(sight.page.locator(f"#{part}")).to_be_visible()
        sight.until("() => document.querySelectorAll('.wire.live').length === 1")
        assert sight.page.evaluate(_WIRE_ENDS, part) == ["watchcache", part]
        expect(sight.page.locator(".gate.path, .traveller.is-shown")).to_have_count(0)


def test_the_look_ups_that_a_reconcile_made_are_told_and_no_others(
    look: Look, trace: list[dict[str, Any]]
) -> None:
    work = next(
        record["seq"]
        for record in trace
        if record["kind"] == "work"
        and record["component"] == "replicaset"
        and "web" in record["key"]
    )
    sight = look(ROOMY, query=f"theme=dark&lang=zh&sel=span/{work}&tab=informers")
    told = next(record for record in trace if record["kind"] == "done" and record["span"] == work)[
        "looked"
    ]
    rows = informers(sight, 1)
    expect(rows).to_have_count(len(told))
    for row, (resource, how, times, found) in zip(rows.all(), told, strict=True):
        by = "按键" if how == "" else f"按 {how} "
        said = f"{by}查询 {times} 次：找到 {found} 个。 由缓存回答：没有请求。"
        assert how != "*"
        expect(row.locator("b")).to_have_text(resource.partition(".")[0])
        sight.says(row, said)
    assert {resource for resource, *_ in told} == {"replicasets.apps", "pods"}
    assert_well(sight)


def test_the_binding_names_the_very_pod_and_its_node(
    look: Look, demo: Demo, trace: list[dict[str, Any]]
) -> None:
    ((name, pod),) = asking.objects(demo, "pods").items()
    cycle = next(
        record["seq"]
        for record in trace
        if record["kind"] == "work" and record["component"] == "scheduler" and name in record["key"]
    )
    sight = look(COMPACT, query=f"theme=light&lang=en&sel=span/{cycle}")
    binding = sight.page.locator("#inspector .code", has_text="kind: Binding")
    for text in (f"name: {name}", pod["metadata"]["uid"], f"name: {pod['spec']['nodeName']}"):
        sight.says(binding, text)
    assert_well(sight)


def synced(trace: list[dict[str, Any]], component: str) -> list[dict[str, Any]]:
    return [
        one["detail"]
        for one in trace
        if one["kind"] == "component" and (one["name"], one["state"]) == (component, "synced")
    ]


def informers(sight: Sight, nth: int) -> Locator:
    """The rows of the informers, or of the look-ups."""
    return sight.page.locator("#inspector .rules").nth(nth).locator("li")


def assert_well(sight: Sight) -> None:
    sight.settle()
    wrong = [*sight.page.evaluate(measures.LAYOUT), *sight.page.evaluate(measures.CONTRAST)]
    assert wrong == [], "\n".join(wrong)
