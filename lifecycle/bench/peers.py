"""The same Deployment here and in others, in turns: seconds until all its pods are ready.

webernetes comes from npm, if there is Node: a simulator in JavaScript, bundled for Node and given
one process. A real control plane is the one of `--kubeconfig`; its nodes may be kwok's. Here the
client is outside and waits over TLS, as `kubectl rollout status` does.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from lifecycle.bench import harness, lifecycle_pods, machine
from lifecycle.bench.client import Api
from lifecycle.bench.demo_start import Demo

PACKAGES = ("@ngrok/webernetes@0.3.5", "esbuild@0.25.0")
SCRIPT = Path(__file__).with_name("webernetes.mjs")
TIMEOUT_SECONDS = 600
SETTLED_SECONDS = 2.0  # the proxies of the last nodes

Figures = dict[str, float]


def run(pods: int, runs: int, kubeconfig: str) -> dict[str, Any]:
    nodes = lifecycle_pods.nodes_for(pods)
    with contextlib.ExitStack() as stack:
        peers: dict[str, Callable[[], Figures]] = {"here": lambda: _here(pods, nodes)}
        if shutil.which("npm"):
            folder = stack.enter_context(_bundled())
            peers["webernetes"] = lambda: _webernetes(folder, pods, nodes)
        if kubeconfig:
            peers["real"] = lambda: _real(kubeconfig, pods)
        figures = harness.repeated("peers", lambda: _in_turn(peers), runs, pods=pods, nodes=nodes)
    for name in peers:
        if name != "here":
            for key in ("seconds", "cpu_seconds"):
                if theirs := figures.get(f"{name}_{key}"):
                    figures[f"times_{name}_{key}"] = round(theirs / figures[f"here_{key}"], 2)
    return figures


def _in_turn(peers: dict[str, Callable[[], Figures]]) -> Figures:
    return {
        f"{name}_{key}": value
        for name, measure in peers.items()
        for key, value in measure().items()
    }


def _here(pods: int, nodes: int) -> Figures:
    with tempfile.TemporaryDirectory() as name:
        demo = Demo(Path(name), nodes=nodes)
        try:
            demo.create("warm", 1)
            demo.wait_running("warm", 1)
            demo.wait_running("coredns", 2, namespace="kube-system")
            time.sleep(SETTLED_SECONDS)
            pids = (demo.pid, demo.worker)
            began, cpu = time.perf_counter(), sum(map(machine.cpu_seconds, pids))
            demo.create("many", pods)
            demo.wait_running("many", pods, TIMEOUT_SECONDS)
            seconds = time.perf_counter() - began
            return _figures(seconds, sum(map(machine.cpu_seconds, pids)) - cpu)
        finally:
            demo.stop()


@contextlib.contextmanager
def _bundled() -> Iterator[Path]:
    """A directory with webernetes and the script that measures it, as one file."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "package.json").write_text("{}")
        shutil.copy(SCRIPT, folder)
        _run(folder, "npm", "install", "--no-audit", "--no-fund", *PACKAGES)
        _run(
            folder,
            "npx",
            "esbuild",
            SCRIPT.name,
            "--bundle",
            "--platform=node",
            "--format=esm",
            "--outfile=bundle.mjs",
        )
        yield folder


def _webernetes(folder: Path, pods: int, nodes: int) -> Figures:
    output = _run(folder, "node", "bundle.mjs", str(pods), str(nodes))
    measured = json.loads(output.splitlines()[-1])
    return _figures(measured["seconds"], measured["cpu_seconds"])


def _run(folder: Path, *command: str) -> str:
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=TIMEOUT_SECONDS, check=False
    )
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip()[-500:]}")
    return done.stdout


def _real(kubeconfig: str, pods: int) -> Figures:
    connection = Api(Path(kubeconfig))
    name = f"bench-{time.time_ns()}"
    began = time.perf_counter()
    connection.create(name, pods)
    connection.wait_running(name, pods, TIMEOUT_SECONDS)
    seconds = time.perf_counter() - began
    connection.delete(name)
    return {"seconds": round(seconds, 3)}


def _figures(seconds: float, cpu: float) -> Figures:
    return {"seconds": round(seconds, 3), "cpu_seconds": round(cpu, 3)}
