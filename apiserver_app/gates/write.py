"""The gates of a write whose work is the operation's: decode, the look at what is stored, etcd.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{create,update,patch}.go and
pkg/registry/generic/registry/store.go.
"""

from __future__ import annotations

from collections.abc import Awaitable

from apiserver_app.gates.gate import Gate
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.decision import Decision
from apiserver_app.handlers.request import Request


class Decode(Gate):
    """From what was sent to an object of a type, with its defaults."""

    name = refuses_as = "decode"
    cost = 90
    source = "staging/src/k8s.io/apiserver/pkg/endpoints/handlers/create.go"

    def decide(self, request: Request) -> Decision:
        return request.operation.decode(request)


class Current(Gate):
    """The stored object, which is about to change. Told of only when it refuses."""

    name = "current"
    source = "staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go"
    refuses_as = "decode"  # until the store is asked

    def decide(self, request: Request) -> None:
        request.operation.current(request)


class Etcd(Gate):
    """The write itself."""

    name = refuses_as = "etcd"
    cost = 900
    source = "staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go Create"

    def __init__(self, cluster: ClusterContext) -> None:
        self._resource_of = cluster.cache.resource_of
        self._kernel = cluster.kernel
        self._counters = cluster.counters

    def decide(self, request: Request) -> Decision | Awaitable[Decision]:
        return request.operation.store(request)

    def observe(self, request: Request, decision: Decision, began: int, decided: int) -> None:
        resource = self._resource_of(decision.detail["key"])
        self._counters.stored(decision.result, resource, self._kernel.now - decided)
