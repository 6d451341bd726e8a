"""What the processes of a container may use together: CPU time, processes, memory.

A group counts what its own processes use, and what those of the groups below it use: a node's group
holds its containers'. Nothing is measured: CPU time is charged in operations, each worth about a
microsecond of the simulation's own work, so that no container gets more of the machine than its
share. Pure.

Models Linux Documentation/admin-guide/cgroup-v2.rst (cpu.max, pids.max, memory.max) and kubernetes
pkg/kubelet/cm (pod and container cgroups).
"""

from __future__ import annotations

from apiserver_app.machinery.kernel import SECOND
from controllers_app.shell.exits import CommandError

OPERATIONS = 20_000  # that a core does in a second of virtual time
CORES, PIDS_MAX, MEMORY_MAX = 1.0, 64, 24 << 20  # of a container that sets no limit
CORES_MIN = 0.05  # that a container has, however low its limit
NODE_CORES, NODE_PIDS_MAX, NODE_MEMORY_MAX = 4.0, 1024, 48 << 20
SLACK_SECONDS = 10.0  # of all cores, that a group of groups may be behind before it is slowed down


class Cgroup:
    """One group. `above` is the group that counts its use, too."""

    def __init__(
        self,
        cores: float = CORES,
        pids_max: int = PIDS_MAX,
        memory_max: int = MEMORY_MAX,
        above: Cgroup | None = None,
    ) -> None:
        self.cores = cores
        self.pids_max = pids_max
        self.memory_max = memory_max
        self.pids = 0
        self.memory = 0
        self._above = above
        self._owed = 0.0  # seconds of CPU that were used ahead of their time
        self._at = 0  # until when they are counted

    # -- CPU ------------------------------------------------------------------------------------

    def spend(self, now: int, seconds: float) -> float:
        """Uses CPU time. Returns after how many seconds it is the user's turn again."""
        self._owed = max(0.0, self._owed - max(0, now - self._at) / SECOND * self.cores)
        self._at = max(self._at, now)
        self._owed += seconds
        wait = self._owed / self.cores
        if self._above is not None:
            wait = max(wait, self._above.spend(now, seconds) - SLACK_SECONDS)
        return max(wait, seconds)

    # -- processes ------------------------------------------------------------------------------

    def fork(self) -> None:
        """Counts a new process. Raises CommandError when there are too many."""
        if self.is_crowded():
            raise CommandError("can't fork: Resource temporarily unavailable")
        self.enter()

    def enter(self) -> None:
        """Counts a new process that is there already."""
        self._count(1)

    def is_crowded(self) -> bool:
        """Whether no process can be started."""
        full = self.pids >= self.pids_max
        return full or (self._above is not None and self._above.is_crowded())

    def exit(self) -> None:
        self._count(-1)

    def _count(self, change: int) -> None:
        self.pids += change
        if self._above is not None:
            self._above._count(change)

    # -- memory ---------------------------------------------------------------------------------

    def allocate(self, size: int) -> None:
        """Takes memory, or gives it back. Raises CommandError when there is not so much."""
        if size > 0 and not self._has(size):
            raise CommandError("out of memory")
        self._take(size)

    def _has(self, size: int) -> bool:
        own = self.memory + size <= self.memory_max
        return own and (self._above is None or self._above._has(size))

    def _take(self, size: int) -> None:
        self.memory += size
        if self._above is not None:
            self._above._take(size)
