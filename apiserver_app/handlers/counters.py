"""Counts of requests for /metrics: how many of each sort, and how long they took in virtual time.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/metrics/metrics.go.
"""

from __future__ import annotations

from bisect import bisect_left

from apiserver_app.handlers.call import Call
from apiserver_app.machinery.kernel import SECOND

BUCKETS = (
    0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0,
    10.0, 15.0, 20.0, 30.0, 45.0, 60.0,
)  # fmt: skip
SORTS_MAX = 20_000  # counted apart; whatever comes beyond is not

# verb, group, version, resource, subresource, scope
Sort = tuple[str, str, str, str, str, str]


class Histogram:
    """How many values lie up to each of the bounds, and above them all."""

    __slots__ = ("bounds", "buckets", "count", "total")

    def __init__(self, bounds: tuple[float, ...]) -> None:
        self.bounds = bounds
        self.buckets = [0] * (len(bounds) + 1)
        self.count = 0
        self.total = 0.0

    def add(self, value: float) -> None:
        self.buckets[bisect_left(self.bounds, value)] += 1
        self.count += 1
        self.total += value


class Counters:
    """Everything counted since the server started."""

    def __init__(self) -> None:
        self.requests: dict[tuple[Sort, bool, int], int] = {}
        self.durations: dict[Sort, Histogram] = {}
        self.in_flight = {False: 0, True: 0}  # by whether it changes something

    def reset(self) -> None:
        self.requests.clear()
        self.durations.clear()

    def answered(self, call: Call, code: int, micros: int) -> None:
        sort = _sort(call)
        key = (sort, "dryRun" in call.params, code)
        self.requests[key] = self.requests.get(key, 0) + 1
        if call.verb == "watch":
            return
        found = self.durations.get(sort)
        if found is None:
            if len(self.durations) >= SORTS_MAX:
                return
            found = self.durations[sort] = Histogram(BUCKETS)
        found.add(micros / SECOND)


def _sort(call: Call) -> Sort:
    info = call.info
    if info is None:
        path = call.path if call.path in _PATHS else ""
        return (_VERBS.get(call.verb, "other"), "", "", "", path, "")
    many = call.verb in ("list", "watch", "deletecollection")
    scope = "resource" if not many else "namespace" if call.namespace else "cluster"
    return (
        _VERBS.get(call.verb, "other"), info.group, info.version, info.plural, call.subresource,
        scope,
    )  # fmt: skip


_PATHS = frozenset((
    "/healthz", "/livez", "/readyz", "/metrics", "/version", "/api", "/apis", "/openapi/v2",
))  # fmt: skip
_VERBS = {
    "get": "GET", "list": "LIST", "watch": "WATCH", "create": "POST", "update": "PUT",
    "patch": "PATCH", "delete": "DELETE", "deletecollection": "DELETECOLLECTION", "head": "GET",
    "post": "POST", "put": "PUT", "connect": "CONNECT",
}  # fmt: skip
