"""Maintenance: size, hash and snapshot of the store. Sizes are modelled, not measured.

A snapshot is a head that says what is in it, then all keys with their values, packed. It has the
size of the modelled database with a checksum behind it. It is no file of bbolt, so that a real
etcdutl cannot read it, and nothing restores one.

Models etcd server/etcdserver/api/v3rpc/maintenance.go and etcdutl/snapshot/v3_snapshot.go.
"""

from __future__ import annotations

import hashlib
import zlib
from typing import Any

import orjson

from apiserver_app.etcd import range as ranges
from apiserver_app.etcd.keys import ALL
from apiserver_app.etcd.server import Server

RAFT_ENTRIES = 6  # in the log before the first write: members, version
_MAGIC = b"etcd snapshot of a simulated cluster\n"


def raft_index(server: Server) -> int:
    return server.store.revision + RAFT_ENTRIES


def minor(server: Server) -> int:
    """5 of etcd 3.5."""
    return int(server.version.split(".")[1])


def size_bytes(server: Server) -> int:
    """Of the values that are there now, in whole pages."""
    entries = server.store.range("").entries
    used = sum(len(entry.key) + len(entry.value) + 64 for entry in entries)
    return -(-used // 4096) * 4096 + 20_480


def hash_kv(server: Server, revision: int = 0) -> int:
    """A sum over all keys and values, now or as they were."""
    total = 0
    for entry in ranges.entries(server.store, ALL, max(revision, 0)):
        total = zlib.crc32(f"{entry.key}\0{entry.mod_revision}\0".encode(), total)
        total = zlib.crc32(entry.value, total)
    return total


def snapshot(server: Server) -> bytes:
    entries, size = ranges.entries(server.store, ALL), size_bytes(server)
    head = {
        "hash": hash_kv(server),
        "revision": server.store.revision,
        "totalKey": len(entries) + RAFT_ENTRIES,
        "totalSize": size,
        "version": f"{server.version.rpartition('.')[0]}.0" if minor(server) >= 6 else "",
    }
    body = b"".join(
        b"%d %d\n%s%s"
        % (len(entry.key.encode()), len(entry.value), entry.key.encode(), entry.value)
        for entry in entries
    )
    data = (_MAGIC + orjson.dumps(head) + b"\n" + zlib.compress(body)).ljust(size, b"\0")
    return data + hashlib.sha256(data).digest()


def snapshot_status(data: bytes) -> dict[str, Any] | None:
    """What the head of a snapshot says; None when it is no snapshot, or damaged."""
    if not data.startswith(_MAGIC) or hashlib.sha256(data[:-32]).digest() != data[-32:]:
        return None
    head: dict[str, Any] = orjson.loads(data[len(_MAGIC) :].split(b"\n", 1)[0])
    if not head["version"]:
        del head["version"]
    return head
