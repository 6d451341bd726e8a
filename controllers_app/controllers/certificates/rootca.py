"""The root CA publisher: every namespace has the config map `kube-root-ca.crt`.

Models kubernetes pkg/controller/certificates/rootcacertpublisher/publisher.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.workload import podcontrol
from controllers_app.runtime.controller import Controller, Result
from controllers_app.runtime.watches import ADDED, DELETED, UPDATED, For, Watches

NAME = "kube-root-ca.crt"
DESCRIPTION = "kubernetes.io/description"
DESCRIPTION_TEXT = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
    "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
    "guaranteed across distributions of Kubernetes clusters."
)


class RootCaController(Controller):
    """Reconciles namespaces, by name."""

    source = "pkg/controller/certificates/rootcacertpublisher/publisher.go syncNamespace"
    watches = (
        For("namespaces", on=ADDED | UPDATED, changed=lambda old, namespace: _is_active(namespace)),
        Watches(
            "configmaps",
            on=UPDATED | DELETED,
            when=lambda item: meta.name_of(item) == NAME,
            keys=lambda self, item: (meta.namespace_of(item),),
        ),
    )

    async def reconcile(self, key: str) -> Result | None:
        data = {"ca.crt": self.ctx.root_ca}
        known = self.caches["configmaps"].get(f"{key}/{NAME}")
        if known is None:
            return await self._create(key, data)
        annotations = meta.annotations_of(known)
        if known.get("data") == data and annotations.get(DESCRIPTION):
            return Result(f"has {NAME}")
        changed = meta.with_path(known, ("metadata", "annotations", DESCRIPTION), DESCRIPTION_TEXT)
        await self.client.update("configmaps", key, NAME, {**changed, "data": data})
        return Result(f"corrects {NAME}")

    async def _create(self, namespace: str, data: dict[str, str]) -> Result:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": NAME, "annotations": {DESCRIPTION: DESCRIPTION_TEXT}},
            "data": data,
        }
        try:
            await self.client.create("configmaps", namespace, body)
        except errors.ApiError as error:
            if error.code != 404 and not podcontrol.is_namespace_terminating(error):
                raise
            return Result("its namespace is gone or going")
        return Result(f"creates {NAME}")


def _is_active(namespace: Object) -> bool:
    return bool((namespace.get("status") or {}).get("phase") == "Active")
