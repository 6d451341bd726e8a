"""With whom the claims of a stateful set go: by its persistentVolumeClaimRetentionPolicy.

`whenDeleted: Delete` makes the set the owner of its claims, `whenScaled: Delete` a pod beyond its
replicas the owner of its own. The garbage collector does the rest. Pure.

Models kubernetes pkg/controller/statefulset/stateful_set_utils.go (updateClaimOwnerRefForSetAndPod,
hasUnexpectedController, hasStaleOwnerRef).
"""

from __future__ import annotations

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.workload import ownership


def owners(claim: Object, owner: Object, pod: Object, *, is_condemned: bool) -> list[Object]:
    """The owner references that the claim of a pod should have."""
    found = owners_of(claim)
    others = [ref for ref in found if not _names(ref, owner) and not _names(ref, pod)]
    if any(ref.get("controller") for ref in others):
        return found
    policy = owner["spec"].get("persistentVolumeClaimRetentionPolicy") or {}
    if is_condemned and policy.get("whenScaled") == "Delete":
        return [*others, ownership.controller_reference(pod)]
    if policy.get("whenDeleted") == "Delete":
        return [*others, ownership.controller_reference(owner)]
    return others


def is_stale(claim: Object, pod: str) -> bool:
    """Whether a claim goes with a former pod of the name, so that a new one must not use it."""
    refs = owners_of(claim)
    return any((ref["kind"], ref["name"]) == ("Pod", pod) for ref in refs)


def _names(ref: Object, obj: Object) -> bool:
    wanted = (obj["apiVersion"], obj["kind"], meta.name_of(obj))
    return (ref["apiVersion"], ref["kind"], ref["name"]) == wanted


def owners_of(obj: Object) -> list[Object]:
    return obj["metadata"].get("ownerReferences") or []
