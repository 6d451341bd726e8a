"""Resources of a whole pod, since 1.34: what they are by default, and what they must hold.

Models kubernetes pkg/apis/core/v1/defaults.go (defaultPodRequests, defaultHugePagePodLimits) and
pkg/apis/core/validation/validation.go (validatePodResources).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.apis import podresources
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.syntax import quantity
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.core import resources

Spec = Mapping[str, Any]


def with_defaults(spec: dict[str, Any]) -> None:
    """Amounts that are not said follow from the containers', else requests from limits."""
    given = spec.get("resources")
    if not given or not (given.get("limits") or given.get("requests")):
        return
    limits, requests = dict(given.get("limits") or {}), dict(given.get("requests") or {})
    for name, amount in podresources.of_containers(spec, "limits").items():
        if name.startswith("hugepages-") and name not in requests:
            limits.setdefault(name, str(amount))
    if limits:
        for name, amount in podresources.of_containers(spec, "requests").items():
            if podresources.is_for_whole_pods(name) and resources.may_overcommit(name):
                requests.setdefault(name, str(amount))
        for name, value in limits.items():
            if podresources.is_for_whole_pods(name):
                requests.setdefault(name, value)
    made = {"limits": limits, "requests": requests}
    out = {**given, **{field: amounts for field, amounts in made.items() if amounts}}
    for amounts in made.values():
        resources.canonicalize(amounts)
    gofields.arrange(out, "core.v1.ResourceRequirements")
    spec["resources"] = out


def validate(spec: Spec, path: str, errs: list[FieldError]) -> None:
    given = spec["resources"]
    if (spec.get("os") or {}).get("name") == "windows":
        errs.append(errors.forbidden_value(path, "may not be set for a windows pod"))
        return
    if given.get("claims") is not None:
        text = "claims may not be set for Resources at pod-level"
        errs.append(errors.forbidden_value(f"{path}.claims", text))
    claims = {str(claim.get("name")) for claim in spec.get("resourceClaims") or ()}
    resources.validate(given, path, claims, errs, _name)
    _holds_containers(spec, given, path, errs)


def _name(name: str, path: str, errs: list[FieldError]) -> None:
    size = len(errs)
    resources.resource_name(name, path, errs)
    if len(errs) == size and not podresources.is_for_whole_pods(name):
        allowed = ("cpu", "hugepages-", "memory")
        errs.append(errors.not_supported(path, errors.GoText(name), allowed))


def _holds_containers(spec: Spec, given: Spec, path: str, errs: list[FieldError]) -> None:
    for field, only in (("requests", ""), ("limits", "hugepages-")):
        whole = podresources.amounts(given.get(field))
        for name, amount in podresources.of_containers(dict(spec), field).items():
            if name in whole and name.startswith(only) and amount > whole[name]:
                text = f"must be greater than or equal to aggregate container {field} of {amount}"
                at = f"{path}.{field}[{name}]"
                errs.append(errors.invalid_value(at, str(whole[name]), text))
    limits = given.get("limits") or {}
    for index, container in enumerate(spec.get("containers") or ()):
        for name, value in ((container.get("resources") or {}).get("limits") or {}).items():
            if name in limits and quantity.parse(str(value)) > quantity.parse(str(limits[name])):
                text = f"must be less than or equal to pod limits of {limits[name]}"
                at = f"{path}.containers[{index}][{name}].limits"
                errs.append(errors.invalid_value(at, value, text))
