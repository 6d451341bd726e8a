"""The CSR cleaner: requests go an hour after they were decided, a day after nobody cared.

Models kubernetes pkg/controller/certificates/cleaner/cleaner.go.
"""

from __future__ import annotations

from apiserver_app.apis import certificates
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.certificates import rules
from controllers_app.runtime.controller import Controller, Result
from controllers_app.runtime.watches import ADDED, UPDATED, For

DECIDED_SECONDS, PENDING_SECONDS = 3600, 24 * 3600


class CsrCleanerController(Controller):
    """Reconciles certificate signing requests, by name, at the moment when they are due."""

    source = "pkg/controller/certificates/cleaner/cleaner.go handle"
    watches = (For(rules.RESOURCE, on=ADDED | UPDATED),)

    async def reconcile(self, key: str) -> Result | None:
        csr = self.caches[rules.RESOURCE].get(key)
        if csr is None:
            return Result("is gone")
        due = _due(csr)
        if due is None:
            return Result("has no certificate yet: stays")
        wait = (due - self.kernel.now) / SECOND
        if wait >= 0:
            return Result(f"stays {wait:.0f} s more", wait + 1, background=True)
        with errors.ignoring("NotFound"):
            await self.client.delete(rules.RESOURCE, "", key)
        return Result("is old: deletes it")


def _due(csr: Object) -> int | None:
    """When it may go (µs); None as long as nothing says so."""
    status = csr.get("status") or {}
    conditions = status.get("conditions") or ()
    if not conditions:
        return meta.parse_time(csr["metadata"]["creationTimestamp"]) + PENDING_SECONDS * SECOND
    times = []
    certificate = status.get("certificate")
    for condition in conditions:
        issued = condition["type"] == "Approved" and certificate
        if (issued or condition["type"] == "Denied") and condition.get("lastUpdateTime"):
            decided = meta.parse_time(condition["lastUpdateTime"])
            times.append(decided + DECIDED_SECONDS * SECOND)
        if issued and certificate:
            times.append(certificates.until(certificate) or times[-1])
    return min(times) if times else None
