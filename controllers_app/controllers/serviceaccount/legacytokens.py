"""Up to 1.23: a Secret with a token is made for every service account that names none.

From 1.24 on (LegacyServiceAccountTokenNoAutoGeneration) nobody does; a Secret that somebody makes
still gets its token, see accounttokens.

Models kubernetes pkg/controller/serviceaccount/tokens_controller.go (ensureReferencedToken).
"""

from __future__ import annotations

import base64

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.serviceaccount.tokens import NAME, TYPE, UID
from controllers_app.runtime.controller import Controller, Result
from controllers_app.runtime.watches import ADDED, DELETED, UPDATED, For, Watches


class LegacyTokensController(Controller):
    """Reconciles service accounts, by key."""

    source = "pkg/controller/serviceaccount/tokens_controller.go syncServiceAccount"
    watches = (
        For("serviceaccounts", on=ADDED | UPDATED),
        Watches(
            "secrets",
            on=DELETED,
            when=lambda secret: (
                secret.get("type") == TYPE and meta.annotations_of(secret).get(NAME)
            ),
            keys=lambda self, secret: (_account_key(secret),),
        ),
    )
    retries_max = 10

    async def reconcile(self, key: str) -> Result | None:
        account = self.caches["serviceaccounts"].get(key)
        if account is None or meta.is_deleting(account):
            return Result("is gone")
        if self._has_token(account):
            return Result("has its token")
        namespace, name = meta.split_key(key)
        live = await self.live("serviceaccounts", namespace, name)
        if live is None or meta.uid_of(live) != meta.uid_of(account):
            return Result("is gone or another one")
        if self._has_token(live):
            return Result("has its token")
        made = await self._create(live, namespace, name)
        if made is None:
            return Result("its namespace is about to go")
        return await self._refer(live, namespace, name, made)

    def _has_token(self, account: Object) -> bool:
        """Whether it names a Secret that holds a token of its own."""
        for reference in account.get("secrets") or ():
            secret = self.caches["secrets"].get(
                f"{meta.namespace_of(account)}/{reference.get('name')}"
            )
            if secret is not None and secret.get("type") == TYPE:
                annotations = meta.annotations_of(secret)
                if annotations.get(NAME) == meta.name_of(account):
                    return annotations.get(UID) in (None, meta.uid_of(account))
        return False

    async def _create(self, account: Object, namespace: str, name: str) -> str | None:
        secret = f"{name}-token-{self.ctx.rand.suffix()}"
        uid = meta.uid_of(account)
        data = {"namespace": _coded(namespace)}
        if self.ctx.root_ca:
            data["ca.crt"] = _coded(self.ctx.root_ca)
        if self.ctx.authority is not None:
            token = self.ctx.authority.account_token(namespace, name, uid, secret)
            data["token"] = _coded(token)
        body: Object = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": secret, "annotations": {NAME: name, UID: uid}},
            "type": TYPE,
            "data": data,
        }
        try:
            await self.client.create("secrets", namespace, body)
        except errors.ApiError as error:
            if error.code == 404 or "because it is being terminated" in error.message:
                return None
            raise
        return secret

    async def _refer(self, account: Object, namespace: str, name: str, secret: str) -> Result:
        """Name the Secret in the account; one that cannot be named is taken back."""
        references = [*(account.get("secrets") or ()), {"name": secret}]
        try:
            await self.client.update(
                "serviceaccounts", namespace, name, {**account, "secrets": references}
            )
        except errors.ApiError as error:
            await self.client.delete("secrets", namespace, secret)
            if error.code not in (404, 409):
                raise
            return Result("changed meanwhile: takes the token back", 1.0)
        return Result("gets a token")


def _account_key(secret: Object) -> str:
    return f"{meta.namespace_of(secret)}/{meta.annotations_of(secret)[NAME]}"


def _coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
