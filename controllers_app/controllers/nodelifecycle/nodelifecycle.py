"""The node lifecycle controller: notices silent kubelets, and turns conditions into taints.

A node whose lease and status stand still for the grace period has its conditions set to Unknown,
and its pods are not ready any more. What the conditions say becomes taints in two passes:
NoSchedule at once, so that the scheduler keeps away, and NoExecute, on which the taint eviction
controller acts, when the nodes' health is looked at, every five seconds. Silence is counted in
these looks, not by the clock: a clock that jumps ahead gives the kubelets their turn before it
counts against them. How many nodes get NoExecute, and how fast, is said in zones.py.

Models kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from apiserver_app.machinery import conditions, errors, meta
from apiserver_app.machinery.client import STRATEGIC_PATCH
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.nodelifecycle import zones
from controllers_app.controllers.workload import podstate
from controllers_app.runtime.controller import Context, Controller, Result
from controllers_app.runtime.watches import ADDED, DELETED, UPDATED, For, Reads, Watches

PERIOD_SECONDS = 5.0
GRACE_SECONDS = 50.0
GRACE_SECONDS_BEFORE_1_32 = 40.0
STARTUP_GRACE_SECONDS = 60.0
# from then on the silence may be waited out by a clock that jumps
SUSPECT_SECONDS = 15.0
HEALTH = "health/"  # prefix of the key of a node whose health is to be looked at
CONFLICTS_MAX = 5
LEASES = "leases.coordination.k8s.io"
LEASE_NAMESPACE = "kube-node-lease"
PREFIX = "node.kubernetes.io/"
NOT_READY = PREFIX + "not-ready"
UNREACHABLE = PREFIX + "unreachable"

# condition -> taint when it is True
_PRESSURES = {
    "MemoryPressure": PREFIX + "memory-pressure",
    "DiskPressure": PREFIX + "disk-pressure",
    "PIDPressure": PREFIX + "pid-pressure",
    "NetworkUnavailable": PREFIX + "network-unavailable",
}
_OLD_LABELS = {
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
}
_EMPTIES = ((NOT_READY, "NoExecute"), (UNREACHABLE, "NoExecute"))
_CENSUS = "zones"
_OURS = frozenset((NOT_READY, UNREACHABLE, PREFIX + "unschedulable", *_PRESSURES.values()))
_WATCHED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")

Taint = tuple[str, str]  # key, effect


class _Pulse(msgspec.Struct):
    """The last sign of life, and for how many seconds of looking it has not changed."""

    sign: tuple[Any, ...] = ()
    silent: float = 0.0


class NodeLifecycleController(Controller):
    """Reconciles nodes, by name."""

    source = "pkg/controller/nodelifecycle/node_lifecycle_controller.go monitorNodeHealth"
    watches = (
        Watches("nodes", on=ADDED, keys=lambda self, node: self._register(node)),
        # a heartbeat alone is no work
        For("nodes", on=UPDATED, changed=lambda old, node: _decisive(old) != _decisive(node)),
        Watches("nodes", on=DELETED, keys=lambda self, node: self._remove(node)),
        Reads(LEASES),
        Reads("pods", index=podstate.BY_NODE),
    )
    workers = 1

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        recent = ctx.version.has("NodeMonitorGracePeriod50s")
        self._grace = GRACE_SECONDS if recent else GRACE_SECONDS_BEFORE_1_32
        self._pulses: dict[str, _Pulse] = {}
        self._known: dict[str, Object] = {}  # the nodes of the last look, as events name them
        self._unmarked: dict[str, None] = {}  # nodes with pods that could not be marked
        self._next_look = ctx.kernel.now
        self._zones = zones.Zones(ctx.kernel)
        self._nodes, self._leases = self.caches["nodes"], self.caches[LEASES]
        self._pods = self.caches["pods"]
        self._nodes.census(_CENSUS, zones.everywhere, zones.health_of)

    async def reconcile(self, key: str) -> Result | None:
        if key.startswith(HEALTH):
            return await self._look_at(key.removeprefix(HEALTH))
        node = self._nodes.get(key)
        if node is None:
            return Result("is gone")
        did = [await self._taint_no_schedule(node), await self._label(node)]
        if self._is_to_be_looked_at(node):
            self.queue.add_after(HEALTH + key, self._seconds_to_next_look())
        return Result("; ".join(filter(None, did)) or "nothing to do")

    async def _look_at(self, name: str) -> Result:
        """What silence does to a node, and what its readiness means for the pods on it."""
        node = self._nodes.get(name)
        if node is None:
            return Result("is gone")
        self._look_at_zones()
        ready = conditions.find(node.get("status"), "Ready")
        if self._is_silent(node) and (ready is None or ready["status"] != "Unknown"):
            await self._mark_unknown(node)
            if ready is None or ready["status"] != "True":
                return Result("is silent: its conditions become Unknown")
            message = f"Node {name} status is now: NodeNotReady"
            self.recorder.event(_bare(node), "Normal", "NodeNotReady", message)
            return await self._mark_pods(name)
        if ready is None:
            return Result("has never said whether it is ready")
        if name in self._unmarked and ready["status"] != "True":
            await self._mark_pods(name)
        if ready["status"] == "True" or self._zones.is_halted:
            taints = [taint for taint in _taints(node) if _key(taint) in _EMPTIES]
            if not taints:
                return Result("nothing to do")
            for taint in taints:
                await self._remove_taints(name, [_key(taint)])
            why = "is ready" if ready["status"] == "True" else "no node is ready: none is emptied"
            return Result(f"{why}: pods may stay")
        return await self._empty(node, UNREACHABLE if ready["status"] == "Unknown" else NOT_READY)

    async def _empty(self, node: Object, key: str) -> Result:
        """Taints it so that its pods leave, if it may be emptied by now."""
        name, wanted = meta.name_of(node), (key, "NoExecute")
        [opposite] = [empty for empty in _EMPTIES if empty != wanted]
        have = {_key(taint) for taint in _taints(node)}
        if wanted in have:
            return Result("is being emptied")
        if opposite not in have:
            wait = self._zones.wait(zones.zone_of(node))
            if wait is None:
                return Result("most of its zone is not ready: it is not emptied")
            if wait > 0:
                return Result(f"others are emptied first: waits {wait:.1f} s", wait)
        await self._add_taints(name, [wanted])
        if opposite in have:
            await self._remove_taints(name, [opposite])
        return Result(f"taints it {key}:NoExecute")

    def _is_to_be_looked_at(self, node: Object) -> bool:
        """Whether its readiness and its taints do not agree."""
        ready = conditions.find(node.get("status"), "Ready")
        if ready is None:
            return False
        have = {_key(taint) for taint in _taints(node)}
        if ready["status"] == "True":
            return any(empty in have for empty in _EMPTIES)
        key = UNREACHABLE if ready["status"] == "Unknown" else NOT_READY
        return (key, "NoExecute") not in have

    def _seconds_to_next_look(self) -> float:
        return max(0.0, (self._next_look - self.kernel.now) / SECOND)

    def _look_at_zones(self) -> None:
        if self._zones.look(self._nodes.count(_CENSUS, "")):
            for node in self._nodes.list():
                name = meta.name_of(node)
                if not self._zones.is_halted and name in self._pulses:
                    self._pulses[name].silent = 0.0  # the silence may have been ours
                self.queue.add(HEALTH + name)

    async def housekeep(self) -> None:
        """Look at every node's signs of life, every five seconds."""
        while True:
            self._next_look = self.kernel.now + int(PERIOD_SECONDS * SECOND)
            self._tell_who_came_and_went()
            await self.kernel.sleep(PERIOD_SECONDS, background=not self._has_suspects())
            self._look_at_zones()
            for name in sorted(map(meta.name_of, self._nodes.list())):
                await self.kernel.spend(1)
                node = self._nodes.get(name)
                if node is None:  # it went while others had their turn
                    continue
                pulse = self._pulses.setdefault(name, _Pulse())
                sign = self._sign(name, node)
                if sign != pulse.sign:
                    pulse.sign, pulse.silent = sign, 0.0
                    continue
                pulse.silent += PERIOD_SECONDS
                if self._is_silent(node) and not _is_unknown(node):
                    self.queue.add(HEALTH + name)

    def _tell_who_came_and_went(self) -> None:
        """Records an event about each node since the last look."""
        nodes = {meta.name_of(node): node for node in self._nodes.list()}
        for name in sorted(nodes.keys() - self._known.keys()):
            self._known[name] = about = _bare(nodes[name])
            message = f"Node {name} event: Registered Node {name} in Controller"
            self.recorder.event(about, "Normal", "RegisteredNode", message)
        for name in sorted(self._known.keys() - nodes.keys()):
            message = f"Node {name} event: Removing Node {name} from Controller"
            self.recorder.event(self._known.pop(name), "Normal", "RemovingNode", message)

    # -- signs of life --------------------------------------------------------------------------

    def _sign(self, name: str, node: Object) -> tuple[Any, ...]:
        lease = self._leases.get(f"{LEASE_NAMESPACE}/{name}")
        renewed = ((lease or {}).get("spec") or {}).get("renewTime")
        ready = conditions.find(node.get("status"), "Ready") or {}
        # what we wrote ourselves is no sign of life
        beat = ready.get("lastHeartbeatTime") if ready.get("status") != "Unknown" else None
        return renewed, beat

    def _is_silent(self, node: Object) -> bool:
        pulse = self._pulses.get(meta.name_of(node))
        if pulse is None:
            return False
        never = conditions.find(node.get("status"), "Ready") is None
        return pulse.silent > (STARTUP_GRACE_SECONDS if never else self._grace)

    def _has_suspects(self) -> bool:
        for name, pulse in self._pulses.items():
            if pulse.silent >= SUSPECT_SECONDS:
                node = self._nodes.get(name)
                if node is not None and not _is_unknown(node):
                    return True
        return False

    # -- what is done ---------------------------------------------------------------------------

    async def _mark_unknown(self, node: Object) -> None:
        now = meta.rfc3339(self.kernel.now)
        status = node.get("status") or {}
        known = {item["type"]: item for item in status.get("conditions") or ()}
        for kind in _WATCHED:
            before = known.get(kind)
            if before is None:
                known[kind] = {
                    "type": kind,
                    "status": "Unknown",
                    "lastHeartbeatTime": node["metadata"].get("creationTimestamp", now),
                    "lastTransitionTime": now,
                    "reason": "NodeStatusNeverUpdated",
                    "message": "Kubelet never posted node status.",
                }
            elif before["status"] != "Unknown":
                known[kind] = {
                    **before,
                    "status": "Unknown",
                    "lastTransitionTime": now,
                    "reason": "NodeStatusUnknown",
                    "message": "Kubelet stopped posting node status.",
                }
        changed = {**status, "conditions": list(known.values())}
        await self.update_status("nodes", node, changed)

    async def _taint_no_schedule(self, node: Object) -> str:
        """Makes our NoSchedule taints what its conditions say. What was changed."""
        name, wanted = meta.name_of(node), _wanted_taints(node)
        have = [_key(taint) for taint in _taints(node)]
        added = [taint for taint in wanted if taint not in have]
        removed = [
            taint
            for taint in have
            if taint[0] in _OURS and taint[1] == "NoSchedule" and taint not in wanted
        ]
        if added:
            await self._add_taints(name, added)
        if removed:
            await self._remove_taints(name, removed)
        words = [f"taints it {key}:{effect}" for key, effect in added]
        if removed:
            words.append(f"removes {len(removed)} taints")
        return ", ".join(words)

    async def _add_taints(self, name: str, wanted: list[Taint]) -> None:
        now = meta.rfc3339(self.kernel.now)
        added = [{"key": key, "effect": effect, "timeAdded": now} for key, effect in wanted]
        await self._change_taints(
            name, lambda known: [*(taint for taint in known if _key(taint) not in wanted), *added]
        )

    async def _remove_taints(self, name: str, unwanted: list[Taint]) -> None:
        await self._change_taints(
            name, lambda known: [taint for taint in known if _key(taint) not in unwanted]
        )

    async def _change_taints(
        self, name: str, change: Callable[[list[Object]], list[Object]]
    ) -> None:
        """Reads the node first; again when somebody else was faster."""
        for left in reversed(range(CONFLICTS_MAX)):
            node = await self.live("nodes", "", name)
            if node is None:
                return
            known = _taints(node)
            taints = change(known)
            if taints == known:
                return
            patch = {
                "metadata": {"resourceVersion": node["metadata"]["resourceVersion"]},
                "spec": {"taints": taints or None},
            }
            try:
                await self.client.patch("nodes", "", name, patch, kind=STRATEGIC_PATCH)
                return
            except errors.ApiError as error:
                if error.reason != "Conflict" or not left:
                    raise

    async def _label(self, node: Object) -> str:
        """The labels of old have the values of those that replaced them."""
        labels = meta.labels_of(node)
        wanted = {
            old: labels[new]
            for old, new in _OLD_LABELS.items()
            if new in labels and labels.get(old) != labels[new]
        }
        if not wanted or await self.live("nodes", "", meta.name_of(node)) is None:
            return ""
        patch = {"metadata": {"labels": wanted}}
        await self.client.patch("nodes", "", meta.name_of(node), patch, kind=STRATEGIC_PATCH)
        return f"labels it {', '.join(wanted)}"

    async def _mark_pods(self, node_name: str) -> Result:
        """The kubelet cannot say any more that its pods are ready."""
        now = meta.rfc3339(self.kernel.now)
        count = 0
        self._unmarked.pop(node_name, None)
        for _, pod in sorted(self._pods.by("node", node_name).items()):
            ready = conditions.find(pod.get("status"), "Ready")
            if ready is None or ready["status"] != "True":
                continue
            condition = {**ready, "status": "False", "lastTransitionTime": now}
            try:
                with errors.ignoring("NotFound"):
                    await self.update_status("pods", pod, conditions.put(pod["status"], condition))
            except errors.ApiError:
                self._unmarked[node_name] = None  # again with the next look
            self.recorder.event(pod, "Warning", "NodeNotReady", "Node is not ready")
            count += 1
        return Result(f"is silent: {count} pods are not ready any more")

    # -- keys -----------------------------------------------------------------------------------

    def _register(self, node: Object) -> tuple[str, ...]:
        name = meta.name_of(node)
        self._pulses.setdefault(name, _Pulse())
        return (name,)

    def _remove(self, node: Object) -> tuple[str, ...]:
        name = meta.name_of(node)
        self._pulses.pop(name, None)
        self._unmarked.pop(name, None)
        return ()


def _is_unknown(node: Object) -> bool:
    ready = conditions.find(node.get("status"), "Ready")
    return ready is not None and ready["status"] == "Unknown"


def _key(taint: Object) -> Taint:
    return taint["key"], taint["effect"]


def _decisive(node: Object) -> tuple[Any, ...]:
    conditions = (node.get("status") or {}).get("conditions") or ()
    spec = node["spec"]
    return (
        [(item["type"], item["status"]) for item in conditions],
        spec.get("unschedulable"),
        spec.get("taints"),
        meta.labels_of(node),
    )


def _taints(node: Object) -> list[Object]:
    return list(node["spec"].get("taints") or ())


def _bare(node: Object) -> Object:
    """What events about a node name."""
    metadata = {"name": meta.name_of(node), "uid": meta.uid_of(node)}
    return {"kind": "Node", "apiVersion": "v1", "metadata": metadata}


def _wanted_taints(node: Object) -> list[Taint]:
    """Our NoSchedule taints, by what the node's conditions and spec say."""
    wanted: list[Taint] = []
    for kind, key in _PRESSURES.items():
        condition = conditions.find(node.get("status"), kind)
        if condition is not None and condition["status"] == "True":
            wanted.append((key, "NoSchedule"))
    if node["spec"].get("unschedulable"):
        wanted.append((PREFIX + "unschedulable", "NoSchedule"))
    ready = conditions.find(node.get("status"), "Ready")
    if ready is None or ready["status"] == "True":
        # a node that never said anything keeps the taint it was admitted with
        if ready is None and any(
            taint["key"] == NOT_READY for taint in node["spec"].get("taints") or ()
        ):
            wanted.append((NOT_READY, "NoSchedule"))
        return wanted
    key = UNREACHABLE if ready["status"] == "Unknown" else NOT_READY
    return [*wanted, (key, "NoSchedule")]
