"""What an admission plugin is.

A mutating plugin answers with the JSON patch it wants; the chain applies it and keeps it for the
trace, so every change is attributed. A plugin refuses by raising errors.ApiError. Plugins read the
cluster through the Reader (the watch cache), never by a request.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/interfaces.go.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import msgspec

from apiserver_app import authprotocols as auth
from apiserver_app.admission.config import Configuration
from apiserver_app.egress.outbound import Outbound
from apiserver_app.machinery import errors, releases
from apiserver_app.machinery.errors import ApiError
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.meta import Object, ResourceInfo, User
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.reader import Reader
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.types.schema import Field

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"
EVERY = (CREATE, UPDATE, DELETE, CONNECT)

# what a plugin is about
RESOURCES, SECURITY = "resource management", "security"
DEFAULTING, CONSISTENCY = "defaulting", "referential consistency"
EXTENSION = "extension"  # what users hook in themselves

_NO_OPTIONS: Object = {}
Ops = list[dict[str, Any]]  # RFC 6902: {"op": "add", "path": "/spec/tolerations", "value": [...]}


class ObjectInterfaces(msgspec.Struct, frozen=True):
    """What a plugin that asks others needs beyond the caches, as upstream's ObjectInterfaces."""

    kernel: Kernel
    outbound: Outbound
    # (resource, subresource) -> other versions and groups that serve the same objects
    equivalents: Callable[[ResourceInfo, str], tuple[ResourceInfo, ...]]
    # (resource, subresource) -> group, version and kind of what is sent to it
    kind_of: Callable[[ResourceInfo, str], tuple[str, str, str]]
    convert: Callable[[Object, ResourceInfo], Object]
    # (resource, subresource, object) -> a fresh object of the type, defaulted
    decode: Callable[[ResourceInfo, str, Object], Object]
    # (resource, subresource) -> the type of its objects, for merging
    root: Callable[[ResourceInfo, str], Field]


class Run:
    """One run of the chain, both phases: what it needs to remember while plugins are asked."""

    attempt = 0  # how often the plugin being asked has said Later
    # a webhook changed the object in round 0: the phase is run again as round 1
    reinvoke = False
    round = 0
    # for metrics, of this phase: plugins that decided in no time, and all calls that were made
    quiet: list[str]
    called: list[Object]

    def __init__(self) -> None:
        # what a plugin remembers from its first round for its second, by its name
        self.remembered: dict[str, Any] = {}
        # what expressions asked the authorizers so far
        self.decisions: dict[auth.Attributes, auth.Decision] = {}
        # for the trace: calls to others that the plugin being asked made, and what it evaluated,
        # one entry a policy, binding and parameter
        self.calls: list[Object] = []
        self.policies: list[Object] = []


class Attributes:
    """One request as admission sees it. `obj` is None on delete; on connect it is the options of
    the subresource (PodExecOptions), which nobody changes. `annotations` are for the audit log,
    `now` is µs since 1970."""

    def __init__(
        self,
        operation: str,
        info: ResourceInfo,
        subresource: str,
        namespace: str,
        name: str,
        obj: Object | None,
        old: Object | None,
        user: User,
        reader: Reader,
        rand: Rand,
        now: int,
        version: Release = releases.DEFAULT,
        *,
        authorization: auth.Authorization,
        warnings: list[str],
        annotations: dict[str, str],
        options: Object = _NO_OPTIONS,
        dry_run: bool = False,
        interfaces: ObjectInterfaces | None = None,
    ) -> None:
        self.operation = operation
        self.info = info
        self.subresource = subresource
        self.namespace = namespace
        self.name = name
        self.obj = obj
        self.old = old
        self.user = user
        self.reader = reader
        self.rand = rand
        self.now = now
        self.version = version
        self.warnings = warnings
        self.annotations = annotations
        self.options = options
        self.authorization = authorization
        self.dry_run = dry_run
        self.interfaces = interfaces
        self.run = Run()

    @property
    def on_pods(self) -> bool:
        """Whether this is about pods themselves, not about a subresource."""
        return self.info.key == "pods" and not self.subresource


class Verdict(msgspec.Struct, frozen=True):
    """What a plugin said. verdict: allow, change, skip (does not apply). `why` is one sentence."""

    verdict: str
    why: str = ""
    ops: Ops = msgspec.field(default_factory=list)


SKIP = Verdict("skip")


class Later(Exception):
    """A plugin needs something that should appear soon: ask it again after `micros`.

    `otherwise` is the refusal when nobody can wait. The plugin counts with attributes.run.attempt.
    """

    def __init__(self, micros: int, otherwise: ApiError) -> None:
        super().__init__(otherwise.message)
        self.micros = micros
        self.otherwise = otherwise


def forbidden(attributes: Attributes, why: str) -> ApiError:
    """The refusal of a plugin; before a name was generated it names the prefix, as upstream."""
    metadata = (attributes.obj or {}).get("metadata") or {}
    name = attributes.name or metadata.get("name") or metadata.get("generateName") or "Unknown"
    return errors.forbidden(attributes.info.group, attributes.info.plural, name, why)


async def _makes_nothing(name: str) -> None:
    raise errors.internal(f"nobody can make the namespace {name} here")


async def _writes_nothing(quota: Object) -> None:
    """Without a server there is nobody to write it."""


class Given(msgspec.Struct, frozen=True):
    """What plugins are made of when the API server starts."""

    version: Release = releases.DEFAULT
    config: Configuration = msgspec.field(default_factory=Configuration)
    # the resource of an apiVersion and kind, if there is one
    resource_of: Callable[[str, str], ResourceInfo | None] = lambda version, kind: None
    kernel: Kernel | None = None  # none, where nothing is written
    make_namespace: Callable[[str], Awaitable[None]] = _makes_nothing
    write_quota: Callable[[Object], Awaitable[None]] = _writes_nothing  # its status
    # what containers of an image used of "cpu" (millicores) or "memory" (bytes)
    usage: Callable[[str, str], Sequence[int]] = lambda image, resource: ()


class Plugin:
    """Override one or both; who has to ask somebody makes it `async`. `handles` are the operations
    it is asked for at all, `resources` what it is asked about ("pods", "pods/status"); empty means
    everything."""

    name = ""
    concern = ""  # what it is about, one of the words above
    handles: tuple[str, ...] = (CREATE, UPDATE)
    resources: tuple[str, ...] = ()
    reads: tuple[str, ...] = ()  # what it looks up in the caches to decide
    mutates = False
    validates = False
    # upstream file and function, shown on the page
    source = ""

    @classmethod
    def make(cls, given: Given) -> Plugin:
        """The plugin for one API server. ConfigurationError when it cannot be made."""
        return cls()

    def admit(self, attributes: Attributes) -> Verdict | Awaitable[Verdict]:
        return SKIP

    def validate(self, attributes: Attributes) -> Verdict | Awaitable[Verdict]:
        return SKIP
