"""A large cluster: seconds until all its nodes are Ready, then until so many pods run on them."""

from __future__ import annotations

import asyncio
import json
import tempfile
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from lifecycle.bench import harness, machine
from lifecycle.bench.api_load import Client
from lifecycle.bench.demo_start import Demo

PODS = 1000
TIMEOUT_SECONDS = 900
LINE_BYTES_MAX = 16 << 20


def run(nodes: int, runs: int = 1) -> dict[str, Any]:
    return harness.repeated("nodes", lambda: _measure(nodes), runs, nodes=nodes, pods=PODS)


def _measure(nodes: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        demo = Demo(Path(name), nodes=nodes)
        try:
            ready = asyncio.run(_until_ready(demo, nodes)) - demo.began
            worker = machine.cpu_seconds(demo.worker)
            began = time.monotonic()
            demo.create("many", PODS)
            demo.wait_running("many", PODS, TIMEOUT_SECONDS)
            seconds = time.monotonic() - began
            edge_mib, worker_mib = demo.memory()
            return {
                "all_ready_seconds": round(ready, 2),
                "all_ready_worker_cpu_seconds": round(worker, 2),
                "pods_ready_seconds": round(seconds, 2),
                "worker_cpu_ms_per_pod": round(
                    (machine.cpu_seconds(demo.worker) - worker) / PODS * 1000, 2
                ),
                "rss_mib": round(edge_mib + worker_mib, 1),
            }
        finally:
            demo.stop()


async def _until_ready(demo: Demo, nodes: int) -> float:
    """When the last node said that it is Ready, as a watch of all nodes sees it."""
    reader, writer = await Client(demo).connect(LINE_BYTES_MAX)
    writer.write(
        b"GET /api/v1/nodes?watch=true&timeoutSeconds=%d HTTP/1.1\r\nHost: bench\r\n\r\n"
        % TIMEOUT_SECONDS
    )
    await reader.readuntil(b"\r\n\r\n")
    ready: set[str] = set()
    async for line in _lines(reader):
        node = json.loads(line)["object"]
        conditions = node.get("status", {}).get("conditions", ())
        if any(
            condition["type"] == "Ready" and condition["status"] == "True"
            for condition in conditions
        ):
            ready.add(node["metadata"]["name"])
        if len(ready) == nodes:
            writer.close()
            return time.monotonic()
    raise RuntimeError(f"only {len(ready)} of {nodes} nodes became Ready")


async def _lines(reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
    """The lines of a chunked body; a chunk may end anywhere in one."""
    rest = b""
    while size := int(await reader.readline() or b"0", 16):
        *lines, rest = (rest + (await reader.readexactly(size + 2))[:-2]).split(b"\n")
        for line in lines:
            yield line
