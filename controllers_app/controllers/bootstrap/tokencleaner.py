"""The token cleaner: bootstrap tokens go when their time is over.

Models kubernetes pkg/controller/bootstrap/tokencleaner.go.
"""

from __future__ import annotations

from apiserver_app.apis import bootstraptokens
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kernel import SECOND
from controllers_app.runtime.controller import Controller, Result
from controllers_app.runtime.watches import ADDED, UPDATED, For


class TokenCleanerController(Controller):
    """Reconciles the Secrets of bootstrap tokens, by key."""

    source = "pkg/controller/bootstrap/tokencleaner.go evalSecret"
    watches = (
        For(
            "secrets",
            on=ADDED | UPDATED,
            when=lambda secret: (
                secret.get("type") == bootstraptokens.TYPE
                and meta.namespace_of(secret) == bootstraptokens.NAMESPACE
            ),
        ),
    )

    async def reconcile(self, key: str) -> Result | None:
        secret = self.caches["secrets"].get(key)
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
        with errors.ignoring("NotFound", "Conflict"):
            await self.client.delete("secrets", namespace, name, options=options)
        return Result("has expired: deletes it")
