"""What tasks wait for: a signal, a lock, the next item of a mailbox."""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.waiting import Lock, Mailbox, Signal
from tests.apiserver_app.machinery.test_kernel import drive


def test_signal_wait_gives_up_after_its_timeout() -> None:
    kernel = Kernel()
    seen: list[Any] = []
    signal = Signal(kernel)

    async def waiter() -> None:
        seen.append(await signal.wait(timeout_seconds=3))

    kernel.spawn("waiter", waiter())
    drive(kernel)
    assert seen == [False] and kernel.now == 3 * SECOND


def test_mailbox_gives_each_item_to_one_reader_and_returns_none_after_close() -> None:
    kernel = Kernel()
    seen: list[Any] = []
    box: Mailbox[int] = Mailbox(kernel)

    async def reader() -> None:
        while (item := await box.get()) is not None:
            seen.append(item)
        seen.append(None)

    kernel.spawn("r1", reader())
    kernel.spawn("r2", reader())
    kernel.run_ready(10)
    for number in (1, 2, 3):
        box.put(number)
    kernel.run_ready(10)
    box.close()
    kernel.run_ready(10)
    assert seen == [1, 2, 3, None, None]


def test_a_lock_is_acquired_in_the_order_of_the_requests() -> None:
    kernel = Kernel()
    seen: list[Any] = []
    lock = Lock(kernel)

    async def user(name: str) -> None:
        async with lock:
            seen.append((name, kernel.now))
            await kernel.sleep(1)

    for name in "abc":
        kernel.spawn(name, user(name))
    drive(kernel)
    assert seen == [("a", 0), ("b", SECOND), ("c", 2 * SECOND)]


def test_a_lock_whose_waiter_was_cancelled_goes_to_the_next() -> None:
    kernel = Kernel()
    seen: list[Any] = []
    lock = Lock(kernel)

    async def user(name: str) -> None:
        async with lock:
            seen.append(name)
            await kernel.sleep(1)

    kernel.spawn("a", user("a"))
    waiting = kernel.spawn("b", user("b"))
    kernel.spawn("c", user("c"))
    kernel.run_ready(3)
    kernel.cancel(waiting)
    drive(kernel)
    assert seen == ["a", "c"]


def test_a_lock_is_not_free_while_its_next_holder_has_not_run_and_nobody_gets_ahead_of_it() -> None:
    kernel, seen = Kernel(), []
    lock = Lock(kernel)

    async def hold(name: str) -> None:
        async with lock:
            seen.append(name)
            await kernel.sleep(1)
        seen.append(f"free after {name}: {lock.is_free}")
        if name == "a":
            async with lock:
                seen.append("a again")

    for name in "ab":
        kernel.spawn(name, hold(name))
    drive(kernel)
    assert seen == ["a", "free after a: False", "b", "free after b: False", "a again"]
    assert lock.is_free


def test_a_lock_whose_waiter_was_killed_goes_to_the_next() -> None:
    kernel, seen = Kernel(), []
    lock = Lock(kernel)

    async def hold(name: str) -> None:
        async with lock:
            seen.append(name)
            await kernel.sleep(1)

    tasks = [kernel.spawn(name, hold(name)) for name in "abc"]
    kernel.run_ready(3)
    kernel.kill(tasks[1])
    kernel.kill(tasks[0])
    drive(kernel)
    assert seen == ["a", "c"] and lock.is_free
