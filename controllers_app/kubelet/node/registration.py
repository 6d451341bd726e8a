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
from controllers_app.kubelet.node.status import NodeStatus

CSI_NODES = "csinodes.storage.k8s.io"


class Registration:
    """Registers one kubelet's node."""

    def __init__(self, kubelet: Dependencies, status: NodeStatus, lease: Lease) -> None:
        self._kubelet = kubelet
        self._status = status
        self._lease = lease

    async def register(self) -> None:
        """Creates the Node unless it exists, and reports it; a new one gets its CSINode then."""
        kubelet = self._kubelet
        with errors.ignoring("NotFound"):  # a new node has to be created first
            await self._create_csi_node()
        try:
            await kubelet.client.create("nodes", "", self._object())
        except errors.ApiError as error:
            if error.reason != "AlreadyExists":
                raise
            self._remember_images(await kubelet.client.get("nodes", "", kubelet.name))
        self._status.event("Starting", "Starting kubelet.")
        self._status.tell_health()
        await self._status.report(always=True)
        await self._lease.renew()
        if not self._status.has_csi_node:
            await self._create_csi_node()

    def _remember_images(self, node: Object) -> None:
        """Imports the images in the node's status: they are still on its disk."""
        for image in (node.get("status") or {}).get("images") or ():
            for name in image.get("names") or ():
                if "@" not in name:
                    self._kubelet.runtime.import_image(name)

    async def _create_csi_node(self) -> None:
        """Creates the CSINode, without drivers, unless it exists."""
        kubelet = self._kubelet
        name, csi_node = kubelet.name, None
        with errors.ignoring("NotFound"):
            csi_node = await kubelet.client.get(CSI_NODES, "", name)
        if csi_node is None:
            node = await kubelet.client.get("nodes", "", name)
            owner = {"apiVersion": "v1", "kind": "Node", "name": name, "uid": meta.uid_of(node)}
            plugins = migrated_plugins(kubelet.release)
            notes = {"storage.alpha.kubernetes.io/migrated-plugins": ",".join(plugins)}
            obj = {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "CSINode",
                "metadata": {"name": name, "ownerReferences": [owner], "annotations": notes},
                "spec": {"drivers": None},
            }
            await kubelet.client.create(CSI_NODES, "", obj)
        self._status.has_csi_node = True

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
            "spec": {},
            "status": self._status.status({}),
        }


def migrated_plugins(version: Release) -> list[str]:
    """The in-tree volume plugins that are migrated to CSI drivers."""
    names = ["aws-ebs", "azure-disk", "azure-file", "cinder", "gce-pd", "vsphere-volume"]
    if version.has("PortworxMigration"):
        names.insert(5, "portworx-volume")
    return [f"kubernetes.io/{name}" for name in names]
