"""What one frame of the page does when there are many pods: it draws one part while they start,
takes some of what came, moves no square, and measures nothing before all is written."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser import asking
from tests.browser.sight import Look, Sight
from tests.lifecycle.hosting.running import Demo

MANY = 45  # is a crowd
STEPS = 10

# for each frame that changed a part of the page, which
PARTS = """() => {
  const parts = ['bench', 'map', 'inspector', 'timeline'].map((id) => document.getElementById(id));
  window.drawn_ = [];
  new MutationObserver((changes) => {
    const changed = parts.filter((part) => changes.some(({ target }) => part.contains(target)));
    if (changed.length) window.drawn_.push(changed.map(({ id }) => id));
  }).observe(document.body, {
    subtree: true, childList: true, attributes: true, characterData: true,
  });
}"""
# a machine on which a message takes this long, and on which the page got no time for a while: how
# many messages are taken between two frames, of which there is time for four
TAKES_MS, LATE_MS, FEW = 10, 3000, 8
LATE = """([takes, late]) => {
  const idle = (ms) => {
    const end = performance.now() + ms;
    while (performance.now() < end);
  };
  window.taken_ = [0];
  const { parse } = JSON;
  JSON.parse = (text) => {
    idle(takes);
    window.taken_.push(window.taken_.pop() + 1);
    return parse(text);
  };
  const see = () => {
    window.taken_.push(0);
    requestAnimationFrame(see);
  };
  requestAnimationFrame(see);
  setTimeout(() => idle(late));
}"""
# squares that were taken out, and those of them that were put in elsewhere
SQUARES = """() => {
  window.squares_ = { added: 0, moved: 0 };
  new MutationObserver((changes) => {
    const nodes = (list) => changes.flatMap((change) => [...change[list]])
      .filter(({ nodeName }) => nodeName === 'g' || nodeName === 'rect');
    const removed = new Set(nodes('removedNodes'));
    for (const node of nodes('addedNodes'))
      window.squares_[removed.has(node) ? 'moved' : 'added'] += 1;
  }).observe(document.querySelector('.yard'), { subtree: true, childList: true });
}"""
# how often, between two frames, something was measured that had been changed, so laid out at once
MEASURED = """() => {
  window.measured_ = [];
  let count = 0;
  const changes = new MutationObserver(() => undefined);
  changes.observe(document, {
    subtree: true, childList: true, attributes: true, characterData: true,
  });
  const { getBoundingClientRect } = Element.prototype;
  Element.prototype.getBoundingClientRect = function () {
    if (changes.takeRecords().length) count += 1;
    return getBoundingClientRect.call(this);
  };
  const see = () => {
    window.measured_.push(count);
    count = 0;
    requestAnimationFrame(see);
  };
  requestAnimationFrame(see);
}"""

# how many ms pass until so many frames were asked for
RESTS_FRAMES, RESTS_MS = 8, 1000
RESTS = """(frames) => new Promise((told) => {
  const began = performance.now();
  const ask = window.requestAnimationFrame;
  window.requestAnimationFrame = (draw) => {
    frames -= 1;
    if (frames === 0) told(performance.now() - began);
    return ask.call(window, draw);
  };
})"""


def until_known(sight: Sight, demo: Demo) -> None:
    """What happened so far is on the axis, which is drawn behind the other parts."""
    known = "([seq]) => Number(document.querySelector('[role=slider]').ariaValueMax) >= seq"
    sight.until(known, asking.state(demo)["seq"])


def test_a_page_on_which_nothing_moves_asks_for_four_frames_a_second(
    look: Look, demo: Demo
) -> None:
    asking.control(demo, action="pause")
    sight = look()
    until_known(sight, demo)
    sight.settle()
    assert sight.page.evaluate(RESTS, RESTS_FRAMES) > RESTS_MS
    asking.free(demo, "max")
    assert asking.apply(demo, asking.pod("wakes"))[0]["code"] == 201
    until_known(sight, demo)


@pytest.fixture(scope="module")
def waiting(demo: Demo) -> None:
    """Many pods for which there is no node."""
    pods = (asking.pod(f"waits-{n}", nodeSelector={"is": "nowhere"}) for n in range(MANY))
    assert len(asking.apply(demo, "\n---\n".join(pods))) == MANY


@pytest.mark.usefixtures("waiting")
def test_while_many_pods_start_a_frame_draws_one_part_of_the_page(look: Look, demo: Demo) -> None:
    sight = look()
    expect(sight.page.locator("#funnel")).to_be_visible()
    until_known(sight, demo)

    sight.page.evaluate(PARTS)
    for number in range(STEPS):
        assert asking.apply(demo, asking.pod(f"runs-{number}"))[0]["code"] == 201
        until_known(sight, demo)

    drawn = sight.page.evaluate("window.drawn_")
    assert {part for parts in drawn for part in parts} == {"bench", "map", "inspector", "timeline"}
    assert [parts for parts in drawn if len(parts) > 1] == []


@pytest.mark.usefixtures("waiting")
def test_what_came_late_is_taken_a_few_messages_a_frame(look: Look, demo: Demo) -> None:
    sight = look()
    expect(sight.page.locator("#funnel")).to_be_visible()
    # what the page draws when it has arrived is asked for, and drawn at once
    assert asking.apply(demo, asking.pod("first"))[0]["code"] == 201
    until_known(sight, demo)

    sight.page.evaluate(LATE, [TAKES_MS, LATE_MS])
    for number in range(3 * STEPS):
        assert asking.apply(demo, asking.pod(f"late-{number}"))[0]["code"] == 201
    until_known(sight, demo)

    taken = sight.page.evaluate("window.taken_")
    assert sum(taken) >= STEPS
    assert max(taken) <= FEW, taken


def test_a_pod_that_starts_moves_no_square(look: Look, demo: Demo) -> None:
    sight = look()
    expect(sight.page.locator("#funnel")).to_be_visible()
    sight.page.evaluate(SQUARES)

    asking.run(demo, "many", MANY)
    until_known(sight, demo)

    squares = sight.page.evaluate("window.squares_")
    assert squares["added"] >= MANY
    assert squares["moved"] == 0


def test_what_is_drawn_is_measured_once_all_of_it_is_written(look: Look, demo: Demo) -> None:
    sight = look()
    expect(sight.page.locator("#funnel")).to_be_visible()
    until_known(sight, demo)

    sight.page.evaluate(MEASURED)
    for _ in range(STEPS):
        sight.press("ArrowLeft")
        sight.settle()

    assert set(sight.page.evaluate("window.measured_")) == {0, 1}
