"""`manage.py demo` on a migrated database: seconds until the first pod runs.

Starts the real thing on free ports, creates a Deployment through its HTTPS port as the admin, and
watches until the first pod is Running.
"""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from lifecycle.bench import harness, machine
from lifecycle.bench.client import TIMEOUT_SECONDS, Api

RUNS = 5


def run(runs: int = RUNS) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        Demo(folder).stop()  # migrates, makes keys, boots once
        numbers = itertools.count()
        return harness.repeated("startup", lambda: _measure(folder, next(numbers)), runs)


def _measure(folder: Path, number: int) -> dict[str, Any]:
    demo = Demo(folder)
    demo.create(f"first-{number}", 1)
    demo.wait_running(f"first-{number}", 1)
    seconds = time.monotonic() - demo.began
    demo.stop()
    return {"first_running_seconds": round(seconds, 3)}


# more than what a class may have in its cluster
LIMITS = {
    "pods": 20_000,
    "namespace-pods": 20_000,
    "namespace-objects": 200_000,
    "objects": 400_000,
    "bytes": 1 << 30,
    "namespace-bytes": 1 << 30,
}


class Demo(Api):
    """One running demo, and its admin."""

    def __init__(
        self,
        folder: Path,
        *,
        nodes: int = 3,
        speed: str = "max",
        limits: Mapping[str, int] = LIMITS,
    ) -> None:
        self.folder = folder
        self.began = time.monotonic()
        command = [
            sys.executable,
            *"manage.py demo --port 0 --tls-port 0 --no-browser".split(),
            *("--data-dir", str(folder), "--speed", speed, "--nodes", str(nodes)),
            *(f"--limit={name}={most}" for name, most in limits.items()),
        ]
        root = Path(__file__).resolve().parents[2]
        self._process = subprocess.Popen(command, cwd=root, stdout=subprocess.DEVNULL)
        self._endpoints = self._wait_endpoints()
        super().__init__(Path(self._endpoints["kubeconfig"]))

    def memory(self) -> tuple[float, float]:
        return machine.rss_mib(self.pid), machine.rss_mib(self.worker)

    @property
    def pid(self) -> int:
        return int(self._endpoints["pid"])

    @property
    def worker(self) -> int:
        return int(self._endpoints["worker_pid"])

    @property
    def https(self) -> str:
        """host:port of the Kubernetes API."""
        return str(self._endpoints["https"]).removeprefix("https://")

    @property
    def page(self) -> str:
        """host:port of the page."""
        return str(self._endpoints["http"]).removeprefix("http://")

    @property
    def token(self) -> str:
        """With which a program drives the page's API."""
        return str(self._endpoints["token"])

    def stop(self) -> None:
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(TIMEOUT_SECONDS)

    def _wait_endpoints(self) -> dict[str, Any]:
        file = self.folder / "endpoints.json"
        end = time.monotonic() + TIMEOUT_SECONDS
        while time.monotonic() < end:
            if self._process.poll() is not None:
                raise RuntimeError(f"the demo ended with {self._process.returncode}")
            try:
                endpoints: dict[str, Any] = json.loads(file.read_text())
            except (OSError, ValueError):
                endpoints = {}
            if endpoints.get("pid") == self._process.pid:
                return endpoints
            time.sleep(0.002)
        self._process.kill()
        raise RuntimeError("the demo did not start")
