"""ClusterTrustBundles: authorities that everybody may trust, perhaps those of one signer.

Models kubernetes pkg/apis/certificates/validation/validation.go (ValidateClusterTrustBundle),
pkg/apis/core/validation/names.go (ValidateSignerName, ValidateClusterTrustBundleName) and
pkg/registry/certificates/clustertrustbundle/strategy.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object, name_of
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import objectmeta, pemblocks

SIGNER_SIZE = 253 + 253 + 63 + 1 + 1
_OMITTED = "<value omitted>"


def _any_name(name: str, prefix: bool) -> list[str]:
    """What it may be called follows from its signer."""
    return []


class ClusterTrustBundleStrategy(Strategy):
    unconditional_update = False
    name_rule = staticmethod(_any_name)
    selectable = ("spec.signerName",)
    selects_namespace = False

    def default(self, obj: Object) -> None:
        obj.setdefault("spec", {})

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        _names(obj, errs)
        _bundle(obj["spec"].get("trustBundle") or "", errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        _names(obj, errs)
        text = obj["spec"].get("trustBundle") or ""
        if text != (old["spec"].get("trustBundle") or ""):
            _bundle(text, errs)
        now, then = (each["spec"].get("signerName") or "" for each in (obj, old))
        objectmeta.immutable(now, then, "spec.signerName", errs)
        return errs


def signer_name(value: str, errs: list[FieldError]) -> None:
    """`example.com/signer-name`, each part of labels."""
    path = "spec.signerName"
    if not value:
        errs.append(errors.required(path))
        return
    domain, slash, name = value.partition("/")
    if not slash or "/" in name:
        text = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        errs.append(errors.invalid_value(path, value, text))
        return
    if names.size(domain) > names.SUBDOMAIN_LENGTH:
        errs.append(errors.too_long(path, domain, names.SUBDOMAIN_LENGTH))
    for label in domain.split("."):
        for text in names.dns1123_label_errors(label):
            text = f"validating label {errors.go_value(label)}: {text}"
            errs.append(errors.invalid_value(path, domain, text))
    if "." not in domain:
        text = "should be a domain with at least two segments separated by dots"
        errs.append(errors.invalid_value(path, domain, text))
    for label in name.split("."):
        for text in names.dns1123_subdomain_errors(label):
            text = f"validating label {errors.go_value(label)}: {text}"
            errs.append(errors.invalid_value(path, name, text))
    if names.size(value) > SIGNER_SIZE:
        errs.append(errors.too_long(path, value, SIGNER_SIZE))


def _names(obj: Object, errs: list[FieldError]) -> None:
    name, signer = name_of(obj), obj["spec"].get("signerName") or ""
    prefix = f"{signer.replace('/', ':')}:" if signer else ""
    if not signer and ":" in name:
        text = 'ClusterTrustBundle without signer name must not have ":" in its name'
        errs.append(errors.invalid_value("metadata.name", name, text))
    elif not name.startswith(prefix):
        text = f"ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"
        errs.append(errors.invalid_value("metadata.name", name, text))
    else:
        for text in names.dns1123_subdomain_errors(name.removeprefix(prefix)):
            errs.append(errors.invalid_value("metadata.name", name, text))
    if signer:
        signer_name(signer, errs)


def _bundle(text: str, errs: list[FieldError]) -> None:
    path = "spec.trustBundle"
    if names.size(text) > pemblocks.BUNDLE_SIZE:
        errs.append(errors.too_long(path, "", pemblocks.BUNDLE_SIZE))
        return
    for message in pemblocks.bundle_errors(text):
        errs.append(errors.invalid_value(path, _OMITTED, message))
