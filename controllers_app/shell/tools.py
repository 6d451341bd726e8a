"""The commands that there are, and in which images: a visible tuple, looked up by name.

An image's userland gives it the common ones; `tools` of the catalog names further sets. Who wires
a cluster may add sets of its own (`Directory.tools`): a command is a function of its call.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping

import msgspec

from controllers_app.shell import builtins
from controllers_app.shell.commands import (
    binary,
    columns,
    files,
    filters,
    grep,
    mounts,
    netcat,
    networking,
    sed,
    sorting,
    system,
)
from controllers_app.shell.commands.options import options
from controllers_app.shell.interpreter import Call, Run

BUSYBOX, DEBIAN = "busybox", "debian"


class Tool(msgspec.Struct, frozen=True):
    """A command, where it lies, and the sets it is in."""

    name: str
    run: Run
    sets: tuple[str, ...] = (BUSYBOX, DEBIAN)
    folder: str = "/bin"


def _later(module: str, name: str) -> Run:
    """A command whose module is loaded by the first container that runs it."""

    async def run(call: Call) -> int:
        loaded = importlib.import_module(f"controllers_app.shell.commands.{module}")
        code: int = await getattr(loaded, name)(call)
        return code

    return run


async def _nginx(call: Call) -> int:
    if "-v" in call.args or "-V" in call.args:
        call.io.err(b"nginx version: nginx/1.27.5\n")
    elif "-t" in call.args:
        call.io.err(
            b"nginx: the configuration file /etc/nginx/nginx.conf syntax is ok\n"
            b"nginx: configuration file /etc/nginx/nginx.conf test is successful\n"
        )
    elif "-s" in call.args:
        call.machine.emit("stderr", b"2025 [notice] signal process started\n")
    else:
        call.io.err(b"nginx: [emerg] bind() to 0.0.0.0:80 failed (98: Address already in use)\n")
        return 1
    return 0


async def _redis(call: Call) -> int:
    _flags, words = options(call, "r", "hpan")
    if words and words[0].upper() == "PING":
        call.out("PONG\n" if len(words) == 1 else f"{words[1]}\n")
        return 0
    call.out(f"(error) ERR unknown command '{words[0] if words else ''}'\n")
    return 1


async def _pg_isready(call: Call) -> int:
    call.out("/var/run/postgresql:5432 - accepting connections\n")
    return 0


TOOLS: tuple[Tool, ...] = (
    Tool("test", builtins.BUILTINS["test"], folder="/usr/bin"),
    Tool("[", builtins.BUILTINS["["], folder="/usr/bin"),
    Tool("pwd", builtins.BUILTINS["pwd"]),
    Tool("sh", system.shell),
    Tool("bash", system.shell, (DEBIAN,)),
    Tool("ash", system.shell, (BUSYBOX,)),
    Tool("echo", filters.echo),
    Tool("printf", filters.printf, folder="/usr/bin"),
    Tool("cat", filters.cat),
    Tool("head", filters.head, folder="/usr/bin"),
    Tool("tail", filters.head, folder="/usr/bin"),
    Tool("wc", filters.wc, folder="/usr/bin"),
    Tool("grep", grep.grep),
    Tool("egrep", grep.grep),
    Tool("awk", _later("awk.program", "awk"), folder="/usr/bin"),
    Tool("sed", sed.sed),
    Tool("sort", sorting.sort, folder="/usr/bin"),
    Tool("uniq", sorting.uniq, folder="/usr/bin"),
    Tool("seq", filters.seq, folder="/usr/bin"),
    Tool("tr", columns.tr, folder="/usr/bin"),
    Tool("cut", columns.cut, folder="/usr/bin"),
    Tool("rev", _later("assorted", "rev"), (BUSYBOX,)),
    Tool("tac", _later("assorted", "tac"), folder="/usr/bin"),
    Tool("nl", _later("assorted", "nl"), folder="/usr/bin"),
    Tool("paste", _later("assorted", "paste"), folder="/usr/bin"),
    Tool("diff", _later("assorted", "diff"), folder="/usr/bin"),
    Tool("cmp", _later("assorted", "compare"), folder="/usr/bin"),
    Tool("md5sum", _later("assorted", "digest"), folder="/usr/bin"),
    Tool("sha1sum", _later("assorted", "digest"), folder="/usr/bin"),
    Tool("sha256sum", _later("assorted", "digest"), folder="/usr/bin"),
    Tool("sha512sum", _later("assorted", "digest"), folder="/usr/bin"),
    Tool("expr", _later("assorted", "expr"), folder="/usr/bin"),
    Tool("nproc", _later("assorted", "nproc"), folder="/usr/bin"),
    Tool("mktemp", _later("assorted", "mktemp")),
    Tool("tee", filters.tee, folder="/usr/bin"),
    Tool("yes", filters.yes, folder="/usr/bin"),
    Tool("base64", filters.base64_),
    Tool("dd", binary.dd),
    Tool("gzip", binary.gzip),
    Tool("gunzip", binary.gzip),
    Tool("zcat", binary.gzip),
    Tool("ls", files.ls),
    Tool("mkdir", files.mkdir),
    Tool("rm", files.rm),
    Tool("rmdir", files.rm),
    Tool("touch", files.touch),
    Tool("cp", files.cp),
    Tool("mv", files.cp),
    Tool("ln", files.ln),
    Tool("chmod", files.chmod),
    Tool("chown", files.chmod),
    Tool("find", files.find, folder="/usr/bin"),
    Tool("du", files.du, folder="/usr/bin"),
    Tool("readlink", files.readlink, folder="/usr/bin"),
    Tool("realpath", files.readlink, folder="/usr/bin"),
    Tool("stat", files.stat),
    Tool("tar", files.tar),
    Tool("true", system.true),
    Tool("false", system.false),
    Tool(":", system.true),
    Tool("sleep", system.sleep),
    Tool("hostname", system.hostname),
    Tool("id", system.identity, folder="/usr/bin"),
    Tool("whoami", system.identity, folder="/usr/bin"),
    Tool("date", system.date),
    Tool("env", system.env, folder="/usr/bin"),
    Tool("printenv", system.env, folder="/usr/bin"),
    Tool("uname", system.uname),
    Tool("ps", system.ps, (BUSYBOX,)),
    Tool("df", mounts.df),
    Tool("mount", mounts.mount),
    Tool("free", system.free, (BUSYBOX,)),
    Tool("uptime", system.uptime),
    Tool("kill", builtins.BUILTINS["kill"]),
    Tool("which", system.which, folder="/usr/bin"),
    Tool("chroot", system.chroot, folder="/usr/sbin"),
    Tool("timeout", system.timeout, folder="/usr/bin"),
    Tool("xargs", system.xargs, folder="/usr/bin"),
    Tool("basename", system.basename, folder="/usr/bin"),
    Tool("dirname", system.basename, folder="/usr/bin"),
    Tool("stty", system.nothing),
    Tool("clear", system.nothing, folder="/usr/bin"),
    Tool("tput", system.tput, (DEBIAN,), "/usr/bin"),
    Tool("sync", system.nothing),
    Tool("vi", system.unavailable, (BUSYBOX,)),
    Tool("wget", networking.wget, (BUSYBOX,)),
    Tool("nslookup", networking.nslookup, (BUSYBOX,)),
    Tool("nc", netcat.nc, (BUSYBOX,)),
    Tool("ping", networking.ping, (BUSYBOX,)),
    Tool("getent", networking.getent, (DEBIAN,), "/usr/bin"),
    Tool("curl", networking.curl, ("curl",), "/usr/bin"),
    Tool("nginx", _nginx, ("nginx",), "/usr/sbin"),
    Tool("redis-cli", _redis, ("redis",), "/usr/local/bin"),
    Tool("pg_isready", _pg_isready, ("postgres",), "/usr/bin"),
)

_FOLDERS = ("", "/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin")


def by_set(tools: tuple[Tool, ...]) -> dict[str, dict[str, Tool]]:
    """set -> command -> tool"""
    out: dict[str, dict[str, Tool]] = {}
    for tool in tools:
        for name in tool.sets:
            out.setdefault(name, {})[tool.name] = tool
    return out


def find(
    sets: Mapping[str, Mapping[str, Tool]], userland: str, extra: tuple[str, ...], name: str
) -> Tool | None:
    """The command as an image has it, by its name or its path."""
    folder, _, last = name.rpartition("/")
    if folder not in _FOLDERS or (not folder and "/" in name):
        return None
    for tools in (userland or DEBIAN, *extra):
        tool = sets.get(tools, {}).get(last)
        if tool is not None:
            return tool
    return None
