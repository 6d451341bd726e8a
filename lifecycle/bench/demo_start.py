"""`manage.py demo` on a migrated database: seconds until the first pod runs.

Starts the real thing on free ports, creates a Deployment through its HTTPS port as the admin, and
watches until the first pod is Running.
"""

from __future__ import annotations

import base64
import http.client
import itertools
import json
import os
import signal
import ssl
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from lifecycle.bench import harness, machine

RUNS = 5
TIMEOUT_SECONDS = 60


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
LIMITS = {"pods": 20_000, "namespace-pods": 20_000, "namespace-objects": 50_000}


class Demo:
    """One running demo."""

    def __init__(
        self, folder: Path, *, nodes: int = 3, speed: str = "max",
        limits: Mapping[str, int] = LIMITS,
    ) -> None:  # fmt: skip
        self.folder = folder
        self.began = time.monotonic()
        command = [
            sys.executable, "manage.py", "demo", "--port", "0", "--tls-port", "0",
            "--data-dir", str(folder), "--speed", speed, "--no-browser",
            "--nodes", str(nodes),
            *(f"--limit={name}={most}" for name, most in limits.items()),
        ]  # fmt: skip
        root = Path(__file__).resolve().parents[2]
        self._process = subprocess.Popen(command, cwd=root, stdout=subprocess.DEVNULL)
        self._endpoints = self._wait_endpoints()
        self._connection = self._connect()

    def create(self, name: str, pods: int) -> None:
        labels = {"app": name}
        container = {"name": "nginx", "image": "nginx:1.27"}
        body = {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": name},
            "spec": {
                "replicas": pods,
                "selector": {"matchLabels": labels},
                "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            },
        }
        status, answer = self._send("POST", "/apis/apps/v1/namespaces/default/deployments", body)
        if status != 201:
            raise RuntimeError(f"the create answered {status}: {answer!r}")

    def wait_running(self, name: str, pods: int, seconds: float = TIMEOUT_SECONDS) -> None:
        path = f"/apis/apps/v1/namespaces/default/deployments/{name}"
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            _, answer = self._send("GET", path)
            if json.loads(answer).get("status", {}).get("readyReplicas", 0) >= pods:
                return
            time.sleep(0.005)
        raise RuntimeError(f"{pods} pods of {name} did not run within {seconds} s")

    def memory(self) -> tuple[float, float]:
        return (
            machine.rss_mib(self._endpoints["pid"]),
            machine.rss_mib(self._endpoints["worker_pid"]),
        )

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
                found: dict[str, Any] = json.loads(file.read_text())
            except (OSError, ValueError):
                found = {}
            if found.get("pid") == self._process.pid:
                return found
            time.sleep(0.002)
        self._process.kill()
        raise RuntimeError("the demo did not start")

    def _connect(self) -> http.client.HTTPSConnection:
        config = yaml.safe_load(Path(self._endpoints["kubeconfig"]).read_text())
        context = ssl.create_default_context(
            cadata=_pem(config["clusters"][0]["cluster"]["certificate-authority-data"])
        )
        user = config["users"][0]["user"]
        with tempfile.TemporaryDirectory() as name:
            chain, key = os.path.join(name, "c"), os.path.join(name, "k")
            Path(chain).write_text(_pem(user["client-certificate-data"]))
            Path(key).write_text(_pem(user["client-key-data"]))
            context.load_cert_chain(chain, key)
        host, _, port = self.https.partition(":")
        return http.client.HTTPSConnection(host, int(port), context=context)

    def _send(self, method: str, path: str, body: Any = None) -> tuple[int, bytes]:
        data = json.dumps(body) if body is not None else None
        self._connection.request(method, path, data, {"Content-Type": "application/json"})
        answer = self._connection.getresponse()
        return answer.status, answer.read()


def _pem(text: str) -> str:
    return base64.b64decode(text).decode()
