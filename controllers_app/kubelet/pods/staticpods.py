"""Static pods, which a node runs from manifests, and their mirror pods in the API.

The kubelet creates the mirror when it starts, and again after a deletion. Unlike in a real
kubelet, the containers start and end with the mirror.

Models kubernetes pkg/kubelet/config/common.go, pkg/kubelet/types/constants.go and
pkg/kubelet/pod/mirror_client.go.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence

import msgspec
import orjson

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from controllers_app.kubelet.dependencies import Dependencies
from controllers_app.kubelet.pods.manifestfiles import ManifestFolder
from controllers_app.kubelet.pods.manifesturl import ManifestUrl
from controllers_app.shell.filesystem import Files

MIRROR = "kubernetes.io/config.mirror"
START_SECONDS = 1.0  # after the kubelet's first look at its pods
RETRY_SECONDS = 5.0
FILE, HTTP = "file", "http"  # kubetypes.FileSource and HTTPSource


class Manifests(msgspec.Struct, frozen=True):
    """Files on a node's disk: the pods of its manifest folder, and the files they mount."""

    pods: Sequence[Object] = ()
    files: Mapping[str, str] = msgspec.field(default_factory=dict)


class StaticPods:
    """The static pods of one kubelet."""

    def __init__(self, kubelet: Dependencies, manifests: Manifests) -> None:
        self._kubelet = kubelet
        self._pods = {_key(pod, kubelet.name): pod for pod in manifests.pods}
        for pod in manifests.pods:
            for container in pod["spec"]["containers"]:
                kubelet.runtime.import_image(container["image"])
        self._sources: dict[str, dict[str, Object]] = {FILE: {}, HTTP: {}}
        self._folder = ManifestFolder(kubelet, functools.partial(self._take, FILE))
        self._url = ManifestUrl(kubelet, functools.partial(self._take, HTTP))
        for path, text in manifests.files.items():
            disk = kubelet.runtime.host.disk  # laid out when it is looked at
            if disk.find(path) is None:
                disk.mkdir(path.rpartition("/")[0], kubelet.began, parents=True)
                disk.write(path, text.encode(), kubelet.began)

    def start(self) -> None:
        """On a disk that nobody has looked at there are no manifests, and no address of them."""
        self._kubelet.runtime.host.on_disk(self._found)
        if self._pods:
            kubelet = self._kubelet
            kubelet.group.spawn(f"{kubelet.lane}/static", self._mirror_all(), background=True)

    def _found(self, disk: Files) -> None:
        self._folder.watch(disk)
        self._url.watch(disk)

    def deleted(self, pod: Object) -> None:
        """Handles a deleted pod: creates a mirror pod again."""
        manifest = self._pods.get(meta.key_of(pod))
        if manifest is not None and MIRROR in meta.annotations_of(pod):
            kubelet = self._kubelet
            kubelet.group.spawn(f"{kubelet.lane}/static", self._mirror(manifest))

    async def _take(self, source: str, pods: list[Object]) -> None:
        """Runs what a source of manifests has, and nothing that it has no more."""
        node, before = self._kubelet.name, self._sources[source]
        fixed = self._pods.keys() - before.keys()
        found = {_key(pod, node): pod for pod in pods if _key(pod, node) not in fixed}
        self._sources[source] = found
        for key in before:
            if key not in found:
                del self._pods[key]
                await self._delete(key)
        for key, pod in found.items():
            self._pods[key] = pod
            if key not in before:
                await self._mirror(pod)
            elif before[key] != pod:
                await self._delete(key)  # it comes again as it is described now

    async def _delete(self, key: str) -> None:
        kubelet = self._kubelet
        while True:
            try:
                await kubelet.client.delete("pods", *key.split("/"))
                return
            except errors.ApiError as error:
                if error.reason == "NotFound":
                    return
            await kubelet.kernel.sleep(RETRY_SECONDS, background=True)

    async def _mirror_all(self) -> None:
        await self._kubelet.kernel.sleep(START_SECONDS, background=True)
        for manifest in self._pods.values():
            await self._mirror(manifest)

    async def _mirror(self, manifest: Object) -> None:
        kubelet = self._kubelet
        namespace = manifest["metadata"]["namespace"]
        while True:
            try:
                node = await kubelet.client.get("nodes", "", kubelet.name)
                await kubelet.client.create("pods", namespace, self._mirrored(manifest, node))
                return
            except errors.ApiError as error:
                if error.reason in ("AlreadyExists", "Invalid", "BadRequest"):
                    return
            await kubelet.kernel.sleep(RETRY_SECONDS, background=True)

    def _mirrored(self, manifest: Object, node: Object) -> Object:
        """The mirror pod of a manifest."""
        kubelet = self._kubelet
        metadata, key = manifest["metadata"], _key(manifest, kubelet.name)
        digest = hashlib.md5(orjson.dumps(manifest), usedforsecurity=False).hexdigest()
        notes = {
            **(metadata.get("annotations") or {}),
            "kubernetes.io/config.hash": digest,
            MIRROR: digest,
            "kubernetes.io/config.seen": meta.rfc3339(kubelet.began),
            "kubernetes.io/config.source": HTTP if key in self._sources[HTTP] else FILE,
        }
        owner = {
            "apiVersion": "v1",
            "kind": "Node",
            "name": kubelet.name,
            "uid": meta.uid_of(node),
            "controller": True,
        }
        name = f"{metadata['name']}-{kubelet.name}"
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {
                **metadata,
                "name": name,
                "annotations": notes,
                "ownerReferences": [owner],
            },
            "spec": {
                **manifest["spec"],
                "nodeName": kubelet.name,
                "tolerations": [{"operator": "Exists", "effect": "NoExecute"}],
            },
        }


def _key(manifest: Object, node: str) -> str:
    metadata = manifest["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}-{node}"
