"""NetworkPolicies: which pods, which directions, which peers and ports.

Models kubernetes pkg/apis/networking/v1/defaults.go and
pkg/apis/networking/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import addresswarnings, checks, selectors

_PROTOCOLS = ("TCP", "UDP", "SCTP")
_SELECTORS = ("podSelector", "namespaceSelector")


class NetworkPolicyStrategy(Strategy):
    counts_generation = True

    def default(self, obj: Object) -> None:
        spec: dict[str, Any] = obj.get("spec") or {}
        obj["spec"] = spec
        spec.setdefault("podSelector", {})
        if not spec.get("policyTypes"):
            spec["policyTypes"] = ["Ingress"]
            if spec.get("egress"):
                spec["policyTypes"].append("Egress")
        for direction in ("ingress", "egress"):
            for rule in spec.get(direction) or ():
                for port in rule.get("ports") or ():
                    if not port.get("protocol"):
                        port["protocol"] = "TCP"
                        gofields.arrange(port, "networking.v1.NetworkPolicyPort")
        gofields.arrange(spec, "networking.v1.NetworkPolicySpec")

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        found: list[FieldError] = []
        spec = obj["spec"]
        selectors.validate(spec.get("podSelector"), "spec.podSelector", found)
        for direction, side in (("ingress", "from"), ("egress", "to")):
            for index, rule in enumerate(spec.get(direction) or ()):
                path = f"spec.{direction}[{index}]"
                for place, port in enumerate(rule.get("ports") or ()):
                    _port(port, f"{path}.ports[{place}]", found)
                for place, peer in enumerate(rule.get(side) or ()):
                    _peer(peer, f"{path}.{side}[{place}]", found)
        types = spec.get("policyTypes") or ()
        if len(types) > 2:
            text = "may not specify more than two policyTypes"
            words = ", ".join(map(errors.go_value, types))
            shown = errors.GoText(f"[]networking.PolicyType{{{words}}}")
            found.append(errors.invalid_value("spec.policyTypes", shown, text))
            return found
        for index, kind in enumerate(types):
            if kind not in ("Ingress", "Egress"):
                path = f"spec.policyTypes[{index}]"
                found.append(errors.not_supported(path, kind, ("Ingress", "Egress")))
        return found

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        return [] if obj["spec"] == old["spec"] else self.validate(ctx, obj)

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        told: list[str] = []
        for direction, side in (("ingress", "from"), ("egress", "to")):
            for index, rule in enumerate(obj["spec"].get(direction) or ()):
                for place, peer in enumerate(rule.get(side) or ()):
                    path = f"spec.{direction}[{index}].{side}[{place}].ipBlock"
                    block = peer.get("ipBlock") or {}
                    addresswarnings.cidr(block.get("cidr") or "", f"{path}.cidr", told)
                    for number, part in enumerate(block.get("except") or ()):
                        addresswarnings.cidr(part, f"{path}.except[{number}]", told)
        return told


def _port(port: Mapping[str, Any], path: str, found: list[FieldError]) -> None:
    protocol, number = port.get("protocol"), port.get("port")
    if protocol is not None and protocol not in _PROTOCOLS:
        found.append(errors.not_supported(f"{path}.protocol", protocol, _PROTOCOLS))
    end, at = port.get("endPort"), f"{path}.endPort"
    if number is None:
        if end is not None:
            text = "may not be specified when `port` is not specified"
            found.append(errors.invalid_value(at, end, text))
    elif isinstance(number, str):
        if end is not None:
            text = "may not be specified when `port` is non-numeric"
            found.append(errors.invalid_value(at, end, text))
        checks.named(number, f"{path}.port", checks.port_name_errors, found)
    else:
        checks.port_number(number, f"{path}.port", found)
        if end is not None:
            if end < number:
                text = "must be greater than or equal to `port`"
                found.append(errors.invalid_value(at, end, text))
            checks.port_number(end, at, found)


def _peer(peer: Mapping[str, Any], path: str, found: list[FieldError]) -> None:
    for field in _SELECTORS:
        selectors.validate(peer.get(field), f"{path}.{field}", found)
    block = peer.get("ipBlock")
    if block is not None:
        _block(block, f"{path}.ipBlock", found)
    has_selector = any(peer.get(field) is not None for field in _SELECTORS)
    if block is None and not has_selector:
        found.append(errors.required(path, "must specify a peer"))
    elif block is not None and has_selector:
        text = "may not specify both ipBlock and another peer"
        found.append(errors.forbidden_value(path, text))


def _block(block: Mapping[str, Any], path: str, found: list[FieldError]) -> None:
    whole = block.get("cidr") or ""
    if not whole:
        found.append(errors.required(f"{path}.cidr"))
        return
    before = len(found)
    checks.cidr(whole, f"{path}.cidr", found)
    if len(found) != before:
        return
    for index, part in enumerate(block.get("except") or ()):
        at, before = f"{path}.except[{index}]", len(found)
        checks.cidr(part, at, found)
        if len(found) == before and not checks.strict_subnet(part, whole):
            found.append(errors.invalid_value(at, part, "must be a strict subset of `cidr`"))
