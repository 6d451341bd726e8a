"""Paths that are no resources: discovery, OpenAPI, version, health, metrics, the token issuer.

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/routes and pkg/server/healthz.
"""

from __future__ import annotations

import orjson

from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.http import discovery, openapi
from apiserver_app.machinery import errors

HEALTH = ("/healthz", "/livez", "/readyz")
CHECKS = ("ping", "log", "etcd", "informer-sync", "poststarthook/rbac/bootstrap-roles")
_JSON = "application/json"
_TEXT = "text/plain; charset=utf-8"


class PathHandler:
    """Answers of one cluster."""

    def __init__(self, cluster: ClusterContext) -> None:
        self._cluster = cluster
        self._discovery = discovery.Discovery(cluster.resources)
        self._openapi = openapi.OpenApi(cluster.resources)

    def handle(self, call: Call) -> Outcome | None:
        """The document at a path, or None when there is none."""
        path = call.path.rstrip("/") or "/"
        if call.verb not in ("get", "head"):
            return None
        root = "/" + path.split("/", 2)[1]
        if root in HEALTH:
            return self._health(path, call)
        if root in ("/", "/version", "/api", "/apis"):
            return self._discover(path, call)
        if root == "/openapi":
            return self._describe(path, call)
        if path == "/metrics":
            return _document(self._metrics(), "text/plain; version=0.0.4; charset=utf-8")
        if path == "/openid/v1/jwks":
            return _document(orjson.dumps(self._cluster.jwks()), "application/jwk-set+json")
        if path == "/.well-known/openid-configuration":
            return _document(orjson.dumps(self._cluster.openid()), _JSON)
        return None

    def _discover(self, path: str, call: Call) -> Outcome | None:
        found = self._discovery.document(path, call.headers.get("accept", ""))
        return found and _answer(*found.answer(call.headers.get("if-none-match", "")))

    def _describe(self, path: str, call: Call) -> Outcome | None:
        found = self._openapi.answer(path, call.params, call.headers)
        return found and _answer(*found)

    def _health(self, path: str, call: Call) -> Outcome:
        root, _, check = path.strip("/").partition("/")
        if check and check not in CHECKS:
            raise errors.path_not_found()
        failed = [] if self._cluster.is_ready() or root == "livez" else ["informer-sync"]
        excluded = call.params.get("exclude") or []
        checks = [check] if check else [one for one in CHECKS if one not in excluded]
        lines = []
        for one in checks:
            if one in failed:
                lines.append(f"[-]{one} failed: reason withheld")
            else:
                lines.append(f"[+]{one} ok")
        if any(one in failed for one in checks):
            body = "\n".join([*lines, f"{root} check failed", ""])
            return _document(body.encode(), _TEXT, 500)
        if "verbose" in call.params:
            body = "\n".join([*lines, f"{root} check passed", ""])
            return _document(body.encode(), _TEXT)
        return _document(b"ok", _TEXT)

    def _metrics(self) -> bytes:
        cluster = self._cluster
        rows = [
            ("apiserver_storage_revision", "gauge", "Current revision of the store.",
             cluster.store.revision),
            ("kernel_steps_total", "counter", "Steps the cluster's kernel took.",
             cluster.kernel.steps),
            ("kernel_virtual_seconds", "counter", "Virtual time, seconds since 1970.",
             cluster.kernel.now / 1e6),
            ("kernel_tasks", "gauge", "Tasks that live in the kernel.", len(cluster.kernel.tasks)),
        ]  # fmt: skip
        lines = []
        for name, kind, text, value in rows:
            lines += [f"# HELP {name} {text}", f"# TYPE {name} {kind}", f"{name} {value}"]
        name = "apiserver_storage_objects"
        lines += [
            f"# HELP {name} Number of stored objects by resource.",
            f"# TYPE {name} gauge",
        ]
        seen: set[str] = set()
        for info in cluster.resources.all:
            if info.storage and info.storage not in seen:
                seen.add(info.storage)
                count = cluster.store.count(info.etcd_prefix())
                lines.append(f'{name}{{resource="{info.key}"}} {count}')
        return ("\n".join(lines) + "\n").encode()


def _answer(code: int, headers: list[tuple[str, str]], body: bytes) -> Outcome:
    kind = dict(headers).get("Content-Type", _JSON)
    rest = [pair for pair in headers if pair[0] != "Content-Type"]
    return Outcome(code, value=body, content_type=kind, headers=rest)


def _document(body: bytes, content_type: str, code: int = 200) -> Outcome:
    return Outcome(code, value=body, content_type=content_type)
