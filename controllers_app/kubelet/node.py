"""The node itself: registered once, reported every ten seconds, its lease renewed.

Models kubernetes pkg/kubelet/kubelet_node_status.go, pkg/kubelet/nodestatus/setters.go and
staging/src/k8s.io/component-helpers/apimachinery/lease/controller.go.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import quantity
from controllers_app.kubelet.images import Behaviour, repository

if TYPE_CHECKING:
    from controllers_app.kubelet.kubelet import Kubelet

LEASES = "leases.coordination.k8s.io"
CSI_NODES = "csinodes.storage.k8s.io"
LEASE_NAMESPACE = "kube-node-lease"
LEASE_SECONDS, LEASE_RENEW_SECONDS = 40, 10
UPDATE_SECONDS, REPORT_SECONDS = 10, 300
IMAGES_MAX = 50
EVICTION_MEMORY_BYTES = 100 * 1024 * 1024  # kept free: evictionHard memory.available

_HEALTHY = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)
_CAPACITY = {
    "cpu": "4",
    "ephemeral-storage": "61255492Ki",
    "hugepages-1Gi": "0",
    "hugepages-2Mi": "0",
    "memory": "8Gi",
    "pods": "110",
}


class Node:
    """What one kubelet says about its node."""

    def __init__(self, kubelet: Kubelet) -> None:
        self._kubelet = kubelet
        self._reported_at = 0
        self._lease: Object | None = None
        self._uid = ""

    async def register(self) -> None:
        """Create the Node unless it is there, then report it Ready."""
        kubelet = self._kubelet
        node: Object | None = None
        with errors.ignoring("AlreadyExists"):
            node = await kubelet.client.create("nodes", "", self._object())
        if node is None:
            node = await kubelet.client.get("nodes", "", kubelet.name)
            self._remember_images(node)
        self._uid = meta.uid_of(node)
        self._event("Starting", "Starting kubelet.")
        await self._renew()
        await self.report(always=True)

    def _remember_images(self, node: Object) -> None:
        """What the node said it had is still on its disk."""
        for image in (node.get("status") or {}).get("images") or ():
            for name in image.get("names") or ():
                if "@" not in name:
                    self._kubelet.runtime.remember(name)

    def _event(self, reason: str, message: str) -> None:
        """About the node, which kubelets name by its name in the place of its uid."""
        name = self._kubelet.name
        about = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": name}}
        self._kubelet.recorder.event(about, "Normal", reason, message)

    async def heartbeat(self) -> None:
        """Status when it changed or is five minutes old. Runs in the background for ever."""
        while True:
            await self._kubelet.kernel.sleep(UPDATE_SECONDS, background=True)
            await self._try(self.report())

    async def say_drivers(self) -> None:
        """Create the CSINode, which says that no storage driver has registered."""
        kubelet = self._kubelet
        name = kubelet.name
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": self._uid}
        plugins = migrated_plugins(kubelet.release)
        notes = {"storage.alpha.kubernetes.io/migrated-plugins": ",".join(plugins)}
        obj = {
            "apiVersion": "storage.k8s.io/v1",
            "kind": "CSINode",
            "metadata": {"name": name, "ownerReferences": [owner], "annotations": notes},
            "spec": {"drivers": []},
        }
        while True:
            try:
                await kubelet.client.create(CSI_NODES, "", obj)
                return
            except errors.ApiError as error:
                if error.reason == "AlreadyExists":
                    return
            await kubelet.kernel.sleep(UPDATE_SECONDS, background=True)

    async def keep_lease(self) -> None:
        while True:
            await self._kubelet.kernel.sleep(LEASE_RENEW_SECONDS, background=True)
            await self._try(self._renew())

    async def _try(self, work: object) -> None:
        try:
            await work  # type: ignore[misc]
        except errors.ApiError:
            self._lease = None  # told again at the next beat

    async def report(self, *, always: bool = False) -> None:
        kubelet = self._kubelet
        now = kubelet.kernel.now
        old = await kubelet.client.get("nodes", "", kubelet.name)
        was = old.get("status") or {}
        status = self._status(was)
        aged = now - self._reported_at >= REPORT_SECONDS * SECOND
        changed = _without_beats(status) != _without_beats({key: was.get(key) for key in status})
        if not (always or aged or changed):
            return
        self._reported_at = now
        await kubelet.client.patch(
            "nodes", "", kubelet.name, {"status": status}, subresource="status"
        )
        if not _is_ready(was):
            self._event("NodeReady", f"Node {kubelet.name} status is now: NodeReady")

    async def _renew(self) -> None:
        kubelet = self._kubelet
        now = meta.rfc3339_micro(kubelet.kernel.now)
        if self._lease is None:
            with errors.ignoring("NotFound"):
                self._lease = await kubelet.client.get(LEASES, LEASE_NAMESPACE, kubelet.name)
        if self._lease is None:
            self._lease = await kubelet.client.create(LEASES, LEASE_NAMESPACE, self._new_lease(now))
            return
        spec = {**(self._lease.get("spec") or {}), "renewTime": now}
        self._lease = await kubelet.client.update(
            LEASES, LEASE_NAMESPACE, kubelet.name, {**self._lease, "spec": spec}
        )

    def _new_lease(self, now: str) -> Object:
        name = self._kubelet.name
        return {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": {
                "name": name,
                "namespace": LEASE_NAMESPACE,
                "ownerReferences": [
                    {"apiVersion": "v1", "kind": "Node", "name": name, "uid": self._uid}
                ],
            },
            "spec": {
                "holderIdentity": name,
                "leaseDurationSeconds": LEASE_SECONDS,
                "renewTime": now,
            },
        }

    def _object(self) -> Object:
        kubelet = self._kubelet
        labels = {
            "beta.kubernetes.io/arch": "amd64",
            "beta.kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            "kubernetes.io/hostname": kubelet.name,
            "kubernetes.io/os": "linux",
        }
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {
                "name": kubelet.name,
                "labels": labels,
                "annotations": {"volumes.kubernetes.io/controller-managed-attach-detach": "true"},
            },
            "spec": {
                "podCIDR": kubelet.cidr,
                "podCIDRs": [kubelet.cidr],
                "taints": [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}],
            },
            "status": {**self._capacity(), "nodeInfo": self._info()},
        }

    def _capacity(self) -> Object:
        capacity = {**_CAPACITY, **self._kubelet.capacity}
        memory = max(0, quantity.value(capacity["memory"]) - EVICTION_MEMORY_BYTES)
        disk = quantity.value(capacity["ephemeral-storage"]) * 9 // 10
        allocatable = {
            **capacity,
            "ephemeral-storage": str(disk),
            "memory": f"{memory // 1024}Ki",
        }
        return {"capacity": capacity, "allocatable": allocatable}

    def _status(self, old: Object) -> Object:
        kubelet = self._kubelet
        now = meta.rfc3339(kubelet.kernel.now)
        have = {one["type"]: one for one in old.get("conditions") or ()}
        conditions = []
        for kind, reason, message in _HEALTHY:
            conditions.append(_condition(have.get(kind), kind, "False", reason, message, now))
        conditions.append(
            _condition(
                have.get("Ready"), "Ready", "True", "KubeletReady",
                "kubelet is posting ready status", now,
            )
        )  # fmt: skip
        images = sorted(kubelet.runtime.images.values(), key=_by_size)
        return {
            "addresses": [
                {"type": "InternalIP", "address": kubelet.address},
                {"type": "Hostname", "address": kubelet.name},
            ],
            **self._capacity(),
            "conditions": conditions,
            "daemonEndpoints": {"kubeletEndpoint": {"Port": 10250}},
            "nodeInfo": self._info(),
            "images": [
                {
                    "names": [f"{repository(one.name)}@{one.digest}", one.name],
                    "sizeBytes": one.size_bytes,
                }
                for one in images[:IMAGES_MAX]
            ],
        }

    def _info(self) -> Object:
        kubelet = self._kubelet
        number = kubelet.number
        return {
            "architecture": "amd64",
            "bootID": f"00000000-0000-4000-8000-{number:012d}",
            "containerRuntimeVersion": "containerd://1.7.27",
            "kernelVersion": "6.1.0-simulated",
            "kubeProxyVersion": "",
            "kubeletVersion": kubelet.version,
            "machineID": f"{number:032x}",
            "operatingSystem": "linux",
            "osImage": "Simulated Linux",
            "systemUUID": f"00000000-0000-4000-9000-{number:012d}",
        }


def _by_size(image: Behaviour) -> tuple[int, str]:
    return -image.size_bytes, image.name


def _is_ready(status: Object) -> bool:
    return any(
        one["type"] == "Ready" and one["status"] == "True" for one in status.get("conditions") or ()
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


def _without_beats(status: Object) -> Object:
    """The status but for what changes at every beat."""
    conditions = [
        {key: value for key, value in one.items() if key != "lastHeartbeatTime"}
        for one in status.get("conditions") or ()
    ]
    return {**status, "conditions": conditions, "images": status.get("images") or []}


def migrated_plugins(version: Release) -> list[str]:
    """The plugins of old whose volumes are left to storage drivers."""
    names = ["aws-ebs", "azure-disk", "azure-file", "cinder", "gce-pd", "vsphere-volume"]
    if version.has("PortworxMigration"):
        names.insert(5, "portworx-volume")
    return [f"kubernetes.io/{name}" for name in names]
