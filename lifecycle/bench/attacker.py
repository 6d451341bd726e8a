"""A client that attacks, in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import json
import ssl
from collections.abc import Iterable
from pathlib import Path

from lifecycle.bench import attacks
from lifecycle.bench.attacks import making

HELD = 200  # connections that are kept open


class Attacker:
    """A client with what opens the cluster, or its page, to who attacks."""

    def __init__(self, folder: Path, who: str, port: str) -> None:
        endpoints = json.loads((folder / "endpoints.json").read_text())
        address = endpoints["http" if port == making.PAGE else "https"].partition("//")[2]
        self._host, _, self._port = address.partition(":")
        self._tls = _context(folder / "pki", who) if port == making.TLS else None
        self._token = ""
        if who == making.VIEWER:
            self._token = json.loads((folder / "page-tokens.json").read_text())[who]
        self.sent = 0
        self.answers: dict[str, int] = {}

    async def run(self, attack: making.Attack) -> None:
        """Until it is cancelled."""
        for send in attack.before:
            await self._once(send)
        tasks: list[asyncio.Future[None]] = []
        if attack.flood is not None:
            numbers = itertools.count()
            flood = (self._flood(attack.flood, numbers) for _ in range(attack.connections))
            tasks += map(asyncio.ensure_future, flood)
        if attack.held is not None:
            data = attack.held.replace(making.TOKEN, self._token.encode())
            held = (self._hold(data, reads=attack.reads) for _ in range(HELD))
            tasks += map(asyncio.ensure_future, held)
        try:
            await asyncio.gather(*tasks)
            await asyncio.Event().wait()
        finally:
            for task in tasks:
                task.cancel()

    async def _connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection(self._host, self._port, ssl=self._tls)

    async def _once(self, send: making.Send) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(30):
                await self._flood(lambda n: send, iter((0,)))

    async def _flood(self, make: making.Make, numbers: Iterable[int]) -> None:
        reader, writer = await self._connect()
        for number in numbers:
            try:
                writer.write(make(number).encode(self._token))
                await writer.drain()
                code = await _answer(reader)
            except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError):
                code = "closed"
            self.sent += 1
            self.answers[code] = self.answers.get(code, 0) + 1
            if code == "closed" or code in ("400", "413", "431"):
                writer.close()
                reader, writer = await self._connect()
        writer.close()

    async def _hold(self, data: bytes, *, reads: bool) -> None:
        """Opens the connection again when the server has closed it."""
        while True:
            with contextlib.suppress(OSError):
                reader, writer = await self._connect()
                writer.write(data)
                self.sent += 1
                if not reads:
                    await asyncio.Event().wait()
                while await reader.read(65536):
                    pass
                writer.close()
            await asyncio.sleep(0.1)


async def _answer(reader: asyncio.StreamReader) -> str:
    """The code of the next answer, whose body is read."""
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    _, _, rest = head.partition("content-length: ")
    if rest:
        await reader.readexactly(int(rest.split("\r\n")[0]))
    elif "chunked" in head:
        while (size := int(await reader.readuntil(b"\r\n"), 16)) > 0:
            await reader.readexactly(size + 2)
        await reader.readuntil(b"\r\n")
    return head.split(" ")[1]


def _context(pki: Path, who: str) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=str(pki / "ca.crt"))
    if who != making.NOBODY:
        context.load_cert_chain(pki / f"{who}.crt", pki / f"{who}.key")
    return context


def attack(name: str, folder: str, seconds: float) -> dict[str, int]:
    """Runs one attack for so long, in a process of its own; how often each code was answered."""

    async def body() -> dict[str, int]:
        attack = attacks.ATTACKS[name]
        attacker = Attacker(Path(folder), attack.who, attack.port)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):  # which wait_for may miss
                await attacker.run(attack)
        return attacker.answers or {"connections": attacker.sent}

    return asyncio.run(body())
