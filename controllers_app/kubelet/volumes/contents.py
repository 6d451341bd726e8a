"""What is in the volumes of pods, laid out when a container's files are looked at.

Config maps, secrets and fields of the pod are laid out as they are now and again after a minute,
as the kubelet's sync does; tokens are asked for when a container is first looked into, and again
when four fifths of their life, or a day, are over.

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
from controllers_app.kubelet.volumes.mounter import Mounter, NotMountable
from controllers_app.kubelet.volumes.persistent import Lookup, PersistentVolumes
from controllers_app.shell import timeformat
from controllers_app.shell.filesystem import File, Files, Folder, Link, Node

SYNC_SECONDS = 60
MODE = 0o644
TOKEN_SECONDS, TOKEN_SECONDS_MAX = 3600, 24 * 3600


class Contents:
    """The volumes of all pods: `Volumes`. They outlive the kubelets, as what is on a disk does."""

    def __init__(self, kernel: Kernel, lookup: Lookup, persistent: PersistentVolumes) -> None:
        self.persistent = persistent
        self.folders: dict[str, dict[str, Folder]] = {}  # pod's uid -> volume
        self.mounters: dict[str, Mounter] = {}  # by node, while its kubelet runs
        self._kernel = kernel
        self._lookup = lookup

    def folder(self, container: Container, name: str) -> Folder | None:
        """What is mounted as the pod's volume of that name; containers of a pod share it."""
        spec = next(
            (one for one in container.pod["spec"].get("volumes") or () if one["name"] == name), None
        )
        if spec is None:
            return None
        host, uid = container.host, meta.uid_of(container.pod)
        if "hostPath" in spec:
            path = spec["hostPath"]["path"]
            found = host.disk.find(path)
            if found is None:
                host.disk.mkdir(path, container.since, parents=True)
                found = host.disk.find(path)
            return found if isinstance(found, Folder) else None
        group = _context(container).get("fsGroup")
        if "persistentVolumeClaim" in spec:
            claim = self._claimed(container, spec["persistentVolumeClaim"]["claimName"])
            if group is not None:
                claim.owner, claim.mode = (claim.owner[0], group), claim.mode | 0o2070
            return claim
        folder = self.folders.setdefault(uid, {}).get(name)
        if folder is None:
            live = any(kind in spec for kind in LIVE)
            folder = Folder({}, 0o777, container.since, readonly=live, owner=(0, group or 0))
            if group is not None:
                folder.mode = 0o2777
            self.folders[uid][name] = folder
            if live:
                self._fill(container, spec, folder)
        return folder

    def refresh(self, container: Container) -> None:
        """Lay out anew what others may have changed, a minute after the last time."""
        for spec in container.pod["spec"].get("volumes") or ():
            folder = self.folders.get(meta.uid_of(container.pod), {}).get(spec["name"])
            if folder is None or not folder.readonly:
                continue
            if container.now - folder.mtime >= SYNC_SECONDS * SECOND:
                self._fill(container, spec, folder)
                name = container.host.name
                due = any(_is_due(container, *one) for one in _tokens(spec, folder))
                if due and name in self.mounters:
                    work = self.fetch_tokens(container)
                    self._kernel.spawn(f"kubelet/{name}/tokens", work, background=True)

    def forget(self, uid: str) -> None:
        """Nothing of the pod is left on its node."""
        self.folders.pop(uid, None)

    async def fetch_tokens(self, container: Container) -> None:
        """Ask for the tokens of the pod's mounted volumes that nobody read so far, and again for
        those whose life is mostly over. While no new one can be had, the old one stays."""
        mounter = self.mounters.get(container.host.name)
        mounted = {one["name"] for one in container.spec.get("volumeMounts") or ()}
        for spec in container.pod["spec"].get("volumes") or ():
            folder = self.folders.get(meta.uid_of(container.pod), {}).get(spec["name"])
            if folder is None or spec["name"] not in mounted or mounter is None:
                continue
            for found, wanted in list(_tokens(spec, folder)):
                if not _is_due(container, found, wanted):
                    continue
                try:
                    token = await mounter.token(container.pod, wanted)
                except NotMountable:
                    continue
                written = File(token.encode(), found.mode, container.now, found.owner)
                data = _data_of(folder)
                if data is not None:
                    Files(data).put("/" + wanted["path"], written, container.now)

    def _claimed(self, container: Container, name: str) -> Folder:
        """What is in the volume that the claim is bound to."""
        found = self._lookup("persistentvolumeclaims", meta.namespace_of(container.pod), name) or {}
        bound = (found.get("spec") or {}).get("volumeName")
        bound = bound or f"{meta.namespace_of(container.pod)}/{name}"
        return self.persistent.folder(bound, container.since)

    def _fill(self, container: Container, spec: Object, folder: Folder) -> None:
        """Write what the volume is made of, all at once: the files are in a folder named by the
        time, `..data` leads there and the names that one reads lead through it."""
        old = _data_of(folder)
        folder.mtime = container.now
        tokens = token_paths(spec)
        payload = Folder(mtime=container.now)
        files = Files(payload)
        group = _context(container).get("fsGroup")
        for path, data, mode in self._content(container, spec):
            written = container.now
            if path in tokens:
                kept = Files(old).find("/" + path) if old is not None else None
                if isinstance(kept, File):
                    data, written = kept.data, kept.mtime
                mode = 0o600 if group is not None or container.owner[0] else mode
            mode |= 0o440 if group is not None else 0
            owner = (container.owner[0] if path in tokens else 0, group or 0)
            files.put("/" + path, File(data, mode, written, owner), container.now)
        if old is not None and (not payload.entries and "projected" not in spec):
            return  # what it named is gone: what was mounted stays
        if old is not None and _same(old, payload):
            return
        name = (
            timeformat.of(container.now, "..%Y_%m_%d_%H_%M_%S.")
            + f"{container.now % SECOND * 1000:09d}"
        )
        folder.entries.clear()
        folder.entries[name] = payload
        folder.entries["..data"] = Link(name)
        for one in payload.entries:
            folder.entries[one] = Link(f"..data/{one}")

    def _content(
        self, container: Container, spec: Object, standard: int | None = None
    ) -> Iterator[tuple[str, bytes, int]]:
        """(path, data, mode) of everything in a volume that is made from objects."""
        namespace, lookup = meta.namespace_of(container.pod), self._lookup
        kinds = (("configmaps", "configMap", "name"), ("secrets", "secret", ""))
        for resource, kind, field in kinds:
            if kind in spec:
                source = spec[kind]
                name = source.get(field or "secretName") or source.get("name") or ""
                mode = standard if standard is not None else source.get("defaultMode", MODE)
                yield from _keys(resource, lookup(resource, namespace, name), source, mode)
        downward = spec.get("downwardAPI") or {}
        for one in downward.get("items") or ():
            if "fieldRef" in one:
                text = environment.field_of(
                    container.pod, one["fieldRef"]["fieldPath"], container.host.address
                )
            else:
                text = environment.resource_of(
                    container.pod, container.spec, one["resourceFieldRef"]
                )
            mode = standard if standard is not None else downward.get("defaultMode", MODE)
            yield one["path"], text.encode(), one.get("mode", mode)
        projected = spec.get("projected") or {}
        mode = projected.get("defaultMode", MODE)
        for source in projected.get("sources") or ():
            if "serviceAccountToken" in source:
                yield source["serviceAccountToken"]["path"], b"", mode
            else:
                yield from self._content(container, source, mode)


def _data_of(folder: Folder) -> Folder | None:
    found = Files(folder).find("/..data")
    return found if isinstance(found, Folder) else None


def _same(one: Folder, other: Folder) -> bool:
    left, right = ([(path, node) for path, node in Files(each).walk("/")] for each in (one, other))
    return [_told(*each) for each in left] == [_told(*each) for each in right]


def _told(path: str, node: Node) -> tuple[str, bytes, int]:
    return (path, node.data, node.mode) if isinstance(node, File) else (path, b"", 0)


def _keys(
    resource: str, found: Object | None, source: Object, mode: int
) -> Iterator[tuple[str, bytes, int]]:
    if found is None:
        return
    values: dict[str, bytes] = {}
    for key, text in (found.get("data") or {}).items():
        values[key] = base64.b64decode(text) if resource == "secrets" else text.encode()
    for key, text in (found.get("binaryData") or {}).items():
        values[key] = base64.b64decode(text)
    items = source.get("items")
    if items:
        for one in items:
            if one["key"] in values:
                yield one["path"], values[one["key"]], one.get("mode", mode)
    else:
        yield from ((key, data, mode) for key, data in sorted(values.items()))


def token_paths(spec: Object) -> dict[str, Object]:
    """path -> what is asked for, of the tokens in a projected volume."""
    sources = (spec.get("projected") or {}).get("sources") or ()
    wanted = [one["serviceAccountToken"] for one in sources if "serviceAccountToken" in one]
    return {one["path"]: one for one in wanted}


def _tokens(spec: Object, folder: Folder) -> Iterator[tuple[File, Object]]:
    """The files of a volume that hold tokens, and what is asked for each."""
    for path, wanted in token_paths(spec).items():
        found = Files(folder).find("/" + path)
        if isinstance(found, File):
            yield found, wanted


def _is_due(container: Container, found: File, wanted: Object) -> bool:
    """Whether a token is missing, or has lived four fifths of its life, or a day."""
    lives = min(wanted.get("expirationSeconds", TOKEN_SECONDS) * 0.8, TOKEN_SECONDS_MAX)
    return not found.data or container.now - found.mtime >= lives * SECOND


def _context(container: Container) -> Object:
    found: Object = container.pod["spec"].get("securityContext") or {}
    return found
