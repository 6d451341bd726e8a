"""How a deployment gets from its old template to the new one: RollingUpdate and Recreate.

Each call takes as many steps as may be taken now; the next change in the cluster brings the next.

Models kubernetes pkg/controller/deployment/rolling.go and recreate.go.
"""

from __future__ import annotations

from collections.abc import Iterable

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.deployment import progress as statuses
from controllers_app.controllers.deployment import rules
from controllers_app.controllers.deployment.sync import Rollout
from controllers_app.controllers.workload import podstate


async def roll(rollout: Rollout) -> None:
    """RollingUpdate: first grow the new replica set, and only when it cannot, shrink the old."""
    await rollout.sync_revision(create=True)
    if await _grow_new(rollout) or await _shrink_old(rollout):
        return
    await _clean_if_complete(rollout)


async def recreate(rollout: Rollout, pods: Iterable[Object]) -> None:
    """Recreate: no pod of the new template before the last of the old is gone."""
    await rollout.sync_revision(create=False)
    scaled = False
    for item in rules.active(rollout.old):
        scaled = await rollout.scale(item, 0) or scaled
    if scaled or _old_pods_running(rollout, pods):
        return
    if rollout.new is None:
        await rollout.sync_revision(create=True)
    if rollout.new is not None:
        await rollout.scale(rollout.new, rules.wanted(rollout.deployment))
    await _clean_if_complete(rollout)


async def _clean_if_complete(rollout: Rollout) -> None:
    deployment = rollout.deployment
    if statuses.is_complete(deployment, deployment.get("status") or {}):
        await rollout.clean_history()


async def _grow_new(rollout: Rollout) -> bool:
    new = rollout.new
    if new is None:
        return False
    size = min(
        rules.new_set_size(rollout.deployment, rollout.all, new), rules.wanted(rollout.deployment)
    )
    return await rollout.scale(new, size)


async def _shrink_old(rollout: Rollout) -> bool:
    """Take away what may be missing: unhealthy replicas first, since they serve nobody."""
    deployment = rollout.deployment
    new = rollout.new
    if new is None or rules.total_wanted(rollout.old) == 0:
        return False
    least = rules.wanted(deployment) - rules.max_unavailable(deployment)
    new_unavailable = rules.wanted(new) - rules.count_of(new, "availableReplicas")
    may_go = rules.total_wanted(rollout.all) - least - new_unavailable
    if may_go <= 0:
        return False
    cleaned = await _drop_unhealthy(rollout, may_go)
    shrunk = await _drop_available(rollout, least)
    return cleaned + shrunk > 0


async def _drop_unhealthy(rollout: Rollout, may_go: int) -> int:
    dropped = 0
    for item in rules.oldest_first(rules.active(rollout.old)):
        if dropped >= may_go:
            break
        unhealthy = rules.wanted(item) - rules.count_of(item, "availableReplicas")
        count = min(may_go - dropped, unhealthy)
        if count > 0:
            await rollout.scale(item, rules.wanted(item) - count)
            dropped += count
    return dropped


async def _drop_available(rollout: Rollout, least: int) -> int:
    may_go = rules.total(rollout.all, "availableReplicas") - least
    dropped = 0
    for item in rules.oldest_first(rules.active(rollout.old)):
        if dropped >= may_go:
            break
        count = min(rules.wanted(item), may_go - dropped)
        await rollout.scale(item, rules.wanted(item) - count)
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
