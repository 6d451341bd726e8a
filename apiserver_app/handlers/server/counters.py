"""Counts of requests for /metrics: how many of each sort, and how long they took in virtual time.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/metrics/metrics.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.handlers.call import Call
from apiserver_app.machinery.histograms import Histogram
from apiserver_app.machinery.kernel import SECOND

BUCKETS = tuple(
    map(
        float,
        "0.005 0.025 0.05 0.1 0.2 0.4 0.6 0.8 1 1.25 1.5 2 3 4 5 6 8 10 15 20 30 45 60".split(),
    )
)
# of authentication and authorization
GATE_BUCKETS = tuple(0.001 * 2**power for power in range(15))
SIZE_BUCKETS = tuple(1000.0 * 10**power for power in range(7))  # of bytes
ADMISSION_BUCKETS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5)
WEBHOOK_BUCKETS = (*ADMISSION_BUCKETS, 10.0, 25.0)
SORTS_MAX = 20_000  # counted apart; whatever comes beyond is not

# verb, group, version, resource, subresource, scope
Sort = tuple[str, str, str, str, str, str]


class Counters:
    """Everything counted since the server started."""

    def __init__(self) -> None:
        self.requests: dict[tuple[Sort, bool, int], int] = {}
        self.durations: dict[Sort, Histogram] = {}
        # of those that waited for webhooks or in a queue: all their time, and the rest of it
        self.delayed: dict[Sort, tuple[Histogram, Histogram]] = {}
        self.sizes: dict[Sort, Histogram] = {}  # of the answers to gets and lists from outside
        self.own: dict[tuple[Sort, int], int] = {}  # requests of the API server to itself
        # group, version, resource, subresource of deprecated kinds that were asked for
        self.deprecated: set[tuple[str, str, str, str]] = set()
        # whether from etcd, and resource -> lists, objects looked at, objects returned
        self.lists: dict[tuple[bool, str], list[int]] = {}
        self.in_flight = {False: 0, True: 0}  # by whether it changes something
        self.gates: dict[tuple[str, str], Histogram] = {}  # gate and result
        self.users: dict[str, int] = {}
        # type, operation, whether it was rejected
        self.steps: dict[tuple[str, str, bool], Histogram] = {}
        # the same of plugins, by name; and how often so many of them had decided in no time
        self.plugins: dict[tuple[str, str, str, bool], Histogram] = {}
        self.quiet: dict[tuple[tuple[str, ...], str, str], int] = {}
        self.webhooks: dict[tuple[str, str, str, bool], Histogram] = {}
        self.webhook_answers: dict[tuple[str, str, str, bool, int], int] = {}
        self.webhook_refusals: dict[tuple[str, str, str, str, int], int] = {}
        self.failed_open: dict[tuple[str, str], int] = {}
        self.etcd: dict[tuple[str, str], Histogram] = {}  # operation and resource
        # what was read again, how that went -> how often, and when (µs) for the last time
        self.reloads: dict[tuple[str, str], tuple[int, int]] = {}

    def reset(self) -> None:
        """Begin anew; who is being served stays counted."""
        serving = self.in_flight
        self.__init__()  # type: ignore[misc]
        self.in_flight = serving

    def answered(self, call: Call, code: int, micros: int, waited: int) -> Sort:
        """`waited` is how much of the time went by in queues and webhooks."""
        sort = _sort(call)
        key = (sort, "dryRun" in call.params, code)
        try:
            self.requests[key] += 1
        except KeyError:
            self.requests[key] = 1
        if call.verb == "watch":
            return sort
        try:
            self.durations[sort].add(micros / SECOND)
        except KeyError:
            _add(self.durations, sort, BUCKETS, micros)
        if waited:
            if sort not in self.delayed:
                self.delayed[sort] = Histogram(BUCKETS), Histogram(BUCKETS)
            whole, rest = self.delayed[sort]
            whole.add(micros / SECOND)
            rest.add((micros - waited) / SECOND)
        return sort

    def sent(self, sort: Sort, size: int) -> None:
        """The body of an answer to a get or list."""
        try:
            self.sizes[sort].add(size)
        except KeyError:
            if len(self.sizes) < SORTS_MAX:
                histogram = self.sizes[sort] = Histogram(SIZE_BUCKETS)
                histogram.add(size)

    def asked_itself(self, call: Call, code: int) -> None:
        """The API server was its own client."""
        key = (_sort(call), code)
        self.own[key] = self.own.get(key, 0) + 1

    def listed(self, resource: str, looked_at: int, returned: int, *, etcd: bool) -> None:
        """A list was read, from etcd or from the watch cache."""
        try:
            counts = self.lists[etcd, resource]
        except KeyError:
            counts = self.lists[etcd, resource] = [0, 0, 0]
        counts[0] += 1
        counts[1] += looked_at
        counts[2] += returned

    def passed(self, gate: str, result: str, micros: int) -> None:
        """A request went through authentication or authorization, or was refused there."""
        try:
            self.gates[gate, result].add(micros / SECOND)
        except KeyError:
            _add(self.gates, (gate, result), GATE_BUCKETS, micros)

    def known(self, user: str) -> None:
        name = user if user in _NAMED else "email_id" if "@" in user else "other"
        self.users[name] = self.users.get(name, 0) + 1

    def admitted(
        self, phase: str, operation: str, micros: int, quiet: tuple[str, ...], *, rejected: bool
    ) -> None:
        """A phase of admission is over; `quiet` are the plugins that decided in no time, each a
        name or several joined by commas."""
        step = _STEPS[phase]
        key, others = (step, operation, rejected), (quiet, step, operation)
        try:
            self.steps[key].add(micros / SECOND)
        except KeyError:
            _add(self.steps, key, ADMISSION_BUCKETS, micros)
        try:
            self.quiet[others] += 1
        except KeyError:
            if len(self.quiet) < SORTS_MAX:
                self.quiet[others] = 1

    def asked(
        self, plugin: str, phase: str, operation: str, micros: int, *, rejected: bool
    ) -> None:
        """A plugin decided."""
        key = (plugin, _STEPS[phase], operation, rejected)
        _add(self.plugins, key, ADMISSION_BUCKETS, micros)

    def called(self, phase: str, operation: str, note: Mapping[str, Any], refusal: int) -> None:
        """A webhook was asked; `note` is what the trace says about it, `refusal` the code of the
        answer when the request was refused."""
        kind, name = _WEBHOOKS[phase], str(note["webhook"])
        verdict = note.get("verdict")
        if verdict == "skip":
            return
        rejected = verdict in ("deny", "failed")
        micros = int(note.get("micros") or 0)
        _add(self.webhooks, (name, kind, operation, rejected), WEBHOOK_BUCKETS, micros)
        code = min(refusal if verdict == "deny" else int(note.get("code") or 0), CODE_MAX)
        answer = (name, kind, operation, rejected, code)
        self.webhook_answers[answer] = self.webhook_answers.get(answer, 0) + 1
        if verdict == "ignored":
            self.failed_open[name, kind] = self.failed_open.get((name, kind), 0) + 1
        elif rejected:
            why = "no_error" if verdict == "deny" else "calling_webhook_error"
            refused = (name, kind, operation, why, code if verdict == "deny" else 0)
            self.webhook_refusals[refused] = self.webhook_refusals.get(refused, 0) + 1

    def stored(self, operation: str, resource: str, micros: int) -> None:
        """etcd answered."""
        try:
            self.etcd[operation, resource].add(micros / SECOND)
        except KeyError:
            _add(self.etcd, (operation, resource), BUCKETS, micros)

    def reloaded(self, what: str, status: str, now: int) -> None:
        """A configuration file was read again."""
        self.reloads[what, status] = (self.reloads.get((what, status), (0, 0))[0] + 1, now)


def _add(
    into: dict[Any, Histogram], key: tuple[Any, ...], bounds: tuple[float, ...], micros: int
) -> None:
    histogram = into.get(key)
    if histogram is None:
        if len(into) >= SORTS_MAX:
            return
        histogram = into[key] = Histogram(bounds)
    histogram.add(micros / SECOND)


CODE_MAX = 600
_NAMED = frozenset(("admin", "client", "kube_proxy"))
_STEPS = {"mutating": "admit", "validating": "validate"}
_WEBHOOKS = {"mutating": "admit", "validating": "validating"}


def _sort(call: Call) -> Sort:
    info = call.info
    if info is None:
        path = call.path if call.path in _PATHS else ""
        return (_VERBS.get(call.verb, "other"), "", "", "", path, "")
    many = call.verb in ("list", "watch", "deletecollection")
    scope = "resource" if not many else "namespace" if call.namespace else "cluster"
    return (
        _VERBS.get(call.verb, "other"),
        info.group,
        info.version,
        info.plural,
        call.subresource,
        scope,
    )


_PATHS = frozenset(
    ("/healthz", "/livez", "/readyz", "/metrics", "/version", "/api", "/apis", "/openapi/v2")
)
_VERBS = {
    "get": "GET", "list": "LIST", "watch": "WATCH", "create": "POST", "update": "PUT",
    "patch": "PATCH", "delete": "DELETE", "deletecollection": "DELETECOLLECTION", "head": "GET",
    "post": "POST", "put": "PUT", "connect": "CONNECT",
}  # fmt: skip
