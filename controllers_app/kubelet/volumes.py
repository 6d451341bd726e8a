"""The volumes of a pod: what they name must exist, and tokens are fetched for this very pod.

Models kubernetes pkg/volume/{projected,configmap,secret} and pkg/kubelet/token/token_manager.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.client import Client
from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.meta import Object

CACHE_SECONDS = 60
CACHE_MAX = 1024


class Volumes:
    """Fetches what volumes need, through the API server, as the node."""

    def __init__(self, kernel: Kernel, client: Client) -> None:
        self._kernel = kernel
        self._client = client
        self._known: dict[tuple[str, str, str], int] = {}

    async def mount(self, pod: Object, volume: Object) -> None:
        """Raises the ApiError of whatever is missing."""
        namespace = meta.namespace_of(pod)
        if "configMap" in volume:
            await self._need("configmaps", namespace, volume["configMap"], "name")
        elif "secret" in volume:
            await self._need("secrets", namespace, volume["secret"], "secretName")
        elif "projected" in volume:
            for source in volume["projected"].get("sources") or ():
                await self._project(pod, namespace, source)
        elif "persistentVolumeClaim" in volume:
            await self._claim(namespace, volume["persistentVolumeClaim"]["claimName"])

    async def _project(self, pod: Object, namespace: str, source: Object) -> None:
        if "serviceAccountToken" in source:
            await self._token(pod, namespace, source["serviceAccountToken"])
        elif "configMap" in source:
            await self._need("configmaps", namespace, source["configMap"], "name")
        elif "secret" in source:
            await self._need("secrets", namespace, source["secret"], "name")

    async def _token(self, pod: Object, namespace: str, wanted: Object) -> None:
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "metadata": {},
            "spec": {
                "audiences": [wanted["audience"]] if wanted.get("audience") else [],
                "expirationSeconds": wanted.get("expirationSeconds", 3600),
                "boundObjectRef": {
                    "apiVersion": "v1", "kind": "Pod", "name": meta.name_of(pod),
                    "uid": meta.uid_of(pod),
                },
            },
        }  # fmt: skip
        account = pod["spec"].get("serviceAccountName") or "default"
        await self._client.create(
            "serviceaccounts", namespace, request, name=account, subresource="token"
        )

    async def _need(self, resource: str, namespace: str, source: Object, field: str) -> None:
        name = source.get(field)
        if not name:
            return
        key = (resource, namespace, name)
        now = self._kernel.now
        if self._known.get(key, 0) > now:
            return
        try:
            await self._client.get(resource, namespace, name)
        except errors.ApiError as error:
            if error.code == 404 and source.get("optional"):
                return
            kind = resource[:-1]
            if error.code == 404:
                raise errors.ApiError(404, "NotFound", f'{kind} "{name}" not found') from error
            raise
        if len(self._known) >= CACHE_MAX:
            self._known.clear()
        self._known[key] = now + CACHE_SECONDS * SECOND

    async def _claim(self, namespace: str, name: str) -> None:
        claim = await self._client.get("persistentvolumeclaims", namespace, name)
        phase = (claim.get("status") or {}).get("phase")
        if phase != "Bound":
            raise errors.ApiError(409, "Conflict", f'PVC "{namespace}/{name}" is not bound')
