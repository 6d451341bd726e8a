"""The config maps and secrets to which a node's pods refer: each is listed and watched by its name
while a pod of the node needs it.

Models kubernetes pkg/kubelet/util/manager/{watch_based,cache_based}_manager.go.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from apiserver_app.machinery import meta
from apiserver_app.machinery.client import Client
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.probe import Probe
from apiserver_app.machinery.task import Task
from controllers_app.runtime.informer import Informer
from controllers_app.runtime.taskgroup import TaskGroup

SYNC_SECONDS = 1.0  # how long the first list is waited for

Reference = tuple[str, str, str]  # resource, namespace and name
_IN_CONTAINER = (
    ("configmaps", "configMapRef", "configMapKeyRef"),
    ("secrets", "secretRef", "secretKeyRef"),
)
_IN_VOLUME = (("configmaps", "configMap", "name"), ("secrets", "secret", "secretName"))


class NotSynced(Exception):
    """The object could not be listed in time."""


class _Cached(NamedTuple):
    informer: Informer
    task: Task
    pods: set[str]  # uids


class References:
    """The objects to which the pods of one node refer."""

    def __init__(
        self, kernel: Kernel, client: Client, probe: Probe, lane: str, group: TaskGroup
    ) -> None:
        self._kernel = kernel
        self._client = client
        self._probe = probe
        self._lane = lane
        self._group = group
        self._cached: dict[Reference, _Cached] = {}
        self._of: dict[str, set[Reference]] = {}  # by the pod's uid

    def register(self, pod: Object) -> None:
        """Follows what the pod refers to now."""
        uid = meta.uid_of(pod)
        before, self._of[uid] = self._of.get(uid, set()), set(references_of(pod))
        for reference in sorted(self._of[uid] - before):
            if reference not in self._cached:
                self._cached[reference] = self._follow(*reference)
            self._cached[reference].pods.add(uid)
        self._release(before - self._of[uid], uid)

    def unregister(self, uid: str) -> None:
        """Follows nothing any more for a pod that has left the node."""
        self._release(self._of.pop(uid, set()), uid)

    async def get(self, resource: str, namespace: str, name: str) -> Object | None:
        """The object, if it exists now. Raises NotSynced."""
        cached = self._cached.get((resource, namespace, name))
        if cached is None:
            raise NotSynced(f'object "{namespace}"/"{name}" not registered')
        if not await cached.informer.synced.wait(SYNC_SECONDS):
            raise NotSynced(
                f"failed to sync {resource[:-1]} cache: timed out waiting for the condition"
            )
        obj = cached.informer.get(f"{namespace}/{name}")
        if obj is not None and obj.get("immutable"):
            self._kernel.cancel(cached.task)  # it needs no watch
        return obj

    def _follow(self, resource: str, namespace: str, name: str) -> _Cached:
        informer = Informer(
            self._kernel,
            self._client,
            self._probe,
            resource,
            component=self._lane,
            namespace=namespace,
            fields=f"metadata.name={name}",
        )
        lane = f"{self._lane}/informer {resource}"
        return _Cached(informer, self._group.spawn(lane, informer.run()), set())

    def _release(self, references: set[Reference], uid: str) -> None:
        for reference in references:
            cached = self._cached[reference]
            cached.pods.discard(uid)
            if not cached.pods:
                self._kernel.cancel(self._cached.pop(reference).task)


def references_of(pod: Object) -> Iterator[Reference]:
    """The config maps and secrets of a pod's pull secrets, volumes and environments."""
    spec, namespace = pod["spec"], meta.namespace_of(pod)
    for resource, name in (
        *(("secrets", secret.get("name")) for secret in spec.get("imagePullSecrets") or ()),
        *_of_volumes(spec),
        *_of_containers(spec),
    ):
        if name:
            yield resource, namespace, name


def _of_volumes(spec: Object) -> Iterator[tuple[str, str | None]]:
    for volume in spec.get("volumes") or ():
        for resource, field, key in _IN_VOLUME:
            if field in volume:
                yield resource, volume[field].get(key)
            for source in (volume.get("projected") or {}).get("sources") or ():
                if field in source:
                    yield resource, source[field].get("name")


def _of_containers(spec: Object) -> Iterator[tuple[str, str | None]]:
    for group in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(group) or ():
            for resource, whole, key in _IN_CONTAINER:
                for source in container.get("envFrom") or ():
                    if whole in source:
                        yield resource, source[whole].get("name")
                for variable in container.get("env") or ():
                    reference = (variable.get("valueFrom") or {}).get(key)
                    if reference:
                        yield resource, reference.get("name")
