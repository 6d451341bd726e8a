"""The resource quota controller: writes into each quota's status what is used of it.

Admission refuses by counting for itself; this is what `kubectl describe quota` shows.

Models kubernetes pkg/controller/resourcequota/resource_quota_controller.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from apiserver_app.apis import quotas
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object, ResourceInfo
from controllers_app.controllers.workload import podstate
from controllers_app.runtime import indexes
from controllers_app.runtime.controller import Controller, Result
from controllers_app.runtime.watches import ADDED, UPDATED, Every, For

QUOTAS = "resourcequotas"
IGNORED = ("events", "events.events.k8s.io")


class ResourceQuotaController(Controller):
    """Reconciles quotas; what no longer counts wakes those of its namespace."""

    source = "pkg/controller/resourcequota/resource_quota_controller.go syncResourceQuota"
    watches = (
        For(
            QUOTAS,
            on=ADDED | UPDATED,
            index=indexes.BY_NAMESPACE,
            changed=lambda old, quota: (
                old.get("spec") != quota.get("spec") or _hard(old) != _hard(quota)
            ),
        ),
        Every(
            lambda resources: _countable(resources),
            index=indexes.BY_NAMESPACE,
            # what is made was charged when it was admitted
            add_keys=lambda self, resource, obj: (),
            update_keys=lambda self, resource, old, obj: (
                self._quotas_of(obj) if _frees(resource, old, obj) else ()
            ),
            delete_keys=lambda self, resource, obj: self._quotas_of(obj),
        ),
    )
    pace = (1, 10)

    async def reconcile(self, key: str) -> Result | None:
        quota = self.caches[QUOTAS].get(key)
        if quota is None:
            return Result("is gone")
        hard = (quota.get("spec") or {}).get("hard") or {}
        used = self._used(quota, list(hard))
        status: Object = {}
        if hard:
            status = {"hard": hard, "used": used}
        if status == (quota.get("status") or {}):
            return Result("counts the same as before")
        namespace, name = meta.split_key(key)
        await self.client.update(
            QUOTAS, namespace, name, {**quota, "status": status}, subresource="status"
        )
        text = ", ".join(f"{name} {used[name]} of {hard[name]}" for name in sorted(used))
        return Result(f"counts {text or 'nothing'}: writes its status")

    def _used(self, quota: Object, names: list[str]) -> dict[str, str]:
        """Each name of the quota that something counts -> how much of it is used. What nothing
        counts any more stays as it was."""
        namespace = meta.namespace_of(quota)
        before = (quota.get("status") or {}).get("used") or {}
        amounts: dict[str, Any] = {name: before[name] for name in names if name in before}
        for resource, cache in self.every.items():
            if quotas.evaluator_for(resource).relevant(names):
                amounts |= quotas.total(quota, resource, cache.list(namespace), names)
        return {name: str(amounts[name]) for name in names if name in amounts}

    def _quotas_of(self, obj: Object) -> list[str]:
        return sorted(self.caches[QUOTAS].by("namespace", meta.namespace_of(obj)))


def _frees(resource: str, old: Object, obj: Object) -> bool:
    """Whether a change may leave less used; Models pkg/quota/v1/install/update_filter.go."""
    if resource == "pods":
        finishes = podstate.is_finished(obj) and not podstate.is_finished(old)
        deadlines = ["activeDeadlineSeconds" in pod["spec"] for pod in (old, obj)]
        return finishes or deadlines[0] != deadlines[1] or _is_resized(old, obj)
    if resource == "services":
        return bool(old["spec"].get("type") != obj["spec"].get("type"))
    return resource == "persistentvolumeclaims"


def _is_resized(old: Object, pod: Object) -> bool:
    return any(
        before[name] != resources
        for field in ("containerStatuses", "initContainerStatuses")
        for before in [_resources(old, field)]
        for name, resources in _resources(pod, field).items()
        if name in before
    )


def _resources(pod: Object, field: str) -> dict[str, Any]:
    statuses = (pod.get("status") or {}).get(field) or ()
    return {status["name"]: status.get("resources") for status in statuses}


def _hard(quota: Object) -> Any:
    return (quota.get("status") or {}).get("hard")


def _countable(resources: Sequence[ResourceInfo]) -> Sequence[ResourceInfo]:
    """Namespaced resources that can be listed and watched, each stored thing once."""
    by_storage: dict[str, ResourceInfo] = {}
    for info in resources:
        if not info.namespaced or info.is_hidden or info.key in IGNORED:
            continue
        if {"list", "watch"} <= set(info.verbs):
            by_storage.setdefault(info.storage, info)
    return tuple(by_storage.values())
