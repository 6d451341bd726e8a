"""Generic storage of every kind: get, list, create, update, delete with their upstream rules.

It is called by the pipeline after all gates before "etcd" were passed. Stored bytes are the JSON
of the object with its resourceVersion: the same bytes serve get, list, watch and the page.
Every function either changes the store by one revision or raises an ApiError.

Models kubernetes staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go and
pkg/storage/etcd3/store.go.
"""

from __future__ import annotations

import base64
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import orjson

from apiserver_app.machinery import errors, fields, labels, meta
from apiserver_app.machinery import probe as probes
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.registry import convert
from apiserver_app.registry.strategy import Strategy
from apiserver_app.registry.watchcache import Selects, WatchCache, too_old
from apiserver_app.store import etcd
from apiserver_app.store.errors import CompactedError, FutureRevError

EVENT_TTL_SECONDS = 3600


# the fields of ObjectMeta in the order in which upstream writes them
_METADATA = (
    "name", "generateName", "namespace", "selfLink", "uid", "resourceVersion", "generation",
    "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "labels",
    "annotations", "ownerReferences", "finalizers", "managedFields",
)  # fmt: skip


class Page(NamedTuple):
    """One page of a list: the store's entries in key order."""

    entries: list[etcd.Entry]
    revision: int
    continue_token: str
    remaining: int | None


@dataclass(slots=True)
class Selection:
    """What a list or watch asks for."""

    namespace: str = ""
    labels: labels.Selector | None = None
    fields: fields.FieldSelector | None = None

    def selects(self, strategy: Strategy) -> Selects | None:
        """A predicate on objects, or None when everything matches."""
        by_label = self.labels if self.labels is not None and not self.labels.empty else None
        by_field = self.fields if self.fields is not None and not self.fields.empty else None
        if by_label is None and by_field is None:
            return None

        def selects(obj: Object) -> bool:
            if by_label is not None and not by_label.matches(meta.labels_of(obj)):
                return False
            return by_field is None or by_field.matches(
                lambda path: strategy.selectable_value(obj, path)
            )

        return selects

    def node(self) -> str | None:
        """The node's name when the fields ask for exactly the pods of one node."""
        for path, operator, value in self.fields.requirements if self.fields else ():
            if path == "spec.nodeName" and operator == "=" and value:
                return str(value)
        return None


class Storage:
    """Reads and writes of one cluster's objects."""

    def __init__(
        self,
        store: etcd.Etcd,
        cache: WatchCache,
        probe: probes.Probe,
        lease_for_event: Callable[[], int],
    ) -> None:
        self.store = store
        self.cache = cache
        self.probe = probe
        self._lease_for_event = lease_for_event

    def get(self, info: ResourceInfo, namespace: str, name: str) -> tuple[Object, bytes]:
        """The object and its bytes; 404 when there is none."""
        entry = self.store.get(info.etcd_key(namespace, name))
        if entry is None:
            raise errors.not_found(info.group, info.plural, name)
        return self.object(info, entry), entry.value

    def find(self, info: ResourceInfo, namespace: str, name: str) -> Object | None:
        entry = self.store.get(info.etcd_key(namespace, name))
        return None if entry is None else self.object(info, entry)

    def object(self, info: ResourceInfo, entry: etcd.Entry) -> Object:
        """The object of an entry, in the version that `info` serves."""
        return convert.to_served(info, self.cache.decoded(entry))

    def page(
        self,
        info: ResourceInfo,
        strategy: Strategy,
        selection: Selection,
        *,
        limit: int = 0,
        token: str = "",
        revision: int = 0,
    ) -> Page:
        """One page of a list: at `revision` if given, else at the head or where `token` began."""
        prefix = info.etcd_prefix(selection.namespace)
        after = ""
        if token:
            revision, after = decode_token(token, prefix)
        entries = self._entries(info, prefix, revision)
        at = revision or self.store.revision
        selects = selection.selects(strategy)
        found: list[etcd.Entry] = []
        position = 0
        for position, entry in enumerate(entries):
            if after and entry.key <= after:
                continue
            if limit and len(found) == limit:
                last = entries[position - 1].key
                remaining = len(entries) - position if selects is None else None
                return Page(found, at, encode_token(at, last, prefix), remaining)
            if selects is None or selects(self.object(info, entry)):
                found.append(entry)
        return Page(found, at, "", None)

    def create(self, info: ResourceInfo, obj: Object, *, dry_run: bool = False) -> Object:
        """Store a new object; 409 when the name is taken."""
        metadata = obj["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        key = info.etcd_key(namespace, name)
        if self.store.get(key) is not None:
            raise errors.already_exists(info.group, info.plural, name)
        if dry_run:
            return obj
        lease = self._lease_for_event() if info.storage == "events" else 0
        stored = self._stamped(obj)
        self._put(info, key, convert.to_stored(info, stored), "create", 0, lease, "")
        return stored

    def update(
        self,
        info: ResourceInfo,
        obj: Object,
        old: Object,
        *,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Object:
        """Replace `old` by `obj`. An object that did not change is not written."""
        metadata = obj["metadata"]
        current = old["metadata"].get("resourceVersion")
        if metadata.get("resourceVersion") != current:
            obj = meta.with_path(obj, ("metadata", "resourceVersion"), current)
        if obj == old or dry_run:
            return obj if dry_run else old
        name = metadata["name"]
        key = info.etcd_key(metadata.get("namespace", ""), name)
        stored = self._stamped(obj)
        entry = self.store.get(key)
        lease = entry.lease if entry else 0
        value = convert.to_stored(info, stored)
        self._put(info, key, value, "update", meta.revision_of(old), lease, subresource)
        return stored

    def remove(self, info: ResourceInfo, old: Object) -> Object:
        """Delete for good; the last state, at the revision of the delete."""
        metadata = old["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        prev, key = meta.revision_of(old), info.etcd_key(namespace, name)
        self._check_unchanged(info, key, name, prev)
        self._tell(self.store.revision + 1, info, "delete", namespace, name, prev, "")
        self.store.delete(key, expect=prev)
        return meta.with_path(old, ("metadata", "resourceVersion"), str(self.store.revision))

    # -- inside ---------------------------------------------------------------------------------

    def _entries(self, info: ResourceInfo, prefix: str, revision: int) -> list[etcd.Entry]:
        if not revision or not self.cache.changed_since(info.storage, revision):
            if revision > self.store.revision:
                raise too_new(revision, self.store.revision)
            return list(self.store.range(prefix).entries)
        try:
            return list(self.store.range_at(prefix, revision).entries)
        except CompactedError as error:
            raise too_old(revision, error.compacted) from error
        except FutureRevError as error:
            raise too_new(revision, self.store.revision) from error

    def _stamped(self, obj: Object) -> Object:
        """A copy that carries the revision it is about to get."""
        metadata = {**obj["metadata"], "resourceVersion": str(self.store.revision + 1)}
        ordered = {name: metadata[name] for name in _METADATA if name in metadata}
        return {**obj, "metadata": ordered}

    def _put(
        self,
        info: ResourceInfo,
        key: str,
        obj: Object,
        op: str,
        prev: int,
        lease: int,
        subresource: str,
    ) -> None:
        metadata = obj["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        self._check_unchanged(info, key, name, prev)
        self._tell(self.store.revision + 1, info, op, namespace, name, prev, subresource)
        self.store.put(key, encode(obj), expect=prev, lease=lease, payload=obj)

    def _check_unchanged(self, info: ResourceInfo, key: str, name: str, prev: int) -> None:
        """Nothing is told of a write before it is sure to happen: the record names its revision."""
        entry = self.store.get(key)
        if (entry.mod_revision if entry is not None else 0) != prev:
            raise errors.conflict(info.group, info.plural, name, errors.MODIFIED)

    def _tell(
        self,
        revision: int,
        info: ResourceInfo,
        op: str,
        namespace: str,
        name: str,
        prev: int,
        subresource: str,
    ) -> None:
        self.probe.tell("write", revision, op, info.key, namespace, name, prev, subresource)


def encode(obj: Any) -> bytes:
    """Compact JSON in a buffer of exactly its size."""
    return bytes(memoryview(orjson.dumps(obj)))


def encode_token(revision: int, last: str, prefix: str) -> str:
    """A `continue` token: where the list began and the last key it gave."""
    start = last[len(prefix) :] + "\x00"
    data = orjson.dumps({"v": "meta.k8s.io/v1", "rv": revision, "start": start})
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decode_token(token: str, prefix: str) -> tuple[int, str]:
    """(revision, last key) of a `continue` token."""
    try:
        padded = token + "=" * (-len(token) % 4)
        data = orjson.loads(base64.b64decode(padded, altchars=b"-_", validate=True))
        version, revision, start = data["v"], int(data["rv"]), str(data["start"])
    except (ValueError, KeyError, TypeError) as error:
        raise errors.bad_request(
            f"continue key is not valid: illegal base64 data or encoding: {type(error).__name__}"
        ) from error
    if version != "meta.k8s.io/v1" or revision <= 0:
        raise errors.bad_request(
            'continue key is not valid: incorrect encoded start resourceVersion (version meta.k8s.io/v1)'
        )
    if not start or "/../" in f"/{start}":
        raise errors.bad_request("continue key is not valid: invalid start key")
    return revision, prefix + start.rstrip("\x00")


def too_new(asked: int, current: int) -> errors.ApiError:
    error = errors.timeout(
        f"Too large resource version: {asked}, current: {current}", retry_after=1
    )
    error.details["causes"] = [
        {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    ]
    return error
