"""etcdctl snapshot save and status, and etcdutl, to which status went in 3.6.

A snapshot is a file of the container: a head that says what is in it, then all keys with their
values, packed. Its size is that of the modelled database with a checksum behind it. It is no file
of bbolt, so that a real etcdutl cannot read it, and nothing restores one.

Models etcd client/v3/snapshot/v3_snapshot.go, etcdutl/snapshot/v3_snapshot.go and
etcdctl/ctlv3/command/snapshot_command.go.
"""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Sequence

import orjson

from lifecycle.etcdctl import flags
from lifecycle.etcdctl.flags import Flag, FlagError
from lifecycle.etcdctl.printers import FORMATS, Printer
from lifecycle.etcdctl.server import RAFT_ENTRIES, Keys, Server
from lifecycle.etcdctl.session import BAD_ARGS, BAD_FEATURE, ERROR, Exit, Session, World

MAGIC = b"etcd snapshot of a simulated cluster\n"
_STATUS_FLAGS = (
    Flag("write-out", "string", "simple", "set the output format (fields, json, protobuf, simple, "
         "table)", "w"),
)  # fmt: skip


async def save(session: Session) -> None:
    if len(session.words) != 1:
        raise Exit(BAD_ARGS, "snapshot save expects one argument <filename>")
    await session.connect()
    path = session.words[0]
    session.world.write_file(path, _made(session.server))
    session.say(f"Snapshot saved at {path}")
    if _minor(session.server) >= 6:
        session.say(f"Server version {session.server.version.rpartition('.')[0]}.0")


async def status(session: Session) -> None:
    if _minor(session.server) >= 6:
        raise Exit(ERROR, 'unknown command "status" for "etcdctl snapshot"')
    session.warn("Deprecated: Use `etcdutl snapshot status` instead.\n")
    if len(session.words) != 1:
        raise Exit(BAD_ARGS, "snapshot status requires exactly one argument")
    _show(session.world, session.words[0], session.flag("write-out"))


async def etcdutl(server: Server, world: World, arguments: Sequence[str]) -> int:
    """The other program: of its commands only this one."""
    if list(arguments[:2]) != ["snapshot", "status"]:
        asked = " ".join(arguments[:2]) or "without a command"
        world.err(f"Error: etcdutl {asked} is not simulated: there is no file of bbolt\n".encode())
        return ERROR
    try:
        parsed = flags.parse(list(arguments[2:]), _STATUS_FLAGS)
        if len(parsed.words) != 1:
            raise Exit(BAD_ARGS, "snapshot status requires exactly one argument")
        _show(world, parsed.words[0], parsed.values["write-out"])
    except FlagError as error:
        world.err(f"Error: {error}\n".encode())
        return ERROR
    except Exit as error:
        world.err(f"Error: {error}\n".encode())
        return error.code
    return 0


def _made(server: Server) -> bytes:
    entries = server.range(Keys("\0", "\0"))
    version = f"{server.version.rpartition('.')[0]}.0" if _minor(server) >= 6 else ""
    head = {
        "hash": server.hash(), "revision": server.store.revision,
        "totalKey": len(entries) + RAFT_ENTRIES, "totalSize": server.size_bytes(),
        "version": version,
    }  # fmt: skip
    body = b"".join(
        b"%d %d\n%s%s" % (len(one.key.encode()), len(one.value), one.key.encode(), one.value)
        for one in entries
    )
    data = MAGIC + orjson.dumps(head) + b"\n" + zlib.compress(body)
    data = data.ljust(server.size_bytes(), b"\0")
    return data + hashlib.sha256(data).digest()


def _show(world: World, path: str, form: str) -> None:
    if form not in FORMATS:
        raise Exit(BAD_FEATURE, "unsupported output format")
    data = world.read_file(path)
    if data is None:
        raise Exit(ERROR, f"stat {path}: no such file or directory")
    if not data.startswith(MAGIC) or hashlib.sha256(data[:-32]).digest() != data[-32:]:
        raise Exit(ERROR, "invalid database")
    head = orjson.loads(data[len(MAGIC) :].split(b"\n", 1)[0])
    if not head["version"]:
        del head["version"]
    printer = Printer(form, world.out, is_hex=False)
    if not printer.show("snapshot", head):
        raise Exit(BAD_FEATURE, f"{form} not supported as output format")


def _minor(server: Server) -> int:
    return int(server.version.split(".")[1])
