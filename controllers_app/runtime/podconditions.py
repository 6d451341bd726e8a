"""Changes of a pod's conditions, of which only what differs is sent.

Models kubernetes pkg/api/v1/pod/util.go (UpdatePodCondition) and pkg/util/pod (PatchPodStatus).
"""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object


def condition(pod: Object, now: int, kind: str, state: str, reason: str, message: str) -> Object:
    """The changes of a status that give the pod this condition; {} if it has it."""
    conditions = (pod.get("status") or {}).get("conditions") or ()
    old = next((condition for condition in conditions if condition["type"] == kind), None)
    wanted: dict[str, Any] = {
        "type": kind,
        "status": state,
        "reason": reason,
        "message": message,
        "lastProbeTime": None,
        "lastTransitionTime": meta.rfc3339(now),
    }
    if old is not None:
        if old["status"] == state:
            wanted["lastTransitionTime"] = old.get("lastTransitionTime")
        wanted = {key: value for key, value in wanted.items() if old.get(key) != value}
        if not wanted:
            return {}
        wanted["type"] = kind
    changes: Object = {"conditions": [wanted]}
    if conditions:
        types = [condition["type"] for condition in conditions]
        order = types if old is not None else [*types, kind]
        changes["$setElementOrder/conditions"] = [{"type": kind} for kind in order]
    return changes
