"""A worker that hangs is told from one that is slow, ended, and replaced."""

from __future__ import annotations

import json
import os
import resource
import signal
import socket
from pathlib import Path
from typing import Any

import pytest

from apiserver_app.machinery.kernel import QUARANTINED
from lifecycle.hosting import board, quarantine, watchdog
from lifecycle.hosting.watchdog import Process, Watch
from tests.conformance.api import Api
from tests.lifecycle.hosting.running import REAL, Demo
from tests.suite import waiting

PLANTED = "tests.lifecycle.hosting.planted:build_driver"
DEFAULT = "/api/v1/namespaces/default"
SPIN = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "spin"},
    "spec": {"containers": [{"name": "c", "image": "busybox", "command": ["cat", "/spin"]}]},
}


def judged(seconds: float, process: Process, phase: int, *, debugged: bool = False) -> str:
    """What is said, after so long, of a worker that answered at 0 seconds."""
    watch = Watch(0.0, Process("R", 0.0, False))
    watch.answered(0.0, Process("R", 0.0, False), debugged=debugged)
    for number in range(int(seconds)):
        watch.judge(number, Process("D", 0.0, False), phase)
    return watch.judge(seconds, process, phase)


@pytest.mark.parametrize(
    ("process", "phase", "seconds"),
    [
        (Process("R", 2.9, False), board.STEP, 3.0),
        (Process("S", 0.0, False), board.STEP, 3.0),  # waits for what never comes
        (Process("T", 0.0, False), board.IDLE, 3.0),
        (Process("R", 0.1, False), board.STEP, 60.0),
        (Process("D", 0.1, False), board.COMMIT, 60.0),
        (Process("", 0.0, False), board.STEP, 60.0),  # a system that says nothing
    ],
)
def test_what_hangs_is_ended(process: Process, phase: int, seconds: float) -> None:
    assert not judged(seconds - 0.5, process, phase)
    assert judged(seconds, process, phase)


@pytest.mark.parametrize(
    ("process", "phase"),
    [
        (Process("R", 0.8, False), board.STEP),  # others have the processor
        (Process("D", 0.2, False), board.STEP),  # a slow disk
        (Process("S", 0.2, False), board.COMMIT),
        (Process("R", 4.0, False), board.COMMIT),
        (Process("t", 0.0, True), board.STEP),  # a debugger has stopped it
        (Process("S", 0.0, True), board.STEP),
    ],
)
def test_what_is_slow_is_left_alone(process: Process, phase: int) -> None:
    assert not judged(10.0, process, phase)
    assert not judged(50.0, process, phase)


def test_what_a_debugger_holds_inside_is_left_alone() -> None:
    assert not judged(50.0, Process("S", 0.0, False), board.STEP, debugged=True)


def test_a_machine_that_slept_is_no_reason() -> None:
    watch = Watch(0.0, Process("S", 0.0, False))
    watch.answered(0.0, Process("S", 0.0, False), debugged=False)
    assert not watch.judge(0.5, Process("S", 0.0, False), board.IDLE)
    assert not watch.judge(3600.0, Process("S", 0.0, False), board.IDLE)
    assert not watch.judge(3600.5, Process("S", 0.0, False), board.IDLE)


def test_a_worker_that_starts_has_longer() -> None:
    watch = Watch(0.0, Process("R", 0.0, False))
    said = [watch.judge(now, Process("R", float(now), False), board.IDLE) for now in range(610)]
    assert [bool(one) for one in said].index(True) == watchdog.START_SECONDS


def test_what_stopped_a_worker_is_noted_and_bounded(tmp_path: Path) -> None:
    assert quarantine.read(tmp_path) == {}
    assert quarantine.note(tmp_path, "container demo 1a in a/c", "File x\n") == 1
    assert quarantine.note(tmp_path, "container demo 1a in b/c", "File y\n") == 2
    noted = quarantine.read(tmp_path)
    entry = {"times": 2, "last": "container demo 1a in b/c", "stacks": ["File y"]}
    assert noted == {"container demo 1a": entry}
    assert (tmp_path / quarantine.FILE).stat().st_mode & 0o077 == 0
    for number in range(quarantine.ENTRIES_MAX + 5):
        quarantine.note(tmp_path, f"request GET /{number} 0", "")
    assert len(quarantine.read(tmp_path)) == quarantine.ENTRIES_MAX
    (tmp_path / quarantine.FILE).write_text("{")
    assert quarantine.read(tmp_path) == {}


def serves(api: Api) -> None:
    """Waits until it answers with success; what is refused meanwhile is refused as it should be."""

    def served() -> bool:
        answer = api.get(DEFAULT)
        refused = answer.code == 503 and answer.json["reason"] == "ServiceUnavailable"
        assert answer.code == 200 or refused, answer
        return answer.code == 200

    waiting.until(served, what="another worker serves")


def events(api: Api) -> dict[str, Any]:
    path = f"{DEFAULT}/events?fieldSelector=involvedObject.name%3Dspin"
    return {event["message"]: event for event in api.get(path).json["items"]}


@pytest.mark.long(
    "a request that hangs in C is ended and noted; test_quarantine runs nothing noted"
)
def test_a_container_that_hangs_the_worker_is_quarantined_after_the_second_time(
    tmp_path: Path,
) -> None:
    with Demo(tmp_path, driver=PLANTED) as demo:
        api = Api(demo, tmp_path)
        assert api.post(f"{DEFAULT}/pods", SPIN).code == 201
        first, second = demo.error_line(), demo.error_line()
        serves(api)
        what = "container default "
        assert "did not answer for" in first and f"while it ran {what}" in first
        assert f"while it ran {what}" in second and "which is not run again" in second
        waiting.until(
            lambda: events(api),
            what="an event tells of the quarantine",
            true=lambda told: any(QUARANTINED in message for message in told),
        )
        (key, entry), *others = quarantine.read(tmp_path).items()
        assert not others and entry["times"] == 2 and key.startswith(what)
        assert entry["last"].endswith(" in spin/c")
        assert any("spinning_command" in line for line in entry["stacks"])


def test_a_request_that_hangs_the_worker_in_c_is_answered_and_noted(tmp_path: Path) -> None:
    with Demo(tmp_path, driver=PLANTED) as demo:
        api = Api(demo, tmp_path)
        answer = api.get(f"{DEFAULT}/configmaps/spin")
        assert answer.code == 503 and dict(answer.headers)["Retry-After"] == "1"
        assert answer.json["kind"] == "Status"
        serves(api)
        assert "while it ran request GET /api/v1/namespaces/default/conf" in demo.error_line()
        (entry,) = quarantine.read(tmp_path).values()
        assert any("spinning_serve" in line for line in entry["stacks"])


def test_a_stopped_worker_is_replaced_and_nothing_is_blamed(tmp_path: Path) -> None:
    with Demo(tmp_path, driver=REAL) as demo:
        api = Api(demo, tmp_path)
        os.kill(demo.endpoints["worker_pid"], signal.SIGSTOP)
        serves(api)
        assert "was stopped; a new one starts" in demo.error_line()
        assert quarantine.read(tmp_path) == {}


def test_a_worker_is_replaced_when_no_descriptor_is_free(tmp_path: Path) -> None:
    with Demo(tmp_path) as demo:
        folder = Path(f"/proc/{demo.process.pid}/fd")
        most = len(list(folder.iterdir())) + 10
        resource.prlimit(demo.process.pid, resource.RLIMIT_NOFILE, (most, most))
        taken = []
        while len(list(folder.iterdir())) < most:
            taken.append(socket.create_connection(demo.authority))
        os.kill(demo.endpoints["worker_pid"], signal.SIGKILL)
        assert "was killed by signal 9; a new one starts" in demo.error_line()
        waiting.until(
            lambda: worker_of(demo),
            what="another worker is told",
            true=lambda pid: pid != demo.endpoints["worker_pid"],
        )
        for one in taken:
            one.close()
        assert demo.get("/api").status == 200


def worker_of(demo: Demo) -> int:
    return int(json.loads((demo.data_dir / "endpoints.json").read_text())["worker_pid"])
