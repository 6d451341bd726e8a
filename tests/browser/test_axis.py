"""The time axis: zoomed from microseconds to hours, and back to what suits the story."""

from __future__ import annotations

import json
import re

import pytest
from playwright.sync_api import Locator, expect

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, Look, Sight
from tests.lifecycle.hosting.running import Demo


@pytest.fixture(scope="module", autouse=True)
def commands(demo: Demo) -> None:
    """Two commands some time apart; the cluster stands still behind them."""
    asking.run(demo, "first", 1)
    asking.run(demo, "second", 2)
    asking.control(demo, action="pause")


def test_the_wheel_goes_from_microseconds_to_hours_and_a_button_back(look: Look) -> None:
    sight = look()
    story = width(sight).inner_text()
    at = plot(sight)

    sight.page.mouse.move(at["x"] + 60, at["y"] + at["height"] / 2)
    turn(sight, -400, 16)
    sight.says(width(sight), re.compile(r"^\d+ µs$"))
    times = sight.page.locator(".plot .tick + text").all_text_contents()
    assert len(times) > 2 and len({*times}) == len(times), times
    turn(sight, 400, 40)
    sight.says(width(sight), "48 h")
    expect(sight.page.locator(".plot text").filter(has_text=" h").first).to_be_visible()

    expect(width(sight)).to_have_attribute("aria-pressed", "false")
    width(sight).click()
    expect(width(sight)).to_have_text(story)
    expect(width(sight)).to_have_attribute("aria-pressed", "true")


def test_by_keys_all_is_seen_with_every_command_and_the_story_again(look: Look) -> None:
    sight = look(COMPACT)
    sight.press("+")
    expect(width(sight)).to_have_attribute("aria-pressed", "false")
    sight.press("0")
    everything = sight.button("All")
    expect(everything).to_have_attribute("aria-pressed", "true")
    sight.says(sight.page.locator(".timeline .names"), "commands")
    expect(sight.page.locator(".plot :is(.bar-box, .area)").first).to_be_visible()
    sight.settle()
    assert sight.page.evaluate(measures.LAYOUT) == []
    sight.press("-", "-")
    expect(everything).to_have_attribute("aria-pressed", "false")
    sight.press("0", "0")
    expect(width(sight)).to_have_attribute("aria-pressed", "true")


def test_the_window_stays_when_one_goes_to_a_moment_on_it(look: Look) -> None:
    sight = look()
    sight.press("0")
    expect(sight.button("All")).to_have_attribute("aria-pressed", "true")
    sight.press("+")
    expect(sight.button("All")).to_have_attribute("aria-pressed", "false")
    before = width(sight).inner_text()
    at = plot(sight)
    sight.page.mouse.click(at["x"] + at["width"] / 2, at["y"] + 4)
    expect(sight.page.locator("body")).to_have_class(re.compile("is-past"))
    expect(width(sight)).to_have_text(before)


def test_a_recording_is_zoomed_alike(look: Look, demo: Demo) -> None:
    body = json.dumps({"name": "two", "cluster": "demo"}).encode()
    saved = json.loads(
        demo.ask("POST", "/viz/v1/traces", body, Content_Type="application/json").read()
    )
    sight = look(query=f"theme=light&lang=en&trace={saved['id']}")
    sight.button("Recordings").click()
    sight.page.get_by_role("listitem").filter(has_text="two").get_by_role(
        "button", name="Open"
    ).click()
    sight.says(sight.moment, "recording")
    sight.press("0")
    expect(sight.button("All")).to_have_attribute("aria-pressed", "true")
    expect(sight.page.locator(".plot .ghost").first).to_be_visible()  # what lies ahead
    at = plot(sight)
    sight.page.mouse.move(at["x"] + 20, at["y"] + at["height"] / 2)
    turn(sight, -400, 30)
    sight.says(width(sight), "20 µs")
    # what goes on for seconds is drawn as far as it is seen: a browser makes every dash of a line
    bars = sight.page.locator(".plot .bar-box")
    widths = bars.evaluate_all("(bars) => bars.map((bar) => bar.width.baseVal.value)")
    assert widths and max(widths) < at["width"] + 100, widths


def test_two_fingers_bring_the_axis_closer(look: Look) -> None:
    sight = look(COMPACT, has_touch=True)
    sight.press("0")
    expect(sight.button("All")).to_have_attribute("aria-pressed", "true")
    at = plot(sight)
    y = at["y"] + at["height"] / 2
    wire = sight.context.new_cdp_session(sight.page)

    def touch(kind: str, *places: float) -> None:
        points = [{"x": x, "y": y, "id": i} for i, x in enumerate(places)]
        wire.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})

    middle = at["x"] + at["width"] / 2
    span = asked(sight)
    touch("touchStart", middle - 20)
    touch("touchStart", middle - 20, middle + 20)
    for apart in (40, 80, 160):
        touch("touchMove", middle - apart, middle + apart)
    touch("touchEnd")
    expect(sight.button("All")).to_have_attribute("aria-pressed", "false")
    sight.until("([before]) => document.querySelector('.width').textContent !== before", span)


def width(sight: Sight) -> Locator:
    return sight.page.locator(".tools .width").first


def asked(sight: Sight) -> str:
    return width(sight).inner_text()


def plot(sight: Sight) -> dict[str, float]:
    box = sight.page.locator(".plot").bounding_box()
    assert box
    return {"x": box["x"], "y": box["y"], "width": box["width"], "height": box["height"]}


def turn(sight: Sight, by: int, times: int) -> None:
    for _ in range(times):
        sight.page.mouse.wheel(0, by)
    sight.settle()
