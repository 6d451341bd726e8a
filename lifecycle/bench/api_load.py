"""How fast the API answers outside clients: creates, reads, and a crowd of watches.

Starts the real thing on free ports and talks HTTPS with the admin's certificate. Creates run on
32 connections, each acknowledged after its commit; reads on one; then 1,000 idle watches see one
object change a few times. All loops are bounded.
"""

from __future__ import annotations

import asyncio
import json
import ssl
import tempfile
import time
from pathlib import Path
from typing import Any

from lifecycle.bench import harness
from lifecycle.bench.demo_start import Demo

CONNECTIONS = 32
CREATES = 6400
READS = 1000
WATCHES = 1000
WRITES = 20
LINE_BYTES_MAX = 1 << 16
_MAPS = "/api/v1/namespaces/default/configmaps"

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


def run(runs: int = harness.RUNS) -> dict[str, Any]:
    return harness.repeated("api", _once, runs, connections=CONNECTIONS, watches=WATCHES)


def _once() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as name:
        demo = Demo(Path(name))
        try:
            client = Client(demo)
            return asyncio.run(_measure(demo, client))
        finally:
            demo.stop()


async def _measure(demo: Demo, client: Client) -> dict[str, Any]:
    await client.create(1, 64)  # warm: types compiled, rules cached
    seconds, creates = await client.create(CONNECTIONS, CREATES)
    reads = await client.read(READS)
    before = sum(demo.memory())
    delays = await client.watch(WATCHES, WRITES)
    after = client.memory_mib
    return {
        "creates": len(creates),
        "creates_per_second": round(len(creates) / seconds, 1),
        "create_p50_ms": percentile(creates, 50),
        "create_p99_ms": percentile(creates, 99),
        "get_p50_ms": percentile(reads, 50),
        "get_p99_ms": percentile(reads, 99),
        "watch_p50_ms": percentile(delays, 50),
        "watch_p99_ms": percentile(delays, 99),
        "watches_rss_mib": round(after - before, 1),
        "rss_mib": round(after, 1),
    }


class Client:
    """A bare HTTP/1.1 client: what is measured is the server."""

    def __init__(self, demo: Demo) -> None:
        self._demo = demo
        pki = demo.folder / "pki"
        self._tls = ssl.create_default_context(cafile=str(pki / "ca.crt"))
        self._tls.load_cert_chain(pki / "admin.crt", pki / "admin.key")
        host, _, port = demo.https.partition(":")
        self._host, self._port = host, int(port)
        self._made = 0
        self.memory_mib = 0.0

    async def create(self, connections: int, count: int) -> tuple[float, list[float]]:
        """(seconds in all, seconds of each)."""
        times: list[float] = []

        async def send(share: int) -> None:
            reader, writer = await self.connect()
            for _ in range(share):
                self._made += 1
                body = _config_map(f"made-{self._made}")
                began = time.perf_counter()
                writer.write(_post(_MAPS, body))
                await _answer(reader, b"201")
                times.append(time.perf_counter() - began)
            writer.close()

        began = time.perf_counter()
        await asyncio.gather(*(send(count // connections) for _ in range(connections)))
        return time.perf_counter() - began, times

    async def read(self, count: int) -> list[float]:
        connection = await self.connect()
        times = []
        for _ in range(count):
            began = time.perf_counter()
            await self.get(connection, f"{_MAPS}/made-1")
            times.append(time.perf_counter() - began)
        connection[1].close()
        return times

    async def get(self, connection: Connection, path: str) -> bytes:
        """The body that one GET on an open connection gives."""
        reader, writer = connection
        writer.write(f"GET {path} HTTP/1.1\r\nHost: bench\r\n\r\n".encode())
        return await _answer(reader, b"200")

    async def watch(self, watches: int, writes: int) -> list[float]:
        """Seconds from sending a write to its arrival at each of the watches."""
        started: dict[int, float] = {}
        delays: list[float] = []
        path = f"{_MAPS}?watch=true&fieldSelector=metadata.name%3Dwatched"

        async def follow() -> None:
            reader, writer = await self.connect()
            writer.write(f"GET {path} HTTP/1.1\r\nHost: bench\r\n\r\n".encode())
            await reader.readuntil(b"\r\n\r\n")
            opened.release()
            for number in range(writes):
                await reader.readuntil(b'"number":"%d"' % number)
                delays.append(time.perf_counter() - started[number])
            writer.close()

        opened = asyncio.Semaphore(0)
        followers = []
        for _ in range(watches):
            followers.append(asyncio.create_task(follow()))
            await opened.acquire()
        self.memory_mib = sum(self._demo.memory())
        reader, writer = await self.connect()
        for number in range(writes):
            body = _config_map("watched", number=str(number))
            started[number] = time.perf_counter()
            if number == 0:
                writer.write(_post(_MAPS, body))
                await _answer(reader, b"201")
            else:
                writer.write(_post(f"{_MAPS}/watched", body, "PUT"))
                await _answer(reader, b"200")
            await asyncio.sleep(0.05)
        await asyncio.gather(*followers)
        return delays

    async def connect(self, line_bytes: int = LINE_BYTES_MAX) -> Connection:
        return await asyncio.open_connection(
            self._host, self._port, ssl=self._tls, limit=line_bytes
        )


def _config_map(name: str, **data: str) -> bytes:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": name},
            "data": {**data, "text": "x" * 3000},
        },
        separators=(",", ":"),
    ).encode()


def _post(path: str, body: bytes, method: str = "POST") -> bytes:
    head = (
        f"{method} {path} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\n\r\n"
    )
    return head.encode() + body


async def _answer(reader: asyncio.StreamReader, status: bytes) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    line, *fields = head.split(b"\r\n")
    if line.split(b" ")[1] != status:
        raise RuntimeError(f"the server answered {line.decode()}")
    for field in fields:
        if field.lower().startswith(b"content-length:"):
            return await reader.readexactly(int(field.partition(b":")[2]))
        if field.lower() == b"transfer-encoding: chunked":
            return await _chunks(reader)
    raise RuntimeError("the answer has no length")


async def _chunks(reader: asyncio.StreamReader) -> bytes:
    parts = []
    while size := int(await reader.readuntil(b"\r\n"), 16):
        parts.append(await reader.readexactly(size))
        await reader.readexactly(2)
    await reader.readexactly(2)
    return b"".join(parts)


def percentile(values: list[float], percent: int) -> float:
    ordered = sorted(values)
    return round(ordered[min(len(ordered) - 1, len(ordered) * percent // 100)] * 1000, 2)
