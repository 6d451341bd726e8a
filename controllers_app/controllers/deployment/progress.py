"""A deployment's status: its counts, and the conditions Available, Progressing, ReplicaFailure.

Models kubernetes pkg/controller/deployment/progress.go, sync.go (calculateStatus) and
util/deployment_util.go (conditions).
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver_app.machinery import conditions, meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.deployment import rules

AVAILABLE = "Available"
PROGRESSING = "Progressing"
REPLICA_FAILURE = "ReplicaFailure"
NEW_SET_AVAILABLE = "NewReplicaSetAvailable"
TIMED_OUT = "ProgressDeadlineExceeded"
PAUSED = "DeploymentPaused"
RESUMED = "DeploymentResumed"


# -- conditions ---------------------------------------------------------------------------------


def condition(kind: str, status: str, reason: str, message: str, now: int) -> Object:
    moment = meta.rfc3339(now)
    return {
        "type": kind,
        "status": status,
        "lastUpdateTime": moment,
        "lastTransitionTime": moment,
        "reason": reason,
        "message": message,
    }


def with_condition(status: Object, new: Object) -> Object:
    """Sets the condition in the status, unless it has that status and reason already."""
    known = conditions.find(status, new["type"])
    if known is not None and known["status"] == new["status"]:
        if known["reason"] == new["reason"]:
            return status
        new = {**new, "lastTransitionTime": known["lastTransitionTime"]}
    return conditions.put(status, new)


def without_condition(status: Object, kind: str) -> Object:
    others = conditions.without(status, kind)
    if len(others) == len(status.get("conditions") or ()):
        return status
    out = {**status, "conditions": others}
    if not others:
        del out["conditions"]
    return out


def progressing_of(deployment: Object) -> Object | None:
    return conditions.find(deployment.get("status"), PROGRESSING)


def has_deadline(deployment: Object) -> bool:
    seconds = deployment["spec"].get("progressDeadlineSeconds")
    return seconds is not None and seconds != rules.NO_LIMIT


# -- the status of a rollout --------------------------------------------------------------------


def counts(deployment: Object, sets: Sequence[Object], new: Object | None, now: int) -> Object:
    """Returns the status with new counts and Available; other conditions are kept."""
    available = rules.total(sets, "availableReplicas")
    numbers = {
        "observedGeneration": deployment["metadata"].get("generation", 0),
        "replicas": rules.total(sets, "replicas"),
        "updatedReplicas": rules.count_of(new, "replicas") if new is not None else 0,
        "readyReplicas": rules.total(sets, "readyReplicas"),
        "availableReplicas": available,
        "unavailableReplicas": max(0, rules.total_replicas(sets) - available),
    }
    status: Object = {name: number for name, number in numbers.items() if number}
    old = deployment.get("status") or {}
    if old.get("conditions"):
        status["conditions"] = old["conditions"]
    if old.get("collisionCount") is not None:
        status["collisionCount"] = old["collisionCount"]
    if available >= rules.replicas_of(deployment) - rules.max_unavailable(deployment):
        available_condition = condition(
            AVAILABLE,
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.",
            now,
        )
    else:
        available_condition = condition(
            AVAILABLE,
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.",
            now,
        )
    return with_condition(status, available_condition)


def rollout(deployment: Object, sets: Sequence[Object], new: Object | None, now: int) -> Object:
    """Returns the status during a rollout: with Progressing and ReplicaFailure updated too."""
    status = counts(deployment, sets, new, now)
    if not has_deadline(deployment):
        status = without_condition(status, PROGRESSING)
    else:
        status = _with_progress(deployment, status, new, now)
    failure = _replica_failure(sets, new)
    if failure is None:
        return without_condition(status, REPLICA_FAILURE)
    return with_condition(status, failure)


def _with_progress(deployment: Object, status: Object, new: Object | None, now: int) -> Object:
    current = progressing_of(deployment)
    if (
        status.get("replicas", 0) == status.get("updatedReplicas", 0)
        and current is not None
        and current["reason"] == NEW_SET_AVAILABLE
    ):
        return status  # the rollout completed earlier: later changes are not its progress
    if new is not None:
        subject = f'ReplicaSet "{meta.name_of(new)}"'
    else:
        subject = f'Deployment "{meta.name_of(deployment)}"'
    if is_complete(deployment, status):
        message = f"{subject} has successfully progressed."
        return with_condition(
            status, condition(PROGRESSING, "True", NEW_SET_AVAILABLE, message, now)
        )
    if _has_progressed(deployment, status):
        progressing = condition(
            PROGRESSING, "True", "ReplicaSetUpdated", f"{subject} is progressing.", now
        )
        if current is not None:
            if current["status"] == "True":
                progressing["lastTransitionTime"] = current["lastTransitionTime"]
            status = without_condition(status, PROGRESSING)
        return with_condition(status, progressing)
    if _has_timed_out(deployment, status, now):
        message = f"{subject} has timed out progressing."
        return with_condition(status, condition(PROGRESSING, "False", TIMED_OUT, message, now))
    return status


def is_complete(deployment: Object, status: Object) -> bool:
    """All replicas have the new template and are available, and no old ones are left."""
    replicas = rules.replicas_of(deployment)
    return bool(
        status.get("updatedReplicas", 0) == replicas
        and status.get("replicas", 0) == replicas
        and status.get("availableReplicas", 0) == replicas
        and status.get("observedGeneration", 0) >= deployment["metadata"].get("generation", 0)
    )


def _has_progressed(deployment: Object, status: Object) -> bool:
    """More updated, ready or available replicas, or fewer old ones, than in the last status."""
    before = deployment.get("status") or {}

    def old_replicas(counts: Object) -> int:
        return int(counts.get("replicas", 0)) - int(counts.get("updatedReplicas", 0))

    grew = any(
        status.get(name, 0) > before.get(name, 0)
        for name in ("updatedReplicas", "readyReplicas", "availableReplicas")
    )
    return grew or old_replicas(status) < old_replicas(before)


def _has_timed_out(deployment: Object, status: Object, now: int) -> bool:
    current = conditions.find(status, PROGRESSING)
    if current is None or current["reason"] == NEW_SET_AVAILABLE:
        return False
    if current["reason"] == TIMED_OUT:
        return True
    return _deadline(deployment, current) < now


def _deadline(deployment: Object, current: Object) -> int:
    seconds = deployment["spec"]["progressDeadlineSeconds"]
    return meta.parse_time(current["lastUpdateTime"]) + int(seconds) * SECOND


def seconds_to_deadline(deployment: Object, status: Object, now: int) -> float:
    """Seconds until the progress deadline; 0 when there is none."""
    if not has_deadline(deployment) or is_complete(deployment, status):
        return 0.0
    current = conditions.find(status, PROGRESSING)
    if current is None or current["reason"] in (TIMED_OUT, PAUSED, NEW_SET_AVAILABLE):
        return 0.0
    return max(_deadline(deployment, current) - now, 0) / SECOND + 1


def _replica_failure(sets: Sequence[Object], new: Object | None) -> Object | None:
    """Returns the first ReplicaFailure, the new set's first, as the deployment's condition."""
    for item in [new, *sets] if new is not None else sets:
        failure = conditions.find(item.get("status"), REPLICA_FAILURE)
        if failure is not None:
            return {
                "type": REPLICA_FAILURE,
                "status": failure["status"],
                "lastUpdateTime": failure["lastTransitionTime"],
                "lastTransitionTime": failure["lastTransitionTime"],
                "reason": failure.get("reason", ""),
                "message": failure.get("message", ""),
            }
    return None
