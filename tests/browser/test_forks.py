"""One goes back, forks the cluster there, changes one thing, and sees what comes of it beside what
came."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, ROOMY, Look, Sight
from tests.lifecycle.hosting.running import Demo

# nodes that are drawn as the same in both
FADED = """(nodes) => nodes.filter((one) => getComputedStyle(one).borderTopStyle === 'dotted')
  .map((one) => one.querySelector('h2').textContent)"""
TIMES = "(halves) => halves.map((half) => half.querySelector('.second').textContent)"
# names that more than one part has
IDS_AGAIN = """() => [...document.querySelectorAll('[id]')].map(({ id }) => id)
  .filter((id, place, all) => all.indexOf(id) !== place)"""


@pytest.fixture(scope="module")
def made(demo: Demo) -> dict[str, Any]:
    """The write that created a Deployment of one pod, which runs now."""
    asking.until(lambda: len(asking.objects(demo, "pods", "kube-system")) >= 5)
    asking.run(demo, "one", 1)
    return next(
        record
        for record in asking.records(demo)
        if record["kind"] == "write"
        and (record["resource"], record["name"]) == ("deployments.apps", "one")
    )


@pytest.fixture(scope="module")
def parted(demo: Demo, made: dict[str, Any]) -> str:
    """A fork whose pod went to another node, because its own was tainted there."""
    node = node_of(demo)
    name = str(fork(demo, made["seq"])["name"])
    asking.until(lambda: forks(demo)[name]["state"] == "ready")
    where = f"/viz/v1/clusters/{name}"
    taint(demo, where, node)
    control(demo, where, action="speed", speed="max")
    control(demo, where, action="resume")
    asking.until(lambda: moved(demo, where, node))
    return name


def test_a_pod_goes_elsewhere_in_a_fork_whose_node_is_tainted(
    look: Look, demo: Demo, made: dict[str, Any]
) -> None:
    """By keyboard alone: f, the change, on, the comparison, there and back."""
    node = node_of(demo)
    sight = look(COMPACT, query=f"r={made['rev']}&theme=light&lang=en")
    banner = sight.page.locator(".banner")
    sight.says(banner, f"Revision {made['rev']}")

    sight.press("f")

    sight.says(banner, f"Your fork of demo, from revision {made['rev']}.")
    sight.says(sight.moment, "paused")
    (name,) = forks(demo)
    sight.says(sight.button(f"Cluster {name}"), name)
    assert_well(sight)
    sight.button("Change one thing").focus()
    sight.press("Enter")
    sight.button(f"Taint {node}").focus()
    sight.press("Enter")
    sight.says(sight.page.locator("#client"), "200")
    sight.button("Compare with demo").focus()
    sight.press("Enter")
    expect(sight.headline).to_contain_text("Nothing has come out otherwise")
    sight.page.locator("#inspector .scroll").focus()
    sight.press("Space")

    sight.says(sight.headline, re.compile(rf"^\w{{5}}: {node} → node-\d, .* after the fork"))
    first = sight.page.locator(".parted .is-first")
    sight.says(first, re.compile(rf"{node} → node-\d at \+\d.*Pod one-.* · spec.nodeName"))
    sight.says(sight.page.get_by_text("What was changed by hand"), "")
    assert_well(sight)
    pod = str(first.get_by_role("button").first.get_attribute("aria-label")).split(" ")[0]

    first.get_by_role("button", name=f"{pod} in demo", exact=True).focus()
    sight.press("Enter")
    expect(sight.page).to_have_url(re.compile(r"^(?!.*cluster=)"))
    sight.says(sight.page.locator(".tape .cell.at"), "pods")
    first.get_by_role("button", name=f"{pod} in {name}", exact=True).focus()
    sight.press("Enter")
    expect(sight.page).to_have_url(re.compile(f"cluster={name}"))
    sight.says(sight.page.locator(".tape .cell.at"), "pods")
    assert_well(sight)


def test_the_other_cluster_is_drawn_thin_beneath_and_its_pods_where_they_are(
    look: Look, demo: Demo, parted: str
) -> None:
    node, name = node_of(demo), parted
    own = pod_of(demo, asking.CLUSTER)
    sight = look(ROOMY, query=f"theme=light&lang=en&cluster={name}")
    thin = sight.page.locator(".plot .second-bar")
    expect(thin).to_have_count(0)

    sight.button("Compare with demo").click()

    sight.says(sight.page.locator(".timeline .tools"), "thin bars: demo")
    expect(thin.first).to_be_visible()
    there = sight.page.locator(f"#n-{node} .pods .is-parted.is-first")
    sight.says(there, " in demo")
    expect(
        sight.page.locator(".node .pods .is-parted").filter(has_not_text="in demo")
    ).to_have_count(1)
    assert_well(sight)
    there.get_by_role("button").click()
    expect(sight.page).to_have_url(re.compile(r"^(?!.*cluster=)"))
    sight.says(sight.page.locator(".timeline .tools"), f"thin bars: {name}")
    sight.says(sight.page.locator(f"#n-{node} .pods .is-parted.is-first"), own)
    sight.says(sight.page.locator(".pods .is-parted.is-first").filter(has_text=name), name)


def test_the_map_splits_into_both_clusters_and_marks_what_parted_first_in_each(
    look: Look, demo: Demo, parted: str
) -> None:
    node = node_of(demo)
    sight = look(COMPACT, query=f"theme=light&lang=en&cluster={parted}")
    halves = sight.page.locator(".half")

    sight.press("s")

    expect(halves).to_have_count(2)
    for half, cluster in ((halves.first, "demo"), (halves.last, parted)):
        pod = pod_of(demo, f"/viz/v1/clusters/{cluster}")
        sight.says(half.get_by_role("heading", level=2).first, cluster)
        sight.says(
            half.locator(".first-parted"), re.compile(rf"^{pod}: {node} → node-\d at \+\d+ ms$")
        )
        expect(half.locator(".pods .is-parted.is-first")).to_have_text(pod)
        expect(half.locator(".pods .is-parted")).to_have_count(1)
        its = str(half.locator(".node:has(.is-first) h2").inner_text())
        same = {"node-1", "node-2", "node-3"} - {node, its}
        assert set(half.locator(".node").evaluate_all(FADED)) == same
    one, other = halves.evaluate_all(TIMES)  # at once, as both clusters go on
    assert one == other != ""
    assert sight.page.evaluate(IDS_AGAIN) == []
    assert_well(sight)


def test_the_halves_go_back_together_and_one_leads_to_the_other_cluster(
    look: Look, demo: Demo, parted: str
) -> None:
    sight = look((1920, 1080), query=f"theme=projector&lang=en&cluster={parted}")
    halves = sight.page.locator(".half")
    sight.button("Compare with demo").click()
    sight.button("Split the map").click()
    halves.last.locator("button.first-parted").click()
    sight.says(sight.moment, "in the past")
    at = halves.first.locator(".second").first
    expect(halves.last.locator(".second").first).to_have_text(at.inner_text())
    assert_well(sight)

    while halves.last.locator("button.first-parted").count():
        sight.press("ArrowLeft")
        sight.settle()
        assert sight.page.evaluate(measures.LAYOUT) == []

    expect(halves.get_by_text("no difference has come of it yet")).to_have_count(2)
    expect(sight.page.locator(".half .pods .is-parted")).to_have_count(0)
    assert_well(sight)
    while not halves.locator(".board").count():
        sight.press("ArrowLeft")
        sight.settle()
    expect(halves.first.locator(".board td.is-deny")).to_have_count(0)
    expect(halves.last.locator(".board td.is-deny")).to_have_count(1)
    assert_well(sight)
    halves.first.locator(".board h2 button").click()
    expect(sight.page).to_have_url(re.compile(r"^(?!.*cluster=)"))
    expect(sight.page.locator(".half.is-open h2").first).to_have_text("demo")
    expect(halves.first).to_have_class(re.compile("is-open"))
    sight.press("Escape")
    expect(halves).to_have_count(0)
    sight.says(sight.page.locator(".timeline .tools"), f"thin bars: {parted}")


@pytest.mark.parametrize("place", ["fork", "origin"])
def test_a_link_leads_to_the_same_comparison_and_the_same_halves(
    look: Look, parted: str, place: str
) -> None:
    first = look(ROOMY, query=f"theme=light&lang=en&cluster={parted}")
    first.press("s")
    halves = first.page.locator(".half")
    expect(halves).to_have_count(2)
    if place == "origin":
        halves.first.locator(".board h2 button, button.first-parted").first.click()
        expect(halves.first).to_have_class(re.compile("is-open"))
        first.says(first.moment, "in the past")
    address = f"cluster={parted}&with=demo" if place == "fork" else f"with={parted}"
    expect(first.page).to_have_url(re.compile(rf"[?&]{address}&map=split"))
    expect(first.headline).to_contain_text("after the fork")
    first.settle()

    second = look(ROOMY, query=first.page.url.partition("?")[2])

    again = second.page.locator(".half")
    expect(again).to_have_count(2)
    expect(second.headline).to_have_text(first.headline.inner_text())
    for one, other in zip(halves.all(), again.all(), strict=True):
        expect(other.locator("h2").first).to_have_text(one.locator("h2").first.inner_text())
        expect(other.locator(".first-parted")).to_have_text(
            one.locator(".first-parted").inner_text()
        )
    assert second.page.url == first.page.url
    second.press("Escape")
    expect(again).to_have_count(0)
    expect(second.page).to_have_url(re.compile(rf"[?&]{address}(?!.*map=)"))


def test_back_in_the_browser_leads_from_the_other_cluster_to_the_comparison_in_the_first(
    look: Look, parted: str
) -> None:
    sight = look(COMPACT, query=f"theme=light&lang=en&cluster={parted}")
    sight.button("Compare with demo").click()
    first = sight.page.locator(".parted .is-first")
    expect(first).to_be_visible()
    pod = str(first.get_by_role("button").first.get_attribute("aria-label")).split(" ")[0]
    first.get_by_role("button", name=f"{pod} in demo", exact=True).click()
    expect(sight.page).to_have_url(re.compile(r"^(?!.*cluster=).*[?&]h=\d+"))
    sight.says(sight.moment, "in the past")
    expect(first).to_be_visible()

    sight.page.go_back()

    expect(sight.page).to_have_url(re.compile(f"[?&]cluster={parted}&with=demo"))
    sight.says(sight.button(f"Cluster {parted}"), parted)
    expect(first).to_be_visible()
    sight.page.go_back()
    expect(sight.page).not_to_have_url(re.compile("with="))
    expect(first).to_have_count(0)
    sight.page.go_forward()
    expect(first).to_be_visible()


@pytest.mark.parametrize(
    ("query", "gone"), [("cluster=demo-fork-99", 99), ("with=demo-fork-98&map=split", 98)]
)
def test_a_link_to_a_fork_that_is_gone_says_which_are_here(
    look: Look, demo: Demo, parted: str, query: str, gone: int
) -> None:
    sight = look(COMPACT, query=f"theme=dark&lang=en&{query}", expects="status of 404")

    told = rf"The fork demo-fork-{gone} of the link is not here any more. This is demo; its forks"
    sight.says(sight.page.locator(".banner"), re.compile(rf"{told} are .*\b{parted}\b"))
    sight.says(sight.button("Cluster demo"), "demo")
    expect(sight.page).not_to_have_url(re.compile("fork"))
    assert_well(sight)


def test_on_a_phone_the_halves_stand_one_below_the_other(
    look: Look, demo: Demo, parted: str
) -> None:
    sight = look((390, 844), query=f"theme=dark&lang=zh&cluster={parted}")

    sight.button("与 demo 比较").click()
    sight.button("拆分地图").click()

    halves = sight.page.locator(".half")
    expect(halves).to_have_count(2)
    sight.page.evaluate("scrollTo(0, 0)")
    assert_well(sight)
    above, below = halves.first.bounding_box(), halves.last.bounding_box()
    assert sight.page.evaluate(measures.TARGETS) == []
    assert above and below
    assert below["y"] >= above["y"] + above["height"] and below["width"] > 300


def test_the_list_of_clusters_leads_to_a_fork_and_removes_it(
    look: Look, demo: Demo, made: dict[str, Any]
) -> None:
    name = fork(demo, made["seq"])["name"]
    asking.until(lambda: forks(demo)[name]["state"] == "ready")
    sight = look(ROOMY, query="theme=dark&lang=en")
    sight.button("Cluster demo").click()
    menu = sight.page.get_by_role("dialog")
    menu.get_by_role("button", name=f"{name} from r{made['rev']}", exact=True).click()
    sight.says(sight.page.locator(".banner"), "Your fork of demo")
    assert_well(sight)
    sight.back_to(".invite")
    assert_well(sight)

    sight.button(f"Cluster {name}").click()
    menu.get_by_role("button", name=f"Remove {name}").click()

    expect(sight.page.locator(".banner")).to_have_count(0)
    sight.button("Cluster demo").click()
    sight.says(menu, "the one that runs here")
    asking.until(lambda: name not in forks(demo))
    expect(menu.get_by_text(name)).to_have_count(0)


def test_from_a_fork_that_ended_there_is_a_way_back(
    look: Look, demo: Demo, made: dict[str, Any]
) -> None:
    name = fork(demo, made["seq"])["name"]
    asking.until(lambda: forks(demo)[name]["state"] == "ready")
    query = f"theme=light&lang=en&cluster={name}"
    sight = look(COMPACT, query=query, expects="WebSocket|status of")
    sight.says(sight.page.locator(".banner"), "Your fork of demo")

    assert demo.ask("DELETE", f"/viz/v1/clusters/{name}", b"").status == 204

    sight.says(sight.page.locator(".banner"), "A fork that was removed")
    assert_well(sight)
    sight.button("Back to demo").click()
    sight.says(sight.moment, "live")
    expect(sight.page.locator(".banner")).to_have_count(0)


def test_what_would_have_to_change_is_tried_and_where_it_cannot_be_it_says_why(
    look: Look, demo: Demo, made: dict[str, Any]
) -> None:
    for _ in range(5 - len(forks(demo))):
        fork(demo, made["seq"])
    refused = asking.apply(demo, asking.deployment("mine", 1, "kube-system"), "student")
    assert refused[0]["code"] == 403
    sight = look((390, 844), query="theme=projector&lang=zh", expects="status of 4")

    sight.button("试一试").click()

    sight.says(sight.page.locator(".banner"), "未能分叉： there are 5 forks already")
    sight.page.evaluate("scrollTo(0, 0)")
    assert_well(sight)


def forks(demo: Demo) -> dict[str, dict[str, Any]]:
    listed = json.loads(demo.get(f"{asking.CLUSTER}/forks").read())["forks"]
    return {one["name"]: one for one in listed}


def fork(demo: Demo, seq: int) -> dict[str, Any]:
    body = json.dumps({"seq": seq}).encode()
    answer = demo.ask("POST", f"{asking.CLUSTER}/forks", body, Content_Type="application/json")
    return dict(json.loads(answer.read()))


def control(demo: Demo, cluster: str, **body: Any) -> None:
    sent = json.dumps(body).encode()
    assert (
        demo.ask("POST", f"{cluster}/control", sent, Content_Type="application/json").status == 200
    )


def taint(demo: Demo, cluster: str, node: str) -> None:
    """No new pod goes to the node."""
    body = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node},
        "spec": {"taints": [{"key": "dedicated", "value": "gpu", "effect": "NoSchedule"}]},
    }
    sent = json.dumps(body).encode()
    answer = demo.ask("POST", f"{cluster}/apply?as=admin&server-side=true", sent)
    assert json.loads(answer.read())["results"][0]["code"] == 200


def moved(demo: Demo, cluster: str, node: str) -> bool:
    """Whether the pod was bound, and not to the node."""
    found = json.loads(demo.get(f"{cluster}/comparison").read())["differences"]
    return any(one["what"] == "spec.nodeName" and one["there"] == node for one in found)


def pod_of(demo: Demo, cluster: str) -> str:
    """The last part of the name of the one pod."""
    found = json.loads(demo.get(f"{cluster}/objects?prefix=/registry/pods/default/one-").read())
    [name] = found["objects"]
    return str(name).rpartition("-")[2]


def node_of(demo: Demo) -> str:
    [pod] = (one for name, one in asking.objects(demo, "pods").items() if name.startswith("one-"))
    return str(pod["spec"]["nodeName"])


def assert_well(sight: Sight) -> None:
    sight.settle()
    wrong = [*sight.page.evaluate(measures.LAYOUT), *sight.page.evaluate(measures.CONTRAST)]
    assert wrong == [], json.dumps(wrong)
