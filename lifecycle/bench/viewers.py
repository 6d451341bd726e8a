"""What a class sees: how late a frame is at the last of many viewers, and what joining takes.

Starts the real thing and listens as pages do. Viewers are told apart from what they are sent by
the bytes of a frame, which are the same for all, so that listening costs the machine little.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import tempfile
import time
import zlib
from pathlib import Path
from typing import Any

from lifecycle.bench import harness, lifecycle_pods
from lifecycle.bench.api_load import percentile
from lifecycle.bench.demo_start import Demo

VIEWERS, JOINERS, JOINED_PODS, PODS = 300, 500, 300, 100
TIMEOUT_SECONDS = 120
BUFFER_BYTES = 1 << 20
_BINARY = 2


def run(runs: int = harness.RUNS) -> dict[str, Any]:
    """Frames at VIEWERS viewers while PODS pods start, and joining while many start."""
    return harness.repeated(
        "viewers",
        lambda: _with_demo(PODS, _live, JOINED_PODS),
        runs,
        viewers=VIEWERS,
        joiners=JOINERS,
    )


def joining(pods: int, runs: int = harness.RUNS) -> dict[str, Any]:
    """What somebody gets who opens the page after so many pods have started."""
    return harness.repeated("joining", lambda: _with_demo(pods, _join, pods), runs, pods=pods)


def _with_demo(pods: int, measure: Any, more: int = 0) -> dict[str, Any]:
    """`more` pods start later on."""
    with tempfile.TemporaryDirectory() as name:
        demo = Demo(Path(name), nodes=lifecycle_pods.nodes_for(pods + more))
        try:
            result: dict[str, Any] = asyncio.run(measure(demo, pods))
            return result
        finally:
            demo.stop()


async def _live(demo: Demo, pods: int) -> dict[str, Any]:
    demo.create("warm", 1)
    await asyncio.to_thread(demo.wait_running, "warm", 1)
    arrivals: dict[int, list[float]] = {}
    silent = await Viewer.open(demo)  # it never reads
    viewers = [await Viewer.open(demo) for _ in range(VIEWERS)]
    reading = [asyncio.create_task(viewer.note(arrivals)) for viewer in viewers]
    await asyncio.sleep(1)
    arrivals.clear()
    demo.create("watched", pods)
    await asyncio.to_thread(demo.wait_running, "watched", pods)
    await asyncio.sleep(1)
    for task in reading:
        task.cancel()
    for viewer in viewers:
        viewer.close()
    late = [at - min(times) for times in arrivals.values() for at in times]
    complete = [times for times in arrivals.values() if len(times) == VIEWERS]
    demo.create("meanwhile", JOINED_PODS)
    tried = await asyncio.gather(*(_joined(demo) for _ in range(JOINERS)), return_exceptions=True)
    joined = [run[0] for run in tried if not isinstance(run, BaseException)]
    await asyncio.to_thread(demo.wait_running, "meanwhile", JOINED_PODS)
    edge, _ = demo.memory()
    silent.close()
    return {
        "frames": len(complete),
        "frame_p50_ms": percentile(late, 50),
        "frame_p99_ms": percentile(late, 99),
        "join_p50_ms": percentile(joined, 50),
        "join_p99_ms": percentile(joined, 99),
        "join_failures": len(tried) - len(joined),
        "edge_rss_mib": edge,
    }


async def _join(demo: Demo, pods: int) -> dict[str, Any]:
    demo.create("many", pods)
    await asyncio.to_thread(demo.wait_running, "many", pods)
    first, size = await _joined(demo)
    again, _ = await _joined(demo)
    listener = await Viewer.open(demo)
    reading = asyncio.create_task(listener.note({}))
    demo.create("more", pods)
    await asyncio.to_thread(demo.wait_running, "more", pods)
    await asyncio.sleep(5)  # what came is read ahead meanwhile
    beside, _ = await _joined(demo)
    reading.cancel()
    listener.close()
    return {
        "join_mib": round(size / 2**20, 3),
        "first_seconds": first,
        "next_seconds": again,
        "first_beside_another_seconds": beside,  # behind as many more
    }


async def _joined(demo: Demo) -> tuple[float, int]:
    """Seconds and bytes until a page that opens now has all that there was then."""
    began = time.perf_counter()
    viewer = await Viewer.open(demo, "keyframe=now")
    wanted = last = size = 0
    while not wanted or last < wanted:
        opcode, payload = await asyncio.wait_for(viewer.frame(), TIMEOUT_SECONDS)
        size += len(payload)
        now, seqs = _seqs(opcode, payload)
        wanted, last = now or wanted, seqs or last
    seconds = time.perf_counter() - began
    viewer.close()
    return round(seconds, 3), size


@functools.lru_cache(maxsize=1024)
def _seqs(opcode: int, payload: bytes) -> tuple[int, int]:
    """The seq that a hello names, and the last of a frame of records; 0 if not given. What
    many are sent is read once, so that playing them costs the machine little."""
    message = json.loads(zlib.decompress(payload) if opcode == _BINARY else payload)
    records = message.get("records") or [{}]
    return message.get("hello", {}).get("seq", 0), records[-1].get("seq", 0)


class Viewer:
    """One WebSocket of the feed."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, demo: Demo, query: str = "keyframe=now") -> Viewer:
        host, _, port = demo.page.partition(":")
        reader, writer = await asyncio.open_connection(host, int(port), limit=BUFFER_BYTES)
        key = os.urandom(16).hex()[:22] + "=="
        writer.write(
            f"GET /ws/v1/clusters/demo/trace?{query}&encoding=deflate HTTP/1.1\r\n"
            f"Host: {demo.page}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            f"Authorization: Bearer {demo.token}\r\n"
            f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n\r\n".encode()
        )
        head = await reader.readuntil(b"\r\n\r\n")
        if b" 101 " not in head.split(b"\r\n")[0]:
            raise RuntimeError(f"the feed answered {head.decode()}")
        return cls(reader, writer)

    async def frame(self) -> tuple[int, bytes]:
        first, length = await self._reader.readexactly(2)
        if length >= 126:
            wide = 2 if length == 126 else 8
            length = int.from_bytes(await self._reader.readexactly(wide), "big")
        return first & 0x0F, await self._reader.readexactly(length)

    async def note(self, arrivals: dict[int, list[float]]) -> None:
        """When each frame of records came, whichever it is."""
        while True:
            opcode, payload = await self.frame()
            if opcode == _BINARY:
                arrivals.setdefault(hash(payload), []).append(time.perf_counter())

    def close(self) -> None:
        self._writer.close()
