"""The errors of etcd, with its messages.

Models etcd api/v3rpc/rpctypes/error.go.
"""

from __future__ import annotations

COMPACTED = "etcdserver: mvcc: required revision has been compacted"
EMPTY_KEY = "etcdserver: key is not provided"
KEY_NOT_FOUND = "etcdserver: key not found"
LEASE_NOT_FOUND = "etcdserver: requested lease not found"
LEASE_PROVIDED = "etcdserver: lease is provided"
LEASE_TTL_TOO_LARGE = "etcdserver: too large lease TTL"
REQUEST_TOO_LARGE = "etcdserver: request is too large"
DUPLICATE_KEY = "etcdserver: duplicate key given in txn request"
TOO_MANY_OPERATIONS = "etcdserver: too many operations in txn request"
NO_SPACE = "etcdserver: mvcc: database space exceeded"


class EtcdError(Exception):
    """A request that etcd refuses; the text is etcd's."""


class StoreError(EtcdError):
    """The disk does not take a commit. Nothing of that commit may be acknowledged."""


class CompactedError(EtcdError):
    def __init__(self, compacted: int) -> None:
        super().__init__(COMPACTED)
        self.compacted = compacted


class FutureRevError(EtcdError):
    def __init__(self, revision: int) -> None:
        super().__init__("etcdserver: mvcc: required revision is a future revision")
        self.revision = revision
