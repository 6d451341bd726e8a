"""The retry switch: each reconcile is a span, each failure a delayed retry, each success said."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from apiserver_app.machinery import errors
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.releases import Release
from controllers_app.runtime import controller as runtime
from controllers_app.runtime.component import Component, IllegalTransition
from controllers_app.runtime.controller import Context, Controller, Result
from controllers_app.runtime.events import Recorder
from controllers_app.runtime.informer import InformerFactory
from controllers_app.runtime.taskgroup import TaskGroup
from controllers_app.runtime.workqueue import WorkQueue
from tests.controllers_app.runtime.mini import MiniApi, RecordingProbe, advance, settle


class Scripted(Controller):
    """Does what the next entry of its script says."""

    def __init__(self, ctx: Context, script: list[Callable[[], Result | None]]) -> None:
        super().__init__(ctx)
        self.script = script
        self.spans: list[int] = []

    async def reconcile(self, key: str) -> Result | None:
        assert self.kernel.current is not None
        self.spans.append(self.kernel.current.span)
        return self.script.pop(0)()


def refuse() -> Result | None:
    raise errors.forbidden("", "pods", "", "quota")


def slip() -> Result | None:
    raise KeyError("spec")


def begin(
    kernel: Kernel, probe: RecordingProbe, api: MiniApi, script: list[Callable[[], Result | None]]
) -> Scripted:
    group = TaskGroup(kernel, "kcm")
    factory = InformerFactory(kernel, api, probe, "kcm", group)
    ctx = Context(
        kernel,
        api,
        factory,
        Recorder(kernel, api, "x"),
        WorkQueue(kernel, probe, "x"),
        Rand(1),
        Release(33),
    )
    controller = Scripted(ctx, script)
    group.spawn("x", runtime.run(kernel, probe, "x", controller, factory, group))
    return controller


def test_a_reconcile_is_a_span_with_its_causes_and_what_it_said(
    kernel: Kernel, probe: RecordingProbe, api: MiniApi
) -> None:
    controller = begin(kernel, probe, api, [lambda: Result("has all it wants")])
    controller.queue.add("ns/a", 7)
    settle(kernel)
    work = next(record for record in probe.records if record[1] == "work")
    assert work[3] == ("x", "ns/a", (7,))
    assert controller.spans == [work[0]]
    done = next(record for record in probe.records if record[1] == "done")
    assert (done[2], done[3]) == (work[0], ("ok", "has all it wants", 0.0, []))


def test_a_refusal_is_retried_with_growing_delay_until_it_succeeds(
    kernel: Kernel, probe: RecordingProbe, api: MiniApi
) -> None:
    controller = begin(kernel, probe, api, [refuse, refuse, lambda: None])
    controller.queue.add("ns/a", 7)
    advance(kernel, 1)
    assert [(result, delay) for result, _, delay, _ in probe.of("done")] == [
        ("retry", 0.005),
        ("retry", 0.01),
        ("ok", 0),
    ]
    assert probe.of("done")[0][1] == "pods is forbidden: quota"
    assert controller.queue.failures("ns/a") == 0


def test_a_slip_of_the_programmer_is_recorded_and_retried(
    kernel: Kernel, probe: RecordingProbe, api: MiniApi
) -> None:
    controller = begin(kernel, probe, api, [slip, lambda: None])
    controller.queue.add("ns/a", 7)
    advance(kernel, 1)
    assert [fields[:2] for fields in probe.of("done")] == [
        ("error", "KeyError: 'spec'"),
        ("ok", ""),
    ]


def test_a_controller_may_give_a_key_up_after_so_many_failures(
    kernel: Kernel, probe: RecordingProbe, api: MiniApi
) -> None:
    controller = begin(kernel, probe, api, [refuse, refuse, refuse])
    controller.retries_max = 2
    controller.queue.add("ns/a", 7)
    advance(kernel, 10)
    assert [fields[0] for fields in probe.of("done")] == ["retry", "retry", "error"]


def test_the_last_result_decides_when_the_key_is_looked_at_again(
    kernel: Kernel, probe: RecordingProbe, api: MiniApi
) -> None:
    script: list[Callable[[], Result | None]] = [lambda: Result(requeue_after=600), lambda: None]
    controller = begin(kernel, probe, api, script)
    controller.queue.add("ns/a", 7)
    settle(kernel)
    controller.queue.add("ns/a", 8)
    settle(kernel)
    start = kernel.now
    assert not kernel.fire_timer(start, jump=True)
    assert script == []


def test_a_component_that_was_killed_starts_from_nothing(
    kernel: Kernel, probe: RecordingProbe
) -> None:
    log: list[str] = []

    async def child() -> None:
        try:
            await kernel.sleep(5)
            log.append("child ended")
        finally:
            log.append("child closed")

    async def main(group: TaskGroup) -> None:
        log.append("main")
        group.spawn("child", child())

    component = Component(kernel, probe, "kcm", main)
    component.start()
    settle(kernel)
    component.fail()
    assert log == ["main", "child closed"]
    assert not kernel.tasks
    component.start()
    advance(kernel, 6)
    assert log == ["main", "child closed", "main", "child ended", "child closed"]
    assert [fields[1] for fields in probe.of("component")] == ["starting", "failed", "starting"]


def test_a_component_that_slips_has_failed_and_says_why(
    kernel: Kernel, probe: RecordingProbe
) -> None:
    async def main(group: TaskGroup) -> None:
        raise ValueError("no such thing")

    kernel.on_crash = lambda task, error: None
    told: list[BaseException] = []
    component = Component(kernel, probe, "kcm", main, on_failure=told.append)
    component.start()
    settle(kernel)
    assert component.state == "failed"
    assert probe.of("component")[-1] == ("kcm", "failed", {"why": "ValueError: no such thing"})
    assert isinstance(told[0], ValueError)


def test_what_is_not_running_cannot_be_stopped(kernel: Kernel, probe: RecordingProbe) -> None:
    async def main(group: TaskGroup) -> None: ...

    component = Component(kernel, probe, "kcm", main)
    with pytest.raises(IllegalTransition, match="cannot stop kcm: it is stopped"):
        component.stop()
    assert component.state == "stopped"
