"""Parses a request line: verb, resource, subresource, namespace and name.

Pure and fast: it runs once per HTTP request. It knows no resource but `namespaces`; the router
checks whether the resource is served.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/request/requestinfo.go.
"""

from __future__ import annotations

from typing import NamedTuple
from urllib.parse import unquote_plus

from apiserver_app.machinery import errors
from apiserver_app.machinery.syntax import fields, goduration


class RequestInfo(NamedTuple):
    """A parsed request line. `plural` and the following fields are empty for other paths."""

    verb: str  # get, list, watch, create, update, patch, delete, deletecollection; else the method
    is_resource: bool
    group: str
    version: str
    plural: str
    subresource: str
    namespace: str
    name: str
    params: dict[str, list[str]]
    path: str
    rest: tuple[str, ...] = ()  # the path below `proxy`
    in_path: bool = False  # the path names the object; else a field selector may


def parse(method: str, path: str, query: str) -> RequestInfo:
    """Parses a request line. `path` is already percent-decoded, `query` is raw and without `?`."""
    params = parse_query(query) if query else {}
    parts = path.strip("/").split("/")
    grouped = parts[0] == "apis"
    if len(parts) < (4 if grouped else 3) or not (grouped or parts[0] == "api"):
        return RequestInfo(method.lower(), False, "", "", "", "", "", "", params, path)
    if grouped:
        group, version, parts = parts[1], parts[2], parts[3:]
    else:
        group, version, parts = "", parts[1], parts[2:]
    verb = _VERBS.get(method, "")
    if parts[0] in _SPECIAL_VERBS:
        if len(parts) < 2:
            raise errors.plain_internal(
                path,
                "failed to create RequestInfo: unable to determine kind and namespace from url, "
                + path,
            )
        verb, parts = parts[0], parts[1:]
    namespace = ""
    if parts[0] == "namespaces" and len(parts) > 1:
        namespace = parts[1]
        if len(parts) > 2 and parts[2] not in _NAMESPACE_SUBRESOURCES:
            parts = parts[2:]
    plural = parts[0]
    name = parts[1] if len(parts) > 1 else ""
    in_path = bool(name)
    subresource = parts[2] if len(parts) > 2 and verb != "proxy" else ""
    rest = tuple(parts[3:]) if len(parts) > 3 else ()
    if not name:
        if verb == "get":
            verb = "watch" if _is_set(params, "watch") else "list"
            name = _selected_name(params)
        elif verb == "delete":
            verb = "deletecollection"
    return RequestInfo(
        verb,
        True,
        group,
        version,
        plural,
        subresource,
        namespace,
        name,
        params,
        path,
        rest,
        in_path,
    )


def check_timeout(parsed: RequestInfo) -> None:
    """Refuses a `timeout` that is no duration. Models
    staging/src/k8s.io/apiserver/pkg/endpoints/filters/request_deadline.go."""
    text = parsed.params.get("timeout", [""])[0]
    if not text or parsed.verb in _LONG_VERBS or parsed.subresource in _LONG_SUBRESOURCES:
        return
    try:
        goduration.parse(text)
    except goduration.DurationError as error:
        message = f"invalid timeout specified in the request URL - {error}"
        raise errors.bad_request(message) from None


def parse_query(query: str) -> dict[str, list[str]]:
    """Parses a raw query string; repeated parameters stay in order, blank values are kept."""
    params: dict[str, list[str]] = {}
    for pair in query.split("&"):
        if not pair:
            continue
        key, _, value = pair.partition("=")
        if "%" in key or "+" in key:
            key = unquote_plus(key)
        if "%" in value or "+" in value:
            value = unquote_plus(value)
        if key in params:
            params[key].append(value)
        else:
            params[key] = [value]
    return params


_LONG_VERBS = frozenset(("watch", "proxy"))
_LONG_SUBRESOURCES = frozenset(("attach", "exec", "proxy", "log", "portforward"))
_VERBS = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_SPECIAL_VERBS = frozenset(("proxy", "watch"))
_NAMESPACE_SUBRESOURCES = frozenset(("status", "finalize"))
_NO = frozenset(("false", "0"))


def _is_set(params: dict[str, list[str]], name: str) -> bool:
    values = params.get(name)
    return values is not None and values[0].lower() not in _NO


def _selected_name(params: dict[str, list[str]]) -> str:
    """Returns the name that the field selector selects, if it is a valid path segment."""
    values = params.get("fieldSelector")
    if values is None:
        return ""
    try:
        name = fields.parse(values[0]).exact("metadata.name") or ""
    except errors.ApiError:  # the handler refuses it
        return ""
    return "" if name in (".", "..") or "/" in name or "%" in name else name
