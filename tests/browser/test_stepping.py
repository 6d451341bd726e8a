"""The cluster stands still when told to: by the pause key, hop by hop, or at a breakpoint."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import APIResponse, Page, Route, expect

from tests.browser import asking
from tests.browser.sight import COMPACT, GATES, Look, Sight
from tests.conformance import kubectl as kubectls
from tests.conformance.kubectl import Kubectl
from tests.lifecycle.hosting.running import WAIT_SECONDS, Demo

SPEED = 10
STEPS_MAX = 100  # hops of others may come between


@pytest.fixture(scope="module")
def kubectl(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    return Kubectl(kubectls.newest(), demo.data_dir, tmp_path_factory.mktemp("home"))


@pytest.fixture(autouse=True)
def running(demo: Demo) -> None:
    """Each test begins with a cluster that runs freely."""
    asking.free(demo, speed=10)


def test_a_paused_cluster_goes_on_hop_by_hop_and_by_request(
    look: Look, demo: Demo, kubectl: Kubectl
) -> None:
    sight = look()
    before = {*kubectl("get", "pods", "--output=name").split()}  # its discovery is cached now
    sight.press("Space")
    sight.says(sight.moment, "paused")
    sight.send(asking.pod("stepped"))
    sight.says(sight.page.get_by_role("log"), "Waits with the cluster.")
    sight.says(sight.page.locator("#client"), "1 request waits until the cluster goes on")
    waiting = kubectl.open("get", "pods", "--output=name")
    sight.says(sight.page.locator("#client"), "2 requests wait until the cluster goes on")

    # the request comes in, then hop by hop by button and by key
    gates: list[str] = []
    for turn in range(STEPS_MAX):
        with one_step(sight, demo):
            if turn % 2:
                sight.button("Forward one hop").click()
            else:
                sight.press("ArrowRight")
        held = sight.held
        if held.count() and (gate := str(held.get_attribute("id"))) not in gates:
            gates.append(gate)
            assert sight.headline.inner_text() == sight.page.title().split(" · ")[0]
        if "g-mutating" in gates:
            break
    assert gates == [f"g-{gate}" for gate in GATES[:7]]
    assert waiting.poll() is None, "kubectl waits with the cluster"
    assert "stepped" not in pods(demo)

    with one_step(sight, demo):
        sight.press("Shift+ArrowRight")
    with one_step(sight, demo):
        sight.button("Forward one request").click()

    sight.button("Go on").click()
    out, err = waiting.communicate(timeout=WAIT_SECONDS)
    assert (waiting.returncode, err) == (0, "")
    assert {*out.split()} - {"pod/stepped"} == before
    sight.says(sight.page.get_by_role("log"), "pod/stepped created")
    sight.button(re.compile("^Speed")).click()
    sight.button("max").click()
    kubectl.until(
        lambda out: out == "Running", *["get", "pod", "stepped", "-o", "jsonpath={.status.phase}"]
    )
    sight.says(sight.moment, "live")
    expect(sight.held).to_have_count(0)


def test_a_held_read_is_shown_though_it_changes_nothing(
    look: Look, demo: Demo, kubectl: Kubectl
) -> None:
    sight = look()
    kubectl("get", "pods")
    sight.press("Space")
    sight.says(sight.moment, "paused")
    reading = kubectl.open("get", "pods", "--output=name")
    sight.says(sight.page.locator("#client"), "1 request waits until the cluster goes on")
    server = sight.page.locator("#api")
    for _ in range(STEPS_MAX):
        with one_step(sight, demo):
            sight.press("ArrowRight")
        if "GET /api/v1/namespaces/default/pods" in str(server.text_content()):
            break
    sight.says(server, "GET /api/v1/namespaces/default/pods")
    sight.says(sight.page.locator("#client"), "kubectl")
    assert reading.poll() is None
    sight.press("Space")
    assert reading.communicate(timeout=WAIT_SECONDS)[1] == ""
    assert reading.returncode == 0


def test_a_pennant_holds_the_whole_cluster_inside_admission(look: Look, demo: Demo) -> None:
    sight = look(COMPACT)
    sight.button("API server").click()  # the gates take the centre
    sight.button("Breakpoint at Mutating admission").click()
    expect(sight.button("1 breakpoint")).to_be_visible()

    sight.send(asking.pod("held"))

    expect(sight.gate("mutating")).to_have_class(re.compile("is-hold"))
    sight.says(sight.gate("mutating"), "held")
    sight.says(sight.moment, "paused at a breakpoint")
    sight.says(sight.headline, re.compile("admission|plugin|token"))
    sight.says(sight.page.get_by_role("log"), "Waits with the cluster.")
    assert "held" not in pods(demo)
    sight.page.get_by_role("tab", name="Objects").click()
    expect(sight.page.get_by_title("Pod held")).to_have_count(0)

    sight.press("b")  # the gate we are at: its breakpoint goes
    expect(sight.button("0 breakpoints")).to_be_visible()
    sight.button("Go on").click()
    expect(sight.page.get_by_title("Pod held")).to_be_visible()
    sight.says(sight.moment, "live")
    assert "held" in pods(demo)


def test_a_pod_that_is_sent_before_the_cluster_has_the_breakpoint_is_held_by_it(
    look: Look, demo: Demo
) -> None:
    late: list[Route] = []
    sent: list[str] = []

    def keep(page: Page) -> None:
        page.route("**/control", lambda route: late.append(route))
        page.on("request", lambda one: sent.append(urlsplit(one.url).path.rpartition("/")[2]))

    sight = look(COMPACT, before=keep)
    sight.button("API server").click()
    sight.button("Breakpoint at Mutating admission").click()
    sight.send(asking.pod("early"))
    sight.says(sight.page.get_by_role("log"), "kubectl create")
    # the handler runs while Playwright waits for the page
    (route,) = asking.until(lambda: late if sight.until("() => true") else [])
    assert "apply" not in sent

    route.continue_()

    expect(sight.gate("mutating")).to_have_class(re.compile("is-hold"))
    assert "early" not in pods(demo)
    asking.free(demo, speed=10)
    sight.says(sight.page.get_by_role("log"), "pod/early created")


def test_the_question_of_the_token_stops_at_the_plugin_that_adds_it(look: Look, demo: Demo) -> None:
    sight = look()
    sight.button(re.compile("^0 breakpoints")).click()
    sight.button("the ServiceAccount plugin, for a new pod").click()

    sight.send(asking.pod("token"))

    expect(sight.gate("mutating")).to_have_class(re.compile("is-hold"))
    sight.says(sight.gate("mutating"), "held")
    sight.says(sight.gate("mutating"), "ServiceAccount")
    sight.says(sight.headline, "The ServiceAccount plugin")
    sight.says(sight.page.get_by_role("complementary"), "kube-api-access")
    assert "token" not in pods(demo)

    sight.button(re.compile("^1 breakpoint")).click()
    sight.button("Remove all").click()
    sight.button("Go on").click()
    sight.says(sight.page.get_by_role("log"), "pod/token created")
    sight.says(sight.moment, "live")


def test_an_answer_that_comes_late_takes_nothing_back_that_the_feed_said(
    look: Look, demo: Demo
) -> None:
    late: list[tuple[Route, APIResponse]] = []

    def keep(page: Page) -> None:
        """Before the page opens: what an open page asks next may escape Chromium's interception."""
        page.route("**/control", lambda route: late.append((route, route.fetch())))

    sight = look(COMPACT, before=keep)
    sight.press("Space")
    sight.says(sight.moment, "paused")
    # the handler runs while Playwright waits for the page
    ((route, answer),) = asking.until(lambda: late if sight.until("() => true") else [])
    asking.control(demo, action="resume")
    sight.says(sight.moment, "live")

    assert answer.json()["mode"] == "paused"
    with sight.page.expect_response("**/control"):
        route.fulfill(response=answer)

    sight.settle()
    sight.says(sight.moment, "live")
    expect(sight.button("Pause")).to_be_visible()


def test_why_a_pause_failed_is_said_over_the_map_until_it_is_closed_or_works(
    look: Look, demo: Demo
) -> None:
    why = "the cluster cannot be reached just now"

    def refuse(page: Page) -> None:
        page.route("**/control", lambda route: route.fulfill(status=503, json={"detail": why}))

    sight = look(COMPACT, before=refuse, expects="status of 503")
    alert = sight.page.locator(".map").get_by_role("alert")
    sight.press("Space")
    sight.says(alert, f"That did not work: {why}")
    alert.get_by_role("button", name="Close").click()
    expect(alert).to_have_count(0)

    sight.press("Space")
    sight.says(alert, why)
    sight.page.unroute("**/control")
    sight.press("Space")
    sight.says(sight.moment, "paused")
    expect(alert).to_have_count(0)


def test_two_tabs_have_one_clock_and_each_its_own_moment(look: Look) -> None:
    one, other = look(COMPACT), look(COMPACT)
    one.press("Space")
    for tab in (one, other):
        tab.says(tab.moment, "paused")
    one.press("Shift+ArrowLeft")
    one.says(one.moment, "in the past")
    other.says(other.moment, "paused")

    other.press("Space")

    other.says(other.moment, "live")
    one.says(one.moment, "in the past")
    one.press("l")
    one.says(one.moment, "live")


def test_the_speed_menu_has_the_pace_of_the_story_and_that_of_the_cluster(
    look: Look, demo: Demo
) -> None:
    sight = look(COMPACT)
    sight.button(re.compile("^Speed")).click()
    menu = sight.page.locator(".menu").filter(has=sight.button("Read"))
    expect(menu.get_by_role("heading")).to_have_text(["Story", "Cluster"])
    paces = "Read Watch Fast ×0.1 ×0.5 ×1 ×2 ×5 ×10 ×100 max".split()
    expect(menu.get_by_role("button")).to_have_text(paces)
    sight.button("×0.1").click()
    asking.until(lambda: asking.state(demo)["speed"] == 0.1)
    expect(sight.button("Speed ×0.1")).to_be_visible()


@contextlib.contextmanager
def one_step(sight: Sight, demo: Demo) -> Iterator[None]:
    """What is done within makes the cluster go on and stand still again; the page shows where."""
    before = asking.state(demo)["seq"]
    yield
    now = asking.until(lambda: later(asking.state(demo), before))
    slider = "Number(document.querySelector('[role=slider]').getAttribute('aria-valuenow'))"
    sight.until(f"([seq]) => {slider} >= seq", now["seq"])
    sight.settle()
    sight.says(sight.moment, "paused")


def later(state: dict[str, Any], seq: int) -> dict[str, Any]:
    """The state, if the cluster is held at a later record."""
    return state if state["held"] and state["held"]["seq"] > seq else {}


def pods(demo: Demo) -> list[str]:
    return sorted(asking.objects(demo, "pods"))
