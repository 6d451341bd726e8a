"""A request as it came and its answer, as values between the wire, the gates and the handlers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from apiserver_app.machinery.meta import Credential, Object, ResourceInfo
from apiserver_app.registry.generic import Page, Selection

PROTOCOLS = "sec-websocket-protocol"
BEARER_PROTOCOL = "base64url.bearer.authorization.k8s.io."
READS = frozenset(("get", "list", "watch", "head"))  # verbs that change nothing


class Call(msgspec.Struct, frozen=True):
    """One request as it came: `body` is bytes from outside, a dict from a component."""

    verb: str
    path: str
    credential: Credential
    agent: str
    info: ResourceInfo | None = None
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    params: Mapping[str, list[str]] = msgspec.field(default_factory=dict)
    body: bytes | Object | list[Any] | None = None
    content_type: str = ""
    outside: bool = False
    component: str = ""  # of an inside caller, its name in the trace
    # as asked, when nothing of that name is served: authorized first, then 404
    asked: tuple[str, str, str] = ("", "", "")  # group, version, plural
    routed: int = 200  # what the router makes of an outside request: 200, 404 or 405
    address: str = ""  # of an outside request, where it came from
    query: str = ""  # as it was sent
    headers: Mapping[str, str] = msgspec.field(default_factory=dict)  # names in small letters
    method: str = ""
    rest: str = ""  # the path below `proxy`

    @property
    def raw(self) -> bytes:
        """The body as it came from outside."""
        return self.body if isinstance(self.body, bytes) else b""

    @property
    def uri(self) -> str:
        """The path and query, as the request line has them."""
        return f"{self.path}?{self.query}" if self.query else self.path

    def without_credential(self) -> tuple[Call, tuple[str, ...]]:
        """The call once it is known who sends it, and the names of the headers that are gone."""
        old = self.credential
        if not (old.bearer or old.basic or old.protocols or "authorization" in self.headers):
            return self, ()
        gone = [name for name in ("authorization",) if name in self.headers]
        headers = {name: value for name, value in self.headers.items() if name not in gone}
        protocols = headers.get(PROTOCOLS, "")
        if protocols and BEARER_PROTOCOL in protocols:
            kept = [protocol.strip() for protocol in protocols.split(",")]
            kept = [protocol for protocol in kept if not protocol.startswith(BEARER_PROTOCOL)]
            headers[PROTOCOLS] = ", ".join(kept)
            gone.append(PROTOCOLS)
        credential = Credential(tls=old.tls, headers=old.headers)
        headers_ = headers if gone else self.headers
        call = msgspec.structs.replace(self, credential=credential, headers=headers_)
        return call, tuple(gone)

    def param(self, name: str) -> str:
        values = self.params.get(name)
        return values[0] if values else ""


class Outcome(msgspec.Struct):
    """The answer: an object, a page of a list, a selection to watch, or a plain document."""

    code: int
    obj: Object | None = None
    value: bytes | None = None  # the object's stored bytes, when there are any
    page: Page | None = None
    selection: Selection | None = None
    # of a document that is no object (discovery, OpenAPI, metrics): `value` is served as it is
    content_type: str = ""
    headers: list[tuple[str, str]] = msgspec.field(default_factory=list)
    # of an answer that stays open: a log, a process, forwarded ports
    stream: Any = None
