"""The taint eviction controller: deletes pods that do not tolerate their node's NoExecute taints.

A pod with tolerationSeconds is deleted that long after the taint was seen, unless the taint is
removed before.

Models kubernetes pkg/controller/tainteviction/taint_eviction.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.workload import podstate
from controllers_app.runtime import nodeaffinity, podconditions
from controllers_app.runtime.controller import Context, Controller, Result
from controllers_app.runtime.watches import ADDED, DELETED, UPDATED, Watches

FOREVER = -1.0


class TaintEvictionController(Controller):
    """Reconciles pods on tainted nodes."""

    resource = "pods"
    source = "pkg/controller/tainteviction/taint_eviction.go processPodOnNode"
    watches = (
        Watches(
            "nodes",
            on=ADDED,
            when=lambda node: _no_execute(node),
            keys=lambda self, node: self._pods_on(node),
        ),
        Watches(
            "nodes",
            on=UPDATED,
            changed=lambda old, node: _no_execute(old) != _no_execute(node),
            keys=lambda self, node: self._pods_on(node),
        ),
        Watches(
            "pods",
            on=ADDED | UPDATED,
            index=podstate.BY_NODE,
            changed=lambda old, pod: _placement(old) != _placement(pod),
            keys=lambda self, pod: self._if_on_tainted_node(pod),
        ),
        Watches("pods", on=DELETED, keys=lambda self, pod: self._if_marked(pod)),
    )
    workers = 8

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._due: dict[str, int] = {}  # when a pod that tolerates for a while is to go
        self._nodes, self._pods = self.caches["nodes"], self.caches["pods"]

    async def reconcile(self, key: str) -> Result | None:
        pod = self._pods.get(key)
        if pod is None:
            return self._cancel_eviction(key, "it is gone")
        if meta.is_deleting(pod):
            return Result("is going")
        node = self._nodes.get(pod["spec"].get("nodeName") or "")
        due = self._due.get(key)
        if due is not None and due <= self.kernel.now:
            await self._evict(key, pod)
            return Result("has been on its tainted node for as long as it tolerates: deletes it")
        if node is None:
            return self._wait(due) if due is not None else Result("its node is gone")
        taints = _no_execute(node)
        if not taints:
            return self._cancel_eviction(key, "its node has no such taint")
        seconds = tolerated_seconds(pod, taints)
        if seconds == FOREVER:
            return self._cancel_eviction(key, "tolerates its node's taints")
        if not seconds:
            self._cancel_eviction(key, "")
            await self._evict(key, pod)
            return Result("does not tolerate its node's taints: deletes it")
        # from when this was first seen, whatever the taint or a later toleration says
        return self._wait(self._due.setdefault(key, self.kernel.now + int(seconds * SECOND)))

    def _wait(self, due: int) -> Result:
        left = (due - self.kernel.now) / SECOND
        return Result(f"tolerates its node's taints for {left:.0f} s more", left)

    def _cancel_eviction(self, key: str, reason: str) -> Result:
        if self._due.pop(key, None) is not None:
            message = f"Cancelling deletion of Pod {key}"
            self.recorder.event(_bare(key), "Normal", "TaintManagerEviction", message)
        return Result(f"{reason}: nothing to do")

    async def _evict(self, key: str, pod: Object) -> None:
        namespace, name = meta.split_key(key)
        message = f"Marking for deletion Pod {key}"
        self.recorder.event(_bare(key), "Normal", "TaintManagerEviction", message)
        latest = await self.live("pods", namespace, name)
        if latest is None:
            return
        status = podconditions.condition(
            latest,
            self.kernel.now,
            "DisruptionTarget",
            "True",
            "DeletionByTaintManager",
            "Taint manager: deleting due to NoExecute taint",
        )
        with errors.ignoring("NotFound"):
            await self.client.patch(
                "pods",
                namespace,
                name,
                {"metadata": {"uid": meta.uid_of(latest)}, "status": status},
                subresource="status",
            )
            await self.client.delete("pods", namespace, name)
        self._due.pop(key, None)

    # -- keys -----------------------------------------------------------------------------------

    def _pods_on(self, node: Object) -> list[str]:
        return sorted(self._pods.by("node", meta.name_of(node)))

    def _if_on_tainted_node(self, pod: Object) -> tuple[str, ...]:
        node_name = pod["spec"].get("nodeName")
        node = self._nodes.get(node_name) if node_name else None
        return (meta.key_of(pod),) if node is not None and _no_execute(node) else ()

    def _if_marked(self, pod: Object) -> tuple[str, ...]:
        key = meta.key_of(pod)
        return (key,) if key in self._due else ()


def tolerated_seconds(pod: Object, taints: Sequence[Object]) -> float:
    """How many seconds the pod tolerates all the taints: 0 not at all, or FOREVER."""
    tolerations = pod["spec"].get("tolerations") or []
    limits = []
    for taint in taints:
        matching = [item for item in tolerations if nodeaffinity.tolerates(item, taint)]
        if not matching:
            return 0.0
        limits += [
            max(0.0, float(item["tolerationSeconds"]))
            for item in matching
            if item.get("tolerationSeconds") is not None
        ]
    return min(limits, default=FOREVER)


def _bare(key: str) -> Object:
    """What events about a pod's eviction name."""
    namespace, name = meta.split_key(key)
    metadata = {"namespace": namespace, "name": name}
    return {"kind": "Pod", "apiVersion": "v1", "metadata": metadata}


def _placement(pod: Object) -> tuple[object, object]:
    return pod["spec"].get("nodeName"), pod["spec"].get("tolerations")


def _no_execute(node: Object) -> list[Object]:
    return [taint for taint in node["spec"].get("taints") or () if taint["effect"] == "NoExecute"]
