"""Whatever decodes is answered, however little it says: no strategy ever fails itself."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.kinds import kinds as resources
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.types import scheme
from apiserver_app.registry import kinds
from tests.apiserver_app.registry.kinds import strategies

_TYPES = scheme.Types(strategies.VERSION)
_BY_KEY = dict(kinds.KINDS)
_INFOS = [info for info in resources.resources(strategies.VERSION) if info.key in _BY_KEY]
_CONTAINER: dict[str, Any] = {
    "name": None, "ports": [{}], "env": [{}, {"valueFrom": {"fieldRef": {}}}], "envFrom": [{}],
    "volumeMounts": [{}], "volumeDevices": [{}], "livenessProbe": {"httpGet": {}},
    "lifecycle": {"preStop": {}}, "resources": {"limits": {"cpu": 1}}, "securityContext": {},
}  # fmt: skip
_POD: dict[str, Any] = {
    "containers": [_CONTAINER], "initContainers": [_CONTAINER], "tolerations": [{}],
    "ephemeralContainers": [_CONTAINER], "volumes": [{}, {"projected": {"sources": [{}]}}],
    "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {}},
                 "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{}]}},
    "topologySpreadConstraints": [{}], "dnsConfig": {}, "hostAliases": [{}], "os": {},
    "schedulingGates": [{}], "readinessGates": [{}], "resourceClaims": [{}],
    "securityContext": {"sysctls": [{}]}, "hostNetwork": True,
}  # fmt: skip
_TEMPLATE = {"metadata": None, "spec": _POD}
_ODD: dict[str, dict[str, Any]] = {
    "pods": _POD,
    "services": {"ports": [{}, {}], "externalIPs": ["x"]},
    "cronjobs.batch": {"jobTemplate": {"spec": {"template": _TEMPLATE}}},
    "jobs.batch": {"template": _TEMPLATE, "podFailurePolicy": {"rules": [{}]}},
    "limitranges": {"limits": [{}, {"type": "Container"}]},
    "resourcequotas": {"scopes": ["a"], "scopeSelector": {"matchExpressions": [{}]}},
    "nodes": {"taints": [{}], "podCIDRs": ["x"]},
    "ingresses.networking.k8s.io": {"rules": [{}, {"http": {}}], "tls": [{}]},
    "networkpolicies.networking.k8s.io": {"ingress": [{"from": [{}], "ports": [{}]}]},
    "horizontalpodautoscalers.autoscaling": {"behavior": {}},
    "customresourcedefinitions.apiextensions.k8s.io": {"versions": [{}], "names": {}},
    **{
        key: {"template": _TEMPLATE, "selector": {"matchExpressions": [{}]}, "strategy": {}}
        for key in ("deployments.apps",)
    },
    **{
        key: {"template": _TEMPLATE, "selector": {"matchExpressions": [{}]}}
        for key in ("replicasets.apps", "statefulsets.apps", "daemonsets.apps")
    },
}


def _write(info: ResourceInfo, fields: Object) -> list[FieldError]:
    """Create, update, update the status of, and select an object; what creating it found."""
    metadata = {"name": "a", "uid": "u", "resourceVersion": "1"}
    raw = {"kind": info.kind, "apiVersion": info.api_version, "metadata": metadata, **fields}
    strategy = kinds.strategies([info])[info.group, info.version, info.plural]
    ctx = strategies.context()
    obj, _ = _TYPES.decode(info.definition, raw, "Ignore")
    strategy.default(obj)
    strategy.warnings(ctx, obj, None)
    strategy.prepare_for_create(ctx, obj)
    found = strategy.validate(ctx, obj)
    assert all(str(error) for error in found)
    for subresource in ("", "status", "finalize", "ephemeralcontainers", "resize", "approval"):
        within = strategies.context(subresource=subresource)
        new, _ = _TYPES.decode(info.definition, {**raw, "status": {}}, "Ignore")
        strategy.default(new)
        if subresource == "status":
            strategy.prepare_for_status_update(within, new, obj)
            strategy.validate_status_update(within, new, obj)
        else:
            strategy.prepare_for_update(within, new, obj)
            strategy.validate_update(within, new, obj)
    for path in ("metadata.name", *strategy.selectable):
        assert strategy.selectable_value(obj, path) is not None
    strategy.grace_seconds(obj, {})
    return found


@pytest.mark.parametrize("info", _INFOS, ids=lambda info: f"{info.key}-{info.version}")
@pytest.mark.parametrize("fields", [{}, {"spec": {}}, {"spec": None}], ids=["none", "{}", "null"])
def test_an_object_that_says_nothing_is_answered(info: ResourceInfo, fields: Object) -> None:
    _write(info, copy.deepcopy(fields))


@pytest.mark.parametrize(
    "info", [info for info in _INFOS if info.key in _ODD], ids=lambda info: info.key
)
def test_an_object_of_empty_parts_is_answered_with_findings(info: ResourceInfo) -> None:
    assert _write(info, {"spec": copy.deepcopy(_ODD[info.key])})


@pytest.mark.parametrize("info", _INFOS, ids=lambda info: f"{info.key}-{info.version}")
def test_defaulting_twice_changes_nothing(info: ResourceInfo) -> None:
    metadata = {"name": "a", "uid": "u"}
    raw = {"kind": info.kind, "apiVersion": info.api_version, "metadata": metadata}
    if info.key in _ODD:
        raw["spec"] = copy.deepcopy(_ODD[info.key])
    strategy = kinds.strategies([info])[info.group, info.version, info.plural]
    obj, _ = _TYPES.decode(info.definition, raw, "Ignore")
    strategy.default(obj)
    once = copy.deepcopy(obj)

    strategy.default(obj)

    assert obj == once
    assert list(obj) == list(once)
