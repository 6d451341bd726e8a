"""How pods, claims and volumes refer to each other, and which volume suits a claim. Pure.

Shared by the volume binder and by the scheduler, which chooses volumes for claims that wait
for their first consumer.

Models kubernetes pkg/controller/volume/persistentvolume/util/util.go.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from apiserver_app.machinery import meta
from apiserver_app.machinery.kinds.defaultclass import storage_class_of
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import labels, quantity
from controllers_app.runtime import events

CLAIMS = "persistentvolumeclaims"
VOLUMES = "persistentvolumes"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
NO_PROVISIONER = "kubernetes.io/no-provisioner"

_NONE: tuple[str, ...] = ()


def claims_of_pod(pod: Object) -> tuple[str, ...]:
    """Keys of the claims a pod mounts, including those of its ephemeral volumes."""
    volumes = pod["spec"].get("volumes")
    if not volumes:
        return _NONE
    names = [
        volume["persistentVolumeClaim"]["claimName"]
        if "persistentVolumeClaim" in volume
        else f"{meta.name_of(pod)}-{volume['name']}"
        for volume in volumes
        if "persistentVolumeClaim" in volume or "ephemeral" in volume
    ]
    if not names:
        return _NONE
    namespace = meta.namespace_of(pod)
    return tuple(f"{namespace}/{name}" for name in names)


# pods by the claims they mount
BY_CLAIM = ("claim", claims_of_pod)


def is_bound(claim: Object) -> bool:
    """Whether the claim is completely bound to a volume."""
    return bool(claim["spec"].get("volumeName")) and BIND_COMPLETED in meta.annotations_of(claim)


def waits_for_consumer(storage_class: Object | None) -> bool:
    """Whether claims of the class are bound only when a pod uses them."""
    if storage_class is None:
        return False
    return bool(storage_class.get("volumeBindingMode") == "WaitForFirstConsumer")


def requested_storage(claim: Object) -> str:
    return str(claim["spec"]["resources"]["requests"]["storage"])


def is_for(volume: Object, claim: Object) -> bool:
    """Whether the volume is bound to the claim or pre-bound to it by name."""
    reference = volume["spec"].get("claimRef")
    if reference is None:
        return False
    if reference.get("name") != meta.name_of(claim):
        return False
    if reference.get("namespace") != meta.namespace_of(claim):
        return False
    return reference.get("uid") in (None, "", meta.uid_of(claim))


def bound(volume: Object, claim: Object) -> Object:
    """Returns the volume bound to the claim; the same object if it is bound already."""
    reference = volume["spec"].get("claimRef") or {}
    if is_for(volume, claim) and reference.get("uid"):
        return volume
    changed = meta.with_path(volume, ("spec", "claimRef"), events.reference(claim))
    if is_for(volume, claim):  # the user pre-bound it
        return changed
    return meta.with_path(changed, ("metadata", "annotations", BOUND_BY_CONTROLLER), "yes")


def best_match(
    claim: Object,
    volumes: Iterable[Object],
    *,
    reserved_only: bool = False,
    reachable: Callable[[Object], bool] | None = None,
) -> Object | None:
    """Returns the volume pre-bound to the claim, else the smallest suitable free one.

    `reachable` tells whether a node can use a volume; if the pre-bound one is unreachable, nothing
    matches. `reserved_only` skips free volumes.
    """
    spec = claim["spec"]
    selector = labels.from_label_selector(spec["selector"]) if spec.get("selector") else None
    requested = quantity.parse(requested_storage(claim))
    matches: list[tuple[quantity.Quantity, str, Object]] = []
    for volume in volumes:
        offered = volume["spec"]
        if meta.is_deleting(volume) or _mode(offered) != _mode(spec):
            continue
        reserved = is_for(volume, claim)
        if not reserved and offered.get("claimRef") is not None:
            continue
        size = quantity.parse(offered["capacity"]["storage"])
        if size < requested:
            continue
        if reserved:
            return volume if reachable is None or reachable(volume) else None
        if reserved_only or (volume.get("status") or {}).get("phase") != "Available":
            continue
        if selector is not None and not selector.matches(meta.labels_of(volume)):
            continue
        if storage_class_of(volume) != storage_class_of(claim):
            continue
        if not set(spec["accessModes"]) <= set(offered["accessModes"]):
            continue
        if reachable is None or reachable(volume):
            matches.append((size, meta.name_of(volume), volume))
    return min(matches, key=lambda item: item[:2])[2] if matches else None


def mismatch(volume: Object, claim: Object) -> str:
    """Why a claim cannot be bound to the volume it names; empty when it can."""
    spec, offered = claim["spec"], volume["spec"]
    if meta.is_deleting(volume):
        return f'the volume is marked for deletion "{meta.name_of(volume)}"'
    if quantity.parse(offered["capacity"]["storage"]) < quantity.parse(requested_storage(claim)):
        return "requested PV is too small"
    if storage_class_of(volume) != storage_class_of(claim):
        return "storageClassName does not match"
    if _mode(offered) != _mode(spec):
        return "incompatible volumeMode"
    if not set(spec["accessModes"]) <= set(offered["accessModes"]):
        return "incompatible accessMode"
    return ""


def _mode(spec: Object) -> str:
    return spec.get("volumeMode") or "Filesystem"
