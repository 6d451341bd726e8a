"""The service account controller: every active namespace has its `default` service account.

Models kubernetes pkg/controller/serviceaccount/serviceaccounts_controller.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.workload import podcontrol
from controllers_app.runtime.controller import Context, Controller, Result

ENSURED = ("default",)


class ServiceAccountController(Controller):
    """Reconciles namespaces, by name."""

    resource = "namespaces"
    source = "pkg/controller/serviceaccount/serviceaccounts_controller.go syncNamespace"

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._namespaces = ctx.informers.informer("namespaces")
        self._accounts = ctx.informers.informer("serviceaccounts")
        self._namespaces.handle(self._changed, self._updated)
        self._accounts.handle(on_delete=self._account_gone)

    async def reconcile(self, key: str) -> Result | None:
        namespace = self._namespaces.get(key)
        if namespace is None:
            return Result("is gone")
        if (namespace.get("status") or {}).get("phase") != "Active":
            return Result("is not active: does nothing")
        missing = [name for name in ENSURED if self._accounts.get(f"{key}/{name}") is None]
        for name in missing:
            await self._create(key, name)
        return Result(f"creates {', '.join(missing)}" if missing else "has its service accounts")

    async def _create(self, namespace: str, name: str) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": {"name": name, "namespace": namespace},
        }
        try:
            await self.client.create("serviceaccounts", namespace, body)
        except errors.ApiError as error:
            if error.reason != "AlreadyExists" and not podcontrol.is_namespace_terminating(error):
                raise

    def _changed(self, namespace: Object, revision: int) -> None:
        self.queue.add(meta.name_of(namespace), revision)

    def _updated(self, _old: Object, namespace: Object, revision: int) -> None:
        self.queue.add(meta.name_of(namespace), revision)

    def _account_gone(self, account: Object, revision: int) -> None:
        if meta.name_of(account) in ENSURED:
            self.queue.add(meta.namespace_of(account), revision)
