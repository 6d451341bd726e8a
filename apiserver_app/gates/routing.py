"""Which server answers: another one, a path of this one, or the operation on a resource.

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/handler.go (director.ServeHTTP) and
staging/src/k8s.io/kube-aggregator/pkg/apiserver/handler_proxy.go.
"""

from __future__ import annotations

from collections.abc import Awaitable

from apiserver_app.aggregator import proxy
from apiserver_app.gates.gate import Gate
from apiserver_app.handlers import operations, routes
from apiserver_app.handlers.call import READS
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.decision import Decision
from apiserver_app.handlers.input import readpath
from apiserver_app.handlers.request import Operation, Request
from apiserver_app.handlers.verbs import conversions
from apiserver_app.machinery import errors
from apiserver_app.machinery import kernel as kernels
from apiserver_app.machinery.kinds import deprecations
from apiserver_app.machinery.meta import Object, ResourceInfo


class Routing(Gate):
    """Finds the operation."""

    name = refuses_as = "routing"
    cost = 10
    source = "cmd/kube-apiserver/app/server.go CreateServerChain"
    reads = True

    def __init__(self, cluster: ClusterContext) -> None:
        self._cluster = cluster
        self._version = cluster.version
        # of built-in resources, for components: what the identity names is kept alive with it
        self._known: dict[tuple[int, str, str], tuple[ResourceInfo, Operation, Decision]] = {}

    def decide(self, request: Request) -> Decision | Awaitable[Decision]:
        call, services = request.call, self._cluster.aggregation.services
        if services.remote:
            remote = services.route(call.path)
            if remote is not None:
                request.operation = proxy.PassOn(remote)
                return Decision("allow", proxy.route(remote))
        info = call.info
        if info is None:
            return self._path(request)
        key = (id(info), call.verb, call.subresource)
        known = self._known.get(key)
        if known is not None and not call.outside:
            request.operation = known[1]
            return known[2]
        self._check(request)
        request.operation = operations.of(request)
        if info.custom is not None:
            return self._custom(request)
        reads = call.outside and call.verb in READS
        read = readpath.of(call, self._version) if reads else None
        decision = Decision("allow", routes.of_resource(info, read))
        if not call.outside:
            self._known[key] = (info, request.operation, decision)
        return decision

    def _path(self, request: Request) -> Decision:
        """A path that is no resource: discovery, version, health."""
        document = request.document
        document_ = document(request.call) if document and not request.call.asked[2] else None
        if document_ is None:
            raise self._nowhere(request.call.path)
        request.operation, request.outcome = ANSWERED, document_
        return Decision("allow", routes.of_path(request.call.path, self._cluster.resources))

    def _check(self, request: Request) -> None:
        """Whether there is such a route, and what its client should know of it."""
        call, info = request.call, request.info
        if call.routed == 404:
            raise self._nowhere(call.path)
        verbs = self._cluster.verbs_of(info, call.subresource)
        if call.routed == 405 or not (call.subresource == "proxy" or call.verb in verbs):
            if call.verb == "watch" and "list" in verbs:
                raise errors.method_not_allowed(info.group, info.plural, call.verb)
            raise errors.no_such_method()
        if request.check_answer is not None:
            request.accepted = request.check_answer()
        if call.outside:
            texts = deprecations.warnings(info, self._cluster.version)
            if texts:
                request.warnings += texts
                request.annotations[deprecations.AUDIT] = "true"
                self._cluster.counters.deprecated.add((*info.gvr, call.subresource))

    def _nowhere(self, path: str) -> errors.ApiError:
        """Each of the three servers was offered the request, and none has the path. Go-restful
        answers below what it serves, and net/http elsewhere."""
        parts = path.split("/")
        group = parts[2] if parts[1:2] == ["apis"] and len(parts) > 2 else ""
        routed = parts[1:2] in (["api"], ["version"]) or any(
            info.group == group for info in self._cluster.resources.built_in if group
        )
        error = errors.path_not_found() if routed else errors.page_not_found()
        error.about = {"chain": routes.CHAIN}
        return error

    async def _custom(self, request: Request) -> Decision:
        """To the part of the server that serves custom resources."""
        call, info, kernel = request.call, request.info, self._cluster.kernel
        assert info.custom is not None
        info.custom.check(call.verb)
        waits = 0.0
        if call.verb == "create" and not call.subresource:
            waits = (info.custom.settled_at() - kernel.now) / kernels.SECOND
        detail: Object = {**routes.CUSTOM, "definition": info.key}
        if call.outside and call.verb in READS:
            detail["read"] = readpath.of(call, self._version)._asdict()
        if waits > 0:  # other API servers may not know of the definition yet
            detail["seconds"] = waits
            await kernel.sleep(waits)
        converted = await conversions.before_read(request)
        if converted:
            detail["converted"] = converted
        return Decision("allow", detail)


class Answered(Operation):
    """A path whose document is at hand."""

    refuses_as = "routing"

    def asks_etcd(self, request: Request) -> bool:
        return False


ANSWERED = Answered()
