"""The program etcdctl: from its words to its exit code, in whatever process it runs.

Models etcd etcdctl/ctlv3/ctl.go and github.com/spf13/cobra (which command the words name).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from apiserver_app.etcd.errors import EtcdError
from apiserver_app.etcd.server import Server
from lifecycle.etcdctl import concurrency, flags, kv, memberships, snapshots, txn, upkeep, watch
from lifecycle.etcdctl.commands import COMMANDS, FLAGS, GLOBAL, REFUSED, Command
from lifecycle.etcdctl.printers import FORMATS
from lifecycle.etcdctl.session import BAD_FEATURE, ERROR, Exit, Process, Session, from_environment

_RUN: dict[str, Callable[[Session], Awaitable[None]]] = {
    "alarm disarm": upkeep.alarms,
    "alarm list": upkeep.alarms,
    "auth disable": upkeep.auth_disable,
    "auth enable": upkeep.auth_enable,
    "auth status": upkeep.auth_status,
    "role list": upkeep.nobody,
    "user list": upkeep.nobody,
    "compaction": kv.compaction,
    "defrag": upkeep.defrag,
    "del": kv.delete,
    "endpoint hashkv": upkeep.hashkv,
    "endpoint health": upkeep.health,
    "endpoint status": upkeep.status,
    "get": kv.get,
    "lease grant": upkeep.grant,
    "lease keep-alive": upkeep.keep_alive,
    "lease list": upkeep.leases,
    "lease revoke": upkeep.revoke,
    "lease timetolive": upkeep.time_to_live,
    "member list": memberships.listed,
    "member add": memberships.add,
    "member promote": memberships.promote,
    "member remove": memberships.remove,
    "member update": memberships.update,
    "put": kv.put,
    "txn": txn.txn,
    "version": upkeep.version,
    "watch": watch.watch,
    "lock": concurrency.lock,
    "elect": concurrency.elect,
    "move-leader": memberships.move_leader,
    "snapshot save": snapshots.save,
    "snapshot status": snapshots.status,
}
_HELP = """NAME:
\tetcdctl - A simple command line client for etcd3.

USAGE:
\tetcdctl [flags]

VERSION:
\t{}

API VERSION:
\t{}

COMMANDS:
{}

EXAMPLE:
\tetcdctl get / --prefix --keys-only

OPTIONS:
{}
"""
_USAGE = """NAME:
\t{} - {}

USAGE:
\tetcdctl {} [flags]

EXAMPLE:
\t{}

OPTIONS:
{}

GLOBAL OPTIONS:
{}
"""
_COMMANDS = {command.name: command for command in COMMANDS}
_SHORT = {"d", "w"}  # global flags of one letter that take a value


async def run(server: Server, process: Process, arguments: Sequence[str]) -> int:
    """Run one command; its exit code."""
    try:
        await _run(server, process, list(arguments))
    except Exit as error:
        if str(error):
            process.err(f"Error: {error}\n".encode("utf-8", "surrogateescape"))
        return error.code
    except EtcdError as error:
        process.err(f"Error: {error}\n".encode())
        return ERROR
    return 0


async def _run(server: Server, process: Process, arguments: list[str]) -> None:
    name, rest = _named(arguments)
    if not name or name in ("help", "options"):
        _help(process, server, rest[0] if rest and name == "help" else "")
        return
    command = _COMMANDS.get(name)
    if command is None:
        _group(process, name, rest)
        return
    known = (*FLAGS.get(name, ()), *GLOBAL, flags.HELP)
    try:
        parsed = flags.parse(rest, known)
        from_environment(parsed, process.env)
    except flags.FlagError as error:
        process.err(f"Error: {error}\n".encode("utf-8", "surrogateescape"))
        _usage(process, command)
        raise Exit(ERROR) from error
    if parsed.values["help"]:
        _usage(process, command)
        return
    if parsed.values["write-out"] not in FORMATS:
        raise Exit(BAD_FEATURE, "unsupported output format")
    await _RUN[name](Session(server, process, parsed, " ".join(["etcdctl", *arguments])))


def _named(arguments: list[str]) -> tuple[str, list[str]]:
    """(the command that the words name, what is left of them). A unique beginning is enough."""
    words: list[str] = []
    rest: list[str] = []
    queue = list(arguments)
    names = {*_COMMANDS, *REFUSED, "help", "options"}
    while queue:
        word = queue.pop(0)
        if word.startswith("-") and len(word) > 1:
            rest.append(word)
            if word == "--":
                break
            if _takes_value(word) and queue:
                rest.append(queue.pop(0))
            continue
        command = _completed([*words, word], names)
        if command is None and not words:
            raise Exit(
                ERROR, f'unknown command "{word}" for "etcdctl"\nRun \'etcdctl --help\' for usage.'
            )
        if command is None:
            rest.append(word)
            break
        words = command
    return " ".join(words), [*rest, *queue]


def _takes_value(word: str) -> bool:
    if "=" in word:
        return False
    if word.startswith("--"):
        return any(flag.name == word[2:] and flag.kind != "bool" for flag in GLOBAL)
    return word[1:] in _SHORT


def _completed(words: list[str], names: set[str]) -> list[str] | None:
    """The words in full, if exactly one command's begin with them."""
    level = len(words)
    heads = sorted({tuple(name.split()[:level]) for name in names if len(name.split()) >= level})
    same = [head for head in heads if list(head[:-1]) == words[:-1]]
    exact = [name for name in same if name[-1] == words[-1]]
    matches = exact or [name for name in same if name[-1].startswith(words[-1])]
    return list(matches[0]) if len(matches) == 1 else None


def _group(process: Process, name: str, rest: list[str]) -> None:
    """What is no command by itself: refused by name, a group, or unknown."""
    for refused, why in REFUSED.items():
        if name == refused or refused.startswith(f"{name} ") and rest[:1] == [refused.split()[1]]:
            raise Exit(ERROR, f"etcdctl {refused} is not simulated: {why}")
    rows = [
        (f"\t{command.name}", command.about)
        for command in COMMANDS
        if command.name.startswith(f"{name} ")
    ]
    process.out(
        "\n".join(["NAME:", f"\t{name}", "", "COMMANDS:", *flags.columns(rows), ""]).encode()
    )


def _help(process: Process, server: Server, name: str) -> None:
    if name in _COMMANDS:
        _usage(process, _COMMANDS[name])
        return
    unknown = [flag for flag in (name,) if flag and not flag.startswith("-")]
    if unknown:
        raise Exit(ERROR, f"unknown help topic: {unknown[0]}")
    rows = [(f"\t{command.name}", command.about) for command in COMMANDS]
    every = (*GLOBAL, flags.HELP._replace(usage="help for etcdctl"))
    version = server.version
    text = _HELP.format(
        version,
        version.rpartition(".")[0],
        _lines(flags.columns(rows)),
        _lines(flags.options(every)),
    )
    process.out(text.encode())


def _usage(process: Process, command: Command) -> None:
    usage = flags.HELP.usage.format(command.name.rpartition(" ")[2])
    own = (*FLAGS.get(command.name, ()), flags.HELP._replace(usage=usage))
    text = _USAGE.format(
        command.name,
        command.about,
        command.use,
        command.example.replace("\n", "\n\t"),
        _lines(flags.options(own)),
        _lines(flags.options(GLOBAL)),
    )
    process.out(text.encode())


def _lines(lines: list[str]) -> str:
    return "\n".join(lines)
