"""Rows of nodes, namespaces, events, configuration and leases, and of kinds without a form.

Models the print functions of kubernetes pkg/printers/internalversion/printers.go and
apiserver pkg/registry/rest/table.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.http.tables import cells
from apiserver_app.machinery import conditions, meta
from apiserver_app.machinery.meta import Object

_ROLE_PREFIX = "node-role.kubernetes.io/"
_ROLE_LABEL = "kubernetes.io/role"


def named(obj: Object, now: int) -> list[Any]:
    """A kind that has no form of its own: custom resources."""
    return [cells.name(obj), cells.age(obj, now)]


def created(obj: Object, now: int) -> list[Any]:
    """A built-in kind that has no form of its own."""
    return [cells.name(obj), obj["metadata"].get("creationTimestamp") or "0001-01-01T00:00:00Z"]


def node(obj: Object, now: int) -> list[Any]:
    status = cells.part(obj, "status")
    info = status.get("nodeInfo") or {}
    return [
        cells.name(obj),
        _node_status(obj, status),
        cells.joined(sorted(_roles(meta.labels_of(obj)))),
        cells.age(obj, now),
        info.get("kubeletVersion", ""),
        _address(status, "InternalIP"),
        _address(status, "ExternalIP"),
        info.get("osImage") or cells.UNKNOWN,
        info.get("kernelVersion") or cells.UNKNOWN,
        info.get("containerRuntimeVersion") or cells.UNKNOWN,
    ]


def namespace(obj: Object, now: int) -> list[Any]:
    return [cells.name(obj), cells.part(obj, "status").get("phase", ""), cells.age(obj, now)]


def event(obj: Object, now: int) -> list[Any]:
    """An event of either group: events.k8s.io names the old fields otherwise."""
    first = obj.get("firstTimestamp") or obj.get("deprecatedFirstTimestamp")
    last = obj.get("lastTimestamp") or obj.get("deprecatedLastTimestamp")
    first_seen = cells.since(first or obj.get("eventTime"), now)
    last_seen = cells.since(last, now) if last else first_seen
    count = obj.get("count") or obj.get("deprecatedCount") or 1
    series = obj.get("series")
    if series is not None:
        last_seen = cells.since(series.get("lastObservedTime"), now)
        count = series.get("count", 0)
    target = obj.get("involvedObject") or obj.get("regarding") or {}
    kind, name = target.get("kind", "").lower(), target.get("name")
    return [
        last_seen,
        obj.get("type", ""),
        obj.get("reason", ""),
        f"{kind}/{name}" if name else kind,
        target.get("fieldPath", ""),
        _source(obj),
        (obj.get("message") or obj.get("note") or "").strip(),
        first_seen,
        count,
        cells.name(obj),
    ]


def config_map(obj: Object, now: int) -> list[Any]:
    count = len(obj.get("data") or ()) + len(obj.get("binaryData") or ())
    return [cells.name(obj), count, cells.age(obj, now)]


def secret(obj: Object, now: int) -> list[Any]:
    return [cells.name(obj), obj.get("type", ""), len(obj.get("data") or ()), cells.age(obj, now)]


def service_account(obj: Object, now: int) -> list[Any]:
    return [cells.name(obj), len(obj.get("secrets") or ()), cells.age(obj, now)]


def component_status(obj: Object, now: int) -> list[Any]:
    for condition in obj.get("conditions") or ():
        if condition.get("type") == "Healthy":
            word = "Healthy" if condition.get("status") == "True" else "Unhealthy"
            return [cells.name(obj), word, condition.get("message", ""), condition.get("error", "")]
    return [cells.name(obj), "Unknown", "", ""]


def lease(obj: Object, now: int) -> list[Any]:
    holder = cells.part(obj, "spec").get("holderIdentity") or ""
    return [cells.name(obj), holder, cells.age(obj, now)]


def lease_candidate(obj: Object, now: int) -> list[Any]:
    spec = cells.part(obj, "spec")
    versions = [spec.get("binaryVersion", ""), spec.get("emulationVersion", "")]
    return [cells.name(obj), spec.get("leaseName", ""), *versions, cells.age(obj, now)]


def runtime_class(obj: Object, now: int) -> list[Any]:
    return [cells.name(obj), obj.get("handler", ""), cells.age(obj, now)]


def priority_class(obj: Object, now: int) -> list[Any]:
    return [
        cells.name(obj),
        obj.get("value", 0),
        bool(obj.get("globalDefault")),
        cells.age(obj, now),
        obj.get("preemptionPolicy") or "",
    ]


def storage_version(obj: Object, now: int) -> list[Any]:
    status = cells.part(obj, "status")
    common = status.get("commonEncodingVersion")
    encodings = [
        f"{version.get('apiServerID', '')}={version.get('encodingVersion', '')}"
        for version in status.get("storageVersions") or ()
    ]
    shown = cells.UNSET if common is None else common
    return [cells.name(obj), shown, cells.shortened(encodings), cells.age(obj, now)]


def version_migration(obj: Object, now: int) -> list[Any]:
    resource = cells.part(obj, "spec", "resource")
    parts = (resource.get(field, "") for field in ("resource", "version", "group"))
    return [cells.name(obj), ".".join(parts)]


def resource_claim(obj: Object, now: int) -> list[Any]:
    status = cells.part(obj, "status")
    states = ["deleted"] if meta.is_deleting(obj) else []
    if status.get("allocation") is not None:
        states.append("allocated")
        if status.get("reservedFor"):
            states.append("reserved")
    elif not states:
        states.append("pending")
    return [cells.name(obj), ",".join(states), cells.age(obj, now)]


def resource_slice(obj: Object, now: int) -> list[Any]:
    spec = cells.part(obj, "spec")
    pool = cells.part(spec, "pool").get("name", "")
    return [
        cells.name(obj),
        spec.get("nodeName") or "",
        spec.get("driver", ""),
        pool,
        cells.age(obj, now),
    ]


def api_service(obj: Object, now: int) -> list[Any]:
    service = cells.part(obj, "spec").get("service")
    where = f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"
    available = "Unknown"
    condition = conditions.find(cells.part(obj, "status"), "Available")
    if condition is not None:
        available = condition.get("status", "")
        if available != "True" and condition.get("reason"):
            available = f"{available} ({condition['reason']})"
    return [cells.name(obj), where, available, cells.age(obj, now)]


def _node_status(obj: Object, status: Object) -> str:
    word = "Unknown"
    condition = conditions.find(status, "Ready")
    if condition is not None:
        word = "Ready" if condition.get("status") == "True" else "NotReady"
    return f"{word},SchedulingDisabled" if cells.part(obj, "spec").get("unschedulable") else word


def _roles(labels: dict[str, str]) -> set[str]:
    roles = {key[len(_ROLE_PREFIX) :] for key in labels if key.startswith(_ROLE_PREFIX)} | {
        labels.get(_ROLE_LABEL, "")
    }
    return {role for role in roles if role}


def _address(status: Object, kind: str) -> str:
    for address in status.get("addresses") or ():
        if address.get("type") == kind:
            return str(address.get("address", ""))
    return cells.NONE


def _source(obj: Object) -> str:
    source = obj.get("source") or obj.get("deprecatedSource") or {}
    controller = obj.get("reportingComponent") or obj.get("reportingController") or ""
    component = source.get("component") or controller
    instance = source.get("host") or obj.get("reportingInstance")
    return f"{component}, {instance}" if instance else component
