"""CertificateSigningRequests: who asked is what the server saw, and the request never changes.

Models kubernetes pkg/registry/certificates/certificates/strategy.go and
pkg/apis/certificates/validation/validation.go.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.certificates import clustertrustbundle
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks, objectmeta, pemblocks

_BEGIN = b"-----BEGIN CERTIFICATE REQUEST-----"
_END = b"-----END CERTIFICATE REQUEST-----"
_DECISIONS = ("Approved", "Denied")
_LEGACY = "kubernetes.io/legacy-unknown"
_ALL_USAGES = (
    "signing", "digital signature", "content commitment", "key encipherment", "key agreement",
    "data encipherment", "cert sign", "crl sign", "encipher only", "decipher only", "any",
    "server auth", "client auth", "code signing", "email protection", "s/mime",
    "ipsec end system", "ipsec tunnel", "ipsec user", "timestamping", "ocsp signing",
    "microsoft sgc", "netscape sgc",
)  # fmt: skip


class CertificateSigningRequestStrategy(Strategy):
    name_rule = staticmethod(objectmeta.path_segment)
    selectable = ("spec.signerName",)
    selects_namespace = False

    def default(self, obj: Object) -> None:
        if obj.get("spec") is None:
            obj["spec"] = {}
        if obj.get("status") is None:
            obj["status"] = {}

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        spec: dict[str, Any] = obj["spec"]
        for field in ("username", "uid", "groups", "extra"):
            spec.pop(field, None)
        spec.update(ctx.user.info())
        gofields.arrange(spec, "certificates.v1.CertificateSigningRequestSpec")
        obj["status"] = {}

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        """Through `/approval` only the conditions change, otherwise only the metadata."""
        status = obj.get("status") or {}
        obj["spec"] = old["spec"]
        obj["status"] = old.get("status") or {}
        if ctx.subresource == "approval":
            metadata = {**old["metadata"]}
            for name in ("resourceVersion", "managedFields"):
                if name in obj["metadata"]:
                    metadata[name] = obj["metadata"][name]
            obj["metadata"] = metadata
            kept = dict(obj["status"])
            kept.pop("conditions", None)
            if status.get("conditions"):
                kept["conditions"] = _stamped(ctx, status["conditions"], old)
            obj["status"] = kept

    def prepare_for_status_update(self, ctx: Context, obj: Object, old: Object) -> None:
        """Who signs may neither approve nor deny."""
        super().prepare_for_status_update(ctx, obj, old)
        status = dict(obj.get("status") or {})
        before = (old.get("status") or {}).get("conditions") or ()
        decided = [condition for condition in before if condition.get("type") in _DECISIONS]
        others = [
            condition
            for condition in status.get("conditions") or ()
            if condition.get("type") not in _DECISIONS
        ]
        status.pop("conditions", None)
        if decided or others:
            status["conditions"] = _stamped(ctx, [*decided, *others], old)
        obj["status"] = status

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        spec = obj["spec"]
        usages, request = spec.get("usages") or (), spec.get("request") or ""
        _pem(request, errs)
        if not usages:
            errs.append(errors.required("spec.usages"))
        _usages(usages, errs)
        if spec.get("signerName") == _LEGACY:
            text = "the legacy signerName is not allowed via this API version"
            errs.append(errors.invalid_value("spec.signerName", _LEGACY, text))
        else:
            signer = spec.get("signerName") or ""
            clustertrustbundle.signer_name(signer, errs)
        seconds = spec.get("expirationSeconds")
        if seconds is not None and seconds < 600:
            text = "may not specify a duration less than 600 seconds (10 minutes)"
            errs.append(errors.invalid_value("spec.expirationSeconds", seconds, text))
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        return _decisions(obj, old) if ctx.subresource == "approval" else []

    def validate_status_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs = _decisions(obj, old)
        now, then = ((each.get("status") or {}).get("certificate") or "" for each in (obj, old))
        if now == then:
            return errs
        if then:
            text = "updates may not modify existing certificate content"
            errs.append(errors.forbidden_value("status.certificate", text))
        message = pemblocks.certificate_error(_text_of(now))
        if message:
            path, printed = "status.certificate", "<certificate data>"
            errs.append(errors.invalid_value(path, printed, message))
        return errs


def _text_of(encoded: str) -> str:
    try:
        return base64.b64decode(encoded).decode("latin-1")
    except (binascii.Error, ValueError):
        return encoded


def _decisions(obj: Object, old: Object) -> list[FieldError]:
    """Conditions say what they may, and none that decided is taken away."""
    errs: list[FieldError] = []
    conditions = (obj.get("status") or {}).get("conditions") or ()
    before = [c.get("type") for c in (old.get("status") or {}).get("conditions") or ()]
    seen: list[str] = []
    for index, condition in enumerate(conditions):
        kind, status = condition.get("type") or "", condition.get("status") or ""
        path = f"status.conditions[{index}]"
        if not kind:
            errs.append(errors.required(f"{path}.type"))
        allowed = ("True",) if kind in (*_DECISIONS, "Failed") else ("False", "True", "Unknown")
        checks.one_of(status, f"{path}.status", allowed, errs)
        others = [decision for decision in _DECISIONS if decision != kind]
        if kind in _DECISIONS and others[0] in seen and not set(_DECISIONS) <= set(before):
            text = "Approved and Denied conditions are mutually exclusive"
            errs.append(errors.invalid_value(f"{path}.type", kind, text))
        if kind in seen and len(set(before)) == len(before):
            errs.append(errors.duplicate(f"{path}.type", kind))
        seen.append(kind)
    for kind in (*_DECISIONS, "Failed"):
        if seen.count(kind) < before.count(kind):
            text = f'updates may not remove a condition of type "{kind}"'
            errs.append(errors.forbidden_value("status.conditions", text))
    return errs


def _stamped(ctx: Context, conditions: list[Object], old: Object) -> list[Object]:
    """Conditions with the times that their writer left out."""
    moment = meta.rfc3339(ctx.now)
    known = {
        (condition.get("type"), condition.get("status")): condition.get("lastTransitionTime")
        for condition in (old.get("status") or {}).get("conditions") or ()
    }
    return [
        {
            **condition,
            "lastUpdateTime": condition.get("lastUpdateTime") or moment,
            "lastTransitionTime": condition.get("lastTransitionTime")
            or known.get((condition.get("type"), condition.get("status")))
            or moment,
        }
        for condition in conditions
    ]


def _usages(usages: Sequence[str], errs: list[FieldError]) -> None:
    for number, usage in enumerate(usages):
        if usage not in _ALL_USAGES:
            path = f"spec.usages[{number}]"
            errs.append(errors.not_supported(path, usage, sorted(_ALL_USAGES)))
    for number, usage in enumerate(usages):
        if usage in usages[:number]:
            errs.append(errors.duplicate(f"spec.usages[{number}]", usage))


def _pem(request: str, errs: list[FieldError]) -> None:
    try:
        data = base64.b64decode(request, validate=True)
    except (binascii.Error, ValueError):
        data = b""
    if _BEGIN not in data or _END not in data:
        text = "PEM block type must be CERTIFICATE REQUEST"
        inner = ", ".join(hex(byte) for byte in data)
        printed = errors.GoText(f"[]byte{{{inner}}}" if request else "[]byte(nil)")
        errs.append(errors.invalid_value("spec.request", printed, text))
