"""Values as a real etcd holds them, and as this one stores them.

The API server keeps objects as JSON with their revision in them. A real etcd holds those of the
built-in kinds in protobuf and custom resources in JSON, both without a revision: `encoded` gives
that. `decoded` reads either form back; what is no object of its key is stored as it is.

Models kubernetes staging/src/k8s.io/apiserver/pkg/storage/etcd3/store.go.
"""

from __future__ import annotations

import orjson

from apiserver_app.etcd.entries import Entry
from apiserver_app.etcd.server import Decoded
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object, ResourceInfo, User
from apiserver_app.machinery.serializer import compact, protobuf, protoencode
from apiserver_app.registry import masterleases, storagecalls, watchcache
from apiserver_app.registry.core.service import ranges

_NOBODY = User("etcdctl")


class Values:
    """The values of one cluster's etcd."""

    def __init__(self, context: ClusterContext) -> None:
        self._context = context

    def encoded(self, entry: Entry) -> bytes:
        """The value as a real etcd would hold it."""
        info, obj = self.object_of(entry)
        if info is None or obj is None:
            internal = _internal(entry)
            return entry.value if internal is None else protoencode.encode(internal)
        bare = meta.without_path(obj, ("metadata", "resourceVersion"))
        if info.custom is None and info.group not in storagecalls.IN_JSON:
            try:
                return protoencode.encode(bare)
            except protoencode.NotEncodable:
                pass  # a field that the table of messages does not have
        return orjson.dumps(bare) + b"\n"

    def object_of(self, entry: Entry) -> tuple[ResourceInfo | None, Object | None]:
        """The object of an entry and its resource; None, None when the entry is no object."""
        info = self._resource(entry.key)
        obj = watchcache.decode(entry) if info is not None else None
        return (info, obj) if obj is not None else (None, None)

    def decoded(self, key: str, value: bytes, revision: int) -> Decoded:
        """What a client puts at a key, as the store is to have it at that revision."""
        info = self._resource(key)
        obj = self._object(info, key, value) if info is not None else None
        if obj is None:
            return Decoded(value)
        obj["metadata"]["resourceVersion"] = str(revision)
        return Decoded(compact.encode(obj), info, obj)

    def _resource(self, key: str) -> ResourceInfo | None:
        if not key.startswith("/registry/"):
            return None
        return self._context.resources.by_storage(self._context.cache.storage_of(key))

    def _object(self, info: ResourceInfo, key: str, value: bytes) -> Object | None:
        """An object that is what its key says and what its kind allows; else None."""
        context = self._context
        try:
            raw = protobuf.decode(value) if value.startswith(b"k8s\0") else orjson.loads(value)
            if not isinstance(raw, dict) or raw.get("kind") != info.kind:
                return None
            if raw.get("apiVersion") != info.api_version:
                return None
            obj, _ = context.types.decode(info.definition, raw, "Ignore")
        except (errors.ApiError, orjson.JSONDecodeError):
            return None
        obj["apiVersion"], obj["kind"] = info.api_version, info.kind
        metadata = obj.get("metadata")
        if not isinstance(metadata, dict) or not metadata.get("name"):
            return None
        namespace = metadata.get("namespace", "")
        if info.etcd_key(namespace, metadata["name"]) != key:
            return None
        strategy = context.strategy(info)
        strategy.default(obj)
        if strategy.validate(context.context(_NOBODY, namespace), obj):
            return None
        return obj


def _internal(entry: Entry) -> Object | None:
    """What the API server keeps for itself, that no request reaches."""
    if entry.key.startswith(masterleases.PREFIX):
        return masterleases.decode(entry)
    return ranges.decode(entry) if entry.key in (ranges.ADDRESSES, ranges.PORTS) else None
