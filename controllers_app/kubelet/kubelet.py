"""The kubelet of one node: follows the pods bound to it, one worker each, and reports the node.

Models kubernetes pkg/kubelet/kubelet.go (syncLoopIteration).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.client import Client
from apiserver_app.machinery.kernel import Kernel, Lock
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.probe import Probe
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.releases import Release
from controllers_app.kubelet.backoff import Backoff
from controllers_app.kubelet.images import Catalog
from controllers_app.kubelet.node import Node
from controllers_app.kubelet.nodes import Directory
from controllers_app.kubelet.podworker import PodWorker
from controllers_app.kubelet.runtime import Runtime
from controllers_app.kubelet.staticpods import Manifests, StaticPods
from controllers_app.kubelet.volumes import Volumes
from controllers_app.runtime.events import Recorder
from controllers_app.runtime.informer import InformerFactory
from controllers_app.runtime.taskgroup import TaskGroup

PATCH_RELEASE = 1  # the one the API server says it is
REGISTER_RETRY_SECONDS, REGISTER_RETRY_SECONDS_MAX = 0.1, 7


class Kubelet:
    """One run of one kubelet, from its first list to its end."""

    def __init__(
        self,
        kernel: Kernel,
        probe: Probe,
        rand: Rand,
        client: Client,
        group: TaskGroup,
        name: str,
        number: int,
        *,
        version: Release,
        directory: Directory,
        images: Mapping[str, Any] | None = None,
        capacity: Mapping[str, str] | None = None,
        manifests: Manifests | None = None,
    ) -> None:
        self.kernel = kernel
        self.probe = probe
        self.client = client
        self.group = group
        self.name = name
        self.number = number
        self.lane = f"kubelet/{name}"
        self.version = f"v{version}.{PATCH_RELEASE}"
        self.release = version
        self.capacity = dict(capacity or {})
        self.address = address_of(number)
        self.cidr = _cidr(number)
        self.began = kernel.now
        self.station = directory.station(name, self.address)
        self.recorder = Recorder(kernel, client, "kubelet", name)
        self.runtime = Runtime(kernel, rand, Catalog(images), self.cidr)
        self.volumes = Volumes(kernel, client)
        self.node = Node(self)
        self._informers = InformerFactory(kernel, client, probe, self.lane, group)
        self.pods = self._informers.informer("pods", fields=f"spec.nodeName={name}")
        self.writing = Lock(kernel)  # one status write at a time, as the status manager has it
        self.static = StaticPods(self, manifests or Manifests())
        self.workers: dict[str, PodWorker] = {}  # by the pod's uid: a name may come back at once

    async def run(self) -> None:
        """Register, then follow the node's pods for as long as the component lives."""
        self.station.enter(self)
        self.group.spawn(f"{self.lane}/events", self.recorder.run())
        await self._register()
        self.group.spawn(f"{self.lane}/status", self.node.heartbeat(), background=True)
        self.group.spawn(f"{self.lane}/lease", self.node.keep_lease(), background=True)
        self.group.spawn(f"{self.lane}/csi", self.node.say_drivers(), background=True)
        self.pods.handle(self._added, self._updated, self._deleted)
        self._informers.start()
        await self._informers.synced()
        self.probe.tell("component", self.lane, "synced", {"pods": len(self.pods)}, span=0)
        self.static.start()

    async def _register(self) -> None:
        backoff = Backoff(REGISTER_RETRY_SECONDS, REGISTER_RETRY_SECONDS_MAX)
        while True:
            try:
                await self.node.register()
                return
            except errors.ApiError:
                await self.kernel.sleep(backoff.next(), background=backoff.is_background)

    def dropped(self, worker: PodWorker) -> None:
        """Nothing of the pod is left on the node."""
        self.workers.pop(worker.uid, None)
        self.station.forget(worker.uid)

    def _added(self, pod: Object, revision: int) -> None:
        worker = self.workers.get(meta.uid_of(pod))
        if worker is not None:
            worker.update(pod, revision)
            return
        worker = self.workers[meta.uid_of(pod)] = PodWorker(self, pod)
        worker.begin(revision)

    def _updated(self, _old: Object, pod: Object, revision: int) -> None:
        worker = self.workers.get(meta.uid_of(pod))
        if worker is not None:
            worker.update(pod, revision)

    def _deleted(self, pod: Object, revision: int) -> None:
        worker = self.workers.get(meta.uid_of(pod))
        if worker is not None:
            worker.removed(revision)
        self.static.deleted(pod)


def address_of(number: int) -> str:
    """10.0.0.11 is node-1."""
    value = 10 + number
    return f"10.0.{value // 250}.{value % 250}"


def _cidr(number: int) -> str:
    """10.244.1.0/24 is node-1's; a class of more than 255 nodes goes on in 10.245."""
    return f"10.{244 + number // 256}.{number % 256}.0/24"
