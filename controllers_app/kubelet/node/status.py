"""The status of a node: reported when it changed, and every five minutes.

Models kubernetes pkg/kubelet/kubelet_node_status.go and pkg/kubelet/nodestatus/setters.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import quantity
from apiserver_app.machinery.waiting import Signal
from controllers_app.cri.images import Image
from controllers_app.kubelet.dependencies import Dependencies
from controllers_app.kubelet.node.lease import Lease
from controllers_app.kubelet.status import patch_of_conditions
from controllers_app.runtime.informer import Informer

UPDATE_SECONDS, REPORT_SECONDS, LOOK_SECONDS = 10, 300, 0.1
IMAGES_MAX = 50
EVICTION_MEMORY_BYTES = 100 * 1024 * 1024  # kept free: evictionHard memory.available

_HEALTHY = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)
_READY = ("True", "KubeletReady", "kubelet is posting ready status")
_NO_CSI_NODE = "CSINode is not yet initialized"
_CAPACITY = {
    "cpu": "4",
    "ephemeral-storage": "61255492Ki",
    "hugepages-1Gi": "0",
    "hugepages-2Mi": "0",
    "memory": "8Gi",
    "pods": "110",
}


class NodeStatus:
    """Reports the status of one kubelet's node."""

    def __init__(self, kubelet: Dependencies, lease: Lease, nodes: Informer) -> None:
        self._kubelet = kubelet
        self._lease = lease
        self._nodes = nodes  # which has this one only
        self.has_csi_node = False
        self.network = Signal(kubelet.kernel)  # set once the runtime has one
        self._told_ready = False
        self._reported_at = 0
        self._unschedulable = False
        # the node, and what else its status is made of, when there was nothing to report
        self._judged: Object | None = None
        self._nothing_new: tuple[list[Image], list[str]] = ([], [])

    async def heartbeat(self) -> None:
        """Reports the status for ever, in the background."""
        while True:
            await self._kubelet.kernel.sleep(UPDATE_SECONDS, background=True)
            await self._sync()

    async def fast_update(self) -> None:
        """Reports a new node once more when it is Ready, which upstream looks for every 100 ms."""
        if not self._told_ready:
            await self.network.wait()
            await self._sync()

    async def _sync(self) -> None:
        try:
            await self.report()
        except errors.ApiError:
            self._lease.forget()  # the API server was away: read it again as well

    async def report(self, *, always: bool = False) -> None:
        kubelet = self._kubelet
        now = kubelet.kernel.now
        while (old := self._nodes.get(kubelet.name)) is None:
            await kubelet.kernel.sleep(LOOK_SECONDS)
        aged = now - self._reported_at >= REPORT_SECONDS * SECOND
        known = ([*kubelet.runtime.list_images()], self._faults())
        if old is self._judged and known == self._nothing_new and not (always or aged):
            return
        old_status = old.get("status") or {}
        status = self.status(old_status)
        changed = _without_beats(status) != _without_beats(
            {key: old_status.get(key) for key in status}
        )
        unschedulable = bool(old["spec"].get("unschedulable"))
        if unschedulable != self._unschedulable:
            self._unschedulable = unschedulable
            self._became("NodeNotSchedulable" if unschedulable else "NodeSchedulable")
        if not (always or aged or changed):
            self._judged, self._nothing_new = old, known
            return
        self._reported_at = now
        patch = _patch_of(old_status, status)
        body = {"status": patch} if patch else {}
        await kubelet.client.patch("nodes", "", kubelet.name, body, subresource="status")
        self._told_ready = _is_ready(status)
        if self._told_ready and not _is_ready(old_status):
            self._became("NodeReady")

    def tell_health(self) -> None:
        """Records that nothing presses on the node."""
        for _, reason, _ in _HEALTHY:
            self._became(reason.replace("Kubelet", "Node"))

    def _became(self, status: str) -> None:
        self.event(status, f"Node {self._kubelet.name} status is now: {status}")

    def event(self, reason: str, message: str) -> None:
        """Records an event about the node; kubelets use the node's name as its uid there."""
        name = self._kubelet.name
        about = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name}}
        self._kubelet.recorder.event(about, "Normal", reason, message)

    def capacity(self) -> Object:
        capacity = {**_CAPACITY, **self._kubelet.capacity}
        memory = max(0, quantity.value(capacity["memory"]) - EVICTION_MEMORY_BYTES)
        disk = quantity.value(capacity["ephemeral-storage"]) * 9 // 10
        allocatable = {**capacity, "ephemeral-storage": str(disk), "memory": f"{memory // 1024}Ki"}
        return {"capacity": _canonical(capacity), "allocatable": _canonical(allocatable)}

    def status(self, old: Object) -> Object:
        """The whole status, continuing the old one."""
        kubelet = self._kubelet
        now = meta.rfc3339(kubelet.kernel.now)
        old_conditions = {condition["type"]: condition for condition in old.get("conditions") or ()}
        conditions = []
        for kind, reason, message in _HEALTHY:
            conditions.append(
                _condition(old_conditions.get(kind), kind, "False", reason, message, now)
            )
        conditions.append(_condition(old_conditions.get("Ready"), "Ready", *self._ready(), now))
        runtime = kubelet.runtime.kind
        images = sorted(kubelet.runtime.list_images(), key=_by_size)
        return {
            "addresses": [
                {"type": "InternalIP", "address": kubelet.address},
                {"type": "Hostname", "address": kubelet.name},
            ],
            **self.capacity(),
            "conditions": conditions,
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": self.info(),
            "images": [
                {
                    "names": [runtime.digest(image), runtime.image(image.name)],
                    "sizeBytes": image.size_bytes,
                }
                for image in images[:IMAGES_MAX]
            ],
        }

    def _ready(self) -> tuple[str, str, str]:
        """Status, reason and message of the condition; several messages as Go prints them."""
        faults = self._faults()
        if not faults:
            return _READY
        return "False", "KubeletNotReady", errors.aggregate(faults)

    def _faults(self) -> list[str]:
        faults = [self._kubelet.network_error(), "" if self.has_csi_node else _NO_CSI_NODE]
        return [*filter(None, faults)]

    def info(self) -> Object:
        kubelet = self._kubelet
        number = kubelet.number
        return {
            "architecture": "amd64",
            "bootID": f"00000000-0000-4000-8000-{number:012d}",
            "containerRuntimeVersion": kubelet.runtime.kind.said,
            "kernelVersion": "6.1.0-simulated",
            "kubeProxyVersion": "",
            "kubeletVersion": kubelet.version,
            "machineID": f"{number:032x}",
            "operatingSystem": "linux",
            "osImage": "Simulated Linux",
            "systemUUID": f"00000000-0000-4000-9000-{number:012d}",
        }


def _canonical(amounts: Mapping[str, str]) -> dict[str, str]:
    """The amounts as the API server stores them, so that a status that is read back is equal."""
    return {name: quantity.canonical(amount) for name, amount in amounts.items()}


def _by_size(image: Image) -> tuple[int, str]:
    return -image.size_bytes, image.name


def _is_ready(status: Object) -> bool:
    return any(
        condition["type"] == "Ready" and condition["status"] == "True"
        for condition in status.get("conditions") or ()
    )


def _condition(
    old: Object | None, kind: str, status: str, reason: str, message: str, now: str
) -> Object:
    same = old is not None and old["status"] == status
    since = old["lastTransitionTime"] if same and old is not None else now
    return {
        "type": kind,
        "status": status,
        "lastHeartbeatTime": now,
        "lastTransitionTime": since,
        "reason": reason,
        "message": message,
    }


def _patch_of(old: Object, new: Object) -> Object:
    """The strategic merge patch from `old` to `new`."""
    changes = {
        key: value
        for key, value in new.items()
        if old.get(key) != value and (value or old.get(key))
    }
    if "conditions" in changes:
        changes |= patch_of_conditions(old.get("conditions") or (), changes.pop("conditions"))
    if "addresses" in changes and old.get("addresses"):
        changes["addresses"] = [*changes["addresses"], {"$patch": "replace"}]
    return changes


def _without_beats(status: Object) -> Object:
    """The status without the heartbeat times."""
    conditions = [
        {key: value for key, value in condition.items() if key != "lastHeartbeatTime"}
        for condition in status.get("conditions") or ()
    ]
    return {**status, "conditions": conditions, "images": status.get("images") or []}
