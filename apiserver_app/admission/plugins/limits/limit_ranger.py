"""LimitRanger: defaults and bounds of the resources of containers, pods and claims.

Models kubernetes plugin/pkg/admission/limitranger/admission.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver_app.admission.plugin import (
    CREATE,
    RESOURCES,
    SKIP,
    Attributes,
    Ops,
    Plugin,
    Verdict,
    forbidden,
)
from apiserver_app.apis.podresources import Amounts, amounts, pod_total
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.patch.jsonpatch import escape
from apiserver_app.machinery.syntax.quantity import ZERO, Quantity

ANNOTATION = "kubernetes.io/limit-ranger"
_NONE = Verdict("allow", "no LimitRange here")
_WITHIN = Verdict("allow", "within every limit")
_PARTS = (("requests", "request"), ("limits", "limit"))
_CONTAINER_FIELDS = (("containers", "container"), ("initContainers", "init container"))


class LimitRanger(Plugin):
    name = "LimitRanger"
    concern = RESOURCES
    resources = ("pods", "pods/resize", "persistentvolumeclaims")
    mutates = True
    validates = True
    reads = ("limitranges",)
    source = "plugin/pkg/admission/limitranger/admission.go"

    def admit(self, attributes: Attributes) -> Verdict:
        ranges = _ranges(attributes)
        if ranges is None or attributes.obj is None:
            return SKIP
        if not ranges:
            return _NONE
        if attributes.info.key != "pods":
            return Verdict("allow", "claims get no defaults")
        ops = _defaults(attributes.obj, ranges)
        if not ops:
            return Verdict("allow", "every container says what it needs")
        return Verdict("change", f"{len(ops)} changes by the LimitRange", ops)

    def validate(self, attributes: Attributes) -> Verdict:
        ranges = _ranges(attributes)
        if ranges is None or attributes.obj is None:
            return SKIP
        if not ranges:
            return _NONE
        find = _pod_errors if attributes.info.key == "pods" else _claim_errors
        for limit_range in ranges:
            problems = find(limit_range["spec"].get("limits") or (), attributes.obj["spec"])
            if problems:
                raise forbidden(attributes, errors.aggregate(problems))
        return _WITHIN


def _ranges(attributes: Attributes) -> Sequence[Object] | None:
    """Returns the LimitRanges that apply to the request; None when the plugin ignores it."""
    resize = attributes.subresource == "resize"
    if attributes.info.key == "pods" and attributes.operation != CREATE and not resize:
        return None
    if attributes.old is not None and meta.is_deleting(attributes.old):
        return None
    return attributes.reader.list("limitranges", attributes.namespace)


# -- defaults -----------------------------------------------------------------------------------


class _Container:
    """One container's resources while the LimitRanges fill them."""

    def __init__(self, path: str, label: str, container: Object) -> None:
        self.path = path
        self.label = f"{label} {container['name']}"
        self.before: Object | None = container.get("resources")
        resources = self.before or {}
        self.have = {part: dict(resources.get(part) or {}) for part, _ in _PARTS}

    def fill(self, defaults: dict[str, dict[str, str]]) -> list[str]:
        """Sets missing values; returns notes about them."""
        notes: list[str] = []
        for part, label in _PARTS:
            missing = sorted(set(defaults[part]) - set(self.have[part]))
            self.have[part].update((key, defaults[part][key]) for key in missing)
            if missing:
                notes.append(f"{', '.join(missing)} {label} for {self.label}")
        return notes


def _defaults(pod: Object, ranges: Sequence[Object]) -> Ops:
    """Fills requests and limits of each container, one LimitRange after the other."""
    containers = [
        _Container(f"/spec/{field}/{index}/resources", label, container)
        for field, label in _CONTAINER_FIELDS
        for index, container in enumerate(pod["spec"].get(field) or ())
    ]
    last: list[str] = []
    for limit_range in ranges:
        defaults = _defaults_of(limit_range)
        notes = [note for container in containers for note in container.fill(defaults)]
        last = notes or last
    ops: Ops = []
    for container in containers:
        ops += _resource_ops(container.path, container.before, container.have)
    if last:
        ops += _annotate(pod, f"LimitRanger plugin set: {'; '.join(last)}")
    return ops


def _defaults_of(limit_range: Object) -> dict[str, dict[str, str]]:
    out: dict[str, dict[str, str]] = {"requests": {}, "limits": {}}
    for limit in limit_range["spec"].get("limits") or ():
        if limit.get("type") == "Container":
            out["requests"].update(limit.get("defaultRequest") or {})
            out["limits"].update(limit.get("default") or {})
    return out


def _resource_ops(path: str, before: Object | None, have: dict[str, dict[str, str]]) -> Ops:
    if before is None:
        filled = {part: values for part, values in have.items() if values}
        return [{"op": "add", "path": path, "value": filled}] if filled else []
    ops: Ops = []
    for part in ("limits", "requests"):
        old = before.get(part)
        if not old and have[part]:
            ops.append({"op": "add", "path": f"{path}/{part}", "value": have[part]})
        elif old:
            for key in have[part]:
                if key not in old:
                    location = f"{path}/{part}/{escape(key)}"
                    ops.append({"op": "add", "path": location, "value": have[part][key]})
    return ops


def _annotate(pod: Object, note: str) -> Ops:
    if pod["metadata"].get("annotations") is None:
        value = {ANNOTATION: note}
        return [{"op": "add", "path": "/metadata/annotations", "value": value}]
    path = f"/metadata/annotations/{escape(ANNOTATION)}"
    return [{"op": "add", "path": path, "value": note}]


# -- bounds -------------------------------------------------------------------------------------


def _pod_errors(limits: Sequence[Object], spec: Object) -> list[str]:
    problems: list[str] = []
    for limit in limits:
        kind = limit.get("type")
        if kind == "Container":
            for field, _ in _CONTAINER_FIELDS:
                for container in spec.get(field) or ():
                    resources = container.get("resources") or {}
                    requests = amounts(resources.get("requests"))
                    problems += _check(limit, requests, amounts(resources.get("limits")))
        elif kind == "Pod":
            problems += _check(limit, pod_total(spec, "requests"), pod_total(spec, "limits"))
    return problems


def _claim_errors(limits: Sequence[Object], spec: Object) -> list[str]:
    problems: list[str] = []
    requests = amounts((spec.get("resources") or {}).get("requests"))
    for limit in limits:
        if limit.get("type") != "PersistentVolumeClaim":
            continue
        for name, enforced in sorted(amounts(limit.get("min")).items()):
            problems += _minimum("PersistentVolumeClaim", name, enforced, requests, {})
        for name, enforced in sorted(amounts(limit.get("max")).items()):
            requested = requests.get(name)
            start = f"maximum {name} usage per PersistentVolumeClaim is {enforced}"
            if requested is None:
                problems.append(f"{start}.  No request is specified")
            elif requested > enforced:
                problems.append(f"{start}, but request is {requested}")
    return problems


def _check(limit: Object, requests: Amounts, limits: Amounts) -> list[str]:
    kind = str(limit.get("type"))
    problems: list[str] = []
    for name, enforced in sorted(amounts(limit.get("min")).items()):
        problems += _minimum(kind, name, enforced, requests, limits)
    for name, enforced in sorted(amounts(limit.get("max")).items()):
        problems += _maximum(kind, name, enforced, requests, limits)
    for name, enforced in sorted(amounts(limit.get("maxLimitRequestRatio")).items()):
        problems += _ratio(kind, name, enforced, requests, limits)
    return problems


def _minimum(
    kind: str, name: str, enforced: Quantity, requests: Amounts, limits: Amounts
) -> list[str]:
    request, limit = requests.get(name), limits.get(name)
    start = f"minimum {name} usage per {kind} is {enforced}"
    if request is None:
        return [f"{start}.  No request is specified"]
    if request < enforced:
        return [f"{start}, but request is {request}"]
    if limit is not None and limit < enforced:
        return [f"{start}, but limit is {limit}"]
    return []


def _maximum(
    kind: str, name: str, enforced: Quantity, requests: Amounts, limits: Amounts
) -> list[str]:
    request, limit = requests.get(name), limits.get(name)
    start = f"maximum {name} usage per {kind} is {enforced}"
    if limit is None:
        return [f"{start}.  No limit is specified"]
    if limit > enforced:
        return [f"{start}, but limit is {limit}"]
    if request is not None and request > enforced:
        return [f"{start}, but request is {request}"]
    return []


def _ratio(
    kind: str, name: str, enforced: Quantity, requests: Amounts, limits: Amounts
) -> list[str]:
    request, limit = requests.get(name, ZERO), limits.get(name, ZERO)
    start = f"{name} max limit to request ratio per {kind} is {enforced}"
    if request.is_zero:
        return [f"{start}, but no request is specified or request is 0"]
    if limit.is_zero:
        return [f"{start}, but no limit is specified or limit is 0"]
    ratio = limit.scaled(-3) / request.scaled(-3)
    if ratio * 1000 > enforced.scaled(-3):
        return [f"{start}, but provided ratio is {ratio:f}"]
    return []
