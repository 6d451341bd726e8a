"""Conversion of versions removed in 1.25 or earlier that had other fields or other defaults.

An object that was written in an old version keeps that version's defaults.

Models kubernetes pkg/apis/{extensions,apps}/v1beta1/{defaults,conversion}.go,
pkg/apis/networking/v1beta1/conversion.go, pkg/apis/certificates/v1beta1/defaults.go,
pkg/apis/admissionregistration/v1beta1/defaults.go and apiextensions-apiserver
pkg/apis/apiextensions/v1beta1/{defaults,conversion}.go of the versions that had them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver_app.machinery.meta import Object

Convert = Callable[[Object], Object]

_KEEP = "x-kubernetes-preserve-unknown-fields"
_NEVER = 2**31 - 1  # no deadline, no limit
_IMPLEMENTATION = "ImplementationSpecific"
_NODE_CLIENT = "kubernetes.io/kube-apiserver-client-kubelet"
_LEGACY = "kubernetes.io/legacy-unknown"
_NODE_USAGES = {"key encipherment", "digital signature", "client auth"}


def _as(api_version: str, obj: Object, **changed: Any) -> Object:
    return {**obj, "apiVersion": api_version, **changed}


def _with_selector(obj: Object) -> Object:
    """The spec, with the template's labels as selector if it has none."""
    spec = dict(obj.get("spec") or {})
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if not spec.get("selector") and labels:
        spec["selector"] = {"matchLabels": dict(labels)}
    return spec


def _workload(**defaults: Any) -> Convert:
    """A conversion to apps/v1 for a workload whose old version had these defaults."""

    def convert(obj: Object) -> Object:
        spec = _with_selector(obj)
        for name, value in defaults.items():
            if spec.get(name) is None:
                spec[name] = value
        return _as("apps/v1", obj, spec=spec)

    return convert


def _extensions_deployment(obj: Object) -> Object:
    out: Object = _workload(progressDeadlineSeconds=_NEVER, revisionHistoryLimit=_NEVER)(obj)
    strategy = dict(out["spec"].get("strategy") or {})
    if strategy.get("type", "RollingUpdate") == "RollingUpdate":
        rolling = {"maxUnavailable": 1, "maxSurge": 1, **(strategy.get("rollingUpdate") or {})}
        out["spec"]["strategy"] = {"type": "RollingUpdate", "rollingUpdate": rolling}
    return out


# -- ingresses ------------------------------------------------------------------------------------


def _ingress_to_v1(obj: Object) -> Object:
    spec = dict(obj.get("spec") or {})
    backend = spec.pop("backend", None)
    if backend is not None:
        spec["defaultBackend"] = _backend_to_v1(backend)
    if spec.get("rules"):
        spec["rules"] = [_each_path(rule, _path_to_v1) for rule in spec["rules"]]
    return _as("networking.k8s.io/v1", obj, spec=spec)


def _path_to_v1(path: Object) -> Object:
    out = {**path, "pathType": path.get("pathType") or _IMPLEMENTATION}
    return {**out, "backend": _backend_to_v1(path.get("backend") or {})}


def _backend_to_v1(backend: Object) -> Object:
    out = {name: backend[name] for name in ("resource",) if name in backend}
    port = backend.get("servicePort")
    if backend.get("serviceName") or port not in (None, 0, ""):
        named = {"name": port} if isinstance(port, str) else {"number": port or 0}
        out["service"] = {"name": backend.get("serviceName") or "", "port": named}
    return out


def _ingress_from_v1(version: str) -> Convert:
    def convert(obj: Object) -> Object:
        spec = dict(obj.get("spec") or {})
        backend = spec.pop("defaultBackend", None)
        if backend is not None:
            spec["backend"] = _backend_from_v1(backend)
        if spec.get("rules"):
            spec["rules"] = [_each_path(rule, _path_from_v1) for rule in spec["rules"]]
        return _as(version, obj, spec=spec)

    return convert


def _path_from_v1(path: Object) -> Object:
    return {**path, "backend": _backend_from_v1(path.get("backend") or {})}


def _backend_from_v1(backend: Object) -> Object:
    out = {name: backend[name] for name in ("resource",) if name in backend}
    service = backend.get("service")
    if service is not None:
        port = service.get("port") or {}
        out["serviceName"] = service.get("name", "")
        out["servicePort"] = port.get("name") or port.get("number") or 0
    return out


def _each_path(rule: Object, change: Convert) -> Object:
    http = rule.get("http")
    if not http or not http.get("paths"):
        return rule
    return {**rule, "http": {**http, "paths": [change(path) for path in http["paths"]]}}


# -- definitions of custom resources --------------------------------------------------------------


def _definition_to_v1(obj: Object) -> Object:
    """Copies top-level fields into each version."""
    spec = dict(obj.get("spec") or {})
    common = {
        "schema": spec.pop("validation", None),
        "subresources": spec.pop("subresources", None),
        "additionalPrinterColumns": spec.pop("additionalPrinterColumns", None),
    }
    single = spec.pop("version", "")
    keeps = spec.pop("preserveUnknownFields", None) is not False
    versions = spec.get("versions") or [{"name": single, "served": True, "storage": True}]
    spec["versions"] = [_version_to_v1(version, common, keeps) for version in versions]
    conversion = spec.get("conversion")
    if conversion:
        webhook = {
            "clientConfig": conversion.get("webhookClientConfig"),
            "conversionReviewVersions": conversion.get("conversionReviewVersions") or ["v1beta1"],
        }
        spec["conversion"] = {"strategy": conversion.get("strategy", "None")}
        if webhook["clientConfig"]:
            spec["conversion"]["webhook"] = webhook
    return _as("apiextensions.k8s.io/v1", obj, spec=spec)


def _version_to_v1(version: Object, common: Object, keeps: bool) -> Object:
    """`keeps`: preserves unknown fields, which in v1 the schema has to say."""
    out = {**{name: value for name, value in common.items() if value}, **version}
    if keeps:
        schema = (out.get("schema") or {}).get("openAPIV3Schema") or {}
        out["schema"] = {"openAPIV3Schema": {"type": "object", **schema, _KEEP: True}}
    if out.get("additionalPrinterColumns"):
        out["additionalPrinterColumns"] = [
            _renamed(column, "JSONPath", "jsonPath") for column in out["additionalPrinterColumns"]
        ]
    return out


def _definition_from_v1(obj: Object) -> Object:
    """Hoists fields that are equal in all versions to the top level."""
    spec = dict(obj.get("spec") or {})
    versions = [dict(version) for version in spec.get("versions") or ()]
    if not spec.get("preserveUnknownFields"):
        kept = [_keeps_no_more(version) for version in versions]
        spec["preserveUnknownFields"] = any(kept)
    for version in versions:
        if version.get("additionalPrinterColumns"):
            version["additionalPrinterColumns"] = [
                _renamed(column, "jsonPath", "JSONPath")
                for column in version["additionalPrinterColumns"]
            ]
    for name, above in (
        ("schema", "validation"),
        ("subresources", "subresources"),
        ("additionalPrinterColumns", "additionalPrinterColumns"),
    ):
        values = [version.get(name) for version in versions]
        if values and values[0] and all(value == values[0] for value in values):
            spec[above] = values[0]
            for version in versions:
                del version[name]
    spec["versions"] = versions
    if versions:
        spec["version"] = versions[0]["name"]
    conversion = spec.get("conversion")
    if conversion:
        webhook = conversion.get("webhook") or {}
        spec["conversion"] = {"strategy": conversion.get("strategy", "None")}
        if webhook.get("clientConfig"):
            spec["conversion"]["webhookClientConfig"] = webhook["clientConfig"]
        if webhook.get("conversionReviewVersions"):
            versions_ = webhook["conversionReviewVersions"]
            spec["conversion"]["conversionReviewVersions"] = versions_
    return _as("apiextensions.k8s.io/v1beta1", obj, spec=spec)


def _keeps_no_more(version: Object) -> bool:
    """Removes x-kubernetes-preserve-unknown-fields from the schema; returns whether it was set."""
    schema = dict((version.get("schema") or {}).get("openAPIV3Schema") or {})
    if not schema.pop(_KEEP, False):
        return False
    if schema == {"type": "object"}:
        del version["schema"]
    else:
        version["schema"] = {"openAPIV3Schema": schema}
    return True


def _renamed(obj: Object, old: str, new: str) -> Object:
    return {new if name == old else name: value for name, value in obj.items()}


# -- others ---------------------------------------------------------------------------------------


def _webhooks(obj: Object) -> Object:
    """Sets the defaults of v1beta1, which are more lenient than those of v1."""
    defaults = {
        "failurePolicy": "Ignore",
        "matchPolicy": "Exact",
        "sideEffects": "Unknown",
        "timeoutSeconds": 30,
        "admissionReviewVersions": ["v1beta1"],
    }
    hooks = [
        {**defaults, **{name: value for name, value in webhook.items() if value is not None}}
        for webhook in obj.get("webhooks") or ()
    ]
    return _as("admissionregistration.k8s.io/v1", obj, **({"webhooks": hooks} if hooks else {}))


def _request(obj: Object) -> Object:
    spec = dict(obj.get("spec") or {})
    if not spec.get("usages"):
        spec["usages"] = ["digital signature", "key encipherment"]
    if not spec.get("signerName"):
        is_node = set(spec["usages"]) == _NODE_USAGES
        spec["signerName"] = _NODE_CLIENT if is_node else _LEGACY
    return _as("certificates.k8s.io/v1", obj, spec=spec)


_EXTENSIONS, _FIRST = "extensions/v1beta1", "apps/v1beta1"
_NETWORKING, _CRDS = "networking.k8s.io/v1beta1", "apiextensions.k8s.io/v1beta1"
_ADMISSION = "admissionregistration.k8s.io/v1beta1"

TO: dict[tuple[str, str], Convert] = {
    (_EXTENSIONS, "DaemonSet"): _workload(updateStrategy={"type": "OnDelete"}),
    (_EXTENSIONS, "Deployment"): _extensions_deployment,
    (_EXTENSIONS, "ReplicaSet"): _workload(),
    (_EXTENSIONS, "Ingress"): _ingress_to_v1,
    (_FIRST, "Deployment"): _workload(revisionHistoryLimit=2),
    (_FIRST, "StatefulSet"): _workload(updateStrategy={"type": "OnDelete"}),
    (_NETWORKING, "Ingress"): _ingress_to_v1,
    (_CRDS, "CustomResourceDefinition"): _definition_to_v1,
    (_ADMISSION, "MutatingWebhookConfiguration"): _webhooks,
    (_ADMISSION, "ValidatingWebhookConfiguration"): _webhooks,
    ("certificates.k8s.io/v1beta1", "CertificateSigningRequest"): _request,
}
FROM: dict[tuple[str, str], Convert] = {
    (_EXTENSIONS, "Ingress"): _ingress_from_v1(_EXTENSIONS),
    (_NETWORKING, "Ingress"): _ingress_from_v1(_NETWORKING),
    (_CRDS, "CustomResourceDefinition"): _definition_from_v1,
}
