"""One reconcile of a deployment: its new and old replica sets, and the operations on them.

A Rollout exists for one reconcile. It decides by what the caches had when it began: all its writes
of the deployment have that resource version, so that the second one of a reconcile is a conflict,
and the status does not count what this reconcile scales. It lists its actions for the summary.

Models kubernetes pkg/controller/deployment/sync.go.
"""

from __future__ import annotations

from apiserver_app.apis import templatehash
from apiserver_app.machinery import client as clients
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from controllers_app.controllers.deployment import progress as statuses
from controllers_app.controllers.deployment import rules
from controllers_app.controllers.workload import ownership, podcontrol
from controllers_app.runtime.events import Recorder

DEPLOYMENTS = "deployments.apps"
REPLICA_SETS = "replicasets.apps"


class Rollout:
    """`new` is the replica set of the current template, `old` are the others."""

    def __init__(
        self,
        kernel: Kernel,
        client: clients.Client,
        recorder: Recorder,
        version: Release,
        deployment: Object,
        sets: list[Object],
    ) -> None:
        self.deployment = deployment
        self.new: Object | None = None
        self.old: list[Object] = []
        self.actions: list[str] = []
        self._sets = sets
        self._kernel = kernel
        self._client = client
        self._recorder = recorder
        self._version = version
        self._namespace = meta.namespace_of(deployment)

    @property
    def all(self) -> list[Object]:
        return [*self.old, self.new] if self.new is not None else list(self.old)

    # -- the new replica set --------------------------------------------------------------------

    async def sync_revision(self, *, create: bool) -> None:
        """Finds the new replica set and gives it the highest revision and the deployment's
        annotations; with `create`, creates it if there is none."""
        self.new = rules.find_new(self.deployment, self._sets)
        self.old = [item for item in self._sets if item is not self.new]
        revision = max((rules.revision_of(item) for item in self.old), default=0) + 1
        if self.new is not None:
            await self._update_new(self.new, revision)
        elif create:
            await self._create_new(revision)

    async def _update_new(self, new: Object, revision: int) -> None:
        known = meta.annotations_of(new)
        annotations = rules.new_set_annotations(self.deployment, known, revision, exists=True)
        min_ready = self.deployment["spec"].get("minReadySeconds") or 0
        if annotations != known or min_ready != (new["spec"].get("minReadySeconds") or 0):
            changed = meta.with_path(new, ("metadata", "annotations"), annotations)
            if min_ready:
                changed = meta.with_path(changed, ("spec", "minReadySeconds"), min_ready)
            else:
                changed = meta.without_path(changed, ("spec", "minReadySeconds"))
            self.new = await self._update_set(changed)
            self.actions.append(f"updates {meta.name_of(new)}")
            return
        message = f'Found new replica set "{meta.name_of(new)}"'
        first = statuses.progressing_of(self.deployment) is None
        await self._note_revision(
            annotations[rules.REVISION], "FoundNewReplicaSet" if first else "", message
        )

    async def _note_revision(self, revision: str, reason: str, message: str) -> None:
        """Copies the revision to the deployment, and sets Progressing if there is a reason."""
        deployment = self.deployment
        changed = deployment
        if meta.annotations_of(deployment).get(rules.REVISION) != revision:
            path = ("metadata", "annotations", rules.REVISION)
            changed = meta.with_path(deployment, path, revision)
        if reason and statuses.has_deadline(deployment):
            changed = self._with_progress(changed, "True", reason, message)
        if changed is not deployment:
            await self.update_deployment(changed)

    def _with_progress(self, deployment: Object, status: str, reason: str, message: str) -> Object:
        condition = statuses.condition(
            statuses.PROGRESSING, status, reason, message, self._kernel.now
        )
        return {
            **deployment,
            "status": statuses.with_condition(deployment.get("status") or {}, condition),
        }

    async def _create_new(self, revision: int) -> None:
        body = self._new_set(revision)
        name = meta.name_of(body)
        existed = False
        try:
            created = await self._client.create(REPLICA_SETS, self._namespace, body)
        except errors.ApiError as error:
            if error.reason != "AlreadyExists":
                await self._record_create_failure(name, error)
                raise
            created = await self._use_existing(name, error)
            existed = True
        self.new = created
        if not existed and rules.replicas_of(created) > 0:
            size = rules.replicas_of(created)
            self._scaling_event("up", name, 0, size)
            self.actions.append(f"creates {name} with {size}")
        reason = "" if existed else "NewReplicaSetCreated"
        await self._note_revision(str(revision), reason, f'Created new replica set "{name}"')

    def _new_set(self, revision: int) -> Object:
        """Returns a replica set for the current template, named and labelled by its hash."""
        deployment = self.deployment
        spec = deployment["spec"]
        collisions = (deployment.get("status") or {}).get("collisionCount")
        template = spec["template"]
        hash_ = templatehash.pod_template_hash(template, self._version, collisions)
        labels = {**((template.get("metadata") or {}).get("labels") or {}), rules.HASH_LABEL: hash_}
        selector = spec.get("selector") or {}
        matches = {**(selector.get("matchLabels") or {}), rules.HASH_LABEL: hash_}
        body: Object = {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {
                "name": f"{meta.name_of(deployment)}-{hash_}",
                "namespace": self._namespace,
                "labels": labels,
                "annotations": rules.new_set_annotations(deployment, {}, revision, exists=False),
                "ownerReferences": [ownership.controller_reference(deployment)],
            },
            "spec": {
                "replicas": 0,
                "selector": {**selector, "matchLabels": matches},
                "template": meta.with_path(template, ("metadata", "labels"), labels),
            },
        }
        if spec.get("minReadySeconds"):
            body["spec"]["minReadySeconds"] = spec["minReadySeconds"]
        body["spec"]["replicas"] = rules.new_set_size(deployment, [*self.old, body], body)
        return body

    async def _use_existing(self, name: str, error: errors.ApiError) -> Object:
        """Returns the deployment's own set of that name; counts a hash collision and raises."""
        deployment = self.deployment
        existing = await self._client.get(REPLICA_SETS, self._namespace, name)
        controller = meta.controller_of(existing)
        ours = controller is not None and controller["uid"] == meta.uid_of(deployment)
        if ours and rules.same_template(
            existing["spec"]["template"], deployment["spec"]["template"]
        ):
            return existing
        count = ((deployment.get("status") or {}).get("collisionCount") or 0) + 1
        await self._try_update(meta.with_path(deployment, ("status", "collisionCount"), count))
        raise error

    async def _record_create_failure(self, name: str, error: errors.ApiError) -> None:
        if podcontrol.is_namespace_terminating(error):
            return
        message = f'Failed to create new replica set "{name}": {error.message}'
        if statuses.has_deadline(self.deployment):
            await self._try_update(
                self._with_progress(self.deployment, "False", "ReplicaSetCreateError", message)
            )
        self._event("Warning", "ReplicaSetCreateError", message)

    # -- scaling --------------------------------------------------------------------------------

    async def scale(self, item: Object, size: int) -> Object:
        """Scales a replica set, unless it has that size already; returns it as it is then."""
        if rules.replicas_of(item) == size:
            return item
        return await self._resize(item, size)

    async def _resize(self, item: Object, size: int) -> Object:
        """Sets the size, and the annotations that record the deployment's size."""
        before = rules.replicas_of(item)
        known = meta.annotations_of(item)
        remembered = rules.replicas_annotations(self.deployment)
        if before == size and all(known.get(name) == text for name, text in remembered.items()):
            return item
        changed = meta.with_path(item, ("metadata", "annotations"), {**known, **remembered})
        changed = meta.with_path(changed, ("spec", "replicas"), size)
        stored = await self._update_set(changed)
        if before != size:
            direction = "up" if before < size else "down"
            name = meta.name_of(item)
            self._scaling_event(direction, name, before, size)
            self.actions.append(f"scales {name} {direction} from {before} to {size}")
        return stored

    async def scale_to_deployment(self) -> None:
        """Scales to the deployment's size: one active replica set, or several in proportion."""
        deployment = self.deployment
        single = rules.active_or_latest(self.new, self.old)
        if single is not None:
            await self.scale(single, rules.replicas_of(deployment))
            return
        if rules.is_saturated(deployment, self.new):
            for item in rules.active(rules.oldest_first(self.old)):
                await self.scale(item, 0)
            return
        if rules.is_rolling(deployment):
            await self._scale_in_proportion()

    async def _scale_in_proportion(self) -> None:
        deployment = self.deployment
        sets = rules.active(self.all)
        replicas = rules.replicas_of(deployment)
        allowed = replicas + rules.max_surge(deployment) if replicas > 0 else 0
        to_add = allowed - rules.total_replicas(sets)
        sets = rules.by_size(sets, newest_first=to_add > 0)
        added = 0
        sizes = []
        for item in sets:
            share = rules.proportion(deployment, item, to_add, added)
            sizes.append(rules.replicas_of(item) + share)
            added += share
        sizes[0] = max(0, sizes[0] + to_add - added)
        for item, size in zip(sets, sizes, strict=True):
            await self._resize(item, size)

    # -- history and status ---------------------------------------------------------------------

    async def clean_history(self) -> None:
        """Deletes old replica sets beyond the history limit, lowest revision first."""
        limit = self.deployment["spec"].get("revisionHistoryLimit")
        if limit is None or limit == rules.NO_LIMIT:
            return
        cleanable = [item for item in self.old if not meta.is_deleting(item)]
        for item in rules.by_revision(cleanable)[: max(0, len(cleanable) - limit)]:
            observed = rules.count_of(item, "observedGeneration")
            if (
                rules.count_of(item, "replicas")
                or rules.replicas_of(item)
                or item["metadata"].get("generation", 0) > observed
            ):
                continue
            name = meta.name_of(item)
            with errors.ignoring("NotFound"):
                await self._client.delete(REPLICA_SETS, self._namespace, name)
            self.actions.append(f"deletes old {name}")

    async def write_status(self, status: Object) -> None:
        """Writes the status if it changed."""
        if status != (self.deployment.get("status") or {}):
            await self.update_deployment({**self.deployment, "status": status})
            self.actions.append("writes its status")

    async def update_deployment(self, changed: Object) -> None:
        """Writes the deployment's status and annotations."""
        await self._client.update(
            DEPLOYMENTS, self._namespace, meta.name_of(changed), changed, subresource="status"
        )
        self.deployment = changed

    async def _try_update(self, changed: Object) -> None:
        """Beside an error that is raised anyway."""
        try:
            await self.update_deployment(changed)
        except errors.ApiError:
            self.actions.append("cannot write its status")

    async def _update_set(self, changed: Object) -> Object:
        return await self._client.update(
            REPLICA_SETS, self._namespace, meta.name_of(changed), changed
        )

    def _scaling_event(self, direction: str, name: str, before: int, size: int) -> None:
        message = f"Scaled {direction} replica set {name} from {before} to {size}"
        self._event("Normal", "ScalingReplicaSet", message)

    def _event(self, kind: str, reason: str, message: str) -> None:
        self._recorder.event(self.deployment, kind, reason, message)
