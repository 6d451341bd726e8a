"""The node lifecycle controller: notices silent kubelets, and turns conditions into taints.

A node whose lease and status stand still for the grace period has its conditions set to Unknown.
What the conditions say becomes taints: the scheduler keeps away by NoSchedule, and the taint
eviction controller acts on NoExecute. Silence is counted in looks at the node, not by the clock: a
clock that jumps ahead gives the kubelets their turn before it counts against them.
How many nodes get that taint, and how fast, is said in nodezones.py.

Models kubernetes pkg/controller/nodelifecycle/node_lifecycle_controller.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from apiserver_app.machinery import conditions, meta
from apiserver_app.machinery.client import STRATEGIC_PATCH
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
_EMPTIES = ((NOT_READY, "NoExecute"), (UNREACHABLE, "NoExecute"))
_CENSUS = "zones"
_OURS = frozenset((NOT_READY, UNREACHABLE, PREFIX + "unschedulable", *_PRESSURES.values()))
_WATCHED = ("Ready", "MemoryPressure", "DiskPressure", "PIDPressure")

Taint = tuple[str, str]  # key, effect


@dataclass(slots=True)
class _Pulse:
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
        self._zones = zones.Zones(ctx.kernel)
        self._nodes, self._leases = self.caches["nodes"], self.caches[LEASES]
        self._pods = self.caches["pods"]
        self._nodes.census(_CENSUS, zones.everywhere, zones.health_of)

    async def reconcile(self, key: str) -> Result | None:
        node = self._nodes.get(key)
        if node is None:
            return Result("is gone")
        did = []
        self._look_at_zones()
        ready = conditions.find(node.get("status"), "Ready")
        if self._is_silent(node) and (ready is None or ready["status"] != "Unknown"):
            # the cache will show it, and bring the node back to be emptied
            node = await self._mark_unknown(node)
            did.append("is silent: its conditions become Unknown")
            wanted, why, wait = _spared(_wanted_taints(node)), "", 0.0
        else:
            wanted, why, wait = self._paced(node, _wanted_taints(node))
        change = await self._write_taints(node, wanted)
        did += [one for one in (change, why) if one]
        unready = conditions.find(node.get("status"), "Ready")
        if unready is not None and unready["status"] != "True":
            count = await self._mark_pods(key)
            if count:
                did.append(f"{count} pods are not ready any more")
        return Result("; ".join(did) or "nothing to do", wait)

    def _look_at_zones(self) -> None:
        if self._zones.look(self._nodes.count(_CENSUS, "")):
            for node in self._nodes.list():
                name = meta.name_of(node)
                if not self._zones.is_halted and name in self._pulses:
                    self._pulses[name].silent = 0.0  # the silence may have been ours
                self.queue.add(name)

    def _paced(self, node: Object, wanted: list[Taint]) -> tuple[list[Taint], str, float]:
        """The taints with the one that empties the node only if it may be emptied by now:
        (taints, why not, seconds to wait)."""
        if not any(one in wanted for one in _EMPTIES):
            return wanted, "", 0.0
        if self._zones.is_halted:
            return _spared(wanted), "no node is ready: none is emptied", 0.0
        if any(_key(taint) in _EMPTIES for taint in node["spec"].get("taints") or ()):
            return wanted, "", 0.0
        wait = self._zones.wait(zones.zone_of(node))
        if wait is None:
            return _spared(wanted), "most of its zone is not ready: it is not emptied", 0.0
        if wait > 0:
            return _spared(wanted), f"others are emptied first: waits {wait:.1f} s", wait
        return wanted, "", 0.0

    async def housekeep(self) -> None:
        """Look at every node's signs of life, every five seconds."""
        while True:
            await self.kernel.sleep(PERIOD_SECONDS, background=not self._has_suspects())
            self._look_at_zones()
            for name, node in sorted((meta.name_of(node), node) for node in self._nodes.list()):
                pulse = self._pulses.setdefault(name, _Pulse())
                sign = self._sign(name, node)
                if sign != pulse.sign:
                    pulse.sign, pulse.silent = sign, 0.0
                    continue
                pulse.silent += PERIOD_SECONDS
                if self._is_silent(node) and not _is_unknown(node):
                    self.queue.add(name)

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

    async def _mark_unknown(self, node: Object) -> Object:
        now = meta.rfc3339(self.kernel.now)
        status = node.get("status") or {}
        known = {item["type"]: item for item in status.get("conditions") or ()}
        was_ready = (known.get("Ready") or {}).get("status") == "True"
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
        changed = {**node, "status": {**status, "conditions": list(known.values())}}
        name = meta.name_of(node)
        written = await self.client.update("nodes", "", name, changed, subresource="status")
        if was_ready:
            message = f"Node {name} status is now: NodeNotReady"
            self.recorder.event(written, "Normal", "NodeNotReady", message)
        return written

    async def _write_taints(self, node: Object, wanted: list[Taint]) -> str:
        """Make our taints these; leave everybody else's. What was changed."""
        known = (node["spec"].get("taints")) or []
        kept = [taint for taint in known if taint["key"] not in _OURS or _key(taint) in wanted]
        have = {_key(taint) for taint in kept}
        now = meta.rfc3339(self.kernel.now)
        added = [
            {"key": key, "effect": effect, "timeAdded": now}
            for key, effect in wanted
            if (key, effect) not in have
        ]
        removed = len(known) - len(kept)
        if not added and not removed:
            return ""
        patch = {
            "metadata": {"resourceVersion": node["metadata"]["resourceVersion"]},
            "spec": {"taints": [*kept, *added] or None},
        }
        await self.client.patch("nodes", "", meta.name_of(node), patch, kind=STRATEGIC_PATCH)
        words = [f"taints it {taint['key']}:{taint['effect']}" for taint in added]
        if removed:
            words.append(f"removes {removed} taints")
        return ", ".join(words)

    async def _mark_pods(self, node_name: str) -> int:
        """The kubelet cannot say any more that its pods are ready."""
        now = meta.rfc3339(self.kernel.now)
        count = 0
        for _, pod in sorted(self._pods.by("node", node_name).items()):
            ready = conditions.find(pod.get("status"), "Ready")
            if ready is None or ready["status"] != "True":
                continue
            condition = {"type": "Ready", "status": "False", "lastTransitionTime": now}
            await self.client.patch(
                "pods", meta.namespace_of(pod), meta.name_of(pod),
                {"status": {"conditions": [condition]}}, subresource="status",
            )  # fmt: skip
            self.recorder.event(pod, "Warning", "NodeNotReady", "Node is not ready")
            count += 1
        return count

    # -- keys -----------------------------------------------------------------------------------

    def _register(self, node: Object) -> tuple[str, ...]:
        name = meta.name_of(node)
        if name not in self._pulses:
            self._pulses[name] = _Pulse()
            message = f"Node {name} event: Registered Node {name} in Controller"
            self.recorder.event(node, "Normal", "RegisteredNode", message)
        return (name,)

    def _remove(self, node: Object) -> tuple[str, ...]:
        name = meta.name_of(node)
        self._pulses.pop(name, None)
        message = f"Node {name} event: Removing Node {name} from Controller"
        self.recorder.event(node, "Normal", "RemovingNode", message)
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
    )


def _spared(wanted: list[Taint]) -> list[Taint]:
    return [one for one in wanted if one not in _EMPTIES]


def _wanted_taints(node: Object) -> list[Taint]:
    """Our taints, by what the node's conditions and spec say."""
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
    return [*wanted, (key, "NoSchedule"), (key, "NoExecute")]
