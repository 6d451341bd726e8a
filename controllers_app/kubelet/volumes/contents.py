"""The contents of volumes, written when a container's files are accessed.

Config maps, secrets and downward API fields are refreshed after a minute, as by the kubelet's sync;
tokens are fetched on the first access, and again after 80% of their lifetime or a day.

Models kubernetes pkg/volume/{configmap,secret,projected,downwardapi,emptydir,hostpath} and
pkg/kubelet/token/token_manager.go (requiresRefresh).
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.meta import Object
from controllers_app.cri import environment
from controllers_app.cri.services import LIVE, Container
from controllers_app.kubelet.volumes.mounter import TOKEN_SECONDS, Mounter, NotMountable, is_due
from controllers_app.kubelet.volumes.persistent import Lookup, PersistentVolumes
from controllers_app.shell import timeformat
from controllers_app.shell.filesystem import (
    Disk,
    File,
    FileError,
    Files,
    Folder,
    Link,
    Node,
    use_of,
)

SYNC_SECONDS = 60
MODE = 0o644


class Contents:
    """Implements `Volumes` for all pods. They outlive the kubelets, as data on a disk does."""

    def __init__(self, kernel: Kernel, lookup: Lookup, persistent: PersistentVolumes) -> None:
        self.persistent = persistent
        self.folders: dict[str, dict[str, Folder]] = {}  # pod's uid -> volume
        self.mounters: dict[str, Mounter] = {}  # by node, while its kubelet runs
        self._kernel = kernel
        self._lookup = lookup

    def folder(self, container: Container, name: str) -> Folder | None:
        """Returns the content of the pod's volume of that name; its containers share it."""
        spec = next(
            (
                volume
                for volume in container.pod["spec"].get("volumes") or ()
                if volume["name"] == name
            ),
            None,
        )
        if spec is None:
            return None
        host, uid = container.host, meta.uid_of(container.pod)
        if "hostPath" in spec:
            path = spec["hostPath"]["path"]
            node = host.disk.find(path)
            if node is None:
                host.disk.mkdir(path, container.since, parents=True)
                node = host.disk.find(path)
            return node if isinstance(node, Folder) else None
        group = _context(container).get("fsGroup")
        if "persistentVolumeClaim" in spec:
            claim = self._claim_folder(container, spec["persistentVolumeClaim"]["claimName"])
            if group is not None:
                claim.owner, claim.mode = (claim.owner[0], group), claim.mode | 0o2070
            return claim
        folder = self.folders.setdefault(uid, {}).get(name)
        if folder is None:
            live = any(kind in spec for kind in LIVE)
            folder = Folder({}, 0o777, container.since, readonly=live, owner=(0, group or 0))
            folder.disk = Disk(above=host.storage)
            if group is not None:
                folder.mode = 0o2777
            self.folders[uid][name] = folder
            if live:
                self._fill(container, spec, folder)
        return folder

    def refresh(self, container: Container) -> None:
        """Rewrites the volumes made from API objects, at most once a minute."""
        for spec in container.pod["spec"].get("volumes") or ():
            folder = self.folders.get(meta.uid_of(container.pod), {}).get(spec["name"])
            if folder is None or not folder.readonly:
                continue
            if container.now - folder.mtime >= SYNC_SECONDS * SECOND:
                self._fill(container, spec, folder)
                name = container.host.name
                due = any(_is_due(container, *token) for token in _tokens(spec, folder))
                if due and name in self.mounters:
                    work = self.fetch_tokens(container)
                    self._kernel.spawn(f"kubelet/{name}/tokens", work, background=True)

    def forget(self, uid: str) -> None:
        """Drops the volumes of a pod that has left its node."""
        for folder in self.folders.pop(uid, {}).values():
            if folder.disk is not None:
                folder.disk.free()

    async def fetch_tokens(self, container: Container) -> None:
        """Fetches the missing and expiring tokens of the container's mounted volumes. An old token
        stays while no new one can be fetched."""
        mounter = self.mounters.get(container.host.name)
        mounted = {mount["name"] for mount in container.spec.get("volumeMounts") or ()}
        for spec in container.pod["spec"].get("volumes") or ():
            folder = self.folders.get(meta.uid_of(container.pod), {}).get(spec["name"])
            if folder is None or spec["name"] not in mounted or mounter is None:
                continue
            for file, projection in list(_tokens(spec, folder)):
                if not _is_due(container, file, projection):
                    continue
                try:
                    token = await mounter.token(container.pod, projection)
                except NotMountable:
                    continue
                written = File(token.text.encode(), file.mode, token.issued, file.owner)
                data = _data_of(folder)
                if data is not None:
                    Files(data).put("/" + projection["path"], written, container.now)

    def _claim_folder(self, container: Container, name: str) -> Folder:
        """The content of the volume to which the claim is bound."""
        claim = self._lookup("persistentvolumeclaims", meta.namespace_of(container.pod), name) or {}
        bound = (claim.get("spec") or {}).get("volumeName")
        bound = bound or f"{meta.namespace_of(container.pod)}/{name}"
        return self.persistent.folder(bound, container.since)

    def _fill(self, container: Container, spec: Object, folder: Folder) -> None:
        """Writes the volume atomically: the files are in a folder named by the time, `..data` links
        there, and the visible names link through it."""
        old = _data_of(folder)
        folder.mtime = container.now
        tokens = token_paths(spec)
        payload = Folder(mtime=container.now)
        files = Files(payload)
        group = _context(container).get("fsGroup")
        room = Disk(above=container.host.storage)
        for path, data, mode in self._content(container, spec):
            try:
                room.take(len(data), 1)
            except FileError:
                break  # the node's disk is full: the rest is left out
            written = container.now
            if path in tokens:
                kept = Files(old).find("/" + path) if old is not None else None
                if isinstance(kept, File):
                    data, written = kept.data, kept.mtime
                mode = 0o600 if group is not None or container.owner[0] else mode
            mode |= 0o440 if group is not None else 0
            owner = (container.owner[0] if path in tokens else 0, group or 0)
            files.put("/" + path, File(data, mode, written, owner), container.now)
        room.free()
        if old is not None and (not payload.entries and "projected" not in spec):
            return  # the source was deleted: the mounted content stays
        if old is not None and _same(old, payload):
            return
        name = (
            timeformat.of(container.now, "..%Y_%m_%d_%H_%M_%S.")
            + f"{container.now % SECOND * 1000:09d}"
        )
        folder.entries.clear()
        folder.entries[name] = payload
        folder.entries["..data"] = Link(name)
        for item in payload.entries:
            folder.entries[item] = Link(f"..data/{item}")
        if folder.disk is not None:
            folder.disk.free()
            folder.disk.count(*use_of(payload))

    def _content(
        self, container: Container, spec: Object, standard: int | None = None
    ) -> Iterator[tuple[str, bytes, int]]:
        """(path, data, mode) of every file in a volume made from API objects."""
        namespace, lookup = meta.namespace_of(container.pod), self._lookup
        kinds = (("configmaps", "configMap", "name"), ("secrets", "secret", ""))
        for resource, kind, field in kinds:
            if kind in spec:
                source = spec[kind]
                name = source.get(field or "secretName") or source.get("name") or ""
                mode = standard if standard is not None else source.get("defaultMode", MODE)
                yield from _keys(resource, lookup(resource, namespace, name), source, mode)
        downward = spec.get("downwardAPI") or {}
        for item in downward.get("items") or ():
            if "fieldRef" in item:
                text = environment.field_of(
                    container.pod, item["fieldRef"]["fieldPath"], container.host.address
                )
            else:
                text = environment.resource_of(
                    container.pod, container.spec, item["resourceFieldRef"]
                )
            mode = standard if standard is not None else downward.get("defaultMode", MODE)
            yield item["path"], text.encode(), item.get("mode", mode)
        projected = spec.get("projected") or {}
        mode = projected.get("defaultMode", MODE)
        for source in projected.get("sources") or ():
            if "serviceAccountToken" in source:
                yield source["serviceAccountToken"]["path"], b"", mode
            else:
                yield from self._content(container, source, mode)


def _data_of(folder: Folder) -> Folder | None:
    data = Files(folder).find("/..data")
    return data if isinstance(data, Folder) else None


def _same(first: Folder, other: Folder) -> bool:
    before, after = (
        [(path, node) for path, node in Files(each).walk("/")] for each in (first, other)
    )
    return [_compared(*each) for each in before] == [_compared(*each) for each in after]


def _compared(path: str, node: Node) -> tuple[str, bytes, int]:
    return (path, node.data, node.mode) if isinstance(node, File) else (path, b"", 0)


def _keys(
    resource: str, obj: Object | None, source: Object, mode: int
) -> Iterator[tuple[str, bytes, int]]:
    if obj is None:
        return
    values: dict[str, bytes] = {}
    for key, text in (obj.get("data") or {}).items():
        values[key] = base64.b64decode(text) if resource == "secrets" else text.encode()
    for key, text in (obj.get("binaryData") or {}).items():
        values[key] = base64.b64decode(text)
    items = source.get("items")
    if items:
        for item in items:
            if item["key"] in values:
                yield item["path"], values[item["key"]], item.get("mode", mode)
    else:
        yield from ((key, data, mode) for key, data in sorted(values.items()))


def token_paths(spec: Object) -> dict[str, Object]:
    """The serviceAccountToken projections of a volume, by path."""
    sources = (spec.get("projected") or {}).get("sources") or ()
    tokens = [
        source["serviceAccountToken"] for source in sources if "serviceAccountToken" in source
    ]
    return {token["path"]: token for token in tokens}


def _tokens(spec: Object, folder: Folder) -> Iterator[tuple[File, Object]]:
    """The token files of a volume, each with its projection."""
    for path, token in token_paths(spec).items():
        file = Files(folder).find("/" + path)
        if isinstance(file, File):
            yield file, token


def _is_due(container: Container, file: File, token: Object) -> bool:
    """Whether a token is missing, or older than 80% of its lifetime or a day."""
    seconds = token.get("expirationSeconds", TOKEN_SECONDS)
    return not file.data or is_due(file.mtime, seconds, container.now)


def _context(container: Container) -> Object:
    context: Object = container.pod["spec"].get("securityContext") or {}
    return context
