"""The token cleaner: bootstrap tokens go when their time is over.

Models kubernetes pkg/controller/bootstrap/tokencleaner.go.
"""

from __future__ import annotations

from apiserver_app.apis import bootstraptokens
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from controllers_app.runtime.controller import Context, Controller, Result


class TokenCleanerController(Controller):
    """Reconciles the Secrets of bootstrap tokens, by key."""

    resource = "secrets"
    source = "pkg/controller/bootstrap/tokencleaner.go evalSecret"

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._secrets = ctx.informers.informer("secrets")
        self._secrets.handle(self._changed, self._updated)

    async def reconcile(self, key: str) -> Result | None:
        secret = self._secrets.get(key)
        if secret is None or secret.get("type") != bootstraptokens.TYPE:
            return Result("is gone or no bootstrap token")
        end = bootstraptokens.expires(secret)
        if end is None:
            return Result("never expires")
        wait = (end - self.kernel.now) / SECOND
        if wait > 0:
            return Result(f"expires in {wait:.0f} s", wait, background=True)
        namespace, name = meta.split_key(key)
        options = {"preconditions": {"uid": meta.uid_of(secret)}}
        try:
            await self.client.delete("secrets", namespace, name, options=options)
        except errors.ApiError as error:
            if error.code not in (404, 409):
                raise
        return Result("has expired: deletes it")

    def _changed(self, secret: Object, revision: int) -> None:
        here = meta.namespace_of(secret) == bootstraptokens.NAMESPACE
        if here and secret.get("type") == bootstraptokens.TYPE:
            self.queue.add(meta.key_of(secret), revision)

    def _updated(self, _old: Object, secret: Object, revision: int) -> None:
        self._changed(secret, revision)
