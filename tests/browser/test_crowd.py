"""Many pods at full speed: the page counts them, stays small, draws with few calls, and shows where
the cluster is held."""

from __future__ import annotations

from playwright.sync_api import CDPSession, expect

from tests.browser import asking
from tests.browser.sight import COMPACT, Look, Sight
from tests.lifecycle.hosting.running import Demo

PODS = 200
ELEMENTS_MAX = 2500
# of functions, while one pod is made and the keys of the timeline are pressed; a page of three
# pods takes 12,000
CALLS_OF_A_DRAWING_MAX = 25_000
TOKEN = {
    "id": "token",
    "kind": "plugin",
    "plugin": "ServiceAccount",
    "phase": "mutating",
    "resource": "pods",
    "verb": "create",
}
SCRIPT, DRAWING = "/static/joined/js/main.js", "_draw"


def calls_of_a_drawing(sight: Sight, wire: CDPSession, demo: Demo, name: str) -> int:
    """While a pod is made and the keys of the timeline are pressed."""
    wire.send("Profiler.takePreciseCoverage")  # counts anew from here
    before = asking.state(demo)["seq"]
    assert asking.apply(demo, asking.pod(name))[0]["code"] == 201
    sight.says(sight.page.get_by_role("region", name="Requests and objects"), name)
    sight.page.get_by_role("slider").hover()
    sight.press("+", "-", "ArrowLeft", "l")
    sight.settle()
    assert asking.state(demo)["seq"] > before
    calls = drawings = 0
    for script in wire.send("Profiler.takePreciseCoverage")["result"]:
        for function in script["functions"] if SCRIPT in script["url"] else ():
            count = function["ranges"][0]["count"]
            calls += count
            drawings += count if function["functionName"] == DRAWING else 0
    return calls // drawings


def test_two_hundred_pods_leave_the_page_quick_and_small(look: Look, demo: Demo) -> None:
    sight = look()

    sight.send(asking.deployment("crowd", PODS))

    sight.says(sight.page.locator("#funnel"), f"{PODS} wanted")
    ready = (
        "([n]) => document.querySelector('#funnel .stage:nth-of-type(4)')?.textContent.includes(n)"
    )
    sight.until(ready, f"{PODS} ready")
    squares = sight.page.locator(".yard svg [data-key], .yard .me")
    expect(squares.nth(PODS - 1)).to_be_attached()
    assert (
        sum(int(text) for text in sight.page.locator(".yard header span").all_inner_texts()) == PODS
    )
    sight.settle()
    # settled: now ordinary life, with something to draw
    asking.control(demo, action="speed", speed=1)
    wire = sight.context.new_cdp_session(sight.page)
    wire.send("Profiler.enable")
    wire.send("Profiler.startPreciseCoverage", {"callCount": True, "detailed": False})
    for number in range(3):
        calls = calls_of_a_drawing(sight, wire, demo, f"one-more-{number}")
        assert 0 < calls < CALLS_OF_A_DRAWING_MAX
    assert sight.page.evaluate("document.querySelectorAll('*').length") < ELEMENTS_MAX


def test_in_a_crowd_the_picture_is_where_the_cluster_is_held(look: Look, demo: Demo) -> None:
    asking.free(demo, "max")
    asking.run(demo, "many", 45)
    sight = look(COMPACT)
    expect(sight.page.locator("#funnel")).to_be_visible()

    asking.control(demo, action="breakpoint", set=[TOKEN])
    sight.send(asking.deployment("held", 1))

    expect(sight.held).to_be_visible()
    sight.says(sight.headline, "The ServiceAccount plugin gave this pod an identity.")
    sight.button("Go on").click()
    expect(sight.page.locator("#funnel")).to_be_visible()
