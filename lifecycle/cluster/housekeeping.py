"""What an API server does beside requests: compaction, its own signs of life, repairs.

Everything runs in the background, for as long as the cluster does.

Models kubernetes staging/src/k8s.io/apiserver/pkg/storage/etcd3/compact.go,
pkg/controlplane/controller/kubernetesservice/controller.go and pkg/controlplane/apiserver/server.go
(the identity lease).
"""

from __future__ import annotations

import base64
import contextlib
import hashlib

from apiserver_app.etcd import lease as leases
from apiserver_app.etcd.server import Server
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.verbs import allocations
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.client import Client
from apiserver_app.machinery.meta import Object
from apiserver_app.registry import masterleases
from lifecycle.trace.recorder import Recorder

COMPACT_SECONDS = 300
COMPACT_KEY = "compact_rev_key"
# revisions behind the head, and their bytes, that time travel can still reach
COMPACT_KEEP, COMPACT_KEEP_BYTES = 100_000, 512 << 20
TRACE_KEEP = 2_000_000  # records; an idle cluster makes as many in a day
CLEAR_STEP, FORGET_STEP = 200, 4000  # revisions, records: 20 ms
LEASES, NAMESPACE = "leases.coordination.k8s.io", "kube-system"
IDENTITY_SECONDS, IDENTITY_RENEW_SECONDS = 3600, 10


class Housekeeping:
    """That of one cluster."""

    def __init__(
        self, context: ClusterContext, etcd: Server, client: Client, recorder: Recorder, host: str
    ) -> None:
        self._context = context
        self._kernel = context.kernel
        self._etcd = etcd
        self._store = etcd.store
        self._client = client
        self._recorder = recorder
        self._host = host  # the control plane's
        self._cleared = self._forgotten = 0  # until which revision, which record

    async def start(self) -> None:
        """Begin; what must be there from the start is there behind it. All of it writes: with an
        alarm there is nothing to do."""
        context, store = self._context, self._store
        if store.alarm:
            return
        masterleases.renew(store, context.addresses.advertised, self._grant())
        context.life.on_stop.append(
            lambda: masterleases.remove(store, context.addresses.advertised)
        )
        # the server's own plugins may refuse: the repair loop tries again
        with contextlib.suppress(errors.ApiError):
            await allocations.repair(context)
        for name, work in (
            ("etcd/leases", leases.expire_shared(self._etcd)),
            ("etcd/compactor", self._compact()),
            ("apiserver/masterleases", self._say_alive()),
            ("apiserver/identity", self._identify()),
            ("apiserver/allocations", allocations.keep_repaired(context)),
        ):
            self._kernel.spawn(name, work, background=True)

    async def _compact(self) -> None:
        """Every five minutes forget what is far behind, and write down how far, as kube-apiserver
        does for the other servers beside it."""
        store = self._store
        while True:
            await self._kernel.sleep(COMPACT_SECONDS)
            await self._until_both_run()
            revision = await self._oldest_kept()
            if revision > store.compacted:
                store.compact(revision)
            await self._clear()
            store.put(COMPACT_KEY, str(store.compacted).encode())
            await self._forget(self._recorder.seq - TRACE_KEEP)

    async def _until_both_run(self) -> None:
        """Until the API server has started and can write to etcd."""
        await self._context.life.until_started()
        await self._context.etcd.until_running()

    async def _oldest_kept(self) -> int:
        """The revision from which on there are neither too many nor too many bytes."""
        store, size = self._store, 0
        revision = newest = store.revision
        while revision > max(store.compacted, newest - COMPACT_KEEP):
            size += store.backend.size(revision - CLEAR_STEP, revision)
            if size > COMPACT_KEEP_BYTES:
                return revision
            revision -= CLEAR_STEP
            await self._kernel.pause()
        return newest - COMPACT_KEEP

    async def _clear(self) -> None:
        """Delete what is older than the compaction, step by step: others go on between."""
        while self._cleared < self._store.compacted:
            self._cleared = min(self._store.compacted, self._cleared + CLEAR_STEP)
            self._store.clear(self._cleared)
            await self._kernel.pause()

    async def _forget(self, seq: int) -> None:
        """Records before `seq`, and inputs, step by step: others go on between."""
        while self._forgotten < seq:
            self._forgotten = min(seq, self._forgotten + FORGET_STEP)
            self._store.backend.forget(self._forgotten)
            await self._kernel.pause()

    # -- signs of life --------------------------------------------------------------------------

    async def _say_alive(self) -> None:
        while True:
            await self._kernel.sleep(masterleases.RENEW_SECONDS, background=True)
            await self._until_both_run()
            masterleases.renew(self._store, self._context.addresses.advertised, self._grant())

    def _grant(self) -> int:
        """A new lease, which nobody else's is called."""
        wanted = int.from_bytes(hashlib.sha256(str(self._kernel.now).encode()).digest()[:7], "big")
        return leases.grant(self._etcd, masterleases.TTL_SECONDS, wanted)[0]

    async def _identify(self) -> None:
        if not self._context.version.has("APIServerIdentity"):
            return
        while True:
            # refused by the server's own plugins, or somebody was faster: again soon
            with contextlib.suppress(errors.ApiError):
                await self._renew_identity()
            await self._kernel.sleep(IDENTITY_RENEW_SECONDS, background=True)

    async def _renew_identity(self) -> None:
        now = meta.rfc3339_micro(self._kernel.now)
        name = identity_of(self._host)
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
            "kubernetes.io/hostname": self._host,
        }
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": name, "namespace": NAMESPACE, "labels": labels},
            "spec": {
                "holderIdentity": f"{name}_{self._context.rand.uuid()}",
                "leaseDurationSeconds": IDENTITY_SECONDS,
                "renewTime": now,
            },
        }


def identity_of(host: str) -> str:
    """What an API server on that host is called."""
    digest = hashlib.sha256(host.encode()).digest()[:16]
    return "apiserver-" + base64.b32encode(digest).decode().rstrip("=").lower()
