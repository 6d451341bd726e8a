"""HTTP at the edge: what reaches the worker, what comes back, and what is refused on the way."""

from __future__ import annotations

import email.utils
import gzip
import http.client
import json
import re
import socket
import time
from typing import Any

import pytest

from apiserver_app.machinery.net.httpwire import REQUEST_BYTES_MAX
from lifecycle.hosting.edge.adapter import server
from tests.lifecycle.hosting.running import WAIT_SECONDS, Demo, Peak
from tests.suite import waiting


def until_cancelled(demo: Demo, before: int) -> None:
    waiting.until(
        lambda: demo.act("seen")["cancelled"],
        what=f"the worker is told of the client that left after {before} others",
        true=lambda now: now > before,
    )


def echo(answer: http.client.HTTPResponse) -> dict[str, Any]:
    return dict(json.loads(answer.read()))


def test_request_reaches_the_worker_as_the_client_sent_it(demo: Demo) -> None:
    got = echo(demo.ask("PATCH", "/api/v1/a%2Fb/?x=%20y&x=+", b"{}", X_Forwarded_For="6.6.6.6"))
    assert (got["method"], got["path"], got["query"]) == ("PATCH", "/api/v1/a%2Fb/", "x=%20y&x=+")
    assert got["body"] == "{}"
    assert got["address"].startswith("127.0.0.1:")
    assert got["tls"] is None


def test_cluster_prefix_is_taken_off(demo: Demo) -> None:
    got = echo(demo.get("/clusters/blue-1/api/v1/pods?limit=1"))
    assert (got["cluster"], got["path"], got["query"]) == ("blue-1", "/api/v1/pods", "limit=1")
    assert echo(demo.get("/clusters/blue-1"))["path"] == "/"
    assert echo(demo.get("/version/"))["cluster"] == "demo"


def test_cluster_name_that_cannot_be_is_not_found(demo: Demo) -> None:
    answer = demo.get("/clusters/No_Such/api")
    assert answer.status == 404
    assert echo(answer)["reason"] == "NotFound"


def test_answers_are_dated_and_have_a_length(demo: Demo) -> None:
    before = int(time.time())
    answer = demo.get("/api")
    date = email.utils.parsedate_to_datetime(answer.headers["Date"]).timestamp()
    assert before <= date <= time.time()
    assert int(answer.headers["Content-Length"]) == len(answer.read())
    assert answer.headers["Audit-Id"] == "1"


def test_head_has_no_body_and_the_connection_goes_on(demo: Demo) -> None:
    connection = demo.connect()
    for _ in range(2):
        connection.request("HEAD", "/api")
        answer = connection.getresponse()
        assert answer.status == 200 and answer.read() == b""


def test_options_reach_the_worker(demo: Demo) -> None:
    assert echo(demo.ask("OPTIONS", "/api", b""))["method"] == "OPTIONS"


def test_body_at_the_limit_passes(demo: Demo) -> None:
    body = b"x" * REQUEST_BYTES_MAX
    assert len(echo(demo.ask("POST", "/api", body))["body"]) == REQUEST_BYTES_MAX


@pytest.mark.parametrize("chunked", [False, True])
def test_body_over_the_limit_is_413_and_the_connection_goes_on(demo: Demo, chunked: bool) -> None:
    connection = demo.connect()
    body = b"x" * (REQUEST_BYTES_MAX + 1)
    connection.request(
        "POST",
        "/api",
        iter([body]) if chunked else body,
        encode_chunked=chunked,
        headers={"Transfer-Encoding": "chunked"} if chunked else {},
    )
    answer = connection.getresponse()
    status = echo(answer)
    assert answer.status == 413
    assert (status["kind"], status["reason"]) == ("Status", "RequestEntityTooLarge")
    assert status["message"] == "Request entity too large: limit is 3145728"
    connection.request("GET", "/api")
    assert connection.getresponse().status == 200


def test_body_that_promises_far_too_much_is_refused_before_it_comes(demo: Demo) -> None:
    with socket.create_connection(demo.authority, WAIT_SECONDS) as client:
        length = server.DRAIN_BYTES_MAX + 1
        client.sendall(
            f"POST /api HTTP/1.1\r\nHost: x\r\nContent-Length: {length}\r\n\r\n".encode()
        )
        data = client.makefile("rb").read()
    assert data.startswith(b"HTTP/1.1 413 ")
    assert b"Connection: close" in data and b'"code":413' in data


def test_stream_arrives_chunk_by_chunk_with_its_head_first(demo: Demo) -> None:
    stream = demo.get("/stream")
    assert stream.status == 200 and stream.headers["Transfer-Encoding"] == "chunked"
    for line in (b'{"type":"ADDED"}\n', b'{"type":"DELETED"}\n'):
        demo.act("stream", data=line.decode())
        assert stream.readline() == line
    demo.act("end")
    assert stream.read() == b""


def test_client_that_leaves_a_stream_cancels_it(demo: Demo) -> None:
    before = demo.act("seen")
    connection = demo.connect()
    connection.request("GET", "/stream")
    stream = connection.getresponse()
    assert demo.act("seen")["streams"] == before["streams"] + 1
    stream.close()
    connection.close()
    until_cancelled(demo, before["cancelled"])
    assert demo.act("seen")["streams"] == before["streams"]


def test_client_that_leaves_before_the_answer_cancels_the_request(demo: Demo) -> None:
    before = demo.act("seen")["cancelled"]
    with socket.create_connection(demo.authority, WAIT_SECONDS) as client:
        client.sendall(b"GET /never HTTP/1.1\r\nHost: x\r\n\r\n")
        demo.act("seen")  # the request before this one has been taken
    until_cancelled(demo, before)


def test_client_that_does_not_read_is_cut_off_and_costs_little(demo: Demo) -> None:
    before, flooded = demo.act("seen")["cancelled"], Peak(demo.endpoints["pid"])
    with socket.create_connection(demo.authority, WAIT_SECONDS) as client:
        client.sendall(b"GET /flood HTTP/1.1\r\nHost: x\r\n\r\n")
        until_cancelled(demo, before)
        grown = flooded.growth()
    kept = Peak(demo.endpoints["pid"])  # the control: an answer in one piece is held until read
    demo.get("/big?n=64000000").read()
    assert grown < kept.growth() / 2


def test_large_answer_is_complete(demo: Demo) -> None:
    assert len(demo.get("/big?n=20000000").read()) == 20_000_000


def test_refused_upgrade_is_a_plain_request_to_the_worker(demo: Demo) -> None:
    for protocol in ("websocket", "SPDY/3.1"):
        answer = demo.ask(
            "POST",
            "/api/v1/namespaces/a/pods/b/exec",
            b"",
            Connection="Upgrade",
            Upgrade=protocol,
            X_Stream_Protocol_Version="v4.channel.k8s.io",
        )
        assert answer.status == 200
        assert echo(answer)["path"].endswith("/exec")


def test_pipelined_requests_are_answered_in_order(demo: Demo) -> None:
    with socket.create_connection(demo.authority, WAIT_SECONDS) as client:
        client.sendall(
            b"GET /one HTTP/1.1\r\nHost: x\r\n\r\n"
            b"GET /two HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        )
        data = client.makefile("rb").read()
    assert data.count(b"HTTP/1.1 200 OK") == 2
    assert data.index(b"/one") < data.index(b"/two")


def test_garbage_is_refused_and_hurts_nobody(demo: Demo) -> None:
    for garbage in (b"\x16\x03\x01", b"GET /\x7f HTTP/1.1\r\nHost: x\r\n\r\n", b"NO\r\n\r\n"):
        with socket.create_connection(demo.authority, WAIT_SECONDS) as client:
            client.sendall(garbage + b"\r\n\r\n")
            client.shutdown(socket.SHUT_WR)
            assert not client.makefile("rb").read().startswith(b"HTTP/1.1 200")
    assert demo.get("/api").status == 200


def test_a_byte_outside_ascii_in_a_path_is_passed_on_escaped_as_go_does(demo: Demo) -> None:
    with socket.create_connection(demo.authority, WAIT_SECONDS) as client:
        client.sendall(b"GET /\xff HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        head, _, body = client.makefile("rb").read().partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 200 OK")
    assert json.loads(body)["path"] == "/%FF"


def test_root_is_the_page_for_browsers_and_the_api_for_api_clients(demo: Demo) -> None:
    page = demo.get("/", Accept="text/html,*/*", **demo.credential)
    assert page.headers["Content-Type"].startswith("text/html")
    assert "default-src 'self'" in page.headers["Content-Security-Policy"]
    text = page.read().decode()
    assert 'data-cluster="demo"' in text
    for name in re.findall(r'(?:src|href)="(/[^"]+)"', text):
        assert demo.get(name).status == 200, name
    assert echo(demo.get("/", Accept="application/json, */*"))["path"] == "/"


def test_static_files_are_typed_revalidated_and_confined(demo: Demo) -> None:
    answer = demo.get("/static/css/tokens.css")
    assert answer.headers["Content-Type"] == "text/css; charset=utf-8"
    assert (text := answer.read())
    again = demo.get("/static/css/tokens.css", If_None_Match=answer.headers["ETag"])
    assert (again.status, again.read()) == (304, b"")
    packed = demo.get("/static/css/tokens.css", Accept_Encoding="gzip, br")
    assert packed.headers["Content-Encoding"] == "gzip"
    assert packed.headers["ETag"] != answer.headers["ETag"]
    assert gzip.decompress(packed.read()) == text
    again = demo.get(
        "/static/css/tokens.css", Accept_Encoding="gzip", If_None_Match=packed.headers["ETag"]
    )
    assert again.status == 304
    for path in ("/static/../manage.py", "/static/%2e%2e/manage.py", "/static/css", "/static/nope",
                 "/static/%00", "/static//etc/passwd"):  # fmt: skip
        assert demo.get(path).status == 404
    assert demo.ask("POST", "/static/css/tokens.css", b"").status == 405
