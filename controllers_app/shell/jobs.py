"""Commands that run beside each other: pipelines, and jobs in the background.

Models busybox shell/ash.c (forkshell, waitforjob) and POSIX.1-2017, Shell Command Language 2.9.2
and 2.11.
"""

from __future__ import annotations

import contextlib
from typing import Protocol

import msgspec

from apiserver_app.machinery.task import Cancelled, Task
from controllers_app.shell import syntax
from controllers_app.shell.exits import (
    KILLED,
    NUMBERS,
    Break,
    Exit,
    Interrupted,
    OutputFull,
    TimedOut,
)
from controllers_app.shell.machine import Machine
from controllers_app.shell.streams import Io, Pipe, Runner, Taken

ENDED_MAX = 64  # jobs whose ends nobody has waited for
SIGPIPE, SIGSEGV = KILLED + NUMBERS["PIPE"], KILLED + NUMBERS["SEGV"]


class Shell(Protocol):
    """What is asked of the shell whose commands are run beside each other."""

    machine: Machine
    runner: Runner
    jobs: list[Job]
    last_job: int

    def child(self) -> Shell:
        """A subshell: what it changes stays its own."""
        ...

    def end_jobs(self) -> None: ...

    async def run(self, command: syntax.Command, io: Io) -> int: ...


class Job:
    """A command in the background."""

    def __init__(self, shell: Shell, pid: int, text: str) -> None:
        self.pid = pid
        self.text = text
        self.code: int | None = None
        self.task: Task | None = None
        self._shell = shell

    def kill(self, signal: str = "TERM") -> None:
        if self.code is None and self.task is not None:
            kernel = self._shell.runner.kernel
            self.ended(KILLED + NUMBERS.get(signal, 15))
            kernel.cancel(self.task)

    def ended(self, code: int) -> None:
        if self.code is None:
            self.code = code
            shell = self._shell
            del self._shell  # which keeps its jobs: they would not be free without the other
            shell.machine.left(self)
            shell.runner.poke()


async def pipe(shell: Shell, items: list[syntax.Command], io: Io) -> int:
    """All commands at once, each in a shell of its own; the exit code is the last one's."""
    kernel = shell.runner.kernel
    children = [shell.child() for _ in items]
    runners: list[Runner] = []
    tasks: list[Task] = []
    before = shell.runner.full
    try:
        runners += (shell.runner.child() for _ in items[:-1])
        runners.append(shell.runner)
        pipes = [Pipe(runners[n], runners[n + 1]) for n in range(len(items) - 1)]
        for n, command in enumerate(items[:-1]):
            children[n].runner = runners[n]
            stdin = pipes[n - 1] if n else None
            own = Io(stdin or io.stdin, pipes[n].put, io.err)
            work = _stage(shell, children[n], command, own, stdin, pipes[n])
            tasks.append(kernel.branch(f"{shell.machine.lane} pipe", work))
        code = await _code(children[-1], items[-1], msgspec.structs.replace(io, stdin=pipes[-1]))
        pipes[-1].leave()
        for task in tasks:
            task.on_done.append(lambda _task: shell.runner.poke())
        await shell.runner.ready(lambda: all(task.done for task in tasks))
        shell.runner.now = max(runner.now for runner in runners)
        return code
    finally:
        for task in tasks:
            kernel.cancel(task)
        for runner in runners:
            if runner is not shell.runner:
                shell.runner.leave(runner)
        shell.runner.full = before


async def _stage(
    shell: Shell, child: Shell, command: syntax.Command, io: Io, stdin: Pipe | None, out: Pipe
) -> None:
    """One command of a pipeline that is not its last."""
    try:
        await _code(child, command, io)
    except Interrupted:
        shell.runner.interrupt()
    except TimedOut:
        pass  # the whole pipeline's time is over, which its last command finds out as well
    finally:
        out.close()
        if stdin is not None:
            stdin.leave()


async def _code(child: Shell, command: syntax.Command, io: Io) -> int:
    try:
        return await child.run(command, io)
    except Exit as error:
        return error.code
    except OutputFull:
        return SIGPIPE
    except Break:
        return 0
    except RecursionError:
        return SIGSEGV


def spawn(shell: Shell, command: syntax.Command, io: Io) -> Job:
    """Run it beside what follows."""
    child = shell.child()
    kernel = shell.runner.kernel
    child.runner = shell.runner.fork(lambda: False)
    job = Job(shell, shell.machine.new_pid(), text_of(command))

    async def run() -> None:
        code = KILLED
        try:
            with contextlib.suppress(Interrupted, TimedOut):
                code = await _code(child, command, msgspec.structs.replace(io, stdin=Taken()))
                child.end_jobs()
        except Cancelled:
            child.end_jobs()
            raise
        finally:
            job.ended(code)

    job.task = kernel.branch(f"{shell.machine.lane} job", run())
    job.task.on_done.append(lambda _task: child.runner.exit())
    ended = [job for job in shell.jobs if job.code is not None]
    for old in ended[:-ENDED_MAX]:
        shell.jobs.remove(old)
    shell.jobs.append(job)
    shell.last_job = job.pid
    shell.machine.entered(job)
    return job


def find(shell: Shell, text: str) -> Job | None:
    """The job that %1, %% or a process id names."""
    if text in ("%", "%%", "%+"):
        return shell.jobs[-1] if shell.jobs else None
    if text.startswith("%") and text[1:].isdigit():
        place = int(text[1:6])
        return shell.jobs[place - 1] if 0 < place <= len(shell.jobs) else None
    return next((job for job in shell.jobs if str(job.pid) == text), None)


def line(shell: Shell, job: Job) -> str:
    """A line of `jobs`."""
    place = shell.jobs.index(job) + 1
    state = "Running" if job.code is None else "Done" if not job.code else f"Done({job.code})"
    if job.code in (KILLED + 15, KILLED + 9):
        state = "Terminated" if job.code == KILLED + 15 else "Killed"
    mark = "+" if job is shell.jobs[-1] else "-" if job in shell.jobs[-2:] else " "
    return f"[{place}]{mark}  {state:<24}{job.text}"


def text_of(command: syntax.Command) -> str:
    """The command as it was written, as far as that is kept."""
    if isinstance(command, syntax.Simple):
        words = ("".join(part.text for part in word) for word in command.words)
        return " ".join(words)[:200]
    if command.kind == "pipe":
        return " | ".join(text_of(item) for item in command.items)[:200]
    if command.kind in ("list", "andor") and len(command.items) == 1:
        item = command.items[0][0 if command.kind == "list" else 1]
        return text_of(item)
    return {"subshell": "(...)", "group": "{ ... }"}.get(command.kind, f"{command.kind} ...")
