"""Parses URLs as Go does, with Go's errors.

Models Go net/url url.go (ParseRequestURI, Parse, EscapedPath, ParseQuery).
"""

from __future__ import annotations

import json
import re
import urllib.parse

import msgspec

_SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*", re.ASCII)
_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})", re.ASCII)
_PORT = re.compile(r"(?::[0-9]*)?", re.ASCII)
_UNRESERVED = "a-zA-Z0-9\\-_.~"
_USER_INFO = re.compile(rf"[{_UNRESERVED}:!$&'()*+,;=%@]*", re.ASCII)
_HOST_WRONG = re.compile(rf"[\x00-\x7f](?<![{_UNRESERVED}!$&'()*+,;=:\[\]<>\"%])", re.ASCII)
_HOST_ESCAPE = re.compile(r"%(?!25)([0-7][0-9a-fA-F])", re.ASCII)
_PATH_VALID = re.compile(rf"[{_UNRESERVED}!$&'()*+,;=:@\[\]%/]*", re.ASCII)


class UrlError(ValueError):
    """An invalid URL; the message is Go's."""


class Url(msgspec.Struct, frozen=True):
    """A parsed URL; `path` is escaped as Go writes it."""

    scheme: str = ""
    opaque: str = ""
    host: str = ""
    path: str = ""
    query: str = ""

    @property
    def port(self) -> str:
        """The port; empty if there is none."""
        after = self.host.rpartition("]")[2]
        return after.rpartition(":")[2] if ":" in after else ""

    @property
    def hostname(self) -> str:
        host = self.host
        after = host.rpartition("]")[2]
        if ":" in after:
            host = host[: len(host) - len(after) + after.rindex(":")]
        return host[1:-1] if host.startswith("[") and host.endswith("]") else host

    def values(self) -> dict[str, list[str]]:
        """The parameters of the query, without malformed ones."""
        values: dict[str, list[str]] = {}
        for pair in self.query.split("&"):
            if not pair or ";" in pair or _ESCAPE.search(pair):
                continue
            key, _, value = (urllib.parse.unquote_plus(part) for part in pair.partition("="))
            values.setdefault(key, []).append(value)
        return values


def parse_request_uri(text: str) -> Url:
    """Parses an absolute URL or path; `#` has no special meaning. Raises UrlError."""
    try:
        return _parse(text, absolute=True)
    except UrlError as error:
        raise UrlError(f"parse {_quoted(text)}: {error}") from None


def is_request_uri(text: str) -> bool:
    try:
        parse_request_uri(text)
    except UrlError:
        return False
    return True


def parse(text: str) -> Url:
    """Parses any URL, without its fragment. Raises UrlError."""
    before, _, fragment = text.partition("#")
    try:
        if _ESCAPE.search(fragment):
            raise _escape_error(fragment)
        return _parse(before, absolute=False)
    except UrlError as error:
        raise UrlError(f"parse {_quoted(before)}: {error}") from None


def _parse(text: str, *, absolute: bool) -> Url:
    if any(char < " " or char == "\x7f" for char in text):
        raise UrlError("net/url: invalid control character in URL")
    if not text and absolute:
        raise UrlError("empty url")
    if text == "*":
        return Url(path="*")
    scheme, rest = _scheme(text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return Url(scheme, opaque=rest, query=query)
        if absolute:
            raise UrlError("invalid URI for request")
        if ":" in rest.partition("/")[0]:
            raise UrlError("first path segment in URL cannot contain colon")
    host = ""
    if rest.startswith("//") and (scheme or (not absolute and not rest.startswith("///"))):
        authority, slash, path = rest[2:].partition("/")
        rest = slash + path
        host = _authority(authority)
    if _ESCAPE.search(rest):
        raise _escape_error(rest)
    return Url(scheme, "", host, _escaped(rest), query)


def _scheme(text: str) -> tuple[str, str]:
    if text.startswith(":"):
        raise UrlError("missing protocol scheme")
    match = _SCHEME.match(text)
    if match is None or text[match.end() : match.end() + 1] != ":":
        return "", text
    return match.group().lower(), text[match.end() + 1 :]


def _authority(text: str) -> str:
    user, at, host = text.rpartition("@")
    if at and not _USER_INFO.fullmatch(user):
        raise UrlError("net/url: invalid userinfo")
    host = _host(host)
    if _ESCAPE.search(user):
        raise _escape_error(user)
    return host


def _host(host: str) -> str:
    if host.startswith("["):
        end = host.rfind("]")
        if end < 0:
            raise UrlError("missing ']' in host")
        port = host[end + 1 :]
    else:
        port = host[host.rindex(":") :] if ":" in host else ""
    if not _PORT.fullmatch(port):
        raise UrlError(f"invalid port {_quoted(port)} after host")
    if _ESCAPE.search(host):
        raise _escape_error(host)
    low = _HOST_ESCAPE.search(host)
    if low is not None and not host.startswith("["):
        raise UrlError(f"invalid URL escape {_quoted(low.group())}")
    invalid = _HOST_WRONG.search(host)
    if invalid is not None:
        raise UrlError(f"invalid character {_quoted(invalid.group())} in host name")
    return urllib.parse.unquote(host)


def _escape_error(text: str) -> UrlError:
    match = _ESCAPE.search(text)
    assert match is not None
    return UrlError(f"invalid URL escape {_quoted(text[match.start() : match.start() + 3])}")


def _escaped(path: str) -> str:
    """The path unchanged if it is validly escaped, else as Go escapes it."""
    if _PATH_VALID.fullmatch(path):
        return path
    return urllib.parse.quote(urllib.parse.unquote(path), safe="-_.~$&+,/:;=@")


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
