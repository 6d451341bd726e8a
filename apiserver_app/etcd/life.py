"""Whether etcd runs. While it does not, its clients are refused connections and try again.

What is stored stays; no lease expires. Each lease begins anew once it runs again, as a new leader
gives its clients time to renew.

Models etcd client/v3/retry_interceptor.go and server/lease/lessor.go (Promote).
"""

from __future__ import annotations

from collections.abc import Callable

from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.probe import Probe
from apiserver_app.machinery.waiting import Signal

RUNNING, STOPPED = "running", "stopped"
NAME = "etcd"


class Life:
    """That of the etcd of one cluster. It runs at first."""

    def __init__(self, kernel: Kernel, probe: Probe) -> None:
        self.on_start: list[Callable[[], None]] = []  # of its own: before a client gets through
        self._probe = probe
        self._running = Signal(kernel)
        self._running.set()

    @property
    def state(self) -> str:
        return RUNNING if self.runs else STOPPED

    @property
    def runs(self) -> bool:
        return self._running.is_set

    def stop(self) -> None:
        """Takes nothing more, at once: what it was told before is on its disk."""
        self._running.clear()
        self._probe.tell("component", NAME, "stopped", {}, span=0)

    def start(self) -> None:
        """Lets those who wait get through."""
        self._probe.tell("component", NAME, "starting", {"again": True}, span=0)
        for begin in self.on_start:
            begin()
        self._running.set()

    async def until_running(
        self, seconds_max: float | None = None, *, background: bool = False
    ) -> bool:
        """Waits for so long at most; returns whether it runs."""
        return self.runs or await self._running.wait(seconds_max, background=background)
