"""The pod garbage collector: removes pods that nobody else will.

Every twenty seconds it looks for pods bound to a node that is gone, pods being deleted that were
never bound, and finished pods beyond a limit.

Models kubernetes pkg/controller/podgc/gc_controller.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.workload import podstate
from controllers_app.runtime import podconditions
from controllers_app.runtime.controller import Context, Controller, Result
from controllers_app.runtime.watches import Reads

PERIOD_SECONDS = 20.0
QUARANTINE_SECONDS = 40.0
FINISHED_MAX = 12_500


class PodGcController(Controller):
    """Reconciles pods that a look around has found."""

    resource = "pods"
    source = "pkg/controller/podgc/gc_controller.go gc"
    watches = (Reads("nodes"), Reads("pods", index=podstate.BY_NODE))
    workers = 1

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._missing_since: dict[str, int] = {}
        self._gone: set[str] = set()  # nodes that the server was asked about in this look around
        self._nodes, self._pods = self.caches["nodes"], self.caches["pods"]

    async def reconcile(self, key: str) -> Result | None:
        pod = self._pods.get(key)
        if pod is None:
            return Result("is gone")
        node_name = pod["spec"].get("nodeName")
        if node_name and self._nodes.get(node_name) is None:
            if node_name not in self._gone:
                if not await self._is_absent(node_name):
                    return Result("its node is back: does nothing")
                self._gone.add(node_name)
            await self._remove(pod, "PodGC: node no longer exists")
            return Result("its node is gone: deletes it")
        if meta.is_deleting(pod) and not node_name:
            await self._remove(pod, "")
            return Result("is being deleted and was never bound: deletes it")
        if podstate.is_finished(pod):
            await self._remove(pod, "")
            return Result("too many pods are finished: deletes it")
        return Result("nothing to do")

    async def housekeep(self) -> None:
        while True:
            await self.kernel.sleep(PERIOD_SECONDS, background=True)
            self._look()

    def _look(self) -> None:
        now = self.kernel.now
        self._gone.clear()
        finished: list[tuple[str, str]] = []
        absent: dict[str, None] = {}
        for pod in self._pods.list():
            key = meta.key_of(pod)
            node_name = pod["spec"].get("nodeName")
            if node_name:
                if self._nodes.get(node_name) is None:
                    absent[node_name] = None
            elif meta.is_deleting(pod):
                self.queue.add(key)
            if podstate.is_finished(pod):
                finished.append((pod["metadata"].get("creationTimestamp", ""), key))
        self._missing_since = {name: self._missing_since.get(name, now) for name in absent}
        for name, since in self._missing_since.items():
            if now - since >= QUARANTINE_SECONDS * SECOND:
                for key in sorted(self._pods.by("node", name)):
                    self.queue.add(key)
        for _, key in sorted(finished)[: max(0, len(finished) - FINISHED_MAX)]:
            self.queue.add(key)

    async def _is_absent(self, node_name: str) -> bool:
        with errors.ignoring("NotFound"):
            await self.client.get("nodes", "", node_name)
            return False
        return True

    async def _remove(self, pod: Object, why: str) -> None:
        """Delete without grace; a pod that had not ended is said to have failed first."""
        namespace, name = meta.namespace_of(pod), meta.name_of(pod)
        if not podstate.is_finished(pod):
            status: Object = {"phase": "Failed"}
            if why:
                now = self.kernel.now
                status |= podconditions.condition(
                    pod, now, "DisruptionTarget", "True", "DeletionByPodGC", why
                )
            patch = {"metadata": {"uid": meta.uid_of(pod)}, "status": status}
            await self.client.patch("pods", namespace, name, patch, subresource="status")
        with errors.ignoring("NotFound"):
            await self.client.delete("pods", namespace, name, options={"gracePeriodSeconds": 0})
