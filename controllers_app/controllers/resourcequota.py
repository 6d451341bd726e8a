"""The resource quota controller: writes into each quota's status what is used of it.

Admission refuses by counting for itself; this is what `kubectl describe quota` shows.

Models kubernetes pkg/controller/resourcequota/resource_quota_controller.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.apis import quotas
from apiserver_app.machinery import meta
from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.syntax.quantity import ZERO
from controllers_app.controllers.workload import podstate
from controllers_app.runtime.controller import Context, Controller, Result
from controllers_app.runtime.customresources import CustomResourceInformers
from controllers_app.runtime.informer import Informer

QUOTAS = "resourcequotas"
PACE = (1, 10)  # reconciles of one quota per second, and at once
IGNORED = ("events", "events.events.k8s.io")


class ResourceQuotaController(Controller):
    """Reconciles quotas; anything quotas count wakes those of its namespace."""

    resource = QUOTAS
    source = "pkg/controller/resourcequota/resource_quota_controller.go syncResourceQuota"

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self.queue.pace(*PACE)
        self._quotas = ctx.informers.informer(QUOTAS).index_by_namespace()
        self._quotas.handle(self._changed, self._updated)
        self._counted: dict[str, Informer] = {}
        resources = kinds.Resources(ctx.version, ctx.config)
        for info in _countable(resources.built_in):
            self._count(info, ctx.informers.informer(info.key))
        CustomResourceInformers(ctx.informers, resources, self._defined, self._undefined)

    def _count(self, info: ResourceInfo, cache: Informer) -> None:
        self._counted[info.key] = cache.index_by_namespace()
        cache.handle(self._appeared, self._altered, self._appeared)

    def _defined(self, info: ResourceInfo, cache: Informer) -> None:
        if info.namespaced:
            self._count(info, cache)

    def _undefined(self, info: ResourceInfo) -> None:
        self._counted.pop(info.key, None)

    async def reconcile(self, key: str) -> Result | None:
        quota = self._quotas.get(key)
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
        text = ", ".join(f"{one} {used[one]} of {hard[one]}" for one in sorted(hard))
        return Result(f"counts {text or 'nothing'}: writes its status")

    def _used(self, quota: Object, names: list[str]) -> dict[str, str]:
        """Each name of the quota that something counts -> how much of it is used."""
        namespace = meta.namespace_of(quota)
        amounts = dict.fromkeys(names, ZERO)
        for resource, cache in self._counted.items():
            if quotas.evaluator_for(resource).relevant(names):
                amounts |= quotas.total(quota, resource, cache.list(namespace), names)
        return {name: str(amounts[name]) for name in names}

    def _changed(self, quota: Object, revision: int) -> None:
        self.queue.add(meta.key_of(quota), revision)

    def _updated(self, old: Object, quota: Object, revision: int) -> None:
        if old.get("spec") != quota.get("spec") or _hard(old) != _hard(quota):
            self.queue.add(meta.key_of(quota), revision)

    def _appeared(self, obj: Object, revision: int) -> None:
        for key in sorted(self._quotas.by("namespace", meta.namespace_of(obj))):
            self.queue.add(key, revision)

    def _altered(self, old: Object, obj: Object, revision: int) -> None:
        """Use changes with the spec, and when a pod ends."""
        if not self._quotas.by("namespace", meta.namespace_of(obj)):
            return
        if obj.get("spec") != old.get("spec") or podstate.is_finished(old) != podstate.is_finished(
            obj
        ):
            self._appeared(obj, revision)


def _hard(quota: Object) -> Any:
    return (quota.get("status") or {}).get("hard")


def _countable(resources: tuple[ResourceInfo, ...]) -> tuple[ResourceInfo, ...]:
    """Namespaced resources that can be listed and watched, each stored thing once."""
    by_storage: dict[str, ResourceInfo] = {}
    for info in resources:
        if info.namespaced and info.key not in IGNORED and {"list", "watch"} <= set(info.verbs):
            by_storage.setdefault(info.storage, info)
    return tuple(by_storage.values())
