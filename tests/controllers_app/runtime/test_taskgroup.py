"""Groups of tasks that end as one, and timers that are dropped before they fire."""

from __future__ import annotations

from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.waiting import Signal
from controllers_app.runtime.taskgroup import TaskGroup
from tests.controllers_app.runtime.mini import advance, settle


def test_a_dropped_timer_neither_fires_nor_moves_a_fast_clock(kernel: Kernel) -> None:
    fired: list[str] = []
    start = kernel.now
    handle = kernel.call_at(start + 600 * SECOND, fired.append, "late")
    kernel.call_at(start + 5 * SECOND, fired.append, "soon")
    kernel.drop(handle)
    while kernel.fire_timer(start, jump=True):
        pass
    assert (fired, kernel.now) == (["soon"], start + 5 * SECOND)
    assert kernel.next_due(jump=False) is None


def test_a_wait_that_was_answered_leaves_no_timer(kernel: Kernel) -> None:
    signal = Signal(kernel)
    answers: list[bool] = []

    async def wait() -> None:
        answers.append(await signal.wait(timeout_seconds=600))

    kernel.spawn("wait", wait())
    settle(kernel)
    signal.set()
    settle(kernel)
    start = kernel.now
    assert answers == [True]
    assert not kernel.fire_timer(start, jump=True)
    assert kernel.now == start


def test_a_killed_group_ends_where_it_stands_and_cuts_its_ties(kernel: Kernel) -> None:
    log: list[str] = []

    async def work() -> None:
        await kernel.sleep(1)
        log.append("worked")

    group = TaskGroup(kernel, "role")
    group.at_end(lambda: log.append("cut"))
    group.spawn("one", work())
    group.spawn("two", work())
    settle(kernel)
    group.kill()
    advance(kernel, 5)
    assert log == ["cut"]
    assert (len(group), len(kernel.tasks)) == (0, 0)


def test_a_task_that_kills_its_own_group_ends_at_its_next_wait(kernel: Kernel) -> None:
    log: list[str] = []
    group = TaskGroup(kernel, "role")

    async def suicide() -> None:
        group.kill()
        log.append("still here")
        await kernel.sleep(1)
        log.append("not any more")

    group.spawn("one", suicide())
    advance(kernel, 5)
    assert log == ["still here"]
    assert len(group) == 0


def test_a_group_is_joined_when_its_last_task_has_ended(kernel: Kernel) -> None:
    log: list[str] = []
    group = TaskGroup(kernel, "role")

    async def work(seconds: int) -> None:
        await kernel.sleep(seconds)
        log.append(f"after {seconds}")

    async def watch() -> None:
        await group.join()
        log.append("joined")

    group.spawn("one", work(3))
    group.spawn("two", work(1))
    kernel.spawn("watch", watch())
    advance(kernel, 5)
    assert log == ["after 1", "after 3", "joined"]
