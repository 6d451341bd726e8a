"""The time that etcd's log takes: what is written while one batch is synced waits for its end, and
is synced together with the next.

Models etcd server/storage/wal/wal.go (Save) and server/etcdserver/raft.go (the loop of Ready).
"""

from __future__ import annotations

from apiserver_app.machinery.kernel import Kernel

SYNC = 6500  # µs, of a batch on an ordinary disk


class Wal:
    """When batches end. What is written is not its concern."""

    def __init__(self, kernel: Kernel, sync: int = SYNC) -> None:
        self._kernel = kernel
        self._sync = sync
        self._end = 0  # of the batch that is being synced, or was the last
        self._more = False  # whether another one follows it

    def behind(self) -> int:
        """µs until the batch of an entry that comes now begins to be synced."""
        now = self._kernel.now
        if self._more and now >= self._end:
            self._end, self._more = self._end + self._sync, False
        if now >= self._end:
            self._end, self._more = now + self._sync, False
            return 0
        self._more = True
        return self._end - now
