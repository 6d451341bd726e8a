"""EndpointSlices: addresses of one type, with the ports they all serve.

Models kubernetes pkg/apis/discovery/v1/defaults.go, pkg/apis/discovery/validation/validation.go
and pkg/registry/discovery/endpointslice/strategy.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import names
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import addresswarnings, checks, legacyaddresses, objectmeta
from apiserver_app.registry.validation.legacyaddresses import Rule

ADDRESSES_MAX = 100
ENDPOINTS_MAX = 1000
PORTS_MAX = 20_000
TOPOLOGY_MAX = 16
ZONES_MAX = 8
# what the controllers write causes no warnings
_MANAGED_BY = "endpointslice.kubernetes.io/managed-by"
_MANAGERS = ("endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io")
_TYPES = ("FQDN", "IPv4", "IPv6")
_PROTOCOLS = ("SCTP", "TCP", "UDP")


class EndpointSliceStrategy(Strategy):
    def default(self, obj: Object) -> None:
        for port in obj.get("ports") or ():
            size = len(port)
            if port.get("name") is None:
                port["name"] = ""
            if port.get("protocol") is None:
                port["protocol"] = "TCP"
            if len(port) != size:
                gofields.arrange(port, "discovery.v1.EndpointPort")
        obj.setdefault("endpoints", None)
        obj.setdefault("ports", None)

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        obj["metadata"]["generation"] = 1
        _drop_nodes(ctx, obj, None)

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        """Labels count as well as what is in the slice."""
        _drop_nodes(ctx, obj, old)
        metadata, before = obj["metadata"], old["metadata"]
        same = all(obj.get(field) == old.get(field) for field in ("endpoints", "ports")) and (
            (metadata.get("labels") or {}) == (before.get("labels") or {})
        )
        metadata["generation"] = (before.get("generation") or 0) + (not same)

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs = self._around(obj)
        return errs + self._endpoints(ctx, obj)

    def _around(self, obj: Object) -> list[FieldError]:
        """What is wrong but for the endpoints."""
        errs: list[FieldError] = []
        kind = obj.get("addressType") or ""
        if not kind:
            errs.append(errors.required("addressType"))
        elif kind not in _TYPES:
            errs.append(errors.not_supported("addressType", kind, _TYPES))
        _ports(obj, errs)
        return errs

    def _endpoints(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        kind, endpoints = obj.get("addressType") or "", obj.get("endpoints") or ()
        rule = legacyaddresses.rule(ctx.version)
        if len(endpoints) > ENDPOINTS_MAX:
            errs.append(errors.too_many("endpoints", len(endpoints), ENDPOINTS_MAX))
        else:
            for index, endpoint in enumerate(endpoints):
                _endpoint(endpoint, kind, f"endpoints[{index}]", rule, errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        if any(obj.get(name) != old.get(name) for name in ("endpoints", "ports", "addressType")):
            errs += self._around(obj)
        if obj.get("endpoints") != old.get("endpoints"):  # older releases took what is refused now
            errs += self._endpoints(ctx, obj)
        if obj.get("addressType") != old.get("addressType"):
            value = obj.get("addressType") or ""
            errs.append(errors.invalid_value("addressType", value, "field is immutable"))
        return errs

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        warnings: list[str] = []
        if (obj["metadata"].get("labels") or {}).get(_MANAGED_BY) in _MANAGERS:
            return warnings
        for index, endpoint in enumerate(obj.get("endpoints") or ()):
            for position, address in enumerate(endpoint.get("addresses") or ()):
                addresswarnings.ip(
                    address, f"endpoints[{index}].addresses[{position}]", ctx.version, warnings
                )
        return warnings


def _drop_nodes(ctx: Context, obj: Object, old: Object | None) -> None:
    """Hints for nodes, unless the gate is on or somebody had some."""
    if ctx.version.has("PreferSameTrafficDistribution") or any(_hinted(old)):
        return
    endpoints = obj.get("endpoints")
    if any(_hinted(obj)):
        obj["endpoints"] = [
            {**endpoint, "hints": _without_nodes(endpoint["hints"])}
            if endpoint.get("hints")
            else endpoint
            for endpoint in endpoints or ()
        ]


def _hinted(obj: Object | None) -> Iterator[Any]:
    for endpoint in (obj or {}).get("endpoints") or ():
        yield (endpoint.get("hints") or {}).get("forNodes")


def _without_nodes(hints: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in hints.items() if name != "forNodes"}


def _strict(value: str, parsed: Any, path: str, errs: list[FieldError]) -> None:
    """An address in the one form that it should be written in."""
    checks.ip(value, path, errs)
    if parsed is None:
        return
    text = legacyaddresses.ip_fault(value)
    if not text and value != str(parsed):
        text = f"must be in canonical form ({errors.quoted(str(parsed))})"
    if text:
        errs.append(errors.invalid_value(path, value, text))


def _endpoint(
    endpoint: Mapping[str, Any], kind: str, path: str, rule: Rule, errs: list[FieldError]
) -> None:
    addresses = endpoint.get("addresses") or ()
    if not addresses:
        text = "must contain at least 1 address"
        errs.append(errors.required(f"{path}.addresses", text))
    elif len(addresses) > ADDRESSES_MAX:
        errs.append(errors.too_many(f"{path}.addresses", len(addresses), ADDRESSES_MAX))
    for index, address in enumerate(addresses if kind in _TYPES else ()):
        at = f"{path}.addresses[{index}]"
        if kind == "FQDN":
            _full_name(address, at, errs)
            continue
        before = len(errs)
        parsed = checks.parse_ip(address)
        if kind == "IPv4":
            rule.ip(address, at, errs)
        if kind == "IPv6":
            _strict(address, parsed, at, errs)
        if len(errs) == before:
            if parsed is not None and kind != f"IPv{parsed.version}":
                text = f"must be an {kind} address"
                errs.append(errors.invalid_value(f"{path}.addresses", address, text))
            checks.special_ip(address, at, errs)
    node = endpoint.get("nodeName")
    if node is not None:
        checks.named(node, f"{path}.nodeName", names.dns1123_subdomain_errors, errs)
    name = endpoint.get("hostname")
    if name is not None:
        checks.named(name, f"{path}.hostname", names.dns1123_label_errors, errs)
    topology = endpoint.get("deprecatedTopology") or {}
    if len(topology) > TOPOLOGY_MAX:
        at = f"{path}.deprecatedTopology"
        errs.append(errors.too_many(at, len(topology), TOPOLOGY_MAX))
    objectmeta.label_errors(topology, f"{path}.deprecatedTopology", errs)
    zones = (endpoint.get("hints") or {}).get("forZones") or ()
    _zones(zones, f"{path}.hints.forZones", errs)


def _zones(zones: Sequence[Mapping[str, Any]], path: str, errs: list[FieldError]) -> None:
    if len(zones) > ZONES_MAX:
        errs.append(errors.too_many(path, len(zones), ZONES_MAX))
        return
    seen: set[str] = set()
    for index, zone in enumerate(zones):
        name, at = zone.get("name") or "", f"{path}[{index}].name"
        if name in seen:
            errs.append(errors.duplicate(at, name))
        seen.add(name)
        checks.named(name, at, names.label_value_errors, errs)


def _full_name(value: str, path: str, errs: list[FieldError]) -> None:
    if not value:
        errs.append(errors.required(path))
        return
    messages = names.dns1123_subdomain_errors(value)
    for text in messages:
        errs.append(errors.invalid_value(path, value, text))
    if not messages and "." not in value:
        text = "should be a domain with at least two segments separated by dots"
        errs.append(errors.invalid_value(path, value, text))


def _ports(obj: Object, errs: list[FieldError]) -> None:
    taken: set[str] = set()
    ports = obj.get("ports") or ()
    if len(ports) > PORTS_MAX:
        errs.append(errors.too_many("ports", len(ports), PORTS_MAX))
        return
    for index, port in enumerate(ports):
        name, path = port.get("name") or "", f"ports[{index}]"
        if name:
            checks.named(name, f"{path}.name", names.dns1123_label_errors, errs)
        if name in taken:
            errs.append(errors.duplicate(f"{path}.name", name))
        taken.add(name)
        if (protocol := port.get("protocol")) not in _PROTOCOLS:
            errs.append(errors.not_supported(f"{path}.protocol", protocol, _PROTOCOLS))
        if port.get("appProtocol") is not None:
            at = f"{path}.appProtocol"
            checks.named(port["appProtocol"], at, names.qualified_name_errors, errs)
