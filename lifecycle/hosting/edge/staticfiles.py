"""Serves the page's files under /static as raw ASGI, before Django is imported.

Serves only regular files below one folder. Browsers revalidate them by ETag, so that a change on
disk shows at the next reload; the icon is kept for a day, for Chromium asks for it at each change
of the address. Text is packed once for all who take gzip. Below /static/joined is what making.py
makes of them; by an address that names its version a browser may keep it.
"""

from __future__ import annotations

import asyncio
import gzip
import mimetypes
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from apiserver_app.machinery import errors
from lifecycle.hosting.edge import answers, making, pagefiles

# listed here because the operating system's table may lack them or differ
TYPES = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".json": "application/json",
    ".map": "application/json",
    ".mjs": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
    ".yaml": "text/yaml; charset=utf-8",
}
Messages = list[dict[str, Any]]

PREFIX = making.PREFIX
KEPT = b"public, max-age=31536000, immutable"
ICON_KEPT = b"public, max-age=86400"
PACKED_TYPES = frozenset({".css", ".js", ".map", ".svg"})
PACKED_MAX = 1000  # files; then all is packed anew


class StaticFiles:
    """The files below `root`, and what is made of them."""

    def __init__(self, root: Path, say: Callable[[str], None]) -> None:
        self._root = root.resolve()
        self.made = pagefiles.PageFiles(self._root, say, pagefiles.KEPT)
        self._packed: dict[str, bytes] = {}

    async def serve(self, scope: dict[str, Any], receive: Any, send: Any) -> None:
        method, path = scope["method"], scope["raw_path"].decode("ascii")
        name = unquote(path[len(PREFIX) :])
        if method not in ("GET", "HEAD"):
            answer = answers.messages_of(errors.method_not_allowed("", "static", method.lower()))
        elif name.startswith(making.JOINED):
            # whoever comes first waits until it is made, nobody else
            name = name.removeprefix(making.JOINED)
            answer = _made(name, await asyncio.to_thread(self.made.find, name), scope)
        else:
            answer = self._answer(name, scope)
        for message in answer:
            await send(message)

    def _answer(self, name: str, scope: dict[str, Any]) -> Messages:
        file = self._find(name)
        if file is None:
            return answers.messages_of(errors.path_not_found())
        stat = file.stat()
        version = f"{stat.st_mtime_ns:x}-{stat.st_size:x}"

        def body(is_packed: bool) -> bytes:
            content = file.read_bytes()
            return self._pack(f"{file}-{version}", content) if is_packed else content

        kept = ICON_KEPT if file.suffix == ".svg" else b"no-cache"
        return _messages(file, version, kept, scope, body)

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


def _made(name: str, made: making.File | None, scope: dict[str, Any]) -> Messages:
    if made is None:
        return answers.messages_of(errors.path_not_found())
    is_named = scope["query_string"] == b"v=" + made.version.encode()

    def body(is_packed: bool) -> bytes:
        return made.packed if is_packed else gzip.decompress(made.packed)

    return _messages(Path(name), made.version, KEPT if is_named else b"no-cache", scope, body)


def _messages(
    file: Path, version: str, kept: bytes, scope: dict[str, Any], body: Callable[[bool], bytes]
) -> Messages:
    """The answer; `body` is asked for it packed or as it is."""
    asked = dict(scope["headers"])
    is_packed = file.suffix in PACKED_TYPES and b"gzip" in asked.get(b"accept-encoding", b"")
    tag = (f'"{version}-gzip"' if is_packed else f'"{version}"').encode()
    headers = [
        (b"content-type", _type_of(file).encode()),
        (b"cache-control", kept),
        (b"etag", tag),
        (b"vary", b"Accept-Encoding"),
        (b"x-content-type-options", b"nosniff"),
        (b"content-security-policy", b"default-src 'self'; object-src 'none'"),
    ]
    if asked.get(b"if-none-match") == tag:
        status, content = 304, b""
    else:
        status, content = 200, body(is_packed)
        headers += [(b"content-encoding", b"gzip")] * is_packed
        headers.append((b"content-length", b"%d" % len(content)))
    return [
        {"type": "http.response.start", "status": status, "headers": headers},
        {"type": "http.response.body", "body": content},
    ]


def _type_of(file: Path) -> str:
    known = TYPES.get(file.suffix)
    return known or mimetypes.guess_type(file.name)[0] or "application/octet-stream"
