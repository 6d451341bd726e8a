"""Writing a pod's status: the pod is read, patched where its status differs, and deleted at its
end. Where somebody else changes what the kubelet says of a pod, it is said again.

Models kubernetes pkg/kubelet/status/status_manager.go (syncPod, syncBatch, needsReconcile).
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Protocol

import orjson

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from controllers_app.kubelet import status as statuses
from controllers_app.kubelet.dependencies import Pod

ROUND_SECONDS = 10  # syncPeriod: so often all statuses are held against those in the API


class Worker(Pod, Protocol):
    """The pod worker as its status writer sees it."""

    removed_from_api: bool

    def renew(self, pod: Object) -> None:
        """Continues with a newer version of the pod."""
        ...


class StatusWriter:
    """Writes the status of one pod."""

    __slots__ = ("_last", "_looks", "_said", "_worker")

    def __init__(self, worker: Worker) -> None:
        self._worker = worker
        self._last = b""  # the digest of what was written last
        self._said: Object | None = None  # the status in the API then
        self._looks = False  # with the next round

    def part(self) -> None:
        """Lets go of the worker, once nothing is asked of this any more."""
        del self._worker

    def seen(self, pod: Object, revision: int) -> None:
        """Looks with the next round at a version of the pod whose status somebody else changed: a
        node that was silent finds its pods not ready, and no container of theirs changes."""
        worker = self._worker
        is_own = meta.revision_of(pod) == meta.revision_of(worker.pod)
        if is_own or self._looks or not self._differs(pod):
            return
        self._looks = True
        worker.spawn("status", self._next_round(revision), background=True)

    def _differs(self, pod: Object) -> bool:
        """Whether the API has other than was said."""
        said, has = self._said, pod.get("status")
        return said is not None and said != has and _own(said) != _own(has or {})

    async def _next_round(self, revision: int) -> None:
        kernel, began = self._worker.kubelet.kernel, self._worker.kubelet.began
        rounds = (kernel.now - began) // (ROUND_SECONDS * SECOND) + 1
        await kernel.until(began + rounds * ROUND_SECONDS * SECOND)
        self._looks = False
        if self._differs(self._worker.pod):  # it may have been a write of its own under way
            self._last = b""
            await self._worker.worked(revision, self.say)

    async def say(self) -> str:
        """Reports what a changed object makes of the pod."""
        await self._worker.report()
        return "reported"

    async def set_status(
        self,
        generate: Callable[[], Object],
        *,
        holds_phase: bool = False,
        is_finished: bool = False,
    ) -> None:
        """Writes the generated status if it is another one, or anyway if the pod is finished or
        being deleted; what is both is then deleted for good. One pod of a node at a time."""
        worker = self._worker
        async with worker.kubelet.writing:
            status = generate()
            if _digest(status) == self._last and not (is_finished or meta.is_deleting(worker.pod)):
                return
            # deleted or replaced by a pod of the same name: the watch will report it
            gone = ("NotFound", "Conflict", *(["Forbidden"] if worker.removed_from_api else ()))
            with errors.ignoring(*gone):
                pod = await self._sync(status, generate, holds_phase)
                if is_finished and pod is not None and meta.is_deleting(pod):
                    await self._delete()

    async def _sync(
        self, status: Object, generate: Callable[[], Object], holds_phase: bool
    ) -> Object | None:
        worker, client = self._worker, self._worker.kubelet.client
        namespace, name = meta.split_key(worker.key)
        pod = await client.get("pods", namespace, name)
        if meta.uid_of(pod) != worker.uid:
            return None
        if meta.revision_of(pod) > meta.revision_of(worker.pod):
            worker.renew(pod)
            status = generate()
        old = pod.get("status") or {}
        patch = statuses.patch_of(old, statuses.held(status, old) if holds_phase else status)
        if patch:
            body = {"metadata": {"uid": worker.uid}, "status": patch}
            pod = await client.patch("pods", namespace, name, body, subresource="status")
            if meta.revision_of(pod) > meta.revision_of(worker.pod):
                worker.renew(pod)
        self._last = _digest(status)
        self._said = pod.get("status")
        return pod

    async def _delete(self) -> None:
        worker = self._worker
        namespace, name = meta.split_key(worker.key)
        options = {"gracePeriodSeconds": 0, "preconditions": {"uid": worker.uid}}
        await worker.kubelet.client.delete("pods", namespace, name, options=options)


def _own(status: Object) -> Object:
    """What of a pod's status is the kubelet's, without the times of its conditions."""
    said = {
        condition["type"]: [condition.get(key) for key in ("status", "reason", "message")]
        for condition in status.get("conditions") or ()
        if condition["type"] in statuses.OWNED
    }
    return {**status, "conditions": said}


def _digest(status: Object) -> bytes:
    encoded = orjson.dumps(status, option=orjson.OPT_SORT_KEYS)
    return hashlib.blake2b(encoded, digest_size=16).digest()
