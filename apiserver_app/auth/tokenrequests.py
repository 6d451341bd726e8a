"""What a TokenRequest is answered with: a token bound as asked, and how long it is good for.

A kubelet's request for a pod's own token asks for an hour and seven seconds; such a token lives for
a year, and its use after the hour is only noted, so that clients which never read it again go on.

Models kubernetes pkg/registry/core/serviceaccount/storage/token.go.
"""

from __future__ import annotations

from dataclasses import dataclass

from apiserver_app.auth import tokens as jwt
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.reader import Reader

WARN_SECONDS, EXTENDED_SECONDS = 3607, 365 * 24 * 3600
_SECOND = 1_000_000

Ref = tuple[str, str]  # name and uid


@dataclass(frozen=True, slots=True)
class TokenRequests:
    """`audiences` are the API server's own."""

    tokens: jwt.Tokens
    reader: Reader
    rand: Rand
    audiences: tuple[str, ...]
    extend: bool = True

    def issue(self, account: Object, spec: Object, now: int) -> Object:
        """The whole answer. `spec` was validated and has its duration."""
        namespace, name = meta.namespace_of(account), meta.name_of(account)
        seconds = spec["expirationSeconds"]
        audiences = tuple(spec.get("audiences") or self.audiences)
        bound = self._bound(namespace, spec.get("boundObjectRef") or {})
        kubes = all(one in self.audiences for one in audiences)
        extended = self.extend and "pod" in bound and seconds == WARN_SECONDS and kubes
        token = self.tokens.issue(
            namespace, name, meta.uid_of(account), now, jti=self.rand.uuid(),
            expires_seconds=EXTENDED_SECONDS if extended else seconds, audiences=audiences,
            warn_after_seconds=seconds if extended else 0, **bound,
        )  # fmt: skip
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

    def _bound(self, namespace: str, ref: Object) -> dict[str, Ref]:
        """What the token lives and dies with; a pod's node is only named."""
        kind, name = ref.get("kind", ""), str(ref.get("name", ""))
        resource = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}.get(kind)
        if resource is None:
            return {}
        found = self.reader.get(resource, "" if kind == "Node" else namespace, name) or {}
        bound: dict[str, Ref] = {kind.lower(): (name, meta.uid_of(found))}
        node_name = (found.get("spec") or {}).get("nodeName", "") if kind == "Pod" else ""
        node = self.reader.get("nodes", "", node_name) if node_name else None
        if node is not None:
            bound["node"] = (node_name, meta.uid_of(node))
        return bound
