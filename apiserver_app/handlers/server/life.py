"""The life of one API server: it serves, it is asked to stop, it drains, it is stopped, it starts.

As upstream's Run(opts, stopCh): once the stop is asked for /readyz fails, and for the time of
--shutdown-delay-duration all else goes on, so that balancers notice. Then nothing new is taken,
what is under way is answered, watches end and sessions are cut. The store is another program and
does not notice. What the server itself does in the background waits until it is started again.

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/genericapiserver.go (RunWithContext) and
lifecycle_signals.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.probe import Probe
from apiserver_app.machinery.task import Task
from apiserver_app.machinery.waiting import Signal

SERVING, STOPPING, STOPPED = "serving", "stopping", "stopped"
NAME = "apiserver"
DRAIN_SECONDS_MAX = 60  # of requests under way: --request-timeout
LOOK_SECONDS = 0.01
REFUSED = "dial tcp 127.0.0.1:6443: connect: connection refused"

# (state, action) -> state; anything else is refused
TRANSITIONS = {
    (SERVING, "stop"): STOPPING,
    (STOPPING, "drained"): STOPPED,
    (STOPPED, "start"): SERVING,
}


class IllegalTransition(Exception):
    """The server cannot do that in its state; nothing was changed."""


class Life:
    """Whether the server runs. `under_way` counts its requests, `end_watches` ends the watches of
    others."""

    def __init__(
        self,
        kernel: Kernel,
        probe: Probe,
        delay_seconds: float,
        under_way: Callable[[], int],
        end_watches: Callable[[], int],
    ) -> None:
        self.state = SERVING
        self.listens = True  # takes new requests
        self.sessions: dict[int, Task] = {}  # exec, logs, forwarded ports, by their span
        self.on_stop: list[Callable[[], None]] = []  # the hooks before the end
        self._kernel = kernel
        self._probe = probe
        self._delay_seconds = delay_seconds
        self._under_way = under_way
        self._end_watches = end_watches
        self._started = Signal(kernel)
        self._started.set()

    def stop(self) -> None:
        """Begin to stop. Raises IllegalTransition."""
        self._move("stop")
        self._tell("stopping", {"readyz": 500, "delay": self._delay_seconds})
        self._kernel.spawn("apiserver/shutdown", self._shut_down(), span=0)

    def start(self) -> None:
        """Take requests again. Raises IllegalTransition."""
        self._move("start")
        self.listens = True
        self._tell("starting", {"again": True})
        self._started.set()
        self._tell("synced", {})

    def check(self) -> None:
        """Refuse who comes while nobody listens."""
        if not self.listens:
            raise errors.ApiError(503, "ServiceUnavailable", REFUSED)

    async def until_started(self) -> None:
        """Where the server's own work waits."""
        if not self._started.is_set:
            await self._started.wait()

    async def _shut_down(self) -> None:
        if self._delay_seconds:
            await self._kernel.sleep(self._delay_seconds, background=True)
        for hook in self.on_stop:
            hook()
        self.listens = False
        self._started.clear()
        end = self._kernel.now + DRAIN_SECONDS_MAX * SECOND
        drained = self._under_way()
        while self._under_way() and self._kernel.now < end:
            await self._kernel.sleep(LOOK_SECONDS)
        watches, sessions = self._end_watches(), len(self.sessions)
        detail = {"drained": drained, "watches": watches, "sessions": sessions}
        for task in list(self.sessions.values()):
            self._kernel.cancel(task)
        self._move("drained")
        self._tell("stopped", detail)

    def _move(self, action: str) -> None:
        state = TRANSITIONS.get((self.state, action))
        if state is None:
            raise IllegalTransition(f"cannot {action} the API server: it is {self.state}")
        self.state = state

    def _tell(self, state: str, detail: dict[str, Any]) -> None:
        self._probe.tell("component", NAME, state, detail, span=0)
