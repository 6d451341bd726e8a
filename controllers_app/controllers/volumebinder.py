"""The persistent volume binder: finds each claim a volume, and looks after volumes let go of.

A claim takes the smallest free volume that suits it. If there is none and its storage class has a
provisioner, a volume is made for it. Simplified: the provisioner, in a real cluster a pod of its
own, is played here and takes one second; and a class that waits for the first consumer waits for a
pod that was scheduled, since the scheduler does not look at volumes.

Models kubernetes pkg/controller/volume/persistentvolume/pv_controller.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors, labels, meta, quantity
from apiserver_app.machinery.meta import Object
from controllers_app.runtime.controller import Context, Controller, Result

CLAIMS = "persistentvolumeclaims"
VOLUMES = "persistentvolumes"
CLASSES = "storageclasses.storage.k8s.io"
BOUND_BY_CONTROLLER = "pv.kubernetes.io/bound-by-controller"
BIND_COMPLETED = "pv.kubernetes.io/bind-completed"
PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"
PROVISIONER = "volume.kubernetes.io/storage-provisioner"
NO_PROVISIONER = "kubernetes.io/no-provisioner"
PROVISION_SECONDS = 1.0


class VolumeBinderController(Controller):
    """Reconciles claims (`namespace/name`) and volumes (`name`)."""

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._claims = ctx.informers.informer(CLAIMS)
        self._volumes = ctx.informers.informer(VOLUMES)
        self._classes = ctx.informers.informer(CLASSES)
        self._pods = ctx.informers.informer("pods").index("claim", by_claim)
        self._claims.handle(self._changed, self._updated, self._claim_gone)
        self._volumes.handle(self._volume_added, self._updated, self._volume_gone)
        self._pods.handle(self._pod_added, self._pod_updated)

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
        volume = self._volumes.get(claim["spec"].get("volumeName") or "")
        if volume is None:
            message = "Bound claim has lost its PersistentVolume. Data on the volume is lost!"
            if await self._write_phase(CLAIMS, claim, {**claim["status"], "phase": "Lost"}):
                self.recorder.event(claim, "Warning", "ClaimLost", message)
            return Result("has lost its volume")
        return await self._bind(claim, volume)

    async def _sync_unbound(self, claim: Object) -> Result:
        asked = claim["spec"].get("volumeName")
        volume = self._volumes.get(asked) if asked else self._best_match(claim)
        if volume is not None:
            made_for_it = _is_for(volume, claim)
            free = made_for_it or volume["spec"].get("claimRef") is None
            if free and (made_for_it or asked or not self._waits_for_consumer(claim)):
                return await self._bind(claim, volume)
        await self._write_phase(CLAIMS, claim, {**(claim.get("status") or {}), "phase": "Pending"})
        if asked:
            return Result(f"waits for volume {asked}")
        return await self._provision(claim)

    async def _provision(self, claim: Object) -> Result:
        name = claim["spec"].get("storageClassName")
        storage_class = self._classes.get(name) if name else None
        if not name:
            self.recorder.event(
                claim, "Normal", "FailedBinding",
                "no persistent volumes available for this claim and no storage class is set",
            )  # fmt: skip
            return Result("finds no volume and has no storage class")
        if storage_class is None:
            message = f'storageclass.storage.k8s.io "{name}" not found'
            self.recorder.event(claim, "Warning", "ProvisioningFailed", message)
            return Result(message)
        if self._waits_for_consumer(claim):
            message = "waiting for first consumer to be created before binding"
            self.recorder.event(claim, "Normal", "WaitForFirstConsumer", message)
            return Result(message)
        provisioner = storage_class["provisioner"]
        if provisioner == NO_PROVISIONER:
            return Result("finds no volume, and its class makes none")
        if meta.annotations_of(claim).get(PROVISIONER) != provisioner:
            path = ("metadata", "annotations", PROVISIONER)
            await self.client.update(
                CLAIMS, meta.namespace_of(claim), meta.name_of(claim),
                meta.with_path(claim, path, provisioner),
            )  # fmt: skip
            self.recorder.event(
                claim, "Normal", "ExternalProvisioning",
                "Waiting for a volume to be created either by the external provisioner "
                f"'{provisioner}' or manually by the system administrator. If volume creation is "
                "delayed, please verify that the provisioner is running and correctly registered.",
            )  # fmt: skip
            return Result(f"asks {provisioner} for a volume", PROVISION_SECONDS)
        return await self._make_volume(claim, storage_class)

    async def _make_volume(self, claim: Object, storage_class: Object) -> Result:
        """What the provisioner does, one second after it was asked."""
        name = f"pvc-{meta.uid_of(claim)}"
        spec = claim["spec"]
        body = {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {
                "name": name,
                "annotations": {PROVISIONED_BY: storage_class["provisioner"]},
            },
            "spec": {
                "capacity": {"storage": _asked(claim)},
                "accessModes": spec["accessModes"],
                "claimRef": _reference(claim),
                "persistentVolumeReclaimPolicy": storage_class.get("reclaimPolicy", "Delete"),
                "storageClassName": meta.name_of(storage_class),
                "volumeMode": spec.get("volumeMode", "Filesystem"),
                "hostPath": {"path": f"/var/local/{name}", "type": "DirectoryOrCreate"},
            },
        }
        try:
            await self.client.create(VOLUMES, "", body)
        except errors.ApiError as error:
            if error.reason != "AlreadyExists":
                raise
        self.recorder.event(
            claim, "Normal", "ProvisioningSucceeded", f"Successfully provisioned volume {name}"
        )
        return Result(f"makes volume {name}")

    async def _bind(self, claim: Object, volume: Object) -> Result:
        """Point each at the other, and say so in both; each write only if it is still to do."""
        name = meta.name_of(volume)
        if not _is_for(volume, claim):
            changed = meta.with_path(volume, ("spec", "claimRef"), _reference(claim))
            path = ("metadata", "annotations", BOUND_BY_CONTROLLER)
            volume = await self.client.update(
                VOLUMES, "", name, meta.with_path(changed, path, "yes")
            )
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

    def _best_match(self, claim: Object) -> Object | None:
        """The volume made for it, else the smallest free one that suits it."""
        spec = claim["spec"]
        selector = labels.from_label_selector(spec["selector"]) if spec.get("selector") else None
        asked = quantity.parse(_asked(claim))
        found: list[tuple[quantity.Quantity, str, Object]] = []
        for volume in self._volumes.list():
            if meta.is_deleting(volume):
                continue
            if _is_for(volume, claim):
                return volume
            offered = volume["spec"]
            size = quantity.parse(offered["capacity"]["storage"])
            if (
                offered.get("claimRef") is None
                and size >= asked
                and set(spec["accessModes"]) <= set(offered["accessModes"])
                and (offered.get("storageClassName") or "") == (spec.get("storageClassName") or "")
                and offered.get("volumeMode") == spec.get("volumeMode")
                and (selector is None or selector.matches(meta.labels_of(volume)))
            ):
                found.append((size, meta.name_of(volume), volume))
        return min(found, key=lambda item: item[:2])[2] if found else None

    def _waits_for_consumer(self, claim: Object) -> bool:
        storage_class = self._classes.get(claim["spec"].get("storageClassName") or "")
        if storage_class is None:
            return False
        if storage_class.get("volumeBindingMode") != "WaitForFirstConsumer":
            return False
        users = self._pods.by("claim", meta.key_of(claim)).values()
        return not any(pod["spec"].get("nodeName") for pod in users)

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
            resource, meta.namespace_of(obj), meta.name_of(obj), {**obj, "status": status},
            subresource="status",
        )  # fmt: skip
        return True

    # -- handlers -------------------------------------------------------------------------------

    def _changed(self, obj: Object, revision: int) -> None:
        self.queue.add(meta.key_of(obj), revision)

    def _updated(self, old: Object, obj: Object, revision: int) -> None:
        annotated = meta.annotations_of(obj).get(PROVISIONER)
        if annotated and annotated != meta.annotations_of(old).get(PROVISIONER):
            # our own question to the provisioner: the answer takes its time
            self.queue.add_after(meta.key_of(obj), PROVISION_SECONDS, revision)
            return
        self.queue.add(meta.key_of(obj), revision)

    def _claim_gone(self, claim: Object, revision: int) -> None:
        name = claim["spec"].get("volumeName")
        if name:
            self.queue.add(name, revision)

    def _volume_added(self, volume: Object, revision: int) -> None:
        """A free volume may suit any claim that waits."""
        self.queue.add(meta.name_of(volume), revision)
        for claim in self._claims.list():
            if (claim.get("status") or {}).get("phase") != "Bound":
                self.queue.add(meta.key_of(claim), revision)

    def _volume_gone(self, volume: Object, revision: int) -> None:
        reference = volume["spec"].get("claimRef")
        if reference is not None:
            self.queue.add(_claimed(reference), revision)

    def _pod_added(self, pod: Object, revision: int) -> None:
        if pod["spec"].get("nodeName"):
            for key in by_claim(pod):
                claim = self._claims.get(key)
                if claim is not None and BIND_COMPLETED not in meta.annotations_of(claim):
                    self.queue.add(key, revision)

    def _pod_updated(self, old: Object, pod: Object, revision: int) -> None:
        if old["spec"].get("nodeName") != pod["spec"].get("nodeName"):
            self._pod_added(pod, revision)


def by_claim(pod: Object) -> tuple[str, ...]:
    """Keys of the claims a pod mounts, for an index."""
    volumes = pod["spec"].get("volumes")
    if not volumes:
        return ()
    namespace = meta.namespace_of(pod)
    return tuple(
        f"{namespace}/{volume['persistentVolumeClaim']['claimName']}"
        for volume in volumes
        if "persistentVolumeClaim" in volume
    )


def _is_for(volume: Object, claim: Object) -> bool:
    reference = volume["spec"].get("claimRef")
    return (
        reference is not None
        and reference.get("name") == meta.name_of(claim)
        and reference.get("namespace") == meta.namespace_of(claim)
        and reference.get("uid") == meta.uid_of(claim)
    )


def _asked(claim: Object) -> str:
    return str(claim["spec"]["resources"]["requests"]["storage"])


def _reference(claim: Object) -> Object:
    metadata = claim["metadata"]
    return {
        "kind": "PersistentVolumeClaim",
        "namespace": metadata["namespace"],
        "name": metadata["name"],
        "uid": metadata["uid"],
        "apiVersion": "v1",
        "resourceVersion": metadata["resourceVersion"],
    }


def _claimed(reference: Object) -> str:
    """The key of the claim that a volume names; of half a name nothing is found."""
    return f"{reference.get('namespace', '')}/{reference.get('name', '')}"
