"""Leader election with a Lease: of several candidates only the leader is active.

A candidate takes the Lease when it has no holder, or when this candidate has seen no renewal for
the lease's duration. The holder renews every two seconds, with background timers, so that the
renewals do not make a fast clock jump ahead.

Models kubernetes staging/src/k8s.io/client-go/tools/leaderelection (leaderelection.go and
resourcelock/leaselock.go).
"""

from __future__ import annotations

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.client import Client
from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.probe import Probe
from controllers_app.runtime.events import Recorder

LEASE_SECONDS = 15
RENEW_DEADLINE_SECONDS = 10
RETRY_SECONDS = 2
LEASES = "leases.coordination.k8s.io"
NAMESPACE = "kube-system"


class LeaderElector:
    """One candidate: the Lease's `name`, its holder `identity`, and the `component` of the trace
    (by default the Lease's name)."""

    def __init__(
        self,
        kernel: Kernel,
        client: Client,
        probe: Probe,
        recorder: Recorder,
        name: str,
        identity: str,
        *,
        component: str = "",
    ) -> None:
        self.name = name
        self.identity = identity
        self._component = component or name
        self._kernel = kernel
        self._client = client
        self._probe = probe
        self._recorder = recorder
        self._lease: Object | None = None
        self._seen_spec: Object | None = None
        self._seen_at = 0

    async def acquire(self) -> None:
        """Wait until this candidate leads."""
        while not await self._try():
            # a dead holder's lease expires, so a fast clock may skip the wait; a live holder, or
            # an API server that refuses the request, may keep this waiting for ever
            holder_may_be_dead = (
                self._holder() not in ("", self.identity) and self._seen_at < self._kernel.now
            )
            await self._kernel.sleep(RETRY_SECONDS, background=not holder_may_be_dead)
        assert self._lease is not None
        self._recorder.event(
            self._lease, "Normal", "LeaderElection", f"{self.identity} became leader"
        )
        self._probe.tell("component", self._component, "leading", {"identity": self.identity})

    async def renew(self) -> None:
        """Renew the Lease periodically. Returns when leadership is lost."""
        failing_since: int | None = None
        while True:
            await self._kernel.sleep(RETRY_SECONDS, background=True)
            if await self._try():
                failing_since = None
                continue
            if self._holder() not in ("", self.identity):
                return
            if failing_since is None:
                failing_since = self._kernel.now
            elif self._kernel.now - failing_since >= RENEW_DEADLINE_SECONDS * SECOND:
                return

    async def _try(self) -> bool:
        """Takes or renews the Lease; True when this candidate now holds it."""
        try:
            return await self._write()
        except errors.ApiError:
            return False

    async def _write(self) -> bool:
        now = self._kernel.now
        mine = self._holder() == self.identity
        if not mine:
            lease: Object | None = None
            with errors.ignoring("NotFound"):
                lease = await self._client.get(LEASES, NAMESPACE, self.name)
            if lease is None:
                self._observe(await self._client.create(LEASES, NAMESPACE, self._new(now)))
                return True
            self._observe(lease)
        assert self._lease is not None
        spec = self._lease.get("spec") or {}
        holder = self._holder()
        duration = spec.get("leaseDurationSeconds", LEASE_SECONDS) * SECOND
        if holder not in ("", self.identity) and self._seen_at + duration > now:
            return False
        renewed = {
            **spec,
            "holderIdentity": self.identity,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": meta.rfc3339_micro(now),
        }
        if holder != self.identity:
            renewed["acquireTime"] = renewed["renewTime"]
            renewed["leaseTransitions"] = spec.get("leaseTransitions", 0) + 1
        try:
            self._observe(
                await self._client.update(
                    LEASES, NAMESPACE, self.name, {**self._lease, "spec": renewed}
                )
            )
        except errors.ApiError as error:
            if error.code in (404, 409):  # somebody else wrote it: read it again
                self._lease = None
            raise
        return True

    def _new(self, now: int) -> Object:
        moment = meta.rfc3339_micro(now)
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {"name": self.name, "namespace": NAMESPACE},
            "spec": {
                "holderIdentity": self.identity,
                "leaseDurationSeconds": LEASE_SECONDS,
                "acquireTime": moment,
                "renewTime": moment,
                "leaseTransitions": 0,
            },
        }

    def _observe(self, lease: Object) -> None:
        self._lease = lease
        spec = lease.get("spec")
        if spec != self._seen_spec:
            self._seen_spec = spec
            self._seen_at = self._kernel.now

    def _holder(self) -> str:
        if self._lease is None:
            return ""
        return str((self._lease.get("spec") or {}).get("holderIdentity") or "")
