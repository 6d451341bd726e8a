"""Controller revisions: the history of a daemon set's or stateful set's template.

A revision holds the template as a patch that replaces it. Its name ends with a hash: of the patch
for a stateful set, of the template for a daemon set.

Models kubernetes pkg/controller/history/controller_history.go and pkg/controller/daemon/update.go
(snapshot).
"""

from __future__ import annotations

import json
from typing import Any

from apiserver_app.apis import templatehash
from apiserver_app.machinery import client as clients
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from controllers_app.controllers.workload import ownership
from controllers_app.runtime.informer import Informer

REVISIONS = "controllerrevisions.apps"
HASH_LABEL = "controller-revision-hash"  # of pods, and of a daemon set's revisions
REVISION_LABEL = "controller.kubernetes.io/hash"  # of a stateful set's revisions


class History:
    """The revisions of one owner, for one reconcile. `label` has the hash of a revision."""

    def __init__(
        self, client: clients.Client, cache: Informer, owner: Object, release: Release, label: str
    ) -> None:
        self._client = client
        self._release = release
        self._label = label
        self._owner = owner
        owned = cache.owned_by(meta.uid_of(owner)).values()
        self.revisions = sorted(owned, key=lambda item: (item["revision"], meta.name_of(item)))

    async def current(self) -> Object:
        """Returns the revision of the owner's template; creates or renumbers it if necessary."""
        data = self._patch()
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
        hash_ = self._hash(data)
        labels = {
            **((owner["spec"]["template"].get("metadata") or {}).get("labels") or {}),
            self._label: hash_,
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
        if self._label == HASH_LABEL:  # the DaemonSet controller's names it, the StatefulSet's not
            body["metadata"]["namespace"] = namespace
        with errors.ignoring("AlreadyExists"):
            return await self._client.create(REVISIONS, namespace, body)
        existing = await self._client.get(REVISIONS, namespace, body["metadata"]["name"])
        if existing.get("data") != data:
            name = meta.name_of(existing)
            raise errors.conflict("apps", "controllerrevisions", name, "hash collision")
        return existing

    def _patch(self) -> Object:
        """The template as a patch, with its keys in order, as Go's encoder writes maps."""
        template = self._owner["spec"]["template"]
        metadata = dict(template.get("metadata") or {})
        if not self._release.has("ZeroCreationTimestampOmitted"):
            metadata["creationTimestamp"] = None
        patch = {"spec": {"template": {**template, "metadata": metadata, "$patch": "replace"}}}
        return _sorted(patch)  # type: ignore[no-any-return]

    def _hash(self, data: Object) -> str:
        collisions = (self._owner.get("status") or {}).get("collisionCount")
        if self._label == REVISION_LABEL:
            return hash_revision(data, collisions or 0)
        template = self._owner["spec"]["template"]
        return templatehash.pod_template_hash(template, self._release, collisions)

    async def _renumber(self, known: Object, number: int) -> Object:
        """Makes the revision of a template that is used again the newest."""
        return await self._client.update(
            REVISIONS, meta.namespace_of(known), meta.name_of(known), {**known, "revision": number}
        )


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _sorted(value[key]) for key in sorted(value)}
    if isinstance(value, list):
        return [_sorted(item) for item in value]
    return value


def hash_of(revision: Object) -> str:
    return meta.labels_of(revision).get(HASH_LABEL, "")


def hash_revision(data: Object, collisions: int) -> str:
    """Hashes the patch as Go's encoder writes it, with <, > and & escaped."""
    text = json.dumps(data, separators=(",", ":"), ensure_ascii=False)
    for char in "<>&":
        text = text.replace(char, f"\\u{ord(char):04x}")
    return templatehash.safe_encode(str(templatehash.fnv1(f"{text}{collisions}".encode())))
