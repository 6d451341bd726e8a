"""CustomResourceDefinitions: names, versions, and which of them is stored.

What a definition's schema says is compiled elsewhere; here only its presence is checked.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1/defaults.go,
validation/validation.go and pkg/registry/customresourcedefinition/strategy.go.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.machinery import errors, names
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object, name_of
from apiserver_app.registry.kinds import checks, gosyntax
from apiserver_app.registry.strategy import Context, Strategy

_SPEC = ("group", "names", "scope", "versions", "conversion", "preserveUnknownFields")
_NAMES = ("plural", "singular", "shortNames", "kind", "listKind", "categories")
_APPROVAL = "api-approved.kubernetes.io"


class CustomResourceDefinitionStrategy(Strategy):
    counts_generation = True

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
        gosyntax.arrange(called, _NAMES)
        if spec.get("conversion") is None:
            spec["conversion"] = {"strategy": "None"}
        webhook = spec["conversion"].get("webhook") or {}
        service = (webhook.get("clientConfig") or {}).get("service")
        if service is not None and service.get("port") is None:
            service["port"] = 443
        gosyntax.arrange(spec, _SPEC)

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        obj["metadata"]["generation"] = 1
        stored = [version["name"] for version in _stored(obj) if version.get("name")]
        obj["status"] = {
            "conditions": None,
            "acceptedNames": {"plural": "", "kind": ""},
            "storedVersions": stored or None,
        }

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        super().prepare_for_update(ctx, obj, old)
        status = obj.get("status") or {}
        known = list(status.get("storedVersions") or ())
        added = [one["name"] for one in _stored(obj) if one.get("name") not in known]
        if added:
            obj["status"] = {**status, "storedVersions": [*known, *added]}

    def prepare_for_status_update(self, ctx: Context, obj: Object, old: Object) -> None:
        """The spec stays; metadata may change, which is how its finalizer is taken off."""
        obj["spec"] = old["spec"]

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        found: list[FieldError] = []
        spec = obj["spec"]
        group, plural = spec.get("group") or "", spec["names"].get("plural") or ""
        if name_of(obj) != f"{plural}.{group}":
            text = 'must be spec.names.plural+"."+spec.group'
            found.append(errors.invalid_value("metadata.name", name_of(obj), text))
        _group(group, found)
        scope = spec.get("scope") or ""
        checks.one_of(scope, "spec.scope", ("Cluster", "Namespaced"), found)
        _versions(spec.get("versions") or (), found)
        _names(spec["names"], found)
        _approval(obj, group, found)
        return found

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        if obj["spec"] == old["spec"]:
            return []
        found = self.validate(ctx, obj)
        established = any(
            one.get("type") == "Established" and one.get("status") == "True"
            for one in (old.get("status") or {}).get("conditions") or ()
        )
        if established:
            for path in (("scope",), ("names", "kind")):
                new, was = _at(obj["spec"], path), _at(old["spec"], path)
                if new != was:
                    at = f"spec.{'.'.join(path)}"
                    found.append(errors.invalid_value(at, new, "field is immutable"))
        for path in (("group",), ("names", "plural")):
            new, was = _at(obj["spec"], path), _at(old["spec"], path)
            if new != was:
                at = f"spec.{'.'.join(path)}"
                found.append(errors.invalid_value(at, new, "field is immutable"))
        return found


def _stored(obj: Object) -> list[Mapping[str, Any]]:
    return [one for one in obj["spec"].get("versions") or () if one.get("storage")]


def _at(spec: Mapping[str, Any], path: Sequence[str]) -> Any:
    at: Any = spec
    for step in path:
        at = at.get(step) or "" if isinstance(at, Mapping) else ""
    return at


def _group(group: str, found: list[FieldError]) -> None:
    if not group:
        found.append(errors.required("spec.group"))
        return
    wrong = names.dns1123_subdomain_errors(group)
    if wrong:
        found.append(errors.invalid_value("spec.group", group, ",".join(wrong)))
    elif "." not in group:
        text = "should be a domain with at least one dot"
        found.append(errors.invalid_value("spec.group", group, text))


def _versions(versions: Sequence[Mapping[str, Any]], found: list[FieldError]) -> None:
    seen: set[str] = set()
    unique = True
    for index, version in enumerate(versions):
        name, path = version.get("name") or "", f"spec.versions[{index}]"
        unique = unique and name not in seen
        seen.add(name)
        wrong = names.dns1035_label_errors(name)
        if wrong:
            found.append(errors.invalid_value(f"{path}.name", name, ",".join(wrong)))
        if (version.get("schema") or {}).get("openAPIV3Schema") is None:
            at = f"{path}.schema.openAPIV3Schema"
            found.append(errors.required(at, "schemas are required"))
    shown = errors.GoText("[]apiextensions.CustomResourceDefinitionVersion{...}")
    if not unique:
        text = "must contain unique version names"
        found.append(errors.invalid_value("spec.versions", shown, text))
    if sum(1 for version in versions if version.get("storage")) != 1:
        text = "must have exactly one version marked as storage version"
        found.append(errors.invalid_value("spec.versions", shown, text))


def _names(called: Mapping[str, Any], found: list[FieldError]) -> None:
    path = "spec.names"
    for field in ("plural", "singular", "kind", "listKind"):
        value = called.get(field) or ""
        if not value:
            found.append(errors.required(f"{path}.{field}"))
            continue
        wrong = names.dns1035_label_errors(value.lower())
        if field in ("plural", "singular"):
            wrong = names.dns1035_label_errors(value)
        if wrong:
            if field in ("kind", "listKind"):
                wrong = [f"may have mixed case, but should otherwise match: {','.join(wrong)}"]
            found.append(errors.invalid_value(f"{path}.{field}", value, ",".join(wrong)))
    if called.get("kind") and called.get("kind") == called.get("listKind"):
        text = "kind and listKind may not be the same"
        found.append(errors.invalid_value(f"{path}.listKind", called["listKind"], text))
    for field in ("shortNames", "categories"):
        for index, value in enumerate(called.get(field) or ()):
            wrong = names.dns1035_label_errors(value)
            if wrong:
                at = f"{path}.{field}[{index}]"
                found.append(errors.invalid_value(at, value, ",".join(wrong)))


def _approval(obj: Object, group: str, found: list[FieldError]) -> None:
    """Groups of the community need a link to their review."""
    if not (group.endswith((".k8s.io", ".kubernetes.io")) or group in ("k8s.io",)):
        return
    if not (obj["metadata"].get("annotations") or {}).get(_APPROVAL):
        text = (
            "protected groups must have approval annotation "
            f'"{_APPROVAL}", see https://github.com/kubernetes/enhancements/pull/1111'
        )
        found.append(errors.required(f"metadata.annotations[{_APPROVAL}]", text))
