"""LimitRanges: least, most and default amounts; a default follows from a maximum.

Models kubernetes pkg/apis/core/v1/defaults.go (SetDefaults_LimitRangeItem) and
pkg/apis/core/validation/validation.go (ValidateLimitRange).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import names
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.core import resources
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import gosyntax

_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_ITEM = ("type", "max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
# (greater, smaller, path of the finding, sentence)
_PAIRS = (
    ("min", "max", "min", "min value {0} is greater than max value {1}"),
    (
        "min",
        "defaultRequest",
        "defaultRequest",
        "min value {0} is greater than default request value {1}",
    ),
    (
        "defaultRequest",
        "max",
        "defaultRequest",
        "default request value {0} is greater than max value {1}",
    ),
    (
        "defaultRequest",
        "default",
        "defaultRequest",
        "default request value {0} is greater than default limit value {1}",
    ),
    ("min", "default", "default", "min value {0} is greater than default value {1}"),
    ("default", "max", "default", "default value {0} is greater than max value {1}"),
)


class LimitRangeStrategy(Strategy):
    create_on_update = True

    def default(self, obj: Object) -> None:
        spec: dict[str, Any] = obj.get("spec") or {}
        obj["spec"] = spec
        for item in spec.setdefault("limits", None) or ():
            for field in _ITEM[1:]:
                if item.get(field):
                    resources.canonicalize(item[field])
            if item.get("type") != "Container":
                continue
            limits = {**(item.get("max") or {}), **(item.get("default") or {})}
            requests = {**(item.get("min") or {}), **limits, **(item.get("defaultRequest") or {})}
            if limits:
                item["default"] = limits
            if requests:
                item["defaultRequest"] = requests
            gofields.arrange(item, "core.v1.LimitRangeItem")

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        if not obj["metadata"].get("name"):
            obj["metadata"]["name"] = ctx.rand.uuid()

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        seen: set[str] = set()
        for index, item in enumerate(obj["spec"].get("limits") or ()):
            kind, path = item.get("type") or "", f"spec.limits[{index}]"
            _type(kind, f"{path}.type", errs)
            if kind in seen:
                errs.append(errors.duplicate(f"{path}.type", kind))
            seen.add(kind)
            _item(item, kind, path, errs)
        return errs


def _type(kind: str, path: str, errs: list[FieldError]) -> None:
    messages = names.qualified_name_errors(kind)
    for text in messages:
        errs.append(errors.invalid_value(path, kind, text))
    if not messages and "/" not in kind and kind not in _TYPES:
        text = "must be a standard limit type or fully qualified"
        errs.append(errors.invalid_value(path, kind, text))


def _item(item: Mapping[str, Any], kind: str, path: str, errs: list[FieldError]) -> None:
    of_pods = kind in ("Pod", "Container")
    rule = resources.container_name if of_pods else resources.resource_name
    fields = ["max", "min"]
    if kind == "Pod":
        for field in ("default", "defaultRequest"):
            if item.get(field):
                text = "may not be specified when `type` is 'Pod'"
                errs.append(errors.forbidden_value(f"{path}.{field}", text))
    else:
        fields += ["default", "defaultRequest"]
    fields.append("maxLimitRequestRatio")
    keys: dict[str, None] = {}
    for field in fields:
        for name in item.get(field) or ():
            rule(name, f"{path}.{field}[{name}]", errs)
            keys[name] = None
    if kind == "PersistentVolumeClaim" and not any(
        "storage" in (item.get(field) or {}) for field in ("min", "max")
    ):
        text = "either minimum or maximum storage value is required, but neither was provided"
        errs.append(errors.required(f"{path}.limits", text))
    for name in keys:
        _amounts(item, name, path, errs)


def _amounts(item: Mapping[str, Any], name: str, path: str, errs: list[FieldError]) -> None:
    for greater, smaller, field, sentence in _PAIRS:
        low, high = (item.get(greater) or {}).get(name), (item.get(smaller) or {}).get(name)
        if low is None or high is None or resources.nano(low) <= resources.nano(high):
            continue
        text = sentence.format(resources.canonical(low), resources.canonical(high))
        value = gosyntax.quantity(low if field == greater else high)
        errs.append(errors.invalid_value(f"{path}.{field}[{name}]", value, text))
    ratio = (item.get("maxLimitRequestRatio") or {}).get(name)
    if ratio is not None and resources.nano(ratio) < 10**9:
        written = resources.canonical(ratio)
        at = f"{path}.maxLimitRequestRatio[{name}]"
        text = f"ratio {written} is less than 1"
        errs.append(errors.invalid_value(at, gosyntax.quantity(ratio), text))
    _ratio(item, name, f"{path}.maxLimitRequestRatio[{name}]", errs)
    limit, request = ((item.get(field) or {}).get(name) for field in ("default", "defaultRequest"))
    if limit is None or request is None or resources.may_overcommit(name):
        return
    if resources.nano(limit) != resources.nano(request):
        text = (
            f"default value {resources.canonical(limit)} must equal to defaultRequest value "
            f"{resources.canonical(request)} in {name}"
        )
        at = f"{path}.defaultRequest[{name}]"
        errs.append(errors.invalid_value(at, gosyntax.quantity(request), text))


def _ratio(item: Mapping[str, Any], name: str, path: str, errs: list[FieldError]) -> None:
    """How many times a request its limit may be; not more than the bounds allow."""
    ratio, least, most = (
        (item.get(field) or {}).get(name) for field in ("maxLimitRequestRatio", "min", "max")
    )
    if ratio is None or least is None or most is None:
        return
    allowed = float("inf")
    if resources.nano(least):
        allowed = resources.nano(most) / resources.nano(least)
    if resources.nano(ratio) / 10**9 > allowed:
        text = f"ratio {resources.canonical(ratio)} is greater than max/min = {allowed:f}"
        errs.append(errors.invalid_value(path, gosyntax.quantity(ratio), text))
