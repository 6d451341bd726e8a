"""One request and its answer, as plain values between the wire, the gates and the handlers."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from apiserver_app.auditing.event import Event
from apiserver_app.machinery.meta import Credential, Object, ResourceInfo, User
from apiserver_app.registry.generic import Page, Selection

PROTOCOLS = "sec-websocket-protocol"
BEARER_PROTOCOL = "base64url.bearer.authorization.k8s.io."
TRACEPARENT = "traceparent"  # of W3C Trace Context
_TRACEPARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
)


@dataclass(slots=True)
class Call:
    """One request. `body` is bytes from outside, a dict from a component."""

    verb: str
    path: str
    credential: Credential
    agent: str
    info: ResourceInfo | None = None
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    params: Mapping[str, list[str]] = field(default_factory=dict)
    body: bytes | Object | list[Any] | None = None
    content_type: str = ""
    outside: bool = False
    component: str = ""  # of an inside caller, its name in the trace
    # as asked, when nothing of that name is served: authorized first, then 404
    asked: tuple[str, str, str] = ("", "", "")  # group, version, plural
    # of an outside request: what the router makes of its path and method (200, 404 or 405), and
    # who refuses it when its answer could not be sent in any form that is asked for
    routed: int = 200
    check_answer: Callable[[], object] | None = None
    # filled on the way
    gate: str = "authentication"  # where it stands: what a refusal belongs to
    user: User | None = None
    warnings: list[str] = field(default_factory=list)
    audit_id: str = ""
    annotations: dict[str, str] = field(default_factory=dict)  # for the audit log
    audit: Event | None = None  # what is logged of it, if anything
    address: str = ""  # of an outside request, where it came from
    duplicates: list[str] = field(default_factory=list)  # of its body: what strict decoding finds
    patch: Any = None  # what a PATCH carried, as a value
    flow: tuple[str, str] = ("", "")  # uids of the flow schema and priority level
    place: Any = None  # of flow control: given back when the request is answered
    # of an outside request: the query as it was sent, the headers' names in small letters
    query: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    method: str = ""
    rest: str = ""  # the path below `proxy`
    span: int = 0  # its record in the trace

    @property
    def raw(self) -> bytes:
        """The body as it came from outside."""
        return self.body if isinstance(self.body, bytes) else b""

    @property
    def uri(self) -> str:
        """The path and query, as the request line has them."""
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def traced(self) -> str:
        """The traceparent of what follows from this request, when it came with a valid one."""
        given = self.headers.get(TRACEPARENT, "")
        if not given or not _TRACEPARENT.fullmatch(given):
            return ""
        version, trace, _, flags = given.split("-")
        return f"{version}-{trace}-{self.span:016x}-{flags}"

    def drop_credential(self) -> tuple[str, ...]:
        """What proved who sends it has done its work: the names of the headers that go."""
        old = self.credential
        self.credential = Credential(tls=old.tls, headers=old.headers)
        gone = [name for name in ("authorization",) if name in self.headers]
        headers = {name: value for name, value in self.headers.items() if name not in gone}
        protocols = headers.get(PROTOCOLS, "")
        if protocols and BEARER_PROTOCOL in protocols:
            kept = [one.strip() for one in protocols.split(",")]
            kept = [one for one in kept if not one.startswith(BEARER_PROTOCOL)]
            headers[PROTOCOLS] = ", ".join(kept)
            gone.append(PROTOCOLS)
        if gone:
            self.headers = headers
        return tuple(gone)

    def param(self, name: str) -> str:
        values = self.params.get(name)
        return values[0] if values else ""


@dataclass(slots=True)
class Outcome:
    """The answer: an object, a page of a list, a selection to watch, or a plain document."""

    code: int
    obj: Object | None = None
    value: bytes | None = None  # the object's stored bytes, when there are any
    page: Page | None = None
    selection: Selection | None = None
    # of a document that is no object (discovery, OpenAPI, metrics): `value` is served as it is
    content_type: str = ""
    headers: list[tuple[str, str]] = field(default_factory=list)
    # of an answer that goes on: a log, a process, forwarded ports
    stream: Any = None
