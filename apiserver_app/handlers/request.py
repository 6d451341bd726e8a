"""The request in hand: what came (`call`, never changed), and what is found out on the way.

Each gate adds to it: nothing reads `obj` before it was decoded or `outcome` before it was stored.
What a request does at the gates of a write is its `operation`.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/request/{requestinfo,context}.go and
pkg/registry/rest/rest.go.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from apiserver_app import authprotocols as auth
from apiserver_app.admission.plugin import CREATE, Attributes
from apiserver_app.auditing.event import Event
from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.decision import Decision
from apiserver_app.handlers.server.counters import Sort
from apiserver_app.machinery import meta
from apiserver_app.machinery.errors import ApiError, FieldError
from apiserver_app.machinery.meta import Object, ResourceInfo, User
from apiserver_app.registry import storagecalls
from apiserver_app.registry.strategy import Context, Strategy

NOBODY = User("")
_NONE: Object = {}
TRACEPARENT = "traceparent"  # of W3C Trace Context
_TRACEPARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
)


class Request:
    """One request on its way through the gates of one API server."""

    # Defaults are attributes of the class: a request only pays for what is set on it.

    # out of the call; `info` is of requests for a resource
    info: ResourceInfo
    # of an outside request: refuses one whose answer no form that it accepts can carry
    check_answer: Callable[[], object] | None = None
    accepted: Any = None  # what it returned
    # of one for a path that is no resource: its document, if there is one
    document: Callable[[Call], Outcome | None] | None = None
    span = 0  # its record in the trace
    gate = ""  # where it stands: what a refusal belongs to
    # set by the gates that all requests pass
    user: User = NOBODY
    audit_id = ""
    audit: Event | None = None  # what is logged of it, if anything
    flow: tuple[str, str] = ("", "")  # uids of the flow schema and priority level
    seats: Any = None  # of flow control: given back with the answer
    waited = 0  # in a queue and for webhooks, µs
    sort: Sort  # by which it was counted
    operation: Operation
    # of a write
    attempt = 0  # how often somebody else was faster
    strategy: Strategy
    context: Context
    attributes: Attributes
    raw: Object | None = None  # the body as a value
    patch: Any = None  # what a PATCH carried, as a value
    duplicates: Sequence[str] = ()  # what strict decoding finds in the body
    obj: Object
    old: Object | None = None  # the stored object, as it is before
    gone: Object | None = None  # what was removed for good
    options: Object = _NONE  # of a deletion
    dry_run = False
    revision_named = False  # the client says which revision it changes
    scale_revised = False  # the same of its scale
    spec_kept = False  # `obj` has the spec of `old`, which nobody changes
    managed: Any = None  # its metadata.managedFields before admission
    granted = ""  # why it may grant what it grants
    outcome: Outcome

    def __init__(self, cluster: ClusterContext, call: Call) -> None:
        self.cluster = cluster
        self.call = call
        self.verb = call.verb
        if call.info is not None:
            self.info = call.info
        self.subresource = call.subresource
        self.namespace = call.namespace
        self.name = call.name
        self.content_type = call.content_type
        self.warnings: list[str] = []
        self.annotations: dict[str, str] = {}  # for the audit log

    @property
    def field_validation(self) -> str:
        """What becomes of unknown and doubled fields: `Ignore`, `Warn` or `Strict`."""
        if not self.cluster.version.has("ServerSideFieldValidation"):
            return "Ignore"
        return self.call.param("fieldValidation") or "Warn"

    @property
    def traced(self) -> str:
        """The traceparent of what follows from this request, when it came with a valid one."""
        given = self.call.headers.get(TRACEPARENT, "")
        if not given or not _TRACEPARENT.fullmatch(given):
            return ""
        version, trace, _, flags = given.split("-")
        return f"{version}-{trace}-{self.span:016x}-{flags}"

    def asked(self) -> auth.Attributes:
        """What the authorizers are asked."""
        call = self.call
        gvr = call.asked if call.info is None else call.info.gvr
        what = (call.verb, call.path, *gvr, call.subresource, call.namespace, call.name)
        selectors = (call.param("fieldSelector"), call.param("labelSelector"))
        return auth.Attributes(self.user, *what, *selectors)

    def asked_beside(self, verb: str, subresource: str) -> auth.Attributes:
        """The same of something else that the sender must be allowed to do with the object."""
        what = (verb, self.call.path, *self.info.gvr, subresource, self.namespace, self.name)
        return auth.Attributes(self.user, *what)


class Operation:
    """What one kind of write does at the gates. The gates are the same for all
    (`apiserver_app.gates.WRITE`); an operation passes those that it names.

    It has no state: what it finds is kept in the request. It records nothing either: that is done
    by the runner of the gates.
    """

    passes: tuple[str, ...] = ()
    refuses_as = "decode"  # the gate of what is refused outside of them
    admits = CREATE  # the operation as admission calls it
    call = storagecalls.UPDATE  # of the storage interface, which refuses what etcd refuses
    logs = True  # whether it writes to etcd
    # whether its object is stored as admission leaves it
    stores_object = False
    # whether its sender must be allowed to create the object, too
    needs_create = False

    def begin(self, request: Request) -> Awaitable[None] | None:
        """Refuse what cannot be asked for at all, before the first gate."""
        return None

    def decode(self, request: Request) -> Decision:
        """Set `request.obj`."""
        raise NotImplementedError

    def current(self, request: Request) -> None:
        """Look at the stored object that is about to change, before admission does."""

    def attributes(self, request: Request) -> Attributes:
        """The request as admission sees it."""
        raise NotImplementedError

    def prepare(self, request: Request) -> Decision:
        raise NotImplementedError

    def findings(self, request: Request) -> list[FieldError]:
        """What is wrong with the object."""
        return []

    def subject(self, request: Request) -> tuple[ResourceInfo, str]:
        """The resource and name that a refusal of validation is about."""
        return request.info, request.name or meta.name_of(request.obj)

    def warnings(self, request: Request) -> list[str]:
        """What its sender should know of an object that is legal."""
        return []

    def store(self, request: Request) -> Decision | Awaitable[Decision]:
        """Set `request.outcome`."""
        raise NotImplementedError

    def tries_again(self, request: Request, error: ApiError) -> bool:
        """Whether to begin anew on the newer object, since somebody else was faster."""
        return False

    def asks_etcd(self, request: Request) -> bool:
        """Whether it cannot be answered without etcd."""
        return True

    def answer(self, request: Request) -> Outcome | Awaitable[Outcome]:
        return request.outcome
