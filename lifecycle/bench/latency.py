"""How long an outside client waits while pods start, and what makes it wait.

Starts the real thing, creates a Deployment and reads it over TLS until all its pods are ready:
throughput and latency come from one run. The longest step, slice and commit come from a run of
the same size in this process, where a clock can be held against each.
"""

from __future__ import annotations

import asyncio
import tempfile
import time
from pathlib import Path
from typing import Any

from lifecycle.bench import harness, lifecycle_pods
from lifecycle.bench.api_load import Client, percentile
from lifecycle.bench.demo_start import Demo

GAP_SECONDS = 0.005  # between the answer to a GET and the next
TIMEOUT_SECONDS = 300
_PATH = "/apis/apps/v1/namespaces/default/deployments/{}"


def run(pods: int, runs: int = harness.RUNS) -> dict[str, Any]:
    return harness.repeated("latency", lambda: _measure(pods), runs, pods=pods)


def _measure(pods: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        outside = _outside(Path(name), pods)
    inside = lifecycle_pods.once(pods)
    return {**outside, **{key: inside[key] for key in lifecycle_pods.LONGEST}}


def _outside(folder: Path, pods: int) -> dict[str, float]:
    demo = Demo(folder, nodes=lifecycle_pods.nodes_for(pods))
    try:
        demo.create("warm", 1)
        demo.wait_running("warm", 1)
        demo.create("many", pods)
        began = time.perf_counter()
        times = asyncio.run(_read_until_ready(Client(demo), pods))
        seconds = time.perf_counter() - began
    finally:
        demo.stop()
    return {
        "pods_per_second": round(pods / seconds, 1),
        "gets": len(times),
        "get_p50_ms": percentile(times, 50),
        "get_p99_ms": percentile(times, 99),
        "get_max_ms": percentile(times, 100),
    }


async def _read_until_ready(client: Client, pods: int) -> list[float]:
    """Seconds of each GET."""
    connection = await client.connect()
    times: list[float] = []
    end = time.perf_counter() + TIMEOUT_SECONDS
    while (began := time.perf_counter()) < end:
        body = await client.get(connection, _PATH.format("many"))
        times.append(time.perf_counter() - began)
        if b'"readyReplicas":%d,' % pods in body:
            return times
        await asyncio.sleep(GAP_SECONDS)
    raise RuntimeError(f"{pods} pods did not become ready within {TIMEOUT_SECONDS} s")
