"""Validation of a service's spec and of its updates.

Models kubernetes pkg/apis/core/validation/validation.go (ValidateService,
validateUpgradeDowngradeClusterIPs and its neighbours).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.core.service.ips import is_external, is_headless, needs_health_check
from apiserver_app.registry.validation import checks, gosyntax, legacyaddresses, objectmeta
from apiserver_app.registry.validation.legacyaddresses import Rule

Spec = Mapping[str, Any]

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_TYPES = ("ClusterIP", "ExternalName", "LoadBalancer", "NodePort")
_FAMILIES = ("IPv4", "IPv6")
_POLICIES = ("PreferDualStack", "RequireDualStack", "SingleStack")
_TRAFFIC = ("Cluster", "Local")
_ONLY_BALANCERS = "may only be used when `type` is 'LoadBalancer'"
_CLOSE = ("PreferClose", "PreferSameZone", "PreferSameNode")
_DAY = 86400


def validate(obj: Object, release: Release, before: Spec | None = None) -> list[FieldError]:
    errs: list[FieldError] = []
    spec = obj["spec"]
    kind, ports = spec.get("type") or "", spec.get("ports") or ()
    headless = is_headless(spec)
    if not ports and not headless and kind != "ExternalName":
        errs.append(errors.required("spec.ports"))
    if headless and kind in ("LoadBalancer", "NodePort"):
        text = f"may not be set to 'None' for {kind} services"
        errs.append(errors.invalid_value("spec.clusterIPs[0]", "None", text))
    if kind == "ExternalName":
        _external_name(spec, errs)
    taken: set[str] = set()
    for index, port in enumerate(ports):
        _port(port, len(ports) > 1, taken, f"spec.ports[{index}]", errs)
    if spec.get("selector"):
        objectmeta.label_errors(spec["selector"], "spec.selector", errs)
    _affinity(spec, errs)
    external = legacyaddresses.rule(release, (before or {}).get("externalIPs") or ())
    for index, address in enumerate(spec.get("externalIPs") or ()):
        path = f"spec.externalIPs[{index}]"
        size = len(errs)
        external.ip(address, path, errs)
        if len(errs) == size:
            checks.special_ip(address, path, errs)
    checks.one_of(kind, "spec.type", _TYPES, errs)
    _port_pairs(kind, ports, errs)
    ranges = [value.strip() for value in (before or {}).get("loadBalancerSourceRanges") or ()]
    _balancer(spec, kind, legacyaddresses.rule(release, ranges), errs)
    _traffic(spec, kind, errs)
    _distribution(spec, release, errs)
    return errs


def changes(spec: Spec, before: Spec, errs: list[FieldError]) -> None:
    """Refuses changes of allocated fields."""
    if "ExternalName" not in (spec.get("type"), before.get("type")):
        _address_change(spec, before, errs)
    balancers = spec.get("type") == before.get("type") == "LoadBalancer"
    if balancers and spec.get("loadBalancerClass") != before.get("loadBalancerClass"):
        value = spec.get("loadBalancerClass")
        text = "may not change once set"
        errs.append(errors.invalid_value("spec.loadBalancerClass", value, text))
    checked = needs_health_check(spec) and needs_health_check(before)
    if checked and spec.get("healthCheckNodePort") != before.get("healthCheckNodePort"):
        text = "field is immutable"
        errs.append(errors.forbidden_value("spec.healthCheckNodePort", text))


# -- inside -------------------------------------------------------------------------------------


def _external_name(spec: Spec, errs: list[FieldError]) -> None:
    for field in ("clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if spec.get(field):
            text = "may not be set for ExternalName services"
            errs.append(errors.forbidden_value(f"spec.{field}", text))
    name = (spec.get("externalName") or "").removesuffix(".")
    if not name:
        errs.append(errors.required("spec.externalName"))
    else:
        checks.named(name, "spec.externalName", names.dns1123_subdomain_errors, errs)


def _port(port: Spec, named: bool, taken: set[str], path: str, errs: list[FieldError]) -> None:
    name = port.get("name") or ""
    if name:
        checks.named(name, f"{path}.name", names.dns1123_label_errors, errs)
        if name in taken:
            errs.append(errors.duplicate(f"{path}.name", name))
        taken.add(name)
    elif named:
        errs.append(errors.required(f"{path}.name"))
    checks.port_number(port.get("port") or 0, f"{path}.port", errs)
    checks.one_of(port.get("protocol"), f"{path}.protocol", _PROTOCOLS, errs)
    checks.port(port.get("targetPort"), f"{path}.targetPort", errs)
    if port.get("appProtocol") is not None:
        at = f"{path}.appProtocol"
        checks.named(port["appProtocol"], at, names.qualified_name_errors, errs)


def _affinity(spec: Spec, errs: list[FieldError]) -> None:
    value = spec.get("sessionAffinity") or ""
    checks.one_of(value, "spec.sessionAffinity", ("ClientIP", "None"), errs)
    config, path = spec.get("sessionAffinityConfig"), "spec.sessionAffinityConfig"
    if value == "ClientIP":
        seconds = ((config or {}).get("clientIP") or {}).get("timeoutSeconds")
        if seconds is None:
            text = "when session affinity type is ClientIP"
            errs.append(errors.required(path, text))
        elif not 0 < seconds <= _DAY:
            text = f"must be greater than 0 and less than {_DAY}"
            at = f"{path}.clientIP.timeoutSeconds"
            errs.append(errors.invalid_value(at, seconds, text))
    elif value == "None" and config is not None:
        text = "must not be set when session affinity is None"
        errs.append(errors.forbidden_value(path, text))


def addresses(spec: Spec, release: Release, before: Spec | None) -> list[FieldError]:
    """What is wrong with cluster IPs and IP families, before any is allocated."""
    errs: list[FieldError] = []
    ip, ips = spec.get("clusterIP") or "", list(spec.get("clusterIPs") or ())
    path = "spec.clusterIPs"
    if ip:
        if not ips:
            errs.append(errors.required(path))
        elif ips[0] != ip:
            text = "first value must match `clusterIP`"
            errs.append(errors.invalid_value(path, ips, text))
    elif ips:
        text = "must be empty when `clusterIP` is not specified"
        errs.append(errors.invalid_value(path, ips, text))
    seen: set[str] = set()
    for index, family in enumerate(spec.get("ipFamilies") or ()):
        at = f"spec.ipFamilies[{index}]"
        if family not in _FAMILIES:
            errs.append(errors.not_supported(at, family, _FAMILIES))
        if family in seen:
            errs.append(errors.duplicate(at, family))
        seen.add(family)
    policy = spec.get("ipFamilyPolicy")
    if policy is not None and policy not in _POLICIES:
        errs.append(errors.not_supported("spec.ipFamilyPolicy", policy, _POLICIES))
    size = len(errs)
    rule = legacyaddresses.rule(release, (before or {}).get("clusterIPs") or ())
    for index, address in enumerate(ips):
        if index == 0 and address == "None":
            if len(ips) > 1:
                text = "'None' must be the first and only value"
                errs.append(errors.invalid_value(path, ips, text))
            continue
        rule.ip(address, f"{path}[{index}]", errs)
    if len(ips) > 2:
        errs.append(errors.invalid_value(path, ips, "may only hold up to 2 values"))
    if len(errs) == size:
        checks.ip_list(ips, path, "IP", ips, errs)
        _family_matches(spec, ips, path, errs)
    return errs


def _family_matches(spec: Spec, ips: list[str], path: str, errs: list[FieldError]) -> None:
    if ips == ["None"]:
        return
    for index, (address, family) in enumerate(zip(ips, spec.get("ipFamilies") or (), strict=False)):
        if (":" in address) != (family == "IPv6"):
            text = f"expected an {family} value as indicated by `ipFamilies[{index}]`"
            errs.append(errors.invalid_value(f"{path}[{index}]", address, text))


def _port_pairs(kind: str, ports: Any, errs: list[FieldError]) -> None:
    if kind == "ClusterIP":
        for index, port in enumerate(ports):
            if port.get("nodePort"):
                text = "may not be used when `type` is 'ClusterIP'"
                errs.append(errors.forbidden_value(f"spec.ports[{index}].nodePort", text))
    nodes: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol") or "", port.get("nodePort") or 0)
        if key[1]:
            if key in nodes:
                errs.append(errors.duplicate(f"spec.ports[{index}].nodePort", key[1]))
            nodes.add(key)
    seen: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        key = (port.get("protocol") or "", port.get("port") or 0)
        if key in seen:
            printed = errors.GoText(
                f'core.ServicePort{{Name:"", Protocol:{errors.go_value(key[0])}, '
                f"AppProtocol:(*string)(nil), Port:{key[1]}, "
                f"TargetPort:{checks.int_or_string_text(0)}, NodePort:0}}"
            )
            errs.append(errors.duplicate(f"spec.ports[{index}]", printed))
        seen.add(key)


def _balancer(spec: Spec, kind: str, rule: Rule, errs: list[FieldError]) -> None:
    ranges = spec.get("loadBalancerSourceRanges")
    if ranges:
        path = "spec.LoadBalancerSourceRanges"
        if kind != "LoadBalancer":
            errs.append(errors.forbidden_value(path, _ONLY_BALANCERS))
        for index, value in enumerate(ranges):
            rule.cidr(value.strip(), f"{path}[{index}]", errs)
    if spec.get("allocateLoadBalancerNodePorts") is not None and kind != "LoadBalancer":
        errs.append(errors.forbidden_value("spec.allocateLoadBalancerNodePorts", _ONLY_BALANCERS))
    chosen = spec.get("loadBalancerClass")
    if chosen is not None:
        if kind == "LoadBalancer":
            checks.named(chosen, "spec.loadBalancerClass", names.qualified_name_errors, errs)
        else:
            errs.append(errors.forbidden_value("spec.loadBalancerClass", _ONLY_BALANCERS))


def _traffic(spec: Spec, kind: str, errs: list[FieldError]) -> None:
    policy = spec.get("externalTrafficPolicy") or ""
    if is_external(spec):
        checks.one_of(policy, "spec.externalTrafficPolicy", _TRAFFIC, errs)
    elif policy:
        text = "may only be set for externally-accessible services"
        errs.append(errors.invalid_value("spec.externalTrafficPolicy", policy, text))
    port, path = spec.get("healthCheckNodePort") or 0, "spec.healthCheckNodePort"
    if needs_health_check(spec):
        if not port:
            errs.append(errors.required(path))
        else:
            checks.port_number(port, path, errs)
    elif port:
        text = (
            "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"
        )
        errs.append(errors.invalid_value(path, port, text))
    inner = spec.get("internalTrafficPolicy")
    if inner is not None or kind in ("NodePort", "LoadBalancer", "ClusterIP"):
        checks.one_of(inner, "spec.internalTrafficPolicy", _TRAFFIC, errs)


def _distribution(spec: Spec, release: Release, errs: list[FieldError]) -> None:
    value = spec.get("trafficDistribution")
    allowed = _CLOSE if release.has("PreferSameTrafficDistribution") else _CLOSE[:1]
    if value is not None and value not in allowed:
        errs.append(errors.not_supported("spec.trafficDistribution", value, allowed))


def _address_change(spec: Spec, before: Spec, errs: list[FieldError]) -> None:
    new, old = list(spec.get("clusterIPs") or ()), list(before.get("clusterIPs") or ())
    if not (is_headless(spec) and is_headless(before)):
        printed = gosyntax.strings(new or None)
        path = "spec.clusterIPs"
        if len(new) == len(old):
            for index, (now, then) in enumerate(zip(new, old, strict=True)):
                if now != then:
                    text = "may not change once set"
                    errs.append(errors.invalid_value(f"{path}[{index}]", printed, text))
        elif old and not new:
            text = "primary clusterIP can not be unset"
            errs.append(errors.invalid_value(f"{path}[0]", printed, text))
        elif old and new[0] != old[0]:
            errs.append(errors.invalid_value(f"{path}[0]", printed, "may not change once set"))
        if len(new) == 1 and len(old) == 2 and spec.get("ipFamilyPolicy") != "SingleStack":
            text = "must be set to 'SingleStack' when releasing the secondary clusterIP"
            value = spec.get("ipFamilyPolicy")
            errs.append(errors.invalid_value("spec.ipFamilyPolicy", value, text))
    if is_headless(spec) or is_headless(before):
        return
    now_families = list(spec.get("ipFamilies") or ())
    old_families = list(before.get("ipFamilies") or ())
    if now_families and old_families and now_families[0] != old_families[0]:
        inner = ", ".join(map(errors.go_value, now_families))
        shown_families = errors.GoText(f"[]core.IPFamily{{{inner}}}")
        text = "may not change once set"
        errs.append(errors.invalid_value("spec.ipFamilies[0]", shown_families, text))
