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
from apiserver_app.registry.kinds import checks, gosyntax, selectors
from apiserver_app.registry.strategy import Context, Strategy

_SPEC = ("podSelector", "ingress", "egress", "policyTypes")
_PROTOCOLS = ("SCTP", "TCP", "UDP")


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
                        gosyntax.arrange(port, ("protocol", "port", "endPort"))
        gosyntax.arrange(spec, _SPEC)

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
            shown = errors.GoText("[]networking.PolicyType{...}")
            found.append(errors.invalid_value("spec.policyTypes", shown, text))
            return found
        for index, kind in enumerate(types):
            if kind not in ("Egress", "Ingress"):
                path = f"spec.policyTypes[{index}]"
                found.append(errors.not_supported(path, kind, ("Egress", "Ingress")))
        return found

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        return [] if obj["spec"] == old["spec"] else self.validate(ctx, obj)


def _port(port: Mapping[str, Any], path: str, found: list[FieldError]) -> None:
    protocol, number = port.get("protocol"), port.get("port")
    if protocol is not None and protocol not in _PROTOCOLS:
        found.append(errors.not_supported(f"{path}.protocol", protocol, _PROTOCOLS))
    if number is not None:
        checks.port(number, f"{path}.port", found)
    end = port.get("endPort")
    if end is None:
        return
    if number is None:
        text = "must be specified"
        found.append(errors.required(f"{path}.port", text))
    elif isinstance(number, str):
        text = "may not be specified when `port` is non-numeric"
        found.append(errors.invalid_value(f"{path}.endPort", end, text))
    elif end < number:
        text = "must be greater than or equal to `port`"
        found.append(errors.invalid_value(f"{path}.endPort", end, text))


def _peer(peer: Mapping[str, Any], path: str, found: list[FieldError]) -> None:
    for field in ("podSelector", "namespaceSelector"):
        selectors.validate(peer.get(field), f"{path}.{field}", found)
    block = peer.get("ipBlock")
    has_selector = "podSelector" in peer or "namespaceSelector" in peer
    if block is None:
        if not has_selector:
            found.append(errors.required(path, "must specify a peer"))
        return
    if has_selector:
        text = "may not specify both ipBlock and another peer"
        found.append(errors.forbidden_value(path, text))
    if not block.get("cidr"):
        found.append(errors.required(f"{path}.ipBlock.cidr"))
        return
    checks.cidr(block["cidr"], f"{path}.ipBlock.cidr", found)
    for index, value in enumerate(block.get("except") or ()):
        checks.cidr(value, f"{path}.ipBlock.except[{index}]", found)
