"""The interface of a kubelet's server: logs, processes and ports of the node's containers.

The kubelets of the cluster implement it (controllers_app/kubelet); the handlers of log, exec,
attach, portforward and proxy use it. All in virtual time, without HTTP framing or sockets.

Models kubernetes pkg/kubelet/server/server.go and staging/src/k8s.io/cri-api (streaming).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import msgspec

from apiserver_app.machinery.meta import Object

STDOUT, STDERR = "stdout", "stderr"


class LogOptions(msgspec.Struct, frozen=True):
    """PodLogOptions, validated; times are µs since 1970."""

    container: str
    follow: bool = False
    previous: bool = False
    since: int | None = None
    timestamps: bool = False
    tail_lines: int | None = None
    limit_bytes: int | None = None
    stream: str = "All"  # All, Stdout, Stderr


class Lines(Protocol):
    """An open log. `next` returns bytes, or None at the end; it waits when following."""

    async def next(self) -> bytes | None: ...

    def close(self) -> None:
        """Stops reading."""
        ...


class Process(Protocol):
    """A command that runs in a container, or the container's main process if attached."""

    async def read(self) -> tuple[str, bytes] | None:
        """(STDOUT or STDERR, data); None once it has exited and all output was read."""
        ...

    def write(self, data: bytes) -> None:
        """Writes to its standard input."""
        ...

    def close_stdin(self) -> None: ...

    def resize(self, width: int, height: int) -> None: ...

    def hang_up(self) -> None:
        """The client has disconnected. The process continues unless it had a terminal."""
        ...

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        ...


class Connection(Protocol):
    """A TCP connection to a port of a pod."""

    async def read(self) -> bytes | None:
        """Some bytes; None once the pod has closed its side."""
        ...

    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


class HttpRequest(msgspec.Struct, frozen=True):
    method: str
    path: str  # with its query
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)  # names in small letters
    body: bytes = b""


class HttpAnswer(msgspec.Struct, frozen=True):
    status: int
    headers: Mapping[str, str]  # names in small letters
    body: bytes


class NodeError(Exception):
    """An error of the kubelet's server, with its status code and text."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Nodes(Protocol):
    """The kubelets of the cluster, by the pod's spec.nodeName. All methods raise NodeError."""

    async def logs(self, pod: Object, options: LogOptions) -> Lines: ...

    async def exec(
        self, pod: Object, container: str, command: list[str], *, stdin: bool, tty: bool
    ) -> Process:
        """Starts a command. If the image does not have it, the error has the runtime's text."""
        ...

    async def attach(self, pod: Object, container: str, *, stdin: bool, tty: bool) -> Process: ...

    async def dial(self, pod: Object, port: int) -> Connection:
        """Connects to a port of the pod, as portforward does."""
        ...

    async def http(self, pod: Object, port: int, request: HttpRequest) -> HttpAnswer:
        """Sends an HTTP request to a port of the pod, for probes, proxies, webhooks and `wget`."""
        ...

    async def node(self, name: str, request: HttpRequest) -> HttpAnswer:
        """Sends a request to the kubelet's server: /configz, /stats/summary, /pods, /healthz."""
        ...
