"""What a run costs: processor seconds by kind, counted where each is spent, on every worker.

A process that ended is counted where it is waited for, by its program; what a browser took, where
it is closed; the boots of clusters, where a `Session` opens. Now and then each worker does the
fixed work of `machine`, so that the seconds can be told in those of the reference machine, whatever
else runs here meanwhile: only so can they be held to a budget (`tests/suite/__main__.py`).
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import resource
import statistics
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lifecycle.hosting import scripted
from tests.suite import machine, opened

IN_PROCESS, STARTS, BOOTS = "in process", "starts of pytest", "boots of clusters"
DEMOS, BROWSER, NODE, KUBECTL, OTHERS = "demos", "browser", "node", "kubectl", "other programs"
KINDS = (IN_PROCESS, STARTS, BOOTS, DEMOS, BROWSER, NODE, KUBECTL, OTHERS)
MEASURED_EVERY = 5.0  # seconds between two measurements of the machine

SPENT: defaultdict[str, float] = defaultdict(float)
WORK: list[float] = []  # what the fixed work took, each time
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of <linux/prctl.h>
_ALL = "tests/suite/costs"
_TOLD: list[dict[str, Any]] = []  # by each process of this run


class _Depth:
    """Whether a call that counts is already within another."""

    within = False


def _children_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextlib.contextmanager
def reaping(kind: str) -> Iterator[None]:
    """What ends meanwhile is of that kind."""
    if _Depth.within:
        yield
        return
    _Depth.within, before = True, _children_seconds()
    try:
        yield
    finally:
        _Depth.within = False
        SPENT[kind] += _children_seconds() - before


@contextlib.contextmanager
def adopting(kind: str, program: str) -> Iterator[None]:
    """Processes of a program that outlive who started them become this one's children meanwhile,
    and are waited for at the end: a browser does not wait for those that draw."""
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    prctl(_SUBREAPER, 1, 0, 0, 0)
    try:
        yield
    finally:
        with reaping(kind):
            for pid in _children(program):
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, 0)
        prctl(_SUBREAPER, 0, 0, 0, 0)


def _children(program: str) -> list[int]:
    """Those of this process that run a program, or have ended as such."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            name, _, fields = (folder / "stat").read_text().partition("(")[2].rpartition(")")
            if name.startswith(program) and int(fields.split()[1]) == os.getpid():
                found.append(int(folder.name))
    return found


def _kind_of(arguments: Any) -> str:
    words = [str(word) for word in arguments] if isinstance(arguments, (list, tuple)) else []
    program = os.path.basename(words[0]) if words else ""
    if program.startswith("kubectl"):
        return KUBECTL
    if program == "node":
        return NODE
    return DEMOS if any(word.endswith("manage.py") for word in words) else OTHERS


def _counting_ends(method: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(method)
    def counting(process: Any, *arguments: Any, **options: Any) -> Any:
        with reaping(_kind_of(process.args)):
            return method(process, *arguments, **options)

    return counting


def _counting_boots(boot: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(boot)
    def counting(session: Any, *arguments: Any, **options: Any) -> Any:
        opened.note(opened.CLUSTERS, session)
        began = time.process_time()
        try:
            return boot(session, *arguments, **options)
        finally:
            SPENT[BOOTS] += time.process_time() - began

    return counting


def pytest_configure() -> None:
    for name in ("poll", "wait", "communicate", "__exit__"):
        setattr(subprocess.Popen, name, _counting_ends(getattr(subprocess.Popen, name)))
    for name in ("__init__", "restart"):
        setattr(scripted.Session, name, _counting_boots(getattr(scripted.Session, name)))


def pytest_collection_finish() -> None:
    SPENT[STARTS] = time.process_time()


class _Last:
    measured = 0.0


def pytest_runtest_teardown() -> None:
    if time.monotonic() - _Last.measured > MEASURED_EVERY:
        WORK.append(machine.work_seconds())
        _Last.measured = time.monotonic()


def _own() -> dict[str, Any]:
    """What this process and those that it started have spent."""
    spent = defaultdict(float, SPENT)
    spent[IN_PROCESS] = time.process_time() - spent[STARTS] - spent[BOOTS]
    return {"spent": dict(spent), "work": list(WORK)}


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput[_ALL] = _own()
        return
    part = _own()
    if _TOLD:  # the other programs of who started workers are the workers
        part["spent"].pop(OTHERS, None)
    _TOLD.append(part)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Takes what a worker of xdist tells at its end."""
    if part := getattr(node, "workeroutput", {}).get(_ALL):
        _TOLD.append(part)


def told() -> tuple[dict[str, float], float]:
    """The seconds of all processes by kind, and how slow the machine was meanwhile."""
    spent: defaultdict[str, float] = defaultdict(float)
    for part in _TOLD:
        for kind, seconds in part["spent"].items():
            spent[kind] += seconds
    work = [seconds for part in _TOLD for seconds in part["work"]]
    slow = statistics.median(work) / machine.REFERENCE_SECONDS if work else machine.slowness()
    return {kind: spent[kind] for kind in KINDS}, slow


def in_words(spent: dict[str, float]) -> str:
    each = ", ".join(f"{kind} {spent[kind]:.0f}" for kind in KINDS if spent.get(kind, 0) >= 0.5)
    return f"{each}; in all {sum(spent.values()):.0f}"
