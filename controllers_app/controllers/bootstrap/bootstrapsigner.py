"""The bootstrap signer: cluster-info in kube-public is signed with every token that may sign.

Whoever joins with a token can so tell that the cluster knows it, before trusting its CA.

Models kubernetes pkg/controller/bootstrap/bootstrapsigner.go and
staging/src/k8s.io/cluster-bootstrap/token/jws/jws.go.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import json

from apiserver_app.apis import bootstraptokens
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from controllers_app.runtime.controller import Context, Controller, Result

NAMESPACE, NAME = "kube-public", "cluster-info"
KEY = f"{NAMESPACE}/{NAME}"
PREFIX = "jws-kubeconfig-"


class BootstrapSignerController(Controller):
    """Reconciles the one config map."""

    resource = "configmaps"
    source = "pkg/controller/bootstrap/bootstrapsigner.go signConfigMap"
    workers = 1

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._maps = ctx.informers.informer("configmaps")
        self._secrets = ctx.informers.informer("secrets")
        self._maps.handle(self._map_changed, self._map_updated)
        self._secrets.handle(self._secret_changed, self._secret_updated, self._secret_changed)

    async def reconcile(self, key: str) -> Result | None:
        found = self._maps.get(key)
        data = (found or {}).get("data") or {}
        content = data.get("kubeconfig")
        if found is None or content is None:
            return Result("there is nothing to sign")
        wanted = {name: text for name, text in data.items() if not name.startswith(PREFIX)}
        for identity, secret in self._tokens().items():
            wanted[PREFIX + identity] = signature(content, identity, secret)
        if wanted == data:
            return Result("is signed as it should be")
        try:
            await self.client.update("configmaps", NAMESPACE, NAME, {**found, "data": wanted})
        except errors.ApiError as error:
            if error.code not in (404, 409):
                raise
        return Result(f"signs with {len([one for one in wanted if one.startswith(PREFIX)])} tokens")

    def _tokens(self) -> dict[str, str]:
        """Secrets by id, of those tokens that may sign."""
        found: dict[str, str] = {}
        for secret in self._secrets.list(bootstraptokens.NAMESPACE):
            if secret.get("type") != bootstraptokens.TYPE:
                continue
            identity = bootstraptokens.read(secret, "token-id")
            password = bootstraptokens.read(secret, "token-secret")
            named = meta.name_of(secret) == f"{bootstraptokens.NAME_PREFIX}{identity}"
            signs = bootstraptokens.read(secret, "usage-bootstrap-signing") == "true"
            ended = bootstraptokens.expired(secret, self.kernel.now)
            if identity and password and named and signs and not ended:
                found[identity] = password
        return found

    def _map_changed(self, found: Object, revision: int) -> None:
        if meta.key_of(found) == KEY:
            self.queue.add(KEY, revision)

    def _map_updated(self, _old: Object, found: Object, revision: int) -> None:
        self._map_changed(found, revision)

    def _secret_changed(self, secret: Object, revision: int) -> None:
        if secret.get("type") == bootstraptokens.TYPE:
            self.queue.add(KEY, revision)

    def _secret_updated(self, _old: Object, secret: Object, revision: int) -> None:
        self._secret_changed(secret, revision)


def signature(content: str, identity: str, secret: str) -> str:
    """A detached JWS: header, nothing, signature."""
    header = _coded(json.dumps({"alg": "HS256", "kid": identity}, separators=(",", ":")).encode())
    signed = f"{header}.{_coded(content.encode())}".encode()
    return f"{header}..{_coded(hmac.new(secret.encode(), signed, hashlib.sha256).digest())}"


def _coded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
