"""What running containers do by themselves: end after a while, become ready, fail their probes.

A container that will do nothing of the kind has no task here and costs nothing.

Models kubernetes pkg/kubelet/prober/{prober_manager,worker}.go and pkg/kubelet/pleg.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from apiserver_app.machinery.kernel import SECOND, Task
from apiserver_app.machinery.meta import Object
from controllers_app.kubelet import probes, programs
from controllers_app.kubelet.images import Behaviour
from controllers_app.kubelet.probes import Moment
from controllers_app.kubelet.status import INIT, SIDECAR, ContainerState

if TYPE_CHECKING:
    from controllers_app.kubelet.cells import Cell
    from controllers_app.kubelet.containers import Containers
    from controllers_app.kubelet.podworker import PodWorker


class Lives:
    """The running containers of one pod."""

    __slots__ = ("_containers", "_tasks", "_worker")

    def __init__(self, worker: PodWorker, containers: Containers) -> None:
        self._worker = worker
        self._containers = containers
        self._tasks: dict[str, list[Task]] = {}

    def attach(self, one: ContainerState, spec: Object, behaviour: Behaviour, began: int) -> None:
        """Follow what the running container will do, as far as it will do anything."""
        worker = self._worker
        tasks = []
        station = worker.kubelet.station
        here = programs.is_run_here(spec, behaviour, station.directory.tools)
        if here:
            cell = station.begin(worker, one, behaviour, began)
        if here and not programs.is_scripted(worker.pod, one.name):
            main = self._follow(one, one.container_id, cell)
            tasks.append(worker.spawn("life", main, background=True))
        elif behaviour.runs_seconds is not None:
            due = began + int(behaviour.runs_seconds * SECOND)
            life = self._live(one, one.container_id, behaviour.exit_code, due)
            tasks.append(worker.spawn("life", life))
        instant = probes.is_instant(spec)
        if instant:
            one.started = True
            one.ready = one.kind != INIT
        fails = spec.get("livenessProbe") and behaviour.unhealthy_after_seconds is not None
        if one.kind != INIT and (fails or not instant):
            watch = self._watch(one, one.container_id, spec, behaviour, began)
            tasks.append(worker.spawn("probes", watch))
        if tasks:
            self._tasks[one.name] = tasks
        else:
            self._tasks.pop(one.name, None)

    def leave(self, one: ContainerState) -> None:
        """It does not run any more, or will do something else."""
        kernel = self._worker.kubelet.kernel
        for task in self._tasks.pop(one.name, ()):
            if task is not kernel.current:
                kernel.cancel(task)

    def heeds_term(self, one: ContainerState) -> bool:
        """Whether it ends when it is asked to. A shell or a sleep that is the first process of its
        container does not, unless it set a trap."""
        worker = self._worker
        cell = worker.kubelet.station.found(worker.uid, one.name, one.container_id)
        if cell is None or cell.main is None or programs.is_scripted(worker.pod, one.name):
            return True
        return cell.main.heeds_term() or cell.is_serving()

    async def _follow(self, one: ContainerState, container_id: str, cell: Cell) -> None:
        """Until the commands that run in it have ended."""
        assert cell.main is not None
        await cell.main.ended.wait()
        if one.container_id == container_id and one.is_running:
            code = cell.main.exit_code or 0
            await self._worker.worked(0, lambda: self._containers.ended(one, code))

    async def _watch(
        self, one: ContainerState, container_id: str, spec: Object, behaviour: Behaviour, began: int
    ) -> None:
        """Act on what the probes say, until they say nothing new any more."""
        worker = self._worker
        kernel = worker.kubelet.kernel
        for moment in probes.moments(spec, behaviour):
            due = began + int(moment.at * SECOND)
            late = due < kernel.now
            if not late:
                await kernel.sleep((due - kernel.now) / SECOND, background=moment.endless)
            if one.container_id != container_id or not one.is_running:
                return
            if moment.what == probes.UNHEALTHY and not late:
                self._unhealthy(one, spec, moment)
            change = _change(one, spec, moment)
            if moment.what == probes.KILL:
                why = f"Container {one.name} failed {moment.probe.lower()} probe, will be restarted"
                await worker.worked(0, functools.partial(self._containers.kill, one, why))
                return
            if change is not None:
                await worker.worked(0, functools.partial(self._probed, one, *change))

    def _unhealthy(self, one: ContainerState, spec: Object, moment: Moment) -> None:
        sandbox = self._worker.sandbox
        probe = spec[f"{moment.probe.lower()}Probe"]
        words = probes.output(probe, sandbox.address if sandbox else "")
        self._containers.event(one, "Warning", "Unhealthy", f"{moment.probe} probe failed: {words}")

    async def _probed(self, one: ContainerState, started: bool, ready: bool) -> str:
        worker = self._worker
        newly = started and not one.started
        one.started, one.ready = started, ready
        state = "end" if ready else "fail"
        if ready or not newly:
            await worker.step("ready", state, {"container": one.name})
        if newly and one.kind == SIDECAR:
            await self._containers.sync()
        await worker.report()
        return f"{one.name} is {'ready' if ready else 'started' if newly else 'not ready'}"

    async def _live(self, one: ContainerState, container_id: str, code: int, due: int) -> None:
        """Run for as long as the image does, then end."""
        worker = self._worker
        await worker.kubelet.kernel.until(due)
        if one.container_id == container_id and one.is_running:
            await worker.worked(0, lambda: self._containers.ended(one, code))


def _change(one: ContainerState, spec: Object, moment: Moment) -> tuple[bool, bool] | None:
    """What the moment makes of (started, ready); None when nothing."""
    wanted = (one.started, one.ready)
    if moment.what == probes.STARTED:
        wanted = (True, one.ready or not spec.get("readinessProbe"))
    elif moment.what == probes.READY:
        wanted = (True, True)
    elif moment.what == probes.UNREADY:
        wanted = (one.started, False)
    elif moment.endless and moment.probe == probes.READINESS:
        wanted = (True, False)
    elif moment.probe == probes.READINESS:
        wanted = (True, one.ready)
    return None if wanted == (one.started, one.ready) else wanted
