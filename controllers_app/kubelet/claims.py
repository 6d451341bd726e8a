"""What is in the volumes behind claims: kept beside the cluster, and back after a restart.

A volume is known by its PersistentVolume. Whoever writes into it has it kept with the next commit;
a big one is kept no more often than every few seconds, and at the end. Pure.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from apiserver_app.machinery.kernel import SECOND, Kernel
from controllers_app.kubelet.shell.files import File, Folder, Link, Node

SMALL_BYTES, BIG_SECONDS = 64 << 10, 5
_encode, _decode = msgspec.msgpack.Encoder().encode, msgspec.msgpack.Decoder().decode


class Claims:
    """The volumes of one cluster. `is_there` says whether a PersistentVolume still is."""

    def __init__(self, kernel: Kernel, is_there: Callable[[str], bool]) -> None:
        self._kernel = kernel
        self._is_there = is_there
        self._folders: dict[str, Folder] = {}
        self._dirty: dict[str, None] = {}
        self._restored = 0  # when
        self._kept: dict[str, tuple[int, int]] = {}  # when it was kept last, and its size

    def folder(self, name: str, since: int) -> Folder:
        """What is in the volume; empty when nobody used it before."""
        found = self._folders.get(name)
        if found is None:
            found = self._folders[name] = Folder(mtime=since)
            found.keeper = _Keeper(self._dirty, name, 0)
        return found

    def restore(self, kept: Mapping[str, bytes | None]) -> None:
        """What was there when the cluster stopped."""
        self._restored = self._kernel.now
        for name, data in kept.items():
            found = _unpacked(_decode(data)) if data else None
            if isinstance(found, Folder):
                self._folders[name] = found
                found.keeper = _Keeper(self._dirty, name, self._restored)

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
            for name in [one for one in self._folders if not self._is_there(one)]:
                del self._folders[name]
                out[name] = None
        return out


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
