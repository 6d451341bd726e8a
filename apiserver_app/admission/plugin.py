"""What an admission plugin is.

A mutating plugin answers with the JSON patch it wants; the chain applies it and keeps it for the
trace, so every change is attributed. A plugin refuses by raising errors.ApiError. Plugins read the
cluster through the Reader (the watch cache), never by a request.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/interfaces.go.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import ApiError
from apiserver_app.machinery.meta import Object, ResourceInfo, User
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.reader import Reader

CREATE, UPDATE, DELETE, CONNECT = "CREATE", "UPDATE", "DELETE", "CONNECT"

Ops = list[dict[str, Any]]  # RFC 6902: {"op": "add", "path": "/spec/tolerations", "value": [...]}


@dataclass(slots=True)
class Attributes:
    """One request as admission sees it. `obj` is None on delete and connect."""

    operation: str
    info: ResourceInfo
    subresource: str
    namespace: str
    name: str
    obj: Object | None
    old: Object | None
    user: User
    reader: Reader
    rand: Rand
    now: int  # µs since 1970
    version: str = "1.33"
    dry_run: bool = False
    options: Object = field(default_factory=dict)
    warnings: list[str] = field(default_factory=list)
    attempt: int = 0  # how often the plugin being asked has said Later

    @property
    def on_pods(self) -> bool:
        """Whether this is about pods themselves, not about a subresource."""
        return self.info.key == "pods" and not self.subresource


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a plugin said. verdict: allow, change, skip (does not apply). `why` is one sentence."""

    verdict: str
    why: str = ""
    ops: Ops = field(default_factory=list)


SKIP = Verdict("skip")


class Later(Exception):
    """A plugin needs something that should appear soon: ask it again after `micros`.

    `otherwise` is the refusal when nobody can wait. The plugin counts with attributes.attempt.
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


class Plugin:
    """Override one or both; who has to ask somebody makes it `async`. `handles` are the operations
    it is asked for at all, `resources` what it is asked about ("pods", "pods/status"); empty means
    everything."""

    name = ""
    handles: tuple[str, ...] = (CREATE, UPDATE)
    resources: tuple[str, ...] = ()
    mutates = False
    validates = False
    # upstream file and function, shown on the page
    source = ""
    # true when it writes cluster state in `validate` (ResourceQuota): asked last, not on dry run
    has_side_effects = False

    def admit(self, attributes: Attributes) -> Verdict | Awaitable[Verdict]:
        return SKIP

    def validate(self, attributes: Attributes) -> Verdict | Awaitable[Verdict]:
        return SKIP
