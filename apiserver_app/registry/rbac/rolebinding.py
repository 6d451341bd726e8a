"""RoleBindings and ClusterRoleBindings: who gets a role; which role never changes.

Models kubernetes pkg/apis/rbac/v1/defaults.go and pkg/apis/rbac/validation/validation.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import names
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks, objectmeta

GROUP = "rbac.authorization.k8s.io"


class RoleBindingStrategy(Strategy):
    """Both kinds: a cluster-wide binding names cluster roles only."""

    name_rule = staticmethod(objectmeta.path_segment)
    create_on_update = True

    def default(self, obj: Object) -> None:
        role: dict[str, Any] = obj.get("roleRef") or {}
        obj["roleRef"] = role
        if not role.get("apiGroup"):
            role["apiGroup"] = GROUP
            gofields.arrange(role, "rbac.v1.RoleRef")
        for subject in obj.get("subjects") or ():
            if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
                subject["apiGroup"] = GROUP
                gofields.arrange(subject, "rbac.v1.Subject")

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        role = obj["roleRef"]
        if role.get("apiGroup") != GROUP:
            value = role.get("apiGroup") or ""
            errs.append(errors.not_supported("roleRef.apiGroup", value, (GROUP,)))
        kinds = ("Role", "ClusterRole") if self.info.namespaced else ("ClusterRole",)
        kind = role.get("kind") or ""
        if kind not in kinds:
            errs.append(errors.not_supported("roleRef.kind", kind, kinds))
        name = role.get("name") or ""
        if not name:
            errs.append(errors.required("roleRef.name"))
        else:
            for text in objectmeta.path_segment(name, False):
                errs.append(errors.invalid_value("roleRef.name", name, text))
        for index, subject in enumerate(obj.get("subjects") or ()):
            _subject(subject, self.info.namespaced, f"subjects[{index}]", errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        role = obj["roleRef"]
        if role != old.get("roleRef"):
            parts = ", ".join(
                f"{title}:{errors.go_value(role.get(field) or '')}"
                for title, field in (("APIGroup", "apiGroup"), ("Kind", "kind"), ("Name", "name"))
            )
            printed = errors.GoText(f"rbac.RoleRef{{{parts}}}")
            errs.append(errors.invalid_value("roleRef", printed, "cannot change roleRef"))
        return errs


def _subject(
    subject: Mapping[str, Any], namespaced: bool, path: str, errs: list[FieldError]
) -> None:
    kind, name = subject.get("kind") or "", subject.get("name") or ""
    group = subject.get("apiGroup") or ""
    if not name:
        errs.append(errors.required(f"{path}.name"))
    if kind == "ServiceAccount":
        if name:
            checks.named(name, f"{path}.name", names.dns1123_subdomain_errors, errs)
        if group:
            errs.append(errors.not_supported(f"{path}.apiGroup", group, ("",)))
        if not namespaced and not subject.get("namespace"):
            errs.append(errors.required(f"{path}.namespace"))
    elif kind in ("User", "Group"):
        if group != GROUP:
            errs.append(errors.not_supported(f"{path}.apiGroup", group, (GROUP,)))
    else:
        kinds = ("ServiceAccount", "User", "Group")
        errs.append(errors.not_supported(f"{path}.kind", kind, kinds))
