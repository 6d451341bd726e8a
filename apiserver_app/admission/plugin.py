"""What an admission plugin is.

A mutating plugin answers with the JSON patch it wants; the chain applies it and keeps it for the
trace, so every change is attributed. A plugin refuses by raising errors.ApiError. Plugins read the
cluster through the Reader (the watch cache), never by a request.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/interfaces.go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

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


class Plugin:
    """Override one or both. `handles` are the operations it is asked for at all."""

    name = ""
    handles: tuple[str, ...] = (CREATE, UPDATE)
    mutates = False
    validates = False
    # upstream file and function, shown on the page
    source = ""
    # true when it writes cluster state in `validate` (ResourceQuota): asked last, not on dry run
    has_side_effects = False

    def admit(self, attributes: Attributes) -> Verdict:
        return SKIP

    def validate(self, attributes: Attributes) -> Verdict:
        return SKIP
