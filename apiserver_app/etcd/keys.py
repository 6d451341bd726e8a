"""The keys that a request names: one, or a range of them.

Models the key and range_end of etcd's requests (api/etcdserverpb/rpc.proto).
"""

from __future__ import annotations

from dataclasses import dataclass

from apiserver_app.etcd.errors import EMPTY_KEY, EtcdError


@dataclass(frozen=True, slots=True)
class Keys:
    """One key, or those from `first` up to but not with `end`; "\\0" is no end at all."""

    first: str
    end: str = ""

    def has(self, key: str) -> bool:
        if not self.end:
            return key == self.first
        return key >= self.first and (self.end == "\0" or key < self.end)

    def prefix(self) -> str:
        """The longest prefix that is known to be common to all of them."""
        if not self.end or self.end == prefix_end(self.first):
            return self.first
        return ""

    def check(self) -> None:
        if not self.first:
            raise EtcdError(EMPTY_KEY)


ALL = Keys("\0", "\0")


def prefix_end(prefix: str) -> str:
    """The first key after all that begin with `prefix`."""
    for at in range(len(prefix) - 1, -1, -1):
        if ord(prefix[at]) < 0x10FFFF:
            return prefix[:at] + chr(ord(prefix[at]) + 1)
    return "\0"
