"""The ephemeral volume controller: a claim for each volume that a pod wants for itself.

The claim belongs to the pod and goes with it.

Models kubernetes pkg/controller/volume/ephemeral/controller.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.workload import ownership
from controllers_app.runtime import persistentvolumes
from controllers_app.runtime.controller import Controller, Result
from controllers_app.runtime.persistentvolumes import CLAIMS
from controllers_app.runtime.watches import ADDED, DELETED, For, Watches


class EphemeralVolumeController(Controller):
    """Reconciles pods that have such volumes."""

    source = "pkg/controller/volume/ephemeral/controller.go syncHandler"
    watches = (
        For(
            "pods",
            on=ADDED,
            index=persistentvolumes.BY_CLAIM,
            when=lambda pod: not meta.is_deleting(pod) and _ephemeral(pod),
        ),
        Watches(CLAIMS, on=DELETED, keys=lambda self, claim: self._users(claim)),
    )

    async def reconcile(self, key: str) -> Result | None:
        pod = self.caches["pods"].get(key)
        if pod is None or meta.is_deleting(pod):
            return Result("is gone or going")
        made = []
        for volume in _ephemeral(pod):
            name = f"{meta.name_of(pod)}-{volume['name']}"
            try:
                if await self._provide(pod, name, volume["ephemeral"]):
                    made.append(name)
            except errors.ApiError as error:
                why = f"ephemeral volume {volume['name']}: {error.message}"
                self.recorder.event(pod, "Warning", "FailedBinding", why)
                raise
        return Result(f"makes {', '.join(made)}" if made else "has its claims")

    async def _provide(self, pod: Object, name: str, source: Object) -> bool:
        """Make the claim, unless it is there."""
        namespace = meta.namespace_of(pod)
        known = self.caches[CLAIMS].get(f"{namespace}/{name}")
        if known is not None:
            owner = meta.controller_of(known)
            if owner is None or owner.get("uid") != meta.uid_of(pod):
                about = f"{namespace}/{meta.name_of(pod)}"
                raise errors.unclassified(
                    f"PVC {namespace}/{name} was not created for pod {about} (pod is not owner)"
                )
            return False
        template = source["volumeClaimTemplate"]
        given = template.get("metadata") or {}
        metadata = {
            "name": name,
            "namespace": namespace,
            "ownerReferences": [ownership.controller_reference(pod)],
            **{key: given[key] for key in ("labels", "annotations") if given.get(key)},
        }
        await self.client.create(
            CLAIMS,
            namespace,
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": metadata,
                "spec": template["spec"],
            },
        )
        return True

    def _users(self, claim: Object) -> list[str]:
        """The keys of the pods that have the claim for a volume of their own."""
        pods = self.caches["pods"].by("claim", meta.key_of(claim))
        return [key for key, pod in sorted(pods.items()) if _ephemeral(pod)]


def _ephemeral(pod: Object) -> list[Object]:
    return [volume for volume in pod["spec"].get("volumes") or () if "ephemeral" in volume]
