"""What the metrics-server image answers: the resource metrics API, from what the kubelets say.

Each request asks every kubelet for its figures at that moment, where the real one keeps two
scrapes of each and takes the rate between them; so there are figures as soon as a container runs.
Whom a request is for is taken from the headers of the front proxy; a request without them is
nobody's. That the front proxy is who it says is not checked, as no keys are exchanged here.

Models kubernetes-sigs/metrics-server pkg/api/{node,pod,install}.go and pkg/scraper.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, NamedTuple

import orjson

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.errors import ApiError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import HttpAnswer, HttpRequest, NodeError
from apiserver_app.machinery.syntax import labels
from controllers_app.containerruntime.containers import Container
from controllers_app.containerruntime.servers.server import Server

GROUP, VERSION = "metrics.k8s.io", "v1beta1"
WINDOW = "15.0s"  # --metric-resolution
_API_VERSION = f"{GROUP}/{VERSION}"
_ROOT = meta.api_root(_API_VERSION)
_HEALTH = ("/livez", "/readyz", "/healthz")
_VERBS = ["get", "list"]
_JSON, _PLAIN = "application/json", "text/plain; charset=utf-8"
_RESOURCES: tuple[Object, ...] = (
    {
        "name": "nodes",
        "singularName": "",
        "namespaced": False,
        "kind": "NodeMetrics",
        "verbs": _VERBS,
    },
    {"name": "pods", "singularName": "", "namespaced": True, "kind": "PodMetrics", "verbs": _VERBS},
)
_VERSIONS = [{"groupVersion": _API_VERSION, "version": VERSION}]
_APIS: Object = {"name": GROUP, "versions": _VERSIONS, "preferredVersion": _VERSIONS[0]}


Ask = Callable[[str, HttpRequest], Awaitable[HttpAnswer]]  # a kubelet's server, by its node


def server(ask: Ask) -> Server:
    async def answer(container: Container, _port: int, request: HttpRequest) -> HttpAnswer:
        return await _answered(_Cluster(container, ask), request)

    return Server("metrics-server", answer, tls=True)


class _Cluster(NamedTuple):
    """What the metrics server reads: objects, and what the kubelets say."""

    container: Container
    ask: Ask

    @property
    def now(self) -> int:
        return self.container.now

    def listing(self, plural: str) -> Sequence[Object]:
        return self.container.environment.listing(plural, "")


async def _answered(cluster: _Cluster, request: HttpRequest) -> HttpAnswer:
    path, _, query = request.path.partition("?")
    path = urllib.parse.unquote(path).rstrip("/")
    if path in _HEALTH:
        return HttpAnswer(200, {"content-type": _PLAIN}, b"ok")
    try:
        if not request.headers.get("x-remote-user"):
            raise errors.unauthorized()
        return await _answer(cluster, request, path, urllib.parse.parse_qs(query))
    except ApiError as error:
        return _json(error.status(), error.code)


async def _answer(
    cluster: _Cluster, request: HttpRequest, path: str, params: dict[str, list[str]]
) -> HttpAnswer:
    document = _document(path)
    if document is not None:
        return _json(document)
    place = path.removeprefix(f"{_ROOT}/").split("/") if path.startswith(f"{_ROOT}/") else []
    namespace = ""
    if place[:1] == ["namespaces"] and len(place) > 2:
        namespace, place = place[1], place[2:]
    if place[:1] not in (["nodes"], ["pods"]) or len(place) > 2:
        raise errors.path_not_found()
    plural, name = place[0], place[1] if len(place) > 1 else ""
    if request.method not in ("GET", "HEAD"):
        raise errors.method_not_allowed(GROUP, plural, request.method.lower())
    chosen = labels.parse((params.get("labelSelector") or [""])[0])
    if plural == "nodes":
        objects = [node for node in await _nodes(cluster) if chosen.matches(meta.labels_of(node))]
    else:
        objects = [
            pod
            for pod in await _pods(cluster)
            if chosen.matches(meta.labels_of(pod)) and namespace in ("", meta.namespace_of(pod))
        ]
    kind = "NodeMetrics" if plural == "nodes" else "PodMetrics"
    table = "as=Table" in request.headers.get("accept", "")
    if name:
        obj = next((obj for obj in objects if meta.name_of(obj) == name), None)
        if obj is None:
            where = f"{namespace}/{name}" if namespace else name
            raise errors.not_found(GROUP, plural, where)
        whole = {"kind": kind, "apiVersion": _API_VERSION, **obj}
        return _json(_table([whole]) if table else whole)
    if table:
        return _json(_table([{"kind": kind, "apiVersion": _API_VERSION, **obj} for obj in objects]))
    return _json(
        {"kind": f"{kind}List", "apiVersion": _API_VERSION, "metadata": {}, "items": objects}
    )


def _document(path: str) -> Object | None:
    """Discovery."""
    if path == "/apis":
        return {"kind": "APIGroupList", "apiVersion": "v1", "groups": [_APIS]}
    if path == f"/apis/{GROUP}":
        return {"kind": "APIGroup", "apiVersion": "v1", **_APIS}
    if path == _ROOT:
        return {
            "kind": "APIResourceList",
            "apiVersion": "v1",
            "groupVersion": _API_VERSION,
            "resources": list(_RESOURCES),
        }
    return None


async def _summaries(cluster: _Cluster) -> list[tuple[Object, Object]]:
    """(node, what its kubelet says), of every node whose kubelet answers."""
    out = []
    for node in cluster.listing("nodes"):
        try:
            asked = HttpRequest("GET", "/stats/summary")
            answer = await cluster.ask(meta.name_of(node), asked)
        except NodeError:
            continue
        out.append((node, orjson.loads(answer.body)))
    return out


async def _nodes(cluster: _Cluster) -> list[Object]:
    return [
        {
            "metadata": _metadata(cluster, node),
            "timestamp": summary["node"]["cpu"]["time"],
            "window": WINDOW,
            "usage": _usage(summary["node"]),
        }
        for node, summary in await _summaries(cluster)
    ]


async def _pods(cluster: _Cluster) -> list[Object]:
    usage: dict[tuple[str, str], Object] = {}
    for _, summary in await _summaries(cluster):
        for measured in summary["pods"]:
            usage[measured["podRef"]["namespace"], measured["podRef"]["name"]] = measured
    out = []
    for pod in cluster.listing("pods"):
        usage_of_pod = usage.get((meta.namespace_of(pod), meta.name_of(pod)))
        if usage_of_pod is not None:
            out.append(
                {
                    "metadata": _metadata(cluster, pod),
                    "timestamp": usage_of_pod["cpu"]["time"],
                    "window": WINDOW,
                    "containers": [
                        {"name": container["name"], "usage": _usage(container)}
                        for container in usage_of_pod["containers"]
                    ],
                }
            )
    return out


def _metadata(cluster: _Cluster, obj: Object) -> Object:
    metadata: Object = {"name": meta.name_of(obj)}
    if meta.namespace_of(obj):
        metadata["namespace"] = meta.namespace_of(obj)
    metadata["creationTimestamp"] = meta.rfc3339(cluster.now)
    if meta.labels_of(obj):
        metadata["labels"] = meta.labels_of(obj)
    return metadata


def _usage(stats: Object) -> Object:
    """As metrics-server writes quantities: nano-cores and KiB."""
    return {
        "cpu": f"{stats['cpu']['usageNanoCores']}n",
        "memory": f"{stats['memory']['workingSetBytes'] // 1024}Ki",
    }


def _table(items: Sequence[Object]) -> Object:
    """What `kubectl get nodes.metrics.k8s.io` prints."""
    columns = [
        {"name": name, "type": "string", "format": form, "description": "", "priority": 0}
        for name, form in (("Name", "name"), ("cpu", ""), ("memory", ""), ("Window", ""))
    ]
    return {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {},
        "columnDefinitions": columns,
        "rows": [{"cells": _row(item), "object": item} for item in items],
    }


def _row(metrics: Object) -> list[Any]:
    parts = (
        [metrics["usage"]]
        if "usage" in metrics
        else [part["usage"] for part in metrics["containers"]]
    )
    cpu = sum(int(part["cpu"][:-1]) for part in parts)
    memory = sum(int(part["memory"][:-2]) for part in parts)
    return [meta.name_of(metrics), f"{cpu}n", f"{memory}Ki", WINDOW]


def _json(value: Object, code: int = 200) -> HttpAnswer:
    return HttpAnswer(code, {"content-type": _JSON}, orjson.dumps(value))
