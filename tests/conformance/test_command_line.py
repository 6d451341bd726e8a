"""The command line with what cannot work: one line that says why, exit code 1, nothing left."""

from __future__ import annotations

import gzip
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from tests.lifecycle.hosting.running import PROJECT, WAIT_SECONDS, Demo
from tests.suite import seeds

TRACES = "/viz/v1/traces/import"


def manage(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(PROJECT / "manage.py"), *arguments],
        capture_output=True,
        text=True,
        timeout=WAIT_SECONDS,
        cwd=PROJECT,
        check=False,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "lifecycle.settings"},
    )


def demo(data_dir: Path | str, *arguments: str) -> str:
    """The one line with which a demo did not start."""
    free = () if "--port" in arguments else ("--port", "0", "--tls-port", "0")
    done = manage("demo", "--no-browser", "--data-dir", str(data_dir), *free, *arguments)
    assert (done.returncode, done.stdout) == (1, ""), done
    (line,) = done.stderr.splitlines()
    return line


def test_a_busy_port(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        said = demo(tmp_path / "data", "--port", port, "--tls-port", "0")
    assert port in said and "use" in said
    assert not (tmp_path / "data").exists()


def test_a_data_directory_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "file" in demo(tmp_path / "file" / "data")


@pytest.mark.parametrize("bad", [
    ("--nodes", "-1"), ("--nodes", "many"), ("--speed", "0"), ("--speed", "fast"),
    ("--port", "70000"), ("--seed", "x"), ("--kubernetes-version", "1.2"),
    ("--profile", "nope"), ("--nope",),
], ids=" ".join)  # fmt: skip
def test_an_option_that_makes_no_sense(tmp_path: Path, bad: tuple[str, ...]) -> None:
    assert bad[0] in demo(tmp_path / "data", *bad)
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize("content", [b"no database", b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_corrupt_data_directory(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "store.sqlite3").write_bytes(content)
    assert "store.sqlite3" in demo(tmp_path)
    assert (tmp_path / "store.sqlite3").read_bytes() == content


BAD_TRACES = {
    "nothing": b"",
    "no gzip": b"hello",
    "no JSON": gzip.compress(b"hello\n"),
    "no header": gzip.compress(b'{"seq":1}\n'),
    "cut off": gzip.compress(b'{"format":"kubernetes-lifecycle-trace","version":1}\n')[:-9],
    "of the future": gzip.compress(b'{"format":"kubernetes-lifecycle-trace","version":99}\n'),
}


@pytest.mark.parametrize("what", seeds.draw("bad traces", list(BAD_TRACES), 2))
def test_a_file_that_is_no_trace(tmp_path: Path, what: str) -> None:
    file = tmp_path / "bad.trace"
    file.write_bytes(BAD_TRACES[what])
    done = manage("trace", "validate", str(file))
    assert done.returncode == 1, done
    assert len(done.stderr.splitlines()) == 1, done.stderr


@pytest.mark.parametrize("what", BAD_TRACES)
def test_an_upload_that_is_no_trace(cluster: Demo, what: str) -> None:
    answer = cluster.ask("POST", TRACES, BAD_TRACES[what], Content_Type="application/octet-stream")
    assert answer.status == 400
    assert b"Traceback" not in answer.read()
