"""The keys of a request: a single key or a range.

Models the key and range_end of etcd's requests (api/etcdserverpb/rpc.proto).
"""

from __future__ import annotations

import msgspec

from apiserver_app.etcd.errors import EMPTY_KEY, EtcdError


class Keys(msgspec.Struct, frozen=True):
    """One key, or the range from `first` up to `end`, exclusive; "\\0" means no upper bound."""

    first: str
    end: str = ""

    def has(self, key: str) -> bool:
        if not self.end:
            return key == self.first
        return key >= self.first and (self.end == "\0" or key < self.end)

    def prefix(self) -> str:
        """Returns the longest prefix that all keys are known to share."""
        if not self.end or self.end == prefix_end(self.first):
            return self.first
        return ""

    def check(self) -> None:
        if not self.first:
            raise EtcdError(EMPTY_KEY)


ALL = Keys("\0", "\0")


def prefix_end(prefix: str) -> str:
    """Returns the first key after all keys that begin with `prefix`."""
    for at in range(len(prefix) - 1, -1, -1):
        if ord(prefix[at]) < 0x10FFFF:
            return prefix[:at] + chr(ord(prefix[at]) + 1)
    return "\0"
