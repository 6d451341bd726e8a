"""Parses the head of an HTTP/1 request as strictly as Go's server, with its error messages.

Takes bytes and returns a Head or raises Refused; needs no socket and no clock. Stricter than Go
about forms that serve request smuggling: folded headers, Content-Length beside Transfer-Encoding,
Transfer-Encoding in HTTP/1.0. Answers 400 where Go answers 501 (encoding) or 505 (version).

Models Go's net/http: request.go (readRequest), transfer.go (fixLength, parseTransferEncoding),
server.go (conn.readRequest, conn.serve), and net/url's ParseRequestURI.
"""

from __future__ import annotations

import re

import msgspec

HEAD_BYTES_MAX = (1 << 20) + 4096  # of a request line and its headers: DefaultMaxHeaderBytes
LENGTH_DIGITS_MAX = 19  # of a Content-Length, which is an int64

_END = re.compile(rb"\n\r?\n")
_TOKEN = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_CONTROL = re.compile(rb"[\x00-\x08\x0a-\x1f\x7f]")
_HOST = re.compile(rb"[0-9A-Za-z!$%&'()*+,\-.:;=\[\]_~]*")
_VERSION = re.compile(rb"HTTP/[0-9]\.[0-9]")
_ABSOLUTE = re.compile(rb"[A-Za-z][A-Za-z0-9+\-.]*://([^/?]*)")
_BAD_ESCAPE = re.compile(rb"%(?![0-9A-Fa-f]{2})")
_HIGH = re.compile(rb"[\x80-\xff]")


class Refused(Exception):
    """Ends the connection with a plain text answer, as Go does. `status` has code and phrase."""

    def __init__(self, status: str, text: str = "") -> None:
        self.status = status
        self.text = text or status
        super().__init__(self.text)

    def answer(self) -> bytes:
        """Returns the complete answer with its head."""
        return (
            f"HTTP/1.1 {self.status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Connection: close\r\n\r\n{self.text}"
        ).encode()


BAD = "400 Bad Request"
TOO_LARGE = "431 Request Header Fields Too Large"


class Head(msgspec.Struct, frozen=True):
    """A request without its body. `path` and `query` are ASCII, percent-encoded where necessary;
    header names are in lower case."""

    method: bytes
    path: bytes
    query: bytes
    version: bytes
    headers: list[tuple[bytes, bytes]]
    length: int | None  # None: in chunks
    persistent: bool
    waits: bool  # the client expects a 100 before it sends its body

    @property
    def uri(self) -> bytes:
        """Returns path and query."""
        return self.path + b"?" + self.query if self.query else self.path

    def first(self, name: bytes) -> bytes:
        """Returns the first value of a header, or an empty value."""
        return next((value for key, value in self.headers if key == name), b"")


def end_of(data: bytearray, seen: int) -> int:
    """Returns where the head at the start of `data` ends, or -1; skips `seen` searched bytes."""
    match = _END.search(data, max(0, seen - 2))
    return match.end() if match else -1


def begins(data: bytearray) -> bool:
    """Reports whether the first line is complete. Raises Refused once it cannot become a head."""
    line, newline, _ = data.partition(b"\n")
    if newline:
        _request_line(bytes(line).removesuffix(b"\r"))
    return bool(newline)


def parse(data: bytes) -> Head:
    """Parses a head up to its empty line. Raises Refused."""
    first, *lines = data.split(b"\n")
    method, target, version = _request_line(first.removesuffix(b"\r"))
    headers = [_header(line) for line in lines if line not in (b"", b"\r")]
    path, query, host = _target(method, target)
    _check_host([value for name, value in headers if name == b"host"], version)
    if host is not None:
        headers = [pair for pair in headers if pair[0] != b"host"] + [(b"host", host)]
    return Head(
        method, path, query, version, headers, _length(headers, version), *_wishes(headers, version)
    )


def _request_line(line: bytes) -> tuple[bytes, bytes, bytes]:
    method, _, rest = line.partition(b" ")
    target, _, version = rest.partition(b" ")
    if not _TOKEN.fullmatch(method) or not _VERSION.fullmatch(version):
        raise Refused(BAD)
    if version[5:6] != b"1":
        raise Refused(BAD, f"{BAD}: unsupported protocol version")
    return method, target, b"HTTP/1.0" if version == b"HTTP/1.0" else b"HTTP/1.1"


def _header(line: bytes) -> tuple[bytes, bytes]:
    name, colon, value = line.removesuffix(b"\r").partition(b":")
    if not colon:
        raise Refused(BAD)
    if not _TOKEN.fullmatch(name):
        raise Refused(BAD, f"{BAD}: invalid header name")
    if _CONTROL.search(value):
        raise Refused(BAD, f"{BAD}: invalid header value")
    return name.lower(), value.strip(b" \t")


def _target(method: bytes, target: bytes) -> tuple[bytes, bytes, bytes | None]:
    """Returns path, query, and the host of an absolute-form target."""
    host = None
    if absolute := _ABSOLUTE.match(target):
        host = absolute[1]
        target = target[absolute.end() :]
        if target[:1] != b"/":
            target = b"/" + target
        if not _HOST.fullmatch(host):
            raise Refused(BAD)
    path, _, query = target.partition(b"?")
    asterisk = path == b"*" and method == b"OPTIONS"
    if not (path.startswith(b"/") or asterisk) or _CONTROL.search(target) or b"\t" in target:
        raise Refused(BAD)
    if _BAD_ESCAPE.search(path):
        raise Refused(BAD)
    return _ascii(path), _ascii(query), host


def _ascii(data: bytes) -> bytes:
    return _HIGH.sub(lambda match: b"%%%02X" % match[0][0], data)


def _check_host(hosts: list[bytes], version: bytes) -> None:
    if not hosts and version == b"HTTP/1.1":
        raise Refused(BAD, f"{BAD}: missing required Host header")
    if len(hosts) > 1:
        raise Refused(BAD, f"{BAD}: too many Host headers")
    if hosts and not _HOST.fullmatch(hosts[0]):
        raise Refused(BAD, f"{BAD}: malformed Host header")


def _length(headers: list[tuple[bytes, bytes]], version: bytes) -> int | None:
    """Returns the length of the body; None when it is chunked."""
    encodings = [value for name, value in headers if name == b"transfer-encoding"]
    lengths = {value for name, value in headers if name == b"content-length"}
    if encodings:
        chunked = len(encodings) == 1 and encodings[0].lower() == b"chunked"
        if not chunked or lengths or version != b"HTTP/1.1":
            raise Refused(BAD, f"{BAD}: unsupported transfer encoding")
        return None
    if not lengths:
        return 0
    (text,) = lengths if len(lengths) == 1 else (b"",)
    # bytes.isdigit accepts only ASCII digits
    if not text.isdigit() or len(text) > LENGTH_DIGITS_MAX:
        raise Refused(BAD)
    return int(text)


def _wishes(headers: list[tuple[bytes, bytes]], version: bytes) -> tuple[bool, bool]:
    """Returns whether the connection is kept alive, and whether the client expects a 100."""
    wishes = [value.lower() for name, value in headers if name == b"connection"]
    close = any(part.strip() == b"close" for value in wishes for part in value.split(b","))
    expected = [value.lower() for name, value in headers if name == b"expect" and value]
    if any(value != b"100-continue" for value in expected):
        raise Refused("417 Expectation Failed")
    return version == b"HTTP/1.1" and not close, bool(expected) and version == b"HTTP/1.1"
