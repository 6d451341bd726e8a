"""HTTP/1.1 answers, however they are cut."""

from __future__ import annotations

import asyncio

import pytest

from apiserver_app.machinery.net import httpwire

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n"


class Pieces:
    """A connection on which these pieces come."""

    def __init__(self, data: bytes, size: int) -> None:
        self.pieces = [data[at : at + size] for at in range(0, len(data), size)]
        self.written = b""

    async def read(self) -> bytes | None:
        return self.pieces.pop(0) if self.pieces else None

    def write(self, data: bytes) -> None:
        self.written += data

    def close(self) -> None:
        self.pieces.clear()


def read(data: bytes, size: int = 3, *, to_head: bool = False) -> tuple[httpwire.Head, bytes]:
    async def run() -> tuple[httpwire.Head, bytes]:
        answer = httpwire.Answer(Pieces(data, size), to_head=to_head)
        head, body = await answer.head(), b""
        while (piece := await answer.piece()) is not None:
            body += piece
        return head, body

    return asyncio.run(run())


@pytest.mark.parametrize("size", [1, 3, 1000])
@pytest.mark.parametrize(
    ("rest", "body"),
    [
        (b"Content-Length: 5\r\n\r\nhello", b"hello"),
        (b"Transfer-Encoding: chunked\r\n\r\n3\r\nhel\r\n2;x=y\r\nlo\r\n0\r\n\r\n", b"hello"),
        (b"\r\nhello", b"hello"),
        (b"Content-Length: 0\r\n\r\n", b""),
    ],
)
def test_a_body_ends_where_its_head_says(rest: bytes, body: bytes, size: int) -> None:
    head, found = read(HEAD + rest, size)
    assert (head.status, head.first("content-type"), found) == (200, "text/plain", body)


def test_what_only_announces_is_skipped_and_a_head_has_no_body() -> None:
    head, body = read(
        b"HTTP/1.1 100 Continue\r\n\r\n" + HEAD + b"Content-Length: 9\r\n\r\n", to_head=True
    )
    assert (head.status, body) == (200, b"")


def test_what_follows_a_granted_upgrade_is_kept() -> None:
    async def run() -> bytes:
        answer = httpwire.Answer(Pieces(b"HTTP/1.1 101 X\r\nUpgrade: y\r\n\r\nmore", 100))
        assert (await answer.head()).status == 101
        return answer.waiting

    assert asyncio.run(run()) == b"more"


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "EOF"),
        (b"HTTP/1.1 200", "unexpected EOF"),
        (b"SSH-2.0\r\n\r\n", 'malformed HTTP response "SSH-2.0"'),
        (HEAD + b"Content-Length: 5\r\n\r\nhe", "unexpected EOF"),
        (HEAD + b"Transfer-Encoding: chunked\r\n\r\nz\r\n", "invalid byte in chunk length"),
        (HEAD + b"Content-Length: -5\r\n\r\n", "bad Content-Length '-5'"),
    ],
)
def test_what_is_no_answer_is_told_in_gos_words(data: bytes, why: str) -> None:
    with pytest.raises(httpwire.Malformed) as caught:
        read(data)
    assert str(caught.value) == why


def test_a_request_is_written_with_its_body() -> None:
    sent = httpwire.request("POST", "/a?b", [("host", "x"), ("x-own", "1")], b"body")
    assert sent == b"POST /a?b HTTP/1.1\r\nHost: x\r\nX-Own: 1\r\nContent-Length: 4\r\n\r\nbody"
