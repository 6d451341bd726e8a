"""The kernel: order, virtual time, timers, freezing, cancelling."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery import kernel as kernels
from apiserver_app.machinery.kernel import FOREVER, OUTSIDE, SECOND, Kernel
from apiserver_app.machinery.task import Cancelled
from apiserver_app.machinery.waiting import Mailbox, Signal


def drive(kernel: Kernel, *, target: int = 0, jump: bool = True) -> None:
    while kernel.run_ready(1000) or kernel.fire_timer(target, jump=jump):
        pass


def test_ready_tasks_run_in_the_order_in_which_they_became_ready() -> None:
    kernel = Kernel()
    seen: list[Any] = []

    async def note(name: str) -> None:
        seen.append(name)
        await kernel.pause()
        seen.append(name + "2")

    for name in "abc":
        kernel.spawn(name, note(name))
    drive(kernel)
    assert seen == ["a", "b", "c", "a2", "b2", "c2"]


def test_outside_tasks_run_before_inside_ones() -> None:
    kernel = Kernel()
    seen: list[Any] = []

    async def note(name: str) -> None:
        seen.append(name)

    kernel.spawn("inside", note("inside"))
    kernel.spawn("outside", note("outside"), lane=OUTSIDE)
    drive(kernel)
    assert seen == ["outside", "inside"]


def test_sleep_moves_virtual_time_to_the_timer_and_no_further() -> None:
    kernel = Kernel(now=5 * SECOND)

    async def nap() -> None:
        await kernel.sleep(2.5)

    kernel.spawn("nap", nap())
    drive(kernel)
    assert kernel.now == int(7.5 * SECOND)


def test_timers_fire_by_due_time_and_then_by_sequence() -> None:
    kernel = Kernel()
    seen: list[Any] = []
    for due, name in ((3, "c"), (1, "a"), (3, "d"), (2, "b")):
        kernel.call_at(due, seen.append, name)
    drive(kernel)
    assert seen == ["a", "b", "c", "d"]


def test_a_timer_waits_while_something_is_ready() -> None:
    kernel = Kernel()
    seen: list[Any] = []
    kernel.call_at(0, seen.append, "timer")

    async def twice() -> None:
        seen.append("task")
        await kernel.pause()
        seen.append("task")

    kernel.spawn("twice", twice())
    kernel.run_ready(1)
    assert kernel.has_ready()
    drive(kernel)
    assert seen == ["task", "task", "timer"]


def test_without_a_jump_no_timer_beyond_the_target_fires() -> None:
    kernel = Kernel()
    seen: list[Any] = []
    kernel.call_at(10, seen.append, "late")
    assert not kernel.fire_timer(9, jump=False)
    assert kernel.fire_timer(10, jump=False)
    assert seen == ["late"]


def test_a_jump_ignores_background_timers() -> None:
    kernel = Kernel()
    seen: list[Any] = []
    kernel.call_at(10 * SECOND, seen.append, "housekeeping", background=True)
    assert not kernel.fire_timer(0, jump=True)
    assert seen == [] and kernel.now == 0


def test_a_jump_fires_the_background_work_it_passes_once_at_the_new_time() -> None:
    kernel, beats = Kernel(), []

    async def heartbeat() -> None:
        while True:
            await kernel.sleep(10, background=True)
            beats.append(kernel.now)

    async def pull() -> None:
        await kernel.sleep(60)

    kernel.spawn("heartbeat", heartbeat(), background=True)
    kernel.spawn("pull", pull())
    drive(kernel)
    assert beats == [60 * SECOND]


def test_a_child_task_inherits_span_and_background() -> None:
    kernel = Kernel()
    seen: list[Any] = []

    async def child() -> None:
        assert kernel.current is not None
        seen.append((kernel.current.span, kernel.current.background))

    async def parent() -> None:
        assert kernel.current is not None
        kernel.current.span = 7
        kernel.spawn("child", child())

    kernel.spawn("parent", parent(), background=True)
    drive(kernel)
    assert seen == [(7, True)]


def test_hold_freezes_everything_and_the_holder_goes_on_first() -> None:
    kernel = Kernel()
    seen: list[Any] = []

    async def holder() -> None:
        seen.append("before")
        await kernel.hold()
        seen.append("after")

    async def other() -> None:
        seen.append("other")

    kernel.spawn("holder", holder())
    kernel.spawn("other", other())
    kernel.call_at(1, seen.append, "timer")
    drive(kernel, target=100)
    assert seen == ["before"] and kernel.frozen
    kernel.frozen = False
    drive(kernel, target=100)
    assert seen == ["before", "after", "other", "timer"]


def test_the_same_inputs_give_the_same_steps_with_and_without_a_pause() -> None:
    def run(pause: bool) -> tuple[int, int]:
        kernel = Kernel()

        async def work() -> None:
            for _ in range(3):
                await kernel.sleep(1)
                if pause:
                    await kernel.hold()

        kernel.spawn("work", work())
        for _ in range(20):
            drive(kernel)
            kernel.frozen = False
        return kernel.now, len(kernel.tasks)

    assert run(pause=False) == run(pause=True)


def test_cancel_reaches_a_sleeping_task_at_once_and_runs_its_clean_up() -> None:
    kernel = Kernel()
    seen: list[Any] = []

    async def sleeper() -> None:
        try:
            await kernel.sleep(1000)
        finally:
            seen.append("cleaned")

    task = kernel.spawn("sleeper", sleeper())
    kernel.run_ready(1)
    kernel.cancel(task)
    kernel.run_ready(1)
    assert seen == ["cleaned"] and task.done and kernel.now == 0
    assert isinstance(task.error, Cancelled)


def test_a_wake_up_that_comes_too_late_is_ignored() -> None:
    kernel = Kernel()
    seen: list[Any] = []
    signal = Signal(kernel)

    async def waiter() -> None:
        seen.append(await signal.wait(timeout_seconds=1))
        await kernel.sleep(10)
        seen.append("slept")

    kernel.spawn("waiter", waiter())
    kernel.run_ready(1)
    signal.set()
    kernel.run_ready(1)
    drive(kernel)
    assert seen == [True, "slept"] and kernel.now == 10 * SECOND


def test_an_error_in_a_task_is_reported_and_ends_only_that_task() -> None:
    kernel, crashes, seen = Kernel(), [], []
    kernel.on_crash = lambda task, error: crashes.append((task.name, str(error)))

    async def broken() -> None:
        raise ValueError("no")

    async def fine() -> None:
        seen.append("fine")

    kernel.spawn("broken", broken())
    kernel.spawn("fine", fine())
    drive(kernel)
    assert crashes == [("broken", "no")] and seen == ["fine"]


def test_an_error_without_a_crash_handler_is_raised() -> None:
    kernel = Kernel()

    async def broken() -> None:
        raise ValueError("no")

    kernel.spawn("broken", broken())
    with pytest.raises(ValueError, match="no"):
        kernel.run_ready(1)


def test_time_never_goes_back() -> None:
    kernel = Kernel(now=50)
    kernel.advance(10)
    assert kernel.now == 50
    kernel.advance(60)
    assert kernel.now == 60


def test_a_task_that_does_many_things_lets_the_others_go_on_between_them() -> None:
    kernel = Kernel()
    box: Mailbox[int] = Mailbox(kernel)
    for number in range(100):
        box.put(number)
    box.close()
    taken: list[int] = []
    seen_by_other: list[int] = []

    async def take() -> None:
        while (number := await box.get()) is not None:
            taken.append(number)

    async def other() -> None:
        while len(taken) < 100:
            seen_by_other.append(len(taken))
            await kernel.pause()

    kernel.spawn("take", take())
    kernel.spawn("other", other())
    drive(kernel)
    assert taken == list(range(100))
    assert seen_by_other == [63]


def test_a_long_request_from_outside_does_not_keep_the_next_one_waiting() -> None:
    kernel = Kernel()
    seen: list[str] = []

    async def long() -> None:
        for _ in range(3):
            seen.append("long")
            await kernel.spend(100)

    async def short() -> None:
        seen.append("short")

    kernel.spawn("long", long(), lane=OUTSIDE)
    kernel.run_ready(1)
    kernel.spawn("short", short(), lane=OUTSIDE)
    drive(kernel)
    assert seen == ["long", "short", "long", "long"]


def test_a_request_of_many_hops_does_not_wait_for_a_step_of_others_at_each() -> None:
    """Steps of others may be long: bodies of megabytes, crowds of pods."""
    kernel, steps = Kernel(), []

    async def work(name: str) -> None:
        while True:
            steps.append(name)
            await kernel.pause()

    async def ask() -> None:
        for _ in range(2 * kernels.OUTSIDE_HOPS):
            waits = kernel.spend_time(100)
            if waits is not None:
                await waits
        steps.append("answered")

    for name in "ab":
        kernel.spawn(name, work(name))
    kernel.spawn("request", ask(), lane=OUTSIDE)
    while "answered" not in steps:
        kernel.run_ready(1)
    assert steps == ["a", "b", "answered"]
    kernel.close()


def test_a_task_that_is_held_pauses_where_it_would_have() -> None:
    def pauses(held: bool) -> list[int]:
        kernel = Kernel()
        seen: list[int] = []

        async def work() -> None:
            for number in range(8):
                before = kernel.steps
                await kernel.spend(20)
                if kernel.steps != before:
                    seen.append(number)
                if held:
                    await kernel.hold()

        kernel.spawn("work", work())
        for _ in range(30):
            kernel.frozen = False
            kernel.run_ready(1)
        return seen

    assert pauses(held=True) == pauses(held=False) == [3, 7]


def test_hops_of_two_tasks_take_their_own_time_and_overlap() -> None:
    kernel = Kernel()
    seen: list[tuple[str, int]] = []

    async def work(name: str, cost: int) -> None:
        for _ in range(2):
            takes = kernel.spend_time(cost)
            if takes is not None:
                await takes
            seen.append((name, kernel.now))

    kernel.spawn("a", work("a", 30))
    kernel.spawn("b", work("b", 50))
    kernel.run_ready(100)
    assert seen == [("a", 30), ("b", 50), ("a", 60), ("b", 100)]


def test_a_hop_suspends_only_where_something_else_is_due() -> None:
    kernel = Kernel()
    waits: list[bool] = []

    async def work() -> None:
        kernel.call_at(250, lambda _: None, None)
        for _ in range(3):
            takes = kernel.spend_time(100)
            waits.append(takes is not None)
            if takes is not None:
                await takes

    kernel.spawn("work", work())
    kernel.run_ready(100)
    assert waits == [False, False, True] and kernel.now == 300


def test_the_hop_of_a_background_task_ends_with_the_wall_clock_or_with_other_work() -> None:
    kernel = Kernel()
    done: list[str] = []

    async def work(name: str) -> None:
        takes = kernel.spend_time(100)
        if takes is not None:
            await takes
        done.append(name)

    kernel.reach = (FOREVER, 50)
    kernel.spawn("lease", work("lease"), background=True)
    kernel.run_ready(100)
    assert done == [] and not kernel.has_ready() and kernel.next_due(jump=True) == 100
    kernel.spawn("pod", work("pod"))
    kernel.run_ready(100)
    assert done == ["lease", "pod"]


def test_what_is_done_together_ends_with_the_last_and_raises_the_first_error() -> None:
    kernel = Kernel()
    done: list[int] = []

    async def one(number: int) -> None:
        await kernel.sleep(number)
        if number == 2:
            raise ValueError(number)
        done.append(number)

    async def all_of_them() -> None:
        try:
            await kernel.together("parts", [one(3), one(2), one(1)])
        except ValueError:
            done.append(0)

    kernel.spawn("whole", all_of_them())
    while kernel.run_ready(100) or kernel.fire_timer(0, jump=True):
        pass
    assert done == [1, 3, 0]


@pytest.mark.parametrize("unbroken", [0, 1, kernels.UNBROKEN_MAX])
@pytest.mark.parametrize("ahead", [0, 3, 40, FOREVER])
def test_how_far_hops_may_go_says_when_steps_are_taken_and_never_in_which_order(
    unbroken: int, ahead: int
) -> None:
    """Ready tasks wait behind hops of a request from outside, however slowly the clock goes."""

    def seen(unbroken: int, ahead: int) -> list[tuple[str, int, int]]:
        kernel, told = Kernel(), list[tuple[str, int, int]]()

        async def outside(name: str) -> None:
            for cost in (3, 11, 1, 7) * 10:
                told.append((name, kernel.now, kernel.steps))
                waits = kernel.spend_time(cost)
                if waits is not None:
                    await waits

        async def inside(name: str) -> None:
            for cost in (2, 0, 0, 19, 0) * 8:
                told.append((name, kernel.now, kernel.steps))
                if cost:
                    await kernel.sleep(cost / SECOND)
                else:
                    await kernel.pause()

        kernel.unbroken_max = unbroken
        kernel.spawn("a", outside("a"), lane=OUTSIDE)
        for name in "xyz":
            kernel.spawn(name, inside(name))
        target = 0
        while kernel.tasks:
            kernel.reach = (target + ahead, target + ahead)
            while kernel.run_ready(1):
                pass
            assert not kernel.has_ready()
            if not kernel.fire_timer(target, jump=False):
                target += 1
        return told

    assert seen(unbroken, ahead) == seen(0, FOREVER)
