"""The scheduler's tables show the numbers of the trace, and why a node is out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser import asking
from tests.browser.sight import Look, Sight
from tests.conformance import kubectl as kubectls
from tests.conformance.kubectl import Kubectl
from tests.lifecycle.hosting.running import Demo

NODES = ["node-1", "node-2", "node-3"]


@pytest.fixture(scope="module")
def kubectl(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    return Kubectl(kubectls.newest(), demo.data_dir, tmp_path_factory.mktemp("home"))


@pytest.fixture(autouse=True)
def running(demo: Demo) -> None:
    asking.free(demo, "max")


def test_filters_and_scores_are_those_of_the_trace(look: Look, demo: Demo) -> None:
    assert asking.apply(demo, asking.pod("first"))[0]["code"] == 201
    asking.until(lambda: "nodeName" in asking.objects(demo, "pods")["first"]["spec"])
    sight = look()
    decide(sight)

    sight.send(asking.pod("second"))

    sight.says(sight.moment, "paused at a breakpoint")
    trace = cycle(demo, "default/second")
    filters, scores = tables(sight)
    ran = [p["name"] for p in trace["filter"]["plugins"] if p["ran"]]
    expect(filters.get_by_role("img", name="pass")).to_have_count(len(ran) * 3)
    assert heads(filters) == heads(scores) == ["plugin", *NODES]
    assert [row[0] for row in rows(filters)] == ran
    plugins = trace["score"]["plugins"]
    assert [row[0] for row in rows(scores)[:-1]] == [p["name"] for p in plugins]
    for shown, plugin in zip(rows(scores), plugins, strict=False):
        for text, node in zip(shown[1:], NODES, strict=True):
            points, weight = plugin["normalized"][node], plugin["weight"]
            assert numbers(text) == [points, weight, points * weight], (plugin, text)
    assert [numbers(one) for one in rows(scores)[-1][1:]] == [
        [trace["score"]["total"][node]] for node in NODES
    ]
    chosen = trace["select"]["node"]
    expect(sight.page.locator(".node.won")).to_contain_text(chosen)
    sight.says(sight.headline, chosen)
    expect(scores.get_by_role("img", name="winner")).to_have_count(1)


def test_a_pod_that_fits_nowhere_is_reported_by_the_idle_scheduler(
    look: Look, demo: Demo, kubectl: Kubectl
) -> None:
    kubectl("run", "lost", "--image=nginx", '--overrides={"spec":{"nodeSelector":{"a":"b"}}}')
    asking.until(lambda: asking.objects(demo, "pods")["lost"]["status"].get("conditions"))
    sight = look()
    told = sight.page.locator("#sched")
    sight.says(told, "1 pod fits no node")
    told.get_by_role("button", name="1 pod fits no node").click()
    sight.says(sight.page.get_by_role("complementary"), "didn't match Pod's node affinity/selector")
    kubectl("delete", "pod", "lost", "--now")
    sight.says(told, "no pod waits")


@pytest.fixture
def tainted(demo: Demo, kubectl: Kubectl) -> Iterator[None]:
    """While the test runs, node-3 takes no other pods."""
    kubectl("taint", "node", "node-3", "dedicated=gpu:NoSchedule")
    yield
    asking.free(demo, "max")
    kubectl("taint", "node", "node-3", "dedicated-")


@pytest.mark.usefixtures("tainted")
def test_a_tainted_node_is_out_with_the_reason(look: Look, demo: Demo) -> None:
    sight = look()
    decide(sight)

    sight.send(asking.pod("third"))

    sight.says(sight.moment, "paused at a breakpoint")
    plugin, message = cycle(demo, "default/third")["filter"]["failed"]["node-3"]
    filters, scores = tables(sight)
    row = next(one for one in rows(filters) if one[0] == plugin)
    assert "out" in row[3]
    assert rows(scores)[-1][3] == "out"
    sight.says(sight.page.locator(".board"), f"node-3: {message}")
    out = sight.page.locator(".node.out")
    expect(out).to_have_count(1)
    sight.says(out, "node-3")
    sight.says(out, "dedicated=gpu:NoSchedule")
    assert message == "node(s) had untolerated taint {dedicated: gpu}"


def decide(sight: Sight) -> None:
    """Stop the cluster at the scheduler's next decision."""
    sight.button(re.compile("^0 breakpoints")).click()
    sight.button("the scheduler’s decision").click()
    expect(sight.button(re.compile("^1 breakpoint"))).to_be_visible()
    sight.press("Escape")


def tables(sight: Sight) -> tuple[Locator, Locator]:
    found = sight.page.locator(".board table.scores")
    expect(found).to_have_count(2)
    return found.nth(0), found.nth(1)


def heads(table: Locator) -> list[str]:
    return table.locator("thead th").all_inner_texts()


def rows(table: Locator) -> list[list[str]]:
    """The cells of each row below the head."""
    found = table.locator("tbody tr, tfoot tr").all()
    return [[text.strip() for text in row.locator("th, td").all_inner_texts()] for row in found]


def numbers(text: str) -> list[int]:
    return [int(one.replace(",", "")) for one in re.findall(r"[\d,]+", text)]


def cycle(demo: Demo, key: str) -> dict[str, Any]:
    """The phases of the newest scheduling cycle of a pod, as the trace has them."""
    trace = asking.records(demo)
    span = next(
        r["seq"]
        for r in reversed(trace)
        if r["kind"] == "work" and (r["component"], r["key"]) == ("scheduler", key)
    )
    return {r["phase"]: r["detail"] for r in trace if r["kind"] == "schedule" and r["span"] == span}
