"""The probes of running containers: at which moments they say something new, and what follows.

A probe whose answers are known beforehand has its moments from forecast.py; one that has to be
asked (prober.py) makes them from each answer. Either way the same follows: an event, a container
that is started or ready or not, or its end. What says nothing new has no task and costs nothing.

Models kubernetes pkg/kubelet/prober/{prober_manager,worker}.go.
"""

from __future__ import annotations

import functools
from collections.abc import Coroutine
from typing import Any, Protocol

from apiserver_app.machinery.kernel import SECOND, Task
from apiserver_app.machinery.meta import Object
from controllers_app.cri.images import Image
from controllers_app.kubelet.dependencies import Pod
from controllers_app.kubelet.prober import forecast, prober
from controllers_app.kubelet.prober.forecast import LIVENESS, READINESS, STARTUP, Moment
from controllers_app.kubelet.status import EPHEMERAL, INIT, ContainerState

FOREGROUND_ASKS = 30  # so often a probe that has not changed anything may draw a fast clock along
_KINDS = ("startupProbe", "readinessProbe", "livenessProbe")


class Containers(Protocol):
    """What is done with the containers that are probed."""

    def event(self, one: ContainerState, kind: str, reason: str, message: str) -> None: ...

    def spec_of(self, one: ContainerState) -> Object: ...

    def image_of(self, one: ContainerState) -> Image: ...

    async def kill(self, one: ContainerState, why: str) -> str: ...

    async def probed(self, one: ContainerState, *, started: bool, ready: bool) -> str:
        """Its probes have changed what it is."""
        ...


class Workers:
    """The probes of one pod's containers."""

    __slots__ = ("_containers", "_pod", "_tasks")

    def __init__(self, pod: Pod, containers: Containers) -> None:
        self._pod = pod
        self._containers = containers
        self._tasks: dict[str, list[Task]] = {}

    def add(self, one: ContainerState, spec: Object, image: Image, began: int) -> None:
        """Probe the container from now on."""
        if one.kind in (INIT, EPHEMERAL):
            if forecast.is_instant(spec):
                one.started, one.ready = True, False
            return
        if forecast.is_instant(spec):
            one.started = one.ready = True
        known = prober.with_faults(self._pod, one, spec, image)
        asked = self._asked(one, spec, image)
        if asked:
            one.started = one.started or "startupProbe" not in asked
        rest = {key: value for key, value in spec.items() if key not in asked}
        fails = rest.get("livenessProbe") and known.unhealthy_after_seconds is not None
        if fails or not forecast.is_instant(rest):
            self._spawn(one, self._follow(one, one.container_id, rest, known, began))
        if asked:
            self._spawn(one, self._ask_all(one, one.container_id, asked, image, began))

    def remove(self, one: ContainerState) -> None:
        kernel = self._pod.kubelet.kernel
        for task in self._tasks.pop(one.name, ()):
            if task is not kernel.current:
                kernel.cancel(task)

    def _spawn(self, one: ContainerState, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.setdefault(one.name, []).append(self._pod.spawn("probes", work))

    def _asked(self, one: ContainerState, spec: Object, image: Image) -> dict[str, Object]:
        """The probes whose answers cannot be known beforehand. A startup or readiness probe that
        is asked takes the other with it, since one waits for the other."""
        probes = {kind: spec[kind] for kind in _KINDS if spec.get(kind)}
        asked = {
            kind: probe
            for kind, probe in probes.items()
            if prober.is_asked(self._pod, one, spec, image, probe)
        }
        if "startupProbe" in asked or ("readinessProbe" in asked and "startupProbe" in probes):
            return probes
        return asked

    # -- known beforehand -----------------------------------------------------------------------

    async def _follow(
        self, one: ContainerState, container_id: str, spec: Object, image: Image, began: int
    ) -> None:
        """Act on what the probes say, until they say nothing new any more."""
        kernel = self._pod.kubelet.kernel
        for moment in forecast.moments(spec, image):
            due = began + int(moment.at * SECOND)
            late = due < kernel.now
            if not late:
                await kernel.sleep((due - kernel.now) / SECOND, background=moment.endless)
            if one.container_id != container_id or not one.is_running:
                return
            words = ""
            if moment.what == forecast.UNHEALTHY and not late:
                words = self._words(one, spec[f"{moment.probe.lower()}Probe"])
            await self._act(one, moment, words, tell=not late)
            if moment.what == forecast.KILL:
                return

    def _words(self, one: ContainerState, probe: Object) -> str:
        sandbox = self._pod.sandbox
        spec, image = self._containers.spec_of(one), self._containers.image_of(one)
        words = prober.fault(self._pod, spec, image, probe)
        return words or forecast.output(probe, sandbox.address if sandbox else "")

    # -- asked ----------------------------------------------------------------------------------

    async def _ask_all(
        self, one: ContainerState, container_id: str, asked: dict[str, Object], image: Image,
        began: int,
    ) -> None:  # fmt: skip
        """Ask each probe when its turn is; the startup probe alone until it succeeds."""
        if "startupProbe" in asked:
            await self._ask(one, container_id, STARTUP, asked["startupProbe"], image, began)
            began = self._pod.kubelet.kernel.now
        for name, kind in ((READINESS, "readinessProbe"), (LIVENESS, "livenessProbe")):
            if kind in asked:
                self._spawn(one, self._ask(one, container_id, name, asked[kind], image, began))

    async def _ask(
        self, one: ContainerState, container_id: str, kind: str, probe: Object, image: Image,
        begins: int,
    ) -> None:  # fmt: skip
        kernel = self._pod.kubelet.kernel
        delay = max(float(probe.get("initialDelaySeconds") or 0), forecast.FIRST_SECONDS)
        due = begins + int(delay * SECOND)
        good = bad = asks = 0
        settled = kind == LIVENESS
        while True:
            background = settled or asks > FOREGROUND_ASKS
            await kernel.sleep(max(0, due - kernel.now) / SECOND, background=background)
            due = kernel.now + int((probe.get("periodSeconds") or 10) * SECOND)
            if one.container_id != container_id or not one.is_running:
                return
            asks += 1
            spec = self._containers.spec_of(one)
            ok, words = await prober.ask(self._pod, one, spec, image, probe, begins)
            good, bad = (good + 1, 0) if ok else (0, bad + 1)
            for what in forecast.results(kind, probe, good, bad):
                settled = await self._act(one, Moment(0, what, kind), words) or settled
                if what == forecast.KILL:
                    return
            if kind == STARTUP and one.started:
                return

    # -- what follows ---------------------------------------------------------------------------

    async def _act(
        self, one: ContainerState, moment: Moment, words: str, *, tell: bool = True
    ) -> bool:
        """Do what follows from the moment; whether that changed the container."""
        if moment.what == forecast.UNHEALTHY and tell:
            said = f"{moment.probe} probe failed: {words}"
            self._containers.event(one, "Warning", "Unhealthy", said)
        if moment.what == forecast.KILL:
            why = f"Container {one.name} failed {moment.probe.lower()} probe, will be restarted"
            await self._pod.worked(0, functools.partial(self._containers.kill, one, why))
            return True
        started, ready = self._wanted(one, moment)
        if (started, ready) == (one.started, one.ready):
            return False
        change = functools.partial(self._containers.probed, one, started=started, ready=ready)
        await self._pod.worked(0, change)
        return True

    def _wanted(self, one: ContainerState, moment: Moment) -> tuple[bool, bool]:
        """(started, ready) from that moment on."""
        if moment.what == forecast.STARTED:
            waits = self._containers.spec_of(one).get("readinessProbe")
            return True, one.ready or not waits
        if moment.what == forecast.READY:
            return True, True
        if moment.what == forecast.UNREADY:
            return one.started, False
        if moment.probe == READINESS:
            return True, one.ready and not moment.endless
        return one.started, one.ready
