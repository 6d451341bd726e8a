"""A server of an image, and which one listens on a port of a pod.

The catalog names the server at each port of an image. A container whose image is not known answers
on the ports that its spec declares.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

import msgspec

from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import HttpAnswer, HttpRequest
from controllers_app.containerruntime.containers import Container, Containers
from controllers_app.containerruntime.sandboxes import PodSandbox
from controllers_app.containerruntime.servers import httpclient
from controllers_app.cri import images
from controllers_app.cri.images import Image
from controllers_app.cri.services import ContainerRecord
from controllers_app.shell.sockets import Socket


class ApiServer(Protocol):
    """The API server as containers reach it."""

    @property
    def listens(self) -> bool:
        """Whether it takes connections."""
        ...

    async def __call__(self, request: HttpRequest, address: str) -> HttpAnswer:
        """The answer to a request from that address."""
        ...


Answering = Callable[[Container, int, HttpRequest], Awaitable[HttpAnswer]]


@dataclass(frozen=True, slots=True)
class Server:
    """A simulated server. `talk` answers bytes that are no HTTP; without `answer` it knows none."""

    name: str
    answer: Answering | None = None
    talk: Callable[[bytes], bytes] | None = None
    tls: bool = False
    open: Callable[[], Socket] | None = None  # whose bytes a program reads and writes
    start: Callable[[Container], None] | None = None  # what it does unasked; twice is as once


class Bound(msgspec.Struct, frozen=True):
    """A server that listens in a container."""

    server: Server
    container: Container

    @property
    def tls(self) -> bool:
        return self.server.tls

    @property
    def open(self) -> Callable[[], Socket] | None:
        return self.server.open

    @property
    def talk(self) -> Callable[[bytes], bytes] | None:
        return self.server.talk

    async def answer(self, port: int, request: HttpRequest) -> HttpAnswer:
        if self.server.open is not None:
            return await httpclient.send(
                self.container.environment.kernel, self.server.open(), request
            )
        if self.server.answer is None:
            return HttpAnswer(502, {"content-type": "text/plain"}, b"malformed HTTP response\n")
        sandbox, name = self.container.sandbox(), self.container.name
        if sandbox is not None and name in sandbox.records:
            seconds = sandbox.image_of(name).answer_cpu_seconds
            if seconds:
                await self.container.work(seconds)
        return await self.server.answer(self.container, port, request)


_DOCROOTS = {"nginx": "/usr/share/nginx/html", "httpd": "/usr/local/apache2/htdocs"}
Servers = Mapping[str, Server]


def listening(
    servers: Servers, containers: Containers, sandbox: PodSandbox, port: int
) -> Bound | None:
    """What listens on the pod's port now."""
    for record, known, server in _open(containers, sandbox, port):
        if known is not None and not server:
            return Bound(Server("program", open=known.ports[port].opened), known)
        image = sandbox.image_of(record.name)
        return Bound(servers[server], containers.get(sandbox.pod, record, image))
    return None


def is_listening(containers: Containers, sandbox: PodSandbox, port: int) -> bool:
    """The same, for who only looks: nothing is laid out for it."""
    return any(True for _ in _open(containers, sandbox, port))


def _open(
    containers: Containers, sandbox: PodSandbox, port: int
) -> Iterator[tuple[ContainerRecord, Container | None, str]]:
    """(container, what was laid out of it, the image's server there; none: a program)"""
    for record in sandbox.running():
        known = containers.find(sandbox.uid, record.name, record.id)
        if known is not None and port in known.ports:
            yield record, known, ""
        image = sandbox.image_of(record.name)
        server = ports_of(sandbox.spec_of(record.name), image).get(port)
        if server is not None and _is_up(record, image, containers.host.environment.kernel.now):
            if known is None or known.is_serving():
                yield record, known, server


def fault(spec: Object, image: Image, port: int, path: str | None) -> int | None:
    """How the image's server will always fail a request for that path, or without a path a
    connection: 0, it does not listen; else an HTTP status. None: not known to fail."""
    if not is_known(image):
        return None
    name = ports_of(spec, image).get(port)
    if name is None:
        return 0
    root = _DOCROOTS.get(name)
    if path is None or root is None:
        return None
    mounts = spec.get("volumeMounts") or ()
    if any(root.startswith(mount["mountPath"].rstrip("/")) for mount in mounts):
        return None
    name = path.partition("?")[0]
    known = f"{root}{name}{'index.html' if name.endswith('/') else ''}" in image.files
    return None if known else 404


def is_known(image: Image) -> bool:
    """Whether the catalog says where the image listens."""
    return bool(image.ports)


def ports_of(spec: Object, image: Image) -> dict[int, str]:
    """Port -> server of a container, its arguments considered."""
    if not image.ports:
        declared = spec.get("ports") or ()
        return {
            port["containerPort"]: "plain"
            for port in declared
            if port.get("protocol", "TCP") == "TCP"
        }
    argv = [*(spec.get("command") or ()), *(spec.get("args") or ())]
    ports = dict(image.ports)
    for name, standard in (("-listen", 5678), ("--http-port", 8080), ("-port", 80)):
        text = option(argv, name)
        if text and standard in ports and text.rpartition(":")[2].isdigit():
            ports[int(text.rpartition(":")[2])] = ports.pop(standard)
    return ports


def _is_up(record: ContainerRecord, image: Image, now: int) -> bool:
    if image.ready_seconds == images.NEVER or record.started_at is None:
        return False
    return now >= record.started_at + int(image.ready_seconds * SECOND)


def option(argv: Iterable[str], name: str) -> str | None:
    """The value of -name=value or -name value, with one dash or two."""
    words = list(argv)
    for number, word in enumerate(words):
        key, equals, value = word.partition("=")
        if key.lstrip("-") == name.lstrip("-") and key.startswith("-"):
            if equals:
                return value
            return words[number + 1] if number + 1 < len(words) else None
    return None
