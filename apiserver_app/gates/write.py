"""The gates of a write whose work is the operation's: decode, the look at what is stored, etcd.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/{create,update,patch}.go and
pkg/registry/generic/registry/store.go.
"""

from __future__ import annotations

from collections.abc import Awaitable

from apiserver_app.etcd import wal
from apiserver_app.gates.gate import Gate
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.decision import Decision
from apiserver_app.handlers.input import deadline
from apiserver_app.handlers.request import Request

HANDLERS = "staging/src/k8s.io/apiserver/pkg/endpoints/handlers"
STORE = "staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go"
POD = "pkg/registry/core/pod/storage"


class Decode(Gate):
    """From what was sent to an object of a type, with its defaults."""

    name = refuses_as = "decode"
    cost = 90
    source = f"{HANDLERS}/create.go createHandler"
    sources = {
        "update": f"{HANDLERS}/update.go UpdateResource",
        "patch": f"{HANDLERS}/patch.go PatchResource",
        "delete": f"{HANDLERS}/delete.go DeleteResource",
        "deletecollection": f"{HANDLERS}/delete.go DeleteCollection",
    }

    def decide(self, request: Request) -> Decision:
        return request.operation.decode(request)


class Current(Gate):
    """The stored object, which is about to change. Recorded only when it refuses."""

    name = "current"
    source = STORE
    refuses_as = "decode"  # until the store is asked

    def decide(self, request: Request) -> None:
        request.operation.current(request)


class Etcd(Gate):
    """The write itself, once its entry of etcd's log is on the disk."""

    name = refuses_as = "etcd"
    cost = wal.SYNC
    waits = True
    source = f"{STORE} Create"
    sources = {
        "create/binding": f"{POD}/storage.go BindingREST.setPodNodeAndMetadata",
        "create/eviction": f"{POD}/eviction.go EvictionREST.Create",
        "update": f"{STORE} Update",
        "patch": f"{STORE} Update",
        "delete": f"{STORE} Delete",
        "deletecollection": f"{STORE} DeleteCollection",
        "get": f"{STORE} Get",
        "list": f"{STORE} List",
        "watch": f"{STORE} Watch",
    }

    def __init__(self, cluster: ClusterContext) -> None:
        self._resource_of = cluster.cache.resource_of
        self._kernel = cluster.kernel
        self._counters = cluster.counters
        self._etcd = cluster.etcd
        self.cost = cluster.options.sync
        self._wal = wal.Wal(cluster.kernel, self.cost)

    def decide(self, request: Request) -> Awaitable[Decision]:
        return self._store(request)

    async def _store(self, request: Request) -> Decision:
        if not self._etcd.runs:
            await deadline.until_etcd_runs(request)
        logs = request.operation.logs and not request.dry_run
        behind = self._wal.behind() if logs else 0
        synced = self._kernel.spend_time(behind + self.cost)
        if synced is not None:
            await synced
        decision = request.operation.store(request)
        if not isinstance(decision, Decision):
            decision = await decision
        if behind:
            decision.detail["waited"] = behind
        return decision

    def observe(self, request: Request, decision: Decision, began: int, decided: int) -> None:
        resource = self._resource_of(decision.detail["key"])
        self._counters.stored(decision.result, resource, decided - began)
