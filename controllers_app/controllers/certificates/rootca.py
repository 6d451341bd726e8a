"""The root CA publisher: every namespace has the config map `kube-root-ca.crt`.

Models kubernetes pkg/controller/certificates/rootcacertpublisher/publisher.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.workload import podcontrol
from controllers_app.runtime.controller import Context, Controller, Result

NAME = "kube-root-ca.crt"
DESCRIPTION = "kubernetes.io/description"
DESCRIPTION_TEXT = (
    "Contains a CA bundle that can be used to verify the kube-apiserver when using internal "
    "endpoints such as the internal service IP or kubernetes.default.svc. No other usage is "
    "guaranteed across distributions of Kubernetes clusters."
)


class RootCaController(Controller):
    """Reconciles namespaces, by name."""

    resource = "namespaces"
    source = "pkg/controller/certificates/rootcacertpublisher/publisher.go syncNamespace"

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._data = {"ca.crt": ctx.root_ca}
        self._namespaces = ctx.informers.informer("namespaces")
        self._maps = ctx.informers.informer("configmaps")
        self._namespaces.handle(self._changed, self._updated)
        self._maps.handle(on_update=self._map_updated, on_delete=self._map_gone)

    async def reconcile(self, key: str) -> Result | None:
        namespace = self._namespaces.get(key)
        if namespace is None or meta.is_deleting(namespace):
            return Result("is gone or going: does nothing")
        known = self._maps.get(f"{key}/{NAME}")
        if known is None:
            await self._create(key)
            return Result(f"creates {NAME}")
        annotations = meta.annotations_of(known)
        if known.get("data") == self._data and annotations.get(DESCRIPTION):
            return Result(f"has {NAME}")
        changed = meta.with_path(known, ("metadata", "annotations", DESCRIPTION), DESCRIPTION_TEXT)
        await self.client.update("configmaps", key, NAME, {**changed, "data": self._data})
        return Result(f"corrects {NAME}")

    async def _create(self, namespace: str) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": NAME,
                "namespace": namespace,
                "annotations": {DESCRIPTION: DESCRIPTION_TEXT},
            },
            "data": self._data,
        }
        try:
            await self.client.create("configmaps", namespace, body)
        except errors.ApiError as error:
            if not podcontrol.is_namespace_terminating(error):
                raise

    def _changed(self, namespace: Object, revision: int) -> None:
        self.queue.add(meta.name_of(namespace), revision)

    def _updated(self, _old: Object, namespace: Object, revision: int) -> None:
        if (namespace.get("status") or {}).get("phase") == "Active":
            self.queue.add(meta.name_of(namespace), revision)

    def _map_updated(self, _old: Object, found: Object, revision: int) -> None:
        self._map_gone(found, revision)

    def _map_gone(self, found: Object, revision: int) -> None:
        if meta.name_of(found) == NAME:
            self.queue.add(meta.namespace_of(found), revision)
