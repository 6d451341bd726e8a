"""Where a read is served from: the API server's watch cache, or etcd. Only reads the query.

Models kubernetes staging/src/k8s.io/apiserver/pkg/storage/cacher/delegator.go (Get,
shouldDelegateList) and cacher.go.
"""

from __future__ import annotations

from typing import NamedTuple

from apiserver_app.handlers.call import Call
from apiserver_app.machinery.releases import Release

CACHE, ETCD = "watch cache", "etcd"
SNAPSHOTS = "ListFromCacheSnapshot"


class Read(NamedTuple):
    """What served a read, and why not the other."""

    by: str
    why: str
    asks_etcd: bool = False  # for the value, or for the revision that the cache must have


_WATCH = Read(CACHE, "watches follow the cache, which follows etcd once for all of them")
_ANY = Read(CACHE, "resourceVersion 0: whatever the cache has will do")
_AT_LEAST = Read(CACHE, "the cache has come to the revision that is asked for")
_LATEST = Read(ETCD, "without a resourceVersion the latest is wanted", asks_etcd=True)
_CONSISTENT = Read(CACHE, "the cache is as new as etcd, so it has the latest", asks_etcd=True)
_PAGE = Read(ETCD, "the cache has no pages of a past revision", asks_etcd=True)
_EXACT = Read(ETCD, "the cache does not keep the past", asks_etcd=True)
_SNAPSHOT = Read(CACHE, "the cache keeps snapshots of recent revisions")


def of(call: Call, version: Release) -> Read:
    """The source of a get, list or watch."""
    if call.verb == "watch":
        return _WATCH
    asked = call.param("resourceVersion")
    if call.verb != "list":
        return (_ANY if asked == "0" else _AT_LEAST) if asked else _LATEST
    if call.param("continue"):
        return _SNAPSHOT if version.has(SNAPSHOTS) else _PAGE
    if asked == "0":
        return _ANY
    if call.param("resourceVersionMatch") == "Exact":
        return _SNAPSHOT if version.has(SNAPSHOTS) else _EXACT
    if call.param("limit") not in ("", "0") and not version.has(SNAPSHOTS):
        return _PAGE
    if asked:
        return _AT_LEAST
    return _CONSISTENT if version.has("ConsistentListFromCache") else _LATEST
