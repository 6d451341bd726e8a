"""The files of a container: a tree in memory over those that its image has.

A file is never changed but replaced, so that trees share what they have in common. Volumes are
folders that several containers hold; what is mounted read-only says so. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

import msgspec

BYTES_MAX, FILES_MAX = 8 << 20, 4096  # of what one container may write, or one volume may hold
NODE_BYTES_MAX, NODE_FILES_MAX = 48 << 20, 16_384  # of all that a node's containers write
PATH_MAX, NAME_MAX = 4096, 255
DEPTH_MAX = 200  # folders in folders
LINKS_MAX = 8
ROOT = (0, 0)  # uid and gid


class FileError(Exception):
    """What the C library says: No such file or directory."""


class Keeper(Protocol):
    """Who keeps what is in a folder, beyond the memory of this process."""

    known_until: int  # what was written before that time is there already

    def touch(self) -> None:
        """Something in it changed."""
        ...


class Disk:
    """How much room there is, and how much of it is taken. `above`: the disk that it is a part
    of."""

    def __init__(
        self, bytes_max: int = BYTES_MAX, files_max: int = FILES_MAX, above: Disk | None = None
    ) -> None:
        self.bytes = 0
        self.files = 0
        self._bytes_max, self._files_max = bytes_max, files_max
        self._above = above

    def take(self, size: int, files: int) -> None:
        """Takes room, or gives it back. Raises FileError when there is not so much."""
        if (size > 0 or files > 0) and not self._has(size, files):
            raise FileError("No space left on device")
        self.count(size, files)

    def free(self) -> None:
        """What is on it is gone."""
        self.count(-self.bytes, -self.files)

    def _has(self, size: int, files: int) -> bool:
        own = self.bytes + size <= self._bytes_max and self.files + files <= self._files_max
        return own and (self._above is None or self._above._has(size, files))

    def count(self, size: int, files: int) -> None:
        """Takes room for what is there already."""
        self.bytes += size
        self.files += files
        if self._above is not None:
            self._above.count(size, files)


class File(msgspec.Struct):
    data: bytes = b""
    mode: int = 0o644
    mtime: int = 0
    owner: tuple[int, int] = ROOT


class Link(msgspec.Struct):
    target: str


class Folder(msgspec.Struct, eq=False):
    entries: dict[str, Node] = msgspec.field(default_factory=dict)
    mode: int = 0o755
    mtime: int = 0
    readonly: bool = False  # with all that is below and no mount of its own
    owner: tuple[int, int] = ROOT
    is_mount: bool = False
    keeper: Keeper | None = None  # who keeps what is in it
    disk: Disk | None = None  # that it is all of


Node = File | Link | Folder


def parts_of(path: str) -> list[str]:
    return [part for part in path.split("/") if part not in ("", ".")]


def joined(folder: str, path: str) -> str:
    """The absolute path, without . and .. in it."""
    out: list[str] = []
    for part in parts_of(path if path.startswith("/") else f"{folder}/{path}"):
        if part == "..":
            del out[-1:]
        else:
            out.append(part)
    return "/" + "/".join(out)


def tree(files: Mapping[str, str], folders: tuple[str, ...], now: int) -> Folder:
    """A tree of these files."""
    root = Folder(mtime=now)
    for path in folders:
        _folder(root, parts_of(path), now)
    for path, text in files.items():
        *above, name = parts_of(path)
        _folder(root, above, now).entries[name] = File(text.encode(), mtime=now)
    return root


def copy(folder: Folder) -> Folder:
    """A tree of the same files, which may be changed by itself."""
    entries = {
        name: copy(node) if isinstance(node, Folder) else node
        for name, node in folder.entries.items()
    }
    return Folder(entries, folder.mode, folder.mtime, folder.readonly, folder.owner)


def mounted(folder: Folder, *, readonly: bool) -> Folder:
    """The same files, at a place of their own."""
    return Folder(
        folder.entries,
        folder.mode,
        folder.mtime,
        readonly,
        folder.owner,
        True,
        folder.keeper,
        folder.disk,
    )


def use_of(node: Node) -> tuple[int, int]:
    """(bytes, files) that a node and all below it take."""
    if isinstance(node, Folder):
        used = [use_of(entry) for entry in node.entries.values()]
        return sum(size for size, _ in used), 1 + sum(files for _, files in used)
    return len(node.data if isinstance(node, File) else node.target), 1


def _folder(root: Folder, parts: list[str], now: int) -> Folder:
    at = root
    for part in parts:
        folder = at.entries.get(part)
        if not isinstance(folder, Folder):
            folder = at.entries[part] = Folder(mtime=now)
        at = folder
    return at


class Files:
    """One container's tree, by absolute paths."""

    def __init__(self, root: Folder, disk: Disk | None = None) -> None:
        self.root = root
        self.disk = disk or Disk()
        self.owner = ROOT  # who acts: what is made is theirs
        self.groups: tuple[int, ...] = ()
        self._readonly = False  # whether the place that was found last is
        self._keeper: Keeper | None = None  # of that place
        self._on = self.disk  # that place is

    def find(self, path: str, *, follow: bool = True) -> Node | None:
        """The node there, links followed; None when there is none."""
        return self._walk(parts_of(path), LINKS_MAX, follow)[0]

    def read(self, path: str) -> bytes:
        file = self.find(path)
        if isinstance(file, Folder):
            raise FileError("Is a directory")
        if not isinstance(file, File):
            raise FileError("No such file or directory")
        if not self._may(file, 4):
            raise FileError("Permission denied")
        return file.data

    def folder(self, path: str) -> Folder:
        entry = self.find(path)
        if entry is None:
            raise FileError("No such file or directory")
        if not isinstance(entry, Folder):
            raise FileError("Not a directory")
        return entry

    def write(
        self, path: str, data: bytes, now: int, *, append: bool = False, mode: int | None = None
    ) -> None:
        if path in ("/dev/null", "/dev/stdout", "/dev/stderr", "/dev/tty"):
            return
        place, _, _ = self._walk(parts_of(path), LINKS_MAX, True)
        if isinstance(place, Folder):
            raise FileError("Is a directory")
        above, name = self._place(path, new=place is None)
        if isinstance(place, File) and not self._may(place, 2):
            raise FileError("Permission denied")
        if self._is_known(now):
            return
        old = place.data if isinstance(place, File) else b""
        if mode is None:
            mode = place.mode if isinstance(place, File) else 0o644
        whole = old + data if append else data
        self._grow(len(whole) - len(old), new=place is None)
        owner = place.owner if isinstance(place, File) else self.owner
        above.entries[name] = File(whole, mode, now, owner)

    def mkdir(self, path: str, now: int, *, parents: bool = False) -> None:
        if parents:
            _bounded(path)
            at = ""
            for part in parts_of(path):
                at += f"/{part}"
                if not isinstance(self.find(at), Folder):
                    self.mkdir(at, now)
            return
        if self.find(path) is not None:
            raise FileError("File exists")
        above, name = self._place(path)
        if self._is_known(now) and isinstance(above.entries.get(name), Folder):
            return
        self._grow(0, new=True)
        above.entries[name] = Folder(mtime=now, owner=self.owner)

    def put(self, path: str, node: Node, now: int) -> None:
        """Mount or link a node there; folders above it are made."""
        *above, name = parts_of(path) or [""]
        if name:
            _folder(self.root, above, now).entries[name] = node

    def link(self, path: str, target: str) -> None:
        if self.find(path, follow=False) is not None:
            raise FileError("File exists")
        above, name = self._place(path)
        self._grow(len(target), new=True)
        above.entries[name] = Link(target)

    def remove(self, path: str, *, recursive: bool = False) -> None:
        file = self.find(path, follow=False)
        if file is None:
            raise FileError("No such file or directory")
        if isinstance(file, Folder) and not recursive:
            raise FileError("Is a directory")
        above, name = self._place(path)
        if not name:
            raise FileError("Device or resource busy")
        del above.entries[name]
        size, files = use_of(file)
        self._on.take(-min(size, self._on.bytes), -min(files, self._on.files))

    def chmod(self, path: str, mode: int) -> None:
        file = self.find(path)
        if isinstance(file, File):
            above, name = self._place(path)
            above.entries[name] = File(file.data, mode, file.mtime, file.owner)
        elif isinstance(file, Folder):
            file.mode = mode
            self._touch()
        else:
            raise FileError("No such file or directory")

    def chown(self, path: str, owner: tuple[int, int]) -> None:
        file = self.find(path)
        if self.owner[0]:
            raise FileError("Operation not permitted")
        if isinstance(file, File):
            above, name = self._place(path)
            above.entries[name] = File(file.data, file.mode, file.mtime, owner)
        elif isinstance(file, Folder):
            file.owner = owner
            self._touch()

    def walk(self, path: str, depth: int = 24) -> Iterator[tuple[str, Node]]:
        """Everything below the path and itself, in order."""
        file = self.find(path, follow=False)
        if file is None:
            raise FileError("No such file or directory")
        yield path, file
        if isinstance(file, Folder) and depth:
            for name in sorted(file.entries):
                yield from self.walk(f"{path.rstrip('/')}/{name}", depth - 1)

    def _place(self, path: str, *, new: bool = True) -> tuple[Folder, str]:
        """The folder and the name under which the path is kept, when it may be written there."""
        _bounded(path)
        _, above, name = self._walk(parts_of(path), LINKS_MAX, True)
        if above is None:
            raise FileError("No such file or directory")
        if self._readonly:
            raise FileError("Read-only file system")
        if new and not self._may(above, 2):
            raise FileError("Permission denied")
        self._touch()
        return above, name

    def _touch(self) -> None:
        if self._keeper is not None:
            self._keeper.touch()

    def _is_known(self, now: int) -> bool:
        """Whether the place is kept with what was written there at that time: a process that is
        run again after a restart writes nothing twice."""
        return self._keeper is not None and now < self._keeper.known_until

    def _may(self, node: File | Folder, bit: int) -> bool:
        uid, gid = self.owner
        if not uid:
            return True
        if node.owner[0] == uid:
            return bool(node.mode >> 6 & bit)
        if node.owner[1] in (gid, *self.groups):
            return bool(node.mode >> 3 & bit)
        return bool(node.mode & bit)

    def _walk(
        self, parts: list[str], links: int, follow: bool
    ) -> tuple[Node | None, Folder | None, str]:
        """(the node, the folder it is or would be in, its name there)."""
        at: Node = self.root
        above: Folder | None = self.root
        name = ""
        trail: list[str] = []
        self._readonly, self._keeper = self.root.readonly, self.root.keeper
        self._on = self.root.disk or self.disk
        for number, part in enumerate(parts):
            if not isinstance(at, Folder):
                return None, None, part
            above, name = at, part
            self._keeper = at.keeper or self._keeper
            self._on = at.disk or self._on
            self._readonly = at.readonly or (self._readonly and not at.is_mount)
            file = at.entries.get(part)
            last = number == len(parts) - 1
            if isinstance(file, Link) and (follow or not last):
                if not links:
                    return None, None, part
                target = joined("/" + "/".join(trail), file.target)
                return self._walk(parts_of(target) + parts[number + 1 :], links - 1, follow)
            if file is None:
                return None, (above if last else None), part
            at = file
            trail.append(part)
        return at, above, name

    def _grow(self, size: int, *, new: bool) -> None:
        self._on.take(max(size, -self._on.bytes), int(new))


def _bounded(path: str) -> None:
    parts = path.split("/")
    if len(path) > PATH_MAX or len(parts) > DEPTH_MAX or max(map(len, parts)) > NAME_MAX:
        raise FileError("File name too long")
