"""The edge process from its first listening socket to its exit code.

Joins server, application, port and worker; writes endpoints.json once the worker serves; on a
signal ends streams first, then the worker, then itself, within DEADLINE_SECONDS whatever happens.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import functools
import gc
import json
import os
import resource
import signal
import sys
import threading
from pathlib import Path
from typing import Any

from lifecycle.hosting.edge.adapter import server, tls  # isort: skip

from apiserver_app.handlers.server import life
from lifecycle.hosting import child, logfile, memory, preparation, quarantine, supervision
from lifecycle.hosting.edge import access, api, app, fanout, origins, staticfiles
from lifecycle.hosting.port import edgeport, links
from lifecycle.hosting.worker import process

DEADLINE_SECONDS = 4.5
GC_THRESHOLD = 3000
LAST_ANSWERS_SECONDS = 0.5


def run(prepared: preparation.Prepared) -> int:
    """Serve until a signal or until the worker is given up; the exit code."""
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # --single-process: the driver's own store
    memory.bound_heap()
    _open_files()
    return Edge(prepared).run()


class Edge:
    """One edge process."""

    def __init__(self, prepared: preparation.Prepared) -> None:
        self._prepared = prepared
        self._loop: asyncio.AbstractEventLoop = server.event_loop()
        asyncio.set_event_loop(self._loop)
        self._port = edgeport.EdgePort(self._loop)
        self._fanout = fanout.Fanout(self._loop)
        self._port.on_trace.append(self._fanout.on_trace)
        self._port.on_state.append(self._fanout.on_state)
        self._port.on_state.append(self._follow_server)
        self._port.on_removed.append(self._fanout.on_removed)
        self._port.on_log.append(logfile.say)
        self._port.on_ready.append(self._on_ready)
        self._static = staticfiles.StaticFiles(child.PROJECT / "static", logfile.say)
        services = app.Services(
            self._loop,
            self._port,
            self._fanout,
            prepared.options.data_dir,
            origins.own_names([prepared.options.host]),
            access.Access(prepared.tokens),
            self._static,
        )
        self._application = app.Application(services, load_django)
        self._server = server.EdgeServer(
            self._application, self._on_listening, self._application.refusal
        )
        self._supervisor = supervision.Supervisor(
            self._port,
            self._spawn,
            logfile.say,
            lambda: self._begin_stop(1),
            prepared.board,
            functools.partial(quarantine.note, prepared.options.data_dir),
        )
        self._inside: tuple[links.LoopLink, process.Built] | None = None
        self._code = 0
        self._stopping: asyncio.Task[None] | None = None
        self._announced = False

    def run(self) -> int:
        """Returns when the reactor has stopped."""
        for number in (signal.SIGTERM, signal.SIGINT):
            self._loop.add_signal_handler(number, self._begin_stop, 0)
        try:
            self._server.run()
        finally:
            self._supervisor.kill()
            with contextlib.suppress(OSError):
                self._prepared.endpoints.unlink(missing_ok=True)
        return self._code

    # -- start ----------------------------------------------------------------------------------

    def _on_listening(self) -> None:
        """The server is set up; the reactor starts right after."""
        keys = self._prepared.keys
        self._context = tls.ServerContext(
            keys.server.certificate_path, keys.server.key_path, self._prepared.client_authorities
        )
        self._server.listen(self._prepared.http, None)
        self._address = self._prepared.https.getsockname()
        self._tls = self._server.listen(self._prepared.https, self._context)
        # while the worker starts the edge has nothing else to do
        self._application.load_django().add_done_callback(lambda _done: self._settle())
        self._loop.create_task(self._start_worker())

    def _settle(self) -> None:
        """What is there by now stays; the page's files are made before anybody asks for them."""
        _settle_memory()
        self._loop.run_in_executor(None, self._static.made.addresses)

    async def _start_worker(self) -> None:
        if self._prepared.worker is not None:
            await self._supervisor.adopt(self._prepared.worker)
            return
        await self._application.load_django()
        link = links.LoopLink(self._loop, self._port)
        try:
            await asyncio.to_thread(process.prepare, self._prepared.options)
            built = process.build(self._prepared.options, self._loop, link.to_edge)
        except ValueError as error:
            logfile.say(f"the cluster cannot be started: {error}")
            self._begin_stop(1)
            return
        built.driver.on_end = self._end_inside
        self._inside = (link, built)
        link.open(built.driver)
        await built.start()

    def _end_inside(self, reason: str) -> None:
        logfile.say(reason)
        self._begin_stop(1)

    def _spawn(self) -> child.Child:
        prepared = self._prepared
        prepared.board.clear()
        options = dataclasses.replace(prepared.options, again=True)
        return child.spawn(options, (prepared.lock,), prepared.board.descriptor)

    def _on_ready(self, info: dict[str, Any]) -> None:
        with self._supervisor.reserve.released():
            self._write_endpoints()
        if not self._announced:
            self._announced = True
            self._announce(info)

    def _follow_server(self, cluster: str, state: dict[str, Any]) -> None:
        """While an API server is stopped nobody gets through to it. The TLS port is the default
        cluster's: nobody listens there then, unless other clusters are reached by it, too."""
        stopped = state.get("apiserver") == life.STOPPED
        if stopped == (cluster in self._port.stopped):
            return
        (self._port.stopped.add if stopped else self._port.stopped.discard)(cluster)
        alone = len(self._port.clusters) < 2
        if cluster != api.DEFAULT_CLUSTER or self._stopping is not None:
            return
        if stopped and alone and self._tls is not None:
            self._server.stop_listening_at(self._tls)
            self._tls = None
        elif not stopped and self._tls is None:
            try:
                self._tls = self._server.listen(preparation.bind(*self._address[:2]), self._context)
            except preparation.StartError as error:
                logfile.say(f"the API server cannot be reached again: {error}")

    def _write_endpoints(self) -> None:
        process, prepared = self._supervisor.process, self._prepared
        endpoints = {
            "http": prepared.http_url,
            "https": prepared.https_url,
            "network": prepared.network_url,
            "token": prepared.tokens.get(access.DRIVER, ""),
            "page": prepared.page(access.DRIVER, prepared.http_url),
            "viewer_token": prepared.tokens.get(access.VIEWER, ""),
            "viewer_page": prepared.page(access.VIEWER, prepared.http_url),
            "kubeconfig": str(prepared.kubeconfig),
            "pid": os.getpid(),
            "worker_pid": os.getpid() if process is None else process.pid,
        }
        try:
            _write_atomically(prepared.endpoints, endpoints)
        except OSError as error:
            logfile.say(f"{prepared.endpoints} is not up to date: {error.strerror}")

    def _announce(self, info: dict[str, Any]) -> None:
        nodes = info.get("nodes", self._prepared.options.nodes)
        count = nodes if isinstance(nodes, int) else len(nodes)
        version = info.get("version", self._prepared.options.kubernetes_version)
        print(
            f"\n  Kubernetes {version}, {count} node{'s' if count != 1 else ''}, simulated\n\n"
            f"{self._prepared.links()}"
            f"  kubeconfig  {self._prepared.kubeconfig}\n"
            f"              export KUBECONFIG={self._prepared.kubeconfig}\n"
            f"  stop        Ctrl-C, or kill {os.getpid()}\n",
            flush=True,
        )
        if self._prepared.options.browser and _has_display():
            page = self._prepared.page(access.DRIVER, self._prepared.http_url)
            threading.Thread(target=_browse, args=(page,), daemon=True).start()

    # -- end ------------------------------------------------------------------------------------

    def _begin_stop(self, code: int) -> None:
        """The first call ends everything in order, the second at once."""
        if self._stopping is not None:
            self._supervisor.kill()
            os._exit(code or 1)
        self._code = code
        _exit_after(DEADLINE_SECONDS, self._supervisor)
        self._stopping = self._loop.create_task(self._stop())

    async def _stop(self) -> None:
        try:
            self._application.stopping = True
            self._server.stop_listening()
            self._port.end_streams()
            self._fanout.close()
            if self._inside is not None:
                link, built = self._inside
                await built.stop()
                await asyncio.sleep(0)
                link.close()
            else:
                await self._supervisor.stop()
            deadline = self._loop.time() + LAST_ANSWERS_SECONDS
            while self._server.busy() and self._loop.time() < deadline:
                await asyncio.sleep(0.005)
            await asyncio.sleep(0.01)
        finally:
            self._server.stop()


def load_django() -> Any:
    """Import Django and what the page and the product API need; runs in a thread."""
    import django

    django.setup()
    from channels.routing import get_default_application

    return get_default_application()


def _open_files() -> None:
    """Take as many connections as the system allows, as Go's programs do."""
    _soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))


def _settle_memory() -> None:
    """Everything imported by now stays for good: keep the collector off it."""
    gc.collect()
    gc.freeze()
    memory.trim()
    gc.set_threshold(GC_THRESHOLD, 20, 50)
    gc.enable()


def _write_atomically(path: Path, content: dict[str, Any]) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(json.dumps(content, indent=2) + "\n")
    temporary.replace(path)


def _exit_after(seconds: float, supervisor: supervision.Supervisor) -> None:
    def end() -> None:
        logfile.say(f"not everything ended within {seconds:g} s; leaving")
        supervisor.kill()
        os._exit(1)

    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()


def _has_display() -> bool:
    if sys.platform in ("darwin", "win32"):
        return True
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY"))


def _browse(url: str) -> None:
    import webbrowser

    webbrowser.open(url)
