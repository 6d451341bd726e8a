"""The pods and claims of a stateful set: their identity and creation.

Models kubernetes pkg/controller/statefulset/stateful_set_utils.go and stateful_pod_control.go.
"""

from __future__ import annotations

from apiserver_app.machinery import client as clients
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.statefulset import retention
from controllers_app.controllers.workload import history, ownership
from controllers_app.runtime.events import Recorder
from controllers_app.runtime.informer import Informer

CLAIMS = "persistentvolumeclaims"
NAME_LABEL = "statefulset.kubernetes.io/pod-name"
INDEX_LABEL = "apps.kubernetes.io/pod-index"


class StatefulPods:
    """Creates and deletes the pods of a set and their claims, and records events."""

    def __init__(self, client: clients.Client, recorder: Recorder, claims: Informer) -> None:
        self._client = client
        self._recorder = recorder
        self._claims = claims

    async def create(self, owner: Object, ordinal: int, template: Object, revision: str) -> Object:
        """Creates the missing claims, then the pod."""
        name = name_of(owner, ordinal)
        for claim in self._claims_there(owner, ordinal):
            if retention.is_stale(claim, name):  # tried again until it is collected
                text = f"pvc {meta.name_of(claim)} goes with the former pod {name}"
                raise errors.ApiError(500, "InternalError", text)
        try:
            await self.create_missing_claims(owner, ordinal)
            body = pod_of(owner, ordinal, template, revision)
            created = await self._client.create("pods", meta.namespace_of(owner), body)
        except errors.ApiError as error:
            self._event(owner, "Warning", "FailedCreate", f"create Pod {name}", error)
            raise
        self._event(owner, "Normal", "SuccessfulCreate", f"create Pod {name}", None)
        return created

    async def delete(self, owner: Object, pod: Object) -> None:
        name = meta.name_of(pod)
        try:
            await self._client.delete("pods", meta.namespace_of(pod), name)
        except errors.ApiError as error:
            if error.code == 404:
                return
            self._event(owner, "Warning", "FailedDelete", f"delete Pod {name}", error)
            raise
        self._event(owner, "Normal", "SuccessfulDelete", f"delete Pod {name}", None)

    async def create_missing_claims(self, owner: Object, ordinal: int) -> None:
        """Creates the claims of an ordinal that are not there. Raises when one is on its way out:
        the pod must not find a claim that is about to go."""
        for claim in claims_of(owner, ordinal):
            namespace, name = meta.namespace_of(claim), meta.name_of(claim)
            found = self._claims.get(f"{namespace}/{name}")
            if found is None:
                await self._create_claim(owner, name_of(owner, ordinal), claim)
            elif meta.is_deleting(found):
                raise errors.ApiError(500, "InternalError", f"pvc {name} is being deleted")

    async def keep_claims(
        self, owner: Object, ordinal: int, pod: Object, *, is_condemned: bool = False
    ) -> None:
        """Gives the claims of a pod the owners that the set's retention policy asks for."""
        for claim in self._claims_there(owner, ordinal):
            refs = retention.owners(claim, owner, pod, is_condemned=is_condemned)
            if refs == retention.owners_of(claim) or meta.is_deleting(claim):
                continue
            changed = {**claim, "metadata": {**claim["metadata"], "ownerReferences": refs}}
            namespace, name = meta.namespace_of(claim), meta.name_of(claim)
            with errors.ignoring("NotFound"):
                await self._client.update(CLAIMS, namespace, name, changed)

    def _claims_there(self, owner: Object, ordinal: int) -> list[Object]:
        keys = (
            f"{meta.namespace_of(owner)}/{meta.name_of(item)}-{name_of(owner, ordinal)}"
            for item in owner["spec"].get("volumeClaimTemplates") or ()
        )
        return [claim for key in keys if (claim := self._claims.get(key)) is not None]

    async def _create_claim(self, owner: Object, pod: str, claim: Object) -> None:
        name = meta.name_of(claim)
        try:
            await self._client.create(CLAIMS, meta.namespace_of(owner), claim)
        except errors.ApiError as error:
            if error.reason == "AlreadyExists":
                return
            action = f"create Claim {name} for Pod {pod}"
            self._event(owner, "Warning", "FailedCreate", action, error)
            raise
        message = f"create Claim {name} Pod {pod} in StatefulSet {meta.name_of(owner)} success"
        self._recorder.event(owner, "Normal", "SuccessfulCreate", message)

    def _event(
        self, owner: Object, kind: str, reason: str, action: str, error: errors.ApiError | None
    ) -> None:
        message = f"{action} in StatefulSet {meta.name_of(owner)} "
        message += "successful" if error is None else f"failed error: {error.message}"
        self._recorder.event(owner, kind, reason, message)


def name_of(owner: Object, ordinal: int) -> str:
    return f"{meta.name_of(owner)}-{ordinal}"


def ordinals(owner: Object) -> tuple[int, int]:
    """(first ordinal, number of replicas)."""
    spec = owner["spec"]
    replicas = spec.get("replicas")
    first = (spec.get("ordinals") or {}).get("start") or 0
    return int(first), 1 if replicas is None else int(replicas)


def ordinal_of(owner: Object, pod: Object) -> int | None:
    """The ordinal in the pod's name; None when the name is not of this set."""
    prefix, _, number = meta.name_of(pod).rpartition("-")
    if prefix != meta.name_of(owner) or not number.isdigit():
        return None
    return int(number)


def revision_of(pod: Object) -> str:
    return meta.labels_of(pod).get(history.HASH_LABEL, "")


def pod_of(owner: Object, ordinal: int, template: Object, revision: str) -> Object:
    """Builds the pod of an ordinal: with its name as label and hostname, and its claims."""
    name = name_of(owner, ordinal)
    inner = template.get("metadata") or {}
    metadata: Object = {
        "generateName": f"{meta.name_of(owner)}-",
        "name": name,
        "namespace": meta.namespace_of(owner),
    }
    if inner.get("annotations"):
        metadata["annotations"] = inner["annotations"]
    metadata["labels"] = {
        **(inner.get("labels") or {}),
        NAME_LABEL: name,
        INDEX_LABEL: str(ordinal),
        history.HASH_LABEL: revision,
    }
    metadata["ownerReferences"] = [ownership.controller_reference(owner)]
    spec = dict(template["spec"])
    spec["hostname"] = name
    if owner["spec"].get("serviceName"):
        spec["subdomain"] = owner["spec"]["serviceName"]
    templates = owner["spec"].get("volumeClaimTemplates") or ()
    if templates:
        ours = {meta.name_of(item) for item in templates}
        volumes = [item for item in spec.get("volumes") or () if item["name"] not in ours]
        claimed = [
            {
                "name": meta.name_of(item),
                "persistentVolumeClaim": {"claimName": f"{meta.name_of(item)}-{name}"},
            }
            for item in templates
        ]
        spec["volumes"] = [*claimed, *volumes]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def claims_of(owner: Object, ordinal: int) -> list[Object]:
    """Builds the claims of an ordinal's pod."""
    selector = (owner["spec"].get("selector") or {}).get("matchLabels") or {}
    out = []
    for item in owner["spec"].get("volumeClaimTemplates") or ():
        inner = item["metadata"]
        metadata: Object = {
            "name": f"{inner['name']}-{name_of(owner, ordinal)}",
            "namespace": meta.namespace_of(owner),
            "labels": {**(inner.get("labels") or {}), **selector},
        }
        if inner.get("annotations"):
            metadata["annotations"] = inner["annotations"]
        out.append(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": metadata,
                "spec": item["spec"],
            }
        )
    return out
