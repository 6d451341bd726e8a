"""Real kubectl programs of several versions over WebSocket and SPDY; tests play the nodes."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pty
import re
import select
import signal
import struct
import subprocess
import termios
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.conformance import kubectl as kubectls
from tests.conformance.kubectl import PATIENTLY, Kubectl
from tests.lifecycle.hosting.running import WAIT_SECONDS, Demo, Peak
from tests.suite import seeds, waiting

FAKE = "tests.conformance.fakedriver:build_driver"
POD = """
apiVersion: v1
kind: Pod
metadata: {name: %s}
spec:
  containers:
  - {name: main, image: nginx, ports: [{containerPort: 80}]}
"""
# 1.29 and older speak SPDY, 1.30 SPDY to forward, newer ones WebSockets
SPEAKING = (("1.27", "1.29"), ("1.30",), ("1.31", "1.33"))
VERSIONS = [version for group in SPEAKING for version in seeds.draw("streams", group, 1)]


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with Demo(tmp_path_factory.mktemp("played") / "data", "--speed", "max", driver=FAKE) as demo:
        yield demo


@pytest.fixture(scope="module")
def _pod(played: Demo, home: Path) -> None:
    admin = Kubectl(kubectls.newest(), played.data_dir, home)
    admin.until(bool, "get", "nodes", "-o", "name")
    admin("wait", "--for=condition=Ready", "node", "--all", PATIENTLY)
    admin.until_furnished()
    admin("create", "-f", "-", given=POD % "web")
    two = (POD % "two") + "  - {name: gone, image: nginx}\n"
    admin("create", "-f", "-", given=two)
    admin("wait", "--for=condition=Ready", "pod/web", "pod/two", PATIENTLY)


@pytest.fixture(params=VERSIONS)
def kubectl(request: pytest.FixtureRequest, played: Demo, home: Path, _pod: None) -> Kubectl:
    for program in kubectls.programs():
        if program.name == f"kubectl.{request.param}":
            return Kubectl(program, played.data_dir, home)
    pytest.skip(f"there is no kubectl {request.param} here")


def test_exec_prints_on_both_outputs_and_gives_the_exit_code(kubectl: Kubectl) -> None:
    assert kubectl("exec", "web", "--", "echo", "hello") == "hello\n"
    said = kubectl.run("exec", "web", "--", "err", "oh")
    assert (said.out, said.err, said.code) == ("", "oh\n", 0)
    said = kubectl.run("exec", "web", "--", "exit", "7")
    assert said.code == 7 and said.err == "command terminated with exit code 7\n"


def test_exec_with_input_ends_with_its_input(kubectl: Kubectl) -> None:
    text = "".join(f"line {number}\n" for number in range(20_000))
    assert kubectl("exec", "-i", "web", "--", "cat", given=text) == text


def test_attach_with_input(kubectl: Kubectl) -> None:
    said = kubectl.run("attach", "-i", "web", given="typed\n")
    assert (said.code, said.out) == (0, "typed\n"), said


def test_terminal_tells_its_size(kubectl: Kubectl) -> None:
    near, far = pty.openpty()
    fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    child = subprocess.Popen(
        [str(kubectl.program), "exec", "-it", "web", "--", "size"],
        stdin=far,
        stdout=far,
        stderr=far,
        env=kubectl.environment(),
        start_new_session=True,
    )
    seen = _until(near, b"80x24")
    fcntl.ioctl(far, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
    child.send_signal(signal.SIGWINCH)
    seen += _until(near, b"100x30")
    assert child.wait(WAIT_SECONDS) == 0
    os.close(near)
    os.close(far)


def test_huge_output_is_whole(kubectl: Kubectl, played: Demo) -> None:
    peaks = Peak(played.endpoints["pid"]), Peak(played.endpoints["worker_pid"])
    with kubectl.open("exec", "web", "--", "yes", "100") as child:
        assert child.stdout is not None
        size = 0
        while data := os.read(child.stdout.fileno(), 1 << 20):
            size += len(data)
    assert (child.returncode, size) == (0, 100 << 20)
    assert all(peak.growth() < size / 4 for peak in peaks)  # of what went through


def test_refusals_are_upstreams(kubectl: Kubectl) -> None:
    assert kubectl.fails("exec", "none", "--", "x") == (
        'Error from server (NotFound): pods "none" not found'
    )
    words = 'unable to upgrade connection: container not found ("gone")'
    translated = kubectl.program.name > "kubectl.1.29"
    prefix = "error: Internal error occurred: " if translated else "error: "
    assert kubectl.fails("exec", "two", "-c", "gone", "--", "x") == prefix + words
    said = kubectl.fails("exec", "web", "--", "nothere")
    assert said.startswith("error: Internal error occurred: ")
    assert "error executing command in container" in said
    said = kubectl.by("viewer").run("exec", "web", "-n", "default", "--", "echo").err
    assert "cannot" in said and 'resource "pods/exec"' in said


def test_logs(kubectl: Kubectl) -> None:
    assert kubectl("logs", "web") == "one\ntwo\n"
    assert kubectl("logs", "-f", "web") == "one\ntwo\nthree\n"
    said = kubectl.fails("logs", "two", "-c", "gone")
    assert said.endswith('container "gone" in pod "two" is waiting to start: ContainerCreating')


@contextlib.contextmanager
def running(kubectl: Kubectl, *arguments: str) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """A command that listens; the port it says."""
    child = kubectl.open(*arguments)
    try:
        assert child.stdout is not None
        found = re.search(r"127\.0\.0\.1:(\d+)", child.stdout.readline())
        assert found
        yield int(found[1]), child
    finally:
        child.terminate()
        child.wait(WAIT_SECONDS)
        for pipe in (child.stdout, child.stderr):
            assert pipe is not None
            pipe.close()


def fetched(port: int) -> bytes:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=WAIT_SECONDS) as answer:
        return bytes(answer.read())


def test_port_forward(kubectl: Kubectl) -> None:
    with running(kubectl, "port-forward", "pod/web", ":8080") as (port, child):
        for _ in range(20):
            assert fetched(port) == b"hello\n"
        assert child.poll() is None


def test_port_that_refuses_is_reported(kubectl: Kubectl) -> None:
    with running(kubectl, "port-forward", "pod/web", ":81") as (port, child):
        with contextlib.suppress(OSError):
            fetched(port)
        assert child.stderr is not None
        line = child.stderr.readline()
        assert "an error occurred forwarding" in line and "connection refused" in line
        assert line.count("error forwarding port 81 to pod") == 1


def test_proxy(kubectl: Kubectl) -> None:
    path = "/api/v1/namespaces/default/pods/web:80/proxy"
    assert "GET /page" in kubectl("get", "--raw", f"{path}/page")
    with (
        running(kubectl, "proxy", "--port=0") as (port, _),
        urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=WAIT_SECONDS) as answer,
    ):
        assert answer.url.endswith("/proxy/") and b"GET /" in answer.read()


def test_client_that_is_killed_is_noticed(kubectl: Kubectl, played: Demo) -> None:
    told = _Told(played)
    with kubectl.open("exec", "web", "--", "hang") as child:
        told.until("open")
        child.kill()
    assert told.until("end")["why"] == "the client went away"


class _Told:
    """Follows what is told of streams from now on."""

    def __init__(self, demo: Demo) -> None:
        self._demo = demo
        self._next = self._get("")["seq"] + 1

    def until(self, state: str) -> dict[str, Any]:
        """The detail of the next record of that state."""
        told = waiting.until(lambda: self._look(state), what=f"a stream gets to its {state}")
        return dict(told["detail"])

    def _look(self, state: str) -> dict[str, Any]:
        """The next record of that state, if it is there by now."""
        for record in self._get(f"/records?from={self._next}&limit=1000")["records"]:
            self._next = record["seq"] + 1
            if record["kind"] == "stream" and record["state"] == state:
                return dict(record)
        return {}

    def _get(self, path: str) -> dict[str, Any]:
        return dict(json.loads(self._demo.get(f"/viz/v1/clusters/demo{path}").read()))


def test_one_process_carries_streams_too(tmp_path: Path) -> None:
    with Demo(tmp_path / "data", "--single-process", "--speed", "max", driver=FAKE) as demo:
        (tmp_path / "home").mkdir()
        admin = Kubectl(kubectls.newest(), demo.data_dir, tmp_path / "home")
        admin.until(bool, "get", "nodes", "-o", "name")
        admin("wait", "--for=condition=Ready", "node", "--all", PATIENTLY)
        admin.until_furnished()
        admin("create", "-f", "-", given=POD % "web")
        admin("wait", "--for=condition=Ready", "pod/web", PATIENTLY)
        assert admin("exec", "-i", "web", "--", "cat", given="x" * 500_000) == "x" * 500_000
        assert len(admin("exec", "web", "--", "yes", "20")) == 20 << 20
        with running(admin, "port-forward", "pod/web", ":8080") as (port, _):
            assert fetched(port) == b"hello\n"


def _until(terminal: int, wanted: bytes) -> bytes:
    seen = bytearray()

    def read() -> bytearray:
        if select.select([terminal], [], [], 0)[0]:
            seen.extend(os.read(terminal, 4096))
        return seen

    waiting.until(read, what=f"the terminal says {wanted!r}", true=lambda now: wanted in now)
    return bytes(seen)
