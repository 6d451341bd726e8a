"""Runs the probes of running containers and acts on their results.

Forecast probes take their moments from forecast.py; probes that really run (prober.py) make a
moment of each result. Either way the same follows: an event, a change of started or ready, or a
kill. A probe that changes nothing has no task and costs nothing.

Models kubernetes pkg/kubelet/prober/{prober_manager,worker}.go.
"""

from __future__ import annotations

import functools
from collections.abc import Coroutine, Iterator
from typing import Any, Protocol

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.task import Task
from controllers_app.cri.images import Image
from controllers_app.kubelet.backoff import FOREGROUND_MAX
from controllers_app.kubelet.dependencies import Pod
from controllers_app.kubelet.prober import forecast, prober
from controllers_app.kubelet.prober.forecast import LIVENESS, READINESS, STARTUP, Moment
from controllers_app.kubelet.status import EPHEMERAL, INIT, ContainerState

FOREGROUND_ASKS = 30  # runs without a change that may hold a fast-forwarded clock
_KINDS = ("startupProbe", "readinessProbe", "livenessProbe")


class Containers(Protocol):
    """The containers that are probed, as the workers use them."""

    def event(self, container: ContainerState, kind: str, reason: str, message: str) -> None: ...

    def spec_of(self, container: ContainerState) -> Object: ...

    def image_of(self, container: ContainerState) -> Image: ...

    async def kill(self, container: ContainerState, reason: str, *, probe: str) -> str: ...

    async def probed(self, container: ContainerState, *, started: bool, ready: bool) -> str:
        """Applies a change of started or ready by the probes."""
        ...


class Workers:
    """The probes of one pod's containers."""

    __slots__ = ("_asked", "_containers", "_pod", "_tasks")

    def __init__(self, pod: Pod, containers: Containers) -> None:
        self._pod = pod
        self._containers = containers
        self._tasks: dict[str, list[Task]] = {}
        self._asked: dict[str, dict[str, list[int]]] = {}  # by container and probe: good and bad

    def add(self, container: ContainerState, spec: Object, image: Image, began: int) -> None:
        """Probe the container from now on."""
        if container.kind in (INIT, EPHEMERAL):
            if forecast.is_instant(spec):
                container.started, container.ready = True, False
            return
        container.started = not spec.get("startupProbe")
        container.ready = forecast.is_instant(spec)
        known = prober.with_faults(self._pod, container, spec, image)
        polled = self._polled(container, spec, image)
        rest = {key: value for key, value in spec.items() if key not in polled}
        fails = rest.get("livenessProbe") and known.unhealthy_after_seconds is not None
        if fails or not forecast.is_instant(rest):
            self._spawn(
                container, self._follow(container, container.container_id, rest, known, began)
            )
        if polled:
            self._spawn(
                container, self._poll_all(container, container.container_id, polled, image, began)
            )

    def remove(self, container: ContainerState) -> None:
        kernel = self._pod.kubelet.kernel
        self._asked.pop(container.name, None)
        for task in self._tasks.pop(container.name, ()):
            if task is not kernel.current:
                kernel.cancel(task)

    def results(self, container: ContainerState) -> Iterator[tuple[str, int, int]]:
        """Each probe of a container that runs, with its successes and failures since it began."""
        if container.kind in (INIT, EPHEMERAL):
            return
        spec, image = self._containers.spec_of(container), self._containers.image_of(container)
        began = meta.parse_time(container.state["running"]["startedAt"])
        polled = self._polled(container, spec, image)
        rest = {key: value for key, value in spec.items() if key not in polled}
        known = prober.with_faults(self._pod, container, spec, image)
        yield from forecast.tally(rest, known, (self._pod.kubelet.kernel.now - began) / SECOND)
        for kind, (good, bad) in self._asked.get(container.name, {}).items():
            yield kind, good, bad

    def _spawn(self, container: ContainerState, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.setdefault(container.name, []).append(self._pod.spawn("probes", work))

    def _polled(self, container: ContainerState, spec: Object, image: Image) -> dict[str, Object]:
        """The probes that have to run. If startup or readiness runs, so does the other,
        because readiness waits for startup."""
        probes = {kind: spec[kind] for kind in _KINDS if spec.get(kind)}
        polled = {
            kind: probe
            for kind, probe in probes.items()
            if prober.is_polled(self._pod, container, spec, image, probe)
        }
        if "startupProbe" in polled or ("readinessProbe" in polled and "startupProbe" in probes):
            return probes
        return polled

    # -- forecast -----------------------------------------------------------------------

    async def _follow(
        self, container: ContainerState, container_id: str, spec: Object, image: Image, began: int
    ) -> None:
        """Acts on the forecast moments, one after the other."""
        kernel = self._pod.kubelet.kernel
        for moment in forecast.moments(spec, image):
            due = began + int(moment.at * SECOND)
            late = due < kernel.now
            if not late:
                aside = moment.endless or container.restarts > FOREGROUND_MAX
                await kernel.sleep((due - kernel.now) / SECOND, background=aside)
            if container.container_id != container_id or not container.is_running:
                return
            output = ""
            if moment.what == forecast.UNHEALTHY and not late:
                output = self._failure_output(container, spec[f"{moment.probe.lower()}Probe"])
            await self._act(container, moment, output, tell=not late)
            if moment.what == forecast.KILL:
                return

    def _failure_output(self, container: ContainerState, probe: Object) -> str:
        sandbox = self._pod.sandbox
        spec, image = self._containers.spec_of(container), self._containers.image_of(container)
        output = prober.fault(self._pod, spec, image, probe)
        return output or forecast.output(probe, sandbox.address if sandbox else "")

    # -- polled ----------------------------------------------------------------------------------

    async def _poll_all(
        self,
        container: ContainerState,
        container_id: str,
        polled: dict[str, Object],
        image: Image,
        began: int,
    ) -> None:
        """Runs the probes periodically; only the startup probe until it succeeds."""
        if "startupProbe" in polled:
            await self._poll(container, container_id, STARTUP, polled["startupProbe"], image, began)
            began = self._pod.kubelet.kernel.now
        for name, kind in ((READINESS, "readinessProbe"), (LIVENESS, "livenessProbe")):
            if kind in polled:
                self._spawn(
                    container, self._poll(container, container_id, name, polled[kind], image, began)
                )

    async def _poll(
        self,
        container: ContainerState,
        container_id: str,
        kind: str,
        probe: Object,
        image: Image,
        begins: int,
    ) -> None:
        kernel = self._pod.kubelet.kernel
        delay = max(float(probe.get("initialDelaySeconds") or 0), forecast.FIRST_SECONDS)
        due = begins + int(delay * SECOND)
        good = bad = asks = 0
        settled = kind == LIVENESS
        while True:
            background = settled or asks > FOREGROUND_ASKS
            await kernel.sleep(max(0, due - kernel.now) / SECOND, background=background)
            due = kernel.now + int((probe.get("periodSeconds") or 10) * SECOND)
            if container.container_id != container_id or not container.is_running:
                return
            asks += 1
            spec = self._containers.spec_of(container)
            ok, output = await prober.ask(self._pod, container, spec, image, probe, begins)
            good, bad = (good + 1, 0) if ok else (0, bad + 1)
            self._asked.setdefault(container.name, {}).setdefault(kind, [0, 0])[not ok] += 1
            for what in forecast.results(kind, probe, good, bad):
                settled = await self._act(container, Moment(0, what, kind), output) or settled
                if what == forecast.KILL:
                    return
            if kind == STARTUP and container.started:
                return

    # -- effects ---------------------------------------------------------------------------

    async def _act(
        self, container: ContainerState, moment: Moment, output: str, *, tell: bool = True
    ) -> bool:
        """Applies a moment; returns whether that changed the container."""
        if moment.what == forecast.UNHEALTHY and tell:
            message = f"{moment.probe} probe failed: {output}"
            self._containers.event(container, "Warning", "Unhealthy", message)
        if moment.what == forecast.KILL:
            reason = (
                f"Container {container.name} failed {moment.probe.lower()} probe, will be restarted"
            )
            kill = functools.partial(self._containers.kill, container, reason, probe=moment.probe)
            await self._pod.worked(0, kill)
            return True
        started, ready = self._next_state(container, moment)
        if (started, ready) == (container.started, container.ready):
            return False
        change = functools.partial(self._containers.probed, container, started=started, ready=ready)
        await self._pod.worked(0, change)
        return True

    def _next_state(self, container: ContainerState, moment: Moment) -> tuple[bool, bool]:
        """(started, ready) after the moment."""
        if moment.what == forecast.STARTED:
            waits = self._containers.spec_of(container).get("readinessProbe")
            return True, container.ready or not waits
        if moment.what == forecast.READY:
            return True, True
        if moment.what == forecast.UNREADY:
            return container.started, False
        if moment.probe == READINESS:
            return True, container.ready and not moment.endless
        return container.started, container.ready
