"""The strategy of Nodes: immutable fields, taints, resources, and allocatable from capacity.

Models kubernetes pkg/registry/core/node/strategy.go and
pkg/apis/core/validation/validation.go (ValidateNode, ValidateNodeUpdate).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.core import resources
from apiserver_app.registry.core.pod import scheduling
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import addresswarnings, checks, legacyaddresses

_NODE_INFO = tuple(
    """
    machineID systemUUID bootID kernelVersion osImage containerRuntimeVersion kubeletVersion
    kubeProxyVersion operatingSystem architecture
    """.split()
)


class NodeStrategy(Strategy):
    selectable = ("spec.unschedulable",)
    selects_namespace = False

    def default(self, obj: Object) -> None:
        if obj.get("spec") is None:
            obj["spec"] = {}
        _one_range(obj["spec"])
        status = obj.get("status")
        if status is None:
            status = obj["status"] = {}
        size = len(status)
        capacity = status.get("capacity")
        if capacity is not None:
            resources.canonicalize(capacity)
            if status.get("allocatable") is None:
                status["allocatable"] = dict(capacity)
        if status.get("allocatable"):
            resources.canonicalize(status["allocatable"])
        if status.get("daemonEndpoints") is None:
            status["daemonEndpoints"] = {"kubeletEndpoint": {"Port": 0}}
        if status.get("nodeInfo") is None:
            status["nodeInfo"] = {}
        for field in _NODE_INFO:
            status["nodeInfo"].setdefault(field, "")
        if len(status) != size:
            gofields.arrange(status, "core.v1.NodeStatus")

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        obj["status"] = old.get("status") or {}
        if obj["spec"] is not old.get("spec"):
            _drop_source(obj["spec"], old.get("spec") or {})

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        """A create may set every field, including the status."""
        _drop_source(obj["spec"], {})

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        spec = obj["spec"]
        if spec.get("taints"):
            scheduling.taints(spec["taints"], "metadata.taints", errs)
        _amounts(obj, errs)
        _ranges(spec.get("podCIDRs") or (), ctx.version, errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        _amounts(obj, errs)
        _addresses(obj, errs)
        spec, before = obj["spec"], old.get("spec") or {}
        if spec is before:
            return errs
        old_ranges = before.get("podCIDRs")
        if old_ranges and old_ranges != spec.get("podCIDRs"):
            text = 'node updates may not change podCIDR except from "" to valid'
            errs.append(errors.forbidden_value("spec.podCIDRs", text))
        provider = before.get("providerID")
        if provider and provider != spec.get("providerID"):
            text = 'node updates may not change providerID except from "" to valid'
            errs.append(errors.forbidden_value("spec.providerID", text))
        if spec.get("taints") and spec["taints"] != before.get("taints"):
            scheduling.taints(spec["taints"], "metadata.taints", errs)
        if spec.get("externalID") != before.get("externalID"):
            errs.append(errors.forbidden_value("spec.externalID", "may not be updated"))
        return errs

    def validate_status_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        status, before = obj.get("status") or {}, old.get("status") or {}
        same = all(status.get(field) == before.get(field) for field in ("capacity", "allocatable"))
        if not same:
            _amounts(obj, errs)
        if status.get("addresses") != before.get("addresses"):
            _addresses(obj, errs)
        return errs

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        texts, spec = [], obj["spec"]
        if spec.get("configSource") is not None:
            texts.append("spec.configSource: the feature is removed")
        if spec.get("externalID"):
            texts.append("spec.externalID: this field is deprecated, and is unused by Kubernetes")
        for index, value in enumerate(spec.get("podCIDRs") or ()):
            addresswarnings.cidr(value, f"spec.podCIDRs[{index}]", ctx.version, texts)
        return texts

    def selectable_value(self, obj: Object, path: str) -> str | None:
        if path == "spec.unschedulable":
            return "true" if (obj.get("spec") or {}).get("unschedulable") else "false"
        return super().selectable_value(obj, path)


def _one_range(spec: dict[str, Any]) -> None:
    """The former field podCIDR is the first of podCIDRs, and counts where they differ."""
    single, all_ = spec.get("podCIDR"), spec.get("podCIDRs")
    if single and (not all_ or single != all_[0]):
        spec["podCIDRs"] = [single]
    elif all_ and all_[0]:
        spec["podCIDR"] = all_[0]
    else:
        return
    gofields.arrange(spec, "core.v1.NodeSpec")


def _drop_source(spec: dict[str, Any], before: Mapping[str, Any]) -> None:
    """Drops spec.configSource of the removed feature DynamicKubeletConfig."""
    if before.get("configSource") is None:
        spec.pop("configSource", None)


def _ranges(ranges: Sequence[str], release: Release, errs: list[FieldError]) -> None:
    rule = legacyaddresses.rule(release)
    for index, value in enumerate(ranges):
        rule.cidr(value, f"spec.podCIDRs[{index}]", errs)
    checks.ip_list(ranges, "spec.podCIDRs", "CIDR", list(ranges), errs)
    for index, value in enumerate(() if release.has("PodCIDRsToldOnce") else ranges):
        if value in ranges[:index]:
            errs.append(errors.duplicate(f"spec.podCIDRs[{index}]", value))


def _amounts(obj: Object, errs: list[FieldError]) -> None:
    status = obj.get("status") or {}
    for kind in ("capacity", "allocatable"):
        for name, value in (status.get(kind) or {}).items():
            resources.quantity(name, value, f"status.{kind}.{name}", errs)


def _addresses(obj: Object, errs: list[FieldError]) -> None:
    seen: set[tuple[str, str]] = set()
    for index, item in enumerate((obj.get("status") or {}).get("addresses") or ()):
        key = (item.get("type") or "", item.get("address") or "")
        if key in seen:
            printed = errors.GoText(
                f"core.NodeAddress{{Type:{errors.go_value(key[0])}, "
                f"Address:{errors.go_value(key[1])}}}"
            )
            errs.append(errors.duplicate(f"status.addresses[{index}]", printed))
        seen.add(key)
