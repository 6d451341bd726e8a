"""Serves the page's files under /static as raw ASGI, before Django is imported.

Serves only regular files below one folder. Browsers revalidate them by ETag, so that a change on
disk shows at the next reload. Text is packed once for all who take gzip.
"""

from __future__ import annotations

import gzip
import mimetypes
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from apiserver_app.machinery import errors
from lifecycle.hosting.edge import answers

# listed here because the operating system's table may lack them or differ
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
    ".yaml": "text/yaml; charset=utf-8",
}
PREFIX = "/static/"
PACKED_TYPES = frozenset({".css", ".js", ".svg"})
PACKED_MAX = 1000  # files; then all is packed anew


class StaticFiles:
    """The files below `root`."""

    def __init__(self, root: Path) -> None:
        self._root = root.resolve()
        self._packed: dict[str, bytes] = {}

    async def serve(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        for message in self.answer(scope["method"], scope["raw_path"].decode("ascii"), scope):
            await send(message)

    def answer(self, method: str, path: str, scope: dict[str, Any]) -> list[dict[str, Any]]:
        if method not in ("GET", "HEAD"):
            return answers.messages_of(errors.method_not_allowed("", "static", method.lower()))
        file = self._find(unquote(path[len(PREFIX) :]))
        if file is None:
            return answers.messages_of(errors.path_not_found())
        stat = file.stat()
        asked = dict(scope["headers"])
        is_packed = file.suffix in PACKED_TYPES and b"gzip" in asked.get(b"accept-encoding", b"")
        version = f"{stat.st_mtime_ns:x}-{stat.st_size:x}"
        tag = f'"{version}-gzip"' if is_packed else f'"{version}"'
        headers = [
            (b"content-type", _type_of(file).encode()),
            (b"cache-control", b"no-cache"),
            (b"etag", tag.encode()),
            (b"vary", b"Accept-Encoding"),
            (b"x-content-type-options", b"nosniff"),
            (b"content-security-policy", b"default-src 'self'; object-src 'none'"),
        ]
        if asked.get(b"if-none-match") == tag.encode():
            return _messages(304, headers, b"")
        body = file.read_bytes()
        if is_packed:
            headers.append((b"content-encoding", b"gzip"))
            body = self._pack(f"{file}-{version}", body)
        return _messages(200, [*headers, (b"content-length", b"%d" % len(body))], body)

    def _pack(self, key: str, body: bytes) -> bytes:
        if key not in self._packed:
            if len(self._packed) >= PACKED_MAX:
                self._packed.clear()
            self._packed[key] = gzip.compress(body, mtime=0)
        return self._packed[key]

    def _find(self, name: str) -> Path | None:
        """Returns the regular file of that name inside the folder, or None."""
        try:
            file = (self._root / name).resolve()
            return file if file.is_relative_to(self._root) and file.is_file() else None
        except (OSError, ValueError):  # not a valid file name
            return None


def _type_of(file: Path) -> str:
    known = TYPES.get(file.suffix)
    return known or mimetypes.guess_type(file.name)[0] or "application/octet-stream"


def _messages(status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> list[dict[str, Any]]:
    return [
        {"type": "http.response.start", "status": status, "headers": headers},
        {"type": "http.response.body", "body": body},
    ]
