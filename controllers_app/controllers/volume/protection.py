"""The two protection controllers: a claim or volume in use is not let go before its user.

Admission puts a finalizer on each; once it is being deleted and nobody uses it any more, these take
the finalizer off.

Models kubernetes pkg/controller/volume/pvcprotection and pvprotection.
"""

from __future__ import annotations

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from controllers_app.runtime import persistentvolumes
from controllers_app.runtime.controller import Controller, Result
from controllers_app.runtime.persistentvolumes import CLAIMS, VOLUMES
from controllers_app.runtime.watches import ADDED, DELETED, UPDATED, For, Watches

CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"


class ClaimProtectionController(Controller):
    """Reconciles claims that are being deleted."""

    source = "pkg/controller/volume/pvcprotection/pvc_protection_controller.go processPVC"
    watches = (
        For(CLAIMS, on=ADDED | UPDATED, when=meta.is_deleting),
        Watches(
            "pods",
            on=DELETED,
            index=persistentvolumes.BY_CLAIM,
            keys=lambda self, pod: persistentvolumes.claims_of_pod(pod),
        ),
    )

    async def reconcile(self, key: str) -> Result | None:
        claim = self.caches[CLAIMS].get(key)
        if claim is None or not meta.is_deleting(claim):
            return Result("is gone, or not being deleted")
        users = [
            name
            for name, pod in sorted(self.caches["pods"].by("claim", key).items())
            if pod["spec"].get("nodeName")
        ]
        if users:
            return Result(f"is used by {', '.join(users)}: keeps it")
        left = _without(claim, CLAIM_FINALIZER)
        if left is None:
            return Result("is not protected")
        namespace, name = meta.split_key(key)
        await self.client.update(CLAIMS, namespace, name, left)
        return Result("is not used: lets it go")


class VolumeProtectionController(Controller):
    """Reconciles volumes that are being deleted."""

    source = "pkg/controller/volume/pvprotection/pv_protection_controller.go processPV"
    watches = (For(VOLUMES, on=ADDED | UPDATED, when=meta.is_deleting),)

    async def reconcile(self, key: str) -> Result | None:
        volume = self.caches[VOLUMES].get(key)
        if volume is None or not meta.is_deleting(volume):
            return Result("is gone, or not being deleted")
        if (volume.get("status") or {}).get("phase") == "Bound":
            return Result("is bound: keeps it")
        left = _without(volume, VOLUME_FINALIZER)
        if left is None:
            return Result("is not protected")
        await self.client.update(VOLUMES, "", key, left)
        return Result("is not bound: lets it go")


def _without(obj: Object, finalizer: str) -> Object | None:
    """The object without that finalizer; None when it has none of it."""
    known = obj["metadata"].get("finalizers") or []
    if finalizer not in known:
        return None
    left = [item for item in known if item != finalizer]
    return meta.with_path(obj, ("metadata", "finalizers"), left)
