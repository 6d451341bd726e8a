"""What the API server asks of a node: the logs, processes and ports of its containers.

The API server reaches a kubelet's own server for these, as the real one does; the kubelets of the
cluster implement it (controllers_app/kubelet) and the handlers of log, exec, attach, portforward
and proxy use it. All in virtual time; nothing here knows HTTP framing or sockets.

Models kubernetes pkg/kubelet/server/server.go and staging/src/k8s.io/cri-api (streaming).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from apiserver_app.machinery.meta import Object

STDOUT, STDERR = "stdout", "stderr"


@dataclass(frozen=True, slots=True)
class LogOptions:
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
    """A log as it is read. `next` gives bytes, or None at the end; it waits when following."""

    async def next(self) -> bytes | None: ...

    def close(self) -> None:
        """The reader is gone."""
        ...


class Process(Protocol):
    """A command that runs in a container, or the container's own one when attached."""

    async def read(self) -> tuple[str, bytes] | None:
        """(STDOUT or STDERR, data); None once it has ended and all was read."""
        ...

    def write(self, data: bytes) -> None:
        """To its standard input."""
        ...

    def close_stdin(self) -> None: ...

    def resize(self, width: int, height: int) -> None: ...

    def hang_up(self) -> None:
        """The client is gone. What it started goes on without it, unless it had a terminal."""
        ...

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        ...


class Connection(Protocol):
    """A TCP connection to a port of a pod."""

    async def read(self) -> bytes | None:
        """Some bytes; None when the pod's side is closed."""
        ...

    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class HttpRequest:
    method: str
    path: str  # with its query
    headers: Mapping[str, str] = field(default_factory=dict)  # names in small letters
    body: bytes = b""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    status: int
    headers: Mapping[str, str]  # names in small letters
    body: bytes


class NodeError(Exception):
    """The node refuses; `code` and text are what the kubelet's server answers."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class Nodes(Protocol):
    """Every kubelet of the cluster, found by the pod's spec.nodeName. All raise NodeError."""

    async def logs(self, pod: Object, options: LogOptions) -> Lines: ...

    async def exec(
        self, pod: Object, container: str, command: list[str], *, stdin: bool, tty: bool
    ) -> Process:
        """Start a command. One that is not in the image raises with the runtime's text."""
        ...

    async def attach(self, pod: Object, container: str, *, stdin: bool, tty: bool) -> Process: ...

    async def dial(self, pod: Object, port: int) -> Connection:
        """Connect to a port of the pod, as portforward does."""
        ...

    async def http(self, pod: Object, port: int, request: HttpRequest) -> HttpAnswer:
        """One HTTP request to a port of the pod: probes, proxies, webhooks and `wget` use it."""
        ...

    async def node(self, name: str, request: HttpRequest) -> HttpAnswer:
        """One request to the kubelet's own server: /configz, /stats/summary, /pods, /healthz."""
        ...
