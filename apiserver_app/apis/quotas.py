"""Quota evaluators: how much of a quota an object uses, and which quotas match it.

Pods are charged for their requests and limits until they terminate, services and claims by type
and class; all other objects only count. Admission and the resource quota controller share the
evaluators.

Models kubernetes pkg/quota/v1/evaluator/core/{pods,services,persistent_volume_claims}.go and
staging/src/k8s.io/apiserver/pkg/quota/v1/generic/evaluator.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from apiserver_app.apis.podresources import Amounts, add, amounts, pod_total
from apiserver_app.machinery.kinds.defaultclass import storage_class_of
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import labels
from apiserver_app.machinery.syntax.quantity import DECIMAL_SI, ZERO, Quantity

ONE = Quantity(1, 0, DECIMAL_SI, "1")
_CLASS_SUFFIX = ".storageclass.storage.k8s.io/"
# a quota on one of these requires every container to set the amount
_MUST_SAY = ("cpu", "limits.cpu", "limits.memory", "memory", "requests.cpu", "requests.memory")
_POD_NAMES = frozenset(
    (
        *_MUST_SAY,
        "count/pods",
        "pods",
        "ephemeral-storage",
        "requests.ephemeral-storage",
        "limits.ephemeral-storage",
    )
)
# also counted under their own name; Models pkg/quota/v1/evaluator/core/registry.go
_NAMED_PLAINLY = ("configmaps", "replicationcontrollers", "resourcequotas", "secrets")
_NATIVE = ("cpu", "memory", "ephemeral-storage")


class Evaluator:
    """Counts objects of one resource."""

    def __init__(self, resource: str) -> None:
        self.resource = resource
        self.count_name = f"count/{resource}"
        self.count_names = [self.count_name, *([resource] if resource in _NAMED_PLAINLY else ())]

    def handles(self, operation: str, subresource: str, obj: Object, old: Object | None) -> bool:
        return not subresource and operation == "CREATE"

    def relevant(self, hard: Iterable[str]) -> list[str]:
        """The names of a quota that this evaluator counts."""
        return [name for name in hard if self.counts(name)]

    def counts(self, name: str) -> bool:
        return name in self.count_names

    def missing(self, names: Sequence[str], obj: Object) -> str:
        """The amounts that the object must set to be counted; "" if none is missing."""
        return ""

    def usage(self, obj: Object) -> Amounts:
        return dict.fromkeys(self.count_names, ONE)


class PodEvaluator(Evaluator):
    def handles(self, operation: str, subresource: str, obj: Object, old: Object | None) -> bool:
        if subresource == "resize":
            return operation == "UPDATE"
        if subresource:
            return False
        changed = old is not None and _is_terminating(old) != _is_terminating(obj)
        return operation == "CREATE" or changed

    def counts(self, name: str) -> bool:
        if name in _POD_NAMES or name.startswith(("hugepages-", "requests.hugepages-")):
            return True
        # extended resources: requests.example.com/gpu
        return name.startswith("requests.") and "/" in name

    def missing(self, names: Sequence[str], obj: Object) -> str:
        required = [name for name in _MUST_SAY if name in names]
        lacking: dict[str, list[str]] = {}
        for field in ("containers", "initContainers"):
            for container in obj["spec"].get(field) or ():
                resources = container.get("resources") or {}
                set_amounts = _compute(
                    amounts(resources.get("requests")), amounts(resources.get("limits"))
                )
                for name in required:
                    if name not in set_amounts:
                        lacking.setdefault(name, []).append(container["name"])
        if not lacking:
            return ""
        parts = [f"{name} for: {','.join(sorted(lacking[name]))}" for name in sorted(lacking)]
        return f"must specify {'; '.join(parts)}"

    def usage(self, obj: Object) -> Amounts:
        out: Amounts = {self.count_name: ONE}
        if (obj.get("status") or {}).get("phase") in ("Succeeded", "Failed"):
            return out
        spec = obj["spec"]
        requests = pod_total(spec, "requests", overhead=True)
        out.update(_compute(requests, pod_total(spec, "limits", overhead=True)))
        return out


class ServiceEvaluator(Evaluator):
    _names = ("services", "services.nodeports", "services.loadbalancers")

    def handles(self, operation: str, subresource: str, obj: Object, old: Object | None) -> bool:
        return not subresource and operation in ("CREATE", "UPDATE")

    def counts(self, name: str) -> bool:
        return name == self.count_name or name in self._names

    def usage(self, obj: Object) -> Amounts:
        spec = obj.get("spec") or {}
        ports = spec.get("ports") or ()
        kind = spec.get("type")
        node_ports = len(ports) if kind in ("NodePort", "LoadBalancer") else 0
        if kind == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is False:
            node_ports = sum(1 for port in ports if port.get("nodePort"))
        balancers = 1 if kind == "LoadBalancer" else 0
        return {
            self.count_name: ONE,
            "services": ONE,
            "services.nodeports": Quantity(node_ports, 0, DECIMAL_SI),
            "services.loadbalancers": Quantity(balancers, 0, DECIMAL_SI),
        }


class ClaimEvaluator(Evaluator):
    _names = ("persistentvolumeclaims", "requests.storage")

    def handles(self, operation: str, subresource: str, obj: Object, old: Object | None) -> bool:
        return not subresource and operation in ("CREATE", "UPDATE")

    def counts(self, name: str) -> bool:
        if name == self.count_name or name in self._names:
            return True
        return any(name.endswith(f"{_CLASS_SUFFIX}{class_name}") for class_name in self._names)

    def usage(self, obj: Object) -> Amounts:
        spec = obj.get("spec") or {}
        storage_class = storage_class_of(obj)
        out: Amounts = {self.count_name: ONE, "persistentvolumeclaims": ONE}
        requested = amounts((spec.get("resources") or {}).get("requests")).get("storage")
        if requested is not None:
            out["requests.storage"] = requested
        if storage_class:
            for name in self._names:
                if name in out:
                    out[f"{storage_class}{_CLASS_SUFFIX}{name}"] = out[name]
        return out


_SPECIAL: dict[str, Evaluator] = {
    "pods": PodEvaluator("pods"),
    "services": ServiceEvaluator("services"),
    "persistentvolumeclaims": ClaimEvaluator("persistentvolumeclaims"),
}


def evaluator_for(resource: str) -> Evaluator:
    return _SPECIAL.get(resource) or Evaluator(resource)


def total(quota: Object, resource: str, objects: Iterable[Object], names: Iterable[str]) -> Amounts:
    """The quota's usage by the objects of one resource, by name."""
    evaluator = evaluator_for(resource)
    relevant = evaluator.relevant(names)
    used: Amounts = dict.fromkeys(relevant, ZERO)
    for obj in objects:
        if in_scope(quota, resource, obj):
            spent = evaluator.usage(obj)
            add(used, {name: spent[name] for name in relevant if name in spent})
    return used


def in_scope(quota: Object, resource: str, obj: Object) -> bool:
    """Whether all scopes of the quota match the object. Only pods have scopes."""
    spec = quota.get("spec") or {}
    terms = [{"scopeName": name, "operator": "Exists"} for name in spec.get("scopes") or ()]
    terms += (spec.get("scopeSelector") or {}).get("matchExpressions") or ()
    if not terms:
        return True
    return resource == "pods" and all(_holds(term, obj) for term in terms)


def _holds(term: dict[str, Any], pod: Object) -> bool:
    name = term["scopeName"]
    if name == "Terminating":
        return _is_terminating(pod)
    if name == "NotTerminating":
        return not _is_terminating(pod)
    if name == "BestEffort":
        return _is_best_effort(pod)
    if name == "NotBestEffort":
        return not _is_best_effort(pod)
    if name == "CrossNamespacePodAffinity":
        return _reaches_out(pod["spec"].get("affinity") or {})
    if name != "PriorityClass":
        return False
    class_name = pod["spec"].get("priorityClassName")
    if term["operator"] == "Exists":
        return bool(class_name)
    values = tuple(term.get("values") or ())
    operator = {"In": "in", "NotIn": "notin", "DoesNotExist": "!"}[term["operator"]]
    requirement = labels.Requirement(name, operator, values)
    return requirement.matches({name: class_name} if class_name else {})


def _is_terminating(pod: Object) -> bool:
    return pod["spec"].get("activeDeadlineSeconds") is not None


def _is_best_effort(pod: Object) -> bool:
    for field in ("containers", "initContainers"):
        for container in pod["spec"].get(field) or ():
            resources = container.get("resources") or {}
            for part in ("requests", "limits"):
                if any(name in _NATIVE[:2] for name in resources.get(part) or ()):
                    return False
    return True


def _reaches_out(affinity: Object) -> bool:
    for field in ("podAffinity", "podAntiAffinity"):
        part = affinity.get(field) or {}
        terms = list(part.get("requiredDuringSchedulingIgnoredDuringExecution") or ())
        terms += [
            term.get("podAffinityTerm") or {}
            for term in part.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        ]
        if any(
            term.get("namespaces") or term.get("namespaceSelector") is not None for term in terms
        ):
            return True
    return False


def _compute(requests: Amounts, limits: Amounts) -> Amounts:
    """The quota usage of a pod or container with these amounts."""
    out: Amounts = {"pods": ONE}
    for name in _NATIVE:
        if name in requests:
            out[name] = out[f"requests.{name}"] = requests[name]
        if name in limits:
            out[f"limits.{name}"] = limits[name]
    for name, amount in requests.items():
        if name.startswith("hugepages-"):
            out[name] = out[f"requests.{name}"] = amount
        elif "/" in name and "kubernetes.io/" not in name:
            out[f"requests.{name}"] = amount
    return out
