"""NamespaceLifecycle: nothing is created in a missing or terminating namespace.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle.
"""

from __future__ import annotations

from apiserver_app.admission.plugin import (
    CONSISTENCY,
    CREATE,
    DELETE,
    SKIP,
    UPDATE,
    Attributes,
    Later,
    Plugin,
    Verdict,
    forbidden,
)
from apiserver_app.machinery import errors

IMMORTAL = ("default", "kube-public", "kube-system")
MISSING_WAIT_MICROS = 50_000
_DELETE = Verdict("allow", "deleting is always allowed")
_CACHE_LIMIT = 1024


class NamespaceLifecycle(Plugin):
    name = "NamespaceLifecycle"
    concern = CONSISTENCY
    handles = (CREATE, UPDATE, DELETE)
    mutates = True
    reads = ("namespaces",)
    source = "staging/src/k8s.io/apiserver/pkg/admission/plugin/namespace/lifecycle/admission.go"

    def __init__(self) -> None:
        self._active: dict[str, Verdict] = {}

    def admit(self, attributes: Attributes) -> Verdict:
        info = attributes.info
        if info.key == "namespaces":
            if attributes.operation == DELETE and attributes.name in IMMORTAL:
                reason = "this namespace may not be deleted"
                raise errors.forbidden("", "namespaces", attributes.name, reason)
            return SKIP
        namespace = attributes.namespace
        if not namespace or info.key == "localsubjectaccessreviews.authorization.k8s.io":
            return SKIP
        if attributes.operation == DELETE:
            return _DELETE
        stored = attributes.reader.get("namespaces", "", namespace)
        if stored is None:
            missing = errors.not_found("", "namespaces", namespace)
            if attributes.operation == CREATE and attributes.run.attempt == 0:
                raise Later(MISSING_WAIT_MICROS, missing)
            raise missing
        terminating = (stored.get("status") or {}).get("phase") == "Terminating"
        if terminating and attributes.operation == CREATE:
            raise _terminating(attributes)
        return self._allow(namespace)

    def _allow(self, namespace: str) -> Verdict:
        verdict = self._active.get(namespace)
        if verdict is None:
            if len(self._active) >= _CACHE_LIMIT:
                self._active.clear()
            verdict = self._active[namespace] = Verdict("allow", f"{namespace} is active")
        return verdict


def _terminating(attributes: Attributes) -> errors.ApiError:
    namespace = attributes.namespace
    error = forbidden(
        attributes,
        f"unable to create new content in namespace {namespace} because it is being terminated",
    )
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {namespace} is being terminated",
        "field": "metadata.namespace",
    }
    error.details["causes"] = [cause]
    return error
