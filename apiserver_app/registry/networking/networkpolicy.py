"""NetworkPolicies: which pods, which directions, which peers and ports.

Models kubernetes pkg/apis/networking/v1/defaults.go and
pkg/apis/networking/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import addresswarnings, checks, legacyaddresses, selectors
from apiserver_app.registry.validation.legacyaddresses import Rule

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
                    if port.get("protocol") is None:
                        port["protocol"] = "TCP"
                        gofields.arrange(port, "networking.v1.NetworkPolicyPort")
        gofields.arrange(spec, "networking.v1.NetworkPolicySpec")

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        return _spec(obj["spec"], legacyaddresses.rule(ctx.version))

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        if obj["spec"] == old["spec"]:
            return []
        known = frozenset(value for _, value in _blocks(old["spec"]))
        return _spec(obj["spec"], legacyaddresses.rule(ctx.version, known))

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        warnings: list[str] = []
        for path, value in _blocks(obj["spec"]):
            addresswarnings.cidr(value, path, ctx.version, warnings)
        return warnings


def _spec(spec: Mapping[str, Any], rule: Rule) -> list[FieldError]:
    errs: list[FieldError] = []
    selectors.validate(spec.get("podSelector"), "spec.podSelector", errs)
    for direction, side in (("ingress", "from"), ("egress", "to")):
        for index, item in enumerate(spec.get(direction) or ()):
            path = f"spec.{direction}[{index}]"
            for position, port in enumerate(item.get("ports") or ()):
                _port(port, f"{path}.ports[{position}]", errs)
            for position, peer in enumerate(item.get(side) or ()):
                _peer(peer, f"{path}.{side}[{position}]", rule, errs)
    types = spec.get("policyTypes") or ()
    if len(types) > 2:
        text = "may not specify more than two policyTypes"
        words = ", ".join(map(errors.go_value, types))
        printed = errors.GoText(f"[]networking.PolicyType{{{words}}}")
        errs.append(errors.invalid_value("spec.policyTypes", printed, text))
        return errs
    for index, kind in enumerate(types):
        if kind not in ("Ingress", "Egress"):
            path = f"spec.policyTypes[{index}]"
            errs.append(errors.not_supported(path, kind, ("Ingress", "Egress")))
    return errs


def _blocks(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The path and the value of each CIDR."""
    for direction, side in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(spec.get(direction) or ()):
            for position, peer in enumerate(rule.get(side) or ()):
                path = f"spec.{direction}[{index}].{side}[{position}].ipBlock"
                block = peer.get("ipBlock") or {}
                yield f"{path}.cidr", block.get("cidr") or ""
                for number, part in enumerate(block.get("except") or ()):
                    yield f"{path}.except[{number}]", part


def _port(port: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    protocol, number = port.get("protocol"), port.get("port")
    if protocol is not None and protocol not in _PROTOCOLS:
        errs.append(errors.not_supported(f"{path}.protocol", protocol, _PROTOCOLS))
    end, at = port.get("endPort"), f"{path}.endPort"
    if number is None:
        if end is not None:
            text = "may not be specified when `port` is not specified"
            errs.append(errors.invalid_value(at, end, text))
    elif isinstance(number, str):
        if end is not None:
            text = "may not be specified when `port` is non-numeric"
            errs.append(errors.invalid_value(at, end, text))
        checks.named(number, f"{path}.port", checks.port_name_errors, errs)
    else:
        checks.port_number(number, f"{path}.port", errs)
        if end is not None:
            if end < number:
                text = "must be greater than or equal to `port`"
                errs.append(errors.invalid_value(at, number, text))
            checks.port_number(end, at, errs)


def _peer(peer: Mapping[str, Any], path: str, rule: Rule, errs: list[FieldError]) -> None:
    for field in _SELECTORS:
        selectors.validate(peer.get(field), f"{path}.{field}", errs)
    block = peer.get("ipBlock")
    if block is not None:
        _block(block, f"{path}.ipBlock", rule, errs)
    has_selector = any(peer.get(field) is not None for field in _SELECTORS)
    if block is None and not has_selector:
        errs.append(errors.required(path, "must specify a peer"))
    elif block is not None and has_selector:
        text = "may not specify both ipBlock and another peer"
        errs.append(errors.forbidden_value(path, text))


def _block(block: Mapping[str, Any], path: str, rule: Rule, errs: list[FieldError]) -> None:
    whole = block.get("cidr") or ""
    if not whole:
        errs.append(errors.required(f"{path}.cidr"))
        return
    rule.cidr(whole, f"{path}.cidr", errs)
    if not checks.is_cidr(whole):
        return
    for index, part in enumerate(block.get("except") or ()):
        at = f"{path}.except[{index}]"
        rule.cidr(part, at, errs)
        if checks.is_cidr(part) and not checks.strict_subnet(part, whole):
            errs.append(errors.invalid_value(at, part, "must be a strict subset of `cidr`"))
