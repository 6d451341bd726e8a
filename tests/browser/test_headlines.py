"""Headlines and gates in little room: names stay whole, and nothing lies over them."""

from __future__ import annotations

import pytest
from playwright.sync_api import expect

from tests.browser import asking
from tests.browser.sight import Look
from tests.lifecycle.hosting.running import Demo

PHONE = (390, 844)
# names, and numbers with their unit, that stand on two lines though one has room for them
BROKEN = """() => [...document.querySelectorAll('.inspector h1 .named')].filter((one) => {
  const line = parseFloat(getComputedStyle(one).lineHeight);
  const room = one.parentElement.getBoundingClientRect().width;
  const free = one.cloneNode(true);
  free.style.cssText = 'max-width: none; white-space: nowrap; position: absolute';
  one.parentElement.append(free);
  const fits = free.getBoundingClientRect().width <= room;
  free.remove();
  return fits && one.getBoundingClientRect().height > 1.5 * line;
}).map((one) => one.textContent)"""


# gates whose name reaches under the pennant beside it, or whose question is cut
CROWDED = """() => [...document.querySelectorAll('.gate')].filter((gate) => {
  const end = (what) => gate.querySelector(what).getBoundingClientRect();
  const isBeside = end('.verdict').top < end('.name').top + end('.name').height / 2;
  const isUnder = isBeside && end('.name').right > end('.verdict').left;
  const room = gate.closest('.corridor').getBoundingClientRect().right;
  return isUnder || Math.max(end('.verdict').right, end('.name').right) > room;
}).map((gate) => gate.textContent)"""


@pytest.mark.parametrize("width", [390, 360, 1024])
def test_gates_of_an_idle_cluster_have_room_for_a_name_a_pennant_and_a_question(
    look: Look, width: int
) -> None:
    sight = look((width, 844), has_touch=True)
    expect(sight.page.locator(".gate .pennant").first).to_be_visible()
    expect(sight.gate("validating")).to_contain_text("Does policy agree?")
    assert sight.page.evaluate(CROWDED) == []


@pytest.fixture(scope="module")
def told(demo: Demo) -> None:
    asking.run(demo, "nginx")


@pytest.mark.usefixtures("told")
@pytest.mark.parametrize("size", [(1366, 768), PHONE])
def test_names_and_units_stay_on_one_line(look: Look, size: tuple[int, int]) -> None:
    sight = look(size)
    named = set[str]()
    for _ in range(30):
        named |= set(sight.page.locator(".inspector h1 .named").all_inner_texts())
        assert sight.page.evaluate(BROKEN) == []
        sight.press("Shift+ArrowLeft")
        sight.settle()
    assert any("node-" in one for one in named), named
    assert any(one.endswith(" s") for one in named), named
