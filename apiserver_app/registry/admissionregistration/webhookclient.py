"""How a webhook is reached: by a URL or by a service, and what either may look like.

Models kubernetes staging/src/k8s.io/apiserver/pkg/util/webhook/validation.go and Go net/url
(Parse).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.validation import checks

_FORM = "; desired format: https://host[/path]"
_scheme = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):").match
_bad_escape = re.compile("%(?![0-9A-Fa-f]{2}).{0,2}", re.DOTALL).search
_bad_in_host = re.compile(r"""[^A-Za-z0-9\-_.~!$&'()*+,;=:\[\]<>"%\x80-\U0010ffff]""").search
_is_port = re.compile("(:[0-9]*)?").fullmatch
_is_userinfo = re.compile(r"[A-Za-z0-9\-._:~!$&'()*+,;=%@]*").fullmatch


class _Parts(NamedTuple):
    scheme: str
    user: str
    host: str
    query: str
    fragment: str


class _NoURL(ValueError):
    """Go's message for a text that is not a URL."""


def validate(client: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    url, service = client.get("url"), client.get("service")
    if (url is None) == (service is None):
        text = "exactly one of url or service is required"
        errs.append(errors.required(path, text))
    elif url is not None:
        _url(url, f"{path}.url", errs)
    elif service is not None:
        _service(service, f"{path}.service", errs)


def _url(url: str, path: str, errs: list[FieldError]) -> None:
    try:
        parts = _parsed(url)
    except _NoURL as error:
        text = f"url must be a valid URL: parse {errors.go_value(url)}: {error}{_FORM}"
        errs.append(errors.required(path, text))
        return
    if parts.scheme != "https":
        text = f"'https' is the only allowed URL scheme{_FORM}"
        errs.append(errors.invalid_value(path, parts.scheme, text))
    if not parts.host:
        errs.append(errors.invalid_value(path, "", f"host must be specified{_FORM}"))
    for value, word in (
        (parts.user, "user information is"),
        (parts.fragment, "fragments are"),
        (parts.query, "query parameters are"),
    ):
        if value:
            text = f"{word} not permitted in the URL"
            errs.append(errors.invalid_value(path, value, text))


def _parsed(url: str) -> _Parts:
    whole, _, fragment = url.partition("#")
    if any(char < " " or char == "\x7f" for char in url):
        raise _NoURL("net/url: invalid control character in URL")
    scheme, rest = "", whole
    if whole.startswith(":"):
        raise _NoURL("missing protocol scheme")
    match = _scheme(whole)
    if match is not None:
        scheme, rest = match[1].lower(), whole[match.end() :]
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return _Parts(scheme, "", "", query, fragment)
        if ":" in rest.partition("/")[0]:
            raise _NoURL("first path segment in URL cannot contain colon")
    user = host = ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, rest = rest[2:].partition("/")
        user, at, host = authority.rpartition("@")
        _check_host(host)
        if at and not _is_userinfo(user):
            raise _NoURL("net/url: invalid userinfo")
        rest = slash + rest
    for part in (rest, fragment):
        _check_escapes(part)
    return _Parts(scheme, user, host, query, fragment)


def _check_host(host: str) -> None:
    if host.startswith("["):
        _, closed, port = host.rpartition("]")
        if not closed:
            raise _NoURL("missing ']' in host")
    else:
        _, colon, port = host.rpartition(":")
        port = colon + port if colon else ""
    if not _is_port(port):
        raise _NoURL(f"invalid port {errors.go_value(port)} after host")
    _check_escapes(host)
    message = _bad_in_host(host)
    if message is not None:
        raise _NoURL(f"invalid character {errors.go_value(message[0])} in host name")


def _check_escapes(text: str) -> None:
    message = _bad_escape(text)
    if message is not None:
        raise _NoURL(f"invalid URL escape {errors.go_value(message[0])}")


def _service(service: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    # upstream hands both over in the other's place
    for field, other in (("name", "namespace"), ("namespace", "name")):
        if not service.get(other):
            errs.append(errors.required(f"{path}.{field}", f"service {field} is required"))
    port = service.get("port") or 0
    if not 1 <= port <= 65535:
        text = f"port is not valid: {checks.PORT_RANGE}"
        errs.append(errors.invalid_value(f"{path}.port", port, text))
    _path(service.get("path") or "", f"{path}.path", errs)


def _path(value: str, path: str, errs: list[FieldError]) -> None:
    if value in ("", "/"):
        return
    if value == "//":
        errs.append(errors.invalid_value(path, value, "segment[0] may not be empty"))
        return
    if not value.startswith("/"):
        errs.append(errors.invalid_value(path, value, "must start with a '/'"))
    for index, step in enumerate(value[1:].removesuffix("/").split("/")):
        if not step:
            text = f"segment[{index}] may not be empty"
            errs.append(errors.invalid_value(path, value, text))
            continue
        for message in names.dns1123_subdomain_errors(step):
            errs.append(errors.invalid_value(path, value, f"segment[{index}]: {message}"))
