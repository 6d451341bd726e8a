"""The tokens controller: Secrets of the type kubernetes.io/service-account-token get their token.

A Secret whose service account is not there, or is another one of that name, goes. Who makes one for
an account that has none, up to 1.23, is legacytokens.

Models kubernetes pkg/controller/serviceaccount/tokens_controller.go.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from controllers_app.runtime.controller import Context, Controller, Result
from controllers_app.runtime.watches import ADDED, DELETED, UPDATED, For, Watches

GONE_MAX = 500
TYPE = "kubernetes.io/service-account-token"
NAME, UID = "kubernetes.io/service-account.name", "kubernetes.io/service-account.uid"


class AccountTokensController(Controller):
    """Reconciles Secrets, by key."""

    source = "pkg/controller/serviceaccount/tokens_controller.go syncSecret"
    watches = (
        For("secrets", on=ADDED | UPDATED, when=lambda secret: secret.get("type") == TYPE),
        Watches("serviceaccounts", on=DELETED, keys=lambda self, account: self._tokens_of(account)),
    )
    retries_max = 10

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._gone: dict[str, None] = {}  # uids of accounts whose end was seen

    async def reconcile(self, key: str) -> Result | None:
        secret = self.caches["secrets"].get(key)
        if secret is None or secret.get("type") != TYPE or meta.is_deleting(secret):
            return Result("is gone or no token")
        namespace, name = meta.split_key(key)
        account = await self._account(secret, namespace)
        if account is None:
            await self._delete(secret, namespace, name)
            return Result("its service account is not there: deletes it")
        data = dict(secret.get("data") or {})
        wanted = self._wanted(data, account, namespace, name)
        annotations = meta.annotations_of(secret)
        if wanted == data and annotations.get(UID) == meta.uid_of(account):
            return Result("has its token")
        latest = await self.live("secrets", namespace, name)
        if latest is None or meta.revision_of(latest) != meta.revision_of(secret):
            return Result("has changed meanwhile: waits until the cache shows it")
        named = {**annotations, NAME: meta.name_of(account), UID: meta.uid_of(account)}
        changed = meta.with_path({**latest, "data": wanted}, ("metadata", "annotations"), named)
        with errors.ignoring("Conflict", "NotFound"):
            await self.client.update("secrets", namespace, name, changed)
        return Result("puts a token in")

    async def _account(self, secret: Object, namespace: str) -> Object | None:
        """As the cache or the API server has it; None when it is gone or another one."""
        annotations = meta.annotations_of(secret)
        name, uid = annotations.get(NAME, ""), annotations.get(UID, "")
        if uid in self._gone:
            return None
        account = self.caches["serviceaccounts"].get(f"{namespace}/{name}")
        account = account or await self.live("serviceaccounts", namespace, name)
        return account if account is not None and uid in ("", meta.uid_of(account)) else None

    def _wanted(
        self, data: dict[str, str], account: Object, namespace: str, name: str
    ) -> dict[str, str]:
        wanted = dict(data)
        if self.ctx.root_ca:
            wanted["ca.crt"] = _coded(self.ctx.root_ca)
        wanted["namespace"] = data.get("namespace") or _coded(namespace)
        if not data.get("token") and self.ctx.authority is not None:
            token = self.ctx.authority.account_token(
                namespace, meta.name_of(account), meta.uid_of(account), name
            )
            wanted["token"] = _coded(token)
        return wanted

    async def _delete(self, secret: Object, namespace: str, name: str) -> None:
        options = {"preconditions": {"uid": meta.uid_of(secret)}}
        with errors.ignoring("NotFound", "Conflict"):
            await self.client.delete("secrets", namespace, name, options=options)

    def _tokens_of(self, account: Object) -> Iterator[str]:
        self._gone[meta.uid_of(account)] = None
        while len(self._gone) > GONE_MAX:
            del self._gone[next(iter(self._gone))]
        name = meta.name_of(account)
        for secret in self.caches["secrets"].list(meta.namespace_of(account)):
            if secret.get("type") == TYPE and meta.annotations_of(secret).get(NAME) == name:
                yield meta.key_of(secret)


def _coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
