"""The ephemeral volume controller: a claim for each volume that a pod wants for itself.

The claim belongs to the pod and goes with it.

Models kubernetes pkg/controller/volume/ephemeral/controller.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.workload import ownership
from controllers_app.runtime import persistentvolumes
from controllers_app.runtime.controller import Context, Controller, Result


class EphemeralVolumeController(Controller):
    """Reconciles pods that have such volumes."""

    resource = "pods"
    source = "pkg/controller/volume/ephemeral/controller.go syncHandler"

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._pods = ctx.informers.informer("pods").index("claim", persistentvolumes.of_pod)
        self._claims = ctx.informers.informer(persistentvolumes.CLAIMS)
        self._pods.handle(self._pod_added)
        self._claims.handle(on_delete=self._claim_gone)

    async def reconcile(self, key: str) -> Result | None:
        pod = self._pods.get(key)
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
        known = self._claims.get(f"{namespace}/{name}")
        if known is not None:
            owner = meta.controller_of(known)
            if owner is None or owner.get("uid") != meta.uid_of(pod):
                about = f"{namespace}/{meta.name_of(pod)}"
                raise errors.unclassified(
                    f"PVC {namespace}/{name} was not created for pod {about} (pod is not owner)"
                )
            return False
        template = source["volumeClaimTemplate"]
        said = template.get("metadata") or {}
        metadata = {
            "name": name,
            "namespace": namespace,
            "ownerReferences": [ownership.controller_reference(pod)],
            **{key: said[key] for key in ("labels", "annotations") if said.get(key)},
        }
        await self.client.create(
            persistentvolumes.CLAIMS, namespace,
            {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata,
             "spec": template["spec"]},
        )  # fmt: skip
        return True

    def _pod_added(self, pod: Object, revision: int) -> None:
        if pod["spec"].get("volumes") and not meta.is_deleting(pod) and _ephemeral(pod):
            self.queue.add(meta.key_of(pod), revision)

    def _claim_gone(self, claim: Object, revision: int) -> None:
        for key, pod in sorted(self._pods.by("claim", meta.key_of(claim)).items()):
            if _ephemeral(pod):
                self.queue.add(key, revision)


def _ephemeral(pod: Object) -> list[Object]:
    return [one for one in pod["spec"].get("volumes") or () if "ephemeral" in one]
