"""Each worker stays in its lane, and none is idle while another has work."""

from __future__ import annotations

from tests.suite import lanes

BROWSER = [f"tests/browser/test_{number}.py" for number in range(3)]
DEMOS = ["tests/conformance/test_a.py", "tests/lifecycle/hosting/test_b.py"]
REST = ["tests/sim/test_story.py", "tests/apiserver_app/test_gates.py"]


def test_a_worker_takes_the_first_module_of_its_lane() -> None:
    waiting = [*REST, *DEMOS, *BROWSER]

    taken = [lanes.next_scope(waiting, lane) for lane in range(len(lanes.LANES))]

    assert taken == [BROWSER[0], DEMOS[0], REST[0]]


def test_one_whose_lane_is_empty_goes_where_most_is_left() -> None:
    assert lanes.next_scope([*REST, *BROWSER], 1) == BROWSER[0]
    assert lanes.next_scope([*REST, BROWSER[0]], 1) == REST[0]
