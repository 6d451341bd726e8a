"""Non-resource paths: discovery, OpenAPI, version, health, metrics, the token issuer.

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/routes and pkg/server/healthz.
"""

from __future__ import annotations

import collections

import orjson

from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.server import life
from apiserver_app.http import debug, discovery, health, negotiation
from apiserver_app.http.metrics import exposition, metrics
from apiserver_app.http.openapi import documents
from apiserver_app.machinery import errors
from apiserver_app.machinery.kernel import SECOND

_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"


# GET only, as go-restful routes them; other paths take any method, but no trailing slash
_ROUTED = ("/version", "/api", "/openid", "/.well-known")
_EXACT = (*health.ROOTS, "/metrics", "/openapi")
_ETCD = ("etcd", "etcd-readiness")  # the checks that ask it
_NO_ETCD = "error getting data from etcd: context deadline exceeded"
_NO_SNIFF = ("X-Content-Type-Options", "nosniff")
_FOR_AN_HOUR = [("Cache-Control", "public, max-age=3600")]


class PathHandler:
    """Serves the non-resource paths of one cluster."""

    def __init__(self, cluster: ClusterContext) -> None:
        self._cluster = cluster
        # health checks that ran: by name, result and path
        self._checked: collections.Counter[tuple[str, str, str]] = collections.Counter()
        resources, services = cluster.resources, cluster.aggregation.services
        self._discovery = discovery.Discovery(resources, cluster.addresses.endpoint, services)
        self._openapi = documents.OpenApi(resources, services, lambda: cluster.kernel.now)
        self._build = discovery.version_info(cluster.version)
        self._started = cluster.kernel.now // SECOND

    def handle(self, call: Call) -> Outcome | None:
        """Returns the document at a path, or None when there is none."""
        path = call.path.rstrip("/") or "/"
        if path == "/index.html":
            path = "/"
        if path == "/metrics" and call.verb == "delete" and self._cluster.options.profiling:
            self._cluster.counters.reset()
            return _document(b"metrics reset\n", _TEXT)
        root = "/" + path.split("/", 2)[1]
        if call.path.startswith("//"):
            return None
        if root in _EXACT and call.path.endswith("/") and not call.path.startswith(documents.ROOT):
            return None
        outcome = self._document(path, root, call)
        is_routed = root in _ROUTED or (root == "/apis" and not discovery.is_aggregators(path))
        if outcome is not None and is_routed and call.method not in ("GET", ""):
            raise errors.no_such_method()
        return outcome

    def _document(self, path: str, root: str, call: Call) -> Outcome | None:
        if root in health.ROOTS:
            return self._health(path, call)
        if root in ("/", "/version", "/api", "/apis"):
            return self._discover(path, call)
        if root == "/openapi":
            return self._describe(call.path, call)
        if path in ("/metrics", "/metrics/slis"):
            slis = path != "/metrics"
            page = self._health_metrics() if slis else self._metrics()
            headers = [("Process-Start-Time-Unix", str(self._started))]
            return Outcome(200, value=page, content_type=exposition.CONTENT_TYPE, headers=headers)
        if root == "/debug":
            return self._debug(path, call)
        if path == "/openid/v1/jwks":
            keys = orjson.dumps(self._cluster.tokens.jwks())
            return _answer(200, [("Content-Type", "application/jwk-set+json"), *_FOR_AN_HOUR], keys)
        if path == "/.well-known/openid-configuration":
            body = orjson.dumps(self._cluster.tokens.openid())
            return _answer(200, [("Content-Type", _JSON), *_FOR_AN_HOUR], body)
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
            raise errors.page_not_found()
        failed = self._failed(root)
        for name in [check] if check else names:
            status = "error" if name in failed else "success"
            self._checked[name, status, root] += 1
        if check:
            if check in failed:
                why = _NO_ETCD if check in _ETCD else f"{check} failed"
                text = f"internal server error: {why}\n"
                return _document(text.encode(), _TEXT, 500)
            return _document(b"ok", _TEXT)
        code, text = health.answer(root, names, call.params, lambda name: name not in failed)
        return _answer(code, [("Content-Type", _TEXT), _NO_SNIFF], text.encode())

    def _metrics(self) -> bytes:
        return metrics.render(self._cluster, self._build, self._started)

    def _health_metrics(self) -> bytes:
        """What the checks said last, and how often."""
        page = exposition.Page()
        page.gauge(
            "kubernetes_healthcheck",
            "Whether a health check passed, 1 or 0.",
            (
                ({"name": name, "type": root}, int(name not in self._failed(root)))
                for name, root in sorted({(name, root) for name, _, root in self._checked})
            ),
        )
        page.counter(
            "kubernetes_healthchecks_total",
            "How often a health check ran, by its result.",
            (
                ({"name": name, "status": status, "type": root}, count)
                for (name, status, root), count in sorted(self._checked.items())
            ),
        )
        return page.text()

    def _failed(self, root: str) -> list[str]:
        """Returns the checks that do not pass yet."""
        registered = self._cluster.aggregation.services.is_registered
        failed = [] if registered else ["autoregister-completion"]
        etcd = [] if self._cluster.etcd.runs else [*_ETCD]
        if root == "livez":
            return etcd
        failed += etcd
        if root == "readyz" and self._cluster.life.state != life.SERVING:
            failed.append("shutdown")
        return failed if self._cluster.process.is_ready() else ["informer-sync", *failed]

    def _debug(self, path: str, call: Call) -> Outcome | None:
        if path.startswith(debug.FAIRNESS):
            details = bool(call.param("includeRequestDetails"))
            name = path.removeprefix(debug.FAIRNESS)
            table = debug.dump(self._cluster, name, details=details)
            return None if table is None else _document(table.encode(), _TEXT)
        if not self._cluster.options.profiling:
            return None
        return debug.profile(call) or debug.flags(path, call)


def _answer(code: int, headers: list[tuple[str, str]], body: bytes) -> Outcome:
    kind = dict(headers).get("Content-Type", "")
    rest = [pair for pair in headers if pair[0] != "Content-Type"]
    return Outcome(code, value=body, content_type=kind, headers=rest)


def _document(body: bytes, content_type: str, code: int = 200) -> Outcome:
    return Outcome(code, value=body, content_type=content_type)
