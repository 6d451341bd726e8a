"""The API server's outbound calls: to webhooks, identity providers and aggregated servers.

A call names its target by URL or as a Service of the cluster. `carriers` decides who answers: a
simulated container, in virtual time; or a program at an address that the configuration allows,
over the network, whose answer enters as a logged input. Other calls fail. Nothing here does I/O.

Models kubernetes staging/src/k8s.io/apiserver/pkg/util/webhook/client.go and
pkg/util/proxy/proxy.go (ResolveEndpoint).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import msgspec

from apiserver_app.machinery.net.nodeapi import Connection

BODY_BYTES_MAX = 3 << 20


class ServiceTarget(msgspec.Struct, frozen=True):
    """A Service of the cluster, as a clientConfig or an APIService names it."""

    namespace: str
    name: str
    port: int = 443
    path: str = ""


class Call(msgspec.Struct, frozen=True):
    """An HTTPS request. `to` is a URL or a Service; `path` and `query` are appended."""

    to: str | ServiceTarget
    method: str = "POST"
    path: str = ""
    query: str = ""
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)
    body: bytes = b""
    ca_pem: str = ""  # the CA bundle; empty: the system's roots
    client_cert_pem: str = ""
    client_key_pem: str = ""
    insecure: bool = False  # insecureSkipTLSVerify
    timeout_seconds: float = 10.0
    # headers that may occur several times, in addition to the others
    repeated: tuple[tuple[str, str], ...] = ()


def target_of(client: Mapping[str, Any]) -> str | ServiceTarget:
    """Where the clientConfig of a webhook leads."""
    service = client.get("service")
    if service is None:
        return client.get("url") or ""
    return ServiceTarget(
        service.get("namespace", ""),
        service.get("name", ""),
        service.get("port") or 443,
        service.get("path") or "",
    )


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes
    by: str = ""  # the server, for the trace: "pod team-a/injector-0" or "127.0.0.1:9443"


class CallFailed(Exception):
    """The call failed; the text is that of Go's HTTP client: Post "https://…": dial tcp …"""

    def __init__(self, text: str, *, timed_out: bool = False) -> None:
        super().__init__(text)
        self.timed_out = timed_out


class Outbound(Protocol):
    """Makes the outbound calls of one cluster's API server."""

    async def call(self, call: Call) -> Answer:
        """Calls and waits in the kernel for the answer. Raises CallFailed."""
        ...

    async def dial(self, call: Call) -> Connection:
        """Connects to the target of a call, with the same security, and sends nothing."""
        ...
