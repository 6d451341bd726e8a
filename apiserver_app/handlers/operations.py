"""Which operation a request for a resource is: by its verb, or by its subresource.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/installer.go (the actions of a
resource) and pkg/registry/core/rest/storage_core.go.
"""

from __future__ import annotations

from apiserver_app.handlers import reviews
from apiserver_app.handlers.connect import podlogs, proxy, streaming
from apiserver_app.handlers.request import Operation, Request
from apiserver_app.handlers.subresources import binding, eviction, scale, token
from apiserver_app.handlers.verbs import deletes, reads, writes
from apiserver_app.machinery import errors

# subresources that are written like the resource itself, under their own strategy rules
_VIEWS = ("", "status", "finalize", "approval", "ephemeralcontainers", "resize")
_VERBS: dict[str, Operation] = {
    "create": writes.CREATE_OBJECT,
    "delete": deletes.DELETE_OBJECT,
    "deletecollection": deletes.DELETE_COLLECTION,
    "get": reads.GET_PART,
    "list": reads.LIST,
    "patch": writes.PATCH_OBJECT,
    "update": writes.UPDATE_OBJECT,
    "watch": reads.WATCH,
}
_SUBRESOURCES: dict[tuple[str, str], Operation] = {
    ("bindings", ""): binding.BIND,
    ("nodes", "proxy"): proxy.NODES,
    ("pods", "attach"): streaming.ATTACH,
    ("pods", "binding"): binding.BIND,
    ("pods", "eviction"): eviction.EVICT,
    ("pods", "exec"): streaming.EXEC,
    ("pods", "log"): podlogs.LOG,
    ("pods", "portforward"): streaming.PORT_FORWARD,
    ("pods", "proxy"): proxy.PODS,
    ("serviceaccounts", "token"): token.TOKEN,
    ("services", "proxy"): proxy.SERVICES,
}


def of(request: Request) -> Operation:
    """405 when a resource does not have the verb."""
    info, verb, subresource = request.info, request.verb, request.subresource
    if verb == "get" and not subresource:
        return reads.GET
    if verb in ("list", "watch"):
        return _VERBS[verb]
    if subresource == "scale":
        return scale.GET_SCALE if verb == "get" else scale.UPDATE_SCALE
    if subresource not in _VIEWS or info.kind == "Binding":
        return _SUBRESOURCES[info.key, subresource]
    if reviews.is_review(info):
        return reviews.REVIEW
    operation = _VERBS.get(verb)
    if operation is None:
        raise errors.method_not_allowed("", request.call.path, verb)
    return operation
