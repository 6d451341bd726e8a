"""The contents of persistent volumes, stored with the cluster and restored after a restart.

Volumes are keyed by their PersistentVolume. A changed volume is stored with the next commit; a big
one at most every few seconds, and at the end. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.meta import Object
from controllers_app.shell.filesystem import Disk, File, Folder, Link, Node, use_of

BYTES_MAX, FILES_MAX = 64 << 20, 32_768  # of all volumes
SMALL_BYTES, BIG_SECONDS = 64 << 10, 5
_encode, _decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder().decode


Lookup = Callable[[str, str, str], Object | None]


class PersistentVolumes:
    """The volumes of one cluster, by the names of their PersistentVolumes, or by the claim's key
    where there is none. `kept` is the stored state of an earlier run."""

    def __init__(self, kernel: Kernel, lookup: Lookup, kept: Mapping[str, bytes | None]) -> None:
        self._kernel = kernel
        self._lookup = lookup
        self._folders: dict[str, Folder] = {}
        self._dirty: dict[str, None] = {}
        self._disk = Disk(BYTES_MAX, FILES_MAX)
        self._kept: dict[str, tuple[int, int]] = {}  # when it was kept last, and its size
        for name, data in kept.items():
            folder = _unpacked(_decode(data)) if data else None
            if isinstance(folder, Folder):
                self._folders[name] = folder
                folder.keeper = _Keeper(self._dirty, name, kernel.now)
                folder.disk = Disk(above=self._disk)
                folder.disk.count(*use_of(folder))

    def folder(self, name: str, since: int) -> Folder:
        """The volume's content; empty on first use."""
        folder = self._folders.get(name)
        if folder is None:
            folder = self._folders[name] = Folder(mtime=since, disk=Disk(above=self._disk))
            folder.keeper = _Keeper(self._dirty, name, 0)
        return folder

    def changed(self, *, whole: bool = False) -> dict[str, bytes | None]:
        """The changed volumes that have to be stored now; None for a deleted one. `whole`: at the
        end of the run, when nothing may wait."""
        out: dict[str, bytes | None] = {}
        for name in list(self._dirty):
            since, size = self._kept.get(name, (0, 0))
            if size > SMALL_BYTES and not whole and self._kernel.now < since + BIG_SECONDS * SECOND:
                continue
            del self._dirty[name]
            data = _encode(_packed(self._folders[name]))
            self._kept[name] = (self._kernel.now, len(data))
            out[name] = data
        if out:
            for name in [key for key in self._folders if not self._exists(key)]:
                disk = self._folders.pop(name).disk
                assert disk is not None
                disk.free()
                out[name] = None
        return out

    def _exists(self, name: str) -> bool:
        return "/" in name or self._lookup("persistentvolumes", "", name) is not None


class _Keeper:
    """Implements `Keeper` for one volume."""

    def __init__(self, dirty: dict[str, None], name: str, known_until: int) -> None:
        self.known_until = known_until
        self._dirty = dirty
        self._name = name

    def touch(self) -> None:
        self._dirty[self._name] = None


def _packed(node: Node) -> list[Any]:
    if isinstance(node, Link):
        return [node.target]
    about = [node.mode, node.mtime, *node.owner]
    if isinstance(node, File):
        return [node.data, *about]
    return [{name: _packed(entry) for name, entry in node.entries.items()}, *about]


def _unpacked(kept: list[Any]) -> Node:
    first, *about = kept
    if isinstance(first, str):
        return Link(first)
    mode, mtime, uid, gid = about
    if isinstance(first, bytes):
        return File(first, mode, mtime, (uid, gid))
    entries = {name: _unpacked(entry) for name, entry in first.items()}
    return Folder(entries, mode, mtime, owner=(uid, gid))
