"""The tokens controller: Secrets of the type kubernetes.io/service-account-token get their token.

A Secret whose service account is not there, or is another one of that name, goes. Who makes one for
an account that has none, up to 1.23, is legacytokens.

Models kubernetes pkg/controller/serviceaccount/tokens_controller.go.
"""

from __future__ import annotations

import base64

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object
from controllers_app.runtime.controller import Context, Controller, Result

TYPE = "kubernetes.io/service-account-token"
NAME, UID = "kubernetes.io/service-account.name", "kubernetes.io/service-account.uid"


class AccountTokensController(Controller):
    """Reconciles Secrets, by key."""

    resource = "secrets"
    source = "pkg/controller/serviceaccount/tokens_controller.go syncSecret"
    retries_max = 10

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._authority = ctx.authority
        self._root_ca = ctx.root_ca
        self._secrets = ctx.informers.informer("secrets")
        self._accounts = ctx.informers.informer("serviceaccounts")
        self._secrets.handle(self._changed, self._updated)
        self._accounts.handle(on_delete=self._account_gone)

    async def reconcile(self, key: str) -> Result | None:
        secret = self._secrets.get(key)
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
        named = {**annotations, NAME: meta.name_of(account), UID: meta.uid_of(account)}
        changed = meta.with_path({**secret, "data": wanted}, ("metadata", "annotations"), named)
        await self.client.update("secrets", namespace, name, changed)
        return Result("puts a token in")

    async def _account(self, secret: Object, namespace: str) -> Object | None:
        """As the API server has it; None when it is gone or another one."""
        annotations = meta.annotations_of(secret)
        name, uid = annotations.get(NAME, ""), annotations.get(UID, "")
        found = self._accounts.get(f"{namespace}/{name}")
        if found is None:
            try:
                found = await self.client.get("serviceaccounts", namespace, name)
            except errors.ApiError as error:
                if error.code != 404:
                    raise
                return None
        return found if not uid or uid == meta.uid_of(found) else None

    def _wanted(
        self, data: dict[str, str], account: Object, namespace: str, name: str
    ) -> dict[str, str]:
        wanted = dict(data)
        if self._root_ca:
            wanted["ca.crt"] = _coded(self._root_ca)
        wanted["namespace"] = data.get("namespace") or _coded(namespace)
        if not data.get("token") and self._authority is not None:
            token = self._authority.account_token(
                namespace, meta.name_of(account), meta.uid_of(account), name
            )
            wanted["token"] = _coded(token)
        return wanted

    async def _delete(self, secret: Object, namespace: str, name: str) -> None:
        options = {"preconditions": {"uid": meta.uid_of(secret)}}
        try:
            await self.client.delete("secrets", namespace, name, options=options)
        except errors.ApiError as error:
            if error.code not in (404, 409):
                raise

    def _changed(self, secret: Object, revision: int) -> None:
        if secret.get("type") == TYPE:
            self.queue.add(meta.key_of(secret), revision)

    def _updated(self, _old: Object, secret: Object, revision: int) -> None:
        self._changed(secret, revision)

    def _account_gone(self, account: Object, revision: int) -> None:
        name = meta.name_of(account)
        for secret in self._secrets.list(meta.namespace_of(account)):
            if secret.get("type") == TYPE and meta.annotations_of(secret).get(NAME) == name:
                self.queue.add(meta.key_of(secret), revision)


def _coded(text: str) -> str:
    return base64.b64encode(text.encode()).decode()
