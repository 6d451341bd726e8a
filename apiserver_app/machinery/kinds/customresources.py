"""The resources that a CustomResourceDefinition serves: versions, names, conditions.

Pure functions of the definition's object, shared by the API server and by the controllers that
follow definitions.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apihelpers/helpers.go,
pkg/apiserver/customresource_discovery_controller.go and
apimachinery pkg/version/helpers.go (CompareKubeAwareVersionStrings).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from apiserver_app.machinery import conditions
from apiserver_app.machinery.meta import Object, ResourceInfo

DEFINITIONS = "customresourcedefinitions.apiextensions.k8s.io"
CLEANUP = "customresourcecleanup.apiextensions.k8s.io"
VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
VERBS_TERMINATING = ("delete", "deletecollection", "get", "list", "watch")
APPROVAL = "api-approved.kubernetes.io"
APPROVAL_URL = "https://github.com/kubernetes/enhancements/pull/1111"

_VERSION = re.compile(r"v([1-9][0-9]*)(?:(alpha|beta)([1-9][0-9]*))?")
_STAGES = {"alpha": 0, "beta": 1, None: 2}


def is_true(definition: Object, kind: str) -> bool:
    return conditions.is_true(definition.get("status"), kind)


def is_served(definition: Object) -> bool:
    """Whether its resources are served."""
    return is_true(definition, "NamesAccepted") or is_true(definition, "Established")


def with_condition(definition: Object, condition: Object, now: str) -> Object:
    """A copy with the condition set; its transition time changes only with its status."""
    status = dict(definition.get("status") or {})
    old = conditions.find(status, condition["type"])
    new = {key: condition.get(key, "") for key in ("type", "status")}
    new["lastTransitionTime"] = now
    if old is not None and old.get("status") == condition["status"]:
        new["lastTransitionTime"] = old.get("lastTransitionTime")
    for key in ("reason", "message"):
        if condition.get(key):
            new[key] = condition[key]
    changed = [new if item is old else item for item in conditions.every(status)]
    if old is None:
        changed.append(new)
    return {**definition, "status": {**status, "conditions": changed}}


def versions(definition: Object) -> Sequence[Object]:
    return definition["spec"].get("versions") or ()


def storage_version(definition: Object) -> str:
    for version in versions(definition):
        if version.get("storage"):
            return str(version["name"])
    return ""


def resources(definition: Object) -> tuple[ResourceInfo, ...]:
    """The served resources, the most preferred version first; none before the names are
    accepted."""
    if not is_served(definition):
        return ()
    served = [version for version in versions(definition) if version.get("served")]
    served.sort(key=lambda version: version_rank(version["name"]), reverse=True)
    return tuple(resource(definition, version) for version in served)


def resource(definition: Object, version: Object) -> ResourceInfo:
    """One version of the definition's resource, under its accepted names."""
    spec = definition["spec"]
    names = (definition.get("status") or {}).get("acceptedNames") or {}
    group, plural = spec["group"], names.get("plural") or spec["names"]["plural"]
    kind = names.get("kind") or spec["names"]["kind"]
    sub = version.get("subresources") or {}
    return ResourceInfo(
        group=group,
        version=version["name"],
        kind=kind,
        plural=plural,
        singular=names.get("singular") or kind.lower(),
        namespaced=spec.get("scope") == "Namespaced",
        verbs=VERBS,
        short_names=tuple(names.get("shortNames") or ()),
        categories=tuple(names.get("categories") or ()),
        subresources=tuple(
            subresource for subresource in ("status", "scale") if sub.get(subresource) is not None
        ),
        storage=f"{group}/{plural}",
        definition=definition_name(group, version["name"], kind),
        list_kind=names.get("listKind") or f"{kind}List",
        stored_version=storage_version(definition),
    )


def definition_name(group: str, version: str, kind: str) -> str:
    """The name of its schema in OpenAPI documents: `com.example.stable.v1.CronTab`."""
    return ".".join((*reversed(group.split(".")), version, kind))


def version_rank(name: str) -> tuple[Any, ...]:
    """Orders versions as upstream prefers them: v10 > v2 > v1 > v2beta1 > v1alpha1 > foo."""
    match = _VERSION.fullmatch(name)
    if match is None:
        # other names come last, in the order of the alphabet
        return (0, 0, 0, 0, tuple(-ord(char) for char in name))
    major, stage, minor = match.groups()
    return (1, _STAGES[stage], int(major), int(minor or 0), ())


def is_protected_group(group: str) -> bool:
    """Whether the group is protected: *.k8s.io and *.kubernetes.io need an API approval."""
    return group in ("k8s.io", "kubernetes.io") or group.endswith((".k8s.io", ".kubernetes.io"))


def approval(definition: Object) -> tuple[str, str]:
    """(state, why) of the approval annotation: missing, invalid, bypassed or approved."""
    text = (definition["metadata"].get("annotations") or {}).get(APPROVAL) or ""
    if not text:
        return "missing", (
            f'protected groups must have approval annotation "{APPROVAL}", see {APPROVAL_URL}'
        )
    if text.startswith("unapproved"):
        return "bypassed", f'not approved: "{text}"'
    if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*://[^/]+.", text):
        return "approved", f"approved in {text}"
    return "invalid", (
        f'protected groups must have approval annotation "{APPROVAL}" with either a URL or a '
        f'reason starting with "unapproved", see {APPROVAL_URL}'
    )


def established(definitions: Iterable[Object]) -> list[ResourceInfo]:
    """One resource for each definition that discovery lists, in its preferred version."""
    infos: list[ResourceInfo] = []
    for definition in sorted(
        definitions, key=lambda definition: str(definition["metadata"]["name"])
    ):
        if is_true(definition, "Established"):
            infos += resources(definition)[:1]
    return infos
