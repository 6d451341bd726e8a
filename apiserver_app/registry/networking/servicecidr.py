"""ServiceCIDRs and IPAddresses: where cluster addresses come from, and whose each one is.

Models kubernetes pkg/apis/networking/validation/validation.go (ValidateServiceCIDR,
ValidateIPAddress) and pkg/registry/networking/{servicecidr,ipaddress}/strategy.go.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks, legacyaddresses, objectmeta

_IMMUTABLE = "field is immutable"
_PATH = "spec.cidrs"


def address_errors(name: str, prefix: bool) -> list[str]:
    """An address as upstream writes it: its shortest form."""
    address = checks.parse_ip(name)
    if address is None:
        return ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"]
    fault = legacyaddresses.ip_fault(name)
    if fault:
        return [fault]
    return [] if str(address) == name else [f'must be in canonical form ("{address}")']


class ServiceCIDRStrategy(Strategy):
    def default(self, obj: Object) -> None:
        if obj.get("spec") is None:
            obj["spec"] = {}
        if obj.get("status") is None:
            obj["status"] = {}

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        super().prepare_for_create(ctx, obj)
        obj["status"] = {}

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        _ranges(obj["spec"].get("cidrs") or (), errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        now, before = obj["spec"].get("cidrs") or [], old["spec"].get("cidrs") or []
        if len(now) == len(before):
            for index, (new, value) in enumerate(zip(now, before, strict=True)):
                if new != value:
                    path = f"{_PATH}[{index}]"
                    errs.append(errors.invalid_value(path, new, _IMMUTABLE))
        elif len(before) == 1 and len(now) == 2:
            if now[0] != before[0]:
                errs.append(errors.invalid_value(f"{_PATH}[0]", now[0], _IMMUTABLE))
            _ranges(now, errs)
        else:
            errs.append(errors.invalid_value(_PATH, list(now), _IMMUTABLE))
        return errs


class IPAddressStrategy(Strategy):
    name_rule = staticmethod(address_errors)

    def default(self, obj: Object) -> None:
        if obj.get("spec") is None:
            obj["spec"] = {}

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        parent, path = obj["spec"].get("parentRef"), "spec.parentRef"
        if parent is None:
            return [errors.required(path)]
        if parent.get("group"):
            checks.named(parent["group"], f"{path}.group", names.dns1123_subdomain_errors, errs)
        for field in ("resource", "name", "namespace"):
            value = parent.get(field) or ""
            if not value and field != "namespace":
                errs.append(errors.required(f"{path}.{field}"))
            for text in objectmeta.path_segment(value, False) if value else ():
                errs.append(errors.invalid_value(f"{path}.{field}", value, text))
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        parent = obj["spec"].get("parentRef")
        if parent == old["spec"].get("parentRef"):
            return []
        words = ", ".join(
            f"{name}:{errors.go_value((parent or {}).get(name.lower()) or '')}"
            for name in ("Group", "Resource", "Namespace", "Name")
        )
        printed = errors.GoText(f"networking.ParentReference{{{words}}}") if parent else None
        return [errors.invalid_value("spec.parentRef", printed, _IMMUTABLE)]


def _ranges(values: Sequence[str], errs: list[FieldError]) -> None:
    if not values:
        errs.append(errors.required(_PATH, "at least one CIDR required"))
        return
    if len(values) > 2:
        words = ", ".join(map(errors.go_value, values))
        printed = errors.GoText(f"networking.ServiceCIDRSpec{{CIDRs:[]string{{{words}}}}}")
        errs.append(errors.invalid_value(_PATH, printed, "may only hold up to 2 values"))
        return
    families = []
    for index, value in enumerate(values):
        family = _range_family(value, f"{_PATH}[{index}]", errs)
        if family:
            families.append(family)
    if len(families) == 2 and families[0] == families[1]:
        text = (
            "may specify no more than one IP for each IP family, "
            "i.e 192.168.0.0/24 and 2001:db8::/64"
        )
        errs.append(errors.invalid_value(_PATH, list(values), text))


def _range_family(value: str, path: str, errs: list[FieldError]) -> int:
    """4 or 6 for a CIDR, 0 for other text; one that is not canonical is an error."""
    before = len(errs)
    checks.cidr(value, path, errs)
    if len(errs) != before:
        return 0
    host, _, bits = value.partition("/")
    network = ipaddress.ip_network(f"{checks.parse_ip(host)}/{int(bits)}", strict=False)
    text = legacyaddresses.cidr_fault(value)
    if not text and str(network) != value:
        text = f'must be in canonical form ("{network}")'
    if text:
        errs.append(errors.invalid_value(path, value, text))
    return network.version
