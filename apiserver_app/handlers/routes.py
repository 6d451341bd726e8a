"""Which of the three servers answers, by which of its two muxes, and who was offered the request
before: aggregator, then kube-apiserver, then the server of custom resources, else 404.

Each server has a go-restful container for the resources it installed itself and a plain mux for
everything else; what neither has goes to the next server, its delegate.

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/handler.go (director.ServeHTTP),
kube-aggregator pkg/apiserver/apiserver.go and apiextensions-apiserver pkg/apiserver/apiserver.go.
"""

from __future__ import annotations

import functools

import msgspec

from apiserver_app.handlers.input.readpath import Read
from apiserver_app.machinery.kinds.kinds import Resources
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.serializer import compact

AGGREGATOR, KUBE, EXTENSIONS = "kube-aggregator", "kube-apiserver", "apiextensions-apiserver"
CHAIN = (AGGREGATOR, KUBE, EXTENSIONS)
RESTFUL, PLAIN = "go-restful", "non-go-restful"
# groups that are installed by another server than kube-apiserver
_OWNERS = {"apiregistration.k8s.io": AGGREGATOR, "apiextensions.k8s.io": EXTENSIONS}
# web services that a server installs beside its groups
_SERVICES = {
    "/version": AGGREGATOR,
    "/openid/v1/jwks": KUBE,
    "/.well-known/openid-configuration": KUBE,
}


def _detail(server: str, mux: str) -> Object:
    return {"word": server, "mux": mux, "chain": CHAIN[: CHAIN.index(server) + 1]}


CUSTOM = _detail(EXTENSIONS, PLAIN)
PASSED_ON = _detail(AGGREGATOR, PLAIN)


def owner(group: str) -> str:
    """The server that installed a built-in group."""
    return _OWNERS.get(group, KUBE)


def of_resource(info: ResourceInfo, read: Read | None = None) -> msgspec.Raw:
    """Of a built-in resource; `read` says where a read is served from."""
    return _encoded(owner(info.group), RESTFUL, read)


def of_path(path: str, resources: Resources) -> msgspec.Raw:
    """Of a path that is no resource, and that there is."""
    return _encoded(*place_of(path, resources), None)


def place_of(path: str, resources: Resources) -> tuple[str, str]:
    """(server, mux) of a path that is no resource."""
    path = path.rstrip("/")
    if path in _SERVICES:
        return _SERVICES[path], RESTFUL
    parts = path.split("/")[1:]
    if parts[:1] == ["api"]:
        return KUBE, RESTFUL
    if parts[:1] != ["apis"] or len(parts) < 2:
        return AGGREGATOR, PLAIN
    group = parts[1]
    if len(parts) == 2:
        return AGGREGATOR, RESTFUL if _OWNERS.get(group) == AGGREGATOR else PLAIN
    if group in _OWNERS:
        return _OWNERS[group], RESTFUL
    own = {(info.group, info.version) for info in resources.built_in}
    return (KUBE, RESTFUL) if (group, parts[2]) in own else (EXTENSIONS, PLAIN)


@functools.lru_cache(64)
def _encoded(server: str, mux: str, read: Read | None) -> msgspec.Raw:
    """The same few come again and again, so they are encoded once."""
    detail = _detail(server, mux)
    if read is not None:
        detail["read"] = read._asdict()
    return msgspec.Raw(compact.encode(detail))
