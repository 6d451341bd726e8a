"""Authorization checks made by expressions, and their decisions.

Models kubernetes staging/src/k8s.io/apiserver/pkg/cel/library/authz.go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from apiserver_app.machinery.meta import User


@dataclass(frozen=True, slots=True)
class Check:
    """One authorization check: of a resource, or of a path when there is no resource."""

    user: User = field(hash=False)
    verb: str = ""
    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    fields: str = ""
    labels: str = ""


class Decision(NamedTuple):
    allowed: bool
    reason: str = ""
    error: str = ""


Ask = Callable[[Check], Decision]
