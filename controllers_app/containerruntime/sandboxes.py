"""Pods as the runtime knows them: an address, and which of their containers run.

Models kubernetes staging/src/k8s.io/cri-api/pkg/apis/runtime/v1/api.proto (PodSandboxStatus).
"""

from __future__ import annotations

from collections.abc import Callable

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from controllers_app.cri import images
from controllers_app.cri.images import Catalog, Image
from controllers_app.cri.services import ContainerRecord, Sandbox

GROUPS = ("initContainers", "containers", "ephemeralContainers")


class PodSandbox:
    """One pod, while its node's kubelet knows it."""

    __slots__ = ("_catalog", "network", "node", "on_exit", "pod", "records", "uid")

    def __init__(
        self, node: str, pod: Object, catalog: Catalog, on_exit: Callable[[str, int], None]
    ) -> None:
        self.node = node
        self.pod = pod
        self.uid = meta.uid_of(pod)
        self.on_exit = on_exit
        self.network: Sandbox | None = None
        self.records: dict[str, ContainerRecord] = {}  # of those that run, by name
        self._catalog = catalog

    def running(self) -> list[ContainerRecord]:
        """In the order of the pod's spec."""
        if not self.records:
            return []
        spec = self.pod["spec"]
        return [
            self.records[container["name"]]
            for group in GROUPS
            for container in spec.get(group) or ()
            if container["name"] in self.records
        ]

    def spec_of(self, name: str) -> Object:
        return spec_of(self.pod, name)

    def image_of(self, name: str) -> Image:
        """What the container's image is and does, with what the pod's annotations change."""
        return images.for_container(self._catalog.find(self.spec_of(name)["image"]), self.pod, name)


def spec_of(pod: Object, name: str) -> Object:
    """The spec of the pod's container of that name."""
    spec = pod["spec"]
    entry: Object = next(
        container
        for group in GROUPS
        for container in spec.get(group) or ()
        if container["name"] == name
    )
    return entry
