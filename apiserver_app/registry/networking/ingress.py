"""Ingresses: hosts and paths, each to one backend.

Models kubernetes pkg/apis/networking/validation/validation.go and
pkg/registry/networking/ingress/strategy.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks, legacyaddresses, objectmeta

_PATH_TYPES = ("Exact", "ImplementationSpecific", "Prefix")
_CLASS_NOTE = "kubernetes.io/ingress.class"
_NOT_AN_ADDRESS = "must be a DNS name, not an IP address"
_WILDCARD_TEXT = names.pattern_text(
    "a wildcard DNS-1123 subdomain must start with '*.', followed by a valid DNS subdomain, "
    "which must consist of lower case alphanumeric characters, '-' or '.' "
    "and end with an alphanumeric character",
    rf"\*\.{names.SUBDOMAIN_FORMAT}",
    "*.example.com",
)


class IngressStrategy(Strategy):
    counts_generation = True

    def default(self, obj: Object) -> None:
        if obj.get("spec") is None:
            obj["spec"] = {}
        if obj.get("status") is None:
            obj["status"] = {"loadBalancer": {}}

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        obj["metadata"]["generation"] = 1
        obj["status"] = {"loadBalancer": {}}

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        spec = obj["spec"]
        notes = obj["metadata"].get("annotations") or {}
        self._spec(spec, errs)
        wanted, noted = spec.get("ingressClassName"), notes.get(_CLASS_NOTE)
        if noted is not None and wanted is not None and noted != wanted:
            text = "must match `ingressClassName` when both are specified"
            errs.append(errors.invalid_value(f"annotations.{_CLASS_NOTE}", noted, text))
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        self._spec(obj["spec"], errs)
        return errs

    def validate_status_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        rule = legacyaddresses.of_balancer(ctx.version, old)
        balancer = (obj.get("status") or {}).get("loadBalancer") or {}
        for index, point in enumerate(balancer.get("ingress") or ()):
            path = f"status.loadBalancer.ingress[{index}]"
            if point.get("ip"):
                rule.ip(point["ip"], f"{path}.ip", errs)
            host = point.get("hostname")
            if host:
                checks.named(host, f"{path}.hostname", names.dns1123_subdomain_errors, errs)
                if checks.parse_ip(host) is not None:
                    errs.append(errors.invalid_value(f"{path}.hostname", host, _NOT_AN_ADDRESS))
        return errs

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        if old is None and _CLASS_NOTE in (obj["metadata"].get("annotations") or {}):
            return [
                f'annotation "{_CLASS_NOTE}" is deprecated, please use '
                "'spec.ingressClassName' instead"
            ]
        return []

    def _spec(self, spec: Mapping[str, Any], errs: list[FieldError]) -> None:
        rules, fallback = spec.get("rules"), spec.get("defaultBackend")
        if not rules and fallback is None:
            printed = errors.GoText("[]networking.IngressRule(nil)")
            text = "either `defaultBackend` or `rules` must be specified"
            errs.append(errors.invalid_value("spec", printed, text))
        if fallback is not None:
            _backend(fallback, "spec.defaultBackend", errs)
        for index, rule in enumerate(rules or ()):
            _rule(rule, f"spec.rules[{index}]", errs)
        for index, entry in enumerate(spec.get("tls") or ()):
            for position, host in enumerate(entry.get("hosts") or ()):
                _host(host, f"spec.tls[{index}].hosts[{position}]", errs)
            if entry.get("secretName"):
                path = f"spec.tls[{index}].secretName"
                checks.named(entry["secretName"], path, names.dns1123_subdomain_errors, errs)
        if spec.get("ingressClassName") is not None:
            value = spec["ingressClassName"]
            checks.named(value, "spec.ingressClassName", names.dns1123_subdomain_errors, errs)


def _rule(rule: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    host = rule.get("host")
    if host:
        if checks.parse_ip(host) is not None:
            errs.append(errors.invalid_value(f"{path}.host", host, _NOT_AN_ADDRESS))
        _host(host, f"{path}.host", errs)
    http = rule.get("http")
    if http is None:
        return
    paths = http.get("paths") or ()
    if not paths:
        errs.append(errors.required(f"{path}.http.paths"))
    for index, item in enumerate(paths):
        _path(item, f"{path}.http.paths[{index}]", errs)


def _path(item: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    kind, value = item.get("pathType"), item.get("path") or ""
    if kind is None:
        errs.append(errors.required(f"{path}.pathType", "pathType must be specified"))
        return
    if kind not in _PATH_TYPES:
        errs.append(errors.not_supported(f"{path}.pathType", kind, _PATH_TYPES))
    elif kind != "ImplementationSpecific" or value:
        _text(value, kind != "ImplementationSpecific", f"{path}.path", errs)
    _backend(item.get("backend") or {}, f"{path}.backend", errs)


def _text(value: str, strict: bool, path: str, errs: list[FieldError]) -> None:
    if not value.startswith("/"):
        errs.append(errors.invalid_value(path, value, "must be an absolute path"))
    if not strict:
        return
    for mark in ("//", "/./", "/../", "%2f", "%2F"):
        if mark in value:
            errs.append(errors.invalid_value(path, value, f"must not contain '{mark}'"))
    for mark in ("/..", "/."):
        if value.endswith(mark):
            errs.append(errors.invalid_value(path, value, f"cannot end with '{mark}'"))


def _backend(backend: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    service, other = backend.get("service"), backend.get("resource")
    if service is not None and other is not None:
        text = "cannot set both resource and service backends"
        errs.append(errors.invalid_value(path, "", text))
    elif other is not None:
        local_reference(other, f"{path}.resource", errs)
    elif service is not None:
        _service(service, f"{path}.service", path, errs)
    else:
        text = "resource or service backend is required"
        errs.append(errors.invalid_value(path, "", text))


def local_reference(
    value: Mapping[str, Any], path: str, errs: list[FieldError], *, worded: bool = True
) -> None:
    """An object of any kind, by group, kind and name; `worded`: it is said what is missing."""
    if value.get("apiGroup") is not None:
        checks.named(value["apiGroup"], f"{path}.apiGroup", names.dns1123_subdomain_errors, errs)
    for field in ("kind", "name"):
        word = value.get(field) or ""
        if not word:
            errs.append(
                errors.required(f"{path}.{field}", f"{field} is required" if worded else "")
            )
        for text in objectmeta.path_segment(word, False):
            errs.append(errors.invalid_value(f"{path}.{field}", word, text))


def _service(service: Mapping[str, Any], at: str, path: str, errs: list[FieldError]) -> None:
    name = service.get("name") or ""
    if not name:
        errs.append(errors.required(f"{at}.name"))
    else:
        checks.named(name, f"{at}.name", names.dns1035_label_errors, errs)
    port = service.get("port") or {}
    has_name, has_number = bool(port.get("name")), bool(port.get("number"))
    if not has_name and not has_number:
        errs.append(errors.required(path, "port name or number is required"))
    elif has_name and has_number:
        errs.append(errors.invalid_value(path, "", "cannot set both port name & port number"))
    elif has_name:
        checks.named(port["name"], f"{at}.port.name", checks.port_name_errors, errs)
    else:
        checks.port_number(port["number"], f"{at}.port.number", errs)


def _host(host: str, path: str, errs: list[FieldError]) -> None:
    if "*" not in host:
        checks.named(host, path, names.dns1123_subdomain_errors, errs)
    elif not host.startswith("*.") or names.dns1123_subdomain_errors(host[2:]):
        errs.append(errors.invalid_value(path, host, _WILDCARD_TEXT))
