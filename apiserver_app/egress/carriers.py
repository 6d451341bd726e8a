"""Who carries a call that the API server makes: the simulation itself, or its host.

A Service of the cluster, by name or by address, is asked inside the simulation when a pod stands
behind it: an endpoint is chosen, the certificate it shows is judged, and its container answers in
virtual time. Everything else is given to `network`, which the host sets (lifecycle/hosting) and
which refuses what is not allowed. Where there is no host, as in a scripted run, a call to the
network fails by name.

Errors are worded as Go's net/http words them: `Post "https://...": <cause>`.
"""

from __future__ import annotations

import base64
import binascii
import urllib.parse
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Protocol

from apiserver_app.egress import servercerts, serviceroutes
from apiserver_app.egress.outbound import BODY_BYTES_MAX, Answer, Call, CallFailed, ServiceTarget
from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import Kernel, Mailbox, Signal
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import Connection, HttpRequest, NodeError, Nodes
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.reader import Reader

CALLS_MAX = 256  # under way at once
DEADLINE = "context deadline exceeded"
NO_NETWORK = "this run of the cluster is not connected to a network"


@dataclass(frozen=True, slots=True)
class Dial:
    """Where the network is asked. `host` and `port` are dialled, `name` must be certified."""

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
        """So much of what came is used up."""
        ...


Opened = Callable[[Line | CallFailed], None]
Arrived = Callable[[bytes | None], None]


class Network(Protocol):
    """The host's way out. `done` is called once, as an input of the cluster."""

    def ask(self, call: Call, dial: Dial, done: Done) -> None: ...

    def open(self, call: Call, dial: Dial, opened: Opened, arrived: Arrived) -> None:
        """`opened` is called once, then `arrived` with what comes, None at its end."""
        ...


class Carriers:
    """The Outbound of one cluster. `nodes` and `network` are set once they exist."""

    def __init__(
        self,
        kernel: Kernel,
        reader: Reader,
        rand: Rand,
        *,
        cluster_ca: str = "",
        image_certificate: Callable[[str], str] = lambda image: "",
    ) -> None:
        self.nodes: Nodes | None = None
        self.network: Network | None = None
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
        place = self._place(call, url_of(call))
        if isinstance(place, Dial):
            return await self._connection(call, place)
        if self.nodes is None or place.pod is None:
            raise CallFailed(_refused(place))
        try:
            return await self.nodes.dial(place.pod, place.port)
        except NodeError as error:
            raise CallFailed(_refused(place)) from error

    async def _carry(self, call: Call, url: str) -> Answer:
        place = self._place(call, url)
        if isinstance(place, Dial):
            return await self._over_network(call, place)
        assert place.pod is not None
        return await self._inside(call, urllib.parse.urlsplit(url), place.pod, place)

    def _place(self, call: Call, url: str) -> Dial | serviceroutes.Endpoint:
        """Whom the host has to ask, or which pod, whose certificate is judged here."""
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
            shown = self._shown(endpoint.pod)
            why = servercerts.refusal(shown, call.ca_pem, self._cluster_ca, host, self._kernel.now)
            if why:
                raise CallFailed(why)
        return endpoint

    # -- the simulation ---------------------------------------------------------------------------

    async def _inside(
        self,
        call: Call,
        split: urllib.parse.SplitResult,
        pod: Object,
        endpoint: serviceroutes.Endpoint,
    ) -> Answer:
        """Ask the pod, for at most the call's timeout in virtual time."""
        nodes = self.nodes
        if nodes is None:
            raise CallFailed(_refused(endpoint))
        headers = {name.lower(): value for name, value in call.headers.items()}
        headers.setdefault("host", split.netloc)
        for name, value in call.repeated:  # one list, as HTTP reads them
            headers[name] = f"{headers[name]}, {value}" if name in headers else value
        path = (split.path or "/") + (f"?{split.query}" if split.query else "")
        request = HttpRequest(call.method, path, headers, call.body)
        outcome: list[Answer | CallFailed] = []
        over = Signal(self._kernel)
        by = f"pod {meta.key_of(pod)}"

        async def ask() -> None:
            try:
                answer = await nodes.http(pod, endpoint.port, request)
                outcome.append(_bounded(Answer(answer.status, answer.headers, answer.body, by)))
            except NodeError:
                outcome.append(CallFailed(_refused(endpoint)))
            over.set()

        current = self._kernel.current
        lane = current.lane if current is not None else 1
        task = self._kernel.spawn(f"outbound {by}", ask(), lane=lane)
        try:
            await over.wait(call.timeout_seconds)
        finally:
            self._kernel.cancel(task)
        return _taken(outcome[0] if outcome else CallFailed(DEADLINE, timed_out=True))

    def _shown(self, pod: Object) -> str:
        """The certificate that a pod's server shows: of a Secret it mounts, or of its image."""
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
            found = self._image_certificate(container.get("image", ""))
            if found:
                return found
        return ""

    # -- the network ------------------------------------------------------------------------------

    async def _over_network(self, call: Call, dial: Dial) -> Answer:
        """Wait for the host. Its timeout is one of wall time; no timer of the kernel runs here."""
        if self.network is None:
            raise CallFailed(f"dial tcp {dial.host}:{dial.port}: {NO_NETWORK}")
        outcome: list[Answer | CallFailed] = []
        over = Signal(self._kernel)

        def done(result: Answer | CallFailed) -> None:
            outcome.append(result)
            over.set()

        self.network.ask(call, dial, done)
        await over.wait()
        return _taken(outcome[0])

    async def _connection(self, call: Call, dial: Dial) -> Connection:
        if self.network is None:
            raise CallFailed(f"dial tcp {dial.host}:{dial.port}: {NO_NETWORK}")
        box: Mailbox[bytes] = Mailbox(self._kernel)
        outcome: list[Line | CallFailed] = []
        over = Signal(self._kernel)

        def opened(result: Line | CallFailed) -> None:
            outcome.append(result)
            over.set()

        def arrived(data: bytes | None) -> None:
            if data is None:
                box.close()
            elif not box.closed:
                box.put(data)

        self.network.open(call, dial, opened, arrived)
        await over.wait()
        line = outcome[0]
        if isinstance(line, CallFailed):
            raise line
        return _Outside(line, box)


class _Outside:
    """A connection that the host holds, as `Connection`."""

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
    """The full URL of a call, as it stands in errors."""
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


def _taken(outcome: Answer | CallFailed) -> Answer:
    if isinstance(outcome, CallFailed):
        raise outcome
    return outcome
