"""Calls that the API server makes to others: webhooks, identity providers, aggregated servers.

A call names its target by URL or as a Service of the cluster. Who carries it is decided outside:
a simulated container answers inside the simulation, in virtual time; a program on an address that
the configuration allows is asked over the network, and its answer enters as a logged input. What is
neither is refused by name. Nothing here does I/O.

Models kubernetes staging/src/k8s.io/apiserver/pkg/util/webhook/client.go and
pkg/util/proxy/proxy.go (ResolveEndpoint).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from apiserver_app.machinery.net.nodeapi import Connection

BODY_BYTES_MAX = 3 << 20


@dataclass(frozen=True, slots=True)
class ServiceTarget:
    """A Service of the cluster, as a clientConfig or an APIService names it."""

    namespace: str
    name: str
    port: int = 443
    path: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTPS request. `to` is a URL or a Service; `path` and `query` are appended to it."""

    to: str | ServiceTarget
    method: str = "POST"
    path: str = ""
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    ca_pem: str = ""  # who must have signed the server's certificate; empty: the system's roots
    client_cert_pem: str = ""
    client_key_pem: str = ""
    insecure: bool = False  # insecureSkipTLSVerify
    timeout_seconds: float = 10.0
    # headers that may stand there several times, beside the others
    repeated: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]  # names in small letters
    body: bytes
    by: str = ""  # who answered, for the trace: "pod team-a/injector-0" or "127.0.0.1:9443"


class CallFailed(Exception):
    """No answer; the text is what Go's HTTP client says: Post "https://…": dial tcp …"""

    def __init__(self, text: str, *, timed_out: bool = False) -> None:
        super().__init__(text)
        self.timed_out = timed_out


class Outbound(Protocol):
    """The way out of one cluster's API server."""

    async def call(self, call: Call) -> Answer:
        """Ask and wait; raises CallFailed. Waits in the kernel and never blocks it."""
        ...

    async def dial(self, call: Call) -> Connection:
        """Connect to where a call would go, secured as it would be, and send nothing."""
        ...
