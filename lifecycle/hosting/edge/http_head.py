"""The head of an HTTP/1 request, read as strictly as Go's server reads it, or refused in its words.

Bytes in, a Head or a Refused out; no socket and no clock. Stricter than Go in what only somebody
who wants two readers to disagree sends: a header over several lines, a length beside an encoding,
an encoding in HTTP/1.0. Where Go blames itself (501 for an encoding, 505 for a version) this is a
400 like every other bad head.

Models Go's net/http: request.go (readRequest), transfer.go (fixLength, parseTransferEncoding),
server.go (conn.readRequest, conn.serve), and net/url's ParseRequestURI.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

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
    """This connection ends with an answer in plain text, as Go's do; `status` is its status line's
    end, `text` what it says."""

    def __init__(self, status: str, text: str = "") -> None:
        self.status = status
        self.text = text or status
        super().__init__(self.text)

    def answer(self) -> bytes:
        """All of it."""
        return (
            f"HTTP/1.1 {self.status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
            f"Connection: close\r\n\r\n{self.text}"
        ).encode()


BAD = "400 Bad Request"
TOO_LARGE = "431 Request Header Fields Too Large"


@dataclass(frozen=True, slots=True)
class Head:
    """A request but for its body. `path` and `query` are ASCII, percent-encoded where they have to
    be; the names of headers are in small letters."""

    method: bytes
    path: bytes
    query: bytes
    version: bytes
    headers: list[tuple[bytes, bytes]]
    length: int | None  # None: in chunks
    persistent: bool
    waits: bool  # for a 100 before it sends its body

    @property
    def uri(self) -> bytes:
        """Path and query."""
        return self.path + b"?" + self.query if self.query else self.path

    def first(self, name: bytes) -> bytes:
        """The first value of a header, or none."""
        return next((value for key, value in self.headers if key == name), b"")


def end_of(data: bytearray, seen: int) -> int:
    """Where the head ends that `data` begins with, or -1; `seen` bytes were looked at before."""
    found = _END.search(data, max(0, seen - 2))
    return found.end() if found else -1


def begins(data: bytearray) -> bool:
    """Whether the first line is there; what cannot become a head is refused before it is."""
    line, newline, _ = data.partition(b"\n")
    if newline:
        _request_line(bytes(line).removesuffix(b"\r"))
    return bool(newline)


def parse(data: bytes) -> Head:
    """The head that `data` is, up to its empty line. Raises Refused."""
    first, *lines = data.split(b"\n")
    method, target, version = _request_line(first.removesuffix(b"\r"))
    headers = [_header(line) for line in lines if line not in (b"", b"\r")]
    path, query, host = _target(method, target)
    _check_host([value for name, value in headers if name == b"host"], version)
    if host is not None:
        headers = [pair for pair in headers if pair[0] != b"host"] + [(b"host", host)]
    return Head(
        method, path, query, version, headers, _length(headers, version),
        *_wishes(headers, version),
    )  # fmt: skip


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
    """(path, query, the host of an absolute form)."""
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
    return _HIGH.sub(lambda found: b"%%%02X" % found[0][0], data)


def _check_host(hosts: list[bytes], version: bytes) -> None:
    if not hosts and version == b"HTTP/1.1":
        raise Refused(BAD, f"{BAD}: missing required Host header")
    if len(hosts) > 1:
        raise Refused(BAD, f"{BAD}: too many Host headers")
    if hosts and not _HOST.fullmatch(hosts[0]):
        raise Refused(BAD, f"{BAD}: malformed Host header")


def _length(headers: list[tuple[bytes, bytes]], version: bytes) -> int | None:
    """Of the body; None when it comes in chunks."""
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
    # isdigit of bytes is that of ASCII
    if not text.isdigit() or len(text) > LENGTH_DIGITS_MAX:
        raise Refused(BAD)
    return int(text)


def _wishes(headers: list[tuple[bytes, bytes]], version: bytes) -> tuple[bool, bool]:
    """(whether the connection goes on, whether a 100 is waited for)."""
    wishes = [value.lower() for name, value in headers if name == b"connection"]
    close = any(one.strip() == b"close" for value in wishes for one in value.split(b","))
    expected = [value.lower() for name, value in headers if name == b"expect" and value]
    if any(value != b"100-continue" for value in expected):
        raise Refused("417 Expectation Failed")
    return version == b"HTTP/1.1" and not close, bool(expected) and version == b"HTTP/1.1"
