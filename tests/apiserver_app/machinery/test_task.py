"""A task that is cancelled, and tasks that are set aside while others are served."""

from __future__ import annotations

import gc
import weakref

from apiserver_app.machinery.kernel import OUTSIDE, Kernel


def test_a_cancelled_task_keeps_nothing_that_it_held() -> None:
    class Held:
        pass

    kernel = Kernel()
    held = Held()
    alive = weakref.ref(held)

    async def hold(what: Held) -> None:
        await kernel.sleep(5)
        assert what

    task = kernel.spawn("hold", hold(held))
    del held
    kernel.run_ready(1)
    gc.disable()
    try:
        kernel.cancel(task)
        kernel.run_ready(1)
        assert task.done
        assert alive() is None
    finally:
        gc.enable()


def test_what_is_set_aside_goes_on_as_if_nothing_had_been_done_beside_it() -> None:
    def run(*, beside: bool) -> list[tuple[str, int]]:
        kernel = Kernel()
        seen: list[tuple[str, int]] = []

        async def work(name: str, *costs: int) -> None:
            for cost in costs:
                waits = kernel.spend_time(cost)
                if waits is not None:
                    await waits
                seen.append((name, kernel.now))

        kernel.spawn("a", work("a", 50, 50))
        kernel.spawn("b", work("b", 70, 70), lane=OUTSIDE)
        kernel.call_at(60, lambda name: seen.append((name, kernel.now)), "timer")
        kernel.run_ready(3)
        if beside:
            kernel.set_aside()
            assert not kernel.has_beside()
            kernel.spawn("late", work("late", 30, 30), lane=OUTSIDE)
            while kernel.has_beside():
                kernel.run_beside()
            assert [one for one in seen if one[0] == "late"] == 2 * [("late", kernel.now)]
            kernel.bring_back()
        kernel.run_ready(20)
        return [one for one in seen if one[0] != "late"]

    assert run(beside=True) == run(beside=False)
    assert len(run(beside=True)) == 5
