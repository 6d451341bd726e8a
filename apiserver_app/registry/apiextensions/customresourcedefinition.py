"""The strategy of CustomResourceDefinitions: names, versions, the storage version.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/defaults.go,
validation/validation.go and pkg/registry/customresourcedefinition/strategy.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.apiextensions.definition import versionrules
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.kinds import customresources
from apiserver_app.machinery.meta import Object, name_of
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import names
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.apiextensions import definitionconversion
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks


class CustomResourceDefinitionStrategy(Strategy):
    counts_generation = True
    unconditional_update = False

    def default(self, obj: Object) -> None:
        spec: dict[str, Any] = obj.get("spec") or {}
        obj["spec"] = spec
        called: dict[str, Any] = spec.get("names") or {}
        spec["names"] = called
        kind = called.get("kind") or ""
        if not called.get("singular"):
            called["singular"] = kind.lower()
        if not called.get("listKind") and kind:
            called["listKind"] = f"{kind}List"
        gofields.arrange(called, "apiextensions.v1.CustomResourceDefinitionNames")
        if spec.get("conversion") is None:
            spec["conversion"] = {"strategy": "None"}
        webhook = spec["conversion"].get("webhook") or {}
        service = (webhook.get("clientConfig") or {}).get("service")
        if service is not None and service.get("port") is None:
            service["port"] = 443
        gofields.arrange(spec, "apiextensions.v1.CustomResourceDefinitionSpec")

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        obj["metadata"]["generation"] = 1
        stored = [version.get("name") or "" for version in _stored(obj)]
        obj["status"] = {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": stored or None,
        }

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        super().prepare_for_update(ctx, obj, old)
        status = obj.get("status") or {}
        known = list(status.get("storedVersions") or ())
        stored = [version.get("name") or "" for version in _stored(obj)]
        if added := [name for name in stored if name not in known]:
            obj["status"] = {**status, "storedVersions": [*known, *added]}

    def prepare_for_status_update(self, ctx: Context, obj: Object, old: Object) -> None:
        """Keeps the spec; metadata may change, so that the finalizer can be removed."""
        obj["spec"] = old["spec"]

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        spec = obj["spec"]
        group, plural = spec.get("group") or "", spec["names"].get("plural") or ""
        if name_of(obj) not in ("", f"{plural}.{group}"):
            text = 'must be spec.names.plural+"."+spec.group'
            errs.append(errors.invalid_value("metadata.name", name_of(obj), text))
        _spec(ctx, spec, None, errs)
        _status(obj, ctx.version, errs)
        _approval(obj, None, errs)
        _preserve(spec, errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        _spec(ctx, obj["spec"], old, errs)
        fixed: tuple[Sequence[str], ...] = (("group",), ("names", "plural"))
        if customresources.is_true(old, "Established"):
            fixed = (("scope",), ("names", "kind"), *fixed)
        for path in fixed:
            new, was = _at(obj["spec"], path), _at(old["spec"], path)
            if new != was:
                at = f"spec.{'.'.join(path)}"
                errs.append(errors.invalid_value(at, new, "field is immutable"))
        _status(obj, ctx.version, errs)
        _approval(obj, old, errs)
        if not old["spec"].get("preserveUnknownFields"):
            _preserve(obj["spec"], errs)
        return errs

    def validate_status_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        accepted = (obj.get("status") or {}).get("acceptedNames") or {}
        _names(accepted, "status.acceptedNames", errs)
        return errs


def _spec(
    ctx: Context, spec: Mapping[str, Any], old: Object | None, errs: list[FieldError]
) -> None:
    _group(spec.get("group") or "", errs)
    checks.one_of(spec.get("scope"), "spec.scope", ("Cluster", "Namespaced"), errs)
    versions = spec.get("versions") or ()
    before = (old or {}).get("spec", {}).get("versions") or ()
    schemas = {version.get("name"): version.get("schema") for version in before}
    unchanged = {
        version["name"]
        for version in versions
        if version.get("name") in schemas and schemas[version["name"]] == version.get("schema")
    }
    shared = versionrules.Shared(versions, ctx.version, unchanged)
    shared.missing(errs)
    keeps = bool(spec.get("preserveUnknownFields"))
    if keeps and any(versionrules.has_default(version) for version in versions):
        text = "must be false in order to use defaults in the schema"
        errs.append(errors.invalid_value("spec.preserveUnknownFields", True, text))
    _versions(versions, shared, errs)
    for field in ("plural", "singular", "kind", "listKind"):
        if not spec["names"].get(field):
            errs.append(errors.required(f"spec.names.{field}"))
    _names(spec["names"], "spec.names", errs)
    shared.whole(errs)
    conversion = spec.get("conversion") or {}
    strategy = conversion.get("strategy") or ""
    if keeps and strategy != "None":
        text = "must be None if spec.preserveUnknownFields is true"
        errs.append(errors.invalid_value("spec.conversion.strategy", strategy, text))
    definitionconversion.validate(conversion, old, "spec.conversion", errs)


def _status(obj: Object, release: Release, errs: list[FieldError]) -> None:
    """A version may be removed only after status.storedVersions no longer lists it."""
    path = "status.storedVersions"
    stored = list((obj.get("status") or {}).get("storedVersions") or ())
    if not stored:
        text = "must have at least one stored version"
        errs.append(errors.invalid_value(path, stored, text))
        return
    versions = obj["spec"].get("versions") or ()
    for version in versions:
        if version.get("storage") and version.get("name") not in stored:
            text = f"must have the storage version {version.get('name')}"
            errs.append(errors.invalid_value(path, stored, text))
    known = {version.get("name") for version in versions}
    for index, name in enumerate(stored):
        if name not in known:
            text = "must appear in spec.versions"
            if release.has("StoredVersionsReworded"):
                text = (
                    f"missing from spec.versions; {name} was previously a storage version, and "
                    "must remain in spec.versions until a storage migration ensures no data "
                    f"remains persisted in {name} and removes {name} from status.storedVersions"
                )
            errs.append(errors.invalid_value(f"{path}[{index}]", name, text))


def _preserve(spec: Mapping[str, Any], errs: list[FieldError]) -> None:
    if spec.get("preserveUnknownFields"):
        text = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in "
            "spec.versions[*].schema instead"
        )
        errs.append(errors.invalid_value("spec.preserveUnknownFields", True, text))


def _stored(obj: Object) -> list[Mapping[str, Any]]:
    return [version for version in obj["spec"].get("versions") or () if version.get("storage")]


def _at(spec: Mapping[str, Any], path: Sequence[str]) -> Any:
    at: Any = spec
    for step in path:
        at = at.get(step) or "" if isinstance(at, Mapping) else ""
    return at


def _group(group: str, errs: list[FieldError]) -> None:
    if not group:
        errs.append(errors.required("spec.group"))
        return
    messages = names.dns1123_subdomain_errors(group)
    if messages:
        errs.append(errors.invalid_value("spec.group", group, ",".join(messages)))
    elif "." not in group:
        text = "should be a domain with at least one dot"
        errs.append(errors.invalid_value("spec.group", group, text))


def _versions(
    versions: Sequence[Mapping[str, Any]], shared: versionrules.Shared, errs: list[FieldError]
) -> None:
    seen: set[str] = set()
    unique = True
    for index, version in enumerate(versions):
        name = version.get("name") or ""
        unique = unique and name not in seen
        seen.add(name)
        _version_name(name, f"spec.versions[{index}].name", errs)
        shared.version(index, errs)
    printed = errors.GoText("[]apiextensions.CustomResourceDefinitionVersion{...}")
    if not unique:
        text = "must contain unique version names"
        errs.append(errors.invalid_value("spec.versions", printed, text))
    if sum(1 for version in versions if version.get("storage")) != 1:
        text = "must have exactly one version marked as storage version"
        errs.append(errors.invalid_value("spec.versions", printed, text))
    if versions and versions[0].get("name"):  # which is the definition's own, too
        _version_name(versions[0]["name"], "spec.version", errs)


def _version_name(name: str, path: str, errs: list[FieldError]) -> None:
    messages = names.dns1035_label_errors(name)
    if messages:
        errs.append(errors.invalid_value(path, name, ",".join(messages)))


def _names(called: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    for field in ("plural", "singular", "kind", "listKind"):
        value = called.get(field) or ""
        mixed = field in ("kind", "listKind")
        messages = names.dns1035_label_errors(value.lower() if mixed else value) if value else []
        if messages:
            text = ",".join(messages)
            if mixed:
                text = f"may have mixed case, but should otherwise match: {text}"
            errs.append(errors.invalid_value(f"{path}.{field}", value, text))
    _labels(called, "shortNames", path, errs)
    if called.get("kind") and called.get("kind") == called.get("listKind"):
        text = "kind and listKind may not be the same"
        errs.append(errors.invalid_value(f"{path}.listKind", called["listKind"], text))
    _labels(called, "categories", path, errs)


def _labels(called: Mapping[str, Any], field: str, path: str, errs: list[FieldError]) -> None:
    for index, value in enumerate(called.get(field) or ()):
        messages = names.dns1035_label_errors(value)
        if messages:
            at = f"{path}.{field}[{index}]"
            errs.append(errors.invalid_value(at, value, ",".join(messages)))


def _approval(obj: Object, old: Object | None, errs: list[FieldError]) -> None:
    """Protected groups need the approval annotation: a link to the API review, or a reason."""
    if not customresources.is_protected_group(obj["spec"].get("group") or ""):
        return
    state, message = customresources.approval(obj)
    if old is not None and customresources.approval(old)[0] == state:
        return
    at = f"metadata.annotations[{customresources.APPROVAL}]"
    if state == "missing":
        errs.append(errors.required(at, message))
    elif state == "invalid":
        text = obj["metadata"]["annotations"][customresources.APPROVAL]
        errs.append(errors.invalid_value(at, text, message))
