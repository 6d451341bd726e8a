"""The work queue's three invariants, its delays and the causes it remembers."""

from __future__ import annotations

from apiserver_app.machinery.bucket import Bucket
from apiserver_app.machinery.kernel import Kernel
from controllers_app.runtime.workqueue import CAUSES_MAX, Item, WorkQueue
from tests.controllers_app.runtime.mini import RecordingProbe, advance, settle


def take(kernel: Kernel, queue: WorkQueue) -> Item | None:
    """The next item if there is one now."""
    got: list[Item | None] = []

    async def getter() -> None:
        got.append(await queue.get())

    task = kernel.spawn("getter", getter())
    settle(kernel)
    if not got:
        kernel.kill(task)
        return None
    return got[0]


def ops(probe: RecordingProbe) -> list[str]:
    return [fields[1] for fields in probe.of("queue")]


def test_five_quick_updates_are_one_key_with_all_their_revisions(
    kernel: Kernel, probe: RecordingProbe
) -> None:
    queue = WorkQueue(kernel, probe, "q")
    for revision in (3, 4, 5, 6, 7):
        queue.add("a", revision)
    assert len(queue) == 1
    assert take(kernel, queue) == Item("a", (3, 4, 5, 6, 7))
    assert ops(probe) == ["add", "dirty", "dirty", "dirty", "dirty", "get"]


def test_a_long_burst_keeps_the_first_causes_and_the_newest(
    kernel: Kernel, probe: RecordingProbe
) -> None:
    queue = WorkQueue(kernel, probe, "q")
    for revision in range(1, 101):
        queue.add("a", revision)
    item = take(kernel, queue)
    assert item is not None
    assert item.revs == (*range(1, CAUSES_MAX), 100)


def test_a_key_being_processed_waits_until_done(kernel: Kernel, probe: RecordingProbe) -> None:
    queue = WorkQueue(kernel, probe, "q")
    queue.add("a", 1)
    assert take(kernel, queue) == Item("a", (1,))
    queue.add("a", 2)
    assert take(kernel, queue) is None
    queue.done("a")
    assert take(kernel, queue) == Item("a", (2,))


def test_retry_doubles_its_delay_and_keeps_the_causes(
    kernel: Kernel, probe: RecordingProbe
) -> None:
    queue = WorkQueue(kernel, probe, "q")
    queue.add("a", 9)
    delays = []
    for _ in range(4):
        item = take(kernel, queue)
        assert item == Item("a", (9,))
        delays.append(queue.retry("a"))
        queue.done("a")
        advance(kernel, delays[-1])
    assert delays == [0.005, 0.01, 0.02, 0.04]
    queue.forget("a")
    assert queue.failures("a") == 0


def test_retry_never_waits_longer_than_its_limit(kernel: Kernel, probe: RecordingProbe) -> None:
    queue = WorkQueue(kernel, probe, "q")
    for _ in range(40):
        last = queue.retry("a")
    assert last == 1000.0


def test_a_long_retry_does_not_drag_a_fast_clock(kernel: Kernel, probe: RecordingProbe) -> None:
    queue = WorkQueue(kernel, probe, "q", backoff_seconds_base=60)
    queue.retry("a")
    assert not kernel.fire_timer(kernel.now, jump=True)


def test_of_two_delayed_adds_the_earlier_counts(kernel: Kernel, probe: RecordingProbe) -> None:
    queue = WorkQueue(kernel, probe, "q")
    queue.add_after("a", 5)
    queue.add_after("a", 2)
    queue.add_after("a", 9)
    advance(kernel, 2)
    assert take(kernel, queue) == Item("a", ())
    queue.done("a")
    advance(kernel, 20)
    assert len(queue) == 0


def test_set_after_replaces_the_wait_and_leaves_no_timer_behind(
    kernel: Kernel, probe: RecordingProbe
) -> None:
    queue = WorkQueue(kernel, probe, "q")
    queue.set_after("a", 600)
    queue.set_after("a", 0)
    start = kernel.now
    assert not kernel.fire_timer(start, jump=True)
    assert kernel.now == start


def test_what_is_asked_for_later_while_a_key_is_in_process_is_not_taken_back(
    kernel: Kernel, probe: RecordingProbe
) -> None:
    queue = WorkQueue(kernel, probe, "q")
    queue.set_after("a", 600)
    queue.add("a", 4)
    take(kernel, queue)
    queue.add_after("a", 1, 5)
    queue.set_after("a", 0)
    queue.done("a")
    advance(kernel, 1)
    assert take(kernel, queue) == Item("a", (5,))
    queue.add_after("a", 9, 6)
    queue.set_after("a", 2)
    queue.done("a")
    advance(kernel, 2)
    assert take(kernel, queue) is not None


def test_a_delayed_add_remembers_what_was_being_worked_on(
    kernel: Kernel, probe: RecordingProbe
) -> None:
    queue = WorkQueue(kernel, probe, "q")
    queue.add("a", 4)
    queue.add("a", 5)
    take(kernel, queue)
    queue.set_after("a", 1)
    queue.done("a")
    advance(kernel, 1)
    assert take(kernel, queue) == Item("a", (4, 5))


def test_shutting_down_ends_the_workers(kernel: Kernel, probe: RecordingProbe) -> None:
    queue = WorkQueue(kernel, probe, "q")
    got: list[object] = []

    async def worker() -> None:
        got.append(await queue.get())

    kernel.spawn("worker", worker())
    settle(kernel)
    queue.shut_down()
    settle(kernel)
    assert got == [None]


def test_bucket_lets_a_burst_pass_and_then_one_per_gap() -> None:
    bucket = Bucket(10, 3)
    assert [bucket.take(0) for _ in range(5)] == [0, 0, 0, 0.1, 0.2]
    assert bucket.try_take(0) == 0.3
    assert bucket.try_take(1_000_000) == 0


def test_a_key_that_comes_back_too_often_is_held_back_with_all_its_causes(
    kernel: Kernel, probe: RecordingProbe
) -> None:
    queue = WorkQueue(kernel, probe, "q")
    queue.pace(1, 2)
    for revision in (1, 2):
        queue.add("a", revision)
        assert take(kernel, queue) == Item("a", (revision,))
        queue.done("a")
    queue.add("a", 3)
    queue.add("a", 4)
    queue.add("b", 5)
    assert take(kernel, queue) == Item("b", (5,))
    assert take(kernel, queue) is None
    advance(kernel, 1)
    assert take(kernel, queue) == Item("a", (3, 4))


def test_a_held_back_key_becomes_dirty_again_only_once_while_it_is_processed(
    kernel: Kernel, probe: RecordingProbe
) -> None:
    queue = WorkQueue(kernel, probe, "q")
    queue.pace(1, 1)
    queue.add("a", 1)
    assert take(kernel, queue) == Item("a", (1,))
    queue.add("a", 2)
    queue.done("a")
    assert take(kernel, queue) is None
    advance(kernel, 1)
    assert take(kernel, queue) == Item("a", (2,))
