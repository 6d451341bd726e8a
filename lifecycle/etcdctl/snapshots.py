"""etcdctl snapshot save and status, and etcdutl, to which status went in 3.6.

A snapshot is a file of the container.

Models etcd client/v3/snapshot/v3_snapshot.go, etcdutl/snapshot/v3_snapshot.go and
etcdctl/ctlv3/command/snapshot_command.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver_app.etcd import maintenance
from apiserver_app.etcd.server import Server
from lifecycle.etcdctl import flags
from lifecycle.etcdctl.flags import Flag, FlagError
from lifecycle.etcdctl.printers import FORMATS, Printer
from lifecycle.etcdctl.session import BAD_ARGS, BAD_FEATURE, ERROR, Exit, Process, Session

_STATUS_FLAGS = (
    Flag(
        "write-out",
        "string",
        "simple",
        "set the output format (fields, json, protobuf, simple, table)",
        "w",
    ),
)


async def save(session: Session) -> None:
    if len(session.words) != 1:
        raise Exit(BAD_ARGS, "snapshot save expects one argument <filename>")
    await session.connect()
    path = session.words[0]
    session.process.write_file(path, maintenance.snapshot(session.server))
    session.say(f"Snapshot saved at {path}")
    if maintenance.minor(session.server) >= 6:
        session.say(f"Server version {session.server.version.rpartition('.')[0]}.0")


async def status(session: Session) -> None:
    if maintenance.minor(session.server) >= 6:
        raise Exit(ERROR, 'unknown command "status" for "etcdctl snapshot"')
    session.warn("Deprecated: Use `etcdutl snapshot status` instead.\n")
    if len(session.words) != 1:
        raise Exit(BAD_ARGS, "snapshot status requires exactly one argument")
    _show(session.process, session.words[0], session.flag("write-out"))


async def etcdutl(server: Server, process: Process, arguments: Sequence[str]) -> int:
    """The other program: of its commands only this one."""
    if list(arguments[:2]) != ["snapshot", "status"]:
        asked = " ".join(arguments[:2]) or "without a command"
        process.err(
            f"Error: etcdutl {asked} is not simulated: there is no file of bbolt\n".encode()
        )
        return ERROR
    try:
        parsed = flags.parse(list(arguments[2:]), _STATUS_FLAGS)
        if len(parsed.words) != 1:
            raise Exit(BAD_ARGS, "snapshot status requires exactly one argument")
        _show(process, parsed.words[0], parsed.values["write-out"])
    except FlagError as error:
        process.err(f"Error: {error}\n".encode())
        return ERROR
    except Exit as error:
        process.err(f"Error: {error}\n".encode())
        return error.code
    return 0


def _show(process: Process, path: str, form: str) -> None:
    if form not in FORMATS:
        raise Exit(BAD_FEATURE, "unsupported output format")
    data = process.read_file(path)
    if data is None:
        raise Exit(ERROR, f"stat {path}: no such file or directory")
    head = maintenance.snapshot_status(data)
    if head is None:
        raise Exit(ERROR, "invalid database")
    printer = Printer(form, process.out, is_hex=False)
    if not printer.show("snapshot", head):
        raise Exit(BAD_FEATURE, f"{form} not supported as output format")
