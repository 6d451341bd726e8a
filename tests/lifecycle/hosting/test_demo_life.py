"""How a demo starts, ends, and outlives its parts."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
from pathlib import Path

import pytest

from tests.lifecycle.hosting.running import WAIT_SECONDS, Demo, wait_for_end
from tests.suite import waiting


def refused(data_dir: Path, *arguments: str) -> str:
    """Start what cannot start; what it says on stderr."""
    demo = Demo(data_dir, *arguments)
    said = demo.errors()
    assert demo.process.returncode == 1
    assert demo.process.stdout is not None and demo.process.stdout.read() == ""
    demo.__exit__()
    return said


def test_start_says_how_to_use_it_and_the_end_leaves_nothing(tmp_path: Path) -> None:
    data_dir = tmp_path / "new" / "data"
    with Demo(data_dir, "--nodes", "4") as demo:
        ends = demo.endpoints
        assert f"  page        {ends['page']}\n" in demo.said
        assert f"export KUBECONFIG={data_dir}/kubeconfig" in demo.said
        assert f"kill {ends['pid']}" in demo.said and "4 nodes" in demo.said
        assert ends["pid"] == demo.process.pid
        assert ends["https"] in Path(ends["kubeconfig"]).read_text()
        assert stat.S_IMODE(os.stat(ends["kubeconfig"]).st_mode) == 0o600
        worker = ends["worker_pid"]
        demo.process.send_signal(signal.SIGINT)
        assert demo.process.wait(WAIT_SECONDS) == 0
        assert demo.errors() == ""
    assert wait_for_end(worker)
    assert not (data_dir / "endpoints.json").exists()


def test_sigterm_ends_open_streams_cleanly(tmp_path: Path) -> None:
    with Demo(tmp_path) as demo:
        streams = [demo.get("/stream") for _ in range(20)]
        feeds = [demo.feed() for _ in range(20)]
        for feed in feeds:
            feed.json()
        secured = demo.https_stream("/stream")
        held = demo.connect()
        held.request("GET", "/never")
        demo.act("seen")
        demo.process.send_signal(signal.SIGTERM)
        for stream in [*streams, secured]:
            assert stream.read() == b""  # raises IncompleteRead without the last chunk
        for feed in feeds:
            assert feed.close_code() == 4001
        answer = held.getresponse()
        assert (answer.status, json.loads(answer.read())["reason"]) == (503, "ServiceUnavailable")
        assert demo.process.wait(WAIT_SECONDS) == 0
        assert demo.errors() == ""


def test_killed_worker_is_replaced_and_everything_goes_on(tmp_path: Path) -> None:
    with Demo(tmp_path) as demo:
        stream = demo.get("/stream")
        held = demo.connect()
        held.request("GET", "/never")
        feed = demo.feed("/ws/v1/clusters/demo/trace?from=5")
        feed.json()
        os.kill(demo.endpoints["worker_pid"], signal.SIGKILL)
        assert stream.read() == b""
        answer = held.getresponse()
        assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
        assert json.loads(answer.read())["reason"] == "ServiceUnavailable"
        line = demo.error_line()
        assert f"the worker (pid {demo.endpoints['worker_pid']}) was killed by signal 9" in line
        assert demo.get("/api").status == 200  # waits for the new one
        assert demo.get("/viz/v1/clusters/demo").status == 200
        demo.act("trace", count=5)
        assert [record["seq"] for record in feed.json()["records"]] == [5]
        ends = json.loads((tmp_path / "endpoints.json").read_text())
        assert ends["worker_pid"] != demo.endpoints["worker_pid"]


def test_worker_that_ends_by_itself_is_replaced(tmp_path: Path) -> None:
    with Demo(tmp_path) as demo:
        for _ in range(2):
            assert demo.get("/crash").status == 503
            assert "ended with exit code 9; a new one starts" in demo.error_line()
        assert demo.get("/api").status == 200


def test_killed_edge_takes_its_worker_along_and_the_next_start_goes_on(tmp_path: Path) -> None:
    with Demo(tmp_path) as demo:
        demo.process.kill()
        demo.process.wait()
        assert wait_for_end(demo.endpoints["worker_pid"])
    with Demo(tmp_path) as demo:
        assert demo.get("/api").status == 200


def test_roles_are_started_through_the_channel_layer(demo: Demo) -> None:
    started = {"controllers": ["start"], "scheduler": ["start"], "kubelet": ["start"]}
    waiting.until(
        lambda: demo.act("seen")["roles"],
        what="each role is started once",
        true=lambda roles: roles == started,
    )


def test_single_process_serves_the_same(tmp_path: Path) -> None:
    with Demo(tmp_path, "--single-process") as demo:
        assert demo.endpoints["pid"] == demo.endpoints["worker_pid"] == demo.process.pid
        assert demo.get("/api").status == 200
        stream = demo.get("/stream")
        demo.act("stream", data="x\n")
        assert stream.readline() == b"x\n"
        demo.process.send_signal(signal.SIGTERM)
        stream.read()
        assert demo.process.wait(WAIT_SECONDS) == 0
        assert demo.errors() == ""


def test_busy_port_is_one_sentence_and_nothing_is_written(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = refused(tmp_path / "data", "--tls-port", port)
    assert said == (
        f"demo: cannot listen on 127.0.0.1 port {port}: Address already in use; "
        "choose another port, 0 picks a free one\n"
    )
    assert not (tmp_path / "data").exists()


def test_data_directory_that_cannot_be_is_one_sentence(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    said = refused(file / "data")
    assert said == f"demo: the data directory {file}/data cannot be written: Not a directory\n"


def test_data_directory_of_a_running_demo_is_refused(demo: Demo) -> None:
    assert f"is in use by another demo (pid {demo.process.pid}); stop" in refused(demo.data_dir)
    assert demo.get("/api").status == 200
    assert (demo.data_dir / "endpoints.json").exists()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--speed", "fast"], "demo: argument --speed: 'fast' is neither a number nor max\n"),
        (["--host", "no.such.host.invalid"], "demo: the host 'no.such.host.invalid' is unknown"),
        (
            ["--kubernetes-version", "1.25"],
            'the cluster cannot be started: there is no Kubernetes version "1.25" here\n',
        ),
        (
            ["--kubernetes-version", "1.25", "--single-process"],
            'the cluster cannot be started: there is no Kubernetes version "1.25" here\n',
        ),
    ],
)
def test_bad_option_is_one_sentence(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    said = refused(tmp_path, *arguments)
    assert sentence.strip() in said
    assert said.count("\n") == 1
    assert not (tmp_path / "endpoints.json").exists()
