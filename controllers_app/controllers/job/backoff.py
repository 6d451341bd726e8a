"""How long a job waits after pods have failed: 10 s, 20 s, 40 s, ... from the last failure.

A success begins the count anew. The records are kept in memory only.

Models kubernetes pkg/controller/job/backoff_utils.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from apiserver_app.machinery import conditions, meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object

SECONDS_BASE = 10.0
SECONDS_MAX = 600.0


class Record(msgspec.Struct, frozen=True):
    """The failures of a job since its last success."""

    failures: int = 0
    last: int = 0  # µs since 1970

    def after(self, succeeded: Sequence[Object], failed: Sequence[Object]) -> Record:
        """The record with these pods, which have ended since."""
        times = sorted(end_of(pod) for pod in failed)
        failures = self.failures
        if succeeded:
            success = max(end_of(pod) for pod in succeeded)
            times = [end for end in times if end > success]
            failures = 0
        if times:
            return Record(failures + len(times), times[-1])
        return Record() if succeeded else self

    def seconds_left(self, now: int) -> float:
        if not self.failures:
            return 0.0
        delay = min(SECONDS_BASE * 2.0 ** min(self.failures - 1, 30), SECONDS_MAX)
        return max(0.0, (self.last + delay * SECOND - now) / SECOND)


def end_of(pod: Object) -> int:
    """When its last container ended; else when it was not ready any more, or was deleted."""
    status = pod.get("status") or {}
    sidecars = {
        container["name"]
        for container in pod["spec"].get("initContainers") or ()
        if container.get("restartPolicy") == "Always"
    }
    statuses = [
        *(status.get("containerStatuses") or ()),
        *(
            container
            for container in status.get("initContainerStatuses") or ()
            if container["name"] in sidecars
        ),
    ]
    times = list(_end_times(statuses))
    if times and len(times) == len(statuses):
        return max(times)
    ready = conditions.find(status, "Ready")
    if ready is not None and ready.get("status") == "False" and ready.get("lastTransitionTime"):
        return meta.parse_time(ready["lastTransitionTime"])
    metadata = pod["metadata"]
    if metadata.get("deletionTimestamp"):
        grace = int(metadata.get("deletionGracePeriodSeconds") or 0)
        return meta.parse_time(metadata["deletionTimestamp"]) - grace * SECOND
    return meta.parse_time(metadata["creationTimestamp"])


def _end_times(statuses: Iterable[Object]) -> Iterable[int]:
    for item in statuses:
        ended = ((item.get("state") or {}).get("terminated") or {}).get("finishedAt")
        if ended:
            yield meta.parse_time(ended)
