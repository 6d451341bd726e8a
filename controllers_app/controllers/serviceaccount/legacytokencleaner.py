"""Tokens that were made for service accounts on their own and that nobody uses: marked after a
year, and deleted after another.

It looks once a day, and not before a year after the server began to note the use of tokens.
Secrets that people made (no account names them), and those that pods mount, stay.

Models kubernetes pkg/controller/serviceaccount/legacy_serviceaccount_token_cleaner.go.
"""

from __future__ import annotations

from collections.abc import Iterator

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.serviceaccount.tokens import NAME, TYPE, UID
from controllers_app.runtime.controller import Controller, Result
from controllers_app.runtime.watches import Reads

DAY_SECONDS = 24 * 3600
CLEAN_UP_SECONDS = 365 * DAY_SECONDS
TRACKING = "kube-apiserver-legacy-service-account-token-tracking"
LAST_USED = "kubernetes.io/legacy-token-last-used"
INVALID_SINCE = "kubernetes.io/legacy-token-invalid-since"
_KEY = "tokens"  # the one key of the queue


class LegacyTokenCleanerController(Controller):
    """Reconciles all token Secrets at once, every day."""

    source = "pkg/controller/serviceaccount/legacy_serviceaccount_token_cleaner.go"
    watches = (Reads("serviceaccounts"), Reads("secrets"), Reads("pods"))
    workers = 1

    async def housekeep(self) -> None:
        while True:
            self.queue.add(_KEY)
            await self.kernel.sleep(DAY_SECONDS, background=True)

    async def reconcile(self, key: str) -> Result | None:
        now = self.kernel.now
        since = await self._tracked_since()
        if since is None or now < since + CLEAN_UP_SECONDS * SECOND:
            return Result("the use of tokens is not noted for long enough")
        marked = deleted = 0
        for secret in list(self.caches["secrets"].list()):
            if not self._is_unused(secret, now):
                continue
            if _is_day(meta.labels_of(secret).get(INVALID_SINCE, "")):
                deleted += await self._delete_if_old(secret, now)
            else:
                await self._mark(secret, now)
                marked += 1
        return Result(f"marks {marked} tokens, deletes {deleted}")

    async def _tracked_since(self) -> int | None:
        """The beginning of the day after the one on which the server began to note."""
        config_map = await self.live("configmaps", "kube-system", TRACKING) or {}
        since = (config_map.get("data") or {}).get("since") or ""
        if not _is_day(since):
            return None
        return meta.parse_time(f"{since}T00:00:00Z") + DAY_SECONDS * SECOND

    def _is_unused(self, secret: Object, now: int) -> bool:
        """Whether it is a token made on its own that was not used for long, nor is mounted."""
        before = now - CLEAN_UP_SECONDS * SECOND
        if secret.get("type") != TYPE or meta.is_deleting(secret):
            return False
        if meta.parse_time(secret["metadata"]["creationTimestamp"]) >= before:
            return False
        used = meta.labels_of(secret).get(LAST_USED)
        if used is not None and (not _is_day(used) or used >= _day(before)):
            return False
        name = meta.name_of(secret)
        account = self._account_of(secret)
        named = (account or {}).get("secrets") or ()
        if not any(reference.get("name") == name for reference in named):
            return False
        pods = self.caches["pods"].list(meta.namespace_of(secret))
        return not any(name in _secrets_of(pod) for pod in pods)

    def _account_of(self, secret: Object) -> Object | None:
        annotations = meta.annotations_of(secret)
        key = f"{meta.namespace_of(secret)}/{annotations.get(NAME, '')}"
        account = self.caches["serviceaccounts"].get(key)
        if account is None or annotations.get(UID) not in (None, "", meta.uid_of(account)):
            return None
        return account

    async def _mark(self, secret: Object, now: int) -> None:
        patch = {"metadata": {"uid": meta.uid_of(secret), "labels": {INVALID_SINCE: _day(now)}}}
        await self.client.patch("secrets", meta.namespace_of(secret), meta.name_of(secret), patch)

    async def _delete_if_old(self, secret: Object, now: int) -> int:
        labels = meta.labels_of(secret)
        if labels[INVALID_SINCE] >= _day(now - CLEAN_UP_SECONDS * SECOND):
            return 0
        revision = secret["metadata"]["resourceVersion"]
        options = {"preconditions": {"resourceVersion": revision}}
        with errors.ignoring("NotFound", "Conflict"):
            await self.client.delete(
                "secrets", meta.namespace_of(secret), meta.name_of(secret), options=options
            )
        return 1


def _day(at: int) -> str:
    return meta.rfc3339(at)[:10]


def _is_day(text: str) -> bool:
    try:
        meta.parse_time(f"{text}T00:00:00Z")
    except ValueError:
        return False
    return True


def _secrets_of(pod: Object) -> Iterator[str]:
    """The names of the Secrets that a pod mounts or reads."""
    spec = pod.get("spec") or {}
    for reference in spec.get("imagePullSecrets") or ():
        yield reference.get("name", "")
    for volume in spec.get("volumes") or ():
        yield (volume.get("secret") or {}).get("secretName", "")
        for source in (volume.get("projected") or {}).get("sources") or ():
            yield (source.get("secret") or {}).get("name", "")
    for container in [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]:
        for reference in container.get("envFrom") or ():
            yield (reference.get("secretRef") or {}).get("name", "")
        for reference in container.get("env") or ():
            yield ((reference.get("valueFrom") or {}).get("secretKeyRef") or {}).get("name", "")
