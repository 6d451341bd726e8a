"""Resident memory of edge and worker, as they really run, once so many pods are running."""

from __future__ import annotations

import tempfile
import time
from pathlib import Path
from typing import Any

from lifecycle.bench import harness, lifecycle_pods
from lifecycle.bench.demo_start import Demo

SETTLED_SECONDS = 2.0
TIMEOUT_SECONDS = 900


def run(pods: int, runs: int = harness.RUNS) -> dict[str, Any]:
    return harness.repeated("memory", lambda: _measure(pods), runs, pods=pods)


def _measure(pods: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        demo = Demo(Path(name), nodes=lifecycle_pods.nodes_for(pods))
        try:
            demo.create("many", pods)
            demo.wait_running("many", pods, TIMEOUT_SECONDS)
            time.sleep(SETTLED_SECONDS)
            edge, worker = demo.memory()
        finally:
            demo.stop()
    return {"edge_rss_mib": edge, "worker_rss_mib": worker, "rss_mib": round(edge + worker, 1)}
