"""Component statuses: nothing is stored, each component is asked when somebody wants to know.

Models kubernetes pkg/registry/core/componentstatus/rest.go and
pkg/registry/core/rest/storage_core.go (the list of who is asked).
"""

from __future__ import annotations

import orjson

from apiserver_app.etcd.entries import Entry
from apiserver_app.handlers.call import Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.request import Request
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object
from apiserver_app.registry.generic import Page, Selection

# who is asked, and where it would answer
_ASKED = (("scheduler", 10259), ("controller-manager", 10257))
_ETCD = "etcd-0"
_UNHEALTHY = {"type": "Healthy", "status": "False"}


def get(request: Request) -> Outcome:
    for status in _statuses(request.cluster):
        if status["metadata"]["name"] == request.name:
            return Outcome(200, obj=status, value=orjson.dumps(status))
    raise errors.not_found("", "componentstatus", request.name)


def page(request: Request, selection: Selection) -> Outcome:
    cluster = request.cluster
    selects = selection.selects(cluster.strategy(request.info))
    statuses = [status for status in _statuses(cluster) if selects is None or selects(status)]
    entries = [
        Entry(f"/componentstatuses/{status['metadata']['name']}", orjson.dumps(status), 0, 0, 0)
        for status in statuses
    ]
    return Outcome(200, page=Page(entries, 0, "", None, statuses))


def _statuses(cluster: ClusterContext) -> list[Object]:
    runs = cluster.process.component_runs
    others = [_status(name, "" if runs(name) else _refused(port)) for name, port in _ASKED]
    etcd = _status(_ETCD, "")
    if not cluster.etcd.runs:  # it is asked by its own protocol
        etcd["conditions"] = [{**_UNHEALTHY, "error": "context deadline exceeded"}]
    return [*others, etcd]


def _refused(port: int) -> str:
    at = f"127.0.0.1:{port}"
    return f'Get "https://{at}/healthz": dial tcp {at}: connect: connection refused'


def _status(name: str, failure: str) -> Object:
    condition = {"type": "Healthy", "status": "True", "message": "ok"}
    if failure:
        condition = {**_UNHEALTHY, "message": failure}
    return {
        "kind": "ComponentStatus",
        "apiVersion": "v1",
        "metadata": {"name": name, "creationTimestamp": None},
        "conditions": [condition],
    }
