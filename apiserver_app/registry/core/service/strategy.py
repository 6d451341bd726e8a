"""The strategy of services: defaults, validation, and the effects of a change of type.

Addresses and node ports are allocated in `ips`.

Models kubernetes pkg/apis/core/v1/defaults.go (SetDefaults_Service),
pkg/registry/core/service/strategy.go and pkg/apis/core/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.core.service import ips, rules
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import addresswarnings, legacyaddresses, objectmeta

_HINTS = "service.kubernetes.io/topology-aware-hints"
_TRAFFIC_TYPES = ("ClusterIP", "LoadBalancer", "NodePort")


class ServiceStrategy(Strategy):
    create_on_update = True
    name_rule = staticmethod(objectmeta.dns1035_label)
    selectable = ("spec.clusterIP", "spec.type")

    def names(self, release: Release) -> objectmeta.NameRule:
        relaxed = release.has("RelaxedServiceNameValidation")
        return objectmeta.dns_label if relaxed else self.name_rule

    def default(self, obj: Object) -> None:
        spec = obj.get("spec")
        if spec is None:
            spec = obj["spec"] = {}
        if not spec.get("sessionAffinity"):
            spec["sessionAffinity"] = "None"
        if spec["sessionAffinity"] == "None":
            spec.pop("sessionAffinityConfig", None)
        elif spec["sessionAffinity"] == "ClientIP":
            config = spec.get("sessionAffinityConfig") or {}
            if (config.get("clientIP") or {}).get("timeoutSeconds") is None:
                spec["sessionAffinityConfig"] = {"clientIP": {"timeoutSeconds": 10800}}
        if not spec.get("type"):
            spec["type"] = "ClusterIP"
        for port in spec.get("ports") or ():
            _default_port(port)
        if ips.is_external(spec) and not spec.get("externalTrafficPolicy"):
            spec["externalTrafficPolicy"] = "Cluster"
        if spec.get("internalTrafficPolicy") is None and spec["type"] in _TRAFFIC_TYPES:
            spec["internalTrafficPolicy"] = "Cluster"
        if spec["type"] == "LoadBalancer" and spec.get("allocateLoadBalancerNodePorts") is None:
            spec["allocateLoadBalancerNodePorts"] = True
        gofields.arrange(spec, "core.v1.ServiceSpec")
        status = obj.get("status")
        if status is None:
            status = obj["status"] = {}
        if status.get("loadBalancer") is None:
            status["loadBalancer"] = {}
        if spec["type"] == "LoadBalancer":
            for ingress in status["loadBalancer"].get("ingress") or ():
                if ingress.get("ip") and ingress.get("ipMode") is None:
                    ingress["ipMode"] = "VIP"

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        obj["status"] = {"loadBalancer": {}}
        spec = obj["spec"]
        ips.align(spec)
        _allocate(ctx, obj, None)
        gofields.arrange(spec, "core.v1.ServiceSpec")

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        return rules.validate(obj, ctx.version)

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        obj["status"] = old.get("status") or {"loadBalancer": {}}
        spec, before = obj["spec"], old["spec"]
        ips.keep_allocated(spec, before)
        ips.align_update(spec, before)
        _drop_after_type_change(spec, before)
        _allocate(ctx, obj, old)
        gofields.arrange(spec, "core.v1.ServiceSpec")

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        if obj["spec"] == old["spec"]:
            return []
        errs: list[FieldError] = []
        rules.changes(obj["spec"], old["spec"], errs)
        return errs + rules.validate(obj, ctx.version, old["spec"])

    def validate_status_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        path = "status.loadBalancer.ingress"
        balancer = (obj.get("status") or {}).get("loadBalancer") or {}
        ingresses = balancer.get("ingress") or ()
        if ingresses and obj["spec"].get("type") != "LoadBalancer":
            text = "may only be used when `spec.type` is 'LoadBalancer'"
            return [errors.forbidden_value(path, text)]
        rule = legacyaddresses.of_balancer(ctx.version, old)
        for index, ingress in enumerate(ingresses):
            if ingress.get("ip"):
                rule.ip(ingress["ip"], f"{path}[{index}].ip", errs)
        return errs

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        warnings: list[str] = []
        spec, is_late = obj["spec"], ctx.version.has("HeadlessServiceWarnings")
        if _HINTS in (obj["metadata"].get("annotations") or {}):
            warnings.append(
                f"annotation {_HINTS} is deprecated, please use "
                "service.kubernetes.io/topology-mode instead"
            )
        for index, value in enumerate(spec.get("clusterIPs") or ()):
            addresswarnings.ip(value, f"spec.clusterIPs[{index}]", ctx.version, warnings)
        if spec.get("clusterIP") == "None" and spec.get("type") == "ClusterIP":
            _headless_warnings(spec, warnings, is_late)
        for index, value in enumerate(spec.get("externalIPs") or ()):
            addresswarnings.ip(value, f"spec.externalIPs[{index}]", ctx.version, warnings)
        if spec.get("loadBalancerIP"):
            addresswarnings.ip(spec["loadBalancerIP"], "spec.loadBalancerIP", ctx.version, warnings)
        for index, value in enumerate(spec.get("loadBalancerSourceRanges") or ()):
            addresswarnings.cidr(
                value, f"spec.loadBalancerSourceRanges[{index}]", ctx.version, warnings
            )
        if spec.get("externalIPs") and spec.get("type") == "ExternalName":
            warnings.append('spec.externalIPs is ignored when spec.type is "ExternalName"')
        if spec.get("externalName") and spec.get("type") != "ExternalName":
            warnings.append('spec.externalName is ignored when spec.type is not "ExternalName"')
        return warnings


def _headless_warnings(spec: Mapping[str, Any], warnings: list[str], is_late: bool) -> None:
    word = "services" if is_late else "service"
    if spec.get("loadBalancerIP"):
        warnings.append(f"spec.loadBalancerIP is ignored for headless {word}")
    if is_late and spec.get("externalIPs"):
        warnings.append("spec.externalIPs is ignored for headless services")
    if is_late and spec.get("sessionAffinity") != "None":
        warnings.append("spec.SessionAffinity is ignored for headless services")


def _default_port(port: dict[str, Any]) -> None:
    size = len(port)
    if not port.get("protocol"):
        port["protocol"] = "TCP"
    if port.get("targetPort") in (None, 0, ""):
        port["targetPort"] = port.get("port") or 0
    if len(port) != size:
        gofields.arrange(port, "core.v1.ServicePort")


def _drop_after_type_change(spec: dict[str, Any], before: Mapping[str, Any]) -> None:
    """Drops fields that the new type does not have and that the client did not change."""
    if before.get("type") == spec.get("type"):
        return
    if spec.get("type") == "ExternalName":
        for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(field) == before.get(field):
                spec.pop(field, None)
    if ips.needs_node_ports(before) and not ips.needs_node_ports(spec):
        old_ports = [port.get("nodePort") for port in before.get("ports") or ()]
        if [port.get("nodePort") for port in spec.get("ports") or ()] == old_ports:
            for port in spec.get("ports") or ():
                port.pop("nodePort", None)
    dropped: list[str] = []
    if not ips.needs_health_check(spec):
        dropped.append("healthCheckNodePort")
    if before.get("type") == "LoadBalancer":
        dropped += ["allocateLoadBalancerNodePorts", "loadBalancerClass"]
    if ips.is_external(before) and not ips.is_external(spec):
        dropped.append("externalTrafficPolicy")
    for field in dropped:
        if spec.get(field) == before.get(field):
            spec.pop(field, None)


def _allocate(ctx: Context, obj: Object, old: Object | None) -> None:
    """Comes before anything else is validated, and ends there when it fails."""
    spec, before = obj["spec"], None if old is None else old["spec"]
    if spec["type"] != "ExternalName":
        errs = rules.addresses(spec, ctx.version, before) or ips.family_errors(spec)
        if errs:
            raise errors.invalid("", "Service", obj["metadata"].get("name", ""), errs)
    ips.families(spec)
    ips.allocate(ctx, obj, old)
