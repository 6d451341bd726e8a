"""OwnerReferencesPermissionEnforcement: setting an owner requires permission to delete the object,
and blocking the owner's deletion permission to set the owner's finalizers.

Models kubernetes plugin/pkg/admission/gc/gc_admission.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver_app import authprotocols as auth
from apiserver_app.admission.plugin import (
    CONSISTENCY,
    SKIP,
    Attributes,
    Given,
    Plugin,
    Verdict,
    forbidden,
)
from apiserver_app.machinery.meta import Object


class OwnerReferencesPermissionEnforcement(Plugin):
    name = "OwnerReferencesPermissionEnforcement"
    concern = CONSISTENCY
    validates = True
    source = "plugin/pkg/admission/gc/gc_admission.go"

    def __init__(self, given: Given) -> None:
        self._resource_of = given.resource_of

    @classmethod
    def make(cls, given: Given) -> Plugin:
        return cls(given)

    async def validate(self, attributes: Attributes) -> Verdict:
        if attributes.obj is None:
            return SKIP
        if attributes.info.key == "pods" and attributes.subresource == "status":
            return SKIP  # its strategy does not change owners
        new, old = _owners(attributes.obj), _owners(attributes.old)
        if new == old:
            return Verdict("allow", "owners stay as they are")
        where = (attributes.subresource, attributes.namespace, attributes.name)
        deletion = auth.Attributes(attributes.user, "delete", "", *attributes.info.gvr, *where)
        decision = await attributes.authorization.authorize(deletion)
        if not decision.allowed:
            raise forbidden(
                attributes,
                f"cannot set an ownerRef on a resource you can't delete: {decision.reason}, <nil>",
            )
        for owner in _newly_blocking(new, old):
            await self._check_blocking(attributes, owner)
        return Verdict("allow", "may delete the object and hold up its owners")

    async def _check_blocking(self, attributes: Attributes, owner: Object) -> None:
        version, kind = str(owner.get("apiVersion", "")), str(owner.get("kind", ""))
        info = self._resource_of(version, kind)
        if info is None:
            group, _, number = version.rpartition("/")
            raise forbidden(
                attributes,
                "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for "
                f'APIVersion {version} Kind {kind}: no matches for kind "{kind}" in version '
                f'"{f"{group}/" if group else ""}{number}"',
            )
        namespace = attributes.namespace if info.namespaced else ""
        where = ("finalizers", namespace, str(owner.get("name", "")))
        update = auth.Attributes(attributes.user, "update", "", *info.gvr, *where)
        decision = await attributes.authorization.authorize(update)
        if not decision.allowed:
            raise forbidden(
                attributes,
                "cannot set blockOwnerDeletion if an ownerReference refers to a resource you "
                f"can't set finalizers on: {decision.reason}, <nil>",
            )


def _owners(obj: Object | None) -> list[Object]:
    return list((obj or {}).get("metadata", {}).get("ownerReferences") or ())


def _newly_blocking(new: Sequence[Object], old: Sequence[Object]) -> list[Object]:
    before = {owner.get("uid") for owner in old if owner.get("blockOwnerDeletion")}
    return [
        owner for owner in new if owner.get("blockOwnerDeletion") and owner.get("uid") not in before
    ]
