"""The generic store of all kinds: get, list, create, update, delete with upstream's rules.

The pipeline calls it after all gates before "etcd". The stored bytes are the object's JSON with its
resourceVersion; the same bytes serve get, list, watch and the page. Every write either changes the
store by one revision or raises an ApiError.

Models kubernetes staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go and
pkg/storage/etcd3/store.go.
"""

from __future__ import annotations

import base64
import posixpath
import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import orjson

from apiserver_app.apis import initializers
from apiserver_app.etcd import mvcc
from apiserver_app.etcd.entries import Entry
from apiserver_app.etcd.errors import CompactedError
from apiserver_app.etcd.put import REQUEST_BYTES_MAX
from apiserver_app.machinery import errors, memos, meta
from apiserver_app.machinery import probe as probes
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.serializer import compact, gojson
from apiserver_app.machinery.syntax import fields, labels
from apiserver_app.registry import storagecalls, watchcache
from apiserver_app.registry.conversion import convert, protobuflists
from apiserver_app.registry.limits import Limits
from apiserver_app.registry.strategy import Strategy
from apiserver_app.registry.watchcache import Selects, WatchCache

# the fields of ObjectMeta in the order in which upstream writes them
_METADATA = tuple(
    """
    name generateName namespace selfLink uid resourceVersion generation creationTimestamp
    deletionTimestamp deletionGracePeriodSeconds labels annotations ownerReferences initializers
    finalizers managedFields
    """.split()
)
ORDERS_MAX = 1024
_ordered: dict[tuple[str, ...], tuple[str, ...]] = {}  # by the names as they came


class Page(NamedTuple):
    """One page of a list: the store's entries in key order."""

    entries: list[Entry]
    revision: int
    continue_token: str
    remaining: int | None
    computed: list[Object] | None = None  # the objects of a resource that is not stored
    looked_at: int = 0


class Selection(msgspec.Struct):
    """The namespace and selectors of a list or watch."""

    namespace: str = ""
    labels: labels.Selector | None = None
    fields: fields.FieldSelector | None = None
    initialized: bool = False  # leaves out what waits for initializers

    def selects(self, strategy: Strategy) -> Selects | None:
        """A predicate on objects; None if all objects match."""
        by_label = self.labels if self.labels is not None and not self.labels.empty else None
        by_field = self.fields if self.fields is not None and not self.fields.empty else None
        if by_label is None and by_field is None:
            return _initialized if self.initialized else None

        def selects(obj: Object) -> bool:
            if by_label is not None and not by_label.matches(meta.labels_of(obj)):
                return False
            return by_field is None or by_field.matches(
                lambda path: strategy.selectable_value(obj, path)
            )

        return _both(_initialized, selects) if self.initialized else selects

    def key(self, info: ResourceInfo) -> str:
        """The key of the only object that can match, if the field selector names it.

        Models MatchesSingle of staging/src/k8s.io/apiserver/pkg/storage/selection_predicate.go.
        """
        name = self.fields.exact("metadata.name") if self.fields is not None else None
        if not name or "/" in name or (info.namespaced and not self.namespace):
            return ""
        return info.etcd_key(self.namespace, name)

    def node(self) -> str | None:
        """The node's name if the field selector selects the pods of one node."""
        for path, operator, value in self.fields.requirements if self.fields else ():
            if path == "spec.nodeName" and operator == "=" and value:
                return str(value)
        return None


class Fault(msgspec.Struct):
    """An injected fault: etcd answers the next matching writes with an error."""

    message: str
    resource: str = ""  # "" matches any
    op: str = ""  # create, update or delete; "" matches any
    times: int = 1


class Storage:
    """Reads and writes of one cluster's objects."""

    def __init__(
        self,
        store: mvcc.Store,
        cache: WatchCache,
        probe: probes.Probe,
        lease_for_event: Callable[[], int],
        limits: Limits,
    ) -> None:
        self.store = store
        self._limits = limits
        self.cache = cache
        self.probe = probe
        self._lease_for_event = lease_for_event
        self.faults: list[Fault] = []

    def get(self, info: ResourceInfo, namespace: str, name: str) -> tuple[Object, bytes]:
        """The object and its bytes. Raises 404 if it does not exist."""
        entry = self.store.get(info.etcd_key(namespace, name))
        if entry is None:
            raise not_found(info, name)
        return self.object(info, entry), entry.value

    def find(self, info: ResourceInfo, namespace: str, name: str) -> Object | None:
        entry = self.store.get(info.etcd_key(namespace, name))
        return None if entry is None else self.object(info, entry)

    def object(self, info: ResourceInfo, entry: Entry) -> Object:
        """Decodes an entry into the version of `info`."""
        return convert.to_served(info, self.cache.decoded(entry))

    def objects(self, info: ResourceInfo, page: Page) -> list[Object]:
        """The objects of a page, in the version of `info`."""
        if page.computed is not None:
            return page.computed
        return [self.object(info, entry) for entry in page.entries]

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
        """A page of a list: at `revision` if given, else at the head or the token's revision."""
        prefix = info.etcd_prefix(selection.namespace)
        after = ""
        if token:
            revision, after = decode_token(token, prefix)
        try:
            entries = self._entries(info, selection, revision)
        except CompactedError as error:
            raise too_old_page(after, prefix, limit) from error
        listed_at = revision or self.store.revision
        selects = selection.selects(strategy)
        if self.cache.unreadable:
            self.cache.check_readable(info, entries)
            selects = selects or _any
        selected: list[Entry] = []
        begin = bisect_right(entries, after, key=_key) if after else 0
        for position in range(begin, len(entries)):
            entry = entries[position]
            if limit and len(selected) == limit:
                last = entries[position - 1].key
                unfiltered = selects is None or selects is _any
                remaining = len(entries) - position if unfiltered else None
                token = encode_token(listed_at, last, prefix)
                return Page(selected, listed_at, token, remaining, None, position - begin)
            if selects is None or selects(self.object(info, entry)):
                selected.append(entry)
        return Page(selected, listed_at, "", None, None, len(entries) - begin)

    def entries(self, info: ResourceInfo, selection: Selection) -> Sequence[Entry]:
        """The current entries that the selection may match."""
        key = selection.key(info)
        if not key:
            return self.store.range(info.etcd_prefix(selection.namespace)).entries
        entry = self.store.get(key)
        return [] if entry is None else [entry]

    def create(self, info: ResourceInfo, obj: Object, *, dry_run: bool = False) -> Object:
        """Stores a new object. Raises 409 if the name is taken."""
        key = self.check_new(info, obj)
        if dry_run:
            return self._as_read(info, obj)
        lease = self._lease_for_event() if info.storage == "events" else 0
        return self._put(info, key, self._stamped(info, obj), "create", 0, lease, "")

    def check_new(self, info: ResourceInfo, obj: Object) -> str:
        """The key of a new object. Raises 409 if the name is taken."""
        metadata = obj["metadata"]
        key = info.etcd_key(metadata.get("namespace", ""), metadata["name"])
        existing = self.store.get(key)
        if existing is not None:
            raise self._already_exists(info, metadata["name"], existing)
        namespace, name = metadata.get("namespace", ""), metadata["name"]
        self._limits.check_new(self.store, info, namespace, name)
        return key

    def update(
        self,
        info: ResourceInfo,
        obj: Object,
        old: Object,
        *,
        subresource: str = "",
        dry_run: bool = False,
    ) -> Object:
        """Replaces `old` by `obj`. An unchanged object is not written."""
        metadata = obj["metadata"]
        current = old["metadata"].get("resourceVersion")
        if metadata.get("resourceVersion") != current:
            obj = meta.with_path(obj, ("metadata", "resourceVersion"), current)
        if dry_run:
            return self._as_read(info, obj)
        if obj == old:
            return old
        name = metadata["name"]
        key = info.etcd_key(metadata.get("namespace", ""), name)
        entry = self.store.get(key)
        lease, prev = entry.lease if entry else 0, meta.revision_of(old)
        return self._put(info, key, self._stamped(info, obj), "update", prev, lease, subresource)

    def remove(self, info: ResourceInfo, old: Object) -> Object:
        """Deletes the object; returns its last state at the revision of the delete."""
        metadata = old["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        prev, key = meta.revision_of(old), info.etcd_key(namespace, name)
        self._check_unchanged(info, key, name, prev)
        self._inject_fault(info, key, "delete")
        self._record_write(self.store.revision + 1, info, "delete", namespace, name, prev, "")
        self.store.delete(key, expect=prev)
        return meta.with_path(old, ("metadata", "resourceVersion"), str(self.store.revision))

    def is_unreadable(self, info: ResourceInfo, namespace: str, name: str) -> bool:
        return info.etcd_key(namespace, name) in self.cache.unreadable

    def remove_unreadable(self, info: ResourceInfo, namespace: str, name: str) -> None:
        """Deletes what does not decode."""
        key = info.etcd_key(namespace, name)
        self._inject_fault(info, key, "delete")
        self._record_write(self.store.revision + 1, info, "delete", namespace, name, 0, "")
        self.store.delete(key)

    def _as_read(self, info: ResourceInfo, obj: Object) -> Object:
        """An object that is not stored, as it would read back."""
        is_marked = protobuflists.MARK in orjson.dumps(obj)
        return protobuflists.without(info, obj) if is_marked else obj

    # -- inside ---------------------------------------------------------------------------------

    def _entries(self, info: ResourceInfo, selection: Selection, revision: int) -> Sequence[Entry]:
        """The entries at `revision`, or now. Raises CompactedError if it was compacted."""
        store = self.store
        if revision > store.revision:
            raise too_new(revision, store.revision)
        if revision and revision < store.compacted:
            raise CompactedError(store.compacted)
        if not revision or not self.cache.changed_since(info.storage, revision):
            return self.entries(info, selection)
        key = selection.key(info)
        prefix = key or info.etcd_prefix(selection.namespace)
        return store.range_at(prefix, revision, exact=bool(key)).entries

    def _stamped(self, info: ResourceInfo, obj: Object) -> Object:
        """A copy with the resourceVersion that the write will have."""
        metadata = {**obj["metadata"], "resourceVersion": str(self.store.revision + 1)}
        if info.custom is not None:  # unstructured, so Go writes sorted keys
            sorted_ = orjson.dumps({**obj, "metadata": metadata}, option=orjson.OPT_SORT_KEYS)
            return orjson.loads(sorted_)  # type: ignore[no-any-return]
        came = tuple(metadata)
        wanted = _ordered.get(came)
        if wanted is None:
            memos.make_room(_ordered, ORDERS_MAX)
            wanted = _ordered[came] = tuple(name for name in _METADATA if name in metadata)
        if wanted != came:
            metadata = {name: metadata[name] for name in wanted}
        return {**obj, "metadata": metadata}

    def _put(
        self,
        info: ResourceInfo,
        key: str,
        obj: Object,
        op: str,
        prev: int,
        lease: int,
        subresource: str,
    ) -> Object:
        """Writes the object; returns it as it will be read, in the version of `info`."""
        metadata = obj["metadata"]
        name, namespace = metadata["name"], metadata.get("namespace", "")
        self._check_unchanged(info, key, name, prev)
        stored = convert.to_stored(info, obj)
        value = compact.encode(stored)
        if protobuflists.MARK in value:
            obj = protobuflists.without(info, obj)
            stored = convert.to_stored(info, obj)
            value = compact.encode(stored)
        if len(value) > REQUEST_BYTES_MAX:
            raise errors.unclassified("etcdserver: request is too large")
        self._check_size(info, key, namespace, name, len(value))
        if info.storage == "pods":
            self._limits.check_pod(info, stored)
        self._inject_fault(info, key, op)
        self._record_write(self.store.revision + 1, info, op, namespace, name, prev, subresource)
        self.store.put(key, value, expect=prev, lease=lease, payload=stored)
        return obj

    def _check_size(
        self, info: ResourceInfo, key: str, namespace: str, name: str, size: int
    ) -> None:
        """Raises 403 when the cluster has no room for the object as it is to be."""
        before = self.store.get(key)
        more = size - (len(before.value) if before is not None else 0)
        self._limits.check_size(self.store, info, namespace, name, more)

    def _check_unchanged(self, info: ResourceInfo, key: str, name: str, prev: int) -> None:
        """Raises 409 if the object changed. A write is recorded only once it is sure to succeed,
        as the record names its revision."""
        entry = self.store.get(key)
        current = entry.mod_revision if entry is not None else 0
        if current != prev:
            error = errors.conflict(info.group, info.plural, name, errors.MODIFIED)
            end = "stale" if current else "gone"
            error.about = {"end": end, "expected": prev, "found": current}
            raise error

    def _already_exists(self, info: ResourceInfo, name: str, existing: Entry) -> errors.ApiError:
        """The 409 for an existing name; the message says if that object is being deleted."""
        error = errors.already_exists(info.group, info.plural, name)
        obj = watchcache.decode(existing)
        if obj is not None and meta.is_deleting(obj):
            error.message = f"object is being deleted: {error.message}"
        error.about = {"end": "exists", "expected": 0, "found": existing.mod_revision}
        return error

    def _inject_fault(self, info: ResourceInfo, key: str, op: str) -> None:
        """Raises the error of an alarm or of a matching fault, so that nothing is written."""
        if self.store.alarm:
            raise _injected(self.store.alarm, op, key)
        for fault in self.faults:
            if fault.resource in ("", info.key) and fault.op in ("", op):
                fault.times -= 1
                if not fault.times:
                    self.faults.remove(fault)
                raise _injected(fault.message, op, key)

    def _record_write(
        self,
        revision: int,
        info: ResourceInfo,
        op: str,
        namespace: str,
        name: str,
        prev: int,
        subresource: str,
    ) -> None:
        self.probe.tell("write", revision, op, info.hub, namespace, name, prev, subresource)


def _injected(message: str, op: str, key: str) -> errors.ApiError:
    error = errors.ApiError(500, "", message)
    error.about = {"call": storagecalls.OF_WRITE[op], "key": key, "end": "injected"}
    return error


def not_found(info: ResourceInfo, name: str) -> errors.ApiError:
    """The 404 for a key that is not there."""
    error = errors.not_found(info.group, info.plural, name)
    error.about = {"end": "absent"}
    return error


def encode_token(revision: int, last: str, prefix: str) -> str:
    """A `continue` token: the list's revision and the last key of the page."""
    start = f"/{last[len(prefix) :]}\x00"
    data = orjson.dumps({"v": "meta.k8s.io/v1", "rv": revision, "start": start})
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def decode_token(token: str, prefix: str) -> tuple[int, str]:
    """(revision, last key) of a `continue` token. Revision 0 means the head."""
    broken = re.search(r"[^A-Za-z0-9_-]", token)
    if broken or len(token) % 4 == 1:
        at = broken.start() if broken else len(token) - 1
        raise _bad_token(f"illegal base64 data at input byte {at}")
    data = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
    try:
        fields_ = orjson.loads(data)
        version, start = fields_.get("v", ""), str(fields_.get("start", ""))
        revision = int(fields_.get("rv", 0))
    except (ValueError, AttributeError, TypeError) as error:
        message = gojson.syntax_error(data) or "its fields are not of the right type"
        raise _bad_token(message) from error
    if version != "meta.k8s.io/v1":
        raise _bad_token(f"server does not recognize this encoded version {version}")
    if not revision:
        raise _bad_token("incorrect encoded start resourceVersion (version meta.k8s.io/v1)")
    if not start:
        raise _bad_token("encoded start key empty (version meta.k8s.io/v1)")
    rooted = start if start.startswith("/") else f"/{start}"
    if posixpath.normpath(rooted) != rooted:
        raise _bad_token(start)
    return max(revision, 0), prefix + rooted[1:].rstrip("\x00")


def _bad_token(message: str) -> errors.ApiError:
    return errors.bad_request(f"invalid continue token: continue key is not valid: {message}")


def _initialized(obj: Object) -> bool:
    return not initializers.uninitialized(obj)


def _both(first: Selects, second: Selects) -> Selects:
    return lambda obj: first(obj) and second(obj)


def _key(entry: Entry) -> str:
    return entry.key


def _any(_obj: Object) -> bool:
    """Selects everything, but forces decoding: an object that does not decode fails the list."""
    return True


_PAGE_TOO_OLD = (
    "The provided continue parameter is too old to display a consistent list result. You can "
    "start a new list without the continue parameter"
)


def too_old_page(after: str, prefix: str, limit: int) -> errors.ApiError:
    """410 for a compacted revision; a paged list gets a token to continue with."""
    if not limit:
        return errors.expired("The resourceVersion for the provided list is too old.")
    if not after:
        return errors.expired(f"{_PAGE_TOO_OLD}.")
    error = errors.expired(
        f"{_PAGE_TOO_OLD}, or use the continue token in this response to retrieve the remainder "
        "of the results. Continuing with the provided token results in an inconsistent list - "
        "objects that were created, modified, or deleted between the time the first chunk was "
        "returned and now may show up in the list."
    )
    error.token = encode_token(-1, after, prefix)
    return error


def too_new(requested: int, current: int) -> errors.ApiError:
    error = errors.timeout(
        f"Too large resource version: {requested}, current: {current}", retry_after=1
    )
    error.details["causes"] = [
        {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    ]
    return error
