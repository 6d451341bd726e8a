"""Endpoints: the older list of a service's addresses.

Models kubernetes pkg/apis/core/validation/validation.go (ValidateEndpoints).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import names
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import addresswarnings, checks, legacyaddresses
from apiserver_app.registry.validation.legacyaddresses import Rule

_PROTOCOLS = ("SCTP", "TCP", "UDP")
# what the controllers write causes no warnings
_MANAGED_BY = "endpoints.kubernetes.io/managed-by"


class EndpointsStrategy(Strategy):
    create_on_update = True

    def default(self, obj: Object) -> None:
        for subset in obj.get("subsets") or ():
            for port in subset.get("ports") or ():
                if not port.get("protocol"):
                    port["protocol"] = "TCP"
                    gofields.arrange(port, "core.v1.EndpointPort")

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        rule = legacyaddresses.rule(ctx.version)
        for index, subset in enumerate(obj.get("subsets") or ()):
            path = f"subsets[{index}]"
            if not subset.get("addresses") and not subset.get("notReadyAddresses"):
                text = "must specify `addresses` or `notReadyAddresses`"
                errs.append(errors.required(path, text))
            for field in ("addresses", "notReadyAddresses"):
                for position, address in enumerate(subset.get(field) or ()):
                    _address(address, f"{path}.{field}[{position}]", rule, errs)
            ports = subset.get("ports") or ()
            for position, port in enumerate(ports):
                _port(port, len(ports) > 1, f"{path}.ports[{position}]", errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        return [] if obj.get("subsets") == old.get("subsets") else self.validate(ctx, obj)

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        if not ctx.version.has("EndpointsDeprecation"):
            return []
        warnings = ["v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"]
        managed = (obj["metadata"].get("labels") or {}).get(_MANAGED_BY)
        for index, subset in enumerate(obj.get("subsets") or () if not managed else ()):
            for field in ("addresses", "notReadyAddresses"):
                for position, address in enumerate(subset.get(field) or ()):
                    at = f"subsets[{index}].{field}[{position}].ip"
                    addresswarnings.ip(address.get("ip") or "", at, ctx.version, warnings)
        return warnings


def _address(address: Mapping[str, Any], path: str, rule: Rule, errs: list[FieldError]) -> None:
    value = address.get("ip") or ""
    rule.ip(value, f"{path}.ip", errs)
    if address.get("hostname"):
        checks.named(address["hostname"], f"{path}.hostname", names.dns1123_label_errors, errs)
    if address.get("nodeName") is not None:
        at = f"{path}.nodeName"
        checks.named(address["nodeName"], at, names.dns1123_subdomain_errors, errs)
    checks.special_ip(value, f"{path}.ip", errs)


def _port(port: Mapping[str, Any], named: bool, path: str, errs: list[FieldError]) -> None:
    name = port.get("name") or ""
    if name:
        checks.named(name, f"{path}.name", names.dns1123_label_errors, errs)
    elif named:
        errs.append(errors.required(f"{path}.name"))
    checks.port_number(port.get("port") or 0, f"{path}.port", errs)
    checks.one_of(port.get("protocol"), f"{path}.protocol", _PROTOCOLS, errs)
    if port.get("appProtocol") is not None:
        at = f"{path}.appProtocol"
        checks.named(port["appProtocol"], at, names.qualified_name_errors, errs)
