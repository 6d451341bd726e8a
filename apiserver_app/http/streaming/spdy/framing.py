"""SPDY/3.1 frames: bytes in, frames out, and back. Pure; it knows no streams and no sockets.

Header blocks are compressed with zlib and the dictionary of SPDY/3, one stream of compression for
each direction of a connection. There is no flow control of streams: the clients of Kubernetes
neither send nor obey WINDOW_UPDATE. What breaks the protocol raises SpdyError, after which nothing
more can be read. Memory is bounded: by FRAME_BYTES_MAX for a frame and HEADERS_BYTES_MAX for a
header block.

Models the draft draft-mbelshe-httpbis-spdy-00 (SPDY/3) and github.com/moby/spdystream/spdy.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator

import msgspec

VERSION = 3
SYN_STREAM, SYN_REPLY, RST_STREAM, SETTINGS = 1, 2, 3, 4
PING, GOAWAY, HEADERS, WINDOW_UPDATE = 6, 7, 8, 9
FLAG_FIN = 1
REFUSED_STREAM = 3
FRAME_BYTES_MAX = 1 << 20
HEADERS_BYTES_MAX = 64 << 10
HEADERS_MAX = 256

Headers = dict[str, str]


class SpdyError(Exception):
    """The other side broke the protocol."""


class Frame(msgspec.Struct, frozen=True):
    """One frame. `kind` is 0 for data; `number` is a stream's, a ping's, or a status."""

    kind: int
    stream: int = 0
    fin: bool = False
    data: bytes = b""
    headers: Headers | None = None
    number: int = 0


class Codec:
    """Both directions of one connection, as its server or its client sees them."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._inflate = zlib.decompressobj(zdict=DICTIONARY)
        self._deflate = zlib.compressobj(zdict=DICTIONARY)

    def feed(self, data: bytes) -> Iterator[Frame]:
        """Every frame that is whole now. Raises SpdyError at the first bad one."""
        self._buffer += data
        start, have = 0, len(self._buffer)
        try:
            while have - start >= 8:
                first, second = struct.unpack_from(">II", self._buffer, start)
                size = second & 0xFFFFFF
                if size > FRAME_BYTES_MAX:
                    raise SpdyError(f"a frame of {size} bytes is longer than {FRAME_BYTES_MAX}")
                if have - start - 8 < size:
                    break
                body = bytes(memoryview(self._buffer)[start + 8 : start + 8 + size])
                start += 8 + size
                frame = self._frame(first, second >> 24, body)
                if frame is not None:
                    yield frame
        finally:
            del self._buffer[:start]

    def syn_stream(self, stream: int, headers: Headers, *, fin: bool = False) -> bytes:
        body = struct.pack(">IIH", stream, 0, 0) + self._block(headers)
        return _control(SYN_STREAM, FLAG_FIN if fin else 0, body)

    def syn_reply(self, stream: int) -> bytes:
        return _control(SYN_REPLY, 0, struct.pack(">I", stream) + self._block({}))

    # -- inside ---------------------------------------------------------------------------------

    def _frame(self, first: int, flags: int, body: bytes) -> Frame | None:
        fin = bool(flags & FLAG_FIN)
        if not first & 0x80000000:
            if not first:
                raise SpdyError("data for stream 0")
            return Frame(0, first, fin, body)
        if (first >> 16) & 0x7FFF != VERSION:
            raise SpdyError(f"version {(first >> 16) & 0x7FFF} is not spoken here")
        kind = first & 0xFFFF
        sizes = _SIZES.get(kind)
        if sizes is None:
            return None  # of a later draft: passed over
        least, exact = sizes
        if len(body) < least or exact and len(body) != least:
            raise SpdyError(f"a frame of kind {kind} with {len(body)} bytes")
        if kind == SETTINGS:
            return Frame(kind)
        (number,) = struct.unpack_from(">I", body)
        if kind == PING:
            return Frame(kind, number=number)
        stream = number & 0x7FFFFFFF
        if kind in (SYN_STREAM, SYN_REPLY, HEADERS):
            return Frame(kind, stream, fin, headers=self._headers(body[least:]))
        extra = struct.unpack_from(">I", body, 4)[0]
        return Frame(kind, stream, fin, number=extra)

    def _headers(self, block: bytes) -> Headers:
        try:
            raw = self._inflate.decompress(block, HEADERS_BYTES_MAX)
        except zlib.error as error:
            raise SpdyError(f"headers that cannot be inflated: {error}") from error
        if self._inflate.unconsumed_tail:
            raise SpdyError(f"headers longer than {HEADERS_BYTES_MAX} bytes")
        headers: Headers = {}
        try:
            (count,) = struct.unpack_from(">I", raw)
            if count > HEADERS_MAX:
                raise SpdyError(f"{count} headers")
            at = 4
            for _ in range(count):
                name, at = _text(raw, at)
                value, at = _text(raw, at)
                headers[name.lower()] = value
        except struct.error as error:
            raise SpdyError("a header block that ends too early") from error
        return headers

    def _block(self, headers: Headers) -> bytes:
        parts = [struct.pack(">I", len(headers))]
        for name, value in headers.items():
            for text in (name.lower().encode("latin-1"), value.encode("latin-1")):
                parts += (struct.pack(">I", len(text)), text)
        return self._deflate.compress(b"".join(parts)) + self._deflate.flush(zlib.Z_SYNC_FLUSH)


def data(stream: int, body: bytes, *, fin: bool = False) -> bytes:
    return struct.pack(">II", stream, (FLAG_FIN << 24 if fin else 0) | len(body)) + body


def rst_stream(stream: int, status: int) -> bytes:
    return _control(RST_STREAM, 0, struct.pack(">II", stream, status))


def ping(number: int) -> bytes:
    return _control(PING, 0, struct.pack(">I", number))


def goaway(last: int) -> bytes:
    return _control(GOAWAY, 0, struct.pack(">II", last, 0))


def _control(kind: int, flags: int, body: bytes) -> bytes:
    return struct.pack(">HHI", 0x8000 | VERSION, kind, flags << 24 | len(body)) + body


def _text(raw: bytes, at: int) -> tuple[str, int]:
    (size,) = struct.unpack_from(">I", raw, at)
    end = at + 4 + size
    if end > len(raw):
        raise SpdyError("a header block that ends too early")
    return raw[at + 4 : end].decode("latin-1"), end


def _dictionary(words: str, rest: str) -> bytes:
    sized = [word.replace("_", " ").encode() for word in words.split()]
    return b"".join(struct.pack(">I", len(word)) + word for word in sized) + rest.encode()


# kind -> (least bytes of the body, whether it has no more)
_SIZES = {
    SYN_STREAM: (10, False), SYN_REPLY: (4, False), RST_STREAM: (8, True), SETTINGS: (4, False),
    PING: (4, True), GOAWAY: (8, True), HEADERS: (4, False), WINDOW_UPDATE: (8, True),
}  # fmt: skip

# the draft's section 2.6.10.1: words with their lengths, then text as it is
DICTIONARY = _dictionary(
    """
    options head post put delete trace accept accept-charset accept-encoding accept-language
    accept-ranges age allow authorization cache-control connection content-base content-encoding
    content-language content-length content-location content-md5 content-range content-type date
    etag expect expires from host if-match if-modified-since if-none-match if-range
    if-unmodified-since last-modified location max-forwards pragma proxy-authenticate
    proxy-authorization range referer retry-after server te trailer transfer-encoding upgrade
    user-agent vary via warning www-authenticate method get status 200_OK version HTTP/1.1 url
    public set-cookie keep-alive origin
    """,
    "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505"
    "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 "
    "Unauthorized403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 "
    "Service UnavailableJan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, "
    "Thu, Fri, Sat, Sun, GMTchunked,text/html,image/png,image/jpg,image/gif,application/xml,"
    "application/xhtml+xml,text/plain,text/javascript,publicprivatemax-age=gzip,deflate,sdch"
    "charset=utf-8charset=iso-8859-1,utf-,*,enq=0.",
)
