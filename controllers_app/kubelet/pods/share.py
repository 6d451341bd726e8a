"""One pod's share of its node: whether there is room for it, and for a resize of it, which is
deferred until there is, or infeasible.

Models kubernetes pkg/kubelet/kubelet.go (HandlePodAdditions, rejectPod, handlePodResourcesResize).
"""

from __future__ import annotations

from typing import Protocol

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from controllers_app.kubelet import allocation as allocations
from controllers_app.kubelet import status as statuses
from controllers_app.kubelet.allocation import Allocation, Pending
from controllers_app.kubelet.dependencies import Pod
from controllers_app.kubelet.pods.statuswriter import StatusWriter
from controllers_app.scheduler import nodeinfo

SYNC_SECONDS, SYNC_SECONDS_MAX = 60, 90  # between two looks at a pod that does not change


class Worker(Pod, Protocol):
    """The pod worker as its share sees it."""

    status: StatusWriter

    def give(self, pod: Object) -> None:
        """Continues with a version of the pod that the node has room for."""
        ...

    def respecified(self, revision: int) -> None:
        """Acts on a changed spec."""
        ...


class Share:
    """What a pod was given, and whether it asks for other than that."""

    __slots__ = ("_allocation", "_refusal", "_worker", "pending", "requests")

    def __init__(self, worker: Worker, allocation: Allocation) -> None:
        self._worker = worker
        self._allocation = allocation
        self._refusal = ("", "")
        self.pending: Pending | None = None
        self.requests: nodeinfo.Amounts = {}  # the sum of what its containers were given

    def part(self) -> None:
        """Lets go of the worker, once nothing is asked of this any more."""
        del self._worker

    @property
    def pod(self) -> Object:
        return self._worker.pod

    @property
    def is_over(self) -> bool:
        """Whether the pod holds nothing of the node, never or no more."""
        phase = (self.pod.get("status") or {}).get("phase")
        return bool(self._refusal[0]) or phase in statuses.OVER

    # -- a new pod ------------------------------------------------------------------------------

    def is_refused(self) -> bool:
        refusal = self._allocation.refusal(self)
        self._refusal = refusal or self._refusal
        return refusal is not None

    async def reject(self) -> str:
        """Fails the pod. It never was here, so nothing else is reported about it."""
        kubelet = self._worker.kubelet
        reason, message = self._refusal
        kubelet.recorder.event(self.pod, "Warning", reason, message)
        status = {
            "phase": "Failed",
            "reason": reason,
            "message": f"Pod was rejected: {message}",
            "startTime": meta.rfc3339(kubelet.kernel.now),
        }
        await self._worker.status.set_status(lambda: status)
        return message

    # -- a resize -------------------------------------------------------------------------------

    def given(self, pod: Object) -> Object:
        """A newer version of the pod, with what it was given if there is no room for more."""
        if pod["metadata"].get("generation") != self.pod["metadata"].get("generation"):
            self._judge(pod, self.pod)
        return pod if self.pending is None else allocations.limited(pod, self.pod)

    def restored(self, pod: Object) -> Object:
        """The pod with what an earlier kubelet had given it."""
        out = allocations.restored(pod)
        self._judge(pod, out)
        if self.pending is not None:
            self.requests = nodeinfo.shared(nodeinfo.pod_requests(out))
        return out

    def watch(self) -> None:
        """Looks at a deferred resize with each sync of the pod."""
        if self.pending is not None and self.pending.reason == allocations.DEFERRED:
            self._worker.spawn("resize", self._try_again(self.pending), background=True)

    async def _try_again(self, pending: Pending) -> None:
        worker = self._worker
        kernel, rand = worker.kubelet.kernel, worker.kubelet.rand
        while True:
            await kernel.sleep(rand.uniform(SYNC_SECONDS, SYNC_SECONDS_MAX), background=True)
            if self.pending is not pending:
                return  # another resize came
            asked = {**worker.pod, "spec": pending.spec}
            self._judge(asked, worker.pod)
            if self.pending is None:
                worker.give(asked)
                worker.respecified(0)
                return
            pending = self.pending
            await worker.worked(0, self._reported)

    async def _reported(self) -> str:
        await self._worker.report()
        return "the resize is deferred"

    def _judge(self, pod: Object, given: Object) -> None:
        self.pending = self._allocation.judge(pod, given)
        if self.pending is None:
            self.requests = nodeinfo.shared(nodeinfo.pod_requests(pod))
