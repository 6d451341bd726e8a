"""When a container's probes say what: worked out from its probes and its image, not polled.

A probe is asked every period; most answers change nothing, so only those that do are moments, and
a container whose probes will never say anything new costs nothing. Pure.

Models kubernetes pkg/kubelet/prober/{worker,prober}.go.
"""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from apiserver_app.machinery.meta import Object
from controllers_app.cri.images import NEVER, Image

STARTED, READY, UNREADY, UNHEALTHY, KILL = "started", "ready", "unready", "unhealthy", "kill"
STARTUP, READINESS, LIVENESS = "Startup", "Readiness", "Liveness"
FIRST_SECONDS = 0.1  # a probe without a delay is asked this soon


@dataclass(frozen=True, slots=True, order=True)
class Moment:
    """What a probe's answer means, `at` seconds after the container's start. `endless` moments
    come back for ever and change nothing."""

    at: float
    what: str
    probe: str
    endless: bool = False


def is_instant(spec: Object) -> bool:
    """Without startup and readiness probes a container is ready as soon as it runs."""
    return not spec.get("startupProbe") and not spec.get("readinessProbe")


def moments(spec: Object, image: Image) -> Iterator[Moment]:
    """All moments in order of time; endless when a probe never stops failing."""
    begins = 0.0
    startup = spec.get("startupProbe")
    if startup:
        for moment in _startup(startup, image):
            yield moment
            if moment.what == KILL:
                return
            begins = moment.at
    streams = []
    if spec.get("readinessProbe"):
        streams.append(_readiness(spec["readinessProbe"], image, begins))
    if spec.get("livenessProbe"):
        streams.append(_liveness(spec["livenessProbe"], image, begins))
    for moment in heapq.merge(*streams):
        yield moment
        if moment.what == KILL:
            return


def results(kind: str, probe: Object, good: int, bad: int) -> Iterator[str]:
    """What an answer means that is the nth good or bad one in a row."""
    if bad:
        yield UNHEALTHY
        if bad >= (probe.get("failureThreshold") or 3):
            yield UNREADY if kind == READINESS else KILL
    elif kind == STARTUP:
        yield STARTED
    elif kind == READINESS and good >= (probe.get("successThreshold") or 1):
        yield READY


def output(probe: Object, address: str) -> str:
    """What a failed probe of this sort says."""
    if "httpGet" in probe:
        return "HTTP probe failed with statuscode: 503"
    if "tcpSocket" in probe:
        return f"dial tcp {address}:{probe['tcpSocket']['port']}: connect: connection refused"
    if "grpc" in probe:
        return f'timeout: failed to connect service "{address}:{probe["grpc"]["port"]}" within 1s'
    return ""


def _startup(probe: Object, image: Image) -> Iterator[Moment]:
    for failures, at in enumerate(_times(probe, 0.0), 1):
        if at >= image.ready_seconds:
            yield Moment(at, STARTED, STARTUP)
            return
        yield Moment(at, UNHEALTHY, STARTUP)
        if failures >= (probe.get("failureThreshold") or 3):
            yield Moment(at, KILL, STARTUP)
            return


def _readiness(probe: Object, image: Image, begins: float) -> Iterator[Moment]:
    """Fails until the container is ready, and again once it stops being so."""
    turns = image.unready_after_seconds
    ends = NEVER if turns is None else turns
    ready, good, bad = False, 0, 0
    for at in _times(probe, begins):
        if image.ready_seconds <= at < ends:
            good, bad = good + 1, 0
            if not ready and good >= (probe.get("successThreshold") or 1):
                ready = True
                yield Moment(at, READY, READINESS)
                if ends == NEVER:
                    return
        else:
            good, bad = 0, bad + 1
            final = at >= ends or image.ready_seconds == NEVER
            yield Moment(at, UNHEALTHY, READINESS, endless=final and bad > 1 and not ready)
            if ready and bad >= (probe.get("failureThreshold") or 3):
                ready = False
                yield Moment(at, UNREADY, READINESS)


def _liveness(probe: Object, image: Image, begins: float) -> Iterator[Moment]:
    if image.unhealthy_after_seconds is None or image.unhealthy_after_seconds == NEVER:
        return
    failures = 0
    for at in _times(probe, begins):
        if at < image.unhealthy_after_seconds:
            continue
        failures += 1
        yield Moment(at, UNHEALTHY, LIVENESS)
        if failures >= (probe.get("failureThreshold") or 3):
            yield Moment(at, KILL, LIVENESS)
            return


def _times(probe: Object, begins: float) -> Iterator[float]:
    """When it is asked: after its delay, then every period."""
    period = float(probe.get("periodSeconds") or 10)
    first = max(float(probe.get("initialDelaySeconds") or 0), FIRST_SECONDS)
    behind = max(0.0, begins - first)
    first += period * -(-behind // period) if behind else 0.0
    for number in itertools.count():
        yield first + number * period
