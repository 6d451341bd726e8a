"""What running containers do by themselves: end after a while, become ready, fail their probes.

A container that will do nothing of the kind has no task here and costs nothing.

Models kubernetes pkg/kubelet/prober/{prober_manager,worker}.go and pkg/kubelet/pleg.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from apiserver_app.machinery.kernel import SECOND, Task
from apiserver_app.machinery.meta import Object
from controllers_app.kubelet import polls, probes, programs
from controllers_app.kubelet.images import Behaviour
from controllers_app.kubelet.probes import Moment
from controllers_app.kubelet.status import EPHEMERAL, INIT, SIDECAR, ContainerState

if TYPE_CHECKING:
    from controllers_app.kubelet.cells import Cell
    from controllers_app.kubelet.containers import Containers
    from controllers_app.kubelet.podworker import PodWorker
    from controllers_app.kubelet.processes import Running

_KINDS = ("startupProbe", "readinessProbe", "livenessProbe")


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
            one.ready = one.kind not in (INIT, EPHEMERAL)
        if one.kind not in (INIT, EPHEMERAL):
            behaviour = polls.known_beforehand(worker, one, spec, behaviour)
        asked = self._asked(one, spec)
        if asked:
            spec = {key: value for key, value in spec.items() if key not in asked}
            one.started = one.started or "startupProbe" not in asked
        fails = spec.get("livenessProbe") and behaviour.unhealthy_after_seconds is not None
        if one.kind not in (INIT, EPHEMERAL) and (fails or not probes.is_instant(spec)):
            watch = self._watch(one, one.container_id, spec, behaviour, began)
            tasks.append(worker.spawn("probes", watch))
        if asked:
            tasks += self._ask(one, asked, behaviour, began)
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

    # -- probes that are asked ------------------------------------------------------------------

    def _asked(self, one: ContainerState, spec: Object) -> dict[str, Object]:
        """The probes whose answers cannot be known beforehand. A startup or readiness probe that
        is asked takes the other with it, since one waits for the other."""
        if one.kind in (INIT, EPHEMERAL):
            return {}
        found = {
            kind: spec[kind] for kind in _KINDS if polls.is_asked(self._worker, one, spec.get(kind))
        }
        if "startupProbe" in found or ("readinessProbe" in found and spec.get("startupProbe")):
            found = {kind: spec[kind] for kind in _KINDS if spec.get(kind)}
        return found

    def _ask(
        self, one: ContainerState, asked: dict[str, Object], behaviour: Behaviour, began: int
    ) -> list[Task]:
        worker = self._worker
        station = worker.kubelet.station
        cell = station.found(worker.uid, one.name, one.container_id)
        cell = cell or station.current(worker, one, behaviour)
        return [worker.spawn("probes", self._poll(one, one.container_id, cell, asked, began))]

    async def _poll(
        self, one: ContainerState, container_id: str, cell: Cell, asked: dict[str, Object],
        began: int,
    ) -> None:  # fmt: skip
        """Ask each probe when its turn is; the startup probe alone until it succeeds."""
        kernel = self._worker.kubelet.kernel
        startup = asked.get("startupProbe")
        if startup is not None:
            await self._poll_one(one, container_id, cell, probes.STARTUP, startup, began)
        begins = kernel.now if startup is not None else began
        kinds = ((probes.READINESS, "readinessProbe"), (probes.LIVENESS, "livenessProbe"))
        for name, kind in kinds:
            if kind in asked:
                work = self._poll_one(one, container_id, cell, name, asked[kind], begins)
                self._tasks.setdefault(one.name, []).append(self._worker.spawn("probes", work))

    async def _poll_one(
        self, one: ContainerState, container_id: str, cell: Cell, kind: str, probe: Object,
        begins: int,
    ) -> None:  # fmt: skip
        worker = self._worker
        kernel = worker.kubelet.kernel
        good = bad = asks = 0
        due = begins + int(
            max(float(probe.get("initialDelaySeconds") or 0), probes.FIRST_SECONDS) * SECOND
        )
        settled = kind == probes.LIVENESS
        while True:
            background = settled or asks > polls.FOREGROUND_ASKS
            await kernel.sleep(max(0, due - kernel.now) / SECOND, background=background)
            due = kernel.now + int((probe.get("periodSeconds") or 10) * SECOND)
            if one.container_id != container_id or not one.is_running:
                return
            asks += 1
            ok, words = await polls.ask(worker, one, cell, probe, begins)
            good, bad = (good + 1, 0) if ok else (0, bad + 1)
            if not ok:
                said = f"{kind} probe failed: {words}"
                self._containers.event(one, "Warning", "Unhealthy", said)
            wanted = self._wanted(one, kind, probe, good, bad)
            if wanted is None:
                why = f"Container {one.name} failed {kind.lower()} probe, will be restarted"
                await worker.worked(0, functools.partial(self._containers.kill, one, why))
                return
            if wanted != (one.started, one.ready):
                settled = True
                await worker.worked(0, functools.partial(self._probed, one, *wanted))
            if kind == probes.STARTUP and one.started:
                return

    def _wanted(
        self, one: ContainerState, kind: str, probe: Object, good: int, bad: int
    ) -> tuple[bool, bool] | None:
        """What (started, ready) shall be; None: the container shall be killed."""
        failed = bad >= (probe.get("failureThreshold") or 3)
        if kind == probes.READINESS:
            if good >= (probe.get("successThreshold") or 1):
                return True, True
            return one.started, one.ready and not failed
        if failed:
            return None
        if kind == probes.STARTUP and good:
            spec = self._containers.spec_of(one)
            return True, one.ready or not spec.get("readinessProbe")
        return one.started, one.ready

    # -- programs -------------------------------------------------------------------------------

    def heeds_term(self, one: ContainerState) -> bool:
        """Whether it ends when it is asked to. A shell or a sleep that is the first process of its
        container does not, unless it set a trap."""
        worker = self._worker
        cell = worker.kubelet.station.found(worker.uid, one.name, one.container_id)
        if cell is None or cell.main is None or programs.is_scripted(worker.pod, one.name):
            return True
        return cell.main.heeds_term() or cell.is_serving()

    def trapped(self, one: ContainerState) -> Running | None:
        """Its first process, when that has a trap for the signal to end."""
        worker = self._worker
        cell = worker.kubelet.station.found(worker.uid, one.name, one.container_id)
        if cell is None or cell.main is None or programs.is_scripted(worker.pod, one.name):
            return None
        return cell.main if cell.main.heeds_term() else None

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
        image = self._containers.image_of(one)
        words = polls.failure(self._worker, spec, image, probe)
        words = words or probes.output(probe, sandbox.address if sandbox else "")
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
