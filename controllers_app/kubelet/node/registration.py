"""Registering a node: the Node unless it is there, and its CSINode.

Models kubernetes pkg/kubelet/kubelet_node_status.go (registerWithAPIServer, initialNode) and
pkg/volume/csi/nodeinfomanager.
"""

from __future__ import annotations

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from controllers_app.kubelet.dependencies import Dependencies
from controllers_app.kubelet.node.lease import Lease
from controllers_app.kubelet.node.status import UPDATE_SECONDS, NodeStatus

CSI_NODES = "csinodes.storage.k8s.io"


class Registration:
    """Registers one kubelet's node."""

    def __init__(self, kubelet: Dependencies, status: NodeStatus, lease: Lease) -> None:
        self._kubelet = kubelet
        self._status = status
        self._lease = lease

    async def register(self) -> None:
        """Creates the Node unless it exists, then reports it Ready."""
        kubelet = self._kubelet
        node: Object | None = None
        with errors.ignoring("AlreadyExists"):
            node = await kubelet.client.create("nodes", "", self._object())
        if node is None:
            node = await kubelet.client.get("nodes", "", kubelet.name)
            self._remember_images(node)
        self._lease.uid = meta.uid_of(node)
        self._status.event("Starting", "Starting kubelet.")
        self._status.tell_health()
        await self._lease.renew()
        await self._status.report(always=True)

    def _remember_images(self, node: Object) -> None:
        """Imports the images in the node's status: they are still on its disk."""
        for image in (node.get("status") or {}).get("images") or ():
            for name in image.get("names") or ():
                if "@" not in name:
                    self._kubelet.runtime.import_image(name)

    async def create_csi_node(self) -> None:
        """Creates the CSINode, without drivers."""
        kubelet = self._kubelet
        name = kubelet.name
        owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": self._lease.uid}
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
            "status": {**self._status.capacity(), "nodeInfo": self._status.info()},
        }


def migrated_plugins(version: Release) -> list[str]:
    """The in-tree volume plugins that are migrated to CSI drivers."""
    names = ["aws-ebs", "azure-disk", "azure-file", "cinder", "gce-pd", "vsphere-volume"]
    if version.has("PortworxMigration"):
        names.insert(5, "portworx-volume")
    return [f"kubernetes.io/{name}" for name in names]
