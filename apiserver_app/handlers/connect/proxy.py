"""The proxy subresources: one HTTP request to a pod, a service's pod, or a node, passed through.

Models kubernetes pkg/registry/core/pod/strategy.go (ResourceLocation),
pkg/registry/core/service/storage/storage.go (ResourceLocation), pkg/registry/core/node/strategy.go
and staging/src/k8s.io/apimachinery/pkg/util/proxy (upgradeaware.go, transport.go).
"""

from __future__ import annotations

import posixpath
import re
import urllib.parse
from collections.abc import Iterator
from typing import NamedTuple

from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.connect import connect, passing
from apiserver_app.handlers.request import Request
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.errors import ApiError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net import httpwire
from apiserver_app.machinery.net.nodeapi import Connection, HttpAnswer, HttpRequest, NodeError
from apiserver_app.machinery.syntax import names

KUBELET_PORT = "10250"
_PATH_MAX = 200  # of it, in the trace
_SCHEMES = ("", "http", "https")
# of one hop, and what the API server writes itself
_DROPPED = frozenset(
    """
    connection keep-alive proxy-authenticate proxy-authorization te trailer transfer-encoding
    upgrade content-length host authorization
    """.split()
)
_DROPPED_FROM_ANSWER = _DROPPED - {"authorization", "content-length"} | {"date"}
_LINKS = re.compile(
    rb"""(<[^<>]*?\s(?:href|src|action|data|cite|background|poster|manifest|formaction)\s*=\s*)"""
    rb"""(["']?)(/(?!/)[^"'\s>]*)""",
    re.IGNORECASE,
)


class Place(NamedTuple):
    """Where a request goes: a port of a pod, or a node when there is no pod."""

    scheme: str
    host: str
    port: str
    pod: Object | None = None


async def _pods(request: Request) -> Outcome:
    scheme, name, port = _split(request, "pod")
    pod = connect.pod_of(request, name)
    ports = [
        opened["containerPort"]
        for container in pod["spec"]["containers"]
        for opened in container.get("ports") or ()
    ]
    if not port and ports:
        port = str(ports[0])
    address = (pod.get("status") or {}).get("podIP", "")
    if not address:
        raise errors.bad_request("address not allowed")
    return await _pass(request, Place(scheme, address, port, pod))


async def _services(request: Request) -> Outcome:
    scheme, name, port = _split(request, "service")
    cluster = request.cluster
    info = cluster.resources.by_key["services"]
    service, _ = cluster.storage.get(info, request.namespace, name)
    if port.isdigit():
        named = [
            served for served in service["spec"].get("ports") or () if str(served["port"]) == port
        ]
        if not named:
            raise _unavailable(f'no service port {port} found for service "{name}"')
        port = named[0].get("name", "")
    endpoints = cluster.resources.by_key["endpoints"]
    backends, _ = cluster.storage.get(endpoints, request.namespace, name)
    subsets = backends.get("subsets")
    places = list(_places(cluster, request.namespace, backends, port, scheme)) if subsets else []
    if not places:
        why = f'no endpoints available for service "{request.name if subsets else name}"'
        await cluster.probe.hop("stream", "refused", {"word": "proxy", "why": why})
        raise _unavailable(why)
    return await _pass(request, places[cluster.rand.below(len(places))])


async def _nodes(request: Request) -> Outcome:
    scheme, name, port = _split(request, "node")
    cluster = request.cluster
    node, _ = cluster.storage.get(cluster.resources.by_key["nodes"], "", name)
    addresses = (node.get("status") or {}).get("addresses") or ()
    internal = next(
        (address["address"] for address in addresses if address["type"] == "InternalIP"), name
    )
    if port in ("", KUBELET_PORT):
        scheme, port = "https", KUBELET_PORT
    return await _pass(request, Place(scheme, internal, port), name)


def _split(request: Request, what: str) -> tuple[str, str, str]:
    """`name`, `name:port` or `scheme:name:port`."""
    parts = request.name.split(":")
    if len(parts) < 3:
        parts = ["", *parts, ""][:3]
    if len(parts) > 3 or parts[0] not in _SCHEMES or not parts[1]:
        raise errors.bad_request(f"invalid {what} request {errors.go_value(request.name)}")
    return parts[0], parts[1], parts[2]


def _places(
    cluster: ClusterContext, namespace: str, endpoints: Object, port: str, scheme: str
) -> Iterator[Place]:
    """Every ready address of the port that is really a pod's of this namespace."""
    for subset in endpoints["subsets"]:
        for endpoint in subset.get("ports") or ():
            if endpoint.get("name", "") != port:
                continue
            for address in subset.get("addresses") or ():
                target = address.get("targetRef") or {}
                pod = None
                if target.get("kind") == "Pod" and target.get("namespace") == namespace:
                    pod = cluster.cache.get("pods", namespace, target.get("name", ""))
                if pod is not None and (pod.get("status") or {}).get("podIP") == address["ip"]:
                    yield Place(scheme, address["ip"], str(endpoint["port"]), pod)


async def _pass(request: Request, place: Place, node: str = "") -> Outcome:
    """Send it there, and give back what comes."""
    cluster, call = request.cluster, request.call
    path = posixpath.normpath("/" + call.rest.lstrip("/")) if call.rest else ""
    if call.path.endswith("/") and not path.endswith("/"):
        path += "/"
    query = f"?{call.query}" if call.query else ""
    upgrade = passing.is_upgrade(call)
    if not path and call.method in ("GET", "HEAD") and not upgrade:
        return _redirect(call, query)
    quoted = urllib.parse.quote(path or "/", safe="/:@!$&'()*+,;=~-._")
    prefix = call.path[: len(call.path) - len(call.rest)] if call.rest else call.path
    sent = HttpRequest(call.method, quoted + query, _headers(call), call.raw)
    to = meta.name_of(place.pod) if place.pod else node
    detail: Object = {"word": "proxy", "to": f"{to}:{place.port}", "path": quoted[:_PATH_MAX]}
    if upgrade and place.pod is not None:
        return await _upgrade(request, place, sent, detail)
    try:
        answer = await _send(cluster, place, node, sent)
    except NodeError as error:
        text = str(error).removeprefix("error trying to reach service: ")
        await cluster.probe.hop("stream", "refused", {**detail, "why": text})
        raise _unavailable(f"error trying to reach service: {text}") from error
    sums = {"in": len(call.raw), "out": len(answer.body), "code": answer.status}
    await cluster.probe.hop("stream", "end", {**detail, **sums})
    return _answer(call, answer, prefix.rstrip("/"), place)


async def _send(
    cluster: ClusterContext, place: Place, node: str, request: HttpRequest
) -> HttpAnswer:
    if place.pod is None:
        if place.port == KUBELET_PORT:
            return await cluster.egress.nodes.node(node, request)
        host = f"{place.host}:{place.port}"
        raise NodeError(503, f"dial tcp {host}: connect: connection refused")
    return await cluster.egress.nodes.http(place.pod, _port(place), request)


def _port(place: Place) -> int:
    port = place.port or ("443" if place.scheme == "https" else "80")
    if not names.is_number(port):
        raise NodeError(503, f"dial tcp: lookup tcp/{port}: unknown port")
    return int(port)


async def _upgrade(request: Request, place: Place, wanted: HttpRequest, detail: Object) -> Outcome:
    """Ask the pod for another protocol; what it grants is passed on, byte for byte."""
    cluster = request.cluster
    headers = passing.with_upgrade(request.call, wanted.headers.items())
    sent = httpwire.request(wanted.method, wanted.path, headers, wanted.body)
    try:
        connection = await _dial(request, place)
        return await passing.send(request, connection, sent, detail)
    except (NodeError, httpwire.Malformed) as error:
        await cluster.probe.hop("stream", "refused", {**detail, "why": str(error)})
        if isinstance(error, httpwire.Malformed):
            raise errors.ApiError(500, "", str(error)) from error
        raise errors.ApiError(500, "", f"error dialing backend: {error}") from error


async def _dial(request: Request, place: Place) -> Connection:
    """It connects by itself, without the kubelet, which would speak of a forwarded port."""
    assert place.pod is not None
    port = _port(place)
    try:
        return await request.cluster.egress.nodes.dial(place.pod, port)
    except NodeError as error:
        why = f"dial tcp {place.host}:{port}: connect: connection refused"
        raise NodeError(500, why) from error


def _headers(call: Call) -> dict[str, str]:
    headers = {
        name: value
        for name, value in call.headers.items()
        if name not in _DROPPED and not name.startswith("impersonate-")
    }
    if "host" in call.headers:
        headers["host"] = headers["x-forwarded-host"] = call.headers["host"]
    headers["x-forwarded-uri"] = call.path
    return headers


def _answer(call: Call, answer: HttpAnswer, prefix: str, place: Place) -> Outcome:
    """The answer with its status and headers; redirections and links stay below the proxy."""
    headers, body = [], answer.body
    kind = answer.headers.get("content-type", "application/octet-stream")
    if kind.partition(";")[0].strip() == "text/html" and "content-encoding" not in answer.headers:
        body = _LINKS.sub(
            lambda link: link[1] + link[2] + _below(prefix, link[3].decode("latin-1")).encode(),
            body,
        )
    for name, value in answer.headers.items():
        if name in ("content-type", "content-length") or name in _DROPPED_FROM_ANSWER:
            continue
        if name == "location":
            hosts = (place.host, f"{place.host}:{place.port}", call.headers.get("host", ""))
            split = urllib.parse.urlsplit(value)
            if split.netloc in hosts or not split.netloc:
                local = urllib.parse.urlunsplit(("", "", *split[2:]))
                value = _below(prefix, local) if local.startswith("/") else value
        headers.append((name.title(), value))
    return Outcome(answer.status, value=body, content_type=kind, headers=headers)


def _below(prefix: str, path: str) -> str:
    return path if path.startswith(prefix) else prefix + path


def _redirect(call: Call, query: str) -> Outcome:
    location = urllib.parse.quote(call.path, safe="/:@!$&'()*+,;=~-._") + "/" + query
    return Outcome(301, value=b"", content_type=connect.PLAIN, headers=[("Location", location)])


def _unavailable(message: str) -> ApiError:
    return ApiError(503, "ServiceUnavailable", message)


def _operation(kind: str, pass_on: connect.Opens) -> connect.Connect:
    def options(request: Request) -> Object:
        body: Object = {"kind": kind, "apiVersion": "v1"}
        if request.call.rest:
            body["path"] = request.call.rest
        return body

    return connect.Connect(options, pass_on)


PODS = _operation("PodProxyOptions", _pods)
SERVICES = _operation("ServiceProxyOptions", _services)
NODES = _operation("NodeProxyOptions", _nodes)
