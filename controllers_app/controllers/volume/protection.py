"""The two protection controllers: a claim or volume in use is not let go before its user.

Admission puts a finalizer on each; once it is being deleted and nobody uses it any more, these take
the finalizer off.

Models kubernetes pkg/controller/volume/pvcprotection and pvprotection.
"""

from __future__ import annotations

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from controllers_app.runtime import persistentvolumes
from controllers_app.runtime.controller import Context, Controller, Result

CLAIM_FINALIZER = "kubernetes.io/pvc-protection"
VOLUME_FINALIZER = "kubernetes.io/pv-protection"


class ClaimProtectionController(Controller):
    """Reconciles claims that are being deleted."""

    resource = persistentvolumes.CLAIMS
    source = "pkg/controller/volume/pvcprotection/pvc_protection_controller.go processPVC"

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._claims = ctx.informers.informer(persistentvolumes.CLAIMS)
        self._pods = ctx.informers.informer("pods").index("claim", persistentvolumes.of_pod)
        self._claims.handle(self._changed, self._updated)
        self._pods.handle(on_delete=self._pod_gone)

    async def reconcile(self, key: str) -> Result | None:
        claim = self._claims.get(key)
        if claim is None or not meta.is_deleting(claim):
            return Result("is gone, or not being deleted")
        users = [
            name for name, pod in sorted(self._pods.by("claim", key).items())
            if pod["spec"].get("nodeName")
        ]  # fmt: skip
        if users:
            return Result(f"is used by {', '.join(users)}: keeps it")
        left = _without(claim, CLAIM_FINALIZER)
        if left is None:
            return Result("is not protected")
        namespace, name = meta.split_key(key)
        await self.client.update(persistentvolumes.CLAIMS, namespace, name, left)
        return Result("is not used: lets it go")

    def _changed(self, claim: Object, revision: int) -> None:
        if meta.is_deleting(claim):
            self.queue.add(meta.key_of(claim), revision)

    def _updated(self, _old: Object, claim: Object, revision: int) -> None:
        self._changed(claim, revision)

    def _pod_gone(self, pod: Object, revision: int) -> None:
        for key in persistentvolumes.of_pod(pod):
            self.queue.add(key, revision)


class VolumeProtectionController(Controller):
    """Reconciles volumes that are being deleted."""

    resource = persistentvolumes.VOLUMES
    source = "pkg/controller/volume/pvprotection/pv_protection_controller.go processPV"

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._volumes = ctx.informers.informer(persistentvolumes.VOLUMES)
        self._volumes.handle(self._changed, self._updated)

    async def reconcile(self, key: str) -> Result | None:
        volume = self._volumes.get(key)
        if volume is None or not meta.is_deleting(volume):
            return Result("is gone, or not being deleted")
        if (volume.get("status") or {}).get("phase") == "Bound":
            return Result("is bound: keeps it")
        left = _without(volume, VOLUME_FINALIZER)
        if left is None:
            return Result("is not protected")
        await self.client.update(persistentvolumes.VOLUMES, "", key, left)
        return Result("is not bound: lets it go")

    def _changed(self, volume: Object, revision: int) -> None:
        if meta.is_deleting(volume):
            self.queue.add(meta.name_of(volume), revision)

    def _updated(self, _old: Object, volume: Object, revision: int) -> None:
        self._changed(volume, revision)


def _without(obj: Object, finalizer: str) -> Object | None:
    """The object without that finalizer; None when it has none of it."""
    known = obj["metadata"].get("finalizers") or []
    if finalizer not in known:
        return None
    left = [item for item in known if item != finalizer]
    return meta.with_path(obj, ("metadata", "finalizers"), left)
