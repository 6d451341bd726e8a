"""Looks whether the files of authentication and authorization changed, and hands in what they say.

A change is an input of the cluster, like a request: it takes effect at a slice and is logged, with
the names of the kubeconfigs that belong to it, not with what stands in them.

Models kubernetes staging/src/k8s.io/apiserver/pkg/util/filesystem/watcher.go.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from apiserver_app import flags
from apiserver_app.handlers.server import reloading
from lifecycle.hosting.worker.clusterhost import ClusterHost

LOOK_SECONDS = 0.5


class Files:
    """The files of one cluster that are read again. `wake` makes the driver look at inputs."""

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        host: ClusterHost,
        wake: Callable[[], None],
        read: Callable[[str], str],
    ) -> None:
        self._loop = loop
        self._host = host
        self._wake = wake
        self._read = read
        given = host.cluster.inputs.flags
        self._said = reloading.watched(given, host.cluster.version)
        self._seen = {name: _stamp(text.name) for name, text in self._said.items()}

    def start(self) -> None:
        """Begin to look, if there is anything to look at."""
        if self._said:
            self._loop.call_later(LOOK_SECONDS, self._look)

    def _look(self) -> None:
        for name, text in list(self._said.items()):
            seen = _stamp(text.name)
            if seen != self._seen[name]:
                self._seen[name] = seen
                self._hand_in(name, text)
        self._loop.call_later(LOOK_SECONDS, self._look)

    def _hand_in(self, name: str, before: flags.FileText) -> None:
        reloads = self._host.cluster.reloads
        try:
            text = flags.reread(name, before, self._read)
        except flags.FlagError as error:
            why = str(error).removeprefix(f"--{name}: ")
            self._host.offer("unread", [name, why], lambda: reloads.unreadable(name, why))
        else:
            if text == before:
                return
            self._said[name] = text
            files = sorted(getattr(text, "files", {}))
            self._host.offer("file", [name, str(text), files], lambda: reloads.changed(name, text))
        self._wake()


def _stamp(name: str) -> tuple[int, int, int]:
    """What distinguishes one state of a file from another; zeros when there is no file."""
    try:
        status = Path(name).expanduser().stat()
    except OSError:
        return (0, 0, 0)
    return (status.st_mtime_ns, status.st_size, status.st_ino)
