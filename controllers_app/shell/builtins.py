"""What a shell does itself, because a command of its own could not: variables, folders, flow."""

from __future__ import annotations

from controllers_app.shell import jobs, syntax
from controllers_app.shell.exits import (
    KILLED,
    NUMBERS,
    Break,
    CommandError,
    Exit,
    Return,
    signal_name,
)
from controllers_app.shell.expansion import LETTERS
from controllers_app.shell.filesystem import Folder
from controllers_app.shell.interpreter import Call, Run

BREAKS_MAX = 64


async def _cd(call: Call) -> int:
    shell = call.shell
    target = call.args[0] if call.args else shell.variables.get("HOME", "/")
    if target == "-":
        target = shell.variables.get("OLDPWD", shell.cwd)
    path = call.path(target)
    if not isinstance(call.machine.files.find(path), Folder):
        why = (
            "can't cd to " + target
            if call.machine.is_busybox
            else f"{target}: No such file or directory"
        )
        call.io.err(shell.words(f"cd: {why}"))
        return 1 if shell.name == "bash" else 2
    shell.variables["OLDPWD"], shell.cwd = shell.cwd, path
    shell.variables["PWD"] = path
    return 0


async def _pwd(call: Call) -> int:
    call.out(call.shell.cwd + "\n")
    return 0


async def _export(call: Call) -> int:
    shell = call.shell
    for word in call.args:
        name, equals, text = word.partition("=")
        if name == "-p":
            continue
        if not name.isidentifier():
            raise CommandError(f"export: {name}: bad variable name")
        if equals:
            shell.assign(name, text)
        shell.exported.add(name)
    if not call.args or call.args == ["-p"]:
        for name, text in sorted(shell.environment().items()):
            await call.write(f"export {name}='{text}'\n".encode("utf-8", "surrogateescape"))
    return 0


async def _unset(call: Call) -> int:
    for name in call.args:
        call.shell.variables.pop(name, None)
        call.shell.functions.pop(name, None)
        call.shell.exported.discard(name)
    return 0


async def _set(call: Call) -> int:
    shell, args = call.shell, list(call.args)
    if not args:
        for name, text in sorted(shell.variables.items()):
            await call.write(f"{name}='{text}'\n".encode("utf-8", "surrogateescape"))
    while args:
        word = args.pop(0)
        if word == "--":
            shell.args = args
            return 0
        if word[:1] not in ("-", "+") or len(word) < 2:
            shell.args = [word, *args]
            return 0
        switches = word[1:]
        if switches.endswith("o") and args:
            switches = switches[:-1] + _OPTIONS.get(args.pop(0), "")
        change = shell.options.update if word[0] == "-" else shell.options.difference_update
        change(set(switches))
    return 0


_OPTIONS = {"errexit": "e", "nounset": "u", "xtrace": "x", "noglob": "f", "noclobber": "C"}


async def _shift(call: Call) -> int:
    count = _number(call, 1)
    if count > len(call.shell.args):
        raise CommandError("shift: can't shift that many", 1)
    del call.shell.args[:count]
    return 0


async def _exit(call: Call) -> int:
    raise Exit(_number(call, call.shell.code) & 255)


async def _return(call: Call) -> int:
    raise Return(_number(call, call.shell.code) & 255)


async def _break(call: Call) -> int:
    raise Break(max(1, min(_number(call, 1), BREAKS_MAX)), again=call.name == "continue")


async def _eval(call: Call) -> int:
    return await _nested(call, " ".join(call.args))


async def _nested(call: Call, text: str) -> int:
    """Run a text in the shell itself."""
    shell = call.shell
    if shell.depth >= syntax.DEPTH_MAX:
        raise CommandError("maximum nesting level exceeded")
    shell.depth += 1
    try:
        return await shell.run_text(text, call.io)
    finally:
        shell.depth -= 1


async def _source(call: Call) -> int:
    if not call.args:
        raise CommandError(".: filename argument required")
    data = call.machine.read(call.path(call.args[0]))
    return await _nested(call, data.decode("utf-8", "surrogateescape"))


async def _exec(call: Call) -> int:
    if not call.args:
        return 0
    raise Exit(await call.shell.call(call.args, call.io))


async def _read(call: Call) -> int:
    names = [argument for argument in call.args if not argument.startswith("-")] or ["REPLY"]
    if "-p" in call.args and names:
        call.out(names.pop(0))
        names = names or ["REPLY"]
    line = await call.io.stdin.line()
    if not line:
        return 1
    await call.work(len(line) // LETTERS)
    words = line.decode("utf-8", "surrogateescape").strip().split(None, len(names) - 1)
    for place, name in enumerate(names):
        call.shell.assign(name, words[place] if place < len(words) else "")
    return 0


async def _trap(call: Call) -> int:
    shell, args = call.shell, [argument for argument in call.args if argument != "--"]
    if not args:
        for name, text in sorted(shell.traps.items()):
            call.out(f"trap -- '{text}' {name}\n")
        return 0
    reset = args[0] == "-" or len(args) == 1
    for word in args if len(args) == 1 else args[1:]:
        name = "EXIT" if word in ("0", "EXIT", "exit") else signal_name(word)
        if not name:
            raise CommandError(f"trap: {word}: invalid signal specification", 1)
        if reset:
            shell.traps.pop(name, None)
            shell.all_traps.discard(name)
        else:
            shell.traps[name] = args[0]
            shell.all_traps.add(name)
    return 0


async def _wait(call: Call) -> int:
    """Until the jobs have ended; a signal with a trap ends the waiting, and the trap runs."""
    shell, code = call.shell, 0
    wanted = list(shell.jobs)
    if call.args:
        named = [jobs.find(shell, argument) for argument in call.args]
        if None in named:
            return 127
        wanted = [name for name in named if name is not None]
    runner = call.runner
    await runner.until(lambda: all(job.code is not None for job in wanted) or bool(runner.signals))
    if runner.signals:
        return KILLED + NUMBERS[runner.signals[0]]
    if call.args and wanted:
        code = wanted[-1].code or 0
    for job in wanted:
        if job in shell.jobs:
            shell.jobs.remove(job)
    return code


async def _jobs(call: Call) -> int:
    for job in list(call.shell.jobs):
        call.out(jobs.line(call.shell, job) + "\n")
    call.shell.jobs[:] = [job for job in call.shell.jobs if job.code is None]
    return 0


async def _foreground(call: Call) -> int:
    """fg: wait for it here."""
    job = jobs.find(call.shell, call.args[0] if call.args else "%%")
    if job is None:
        raise CommandError(f"fg: {call.args[0] if call.args else 'current'}: no such job", 1)
    call.out(f"{job.text}\n")
    await call.runner.until(lambda: job.code is not None)
    call.shell.jobs.remove(job)
    return job.code or 0


async def _kill(call: Call) -> int:
    """Signals to jobs and processes."""
    words, signal = list(call.args), "TERM"
    if words[:1] == ["-l"]:
        call.out(" ".join(NUMBERS) + "\n")
        return 0
    if words and words[0].startswith("-") and words[0] != "--":
        name = words.pop(0)[1:]
        name = words.pop(0) if name in ("s", "n") and words else name
        signal = signal_name(name)
        if not signal:
            raise CommandError(f"{call.name}: invalid signal '{name}'", 1)
    if not words:
        raise CommandError(f"{call.name}: usage: kill [-s sigspec | -signum] pid | %job", 2)
    code = 0
    for word in words:
        job = jobs.find(call.shell, word)
        if job is not None and job.code is None:
            if signal != "0":
                job.kill(signal)
        elif not (word.isdigit() and call.machine.signalled(int(word[:9]), signal)):
            why = f"can't kill pid {word}" if call.machine.is_busybox else f"({word})"
            mark = " -" if not call.machine.is_busybox else ":"
            call.err(f"{why}{mark} No such process")
            code = 1
    return code


async def _type(call: Call) -> int:
    """type, and command with -v."""
    args = list(call.args)
    quiet = call.name == "command"
    if quiet and not (args and args[0] in ("-v", "-V")):
        return await call.shell.call(args, call.io) if args else 0
    code = 0
    for name in args[1:] if quiet else args:
        if call.machine.builtin(name) is not None or name in call.shell.functions:
            call.out(f"{name}\n" if quiet else f"{name} is a shell builtin\n")
        elif (path := call.machine.where(name)) is not None:
            call.out(f"{path}\n" if quiet else f"{name} is {path}\n")
        else:
            code = 127 if quiet else 1
            if not quiet:
                call.out(f"{name}: not found\n")
    return code


async def _test(call: Call) -> int:
    args = list(call.args)
    if call.name in ("[", "[["):
        end = "]" if call.name == "[" else "]]"
        if not args or args.pop() != end:
            raise CommandError(f"{call.name}: missing {end}")
    try:
        return int(not _Test(call, args).value())
    except (ValueError, IndexError):
        word = next((argument for argument in args if not argument.lstrip("-").isdigit()), "")
        raise CommandError(
            f"{call.name}: {word}: bad number" if word else "test: syntax error"
        ) from None


class _Test:
    """The expression of test(1)."""

    def __init__(self, call: Call, args: list[str]) -> None:
        self._call = call
        self._args = args[:256]
        self._at = 0
        self._depth = 0

    def value(self) -> bool:
        if not self._args:
            return False
        if len(self._args) == 1:
            return self._args[0] != ""
        result = self._or()
        if self._at < len(self._args):
            raise ValueError
        return result

    def _or(self) -> bool:
        result = self._and()
        while self._take("-o", "||"):
            right = self._and()
            result = result or right
        return result

    def _and(self) -> bool:
        result = self._not()
        while self._take("-a", "&&"):
            right = self._not()
            result = result and right
        return result

    def _not(self) -> bool:
        negated = False
        while self._take("!"):
            negated = not negated
        return self._primary() != negated

    def _primary(self) -> bool:
        args = self._args
        op = args[self._at + 1] if self._at + 1 < len(args) else ""
        if self._at + 2 < len(args) and op in _BINARY:
            left, right = args[self._at], args[self._at + 2]
            self._at += 3
            return _compared(op, left, right)
        if args[self._at] == "(" and self._depth < 20:
            self._at += 1
            self._depth += 1
            result = self._or()
            if not self._take(")"):
                raise ValueError
            self._depth -= 1
            return result
        if len(args[self._at]) == 2 and args[self._at][0] == "-" and self._at + 1 < len(args):
            self._at += 2
            return self._unary(args[self._at - 2][1], args[self._at - 1])
        self._at += 1
        return args[self._at - 1] != ""

    def _unary(self, letter: str, text: str) -> bool:
        if letter == "z":
            return text == ""
        if letter == "n":
            return text != ""
        if letter == "t":
            return self._call.shell.tty
        file = self._call.machine.look(self._call.path(text))
        if letter in "hL":
            linked = self._call.machine.files.find(self._call.path(text), follow=False)
            return linked is not None and linked is not file
        if file is None:
            return False
        if letter == "d":
            return isinstance(file, Folder)
        if letter == "f":
            return not isinstance(file, Folder)
        if letter == "s":
            return isinstance(file, Folder) or bool(getattr(file, "data", b""))
        if letter == "x":
            return isinstance(file, Folder) or bool(getattr(file, "mode", 0) & 0o111)
        return letter in "erw"

    def _take(self, *words: str) -> bool:
        if self._at < len(self._args) and self._args[self._at] in words:
            self._at += 1
            return True
        return False


_BINARY = {"=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "<", ">"}


def _compared(op: str, left: str, right: str) -> bool:
    if op in ("=", "=="):
        return left == right
    if op == "!=":
        return left != right
    if op in ("<", ">"):
        return left < right if op == "<" else left > right
    first, second = int(left[:24]), int(right[:24])
    return {
        "-eq": first == second,
        "-ne": first != second,
        "-lt": first < second,
        "-le": first <= second,
        "-gt": first > second,
        "-ge": first >= second,
    }[op]


def _number(call: Call, standard: int) -> int:
    if not call.args:
        return standard
    if not call.args[0].isdigit():
        raise CommandError(f"{call.name}: Illegal number: {call.args[0][:40]}")
    return int(call.args[0][:9])


BUILTINS: dict[str, Run] = {
    "cd": _cd, "pwd": _pwd, "export": _export, "readonly": _export, "unset": _unset, "set": _set,
    "shift": _shift, "exit": _exit, "return": _return, "break": _break, "continue": _break,
    "eval": _eval, ".": _source, "source": _source, "exec": _exec, "read": _read, "trap": _trap,
    "wait": _wait, "jobs": _jobs, "fg": _foreground, "kill": _kill, "type": _type,
    "command": _type, "local": _export, "test": _test, "[": _test, "[[": _test,
}  # fmt: skip
