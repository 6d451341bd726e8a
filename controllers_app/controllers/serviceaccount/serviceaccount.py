"""The service account controller: every active namespace has its `default` service account.

Models kubernetes pkg/controller/serviceaccount/serviceaccounts_controller.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors, meta
from controllers_app.controllers.workload import podcontrol
from controllers_app.runtime.controller import Controller, Result
from controllers_app.runtime.watches import ADDED, DELETED, UPDATED, For, Watches

ENSURED = ("default",)


class ServiceAccountController(Controller):
    """Reconciles namespaces, by name."""

    source = "pkg/controller/serviceaccount/serviceaccounts_controller.go syncNamespace"
    watches = (
        For("namespaces", on=ADDED | UPDATED),
        Watches(
            "serviceaccounts",
            on=DELETED,
            when=lambda account: meta.name_of(account) in ENSURED,
            keys=lambda self, account: (meta.namespace_of(account),),
        ),
    )

    async def reconcile(self, key: str) -> Result | None:
        namespace = self.caches["namespaces"].get(key)
        if namespace is None:
            return Result("is gone")
        if (namespace.get("status") or {}).get("phase") != "Active":
            return Result("is not active: does nothing")
        accounts = self.caches["serviceaccounts"]
        missing = [name for name in ENSURED if accounts.get(f"{key}/{name}") is None]
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
