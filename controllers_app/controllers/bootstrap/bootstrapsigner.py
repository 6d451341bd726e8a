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
from controllers_app.runtime.controller import Controller, Result
from controllers_app.runtime.watches import ADDED, UPDATED, For, Watches

NAMESPACE, NAME = "kube-public", "cluster-info"
KEY = f"{NAMESPACE}/{NAME}"
PREFIX = "jws-kubeconfig-"


class BootstrapSignerController(Controller):
    """Reconciles the one config map."""

    source = "pkg/controller/bootstrap/bootstrapsigner.go signConfigMap"
    watches = (
        For(
            "configmaps", on=ADDED | UPDATED, when=lambda controller: meta.key_of(controller) == KEY
        ),
        Watches(
            "secrets",
            when=lambda secret: secret.get("type") == bootstraptokens.TYPE,
            keys=lambda self, secret: (KEY,),
        ),
    )
    workers = 1

    async def reconcile(self, key: str) -> Result | None:
        config_map = self.caches["configmaps"].get(key)
        data = (config_map or {}).get("data") or {}
        content = data.get("kubeconfig")
        if config_map is None or content is None:
            return Result("there is nothing to sign")
        wanted = {name: text for name, text in data.items() if not name.startswith(PREFIX)}
        for identity, secret in self._tokens().items():
            wanted[PREFIX + identity] = signature(content, identity, secret)
        if wanted == data:
            return Result("is signed as it should be")
        with errors.ignoring("NotFound", "Conflict"):
            await self.client.update("configmaps", NAMESPACE, NAME, {**config_map, "data": wanted})
        return Result(
            f"signs with {len([name for name in wanted if name.startswith(PREFIX)])} tokens"
        )

    def _tokens(self) -> dict[str, str]:
        """Secrets by id, of those tokens that may sign."""
        tokens: dict[str, str] = {}
        for secret in self.caches["secrets"].list(bootstraptokens.NAMESPACE):
            if secret.get("type") != bootstraptokens.TYPE:
                continue
            identity = bootstraptokens.read(secret, "token-id")
            password = bootstraptokens.read(secret, "token-secret")
            named = meta.name_of(secret) == f"{bootstraptokens.NAME_PREFIX}{identity}"
            signs = bootstraptokens.read(secret, "usage-bootstrap-signing") == "true"
            ended = bootstraptokens.expired(secret, self.kernel.now)
            if identity and password and named and signs and not ended:
                tokens[identity] = password
        return tokens


def signature(content: str, identity: str, secret: str) -> str:
    """A detached JWS: header, nothing, signature."""
    header = _coded(json.dumps({"alg": "HS256", "kid": identity}, separators=(",", ":")).encode())
    signed = f"{header}.{_coded(content.encode())}".encode()
    return f"{header}..{_coded(hmac.new(secret.encode(), signed, hashlib.sha256).digest())}"


def _coded(raw: bytes) -> str:
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode()
