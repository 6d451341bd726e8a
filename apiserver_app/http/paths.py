"""Non-resource paths: discovery, OpenAPI, version, health, metrics, the token issuer.

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/routes and pkg/server/healthz.
"""

from __future__ import annotations

import orjson

from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.server import life
from apiserver_app.http import debug, discovery, health, negotiation
from apiserver_app.http.metrics import exposition, metrics
from apiserver_app.http.openapi import documents
from apiserver_app.machinery import errors

_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"


# GET only; other paths take any method, but no trailing slash
_ROUTED = ("/version", "/api", "/apis", "/openid", "/.well-known")
_EXACT = (*health.ROOTS, "/metrics")


class PathHandler:
    """Serves the non-resource paths of one cluster."""

    def __init__(self, cluster: ClusterContext) -> None:
        self._cluster = cluster
        resources, services = cluster.resources, cluster.aggregation.services
        address = f"{cluster.addresses.net.apiserver}:443"
        self._discovery = discovery.Discovery(resources, address, services)
        self._openapi = documents.OpenApi(resources, services)

    def handle(self, call: Call) -> Outcome | None:
        """Returns the document at a path, or None when there is none."""
        path = call.path.rstrip("/") or "/"
        if path == "/index.html":
            path = "/"
        if path == "/metrics" and call.verb == "delete" and self._cluster.options.profiling:
            self._cluster.counters.reset()
            return _document(b"metrics reset\n", _TEXT)
        root = "/" + path.split("/", 2)[1]
        if root in _EXACT and call.path.endswith("/"):
            return None
        outcome = self._document(path, root, call)
        if outcome is not None and root in _ROUTED and call.verb != "get":
            raise errors.no_such_method()
        return outcome

    def _document(self, path: str, root: str, call: Call) -> Outcome | None:
        if root in health.ROOTS:
            return self._health(path, call)
        if root in ("/", "/version", "/api", "/apis"):
            return self._discover(path, call)
        if root == "/openapi":
            return self._describe(path, call)
        if path == "/metrics":
            return _document(metrics.render(self._cluster), exposition.CONTENT_TYPE)
        if root == "/debug":
            return self._debug(path, call)
        if path == "/openid/v1/jwks":
            return _document(orjson.dumps(self._cluster.tokens.jwks()), "application/jwk-set+json")
        if path == "/.well-known/openid-configuration":
            return _document(orjson.dumps(self._cluster.tokens.openid()), _JSON)
        return None

    def _discover(self, path: str, call: Call) -> Outcome | None:
        pretty = negotiation.wants_pretty(call.params, call.agent)
        accept = call.headers.get("accept", "")
        document = self._discovery.document(path, accept, pretty=pretty)
        return document and _answer(*document.answer(call.headers.get("if-none-match", "")))

    def _describe(self, path: str, call: Call) -> Outcome | None:
        answer = self._openapi.answer(path, call.params, call.headers)
        return answer and _answer(*answer)

    def _health(self, path: str, call: Call) -> Outcome:
        root, _, check = path.strip("/").partition("/")
        names = health.checks(self._cluster.version, root)
        if check and check not in names:
            raise errors.path_not_found()
        failed = self._failed(root)
        if check:
            if check in failed:
                text = f"internal server error: {check} failed\n"
                return _document(text.encode(), _TEXT, 500)
            return _document(b"ok", _TEXT)
        code, text = health.answer(root, names, call.params, lambda name: name not in failed)
        return _document(text.encode(), _TEXT, code)

    def _failed(self, root: str) -> list[str]:
        """Returns the checks that do not pass yet."""
        registered = self._cluster.aggregation.services.is_registered
        failed = [] if registered else ["autoregister-completion"]
        if root == "livez":
            return []
        if root == "readyz" and self._cluster.life.state != life.SERVING:
            failed.append("shutdown")
        return failed if self._cluster.process.is_ready() else ["informer-sync", *failed]

    def _debug(self, path: str, call: Call) -> Outcome | None:
        if path.startswith(debug.FAIRNESS):
            details = bool(call.param("includeRequestDetails"))
            name = path.removeprefix(debug.FAIRNESS)
            table = debug.dump(self._cluster, name, details=details)
            return None if table is None else _document(table.encode(), _TEXT)
        if path == debug.PPROF and self._cluster.options.profiling:
            return _document(debug.INDEX.encode(), _TEXT)
        return None


def _answer(code: int, headers: list[tuple[str, str]], body: bytes) -> Outcome:
    kind = dict(headers).get("Content-Type", _JSON)
    rest = [pair for pair in headers if pair[0] != "Content-Type"]
    return Outcome(code, value=body, content_type=kind, headers=rest)


def _document(body: bytes, content_type: str, code: int = 200) -> Outcome:
    return Outcome(code, value=body, content_type=content_type)
