"""Computes when a container's probes change something, from its spec and image, without polling.

Most results of a probe change nothing; only those that do are moments, so a container whose probes
never change anything costs nothing. Pure.

Models kubernetes pkg/kubelet/prober/{worker,prober}.go.
"""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Iterator

import msgspec

from apiserver_app.machinery.meta import Object
from controllers_app.cri.images import NEVER, Image

STARTED, READY, UNREADY, UNHEALTHY, KILL = "started", "ready", "unready", "unhealthy", "kill"
STARTUP, READINESS, LIVENESS = "Startup", "Readiness", "Liveness"
FIRST_SECONDS = 0.1  # the first run of a probe without initialDelaySeconds


class Moment(msgspec.Struct, frozen=True, order=True):
    """The effect of a probe's result, `at` seconds after the container's start. `endless` moments
    recur for ever and change nothing."""

    at: float
    what: str
    probe: str
    endless: bool = False


def is_instant(spec: Object) -> bool:
    """Whether the container is ready as soon as it runs: no startup or readiness probe."""
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
    """The effects of the nth success or failure in a row."""
    if bad:
        yield UNHEALTHY
        if bad >= (probe.get("failureThreshold") or 3):
            yield UNREADY if kind == READINESS else KILL
    elif kind == STARTUP:
        yield STARTED
    elif kind == READINESS and good >= (probe.get("successThreshold") or 1):
        yield READY


def tally(spec: Object, image: Image, lasted: float) -> Iterator[tuple[str, int, int]]:
    """How often each probe succeeded and failed by then, in seconds after the start."""
    begins = 0.0
    if startup := spec.get("startupProbe"):
        bad = _runs(startup, 0.0, min(image.ready_seconds, lasted))
        begins = next(itertools.islice(_times(startup, 0.0), bad, None))
        good = int(begins <= lasted and begins >= image.ready_seconds)
        yield STARTUP, good, bad
        if not good:
            return
    if readiness := spec.get("readinessProbe"):
        turns = image.unready_after_seconds
        last = lasted if turns is None else min(turns, lasted)
        good = _runs(readiness, begins, last) - _runs(
            readiness, begins, min(image.ready_seconds, last)
        )
        yield READINESS, good, _runs(readiness, begins, lasted) - good
    if liveness := spec.get("livenessProbe"):
        turns = image.unhealthy_after_seconds
        good = _runs(liveness, begins, lasted if turns is None else min(turns, lasted))
        yield LIVENESS, good, _runs(liveness, begins, lasted) - good


def _runs(probe: Object, begins: float, until: float) -> int:
    """How often it runs before a moment."""
    first = next(_times(probe, begins))
    return max(0, math.ceil((until - first) / float(probe.get("periodSeconds") or 10)))


def output(probe: Object, address: str) -> str:
    """The output of a failed probe."""
    if "httpGet" in probe:
        return "HTTP probe failed with statuscode: 503"
    if "tcpSocket" in probe:
        return f"dial tcp {address}:{probe['tcpSocket']['port']}: connect: connection refused"
    if "grpc" in probe:
        return f'timeout: failed to connect service "{address}:{probe["grpc"]["port"]}" within 1s'
    return ""


def _startup(probe: Object, image: Image) -> Iterator[Moment]:
    for failures, seconds in enumerate(_times(probe, 0.0), 1):
        if seconds >= image.ready_seconds:
            yield Moment(seconds, STARTED, STARTUP)
            return
        yield Moment(seconds, UNHEALTHY, STARTUP)
        if failures >= (probe.get("failureThreshold") or 3):
            yield Moment(seconds, KILL, STARTUP)
            return


def _readiness(probe: Object, image: Image, begins: float) -> Iterator[Moment]:
    """Fails until the container is ready, and again once it becomes unready."""
    turns = image.unready_after_seconds
    last = NEVER if turns is None else turns
    ready, good, bad = False, 0, 0
    for seconds in _times(probe, begins):
        if image.ready_seconds <= seconds < last:
            good, bad = good + 1, 0
            if not ready and good >= (probe.get("successThreshold") or 1):
                ready = True
                yield Moment(seconds, READY, READINESS)
                if last == NEVER:
                    return
        else:
            good, bad = 0, bad + 1
            final = seconds >= last or image.ready_seconds == NEVER
            yield Moment(seconds, UNHEALTHY, READINESS, endless=final and bad > 1 and not ready)
            if ready and bad >= (probe.get("failureThreshold") or 3):
                ready = False
                yield Moment(seconds, UNREADY, READINESS)


def _liveness(probe: Object, image: Image, begins: float) -> Iterator[Moment]:
    if image.unhealthy_after_seconds is None or image.unhealthy_after_seconds == NEVER:
        return
    failures = 0
    for seconds in _times(probe, begins):
        if seconds < image.unhealthy_after_seconds:
            continue
        failures += 1
        yield Moment(seconds, UNHEALTHY, LIVENESS)
        if failures >= (probe.get("failureThreshold") or 3):
            yield Moment(seconds, KILL, LIVENESS)
            return


def _times(probe: Object, begins: float) -> Iterator[float]:
    """The times of the probe: after its initial delay, then every period."""
    period = float(probe.get("periodSeconds") or 10)
    first = max(float(probe.get("initialDelaySeconds") or 0), FIRST_SECONDS)
    behind = max(0.0, begins - first)
    first += period * -(-behind // period) if behind else 0.0
    for number in itertools.count():
        yield first + number * period
