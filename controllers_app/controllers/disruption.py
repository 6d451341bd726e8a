"""The disruption controller: how many pods of each budget may be evicted now.

The eviction handler of the API server takes from `disruptionsAllowed`; this puts it right after
every change.

Models kubernetes pkg/controller/disruption/disruption.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery import conditions, errors, meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import labels
from controllers_app.controllers.deployment import rules
from controllers_app.controllers.workload import podstate
from controllers_app.runtime import indexes
from controllers_app.runtime.controller import Controller, Result
from controllers_app.runtime.watches import ADDED, UPDATED, For, Reads, Watches, selecting

BUDGETS = "poddisruptionbudgets.policy"
# how long an eviction that was allowed may take before it does not count any more
DELETION_SECONDS = 2 * 60
_SCALED = {
    "ReplicaSet": "replicasets.apps",
    "StatefulSet": "statefulsets.apps",
    "ReplicationController": "replicationcontrollers",
    "Deployment": "deployments.apps",
}


class DisruptionController(Controller):
    """Reconciles pod disruption budgets."""

    source = "pkg/controller/disruption/disruption.go sync"
    watches = (
        For(BUDGETS, on=ADDED | UPDATED, index=indexes.BY_NAMESPACE),
        Watches(
            "pods",
            index=indexes.BY_NAMESPACE,
            keys=lambda self, pod: selecting(self.caches[BUDGETS], pod),
        ),
        *(Reads(resource) for resource in _SCALED.values()),
    )
    pace = (1, 20)

    async def reconcile(self, key: str) -> Result | None:
        budget = self.caches[BUDGETS].get(key)
        if budget is None:
            return Result("is gone")
        selector = labels.from_label_selector(budget["spec"].get("selector"))
        namespace, name = meta.split_key(key)
        pods = [
            pod
            for _, pod in sorted(self.caches["pods"].by("namespace", namespace).items())
            if selector.matches(meta.labels_of(pod)) and not podstate.is_finished(pod)
        ]
        disrupted, wait = self._disrupted(budget, pods)
        try:
            expected, desired = self._wanted(budget, pods)
        except errors.ApiError as error:
            self.recorder.event(budget, "Warning", "CalculateExpectedPodCountFailed", error.message)
            raise
        healthy = sum(
            1
            for pod in pods
            if podstate.is_ready(pod)
            and not meta.is_deleting(pod)
            and meta.name_of(pod) not in disrupted
        )
        allowed = max(0, healthy - desired) if expected else 0
        status = self._status(budget, healthy, desired, expected, allowed, disrupted)
        if status != budget.get("status"):
            await self.client.update(
                BUDGETS, namespace, name, {**budget, "status": status}, subresource="status"
            )
        return Result(
            f"needs {desired} of {expected} healthy, has {healthy}: allows {allowed}", wait
        )

    def _wanted(self, budget: Object, pods: list[Object]) -> tuple[int, int]:
        """(expected pods, how many of them must stay healthy)."""
        spec = budget["spec"]
        if spec.get("maxUnavailable") is not None:
            expected = self._expected(pods)
            lost = rules.scaled_value(spec["maxUnavailable"], expected, up=True)
            return expected, max(0, expected - lost)
        least: Any = spec.get("minAvailable")
        if isinstance(least, int):
            return len(pods), least
        expected = self._expected(pods)
        if least is None:
            return expected, 0
        return expected, rules.scaled_value(least, expected, up=True)

    def _expected(self, pods: list[Object]) -> int:
        """The sum of what the pods' controllers want."""
        owners: dict[str, int] = {}
        for pod in pods:
            controller = meta.controller_of(pod)
            if controller is None:
                continue
            owner = self._owner(meta.namespace_of(pod), controller)
            if owner is None:
                raise errors.internal(f"found no controllers for pod {meta.name_of(pod)!r}")
            owners[meta.uid_of(owner)] = rules.replicas_of(owner)
        return sum(owners.values())

    def _owner(self, namespace: str, controller: Object) -> Object | None:
        """The scaled object above a pod: a deployment rather than its replica set."""
        cache = self.caches.get(_SCALED.get(controller["kind"], ""))
        owner = cache.get(f"{namespace}/{controller['name']}") if cache is not None else None
        if owner is None or meta.uid_of(owner) != controller["uid"]:
            return None
        above = meta.controller_of(owner)
        if above is not None:
            return self._owner(namespace, above) or owner
        return owner

    def _disrupted(self, budget: Object, pods: list[Object]) -> tuple[dict[str, str], float]:
        """Pods whose eviction was allowed but which are not gone yet, and when to look again."""
        known = (budget.get("status") or {}).get("disruptedPods") or {}
        out: dict[str, str] = {}
        wait = 0.0
        for pod in pods:
            name = meta.name_of(pod)
            since = known.get(name)
            if since is None or meta.is_deleting(pod):
                continue
            left = (meta.parse_time(since) - self.kernel.now) / SECOND + DELETION_SECONDS
            if left > 0:
                out[name] = since
                wait = max(wait, left)
        return out, wait

    def _status(
        self,
        budget: Object,
        healthy: int,
        desired: int,
        expected: int,
        allowed: int,
        disrupted: dict[str, str],
    ) -> Object:
        generation = budget["metadata"].get("generation", 0)
        status: Object = {"observedGeneration": generation} if generation else {}
        if disrupted:
            status["disruptedPods"] = disrupted
        status |= {
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
        }
        condition: Object = {
            "type": "DisruptionAllowed",
            "status": "True" if allowed else "False",
            "observedGeneration": generation,
            "lastTransitionTime": meta.rfc3339(self.kernel.now),
            "reason": "SufficientPods" if allowed else "InsufficientPods",
            "message": "",
        }
        known = conditions.find(budget.get("status"), "DisruptionAllowed")
        if known is not None and known["status"] == condition["status"]:
            condition["lastTransitionTime"] = known["lastTransitionTime"]
        status["conditions"] = [condition]
        return status
