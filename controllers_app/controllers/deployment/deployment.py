"""The deployment controller: keeps replica sets of the current template at the desired size.

This module decides what one reconcile does. sync.py and strategies.py do it, rules.py has the
arithmetic, progress.py the status.

Models kubernetes pkg/controller/deployment/deployment_controller.go.
"""

from __future__ import annotations

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.deployment import progress as statuses
from controllers_app.controllers.deployment import rules, strategies
from controllers_app.controllers.deployment.sync import DEPLOYMENTS, REPLICA_SETS, Rollout
from controllers_app.controllers.workload import ownership
from controllers_app.runtime import indexes
from controllers_app.runtime.controller import Context, Controller, Result
from controllers_app.runtime.watches import DELETED, For, Owns, Watches


class DeploymentController(Controller):
    """Reconciles deployments."""

    source = "pkg/controller/deployment/deployment_controller.go syncDeployment"
    drawn_at_rest = True
    watches = (
        For(DEPLOYMENTS),
        Owns(REPLICA_SETS, "Deployment"),
        Watches(
            "pods",
            on=DELETED,
            index=indexes.BY_CONTROLLER,
            keys=lambda self, pod: self._recreated(pod),
        ),
    )
    retries_max = 15
    pace = (5, 30)

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._deployments = self.caches[DEPLOYMENTS]
        self._sets, self._pods = self.caches[REPLICA_SETS], self.caches["pods"]

    async def reconcile(self, key: str) -> Result | None:
        deployment = self._deployments.get(key)
        if deployment is None:
            return Result("is gone")
        if not any((deployment["spec"].get("selector") or {}).values()):
            return await self._refuse_everything(deployment)
        sets = await self._claim(deployment)
        rollout = Rollout(
            self.kernel, self.client, self.recorder, self.ctx.version, deployment, sets
        )
        await self._decide(rollout, sets)
        wait = statuses.seconds_to_deadline(
            rollout.deployment, rollout.deployment.get("status") or {}, self.kernel.now
        )
        # background: nothing happens before the deadline, so a fast clock need not jump to it
        return Result(_summary(rollout), requeue_after=wait, background=True)

    async def _decide(self, rollout: Rollout, sets: list[Object]) -> None:
        """Handles the first case that applies: deleted, paused, scaled, rolling or recreate."""
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
            pods = [pod for item in sets for pod in self._pods.owned_by(meta.uid_of(item)).values()]
            await strategies.recreate(rollout, pods)
        status = statuses.rollout(rollout.deployment, rollout.all, rollout.new, self.kernel.now)
        await rollout.write_status(status)

    async def _sync(self, rollout: Rollout) -> None:
        await rollout.sync_revision(create=False)
        await rollout.scale_to_deployment()

    async def _is_scaled(self, rollout: Rollout) -> bool:
        """Whether an active replica set's annotation differs from the deployment's size."""
        await rollout.sync_revision(create=False)
        size = rules.replicas_of(rollout.deployment)
        return any(rules.desired_of(item) not in (None, size) for item in rules.active(rollout.all))

    async def _write_counts(self, rollout: Rollout) -> None:
        await rollout.write_status(
            statuses.counts(rollout.deployment, rollout.all, rollout.new, self.kernel.now)
        )

    async def _check_paused(self, rollout: Rollout) -> None:
        """Records a pause or its end, so that paused time does not count as lack of progress."""
        deployment = rollout.deployment
        if not statuses.has_deadline(deployment):
            return
        current = statuses.progressing_of(deployment)
        if current is not None and current["reason"] == statuses.TIMED_OUT:
            return
        known_paused = current is not None and current["reason"] == statuses.PAUSED
        paused = bool(deployment["spec"].get("paused"))
        if paused == known_paused:
            return
        reason = statuses.PAUSED if paused else statuses.RESUMED
        word = "paused" if paused else "resumed"
        condition = statuses.condition(
            statuses.PROGRESSING, "Unknown", reason, f"Deployment is {word}", self.kernel.now
        )
        status = statuses.with_condition(deployment.get("status") or {}, condition)
        await rollout.update_deployment({**deployment, "status": status})

    async def _refuse_everything(self, deployment: Object) -> Result:
        """Warns about an empty selector, which would match every pod of the namespace."""
        self.recorder.event(
            deployment,
            "Warning",
            "SelectingAll",
            "This deployment is selecting all pods. A non-empty selector is required.",
        )
        generation = deployment["metadata"].get("generation", 0)
        if rules.count_of(deployment, "observedGeneration") < generation:
            await self.client.update(
                DEPLOYMENTS,
                meta.namespace_of(deployment),
                meta.name_of(deployment),
                meta.with_path(deployment, ("status", "observedGeneration"), generation),
                subresource="status",
            )
        return Result("selects every pod: does nothing")

    async def _claim(self, deployment: Object) -> list[Object]:
        """Returns the deployment's replica sets, after adopting and releasing."""
        return await ownership.claim(self.client, self._sets, deployment, DEPLOYMENTS)

    def _recreated(self, pod: Object) -> tuple[str, ...]:
        """The key of a Recreate deployment whose last old pod this was, if it was."""
        controller = meta.controller_of(pod)
        if controller is None or controller["kind"] != "ReplicaSet":
            return ()
        owner = self._sets.get(f"{meta.namespace_of(pod)}/{controller['name']}")
        above = meta.controller_of(owner) if owner is not None else None
        if owner is None or above is None:
            return ()
        deployment = self._deployments.get(f"{meta.namespace_of(pod)}/{above['name']}")
        if deployment is None or rules.is_rolling(deployment):
            return ()
        siblings = self._sets.owned_by(meta.uid_of(deployment)).values()
        if any(self._pods.owned_by(meta.uid_of(item)) for item in siblings):
            return ()
        return (meta.key_of(deployment),)


def _summary(rollout: Rollout) -> str:
    deployment = rollout.deployment
    head = (
        f"wants {rules.replicas_of(deployment)}, has {rules.total(rollout.all, 'replicas')}"
        f" ({rules.total(rollout.all, 'availableReplicas')} available)"
    )
    return f"{head}: {'; '.join(rollout.actions) or 'nothing to do'}"
