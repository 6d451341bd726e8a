"""What an API server does beside requests: leases of events, compaction, its own signs of life.

Everything runs in the background, for as long as the cluster does.

Models kubernetes staging/src/k8s.io/apiserver/pkg/storage/etcd3/compact.go,
pkg/controlplane/controller/kubernetesservice/controller.go and pkg/controlplane/apiserver/server.go
(the identity lease).
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
from typing import TYPE_CHECKING

from apiserver_app.auth import bootstrap
from apiserver_app.handlers import allocations
from apiserver_app.http import startup
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.meta import Object
from apiserver_app.registry import masterleases

if TYPE_CHECKING:
    from lifecycle.composition import Cluster

EVENT_LEASE_STEP_SECONDS = 60  # events within a minute share a lease
COMPACT_SECONDS = 300
COMPACT_KEY = "compact_rev_key"
COMPACT_KEEP = 100_000  # revisions behind the head that time travel can still reach
TRACE_KEEP = 2_000_000  # records; an idle cluster makes as many in a day
LEASES, NAMESPACE = "leases.coordination.k8s.io", "kube-system"
IDENTITY_SECONDS, IDENTITY_RENEW_SECONDS = 3600, 10
IDENTITY_SINCE = 26  # minor version
HOST = "node-1"


def event_lease(kernel: Kernel) -> int:
    """The lease that events of this minute share; its id is when it expires, in seconds."""
    step = EVENT_LEASE_STEP_SECONDS
    return (kernel.now // SECOND // step + 1) * step + startup.EVENT_SECONDS


class Housekeeping:
    """That of one cluster."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._kernel = cluster.kernel
        self._store = cluster.store
        self._client = cluster.loopback()
        self._life = cluster.context.life

    async def start(self) -> None:
        """Begin; what must be there from the start is there behind it."""
        cluster = self._cluster
        masterleases.renew(self._store, bootstrap.ADVERTISED_IP, self._grant())
        self._life.on_stop.append(lambda: masterleases.remove(self._store, bootstrap.ADVERTISED_IP))
        # the server's own plugins may refuse: the repair loop tries again
        with contextlib.suppress(errors.ApiError):
            await allocations.repair(cluster.context)
        for name, work in (
            ("etcd/leases", self._expire_leases()),
            ("etcd/compactor", self._compact()),
            ("apiserver/masterleases", self._say_alive()),
            ("apiserver/identity", self._identify()),
            ("apiserver/allocations", allocations.keep_repaired(cluster.context)),
        ):
            self._kernel.spawn(name, work, background=True)

    # -- etcd -----------------------------------------------------------------------------------

    async def _expire_leases(self) -> None:
        store = self._store
        while True:
            await self._kernel.sleep(EVENT_LEASE_STEP_SECONDS)
            for lease in store.leases():
                if lease not in store.granted and lease <= self._kernel.now // SECOND:
                    for key in store.lease_keys(lease):
                        self._expire(key)
                    store.revoke(lease)

    def _expire(self, key: str) -> None:
        """A key whose lease ran out goes without a request, as in etcd."""
        cluster = self._cluster
        entry = self._store.get(key)
        info = cluster.resources.by_storage(cluster.cache.storage_of(key))
        if entry is not None and info is not None:
            cluster.context.storage.remove(info, cluster.cache.decoded(entry))

    async def _compact(self) -> None:
        """Every five minutes forget what is far behind, and write down how far, as kube-apiserver
        does for the other servers beside it."""
        cluster, store = self._cluster, self._store
        while True:
            await self._kernel.sleep(COMPACT_SECONDS)
            await self._life.until_started()
            revision = store.revision - COMPACT_KEEP
            if revision > store.compacted:
                store.compact(revision)
            store.put(COMPACT_KEY, str(store.compacted).encode())
            if cluster.recorder.seq > TRACE_KEEP:
                store.backend.forget(cluster.recorder.seq - TRACE_KEEP)

    # -- signs of life --------------------------------------------------------------------------

    async def _say_alive(self) -> None:
        while True:
            await self._kernel.sleep(masterleases.RENEW_SECONDS, background=True)
            await self._life.until_started()
            masterleases.renew(self._store, bootstrap.ADVERTISED_IP, self._grant())

    def _grant(self) -> int:
        """A new lease, which nobody else's is called."""
        wanted = int.from_bytes(hashlib.sha256(str(self._kernel.now).encode()).digest()[:7], "big")
        return self._cluster.etcd.grant(masterleases.TTL_SECONDS, wanted)[0]

    async def _identify(self) -> None:
        if kinds.minor_of(self._cluster.state.version) < IDENTITY_SINCE:
            return
        while True:
            # refused by the server's own plugins, or somebody was faster: again soon
            with contextlib.suppress(errors.ApiError):
                await self._renew_identity()
            await self._kernel.sleep(IDENTITY_RENEW_SECONDS, background=True)

    async def _renew_identity(self) -> None:
        now = meta.rfc3339_micro(self._kernel.now)
        name = identity_of(HOST)
        lease: Object | None = None
        with errors.ignoring("NotFound"):
            lease = await self._client.get(LEASES, NAMESPACE, name)
        if lease is None:
            await self._client.create(LEASES, NAMESPACE, self._identity(name, now))
            return
        spec = {**(lease.get("spec") or {}), "renewTime": now}
        await self._client.update(LEASES, NAMESPACE, name, {**lease, "spec": spec})

    def _identity(self, name: str, now: str) -> Object:
        labels = {
            "apiserver.kubernetes.io/identity": "kube-apiserver",
            "kubernetes.io/hostname": HOST,
        }
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
            "spec": {
                "holderIdentity": f"{name}_{self._cluster.rand.uuid()}",
                "leaseDurationSeconds": IDENTITY_SECONDS,
                "renewTime": now,
            },
        }


def identity_of(host: str) -> str:
    """What an API server on that host is called."""
    digest = hashlib.sha256(host.encode()).digest()[:16]
    return "apiserver-" + base64.b32encode(digest).decode().rstrip("=").lower()
