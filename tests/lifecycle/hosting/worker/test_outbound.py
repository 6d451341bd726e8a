"""Real HTTPS calls by the host: whom they reach, whom they refuse, and Go's words for it."""

from __future__ import annotations

import asyncio
import http.server
import ssl
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from apiserver_app.egress.carriers import Dial, Line
from apiserver_app.egress.outbound import BODY_BYTES_MAX, Answer, Call, CallFailed
from lifecycle.hosting.worker.inbox import Inbox
from lifecycle.hosting.worker.outbound import Network
from tests import httpsserver
from tests.httpsserver import Server
from tests.suite import waiting

LOOPBACK = ("127.0.0.0/8",)
SLOW = threading.Event()  # set when all is over: nobody gets an answer of what waits for it


class Host:
    """What a Network needs of an Inbox, with the inputs taken in at once."""

    def __init__(self) -> None:
        self.asking = 0
        self.logged: list[tuple[str, Any]] = []

    def offer(self, what: str, data: Any, start: Callable[[], Any]) -> None:
        self.logged.append((what, data))
        start()

    def wake(self) -> None:
        pass


def ask(
    call: Call,
    *,
    host: str = "",
    name: str = "",
    allowed: tuple[str, ...] = LOOPBACK,
    own_ports: frozenset[int] = frozenset(),
) -> Answer | str:
    """The answer, or the text of the failure."""
    hosting = Host()

    async def run() -> Answer | CallFailed:
        loop = asyncio.get_running_loop()
        network = Network(loop, cast(Inbox, hosting), allowed, own_ports)
        outcome: asyncio.Future[Answer | CallFailed] = loop.create_future()
        url = str(call.to)
        at, _, port = url.partition("://")[2].partition("/")[0].rpartition(":")
        network.ask(call, Dial(url, host or at, int(port), name or at), outcome.set_result)
        assert hosting.asking == 1
        return await outcome

    outcome = asyncio.run(run())
    assert hosting.asking == 0
    assert [what for what, _ in hosting.logged] == ["answer"]
    return str(outcome) if isinstance(outcome, CallFailed) else outcome


def respond(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
    if path == "/slow":
        SLOW.wait(waiting.seconds())
    if path == "/moved":
        return 302, b""
    if path == "/large":
        return 200, b"x" * (BODY_BYTES_MAX + 1)
    return 200, b"%s %s %s" % (method.encode(), path.encode(), body)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server"), respond) as running:
        yield running
        SLOW.set()


def trusted(server: Server, path: str = "/", **more: Any) -> Call:
    return Call(server.url + path, ca_pem=server.certificate.ca_pem, body=b"hello", **more)


def test_a_program_on_loopback_is_asked_and_says_who_it_is(server: Server) -> None:
    answer = ask(trusted(server, "/a?b=c", headers={"Content-Type": "application/json"}))
    assert isinstance(answer, Answer)
    assert (answer.status, answer.body) == (200, b"POST /a?b=c hello")
    assert answer.by == f"127.0.0.1:{server.port}"
    assert server.asked[-1][2]["content-type"] == "application/json"
    assert server.asked[-1][2]["host"] == f"127.0.0.1:{server.port}"


def test_what_another_authority_signed_is_not_believed(server: Server) -> None:
    other = httpsserver.certificate("127.0.0.1")
    unknown = "tls: failed to verify certificate: x509: certificate signed by unknown authority"
    assert ask(Call(server.url, ca_pem=other.ca_pem)) == unknown
    assert ask(Call(server.url)) == unknown
    assert isinstance(ask(Call(server.url, insecure=True)), Answer)


def test_a_certificate_for_other_names_is_refused_with_them(tmp_path: Path) -> None:
    made = httpsserver.certificate("one.example.com", "two.example.com")
    with Server(tmp_path, respond, made) as server:
        call = trusted(server)
        assert ask(call, name="three.example.com") == (
            "tls: failed to verify certificate: x509: certificate is valid for one.example.com, "
            "two.example.com, not three.example.com"
        )
        assert "doesn't contain any IP SANs" in str(ask(call))
        assert isinstance(ask(call, name="two.example.com"), Answer)


def test_a_certificate_that_is_over_is_refused(tmp_path: Path) -> None:
    made = httpsserver.certificate("127.0.0.1", expired=True)
    with Server(tmp_path, respond, made) as server:
        assert "x509: certificate has expired or is not yet valid" in str(ask(trusted(server)))


def test_nobody_there_is_a_refused_connection() -> None:
    text = ask(Call("https://127.0.0.1:9/"))
    assert text == "dial tcp 127.0.0.1:9: connect: connection refused"


def test_a_slow_program_is_given_up(server: Server) -> None:
    assert ask(trusted(server, "/slow", timeout_seconds=0.2)) == "context deadline exceeded"


def test_an_address_that_is_not_allowed_is_never_dialled() -> None:
    assert ask(Call("https://192.0.2.7:443/")) == (
        "dial tcp 192.0.2.7:443: the address is not allowed, --outbound-allowed-addresses is "
        "127.0.0.0/8"
    )
    assert "is not allowed" in str(ask(Call("https://[::1]:443/"), host="::1"))
    assert "is not allowed" in str(ask(Call("https://x:443/"), host="::ffff:169.254.169.254"))
    assert "is not allowed" in str(ask(Call("https://127.0.0.1:443/"), allowed=("10.0.0.0/8",)))


def test_the_clusters_own_ports_are_not_called_by_whatever_name(server: Server) -> None:
    own, both = frozenset((server.port,)), ("127.0.0.0/8", "::1/128")
    for host in ("127.0.0.1", "127.0.0.9", "localhost", "::1", "::ffff:127.0.0.1", "127.1"):
        said = ask(trusted(server), host=host, allowed=both, own_ports=own)
        assert "this is the cluster's own port" in str(said), host
    assert isinstance(ask(trusted(server), own_ports=frozenset((1,))), Answer)


@pytest.mark.parametrize("host", [
    "169.254.169.254", "fe80::1", "10.0.0.1", "192.168.0.1", "0.0.0.0", "::", "224.0.0.1",
    "100.100.100.200", "fd00:ec2::254", "::ffff:10.0.0.1", "2852039166",
])  # fmt: skip
def test_no_other_network_of_the_machine_is_reached(host: str) -> None:
    said = ask(Call("https://x:443/"), host=host, allowed=("127.0.0.0/8", "::1/128"))
    assert "the address is not allowed" in str(said)


def test_a_name_is_good_for_what_it_resolves_to(server: Server) -> None:
    call = Call(f"https://localhost:{server.port}/", ca_pem=server.certificate.ca_pem)
    assert isinstance(ask(call, allowed=("127.0.0.0/8", "::1/128")), Answer)
    assert "is not allowed" in str(ask(call, allowed=("192.0.2.0/24",)))
    text = ask(Call("https://no-such-name.invalid:443/"))
    assert text == "dial tcp: lookup no-such-name.invalid: no such host"


def test_redirects_are_not_followed(server: Server) -> None:
    answer = ask(trusted(server, "/moved"))
    assert isinstance(answer, Answer)
    assert answer.status == 302


def test_an_answer_is_bounded(server: Server) -> None:
    assert "response body larger than" in str(ask(trusted(server, "/large")))


def test_plain_http_behind_an_https_url_is_named() -> None:
    class Quiet(http.server.BaseHTTPRequestHandler):
        def log_message(self, format: str, *_arguments: object) -> None:
            return

    plain = http.server.HTTPServer(("127.0.0.1", 0), Quiet)
    thread = threading.Thread(target=plain.handle_request, daemon=True)
    thread.start()
    text = ask(Call(f"https://127.0.0.1:{plain.server_port}/"))
    plain.server_close()
    thread.join()
    assert text == "http: server gave HTTP response to HTTPS client"


def test_a_connection_stays_and_what_comes_are_inputs(tmp_path: Path) -> None:
    hosting = Host()

    async def run() -> tuple[list[bytes | None], bytes]:
        loop = asyncio.get_running_loop()
        heard: list[bytes] = []
        made = httpsserver.certificate("127.0.0.1")
        chain = tmp_path / "chain.pem"
        chain.write_text(made.pem + made.key_pem)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(chain)

        async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while data := await reader.read(100):
                heard.append(data)
                writer.write(data.upper())
            writer.close()

        server = await asyncio.start_server(echo, "127.0.0.1", 0, ssl=context)
        port = server.sockets[0].getsockname()[1]
        network = Network(loop, cast(Inbox, hosting), LOOPBACK)
        opened: asyncio.Future[Line | CallFailed] = loop.create_future()
        arrived: asyncio.Queue[bytes | None] = asyncio.Queue()
        call = Call(f"https://127.0.0.1:{port}/", ca_pem=made.ca_pem)
        dial = Dial(str(call.to), "127.0.0.1", port, "127.0.0.1")
        network.open(call, dial, opened.set_result, arrived.put_nowait)
        line = await opened
        assert not isinstance(line, CallFailed)
        got: list[bytes | None] = []
        for word in (b"one", b"two"):
            line.write(word)
            got.append(await arrived.get())
            line.took(3)
        line.close()
        got.append(await arrived.get())
        server.close()
        return got, b"".join(heard)

    assert asyncio.run(run()) == ([b"ONE", b"TWO", None], b"onetwo")
    assert [what for what, _ in hosting.logged] == ["dialled", "wire", "wire", "wire"]
    assert hosting.asking == 0


def test_a_connection_that_is_refused_is_reported() -> None:
    hosting = Host()

    async def run() -> Line | CallFailed:
        loop = asyncio.get_running_loop()
        network = Network(loop, cast(Inbox, hosting), LOOPBACK)
        opened: asyncio.Future[Line | CallFailed] = loop.create_future()
        dial = Dial("https://192.0.2.7/", "192.0.2.7", 443, "x")
        network.open(Call("https://192.0.2.7/"), dial, opened.set_result, lambda _: None)
        return await opened

    assert "the address is not allowed" in str(asyncio.run(run()))
