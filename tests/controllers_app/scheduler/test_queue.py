"""The scheduling queue: order, back-off, what brings pods back, what happens during a turn."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver_app.machinery.kernel import SECOND, Kernel
from controllers_app.scheduler import framework
from controllers_app.scheduler.framework import ClusterEvent
from controllers_app.scheduler.queue import ACTIVE, BACKING_OFF, TAKEN, WAITING, SchedulingQueue

PLACES = (ACTIVE, BACKING_OFF, WAITING, TAKEN)
ANYTHING = ClusterEvent(framework.NODE_ADDED, 9)


class Silent:
    """A probe that nobody listens to."""

    def tell(self, kind: str, *fields: Any, span: int | None = None) -> int:
        return 0

    async def hop(self, kind: str, *fields: Any, span: int | None = None) -> int:
        return 0


class Desk:
    """A queue and its clock."""

    def __init__(self, *, helps: bool = True, pops_backoff: bool = False) -> None:
        self.kernel = Kernel()
        self.queue = SchedulingQueue(
            self.kernel, Silent(), lambda event, queued: helps, pops_backoff=pops_backoff
        )
        self.taken: list[str] = []

    def add(self, name: str, priority: int = 0, revision: int = 1, **labels: str) -> None:
        self.queue.add(
            {
                "metadata": {"name": name, "namespace": "d", "uid": name, "labels": labels},
                "spec": {"priority": priority},
            },
            revision,
        )

    def change(self, name: str, revision: int) -> None:
        pod = {"metadata": {"name": name, "namespace": "d", "uid": name}, "spec": {}}
        event = ClusterEvent(framework.POD_UPDATED, revision, assigned=False)
        self.queue.update(pod, event)

    def take(self) -> str:
        async def one() -> None:
            key, _ = await self.queue.take()
            self.taken.append(key)

        task = self.kernel.spawn("take", one())
        self.kernel.run_ready(10)
        if not task.done:
            self.kernel.kill(task)
            return ""
        return self.taken[-1]

    def fail(self, name: str) -> None:
        self.queue.failed(f"d/{name}", ("Plugin",))

    def place(self) -> str:
        """Where the only pod is."""
        (place,) = [place for place in PLACES if self.queue.count(place)]
        return place

    def pass_seconds(self, seconds: float) -> None:
        end = self.kernel.now + int(seconds * SECOND)
        while self.kernel.fire_timer(end, jump=False):
            pass
        self.kernel.advance(end)


def test_higher_priority_goes_first_and_age_decides_among_equals() -> None:
    desk = Desk()
    desk.add("old")
    desk.kernel.advance(10)
    desk.add("new")
    desk.add("high", priority=1000)
    assert [desk.take() for _ in range(4)] == ["d/high", "d/old", "d/new", ""]


def test_a_refused_pod_waits_until_something_helps_and_then_backs_off() -> None:
    desk = Desk()
    desk.add("a")
    desk.take()
    desk.fail("a")
    desk.pass_seconds(5)
    assert desk.place() == WAITING and desk.take() == ""
    desk.queue.happened(ANYTHING)
    assert desk.place() == ACTIVE  # its second of back-off is over


def test_the_back_off_doubles_from_one_second_to_ten() -> None:
    desk = Desk()
    desk.add("a")
    for seconds in (1, 2, 4, 8, 10, 10):
        assert desk.take() == "d/a"
        desk.fail("a")
        desk.queue.happened(ANYTHING)
        assert desk.place() == BACKING_OFF
        desk.pass_seconds(seconds - 0.001)
        assert desk.place() == BACKING_OFF
        desk.pass_seconds(0.001)
        assert desk.place() == ACTIVE


def test_a_pod_that_backs_off_goes_early_when_nobody_else_wants_a_turn() -> None:
    desk = Desk(pops_backoff=True)
    desk.add("a")
    desk.take()
    desk.fail("a")
    desk.queue.happened(ANYTHING)
    desk.add("b")
    assert [desk.take(), desk.take()] == ["d/b", "d/a"]
    assert desk.kernel.next_due(jump=True) is None  # its timer is gone


def test_after_an_error_the_back_off_is_always_waited_for() -> None:
    desk = Desk(pops_backoff=True)
    desk.add("a")
    desk.take()
    desk.queue.retry("d/a")
    assert desk.take() == "" and desk.place() == BACKING_OFF
    desk.pass_seconds(1)
    assert desk.take() == "d/a"


def test_what_happens_during_a_turn_is_not_lost() -> None:
    desk = Desk()
    desk.add("a")
    desk.take()
    desk.queue.happened(ANYTHING)
    desk.fail("a")
    assert desk.place() == BACKING_OFF


def test_what_does_not_help_leaves_the_pod_waiting() -> None:
    desk = Desk(helps=False)
    desk.add("a")
    desk.take()
    desk.queue.happened(ANYTHING)
    desk.fail("a")
    desk.queue.happened(ANYTHING)
    assert desk.place() == WAITING


def test_a_change_of_its_own_that_helps_brings_a_pod_back_also_during_its_turn() -> None:
    desk = Desk()
    desk.add("a")
    desk.take()
    desk.change("a", revision=2)
    desk.fail("a")
    assert desk.place() == BACKING_OFF
    desk.pass_seconds(2)
    desk.take()
    desk.fail("a")
    desk.change("a", revision=3)
    assert desk.place() == BACKING_OFF


def test_a_change_of_its_own_that_does_not_help_leaves_a_pod_waiting() -> None:
    desk = Desk(helps=False)
    desk.add("a")
    desk.take()
    desk.change("a", revision=2)
    desk.fail("a")
    desk.change("a", revision=3)
    assert desk.place() == WAITING


def test_a_new_status_alone_does_not_bring_a_pod_back() -> None:
    desk = Desk()
    desk.add("a")
    desk.take()
    desk.fail("a")
    desk.add("a", revision=5)
    assert desk.place() == WAITING


def test_who_waited_five_minutes_is_tried_again() -> None:
    desk = Desk(helps=False)
    desk.add("a")
    desk.take()
    desk.fail("a")
    desk.pass_seconds(299)
    desk.queue.flush_old()
    assert desk.place() == WAITING
    desk.pass_seconds(1)
    desk.queue.flush_old()
    assert desk.place() == ACTIVE


def test_a_removed_pod_leaves_no_timer_that_drags_the_clock() -> None:
    desk = Desk()
    desk.add("a")
    desk.take()
    desk.queue.retry("d/a")
    desk.queue.remove("d/a")
    assert desk.kernel.next_due(jump=True) is None and desk.take() == ""


MOVES = st.lists(
    st.tuples(
        st.sampled_from(["add", "take", "fail", "retry", "remove", "event", "pass", "flush"]),
        st.integers(0, 3),
    ),
    max_size=60,
)


@pytest.mark.parametrize("pops", [True, False])
@settings(max_examples=60, deadline=None)
@given(moves=MOVES)
def test_a_pod_is_in_one_place_and_gets_a_turn_in_the_end(
    pops: bool, moves: list[tuple[str, int]]
) -> None:
    desk = Desk(pops_backoff=pops)
    known: set[str] = set()
    turn = ""
    for move, number in moves:
        name = f"p{number}"
        if move == "add" and f"d/{name}" != turn:
            desk.add(name)
            known.add(f"d/{name}")
        elif move == "take" and not turn:
            turn = desk.take()
            assert turn == "" or turn in known
        elif move in ("fail", "retry") and turn:
            (desk.fail if move == "fail" else lambda n: desk.queue.retry(f"d/{n}"))(turn[2:])
            turn = ""
        elif move == "remove" and f"d/{name}" != turn:
            desk.queue.remove(f"d/{name}")
            known.discard(f"d/{name}")
        elif move == "event":
            desk.queue.happened(ANYTHING)
        elif move == "pass":
            desk.pass_seconds(3)
        elif move == "flush":
            desk.queue.flush_old()
        assert len(desk.queue) == len(known)
        assert sum(map(desk.queue.count, PLACES)) == len(known)
        assert desk.queue.count(TAKEN) == bool(turn)
    if turn:
        desk.fail(turn[2:])
    desk.queue.happened(ANYTHING)
    desk.pass_seconds(20)
    assert {desk.take() for _ in known} == known
