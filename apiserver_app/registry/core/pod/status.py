"""A pod's status: fields that Go always writes, and validation of updates.

Status updates are most of a pod's writes: nothing here looks at the spec, and the common case
allocates nothing.

Models kubernetes pkg/apis/core/validation/validation.go (ValidatePodStatusUpdate).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.apis import restartpolicy
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import names
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.validation import checks, legacyaddresses
from apiserver_app.registry.validation.legacyaddresses import Rule

Status = Mapping[str, Any]

_SPECS = {"containerStatuses": "containers", "initContainerStatuses": "initContainers"}
_SYSTEM_CONDITIONS = {"PodScheduled", "Ready", "Initialized", "ContainersReady"}
_CONTAINER_GROUPS = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")


def fill(status: dict[str, Any], old: Status) -> None:
    """Sets the fields that are never omitted, and keeps qosClass."""
    if not status.get("qosClass") and old.get("qosClass"):
        status["qosClass"] = old["qosClass"]
        gofields.arrange(status, "core.v1.PodStatus")
    for condition in status.get("conditions") or ():
        if "lastProbeTime" not in condition or "lastTransitionTime" not in condition:
            condition.setdefault("lastProbeTime", None)
            condition.setdefault("lastTransitionTime", None)
            gofields.arrange(condition, "core.v1.PodCondition")
    for group in _CONTAINER_GROUPS:
        for container in status.get(group) or ():
            if len(container) < 7 or "lastState" not in container or "state" not in container:
                for field, value in (
                    ("state", {}),
                    ("lastState", {}),
                    ("ready", False),
                    ("restartCount", 0),
                    ("image", ""),
                    ("imageID", ""),
                ):
                    container.setdefault(field, value)
                gofields.arrange(container, "core.v1.ContainerStatus")


def validate(obj: Object, old: Object, release: Release, errs: list[FieldError]) -> None:
    status, before = obj.get("status") or {}, old.get("status") or {}
    spec = old["spec"]
    for index, condition in enumerate(status.get("conditions") or ()):
        kind = condition.get("type") or ""
        if kind not in _SYSTEM_CONDITIONS:
            at = f"metadata.conditions[{index}].Type"
            checks.named(kind, at, names.qualified_name_errors, errs)
    nominated = status.get("nominatedNodeName")
    if nominated and nominated != before.get("nominatedNodeName"):
        at = "status.nominatedNodeName"
        checks.named(nominated, at, names.dns1123_subdomain_errors, errs)
    if status.get("qosClass") != before.get("qosClass"):
        value = status.get("qosClass") or ""
        errs.append(errors.invalid_value("status.qosClass", value, "field is immutable"))
    may_stay = spec.get("restartPolicy") != "Always" or release.has("ContainerRestartRules")
    if may_stay and not restartpolicy.may_all_restart(spec):
        _stays_terminated(status, before, spec, "containerStatuses", errs)
        _stays_terminated(status, before, spec, "initContainerStatuses", errs)
    addresses = status.get("podIPs")
    if addresses:
        _addresses(addresses, "podIPs", before, release, errs)
    hosts = status.get("hostIPs")
    if hosts:
        first = hosts[0].get("ip")
        if status.get("hostIP") != first:
            text = "must be equal to `hostIP`"
            errs.append(errors.invalid_value("status.hostIPs[0].ip", first, text))
        _addresses(hosts, "hostIPs", before, release, errs)


# -- inside -------------------------------------------------------------------------------------


def _stays_terminated(
    status: Status, before: Status, spec: Status, group: str, errs: list[FieldError]
) -> None:
    """Refuses to restart a container that terminated for good."""
    names = {container.get("name"): container for container in spec.get(_SPECS[group]) or ()}
    for index, container in enumerate(before.get(group) or ()):
        ended = (container.get("state") or {}).get("terminated")
        if ended is None:
            continue
        own = names.get(container.get("name")) or {}
        if restartpolicy.restarts(own, spec, ended.get("exitCode") or 0):
            continue
        for after in status.get(group) or ():
            runs = (after.get("state") or {}).get("terminated") is None
            if after.get("name") == container.get("name") and runs:
                text = "may not be transitioned to non-terminated state"
                errs.append(errors.forbidden_value(f"status.{group}[{index}].state", text))


def _rule(field: str, before: Status, release: Release) -> Rule:
    known = [item.get("ip") or "" for item in before.get(field) or ()]
    return legacyaddresses.rule(release, known)


def _addresses(
    items: Sequence[Status], field: str, before: Status, release: Release, errs: list[FieldError]
) -> None:
    if len(items) == 1:
        address = items[0].get("ip") or ""
        if not _plain_ipv4(address):
            _rule(field, before, release).ip(address, f"status.{field}[0]", errs)
        return
    values, rule = [item.get("ip") or "" for item in items], _rule(field, before, release)
    for index, value in enumerate(values):
        rule.ip(value, f"status.{field}[{index}]", errs)
    name = "core.PodIP" if field == "podIPs" else "core.HostIP"
    inner = ", ".join(f"{name}{{IP:{errors.go_value(value)}}}" for value in values)
    checks.ip_list(values, f"status.{field}", "IP", errors.GoText(f"[]{name}{{{inner}}}"), errs)
    for index, value in enumerate(values):
        if value in values[:index]:
            printed = errors.GoText(f"{name}{{IP:{errors.go_value(value)}}}")
            errs.append(errors.duplicate(f"status.{field}[{index}]", printed))


def _plain_ipv4(value: str) -> bool:
    parts = value.split(".")
    return len(parts) == 4 and all(
        names.is_number(part)
        and (part == "0" or part[0] != "0")
        and len(part) < 4
        and int(part) < 256
        for part in parts
    )
