"""NamespaceAutoProvision creates a missing namespace; NamespaceExists refuses without it.

Models kubernetes plugin/pkg/admission/namespace/{autoprovision,exists}/admission.go.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from apiserver_app.admission.plugin import (
    CONSISTENCY,
    CREATE,
    DELETE,
    SKIP,
    UPDATE,
    Attributes,
    Given,
    Plugin,
    Verdict,
)
from apiserver_app.machinery import errors


class NamespaceAutoProvision(Plugin):
    """Creates the namespace by a request of its own."""

    name = "NamespaceAutoProvision"
    concern = CONSISTENCY
    handles = (CREATE,)
    mutates = True
    reads = ("namespaces",)
    source = "plugin/pkg/admission/namespace/autoprovision/admission.go"

    def __init__(self, make_namespace: Callable[[str], Awaitable[None]]) -> None:
        self._make_namespace = make_namespace

    @classmethod
    def make(cls, given: Given) -> Plugin:
        return cls(given.make_namespace)

    async def admit(self, attributes: Attributes) -> Verdict:
        namespace = attributes.namespace
        if attributes.dry_run or not namespace or attributes.info.key == "namespaces":
            return SKIP
        if attributes.reader.get("namespaces", "", namespace) is not None:
            return Verdict("allow", f"{namespace} is there")
        with errors.ignoring("AlreadyExists"):
            await self._make_namespace(namespace)
        return Verdict("allow", f"made the namespace {namespace}")


class NamespaceExists(Plugin):
    name = "NamespaceExists"
    concern = CONSISTENCY
    handles = (CREATE, UPDATE, DELETE)
    validates = True
    reads = ("namespaces",)
    source = "plugin/pkg/admission/namespace/exists/admission.go"

    def validate(self, attributes: Attributes) -> Verdict:
        namespace = attributes.namespace
        if not namespace or attributes.info.key == "namespaces":
            return SKIP
        if attributes.reader.get("namespaces", "", namespace) is None:
            raise errors.not_found("", "namespaces", namespace)
        return Verdict("allow", f"{namespace} is there")
