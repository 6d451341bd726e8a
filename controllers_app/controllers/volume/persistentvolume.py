"""The persistent volume binder: finds each claim a volume, and looks after volumes let go of.

A claim takes the smallest free volume that suits it. If there is none and its storage class has a
provisioner, a volume is made for it. For a claim whose class waits for the first consumer the
scheduler decides: it reserves a volume, or names the node for which one is to be made. Simplified:
the provisioner, in a real cluster a pod of its own, is played here and takes one second.

Models kubernetes pkg/controller/volume/persistentvolume/pv_controller.go, and of provisioners
rancher/local-path-provisioner, whose volumes can be reached from one node only.
"""

from __future__ import annotations

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.kinds import defaultclass
from apiserver_app.machinery.kinds.defaultclass import STORAGE_CLASSES
from apiserver_app.machinery.meta import Object
from controllers_app.runtime import events, persistentvolumes
from controllers_app.runtime.controller import Context, Controller, Result
from controllers_app.runtime.persistentvolumes import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    CLAIMS,
    NO_PROVISIONER,
    SELECTED_NODE,
    VOLUMES,
)
from controllers_app.runtime.watches import ADDED, DELETED, UPDATED, For, Reads, Watches

PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
PROVISIONER = "volume.kubernetes.io/storage-provisioner"
PROVISIONER_BETA = "volume.beta.kubernetes.io/storage-provisioner"
PROVISION_SECONDS = 1.0
RESYNC_SECONDS = 15  # --pvclaimbinder-sync-period
LOCAL_PATH = "rancher.io/local-path"


class VolumeBinderController(Controller):
    """Reconciles claims (`namespace/name`) and volumes (`name`)."""

    source = "pkg/controller/volume/persistentvolume/pv_controller.go syncClaim"
    watches = (
        For(CLAIMS, on=ADDED | UPDATED, changed=lambda old, claim: not _asks(old, claim)),
        # our own question to the provisioner: the answer takes its time
        For(
            CLAIMS,
            on=UPDATED,
            changed=lambda old, claim: _asks(old, claim),
            after=PROVISION_SECONDS,
        ),
        Watches(CLAIMS, on=DELETED, keys=lambda self, claim: _volume_of(claim)),
        For(VOLUMES, on=ADDED | UPDATED),
        # a volume that has become free may suit any claim that waits, a new class may make one
        Watches(
            VOLUMES,
            on=UPDATED,
            changed=lambda old, volume: _phase(volume) == "Available" != _phase(old),
            keys=lambda self, volume: self._unbound(),
        ),
        Watches(VOLUMES, on=DELETED, keys=lambda self, volume: _claim_of(volume)),
        Watches(
            STORAGE_CLASSES, on=ADDED | UPDATED, keys=lambda self, storage_class: self._unbound()
        ),
        Reads("pods", index=persistentvolumes.BY_CLAIM),
    )

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._is_retroactive = ctx.version.has("RetroactiveDefaultStorageClass")
        self._claims, self._volumes = self.caches[CLAIMS], self.caches[VOLUMES]
        self._classes, self._pods = self.caches[STORAGE_CLASSES], self.caches["pods"]
        self._started = self.kernel.now

    async def reconcile(self, key: str) -> Result | None:
        if "/" not in key:
            volume = self._volumes.get(key)
            return Result("is gone") if volume is None else await self._sync_volume(volume)
        claim = self._claims.get(key)
        if claim is None or meta.is_deleting(claim):
            return Result("is gone or going")
        if BIND_COMPLETED in meta.annotations_of(claim):
            return await self._sync_bound(claim)
        return await self._sync_unbound(claim)

    # -- claims ---------------------------------------------------------------------------------

    async def _sync_bound(self, claim: Object) -> Result:
        name = claim["spec"].get("volumeName") or ""
        volume = self._volumes.get(name)
        if volume is None:
            what = "its PersistentVolume" if name else "reference to PersistentVolume"
            message = f"Bound claim has lost {what}. Data on the volume is lost!"
            return await self._lose(claim, "ClaimLost", message)
        if volume["spec"].get("claimRef") is not None and not persistentvolumes.is_for(
            volume, claim
        ):
            message = "Two claims are bound to the same volume, this one is bound incorrectly"
            return await self._lose(claim, "ClaimMisbound", message)
        return await self._bind(claim, volume)

    async def _lose(self, claim: Object, reason: str, message: str) -> Result:
        if await self._write_phase(CLAIMS, claim, {**claim["status"], "phase": "Lost"}):
            self.recorder.event(claim, "Warning", reason, message)
        return Result("has lost its volume")

    async def _sync_unbound(self, claim: Object) -> Result:
        name = claim["spec"].get("volumeName")
        if name:
            return await self._sync_asked(claim, name)
        waits = persistentvolumes.waits_for_consumer(
            self._classes.get(defaultclass.storage_class_of(claim))
        )
        volume = persistentvolumes.best_match(claim, self._volumes.list(), reserved_only=waits)
        if volume is not None:
            return await self._bind(claim, volume)
        default = self._default_of(claim)
        if default:
            path = ("spec", "storageClassName")
            await self.client.update(
                CLAIMS,
                meta.namespace_of(claim),
                meta.name_of(claim),
                meta.with_path(claim, path, default),
            )
            return Result(f"named no class when there was no default: gets {default}")
        await self._pend(claim)
        if waits and SELECTED_NODE not in meta.annotations_of(claim):
            return self._wait_for_consumer(claim)
        return await self._provision(claim)

    async def _sync_asked(self, claim: Object, name: str) -> Result:
        """A claim that asks for one volume by name."""
        volume = self._volumes.get(name)
        if volume is not None and persistentvolumes.is_for(volume, claim):
            return await self._bind(claim, volume)
        reason, why = "", f"waits for volume {name}"
        if volume is not None and volume["spec"].get("claimRef") is not None:
            reason, why = "FailedBinding", f'volume "{name}" already bound to a different claim.'
        elif volume is not None:
            wrong = persistentvolumes.mismatch(volume, claim)
            if not wrong:
                return await self._bind(claim, volume)
            reason, why = "VolumeMismatch", f'Cannot bind to requested volume "{name}": {wrong}'
        if reason:
            self.recorder.event(claim, "Warning", reason, why)
        await self._pend(claim)
        return self._until_resync(why)

    def _default_of(self, claim: Object) -> str:
        """The default class that there is now, for a claim that named none before."""
        if claim["spec"].get("storageClassName") is not None or not self._is_retroactive:
            return ""
        if defaultclass.STORAGE_CLASS_ANNOTATION in meta.annotations_of(claim):
            return ""
        return defaultclass.newest_default(
            self._classes.list(), defaultclass.DEFAULT_STORAGE_CLASS_ANNOTATIONS
        )

    def _wait_for_consumer(self, claim: Object) -> Result:
        users = self._pods.by("claim", meta.key_of(claim)).values()
        names = sorted(meta.name_of(pod) for pod in users if _is_to_be_scheduled(pod))
        reason, message = "WaitForFirstConsumer", _WAITING
        if names:
            reason = "WaitForPodScheduled"
            pods = "pod" if len(names) == 1 else "pods"
            message = f"waiting for {pods} {','.join(names)} to be scheduled"
        self.recorder.event(claim, "Normal", reason, message)
        return self._until_resync(message)

    def _until_resync(self, summary: str) -> Result:
        """Until all claims are looked at again: then it says so once more."""
        period = RESYNC_SECONDS * SECOND
        left = period - (self.kernel.now - self._started) % period
        return Result(summary, left / SECOND, background=True)

    async def _pend(self, claim: Object) -> None:
        await self._write_phase(CLAIMS, claim, {**(claim.get("status") or {}), "phase": "Pending"})

    async def _provision(self, claim: Object) -> Result:
        name = defaultclass.storage_class_of(claim)
        storage_class = self._classes.get(name) if name else None
        if not name:
            self.recorder.event(
                claim,
                "Normal",
                "FailedBinding",
                "no persistent volumes available for this claim and no storage class is set",
            )
            return self._until_resync("finds no volume and has no storage class")
        if storage_class is None:
            message = f'storageclass.storage.k8s.io "{name}" not found'
            self.recorder.event(claim, "Warning", "ProvisioningFailed", message)
            return self._until_resync(message)
        provisioner = storage_class["provisioner"]
        if provisioner == NO_PROVISIONER:
            message = f"no volume plugin matched name: {provisioner}"
            self.recorder.event(claim, "Warning", "ProvisioningFailed", message)
            return self._until_resync("finds no volume, and its class makes none")
        if meta.annotations_of(claim).get(PROVISIONER) != provisioner:
            changed = claim
            for name in (PROVISIONER_BETA, PROVISIONER):
                path = ("metadata", "annotations", name)
                changed = meta.with_path(changed, path, provisioner)
            await self.client.update(CLAIMS, meta.namespace_of(claim), meta.name_of(claim), changed)
            self.recorder.event(
                claim,
                "Normal",
                "ExternalProvisioning",
                "Waiting for a volume to be created either by the external provisioner "
                f"'{provisioner}' or manually by the system administrator. If volume creation is "
                "delayed, please verify that the provisioner is running and correctly registered.",
            )
            return Result(f"asks {provisioner} for a volume", PROVISION_SECONDS)
        return await self._make_volume(claim, storage_class)

    async def _make_volume(self, claim: Object, storage_class: Object) -> Result:
        """What the provisioner does, one second after it was asked."""
        name = f"pvc-{meta.uid_of(claim)}"
        message = f'External provisioner is provisioning volume for claim "{meta.key_of(claim)}"'
        self.recorder.event(claim, "Normal", "Provisioning", message)
        spec = claim["spec"]
        body = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {
                "name": name,
                "annotations": {PROVISIONED_BY: storage_class["provisioner"]},
            },
            "spec": {
                "capacity": {"storage": persistentvolumes.requested_storage(claim)},
                "accessModes": spec["accessModes"],
                "claimRef": events.reference(claim),
                "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
                "storageClassName": meta.name_of(storage_class),
                "volumeMode": spec.get("volumeMode", "Filesystem"),
                **_place(claim, storage_class["provisioner"], name),
            },
        }
        with errors.ignoring("AlreadyExists"):
            await self.client.create(VOLUMES, "", body)
        self.recorder.event(
            claim, "Normal", "ProvisioningSucceeded", f"Successfully provisioned volume {name}"
        )
        return Result(f"makes volume {name}")

    async def _bind(self, claim: Object, volume: Object) -> Result:
        """Point each at the other, and say so in both; each write only if it is still to do."""
        name = meta.name_of(volume)
        mine = persistentvolumes.bound(volume, claim)
        if mine is not volume:
            volume = await self.client.update(VOLUMES, "", name, mine)
        await self._write_phase(VOLUMES, volume, {**volume["status"], "phase": "Bound"})
        if claim["spec"].get("volumeName") != name or BIND_COMPLETED not in meta.annotations_of(
            claim
        ):
            changed = claim
            if claim["spec"].get("volumeName") != name:
                changed = meta.with_path(changed, ("spec", "volumeName"), name)
                path = ("metadata", "annotations", BOUND_BY_CONTROLLER)
                changed = meta.with_path(changed, path, "yes")
            path = ("metadata", "annotations", BIND_COMPLETED)
            changed = meta.with_path(changed, path, "yes")
            claim = await self.client.update(
                CLAIMS, meta.namespace_of(claim), meta.name_of(claim), changed
            )
        status = {
            **(claim.get("status") or {}),
            "phase": "Bound",
            "accessModes": volume["spec"]["accessModes"],
            "capacity": volume["spec"]["capacity"],
        }
        await self._write_phase(CLAIMS, claim, status)
        return Result(f"is bound to {name}")

    # -- volumes --------------------------------------------------------------------------------

    async def _sync_volume(self, volume: Object) -> Result:
        reference = volume["spec"].get("claimRef")
        phase = (volume.get("status") or {}).get("phase")
        if reference is None:
            await self._write_phase(VOLUMES, volume, {**volume["status"], "phase": "Available"})
            return Result("is available")
        key = _claimed(reference)
        claim = self._claims.get(key)
        if claim is not None and reference.get("uid") in ("", None, meta.uid_of(claim)):
            if phase != "Bound":
                self.queue.add(key)
            return Result(f"belongs to claim {key}")
        if not reference.get("uid"):
            await self._write_phase(VOLUMES, volume, {**volume["status"], "phase": "Available"})
            return Result(f"waits for claim {key}")
        if claim is not None or phase not in ("Released", "Failed"):
            # the cache may be behind whoever has bound it
            live = await self.live(CLAIMS, reference["namespace"], reference["name"])
            if live is not None and meta.uid_of(live) == reference["uid"]:
                return Result(f"belongs to claim {key}, which the cache will show")
        await self._write_phase(VOLUMES, volume, {**volume["status"], "phase": "Released"})
        if volume["spec"].get("persistentVolumeReclaimPolicy") != "Delete":
            return Result("its claim is gone: keeps it")
        if not meta.is_deleting(volume):
            await self.client.delete(VOLUMES, "", meta.name_of(volume))
        return Result("its claim is gone: deletes it")

    async def _write_phase(self, resource: str, obj: Object, status: Object) -> bool:
        if status == obj.get("status"):
            return False
        await self.client.update(
            resource,
            meta.namespace_of(obj),
            meta.name_of(obj),
            {**obj, "status": status},
            subresource="status",
        )
        return True

    # -- keys -----------------------------------------------------------------------------------

    def _unbound(self) -> list[str]:
        """All claims that wait for a volume."""
        return [
            meta.key_of(claim)
            for claim in self._claims.list()
            if BIND_COMPLETED not in meta.annotations_of(claim)
        ]


_WAITING = "waiting for first consumer to be created before binding"


def _is_to_be_scheduled(pod: Object) -> bool:
    finished = (pod.get("status") or {}).get("phase") in ("Succeeded", "Failed")
    return not pod["spec"].get("nodeName") and not finished


def _place(claim: Object, provisioner: str, name: str) -> Object:
    """Where a new volume is, and from where it can be reached."""
    if provisioner != LOCAL_PATH:
        return {"hostPath": {"path": f"/var/local/{name}", "type": "DirectoryOrCreate"}}
    folder = f"{name}_{meta.namespace_of(claim)}_{meta.name_of(claim)}"
    path = f"/opt/local-path-provisioner/{folder}"
    place: Object = {"hostPath": {"path": path, "type": "DirectoryOrCreate"}}
    node = meta.annotations_of(claim).get(SELECTED_NODE)
    if node:
        here = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
        place["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [here]}]}}
    return place


def _asks(old: Object, claim: Object) -> bool:
    """The claim begins to ask a provisioner for a volume."""
    annotated = meta.annotations_of(claim).get(PROVISIONER)
    return bool(annotated) and annotated != meta.annotations_of(old).get(PROVISIONER)


def _phase(obj: Object) -> str:
    return (obj.get("status") or {}).get("phase") or ""


def _volume_of(claim: Object) -> tuple[str, ...]:
    name = claim["spec"].get("volumeName")
    return (name,) if name else ()


def _claim_of(volume: Object) -> tuple[str, ...]:
    reference = volume["spec"].get("claimRef")
    return () if reference is None else (_claimed(reference),)


def _claimed(reference: Object) -> str:
    """The key of the claim that a volume names; of half a name nothing is found."""
    return f"{reference.get('namespace', '')}/{reference.get('name', '')}"
