"""Checks that the sources of a pod's volumes and environment exist, and fetches its tokens.

Raises NotMountable with the kubelet's message; other API errors propagate.

Models kubernetes pkg/volume/{projected,configmap,secret}, pkg/kubelet/kubelet_pods.go
(makeEnvironmentVariables) and pkg/kubelet/token/token_manager.go.
"""

from __future__ import annotations

from typing import NamedTuple

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.client import Client
from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.meta import Object
from controllers_app.kubelet.volumes.references import NotSynced, References

TOKEN_SECONDS, TOKEN_SECONDS_MAX = 3600, 24 * 3600

Keys = frozenset[str]

_WORDS = {"configmaps": ("configmap", "ConfigMap"), "secrets": ("secret", "Secret")}


class NotMountable(Exception):
    """A volume or environment source of a pod does not exist (yet)."""


class Token(NamedTuple):
    """A service account token, and when it was requested."""

    text: str
    issued: int


def is_due(issued: int, seconds: int, now: int) -> bool:
    """Whether a token has to be replaced."""
    return now - issued >= min(seconds * 0.8, TOKEN_SECONDS_MAX) * SECOND


class Mounter:
    """Gets the sources of volumes and environments from the API server, as the node."""

    def __init__(self, kernel: Kernel, client: Client, references: References) -> None:
        self._kernel = kernel
        self._client = client
        self._references = references
        self._tokens: dict[str, dict[tuple[str, int], Token]] = {}  # by the pod's uid

    def forget(self, uid: str) -> None:
        """Drops what it has for a pod that has left the node."""
        self._tokens.pop(uid, None)
        self._references.unregister(uid)

    async def missing_pull_secrets(self, pod: Object) -> list[str]:
        """The names of the pull secrets that do not exist."""
        missing = []
        for reference in pod["spec"].get("imagePullSecrets") or ():
            name = reference.get("name")
            try:
                resolved = not name or await self._references.get(
                    "secrets", meta.namespace_of(pod), name
                )
            except NotSynced:
                resolved = None
            if not resolved:
                missing.append(name)
        return missing

    async def mount(self, pod: Object, volume: Object) -> None:
        """Fetches the volume's sources."""
        namespace = meta.namespace_of(pod)
        if "configMap" in volume:
            await self._fill("configmaps", namespace, volume["configMap"], "name")
        elif "secret" in volume:
            await self._fill("secrets", namespace, volume["secret"], "secretName")
        elif "projected" in volume:
            for source in volume["projected"].get("sources") or ():
                await self._project(pod, namespace, source)
        elif "persistentVolumeClaim" in volume:
            await self._claim(namespace, volume["persistentVolumeClaim"]["claimName"])
        elif "ephemeral" in volume:
            await self._claim(namespace, f"{meta.name_of(pod)}-{volume['name']}")

    async def environment(self, pod: Object, container: Object) -> None:
        """Fetches the sources of the container's environment."""
        namespace = meta.namespace_of(pod)
        for source in container.get("envFrom") or ():
            for resource, field in (("configmaps", "configMapRef"), ("secrets", "secretRef")):
                if field in source:
                    await self._keys(resource, namespace, source[field], "name")
        for variable in container.get("env") or ():
            value_from = variable.get("valueFrom") or {}
            for resource, field in (("configmaps", "configMapKeyRef"), ("secrets", "secretKeyRef")):
                if field not in value_from:
                    continue
                reference = value_from[field]
                keys = await self._keys(resource, namespace, reference, "name")
                if keys is not None and reference["key"] not in keys:
                    if not reference.get("optional"):
                        raise NotMountable(
                            f"couldn't find key {reference['key']} in {_WORDS[resource][1]} "
                            f"{namespace}/{reference['name']}"
                        )

    async def _project(self, pod: Object, namespace: str, source: Object) -> None:
        if "serviceAccountToken" in source:
            await self.token(pod, source["serviceAccountToken"])
        elif "configMap" in source:
            await self._fill("configmaps", namespace, source["configMap"], "name")
        elif "secret" in source:
            await self._fill("secrets", namespace, source["secret"], "name")

    async def token(self, pod: Object, projection: Object) -> Token:
        """A token of the pod's service account, bound to the pod; kept until 80% of its lifetime
        or a day have passed."""
        seconds = projection.get("expirationSeconds", TOKEN_SECONDS)
        tokens = self._tokens.setdefault(meta.uid_of(pod), {})
        key = projection.get("audience") or "", seconds
        token = tokens.get(key)
        if token is None or is_due(token.issued, seconds, self._kernel.now):
            issued = self._kernel.now
            token = tokens[key] = Token(await self._request(pod, *key), issued)
        return token

    async def _request(self, pod: Object, audience: str, seconds: int) -> str:
        namespace = meta.namespace_of(pod)
        request = {
            "apiVersion": "authentication.k8s.io/v1",
            "kind": "TokenRequest",
            "metadata": {"creationTimestamp": None},
            "spec": {
                "audiences": [audience] if audience else None,
                "expirationSeconds": seconds,
                "boundObjectRef": {
                    "apiVersion": "v1",
                    "kind": "Pod",
                    "name": meta.name_of(pod),
                    "uid": meta.uid_of(pod),
                },
            },
            "status": {"token": "", "expirationTimestamp": None},
        }
        account = pod["spec"].get("serviceAccountName") or "default"
        try:
            issued = await self._client.create(
                "serviceaccounts", namespace, request, name=account, subresource="token"
            )
        except errors.ApiError as error:
            raise NotMountable(f"failed to fetch token: {error.message}") from error
        return str(issued["status"]["token"])

    async def _fill(self, resource: str, namespace: str, source: Object, field: str) -> None:
        keys = await self._keys(resource, namespace, source, field)
        if keys is None or source.get("optional"):
            return
        for item in source.get("items") or ():
            if item["key"] not in keys:
                word = _WORDS[resource][0]
                what = "config" if word == "configmap" else "secret"
                raise NotMountable(f"{word} references non-existent {what} key: {item['key']}")

    async def _keys(self, resource: str, namespace: str, source: Object, field: str) -> Keys | None:
        """The keys of the object; None when it is optional and missing."""
        name = source.get(field)
        if not name:
            return None
        try:
            obj = await self._references.get(resource, namespace, name)
        except NotSynced as error:
            raise NotMountable(str(error)) from error
        if obj is None and source.get("optional"):
            return None
        if obj is None:
            raise NotMountable(f'{_WORDS[resource][0]} "{name}" not found')
        return frozenset((*(obj.get("data") or ()), *(obj.get("binaryData") or ())))

    async def _claim(self, namespace: str, name: str) -> None:
        try:
            claim = await self._client.get("persistentvolumeclaims", namespace, name)
        except errors.ApiError as error:
            raise NotMountable(error.message) from error
        if (claim.get("status") or {}).get("phase") != "Bound":
            raise NotMountable("PVC is not bound")


def used_volumes(spec: Object) -> list[Object]:
    """The volumes that some container mounts or has as a device."""
    used = {
        use["name"]
        for group in ("initContainers", "containers", "ephemeralContainers")
        for container in spec.get(group) or ()
        for field in ("volumeMounts", "volumeDevices")
        for use in container.get(field) or ()
    }
    return [volume for volume in spec.get("volumes") or () if volume["name"] in used]
