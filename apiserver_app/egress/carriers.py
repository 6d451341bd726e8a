"""Carries the API server's outbound calls, inside the simulation or over the host's network.

A call to a Service of the cluster, by name or address, stays inside the simulation if a pod backs
it: an endpoint is chosen, its certificate is verified, and its container answers in virtual time.
All other calls go to `network`, which is the host's (lifecycle/hosting) and refuses
destinations that are not allowed. Without a host, as in a scripted run, such a call fails.

Errors are worded as Go's net/http words them: `Post "https://...": <cause>`.
"""

from __future__ import annotations

import base64
import binascii
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Protocol

import msgspec

from apiserver_app.egress import servercerts, serviceroutes
from apiserver_app.egress.outbound import BODY_BYTES_MAX, Answer, Call, CallFailed, ServiceTarget
from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import Connection, HttpRequest, NodeError, Nodes
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.reader import Reader
from apiserver_app.machinery.waiting import Mailbox, Signal

CALLS_MAX = 256  # concurrent calls
DEADLINE = "context deadline exceeded"
NO_NETWORK = "this run of the cluster is not connected to a network"


class Dial(msgspec.Struct, frozen=True):
    """A network destination: `host` and `port` to dial, `name` that the certificate must have."""

    url: str
    host: str
    port: int
    name: str


Done = Callable[[Answer | CallFailed], None]


class Line(Protocol):
    """A connection that the host holds for the cluster."""

    def write(self, data: bytes) -> None: ...

    def close(self) -> None: ...

    def took(self, count: int) -> None:
        """Reports that `count` received bytes were consumed."""
        ...


Opened = Callable[[Line | CallFailed], None]
Arrived = Callable[[bytes | None], None]


class Network(Protocol):
    """The host's network. `done` is called once, as an input of the cluster."""

    def ask(self, call: Call, dial: Dial, done: Done) -> None: ...

    def open(self, call: Call, dial: Dial, opened: Opened, arrived: Arrived) -> None:
        """Calls `opened` once, then `arrived` with each piece of data and None at the end."""
        ...


class Carriers:
    """Implements Outbound for one cluster."""

    def __init__(
        self,
        kernel: Kernel,
        reader: Reader,
        rand: Rand,
        nodes: Nodes,
        network: Network | None = None,
        *,
        cluster_ca: str = "",
        image_certificate: Callable[[str], str] = lambda image: "",
    ) -> None:
        self.nodes = nodes
        self.network = network
        self._kernel = kernel
        self._reader = reader
        self._rand = rand
        self._cluster_ca = cluster_ca
        self._image_certificate = image_certificate
        self._under_way = 0

    async def call(self, call: Call) -> Answer:
        """See Outbound."""
        url = url_of(call)
        try:
            if self._under_way >= CALLS_MAX:
                raise CallFailed(f"more than {CALLS_MAX} calls are under way")
            self._under_way += 1
            try:
                return await self._carry(call, url)
            finally:
                self._under_way -= 1
        except CallFailed as error:
            text = f'{call.method.capitalize()} "{url}": {error}'
            raise CallFailed(text, timed_out=error.timed_out) from error

    async def dial(self, call: Call) -> Connection:
        """See Outbound."""
        destination = self._resolve(call, url_of(call))
        if isinstance(destination, Dial):
            return await self._connection(call, destination)
        if destination.pod is None:
            raise CallFailed(_refused(destination))
        try:
            return await self.nodes.dial(destination.pod, destination.port)
        except NodeError as error:
            raise CallFailed(_refused(destination)) from error

    async def _carry(self, call: Call, url: str) -> Answer:
        destination = self._resolve(call, url)
        if isinstance(destination, Dial):
            return await self._over_network(call, destination)
        assert destination.pod is not None
        return await self._inside(call, urllib.parse.urlsplit(url), destination.pod, destination)

    def _resolve(self, call: Call, url: str) -> Dial | serviceroutes.Endpoint:
        """Resolves the destination: a network address, or a pod, whose certificate is verified."""
        split = urllib.parse.urlsplit(url)
        host = split.hostname or ""
        try:
            port = split.port or (443 if split.scheme == "https" else 80)
        except ValueError as error:
            raise CallFailed(f"invalid URL: {error}") from error
        if isinstance(call.to, ServiceTarget):
            target: ServiceTarget | None = call.to
        else:
            target = serviceroutes.by_host(self._reader, host, port)
        if target is None:
            return Dial(url, host, port, host)
        try:
            endpoint = serviceroutes.resolve(self._reader, self._rand, target)
        except serviceroutes.NoRoute as error:
            raise CallFailed(str(error)) from error
        if endpoint.pod is None:
            return Dial(url, endpoint.address, endpoint.port, host)
        if split.scheme == "https" and not call.insecure:
            certificate = self._server_certificate(endpoint.pod)
            reason = servercerts.refusal(
                certificate, call.ca_pem, self._cluster_ca, host, self._kernel.now
            )
            if reason:
                raise CallFailed(reason)
        return endpoint

    # -- the simulation ---------------------------------------------------------------------------

    async def _inside(
        self,
        call: Call,
        split: urllib.parse.SplitResult,
        pod: Object,
        endpoint: serviceroutes.Endpoint,
    ) -> Answer:
        """Calls the pod, for at most the call's timeout in virtual time."""
        headers = {name.lower(): value for name, value in call.headers.items()}
        headers.setdefault("host", split.netloc)
        for name, value in call.repeated:  # repeated headers are one list in HTTP
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        path = (split.path or "/") + (f"?{split.query}" if split.query else "")
        request = HttpRequest(call.method, path, headers, call.body)
        outcome: list[Answer | CallFailed] = []
        finished = Signal(self._kernel)
        by = f"pod {meta.key_of(pod)}"

        async def ask() -> None:
            try:
                answer = await self.nodes.http(pod, endpoint.port, request)
                outcome.append(_bounded(Answer(answer.status, answer.headers, answer.body, by)))
            except NodeError:
                outcome.append(CallFailed(_refused(endpoint)))
            finished.set()

        current = self._kernel.current
        lane = current.lane if current is not None else 1
        task = self._kernel.spawn(f"outbound {by}", ask(), lane=lane)
        try:
            await finished.wait(call.timeout_seconds)
        finally:
            self._kernel.cancel(task)
        return _result(outcome[0] if outcome else CallFailed(DEADLINE, timed_out=True))

    def _server_certificate(self, pod: Object) -> str:
        """The certificate of a pod's server: from a mounted Secret, or from its image."""
        namespace = meta.namespace_of(pod)
        for name in _secrets(pod):
            secret = self._reader.get("secrets", namespace, name) or {}
            encoded = (secret.get("data") or {}).get("tls.crt")
            if encoded:
                try:
                    return base64.b64decode(encoded).decode()
                except (binascii.Error, UnicodeDecodeError):
                    return "(no PEM)"
        for container in (pod.get("spec") or {}).get("containers") or ():
            certificate = self._image_certificate(container.get("image", ""))
            if certificate:
                return certificate
        return ""

    # -- the network ------------------------------------------------------------------------------

    async def _over_network(self, call: Call, dial: Dial) -> Answer:
        """Waits for the host, which applies the timeout in wall-clock time."""
        if self.network is None:
            raise CallFailed(f"dial tcp {dial.host}:{dial.port}: {NO_NETWORK}")
        outcome: list[Answer | CallFailed] = []
        finished = Signal(self._kernel)

        def done(result: Answer | CallFailed) -> None:
            outcome.append(result)
            finished.set()

        self.network.ask(call, dial, done)
        await finished.wait()
        return _result(outcome[0])

    async def _connection(self, call: Call, dial: Dial) -> Connection:
        if self.network is None:
            raise CallFailed(f"dial tcp {dial.host}:{dial.port}: {NO_NETWORK}")
        box: Mailbox[bytes] = Mailbox(self._kernel)
        outcome: list[Line | CallFailed] = []
        finished = Signal(self._kernel)

        def opened(result: Line | CallFailed) -> None:
            outcome.append(result)
            finished.set()

        def arrived(data: bytes | None) -> None:
            if data is None:
                box.close()
            elif not box.closed:
                box.put(data)

        self.network.open(call, dial, opened, arrived)
        await finished.wait()
        line = outcome[0]
        if isinstance(line, CallFailed):
            raise line
        return _HostConnection(line, box)


class _HostConnection:
    """Wraps a connection of the host as a `Connection`."""

    def __init__(self, line: Line, box: Mailbox[bytes]) -> None:
        self._line = line
        self._box = box

    async def read(self) -> bytes | None:
        data = await self._box.get()
        if data is not None:
            self._line.took(len(data))
        return data

    def write(self, data: bytes) -> None:
        self._line.write(data)

    def close(self) -> None:
        self._box.close()
        self._line.close()


def url_of(call: Call) -> str:
    """The full URL of a call, as error messages quote it."""
    if isinstance(call.to, ServiceTarget):
        target = call.to
        path = target.path if target.path.startswith("/") or not target.path else f"/{target.path}"
        url = f"https://{target.name}.{target.namespace}.svc:{target.port}{path}"
    else:
        url = call.to
    query = ""
    if call.path:
        base, mark, query = url.partition("?")
        url = base.rstrip("/") + "/" + call.path.lstrip("/") + mark + query
    if call.query:
        url += ("&" if "?" in url else "?") + call.query
    return url


def _secrets(pod: Object) -> Iterator[str]:
    for volume in (pod.get("spec") or {}).get("volumes") or ():
        if volume.get("secret"):
            yield volume["secret"].get("secretName", "")
        for source in (volume.get("projected") or {}).get("sources") or ():
            if source.get("secret"):
                yield source["secret"].get("name", "")


def _refused(endpoint: serviceroutes.Endpoint) -> str:
    return f"dial tcp {endpoint.address}:{endpoint.port}: connect: connection refused"


def _bounded(answer: Answer) -> Answer | CallFailed:
    if len(answer.body) > BODY_BYTES_MAX:
        return CallFailed(f"response body larger than {BODY_BYTES_MAX} bytes")
    return answer


def _result(outcome: Answer | CallFailed) -> Answer:
    if isinstance(outcome, CallFailed):
        raise outcome
    return outcome
