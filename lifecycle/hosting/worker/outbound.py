"""Real HTTPS calls that a cluster's API server makes to programs on allowed addresses.

A call runs on the host's event loop beside the kernel; its answer enters the cluster as a logged
input, so that a run can be repeated. While one is under way, virtual time follows the wall clock
and does not leap. A name is resolved, every address it has is checked against the list of allowed
ones, and the connection goes to what was checked; redirects are not followed, no proxy is used.

Errors are worded as Go's net, crypto/tls and net/http word them.
"""

from __future__ import annotations

import asyncio
import errno
import ipaddress
import os
import socket
import ssl
import tempfile
from collections.abc import Sequence
from typing import Any

from apiserver_app.egress import carriers, servercerts
from apiserver_app.egress.outbound import BODY_BYTES_MAX, Answer, Call, CallFailed
from apiserver_app.machinery.net import httpwire
from lifecycle.hosting.worker.inbox import Inbox

CHUNK_BYTES = 1 << 16
UNREAD_BYTES_MAX = 1 << 20  # of one connection, in the cluster
AGENT = "kube-apiserver"
_EXPIRED, _NOT_YET = 10, 9  # X509_V_ERR_CERT_HAS_EXPIRED, _NOT_YET_VALID

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Range = ipaddress.IPv4Network | ipaddress.IPv6Network


def ranges(texts: Sequence[str]) -> tuple[Range, ...]:
    """Addresses and ranges as the configuration names them. Raises ValueError for anything else."""
    return tuple(ipaddress.ip_network(text) for text in texts)


class Line:
    """A connection the cluster has. What it writes leaves once its slice is over."""

    def __init__(self, loop: asyncio.AbstractEventLoop, writer: asyncio.StreamWriter) -> None:
        self._loop = loop
        self._writer = writer
        self._unread = 0
        self.room = asyncio.Event()
        self.room.set()
        self.closed = False

    def write(self, data: bytes) -> None:
        if not self.closed:
            self._loop.call_soon(self._writer.write, data)

    def close(self) -> None:
        if not self.closed:
            self.closed = True
            self.room.set()
            self._loop.call_soon(self._writer.close)

    def came(self, count: int) -> None:
        self._unread += count
        if self._unread >= UNREAD_BYTES_MAX and not self.closed:
            self.room.clear()

    def took(self, count: int) -> None:
        self._unread -= count
        if self._unread < UNREAD_BYTES_MAX:
            self.room.set()


class Network:
    """The way out of one cluster, whose answers go into its inbox."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        inbox: Inbox,
        allowed: Sequence[str],
        own_ports: frozenset[int] = frozenset(),
    ) -> None:
        self._loop = loop
        self._inbox = inbox
        self._allowed = ranges(allowed)
        self._said = ",".join(allowed) or "empty"
        self._own_ports = own_ports
        self._tasks: set[asyncio.Task[None]] = set()
        self._count = 0

    def ask(self, call: Call, dial: carriers.Dial, done: carriers.Done) -> None:
        """Begin; `done` is called with the outcome at the start of a slice."""
        self._count += 1
        self._inbox.asking += 1
        task = self._loop.create_task(self._ask(self._count, call, dial, done))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _ask(self, number: int, call: Call, dial: carriers.Dial, done: carriers.Done) -> None:
        outcome: Answer | CallFailed = CallFailed("context canceled")
        try:
            async with asyncio.timeout(call.timeout_seconds):
                outcome = await self._exchange(call, dial)
        except CallFailed as error:
            outcome = error
        except TimeoutError:
            outcome = CallFailed(carriers.DEADLINE, timed_out=True)
        finally:
            self._tell(number, outcome, done)

    def _tell(self, number: int, outcome: Answer | CallFailed, done: carriers.Done) -> None:
        def start() -> None:
            self._inbox.asking -= 1
            done(outcome)

        self._inbox.offer("answer", [number, *_plain(outcome)], start)
        self._inbox.wake()

    # -- a connection that stays ------------------------------------------------------------------

    def open(
        self, call: Call, dial: carriers.Dial, opened: carriers.Opened, arrived: carriers.Arrived
    ) -> None:
        """Connect; `opened` and `arrived` are called at the start of a slice."""
        self._count += 1
        self._inbox.asking += 1
        task = self._loop.create_task(self._open(self._count, call, dial, opened, arrived))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _open(
        self,
        number: int,
        call: Call,
        dial: carriers.Dial,
        opened: carriers.Opened,
        arrived: carriers.Arrived,
    ) -> None:
        outcome: Line | CallFailed = CallFailed("context canceled")
        answer: list[Any] = []
        try:
            async with asyncio.timeout(call.timeout_seconds):
                reader, writer, by = await self._connected(call, dial)
            outcome, answer = Line(self._loop, writer), [1, by]
        except CallFailed as error:
            outcome = error
        except TimeoutError:
            outcome = CallFailed(carriers.DEADLINE, timed_out=True)
        finally:
            if isinstance(outcome, CallFailed):
                answer = _plain(outcome)

            def start() -> None:
                self._inbox.asking -= 1
                opened(outcome)

            self._inbox.offer("dialled", [number, *answer], start)
            self._inbox.wake()
        if isinstance(outcome, Line):
            await self._follow(number, reader, outcome, arrived)

    async def _follow(
        self, number: int, reader: asyncio.StreamReader, line: Line, arrived: carriers.Arrived
    ) -> None:
        """Everything that comes, each piece an input; no more than may lie unread."""

        def tell(data: bytes | None) -> None:
            self._inbox.offer("wire", [number, data], lambda: arrived(data))
            self._inbox.wake()

        try:
            while not line.closed and (data := await reader.read(CHUNK_BYTES)):
                line.came(len(data))
                tell(data)
                await line.room.wait()
        except OSError:
            pass  # it is over, in whichever way
        finally:
            line.close()
            tell(None)

    # -- one exchange -----------------------------------------------------------------------------

    async def _exchange(self, call: Call, dial: carriers.Dial) -> Answer:
        reader, writer, by = await self._connected(call, dial)
        try:
            return await _converse(reader, writer, call, dial, by)
        except (OSError, EOFError) as error:
            raise CallFailed(_io_words(error)) from error
        finally:
            writer.transport.abort()

    async def _connected(
        self, call: Call, dial: carriers.Dial
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter, str]:
        """A connection, its server's certificate judged, and whom it leads to."""
        context = _context(call) if dial.url.startswith("https:") else None
        addresses = await self._resolve(dial)
        reader, writer = await self._connect(addresses, dial, context)
        if context is not None and not call.insecure:
            try:
                _check_name(writer, dial.name)
            except CallFailed:
                writer.transport.abort()
                raise
        return reader, writer, "{}:{}".format(*writer.get_extra_info("peername")[:2])

    async def _resolve(self, dial: carriers.Dial) -> list[Address]:
        """Every address of the host; refused unless all of them are allowed, and none is the
        cluster's own: a webhook would ask itself, or act as somebody on this machine."""
        try:
            addresses = [_unmapped(ipaddress.ip_address(dial.host))]
        except ValueError:
            try:
                answers = await self._loop.getaddrinfo(
                    dial.host, dial.port, type=socket.SOCK_STREAM
                )
            except (OSError, UnicodeError) as error:
                raise CallFailed(f"dial tcp: lookup {dial.host}: no such host") from error
            addresses = [_unmapped(ipaddress.ip_address(answer[4][0])) for answer in answers]
        for address in addresses:
            if not any(address in network for network in self._allowed):
                raise CallFailed(
                    f"dial tcp {_joined(address, dial.port)}: the address is not allowed, "
                    f"--outbound-allowed-addresses is {self._said}"
                )
            if dial.port in self._own_ports and address.is_loopback:
                raise CallFailed(
                    f"dial tcp {_joined(address, dial.port)}: this is the cluster's own port"
                )
        return list(dict.fromkeys(addresses))

    async def _connect(
        self, addresses: list[Address], dial: carriers.Dial, context: ssl.SSLContext | None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """To the first address that answers; the first refusal is reported, as in Go."""
        first: CallFailed | None = None
        for address in addresses:
            try:
                return await asyncio.open_connection(
                    str(address),
                    dial.port,
                    ssl=context,
                    limit=CHUNK_BYTES,
                    server_hostname=dial.name if context is not None else None,
                )
            except ssl.SSLError as error:
                raise CallFailed(_tls_words(error)) from error
            except OSError as error:
                words = _dial_words(address, dial.port, error)
                first = first or CallFailed(words)
        raise first or CallFailed(f"dial tcp: lookup {dial.host}: no such host")


class _Source:
    """What an answer is read from."""

    def __init__(self, reader: asyncio.StreamReader) -> None:
        self._reader = reader

    async def read(self) -> bytes | None:
        return await self._reader.read(CHUNK_BYTES) or None


async def _converse(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    call: Call,
    dial: carriers.Dial,
    by: str,
) -> Answer:
    """Send the request and read its answer, by HTTP/1.1."""
    authority, _, rest = dial.url.partition("://")[2].partition("/")
    headers = {"host": authority, "user-agent": AGENT, "accept-encoding": "identity"}
    headers.update({name.lower(): value for name, value in call.headers.items()})
    headers["content-length"] = str(len(call.body))
    headers["connection"] = "close"
    sent = httpwire.request(call.method, f"/{rest}", [*headers.items(), *call.repeated])
    writer.write(sent + call.body)
    await writer.drain()
    answer = httpwire.Answer(_Source(reader), to_head=call.method == "HEAD")
    try:
        head = await answer.head()
        body = bytearray()
        while (piece := await answer.piece()) is not None:
            body += piece
            if len(body) > BODY_BYTES_MAX:
                raise CallFailed(f"response body larger than {BODY_BYTES_MAX} bytes")
    except httpwire.Malformed as error:
        raise CallFailed(str(error)) from error
    return Answer(head.status, dict(head.headers), bytes(body), by)


# -- TLS ------------------------------------------------------------------------------------------


def _context(call: Call) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    # names are checked after the handshake, so that the refusal can say which there are
    context.check_hostname = False
    if call.insecure:
        context.verify_mode = ssl.CERT_NONE
    elif call.ca_pem:
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN  # as in Go, any root may be the last
        try:
            context.load_verify_locations(cadata=call.ca_pem)
        except (ssl.SSLError, ValueError) as error:
            text = "unable to load root certificates: unable to parse bytes as PEM block"
            raise CallFailed(text) from error
    else:
        context.load_default_certs()
    if call.client_cert_pem:
        try:
            _load_client(context, call.client_cert_pem + "\n" + call.client_key_pem)
        except ssl.SSLError as error:
            text = "tls: failed to find any PEM data in certificate input"
            raise CallFailed(text) from error
    return context


def _load_client(context: ssl.SSLContext, pem: str) -> None:
    """OpenSSL reads these from a file only; it is gone at once."""
    handle, name = tempfile.mkstemp()
    try:
        with os.fdopen(handle, "w") as file:
            file.write(pem)
        context.load_cert_chain(name)
    finally:
        os.unlink(name)


def _check_name(writer: asyncio.StreamWriter, name: str) -> None:
    shown: dict[str, Any] = writer.get_extra_info("peercert") or {}
    names = shown.get("subjectAltName") or ()
    dns = [value for kind, value in names if kind == "DNS"]
    addresses = [value for kind, value in names if kind == "IP Address"]
    why = servercerts.name_refusal(dns, addresses, name)
    if why:
        raise CallFailed(servercerts.FAILED + why)


# -- Go's words -----------------------------------------------------------------------------------


def _tls_words(error: ssl.SSLError) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        if error.verify_code in (_EXPIRED, _NOT_YET):
            return servercerts.FAILED + "x509: certificate has expired or is not yet valid"
        return servercerts.FAILED + servercerts.UNKNOWN
    if error.reason in ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"):
        return "http: server gave HTTP response to HTTPS client"
    if error.reason and "ALERT" in error.reason:
        words = error.reason.partition("ALERT_")[2].lower().replace("_", " ")
        return f"remote error: tls: {words}"
    return "EOF" if isinstance(error, ssl.SSLEOFError) else f"tls: {error.reason or error}".lower()


def _dial_words(address: Address, port: int, error: OSError) -> str:
    if isinstance(error, ConnectionResetError):
        return f"read tcp {_joined(address, port)}: read: connection reset by peer"
    words = os.strerror(error.errno).lower() if error.errno else str(error)
    if error.errno == errno.EHOSTUNREACH:
        words = "no route to host"
    return f"dial tcp {_joined(address, port)}: connect: {words}"


def _io_words(error: OSError | EOFError) -> str:
    if isinstance(error, EOFError):
        return "EOF"
    if isinstance(error, ssl.SSLError):
        return _tls_words(error)
    if isinstance(error, ConnectionResetError):
        return "read: connection reset by peer"
    return os.strerror(error.errno).lower() if error.errno else str(error)


def _joined(address: Address, port: int) -> str:
    return f"[{address}]:{port}" if address.version == 6 else f"{address}:{port}"


def _unmapped(address: Address) -> Address:
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return mapped or address


def _plain(outcome: Answer | CallFailed) -> list[Any]:
    """The outcome as it is logged."""
    if isinstance(outcome, CallFailed):
        return [0, str(outcome), outcome.timed_out]
    return [outcome.status, dict(outcome.headers), outcome.body, outcome.by]
