"""The worker process: Django, the Channels worker consumers and the driver of the clusters.

It serves one end of the socket pair and ends when the other end does: whatever happens to the edge,
no worker stays behind. On the way out it commits once more. Anything uncaught in the loop ends the
process, because the store is the only truth and a new worker continues from it.
"""

from __future__ import annotations

import asyncio
import gc
import importlib
import inspect
import mmap
import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable, Sequence
from typing import Any

from lifecycle.hosting import board, child, logfile, memory, storecheck
from lifecycle.hosting.options import Options
from lifecycle.hosting.port import frames, links

EXIT_CRASH = 70
LAST_COMMIT_SECONDS = 2.5
DRIVER = (
    "lifecycle.hosting.worker.building:build_driver"  # LIFECYCLE_DRIVER names another, for tests
)


class Owner:
    """The clusters of this process as the Channels consumers know them.

    A role that a cluster wants is asked for through the channel layer; what arrives for it becomes
    an input of that cluster, taken at the next slice.
    """

    def __init__(self, driver: Any, loop: asyncio.AbstractEventLoop, layer: Any) -> None:
        self._driver = driver
        self._loop = loop
        self._layer = layer
        self._sending: set[asyncio.Task[None]] = set()

    def ask(self, cluster: str, role: str) -> None:
        """Send role.start to whoever listens on the role's channel."""
        message = {"type": "role.start", "cluster": cluster}
        task = self._loop.create_task(self._layer.send(role, message))
        self._sending.add(task)
        task.add_done_callback(self._sending.discard)

    def role(self, cluster: str, role: str, action: str, **details: Any) -> None:
        """Called by the consumers; the cluster may be gone meanwhile."""
        host = self._driver.hosts.get(cluster)
        if host is None:
            return
        host.offer(
            "role", [role, action, details], lambda: host.cluster.role(role, action, **details)
        )
        self._driver.wake()


class Built:
    """The driver and the Channels worker beside it, on one loop."""

    def __init__(self, driver: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.driver = driver
        self._loop = loop
        self._listening: asyncio.Task[None] | None = None

    async def start(self, poll: Callable[[], None] | None = None, written: Any = None) -> None:
        """Listen on the roles' channels, then boot the clusters. `poll` takes in what waits on the
        socket, if there is one; `written` is the board."""
        from channels.layers import get_channel_layer
        from channels.worker import Worker

        from controllers_app import consumers

        layer = get_channel_layer()
        owner = Owner(self.driver, self._loop, layer)
        application = consumers.application(owner)
        listening = Worker(application, consumers.CHANNELS, layer).arun()
        self._listening = self._loop.create_task(listening)
        await _settled(self.driver.start(owner.ask, poll, written))

    async def stop(self) -> None:
        """Commit what is left, and leave no log behind beside the database. Bounded by the
        caller's deadline."""
        from lifecycle.hosting import schema

        await _settled(self.driver.stop())
        schema.close()
        if self._listening is not None:
            self._listening.cancel()


def main(arguments: Sequence[str]) -> int:
    """`manage.py demo-worker FD OPTIONS BOARD`, started by the edge only."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the edge ends it by SIGABRT for its stacks
    memory.bound_heap()
    gc.disable()  # nothing of what is imported now is garbage
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # the driver's slices call the store directly
    end = socket.socket(fileno=int(arguments[0]))
    options = Options.from_json(arguments[1])
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the edge, which ends us
    logfile.open_log(options.data_dir / "worker.log")
    code = asyncio.run(_serve(end, options, board.open_in_worker(int(arguments[2]))))
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def prepare(options: Options) -> None:
    """Django, and an up-to-date store without damage. Blocks; nothing is served yet. Raises
    ValueError."""
    from django.apps import apps
    from django.conf import settings

    apps.populate(settings.INSTALLED_APPS)  # setup() imports Django's mail for its logging, too
    from lifecycle.hosting import schema

    storecheck.check(options.data_dir)
    schema.migrate_if_needed()


def build(options: Options, loop: asyncio.AbstractEventLoop, send: frames.Send) -> Built:
    """The driver as the composition makes it. Raises ValueError for inputs that cannot be."""
    module, name = os.environ.get("LIFECYCLE_DRIVER", DRIVER).split(":")
    return Built(getattr(importlib.import_module(module), name)(options, loop, send), loop)


async def _serve(end: socket.socket, options: Options, written: mmap.mmap) -> int:
    loop = asyncio.get_running_loop()
    over = asyncio.Event()
    code = 0

    def end_for_another(reason: str) -> None:
        nonlocal code
        print(f"demo: {reason}", file=sys.stderr, flush=True)
        code = child.EXIT_AGAIN
        over.set()

    loop.add_signal_handler(signal.SIGTERM, over.set)
    loop.set_exception_handler(_die_of_it)
    outbox: list[links.SocketLink] = []
    try:
        prepare(options)
        built = build(options, loop, lambda messages: outbox[0].send(messages))
    except ValueError as error:
        print(f"the cluster cannot be started: {error}", file=sys.stderr)
        return child.EXIT_SAID
    except Exception as error:
        logfile.report("the worker did not start", error)
        from lifecycle.hosting import schema

        return child.EXIT_AGAIN if schema.is_unreadable(error) else EXIT_CRASH
    built.driver.on_end = end_for_another
    receive = _answering(built.driver.receive, lambda messages: outbox[0].send(messages))
    outbox.append(await links.open_socket(end, receive, over.set))
    await built.start(outbox[0].poll, written)
    await over.wait()
    _exit_after(LAST_COMMIT_SECONDS)
    await built.stop()
    outbox[0].close()
    await asyncio.sleep(0)
    return code


def _answering(receive: frames.Send, send: frames.Send) -> frames.Send:
    """Answers the edge's pings, which come alone, and hands on all else."""

    def received(messages: list[frames.Message]) -> None:
        if messages[0][0] == "ping":
            send([("pong", sys.gettrace() is not None)])
        else:
            receive(messages)

    return received


def _die_of_it(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    error = context.get("exception")
    if error is None:
        loop.default_exception_handler(context)
    else:
        logfile.report("the worker failed", error)
    if "handle" in context or "transport" in context:
        sys.stderr.flush()
        os._exit(EXIT_CRASH)


def _exit_after(seconds: float) -> None:
    timer = threading.Timer(seconds, os._exit, (EXIT_CRASH,))
    timer.daemon = True
    timer.start()


async def _settled(result: Any) -> None:
    if inspect.isawaitable(result):
        await result
