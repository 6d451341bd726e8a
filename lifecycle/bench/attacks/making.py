"""What an attack is, and the pieces of which attacks are made."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, NamedTuple

NAMESPACE = "student"
CORE = f"/api/v1/namespaces/{NAMESPACE}"
APPS = f"/apis/apps/v1/namespaces/{NAMESPACE}"
BATCH = f"/apis/batch/v1/namespaces/{NAMESPACE}"
CONNECTIONS = 8
# who attacks: the student, whoever has the link that only watches, whoever reaches the ports; and
# where: the Kubernetes API, the same without the handshake of TLS, the page
STUDENT, VIEWER, NOBODY = "student", "viewer", "nobody"
TLS, RAW, PAGE = "tls", "raw", "page"
TOKEN = b"{token}"  # stands for the viewer's in what is held
HUGE, JSON, YAML = 2**31 - 1, "application/json", "application/yaml"
APPLY, JSON_PATCH = "application/apply-patch+yaml", "application/json-patch+json"
MERGE, STRATEGIC = "application/merge-patch+json", "application/strategic-merge-patch+json"


class Send(NamedTuple):
    """One request."""

    method: str
    path: str
    body: Any = b""
    kind: str = JSON
    headers: tuple[tuple[str, str], ...] = ()
    host: str = "bench"

    def encode(self, token: str = "") -> bytes:
        body = self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()
        lines = [
            f"{self.method} {self.path} HTTP/1.1",
            f"Host: {self.host}",
            *map(": ".join, self.headers),
        ]
        if token:
            lines.append(f"Authorization: Bearer {token}")
        if body:
            lines += [f"Content-Type: {self.kind}", f"Content-Length: {len(body)}"]
        return "\r\n".join([*lines, "", ""]).encode() + body


Make = Callable[[int], Send]


class Attack(NamedTuple):
    """`before` is sent once; then `flood(n)` on some connections, again and again, until the time
    is over; `held` is sent on many connections, which then only read, when they do."""

    before: tuple[Send, ...] = ()
    flood: Make | None = None
    held: bytes | None = None
    connections: int = CONNECTIONS
    reads: bool = True
    who: str = STUDENT
    port: str = TLS


def obj(kind: str, name: str, version: str = "v1", **rest: Any) -> dict[str, Any]:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name}, **rest}


def pod(name: str, *command: str, **spec: Any) -> dict[str, Any]:
    container = {"name": "c", "image": "busybox", "command": list(command) or ["sleep", "1000"]}
    return obj("Pod", name, spec={"containers": [container], **spec})


def create(path: str, body: Any, kind: str = JSON) -> Attack:
    return Attack(flood=lambda n: Send("POST", path, body, kind))


def made(path: str, body: Callable[[int], Any]) -> Attack:
    """Another object each time."""
    return Attack(flood=lambda n: Send("POST", path, body(n)))


def got(path: str, **headers: str) -> Attack:
    more = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    return Attack(flood=lambda n: Send("GET", path, headers=more))


def workload(kind: str, name: str, **spec: Any) -> dict[str, Any]:
    labels = {"app": name}
    template = {"metadata": {"labels": labels}, "spec": pod("x")["spec"]}
    body = {"selector": {"matchLabels": labels}, "template": template, **spec}
    return obj(kind, name, "apps/v1", spec=body)


def job(name: str, **spec: Any) -> dict[str, Any]:
    template = {"spec": {**pod("x", "true")["spec"], "restartPolicy": "Never"}}
    return obj("Job", name, "batch/v1", spec={"template": template, **spec})


SERVES = Send(
    "POST",
    f"{CORE}/pods",
    obj("Pod", "aim", spec={"containers": [{"name": "c", "image": "nginx"}]}),
)
BIG = {**obj("ConfigMap", "big"), "data": {"x": "x" * 900_000}}
LISTED = f"{CORE}/configmaps"
MANY = tuple(
    Send("POST", f"{CORE}/configmaps", obj("ConfigMap", f"m{n}", data={"x": "x" * 3000}))
    for n in range(1000)
)


def asked(path: str) -> bytes:
    """A GET, as bytes to be held."""
    return f"GET {path} HTTP/1.1\r\nHost: bench\r\n\r\n".encode()


WATCH = asked(f"{LISTED}?watch=1")
