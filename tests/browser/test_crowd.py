"""Two hundred pods at full speed: the page counts them and stays quick."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser import asking
from tests.browser.sight import Look
from tests.lifecycle.hosting.running import Demo

DEMO = ("--speed", "max")
PODS = 200
ELEMENTS_MAX = 2500
FRAME_MS_MAX = 200
PROBE = """() => {
  window.frames_ms = [];
  let before = performance.now();
  const frame = (now) => {
    window.frames_ms.push(now - before);
    before = now;
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}"""


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
        sum(int(one) for one in sight.page.locator(".yard header span").all_inner_texts()) == PODS
    )
    sight.settle()
    # settled: now a stretch of ordinary life, with something to draw
    sight.page.evaluate(PROBE)
    before = asking.state(demo)["seq"]
    asking.control(demo, action="speed", speed=1)
    assert asking.apply(demo, asking.pod("one-more"))[0]["code"] == 201
    sight.says(sight.page.get_by_role("region", name="Requests and objects"), "one-more")
    sight.page.get_by_role("slider").hover()
    sight.press("+", "-", "ArrowLeft", "l")
    sight.until("() => window.frames_ms.length > 60")
    slow = [ms for ms in sight.page.evaluate("window.frames_ms") if ms > FRAME_MS_MAX]
    assert not slow, f"frames took {slow} ms"
    assert asking.state(demo)["seq"] > before
    assert sight.page.evaluate("document.querySelectorAll('*').length") < ELEMENTS_MAX
