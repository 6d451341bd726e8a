"""Controller revisions: the history of a daemon set's or stateful set's template.

A revision holds the template as a patch that replaces it. The hash of the patch is the end of the
revision's name and the pods' controller-revision-hash label.

Models kubernetes pkg/controller/history/controller_history.go.
"""

from __future__ import annotations

import json

from apiserver_app.apis import templatehash
from apiserver_app.machinery import client as clients
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.workload import ownership
from controllers_app.runtime.informer import Informer

REVISIONS = "controllerrevisions.apps"
HASH_LABEL = "controller-revision-hash"


class History:
    """The revisions of one owner, for one reconcile."""

    def __init__(self, client: clients.Client, cache: Informer, owner: Object) -> None:
        self._client = client
        self._owner = owner
        owned = cache.owned_by(meta.uid_of(owner)).values()
        self.revisions = sorted(owned, key=lambda item: (item["revision"], meta.name_of(item)))

    async def current(self) -> Object:
        """Returns the revision of the owner's template; creates or renumbers it if necessary."""
        data = template_patch(self._owner["spec"]["template"])
        newest = self.revisions[-1]["revision"] if self.revisions else 0
        for known in self.revisions:
            if known.get("data") == data:
                if known["revision"] == newest:
                    return known
                return await self._renumber(known, newest + 1)
        return await self._create(data, newest + 1)

    async def trim(self, keep: int, live: frozenset[str]) -> None:
        """Deletes the oldest unused revisions beyond `keep`. `live` holds the names or hashes of
        the revisions in use."""
        dead = [item for item in self.revisions if not live & {hash_of(item), meta.name_of(item)}]
        for item in dead[: max(0, len(dead) - keep)]:
            with errors.ignoring("NotFound"):
                await self._client.delete(REVISIONS, meta.namespace_of(item), meta.name_of(item))

    async def _create(self, data: Object, number: int) -> Object:
        owner = self._owner
        collisions = (owner.get("status") or {}).get("collisionCount")
        hash_ = hash_revision(data, collisions)
        labels = {
            **((owner["spec"]["template"].get("metadata") or {}).get("labels") or {}),
            HASH_LABEL: hash_,
        }
        body: Object = {
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": f"{meta.name_of(owner)}-{hash_}",
                "labels": labels,
                "ownerReferences": [ownership.controller_reference(owner)],
            },
            "data": data,
            "revision": number,
        }
        annotations = dict(meta.annotations_of(owner))
        annotations.pop("kubectl.kubernetes.io/last-applied-configuration", None)
        if annotations:
            body["metadata"]["annotations"] = annotations
        namespace = meta.namespace_of(owner)
        with errors.ignoring("AlreadyExists"):
            return await self._client.create(REVISIONS, namespace, body)
        existing = await self._client.get(REVISIONS, namespace, body["metadata"]["name"])
        if existing.get("data") != data:
            name = meta.name_of(existing)
            raise errors.conflict("apps", "controllerrevisions", name, "hash collision")
        return existing

    async def _renumber(self, known: Object, number: int) -> Object:
        """Makes the revision of a template that is used again the newest."""
        return await self._client.update(
            REVISIONS, meta.namespace_of(known), meta.name_of(known), {**known, "revision": number}
        )


def template_patch(template: Object) -> Object:
    metadata = {"creationTimestamp": None, **(template.get("metadata") or {})}
    return {"spec": {"template": {**template, "metadata": metadata, "$patch": "replace"}}}


def hash_of(revision: Object) -> str:
    return meta.labels_of(revision).get(HASH_LABEL, "")


def hash_revision(data: Object, collisions: int | None) -> str:
    """Hashes the patch as Go's encoder writes it: with sorted keys, and <, >, & escaped."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    raw = text.encode()
    if collisions is not None:
        raw += str(collisions).encode()
    return templatehash.safe_encode(str(templatehash.fnv1a(raw)))
