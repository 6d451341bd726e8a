"""The folder of a node's disk from whose files its kubelet runs static pods.

Whatever is written there is noticed, as by inotify: one pod a file, as YAML or JSON. Files whose
name begins with a dot are left alone, and so is what is no pod.

Models kubernetes pkg/kubelet/config/file.go, file_linux.go (watch) and common.go (applyDefaults).
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import Any

from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.serializer import yamlbody
from controllers_app.kubelet.dependencies import Dependencies
from controllers_app.shell.filesystem import File, Files, Folder

FOLDER = "/etc/kubernetes/manifests"  # staticPodPath
NOTICE_SECONDS = 0.1  # from the last write to the reading

Taken = Callable[[list[Object]], Coroutine[Any, Any, None]]


class ManifestFolder:
    """That of one kubelet; `taken` gets the pods that are there after each change."""

    known_until = 0  # nothing in it is kept beyond this process

    def __init__(self, kubelet: Dependencies, taken: Taken) -> None:
        self._kubelet = kubelet
        self._taken = taken
        self._folder = Folder()
        self._is_noticed = False

    def watch(self, disk: Files) -> None:
        """Begins."""
        self._kubelet.group.at_end(self._leave)

        folder = disk.find(FOLDER)
        if isinstance(folder, Folder):
            folder.keeper = self
            self._folder = folder
            if folder.entries:
                self.touch()

    def _leave(self) -> None:
        """The next kubelet reads it when it starts."""
        if self._folder.keeper is self:
            self._folder.keeper = None

    def touch(self) -> None:
        """Something in it is about to change."""
        if not self._is_noticed:
            self._is_noticed = True
            kubelet = self._kubelet
            kubelet.group.spawn(f"{kubelet.lane}/manifests", self._read())

    async def _read(self) -> None:
        await self._kubelet.kernel.sleep(NOTICE_SECONDS)
        self._is_noticed = False
        files = sorted(self._folder.entries.items())
        found = [
            _pod_of(file.data)
            for name, file in files
            if isinstance(file, File) and not name.startswith(".")
        ]
        await self._taken([pod for pod in found if pod is not None])


def _pod_of(data: bytes) -> Object | None:
    try:
        return pod(yamlbody.load(data)[0])
    except yamlbody.YamlError:
        return None


def pod(found: Any) -> Object | None:
    """What is described, in the namespace default unless it says otherwise."""
    if not isinstance(found, dict) or found.get("kind") != "Pod" or found.get("apiVersion") != "v1":
        return None
    metadata, spec = found.get("metadata"), found.get("spec")
    if not isinstance(metadata, dict) or not isinstance(spec, dict):
        return None
    if not isinstance(metadata.get("name"), str) or not isinstance(spec.get("containers"), list):
        return None
    namespace = metadata.get("namespace") or "default"
    return {"metadata": {**metadata, "namespace": namespace}, "spec": spec}
