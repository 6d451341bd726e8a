"""Commands on files: ls, mkdir, rm, cp, mv, find, tar and their kin.

Models busybox coreutils and archival/tar.c; what tar writes and reads are real ustar bytes, as
`kubectl cp` sends them.
"""

from __future__ import annotations

import io
import tarfile

from apiserver_app.machinery.kernel import SECOND
from controllers_app.shell import globbing, timeformat
from controllers_app.shell.commands.options import options
from controllers_app.shell.exits import CommandError
from controllers_app.shell.filesystem import (
    BYTES_MAX,
    FILES_MAX,
    File,
    FileError,
    Folder,
    Link,
    Node,
    joined,
)
from controllers_app.shell.interpreter import COPIED, Call

TAPE_END = bytes(1024)
TAPE_BLOCK = 512
ENTRY, TAPED = 5, 60  # operations for a file that is found or copied, or that is put on a tape


def mode_text(node: Node) -> str:
    if isinstance(node, Link):
        return "lrwxrwxrwx"
    bits = "".join(
        letter if node.mode >> (8 - place) & 1 else "-" for place, letter in enumerate("rwxrwxrwx")
    )
    return ("d" if isinstance(node, Folder) else "-") + bits


async def ls(call: Call) -> int:
    flags, paths = options(call, "laAh1RdFtrsin")
    code = 0
    plain: list[tuple[str, Node]] = []
    folders: list[tuple[str, Folder]] = []
    for path in paths or ["."]:
        file = call.machine.look(call.path(path), follow="l" not in flags or path.endswith("/"))
        if file is None:
            why = f"{path}: No such file or directory"
            if call.machine.is_busybox:
                call.err(why)
            else:
                call.err(f"cannot access '{path}': No such file or directory")
            code = 1 if call.machine.is_busybox else 2
        elif isinstance(file, Folder) and "d" not in flags:
            folders.append((path, file))
        else:
            plain.append((path, file))
    _listed(call, plain, flags)
    await call.work(ENTRY * sum(len(folder.entries) for _, folder in folders))
    for place, (path, folder) in enumerate(folders):
        if len(folders) + len(plain) > 1:
            call.out(("\n" if place or plain else "") + f"{path}:\n")
        entries: list[tuple[str, Node]] = sorted(folder.entries.items())
        if "a" in flags:
            entries = [(".", folder), ("..", folder), *entries]
        elif "A" not in flags:
            entries = [entry for entry in entries if not entry[0].startswith(".")]
        if "l" in flags:
            call.out(f"total {sum(_size(node) // 1024 + 4 for _, node in entries)}\n")
        _listed(call, entries, flags)
    return code


def _size(node: Node) -> int:
    if isinstance(node, File):
        return len(node.data)
    return len(node.target) if isinstance(node, Link) else 4096


def _listed(call: Call, entries: list[tuple[str, Node]], flags: dict[str, str]) -> None:
    if "r" in flags:
        entries = entries[::-1]
    if "l" not in flags:
        names = [
            name + ("/" if "F" in flags and isinstance(n, Folder) else "") for name, n in entries
        ]
        if names:
            columns = call.shell.tty and "1" not in flags
            call.out(("  ".join(names) if columns else "\n".join(names)) + "\n")
        return
    for name, node in entries:
        at = 0 if isinstance(node, Link) else node.mtime
        stamp = timeformat.of(at, "%b %e %H:%M")
        links = 2 if isinstance(node, Folder) else 1
        arrow = f" -> {node.target}" if isinstance(node, Link) else ""
        owner = (0, 0) if isinstance(node, Link) else node.owner
        user, group = ("root" if part == 0 else str(part) for part in owner)
        user = (
            f"{links:4d} {user:<8} {group:<8} "
            if call.machine.is_busybox
            else f" {links} {user} {group} "
        )
        call.out(f"{mode_text(node)} {user}{_size(node):9d} {stamp} {name}{arrow}\n")


async def mkdir(call: Call) -> int:
    flags, paths = options(call, "pv", "m")
    code = 0
    for path in paths:
        try:
            call.machine.files.mkdir(call.path(path), call.runner.now, parents="p" in flags)
        except FileError as error:
            failure = (
                f"can't create directory '{path}'"
                if call.machine.is_busybox
                else (f"cannot create directory '{path}'")
            )
            call.err(f"{failure}: {error}")
            code = 1
    return code


async def rm(call: Call) -> int:
    """rm and rmdir."""
    flags, paths = options(call, "rRfivd")
    code = 0
    for path in paths:
        try:
            if call.name == "rmdir" and call.machine.files.folder(call.path(path)).entries:
                raise FileError("Directory not empty")
            recursive = "r" in flags or "R" in flags or call.name == "rmdir"
            call.machine.files.remove(call.path(path), recursive=recursive)
        except FileError as error:
            if "f" in flags and "No such file" in str(error):
                continue
            failure = (
                f"can't remove '{path}'" if call.machine.is_busybox else f"cannot remove '{path}'"
            )
            call.err(f"{failure}: {error}")
            code = 1
    return code


async def touch(call: Call) -> int:
    _flags, paths = options(call, "acm", "dtr")
    for path in paths:
        file = call.machine.look(call.path(path))
        if not isinstance(file, Folder):
            data = file.data if isinstance(file, File) else b""
            call.machine.files.write(call.path(path), data, call.runner.now)
    return 0


async def cp(call: Call) -> int:
    flags, paths = options(call, "rRapfv")
    if len(paths) < 2:
        raise CommandError(f"{call.name}: missing file operand", 1)
    *sources, target = paths
    into = isinstance(call.machine.look(call.path(target)), Folder)
    code = 0
    for source in sources:
        origin = call.path(source)
        goal = call.path(f"{target}/{origin.rpartition('/')[2]}" if into else target)
        file = call.machine.look(origin)
        if file is None:
            failure = (
                f"can't stat '{source}'" if call.machine.is_busybox else f"cannot stat '{source}'"
            )
            call.err(f"{failure}: No such file or directory")
            code = 1
        elif isinstance(file, Folder) and call.name == "cp" and not flags:
            call.err(f"omitting directory '{source}'")
            code = 1
        elif (goal + "/").startswith(origin + "/"):
            call.err(f"'{source}' and '{target}' are the same file")
            code = 1
        else:
            await _copied(call, origin, goal)
            if call.name == "mv":
                call.machine.files.remove(origin, recursive=True)
    return code


async def _copied(call: Call, origin: str, goal: str) -> None:
    files, now = call.machine.files, call.runner.now
    for path, node in list(files.walk(origin)):
        place = goal + path[len(origin) :]
        await call.work(ENTRY)
        if isinstance(node, Folder):
            files.mkdir(place, now, parents=True)
        elif isinstance(node, Link):
            files.link(place, node.target)
        else:
            files.write(place, node.data, now, mode=node.mode)


async def ln(call: Call) -> int:
    _flags, paths = options(call, "sf")
    if len(paths) != 2:
        raise CommandError("ln: missing file operand", 1)
    if "f" in _flags and call.machine.files.find(call.path(paths[1]), follow=False) is not None:
        call.machine.files.remove(call.path(paths[1]))
    call.machine.files.link(call.path(paths[1]), paths[0])
    return 0


async def chmod(call: Call) -> int:
    """chmod and chown."""
    _flags, args = (
        options(call, "Rvf") if not call.args[:1] or call.args[0][:1] != "+" else ({}, call.args)
    )
    if len(args) < 2:
        raise CommandError(f"{call.name}: missing operand", 1)
    for path in args[1:]:
        file = call.machine.look(call.path(path))
        if file is None or isinstance(file, Link):
            call.err(f"{path}: No such file or directory")
            return 1
        try:
            _changed(call, args[0], path, file)
        except FileError as error:
            call.err(f"{path}: {error}")
            return 1
    return 0


def _changed(call: Call, owner: str, path: str, file: File | Folder) -> None:
    if call.name == "chown":
        user, _, group = owner.replace(".", ":").partition(":")
        numbers = [
            0 if part in ("", "root") else int(part) if part.isdigit() else -1
            for part in (user, group)
        ]
        if -1 in numbers:
            raise FileError(f"unknown user {owner}")
        call.machine.files.chown(call.path(path), (numbers[0], numbers[1]))
    if call.name == "chmod":
        mode = (
            int(owner, 8) & 0o7777 if owner.isdigit() and not set(owner) & set("89") else file.mode
        )
        if "+x" in owner:
            mode |= 0o111
        call.machine.files.chmod(call.path(path), mode)


async def find(call: Call) -> int:
    args = list(call.args)
    roots = []
    while args and not args[0].startswith("-"):
        roots.append(args.pop(0))
    wanted = dict(zip(args[::2], args[1::2], strict=False))
    code = 0
    for root in roots or ["."]:
        base = call.path(root)
        if call.machine.look(base) is None:
            call.err(f"{root}: No such file or directory")
            code = 1
            continue
        for path, node in call.machine.files.walk(base):
            await call.work(ENTRY)
            name = path.rpartition("/")[2]
            kind = "d" if isinstance(node, Folder) else "l" if isinstance(node, Link) else "f"
            depth = path[len(base.rstrip("/")) :].count("/")
            limit = wanted.get("-maxdepth", "")
            if limit.isdigit() and depth > int(limit[:4]):
                continue
            if "-name" in wanted and not globbing.matches(wanted["-name"], name):
                continue
            if wanted.get("-type", kind) == kind:
                call.out(
                    root.rstrip("/") + path[len(base.rstrip("/")) :] + "\n"
                    if path != base
                    else f"{root}\n"
                )
    return code


async def du(call: Call) -> int:
    flags, paths = options(call, "shk")
    for path in paths or ["."]:
        size = 0
        for _, node in call.machine.files.walk(call.path(path)):
            await call.work(2)
            size += _size(node)
        amount = f"{size / 1024:.1f}K" if "h" in flags else str(max(4, size // 1024))
        call.out(f"{amount}\t{path}\n")
    return 0


async def readlink(call: Call) -> int:
    flags, paths = options(call, "fn")
    for path in paths:
        file = call.machine.files.find(call.path(path), follow=False)
        if isinstance(file, Link) and "f" not in flags:
            call.out(file.target + "\n")
        elif "f" in flags or call.name == "realpath":
            call.out(call.path(path) + "\n")
        else:
            return 1
    return 0


async def stat(call: Call) -> int:
    _flags, paths = options(call, "Lt", "c")
    code = 0
    for path in paths:
        node = call.machine.look(call.path(path))
        if node is None:
            call.err(f"can't stat '{path}': No such file or directory")
            code = 1
            continue
        kind = "directory" if isinstance(node, Folder) else "regular file"
        call.out(f"  File: {path}\n  Size: {_size(node)}\t{kind}\nAccess: {mode_text(node)}\n")
    return code


async def tar(call: Call) -> int:
    """tar c, x and t, of files or of the standard streams."""
    args = list(call.args)
    if args and not args[0].startswith("-"):
        args[0] = "-" + args[0]
    flags, paths = options(call, "cxtvzmpoOPh", "fC", args)
    where = call.path(flags["C"]) if "C" in flags else call.shell.cwd
    file = flags.get("f", "-")
    if "c" in flags:
        data, code = await _packed(call, where, paths)
        if file == "-":
            await call.write(data)
        else:
            call.machine.files.write(call.path(file), data, call.runner.now)
        return code
    if file == "-":
        data = await call.io.stdin.all(TAPE_END)
    else:
        data = call.machine.read(call.path(file))
    return await _unpacked(call, data, where, flags)


async def _packed(call: Call, where: str, paths: list[str]) -> tuple[bytes, int]:
    out = io.BytesIO()
    code = 0
    with tarfile.open(fileobj=out, mode="w|", format=tarfile.GNU_FORMAT) as archive:
        for path in paths:
            base = joined(where, path)
            if call.machine.look(base) is None:
                why = "No such file or directory"
                call.err(f"{path}: {why if call.machine.is_busybox else 'Cannot stat: ' + why}")
                code = 1 if call.machine.is_busybox else 2
                continue
            for file, node in call.machine.files.walk(base):
                call.hold(TAPE_BLOCK + _size(node))
                await call.work(TAPED + _size(node) // COPIED)
                name = path.rstrip("/") + file[len(base.rstrip("/")) :]
                entry = tarfile.TarInfo(name.lstrip("/") or ".")
                entry.uname = entry.gname = "root"
                data = b""
                if isinstance(node, Folder):
                    entry.type, entry.mode = tarfile.DIRTYPE, node.mode
                elif isinstance(node, Link):
                    entry.type, entry.linkname = tarfile.SYMTYPE, node.target
                else:
                    data, entry.size, entry.mode = node.data, len(node.data), node.mode
                    entry.mtime = node.mtime // SECOND
                archive.addfile(entry, io.BytesIO(data))
    return out.getvalue(), code


async def _unpacked(call: Call, data: bytes, where: str, flags: dict[str, str]) -> int:
    files, now = call.machine.files, call.runner.now
    try:
        with tarfile.open(fileobj=io.BytesIO(data[: BYTES_MAX * 2]), mode="r|") as archive:
            for number, entry in enumerate(archive):
                if number > FILES_MAX:
                    raise FileError("No space left on device")
                await call.work(TAPED + entry.size // COPIED)
                if "t" in flags or "v" in flags:
                    call.out(entry.name + "\n")
                if "t" in flags:
                    continue
                path = joined(where, entry.name.lstrip("/"))
                if entry.isdir():
                    files.mkdir(path, now, parents=True)
                elif entry.issym():
                    files.link(path, entry.linkname)
                elif entry.isfile():
                    files.mkdir(path.rpartition("/")[0] or "/", now, parents=True)
                    taken = archive.extractfile(entry)
                    body = taken.read(BYTES_MAX) if taken is not None else b""
                    files.write(path, body, now, mode=entry.mode & 0o777)
    except (tarfile.TarError, EOFError, ValueError, UnicodeError):
        call.err(
            "short read" if call.machine.is_busybox else "This does not look like a tar archive"
        )
        return 1 if call.machine.is_busybox else 2
    return 0
