"""What is in the volumes behind claims: kept beside the cluster, and back after a restart.

A volume is known by its PersistentVolume. Whoever writes into it has it kept with the next commit;
a big one is kept no more often than every few seconds, and at the end. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.meta import Object
from controllers_app.shell.filesystem import File, Folder, Link, Node

SMALL_BYTES, BIG_SECONDS = 64 << 10, 5
_encode, _decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder().decode


Lookup = Callable[[str, str, str], Object | None]


class PersistentVolumes:
    """The volumes of one cluster, by the names of their PersistentVolumes. What a claim without
    one has is kept by the claim's key. `kept` is what was there when the cluster stopped."""

    def __init__(self, kernel: Kernel, lookup: Lookup, kept: Mapping[str, bytes | None]) -> None:
        self._kernel = kernel
        self._lookup = lookup
        self._folders: dict[str, Folder] = {}
        self._dirty: dict[str, None] = {}
        self._kept: dict[str, tuple[int, int]] = {}  # when it was kept last, and its size
        for name, data in kept.items():
            found = _unpacked(_decode(data)) if data else None
            if isinstance(found, Folder):
                self._folders[name] = found
                found.keeper = _Keeper(self._dirty, name, kernel.now)

    def folder(self, name: str, since: int) -> Folder:
        """What is in the volume; empty when nobody used it before."""
        found = self._folders.get(name)
        if found is None:
            found = self._folders[name] = Folder(mtime=since)
            found.keeper = _Keeper(self._dirty, name, 0)
        return found

    def changed(self, *, whole: bool = False) -> dict[str, bytes | None]:
        """What is to be kept now: of those that changed, None of one that is gone. `whole` at the
        end, when nothing may wait."""
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
            for name in [one for one in self._folders if not self._exists(one)]:
                del self._folders[name]
                out[name] = None
        return out

    def _exists(self, name: str) -> bool:
        return "/" in name or self._lookup("persistentvolumes", "", name) is not None


class _Keeper:
    """That of one volume: `Keeper`."""

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
    return [{name: _packed(one) for name, one in node.entries.items()}, *about]


def _unpacked(kept: list[Any]) -> Node:
    first, *about = kept
    if isinstance(first, str):
        return Link(first)
    mode, mtime, uid, gid = about
    if isinstance(first, bytes):
        return File(first, mode, mtime, (uid, gid))
    entries = {name: _unpacked(one) for name, one in first.items()}
    return Folder(entries, mode, mtime, owner=(uid, gid))
