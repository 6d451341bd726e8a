"""Answers a TokenRequest with a token bound as requested, and its expiration.

A kubelet requests 3607 s for a pod's own token. Such a token is extended to a year, and its use
after the hour is only annotated, so that clients that never read it again keep working.

Models kubernetes pkg/registry/core/serviceaccount/storage/token.go.
"""

from __future__ import annotations

import msgspec

from apiserver_app.auth import tokens as jwt
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.reader import Reader

WARN_SECONDS, EXTENDED_SECONDS = 3607, 365 * 24 * 3600
_SECOND = 1_000_000

Ref = tuple[str, str]  # name and uid


class TokenRequests(msgspec.Struct, frozen=True):
    """`audiences` are the API server's own."""

    tokens: jwt.Tokens
    reader: Reader
    rand: Rand
    audiences: tuple[str, ...]
    extend: bool = True

    def issue(self, account: Object, spec: Object, now: int) -> Object:
        """Returns the complete TokenRequest. `spec` was validated and has its duration."""
        namespace, name = meta.namespace_of(account), meta.name_of(account)
        seconds = spec["expirationSeconds"]
        audiences = tuple(spec.get("audiences") or self.audiences)
        refs = self._bound_refs(namespace, spec.get("boundObjectRef") or {})
        all_own = all(audience in self.audiences for audience in audiences)
        extended = self.extend and "pod" in refs and seconds == WARN_SECONDS and all_own
        token = self.tokens.issue(
            namespace,
            name,
            meta.uid_of(account),
            now,
            jti=self.rand.uuid(),
            expires_seconds=EXTENDED_SECONDS if extended else seconds,
            audiences=audiences,
            warn_after_seconds=seconds if extended else 0,
            **refs,
        )
        return {
            "kind": "TokenRequest",
            "apiVersion": "authentication.k8s.io/v1",
            "metadata": {
                "name": name,
                "namespace": namespace,
                "creationTimestamp": meta.rfc3339(now),
            },
            "spec": {**spec, "audiences": list(audiences)},
            "status": {
                "token": token,
                "expirationTimestamp": meta.rfc3339(now + seconds * _SECOND),
            },
        }

    def _bound_refs(self, namespace: str, ref: Object) -> dict[str, Ref]:
        """Returns the objects whose deletion invalidates the token; a pod's node is only named."""
        kind, name = ref.get("kind", ""), str(ref.get("name", ""))
        resource = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}.get(kind)
        if resource is None:
            return {}
        obj = self.reader.get(resource, "" if kind == "Node" else namespace, name) or {}
        refs: dict[str, Ref] = {kind.lower(): (name, meta.uid_of(obj))}
        node_name = (obj.get("spec") or {}).get("nodeName", "") if kind == "Pod" else ""
        node = self.reader.get("nodes", "", node_name) if node_name else None
        if node is not None:
            refs["node"] = (node_name, meta.uid_of(node))
        return refs
