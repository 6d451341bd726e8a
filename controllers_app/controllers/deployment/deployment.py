"""The deployment controller: replica sets of the current template in the wanted number.

What to do in one reconcile is decided here; how is in deployment_sync and deployment_strategies,
the arithmetic in deployment_rules, the status in deployment_status.

Models kubernetes pkg/controller/deployment/deployment_controller.go.
"""

from __future__ import annotations

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import labels
from controllers_app.controllers.deployment import progress as statuses
from controllers_app.controllers.deployment import rules, strategies
from controllers_app.controllers.deployment.sync import DEPLOYMENTS, REPLICA_SETS, Rollout
from controllers_app.controllers.workload.ownership import Claims
from controllers_app.runtime.controller import Context, Controller, Result

RETRIES_MAX = 15
PACE = (5, 30)  # reconciles of one deployment per second, and at once


class DeploymentController(Controller):
    """Reconciles deployments."""

    resource = DEPLOYMENTS
    source = "pkg/controller/deployment/deployment_controller.go syncDeployment"
    drawn_at_rest = True
    retries_max = RETRIES_MAX

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._version = ctx.version
        self.queue.pace(*PACE)
        self._deployments = ctx.informers.informer(DEPLOYMENTS).index_by_namespace()
        self._sets = ctx.informers.informer(REPLICA_SETS).index_by_controller()
        self._pods = ctx.informers.informer("pods").index_by_controller()
        self._deployments.handle(self._changed, self._updated, self._changed)
        self._sets.handle(self._set_added, self._set_updated, self._set_gone)
        self._pods.handle(on_delete=self._pod_gone)

    async def reconcile(self, key: str) -> Result | None:
        deployment = self._deployments.get(key)
        if deployment is None:
            return Result("is gone")
        if not any((deployment["spec"].get("selector") or {}).values()):
            return await self._refuse_everything(deployment)
        sets = await self._claim(deployment)
        rollout = Rollout(self.kernel, self.client, self.recorder, self._version, deployment, sets)
        await self._decide(rollout)
        wait = statuses.seconds_to_deadline(
            rollout.deployment, rollout.deployment.get("status") or {}, self.kernel.now
        )
        # a deadline is no reason for a fast clock to hurry: nothing is under way until then
        return Result(_said(rollout), requeue_after=wait, background=True)

    async def _decide(self, rollout: Rollout) -> None:
        """Which of upstream's ways applies: deleted, paused, scaled, recreate or rolling."""
        deployment = rollout.deployment
        if meta.is_deleting(deployment):
            await rollout.sync_revision(create=False)
            await self._write_counts(rollout)
            return
        await self._check_paused(rollout)
        if deployment["spec"].get("paused"):
            await self._sync(rollout)
            await rollout.clean_history()
            await self._write_counts(rollout)
            return
        if await self._is_scaled(rollout):
            await self._sync(rollout)
            await self._write_counts(rollout)
            return
        if rules.is_rolling(deployment):
            await strategies.roll(rollout)
        else:
            pods = [
                pod
                for item in rollout.all
                for pod in self._pods.owned_by(meta.uid_of(item)).values()
            ]
            await strategies.recreate(rollout, pods)
        status = statuses.rollout(rollout.deployment, rollout.all, rollout.new, self.kernel.now)
        await rollout.write_status(status)

    async def _sync(self, rollout: Rollout) -> None:
        await rollout.sync_revision(create=False)
        await rollout.scale_to_deployment()

    async def _is_scaled(self, rollout: Rollout) -> bool:
        """The deployment's size is not the one its active replica sets remember."""
        size = rules.wanted(rollout.deployment)
        return any(rules.desired_of(item) not in (None, size) for item in rules.active(rollout.all))

    async def _write_counts(self, rollout: Rollout) -> None:
        await rollout.write_status(
            statuses.counts(rollout.deployment, rollout.all, rollout.new, self.kernel.now)
        )

    async def _check_paused(self, rollout: Rollout) -> None:
        """Note a pause or its end, so that time spent paused is not held against the rollout."""
        deployment = rollout.deployment
        if not statuses.has_deadline(deployment):
            return
        current = statuses.progressing_of(deployment)
        if current is not None and current["reason"] == statuses.TIMED_OUT:
            return
        noted = current is not None and current["reason"] == statuses.PAUSED
        paused = bool(deployment["spec"].get("paused"))
        if paused == noted:
            return
        reason = statuses.PAUSED if paused else statuses.RESUMED
        word = "paused" if paused else "resumed"
        found = statuses.condition(
            statuses.PROGRESSING, "Unknown", reason, f"Deployment is {word}", self.kernel.now
        )
        status = statuses.with_condition(deployment.get("status") or {}, found)
        await rollout.update_deployment({**deployment, "status": status})

    async def _refuse_everything(self, deployment: Object) -> Result:
        """An empty selector would match every pod of the namespace."""
        self.recorder.event(
            deployment, "Warning", "SelectingAll",
            "This deployment is selecting all pods. A non-empty selector is required.",
        )  # fmt: skip
        generation = deployment["metadata"].get("generation", 0)
        if rules.count_of(deployment, "observedGeneration") < generation:
            await self.client.update(
                DEPLOYMENTS, meta.namespace_of(deployment), meta.name_of(deployment),
                meta.with_path(deployment, ("status", "observedGeneration"), generation),
                subresource="status",
            )  # fmt: skip
        return Result("selects every pod: does nothing")

    async def _claim(self, deployment: Object) -> list[Object]:
        """The replica sets that are this deployment's, after adopting and releasing."""
        selector = labels.from_label_selector(deployment["spec"].get("selector"))
        claims = Claims(
            self.client, REPLICA_SETS, deployment, DEPLOYMENTS,
            lambda item: selector.matches(meta.labels_of(item)),
        )  # fmt: skip
        owned = self._sets.owned_by(meta.uid_of(deployment))
        orphans = self._sets.orphans(meta.namespace_of(deployment))
        return await claims.claim([*owned.values(), *orphans.values()])

    # -- handlers -------------------------------------------------------------------------------

    def _changed(self, deployment: Object, revision: int) -> None:
        self.queue.add(meta.key_of(deployment), revision)

    def _updated(self, _old: Object, deployment: Object, revision: int) -> None:
        self.queue.add(meta.key_of(deployment), revision)

    def _set_added(self, item: Object, revision: int) -> None:
        controller = meta.controller_of(item)
        if controller is not None:
            self._enqueue_owner(item, controller, revision)
        elif not meta.is_deleting(item):
            self._enqueue_matching(item, revision)

    def _set_updated(self, old: Object, item: Object, revision: int) -> None:
        controller = meta.controller_of(item)
        before = meta.controller_of(old)
        if before is not None and before != controller:
            self._enqueue_owner(old, before, revision)
        if controller is not None:
            self._enqueue_owner(item, controller, revision)
        elif before is not None or meta.labels_of(old) != meta.labels_of(item):
            self._enqueue_matching(item, revision)

    def _set_gone(self, item: Object, revision: int) -> None:
        controller = meta.controller_of(item)
        if controller is not None:
            self._enqueue_owner(item, controller, revision)

    def _pod_gone(self, pod: Object, revision: int) -> None:
        """Recreate waits for the last old pod, which no replica set's status may show."""
        controller = meta.controller_of(pod)
        if controller is None or controller["kind"] != "ReplicaSet":
            return
        owner = self._sets.get(f"{meta.namespace_of(pod)}/{controller['name']}")
        above = meta.controller_of(owner) if owner is not None else None
        if owner is None or above is None:
            return
        deployment = self._deployments.get(f"{meta.namespace_of(pod)}/{above['name']}")
        if deployment is None or rules.is_rolling(deployment):
            return
        siblings = self._sets.owned_by(meta.uid_of(deployment)).values()
        if not any(self._pods.owned_by(meta.uid_of(item)) for item in siblings):
            self.queue.add(meta.key_of(deployment), revision)

    def _enqueue_owner(self, item: Object, controller: Object, revision: int) -> None:
        if controller["kind"] != "Deployment":
            return
        key = f"{meta.namespace_of(item)}/{controller['name']}"
        deployment = self._deployments.get(key)
        if deployment is not None and meta.uid_of(deployment) == controller["uid"]:
            self.queue.add(key, revision)

    def _enqueue_matching(self, item: Object, revision: int) -> None:
        """An orphan: wake every deployment that could adopt it."""
        found = meta.labels_of(item)
        if not found:
            return
        namespace = meta.namespace_of(item)
        for key, deployment in sorted(self._deployments.by("namespace", namespace).items()):
            selector = labels.from_label_selector(deployment["spec"].get("selector"))
            if selector.matches(found):
                self.queue.add(key, revision)


def _said(rollout: Rollout) -> str:
    deployment = rollout.deployment
    head = (
        f"wants {rules.wanted(deployment)}, has {rules.total(rollout.all, 'replicas')}"
        f" ({rules.total(rollout.all, 'availableReplicas')} available)"
    )
    return f"{head}: {'; '.join(rollout.did) or 'nothing to do'}"
