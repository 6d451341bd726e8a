"""The strategies of a deployment: RollingUpdate and Recreate.

Each call does all that is allowed now; the next change in the cluster triggers the next call.

Models kubernetes pkg/controller/deployment/rolling.go and recreate.go.
"""

from __future__ import annotations

from collections.abc import Iterable

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.deployment import progress as statuses
from controllers_app.controllers.deployment import rules
from controllers_app.controllers.deployment.sync import Rollout
from controllers_app.controllers.workload import podstate


async def roll(rollout: Rollout) -> None:
    """RollingUpdate: scale the new replica set up or, if that cannot be, the old ones down."""
    await rollout.sync_revision(create=True)
    if await _scale_up_new(rollout) or await _scale_down_old(rollout):
        return
    await _clean_if_complete(rollout)


async def recreate(rollout: Rollout, pods: Iterable[Object]) -> None:
    """Recreate: create new pods only after the last old pod is gone."""
    await rollout.sync_revision(create=False)
    active = rules.active(rollout.old)
    for item in active:
        await rollout.scale(item, 0)
    if active or _old_pods_running(rollout, pods):
        return
    if rollout.new is None:
        await rollout.sync_revision(create=True)
    if rollout.new is not None:
        await rollout.scale(rollout.new, rules.replicas_of(rollout.deployment))
    await _clean_if_complete(rollout)


async def _clean_if_complete(rollout: Rollout) -> None:
    deployment = rollout.deployment
    if statuses.is_complete(deployment, deployment.get("status") or {}):
        await rollout.clean_history()


async def _scale_up_new(rollout: Rollout) -> bool:
    new = rollout.new
    if new is None:
        return False
    size = min(
        rules.new_set_size(rollout.deployment, rollout.all, new),
        rules.replicas_of(rollout.deployment),
    )
    return await rollout.scale(new, size) is not new


async def _scale_down_old(rollout: Rollout) -> bool:
    """Scales old replica sets down by what may be unavailable, unhealthy replicas first."""
    deployment = rollout.deployment
    new = rollout.new
    if new is None or rules.total_replicas(rollout.old) == 0:
        return False
    min_available = rules.replicas_of(deployment) - rules.max_unavailable(deployment)
    new_unavailable = rules.replicas_of(new) - rules.count_of(new, "availableReplicas")
    max_cleanup = rules.total_replicas(rollout.all) - min_available - new_unavailable
    if max_cleanup <= 0:
        return False
    old = rules.oldest_first(rules.active(rollout.old))
    try:
        unhealthy = await _scale_down_unhealthy(rollout, old, max_cleanup)
        return unhealthy + await _scale_down_available(rollout, old, min_available) > 0
    except errors.ApiError:
        return False  # the status is written all the same, as upstream does


async def _scale_down_unhealthy(rollout: Rollout, old: list[Object], max_cleanup: int) -> int:
    """Puts what it has scaled into the list."""
    dropped = 0
    for number, item in enumerate(old):
        if dropped >= max_cleanup:
            break
        unhealthy = rules.replicas_of(item) - rules.count_of(item, "availableReplicas")
        count = min(max_cleanup - dropped, unhealthy)
        if count > 0:
            old[number] = await rollout.scale(item, rules.replicas_of(item) - count)
            dropped += count
    return dropped


async def _scale_down_available(rollout: Rollout, old: list[Object], min_available: int) -> int:
    assert rollout.new is not None
    max_cleanup = rules.total([*old, rollout.new], "availableReplicas") - min_available
    dropped = 0
    for item in old:
        if dropped >= max_cleanup:
            break
        count = min(rules.replicas_of(item), max_cleanup - dropped)
        if count:
            await rollout.scale(item, rules.replicas_of(item) - count)
            dropped += count
    return dropped


def _old_pods_running(rollout: Rollout, pods: Iterable[Object]) -> bool:
    if rules.total(rollout.old, "replicas") > 0:
        return True
    new_uid = rollout.new["metadata"]["uid"] if rollout.new is not None else ""
    for pod in pods:
        if podstate.is_finished(pod):
            continue
        owner = meta.controller_of(pod)
        if owner is None or owner["uid"] != new_uid:
            return True
    return False
