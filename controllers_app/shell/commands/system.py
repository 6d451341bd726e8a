"""Commands about the container and its processes: hostname, ps, env, date, sleep, kill.

Models busybox procps and coreutils; figures of use are modelled, nothing is measured.
"""

from __future__ import annotations

import re

from apiserver_app.machinery.kernel import SECOND
from controllers_app.shell import terminal, timeformat
from controllers_app.shell.commands import filters
from controllers_app.shell.commands.options import options
from controllers_app.shell.exits import KILLED, NUMBERS, CommandError, Exit, TimedOut, signal_name
from controllers_app.shell.expansion import WORDS_BYTES_MAX
from controllers_app.shell.interpreter import Call

XARGS_MAX = 4096  # words of the input
_WORD = re.compile(r"""\s*((?:[^\s'"\\]+|\\.|'[^']*'|"[^"]*")+)""", re.DOTALL)
_QUOTED = re.compile(r"""\\(.)|'([^']*)'|"([^"]*)\"""", re.DOTALL)
_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "": 1.0}


async def true(_call: Call) -> int:
    return 0


async def false(_call: Call) -> int:
    return 1


async def sleep(call: Call) -> int:
    total = 0.0
    for word in call.args:
        match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?|\.\d{1,6})([smhd]?)", word)
        if word in ("infinity", "inf"):
            total = 1e9
        elif match is None:
            call.err(
                f"invalid number '{word}'"
                if call.machine.is_busybox
                else f"invalid time interval '{word}'"
            )
            return 1
        else:
            total += float(match[1]) * _UNITS[match[2]]
    if not call.args:
        call.err("missing operand")
        return 1
    await call.runner.sleep(total)
    return 0


async def hostname(call: Call) -> int:
    call.out((call.machine.address if "-i" in call.args else call.machine.hostname) + "\n")
    return 0


async def identity(call: Call) -> int:
    """id and whoami."""
    uid = call.machine.uid
    name = "root" if uid == 0 else str(uid)
    if call.name == "whoami":
        if uid:
            call.err(f"unknown uid {uid}")
            return 1
        call.out("root\n")
    elif "-u" in call.args:
        call.out(f"{name if '-n' in call.args else uid}\n")
    else:
        called = "(root)" if uid == 0 else ""
        groups = "" if uid else ",10(wheel)" * call.machine.is_busybox
        call.out(f"uid={uid}{called} gid={uid and 0}(root) groups=0(root){groups}\n")
    return 0


async def date(call: Call) -> int:
    at, form, rest = call.runner.now, "", list(call.args)
    while rest:
        word = rest.pop(0)
        name, equals, text = word.partition("=")
        if word.startswith("+"):
            form = word[1:201]
        elif word == "-d" or name == "--date":
            given = text if equals else rest.pop(0) if rest else ""
            moment = timeformat.parsed(given, at)
            if moment is None:
                call.err(f"invalid date '{given}'")
                return 1
            at = moment
        elif word.startswith("-I"):
            form = "%Y-%m-%dT%H:%M:%S+00:00" if word == "-Iseconds" else "%Y-%m-%d"
        elif word in ("-R", "--rfc-email"):
            form = "%a, %d %b %Y %H:%M:%S +0000"
        elif not word.startswith("-"):
            call.err(f"invalid date '{word}'")
            return 1
    call.out((timeformat.of(at, form) if form else timeformat.date(at)) + "\n")
    return 0


async def env(call: Call) -> int:
    """env and printenv."""
    args = list(call.args)
    if call.name == "printenv" and args:
        values = [call.shell.environment().get(argument) for argument in args]
        for value in values:
            if value is not None:
                call.out(value + "\n")
        return int(None in values)
    shell = call.shell.child()
    while args and (args[0] == "-i" or "=" in args[0]):
        word = args.pop(0)
        if word == "-i":
            shell.exported.clear()
        else:
            name, _, text = word.partition("=")
            shell.variables[name] = text
            shell.exported.add(name)
    if args:
        return await shell.call(args, call.io)
    for name, text in shell.environment().items():
        call.out(f"{name}={text}\n")
    return 0


async def uname(call: Call) -> int:
    flags, _ = options(call, "asnrvmpo")
    if "a" in flags:
        call.out(f"Linux {call.machine.hostname} 6.1.0-simulated #1 SMP x86_64 GNU/Linux\n")
    else:
        words = {
            "s": "Linux",
            "n": call.machine.hostname,
            "r": "6.1.0-simulated",
            "v": "#1 SMP",
            "m": "x86_64",
            "p": "x86_64",
            "o": "GNU/Linux",
        }
        shown = [words[flag] for flag in "snrvmpo" if flag in flags] or ["Linux"]
        call.out(" ".join(shown) + "\n")
    return 0


async def ps(call: Call) -> int:
    rows = call.machine.processes()
    if call.machine.is_busybox:
        call.out("PID   USER     TIME  COMMAND\n")
        for pid, command in rows:
            call.out(f"{pid:5d} root      0:00 {command}\n")
    elif call.args:
        call.out("UID          PID    PPID  C STIME TTY          TIME CMD\n")
        for pid, command in rows:
            call.out(f"root     {pid:7d}       0  0 00:00 ?        00:00:00 {command}\n")
    else:
        call.out("    PID TTY          TIME CMD\n")
        for pid, command in rows:
            call.out(f"{pid:7d} ?        00:00:00 {command.split(' ')[0]}\n")
    return 0


async def free(call: Call) -> int:
    total, used = 8388608, 1204832
    call.out("              total        used        free      shared  buff/cache   available\n")
    rest = total - used
    call.out(
        f"Mem:    {total:11d} {used:11d} {rest // 2:11d}        1024 {rest // 2:11d} {rest:11d}\n"
    )
    call.out("Swap:             0           0           0\n")
    return 0


async def uptime(call: Call) -> int:
    seconds = max(0, call.runner.now - call.machine.since) // SECOND
    clock = timeformat.of(call.runner.now, "%H:%M:%S")
    call.out(
        f" {clock} up {seconds // 3600:2d}:{seconds // 60 % 60:02d},  0 users,  "
        "load average: 0.04, 0.03, 0.00\n"
    )
    return 0


async def which(call: Call) -> int:
    paths = [call.machine.where(argument) for argument in call.args if not argument.startswith("-")]
    for path in paths:
        if path is not None:
            call.out(path + "\n")
    return int(None in paths)


async def shell(call: Call) -> int:
    """sh and bash: a text, a script, the standard input, or a terminal."""
    args = list(call.args)
    child = call.shell.child()
    child.name = "bash" if call.name == "bash" else "sh"
    text: str | None = None
    while args and args[0].startswith("-") and args[0] != "-":
        word = args.pop(0)
        child.options.update(set(word[1:]) & set("eux"))
        if "c" in word and not word.startswith("--"):
            if not args:
                raise CommandError(f"{call.name}: -c requires an argument")
            text = args.pop(0)
            break
    if text is None and args and args[0] != "-":
        path = args.pop(0)
        text = call.machine.read(call.path(path)).decode("utf-8", "surrogateescape")
        child.name = path
    elif text is not None and args:
        child.name = args.pop(0)
    child.args = args
    if text is not None:
        child.tty = False
        return await child.run_script(text, call.io)
    return await terminal.interact(child, call.io)


async def chroot(call: Call) -> int:
    """Run a command, by itself a shell, with another folder as its root."""
    if not call.args:
        raise CommandError("chroot: missing operand", 125)
    folder = call.machine.files.folder(call.path(call.args[0]))
    child = call.shell.child()
    child.machine, child.cwd = call.machine.rooted(folder), "/"
    return await child.call(call.args[1:] or ["bash"], call.io)


async def timeout(call: Call) -> int:
    """Run a command for so long; 124, of busybox 143, when it took longer."""
    args, signal = list(call.args), "TERM"
    seconds = None
    while args and args[0].startswith("-"):
        word = args.pop(0)
        if word in ("-s", "-k") and args:
            value = args.pop(0)
            signal = signal_name(value) if word == "-s" else signal
        elif word == "-t" and args:  # as busybox had it once
            seconds = args.pop(0)
    if seconds is None and args:
        seconds = args.pop(0)
    match = re.fullmatch(r"(\d{1,9}(?:\.\d{1,6})?)([smhd]?)", seconds or "")
    if not args or match is None:
        why = "missing operand" if match else f"invalid time interval '{seconds or ''}'"
        raise CommandError(f"timeout: {why}", 1 if call.machine.is_busybox else 125)
    runner, before = call.runner, call.runner.deadline
    due = runner.now + int(float(match[1]) * _UNITS[match[2]] * SECOND)
    if float(match[1]):
        runner.deadline = due if before is None else min(due, before)
    try:
        code = await call.shell.child().call(args, call.io)
    except TimedOut:
        if before is not None and before <= due:
            raise
        code = KILLED + NUMBERS.get(signal, 15)
        code = code if call.machine.is_busybox or signal == "KILL" else 124
    except Exit as error:
        code = error.code
    finally:
        runner.deadline = before
    return code


async def xargs(call: Call) -> int:
    """xargs [-0rt] [-n N] [-L N] [-I MARK] [COMMAND [ARG]...]"""
    flags, args = _leading(call, "0rtpx", "nLIPdsE")
    text = (await filters.whole(call)).decode("utf-8", "surrogateescape")
    mark = flags.get("I", "")
    if "0" in flags:
        words = text.removesuffix("\0").split("\0")
    else:
        by_line = mark or "L" in flags
        words = [line.strip() for line in text.splitlines()] if by_line else _quoted_words(text)
    words = [word for word in words[:XARGS_MAX] if word]
    await call.work(len(words))
    size = flags.get("n") or flags.get("L") or ("1" if mark else str(XARGS_MAX))
    if not size.isdecimal() or not int(size[:9]):
        raise CommandError(f"xargs: invalid number '{size}'", 1)
    groups = [words[at : at + int(size[:9])] for at in range(0, len(words), int(size[:9]))]
    if not groups and not mark and "r" not in flags:
        groups = [[]]
    code = 0
    for group in groups:
        await call.runner.step()
        if mark:
            marks = sum(argument.count(mark) for argument in args)
            if marks * len(group[0]) > WORDS_BYTES_MAX:
                raise CommandError("xargs: argument list too long", 1)
            line = [argument.replace(mark, group[0]) for argument in args or ["echo"]]
        else:
            line = [
                *(args or ["echo"]),
                *(part for process in group for part in _parts(process, flags)),
            ]
        if "t" in flags:
            call.io.err(f"{' '.join(line)}\n".encode("utf-8", "surrogateescape"))
        ended = await call.shell.child().call(line, call.io)
        code = 123 if ended and ended < 125 else ended or code
    return code


def _leading(call: Call, accepted: str, valued: str) -> tuple[dict[str, str], list[str]]:
    """Options up to the first word that is not one: what follows belongs to another command."""
    args = list(call.args)
    end = 0
    while end < len(args) and args[end].startswith("-") and len(args[end]) > 1:
        end += 2 if args[end][-1] in valued and len(args[end]) == 2 else 1
    return options(call, accepted, valued, args[:end])[0], args[end:]


def _quoted_words(text: str) -> list[str]:
    out: list[str] = []
    at = 0
    while len(out) < XARGS_MAX and (match := _WORD.match(text, at)) is not None:
        out.append(_QUOTED.sub(lambda part: part[1] or part[2] or part[3] or "", match[1]))
        at = match.end()
    if len(out) < XARGS_MAX and text[at:].strip():
        raise CommandError("xargs: unmatched quote", 1)
    return out


def _parts(word: str, flags: dict[str, str]) -> list[str]:
    return word.split() if "L" in flags else [word]


async def nothing(call: Call) -> int:
    """stty, clear, sync: they succeed and change nothing that could be seen."""
    if call.name == "clear":
        call.out("\033[H\033[J")
    if call.name == "stty" and "size" in call.args:
        columns, rows = call.machine.size
        call.out(f"{rows} {columns}\n")
    return 0


async def tput(call: Call) -> int:
    columns, rows = call.machine.size
    known = {"cols": f"{columns}\n", "lines": f"{rows}\n", "clear": "\033[H\033[J"}
    call.out(known.get(call.args[0] if call.args else "", ""))
    return 0


async def unavailable(call: Call) -> int:
    call.err("a simulated container has no editor")
    return 1


async def basename(call: Call) -> int:
    if not call.args:
        raise CommandError(f"{call.name}: missing operand", 1)
    path = call.args[0].rstrip("/") or "/"
    head, slash, last = path.rpartition("/")
    if call.name == "dirname":
        call.out((head or ("/" if slash else ".")) + "\n")
    else:
        call.out((last.removesuffix(call.args[1]) if len(call.args) > 1 else last or "/") + "\n")
    return 0
