"""What etcd refuses, by name."""

from __future__ import annotations


class StoreError(Exception):
    """Root of the store's refusals."""


class CompactedError(StoreError):
    def __init__(self, compacted: int) -> None:
        super().__init__("etcdserver: mvcc: required revision has been compacted")
        self.compacted = compacted


class FutureRevError(StoreError):
    def __init__(self, revision: int) -> None:
        super().__init__("etcdserver: mvcc: required revision is a future revision")
        self.revision = revision


class UnsupportedError(StoreError):
    """Something etcd has and this store does not."""

    def __init__(self, what: str) -> None:
        super().__init__(f"not supported by this store: {what}")
