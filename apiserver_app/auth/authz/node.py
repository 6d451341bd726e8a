"""The Node authorizer: a kubelet may reach what the pods bound to its node need, and no more.

Upstream keeps a graph of references; here the same paths are looked up through the Reader: a pod
names its node, and everything else is found from the pods of that node. It has no opinion on users
that are no nodes, and never denies.

Models kubernetes plugin/pkg/auth/authorizer/node/node_authorizer.go and graph.go.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver_app.apis.nodeidentity import node_name
from apiserver_app.apis.podrefs import Ref, pod_refs, volume_secrets
from apiserver_app.auth.authz.rules import combined, compile_rules
from apiserver_app.auth.data import cluster_roles
from apiserver_app.authprotocols import Attributes, Rules, Try
from apiserver_app.machinery import memos, meta
from apiserver_app.machinery.errors import go_value
from apiserver_app.machinery.meta import Object, User
from apiserver_app.machinery.reader import Reader

SOURCE = "plugin/pkg/auth/authorizer/node/node_authorizer.go"
LEASE_NAMESPACE = "kube-node-lease"
_CACHE_LIMIT = 20_000
REFS_MIN = 256  # pods
_ANY = "granted to every node"


class NodeAuthorizer:
    name = "Node"

    def __init__(self, reader: Reader) -> None:
        self.reader = reader
        self._rules = compile_rules(cluster_roles.node_rules())
        self._general: dict[tuple[str, str, str, str, str], Try] = {}
        self.refs: dict[tuple[str, str], tuple[Any, frozenset[Ref]]] = {}
        self._refs_max = REFS_MIN
        self._stranger = Try(self.name, "noop", "not a node", source=SOURCE, general=True)
        self._any = Try(self.name, "allow", _ANY, source=SOURCE, general=True)
        self._own = Try(self.name, "allow", "the node's own object", source=SOURCE)
        self._special: dict[str, Callable[[str, Attributes], Try]] = {
            "secrets": self._read,
            "configmaps": self._read,
            "persistentvolumeclaims": self._claim,
            "persistentvolumes": self._get,
            "resourceclaims.resource.k8s.io": self._get,
            "volumeattachments.storage.k8s.io": self._get,
            "serviceaccounts": self._token,
            "leases.coordination.k8s.io": self._lease,
            "csinodes.storage.k8s.io": self._csinode,
            "resourceslices.resource.k8s.io": self._slice,
            "nodes": self._node,
            "pods": self._pod,
        }

    def authorize(self, attributes: Attributes) -> Try:
        name = node_name(attributes.user)
        if name is None:
            return self._stranger
        if not name:
            return self._no(f"unknown node for user {go_value(attributes.user.name)}")
        group, resource = attributes.group, attributes.resource
        special = self._special.get(f"{resource}.{group}" if group else resource)
        if special is not None:
            return special(name, attributes)
        return self._by_rule(attributes)

    def rules_for(self, user: User, namespace: str) -> Rules:
        if node_name(user) is None:
            return Rules([], [])
        return Rules([], [], True, "node authorizer does not support user rule resolution")

    def _by_rule(self, attributes: Attributes) -> Try:
        key = (
            attributes.verb,
            attributes.group,
            attributes.resource,
            attributes.subresource,
            "" if attributes.resource else attributes.path,
        )
        known = self._general.get(key)
        if known is None:
            memos.make_room(self._general, _CACHE_LIMIT)
            known = self._general[key] = self._look_up(attributes)
        return known

    def _look_up(self, attributes: Attributes) -> Try:
        for rule in self._rules:
            if attributes.is_resource and rule.covers(
                attributes.verb, attributes.group, combined(attributes), attributes.subresource
            ):
                detail = {"rule": rule.raw}
                return Try(self.name, "allow", _ANY, detail=detail, source=SOURCE, general=True)
        why = "no rule for nodes allows this"
        return Try(self.name, "noop", why, source=SOURCE, general=True)

    # -- by resource ----------------------------------------------------------------------------

    def _read(self, node: str, attributes: Attributes) -> Try:
        if attributes.verb not in ("get", "list", "watch"):
            return self._no("can only read resources of this type")
        if attributes.subresource:
            return self._no("cannot read subresource")
        if not attributes.namespace:
            return self._no("can only read namespaced object of this type")
        return self._related(node, attributes)

    def _get(self, node: str, attributes: Attributes) -> Try:
        if attributes.verb != "get":
            return self._no("can only get individual resources of this type")
        if attributes.subresource:
            return self._no("cannot get subresource")
        return self._related(node, attributes)

    def _claim(self, node: str, attributes: Attributes) -> Try:
        if attributes.subresource != "status":
            return self._get(node, attributes)
        if attributes.verb not in ("update", "patch"):
            return self._no("can only get/update/patch this type")
        return self._related(node, attributes)

    def _token(self, node: str, attributes: Attributes) -> Try:
        if attributes.verb == "get" and not attributes.subresource:
            return self._no("not allowed to get service accounts")
        if attributes.verb != "create" or not attributes.name:
            return self._no("can only create tokens for individual service accounts")
        if attributes.subresource != "token":
            return self._no("can only create token subresource of serviceaccount")
        return self._related(node, attributes)

    def _lease(self, node: str, attributes: Attributes) -> Try:
        if attributes.verb not in ("get", "create", "update", "patch", "delete"):
            return self._no("can only get, create, update, patch, or delete a node lease")
        if attributes.namespace != LEASE_NAMESPACE:
            return self._no(f'can only access leases in the "{LEASE_NAMESPACE}" system namespace')
        if attributes.verb != "create" and attributes.name != node:
            return self._no("can only access node lease with the same name as the requesting node")
        return self._own

    def _csinode(self, node: str, attributes: Attributes) -> Try:
        if attributes.verb not in ("get", "create", "update", "patch", "delete"):
            return self._no("can only get, create, update, patch, or delete a CSINode")
        if attributes.subresource:
            return self._no("cannot authorize CSINode subresources")
        if attributes.verb != "create" and attributes.name != node:
            return self._no("can only access CSINode with the same name as the requesting node")
        return self._own

    def _slice(self, node: str, attributes: Attributes) -> Try:
        if attributes.subresource:
            return self._no("cannot authorize ResourceSlice subresources")
        verb = attributes.verb
        if verb == "create":  # NodeRestriction checks its owner
            return self._any
        if verb in ("get", "update", "patch", "delete"):
            return self._related(node, attributes)
        if verb in ("watch", "list", "deletecollection"):
            if _selects(attributes.fields, "nodeName", node):
                return self._own
            return self._no(
                "can only list/watch/deletecollection resourceslices with nodeName field selector"
            )
        return self._no(
            "only the following verbs are allowed for a ResourceSlice: "
            "get, watch, list, create, update, patch, delete, deletecollection"
        )

    def _node(self, node: str, attributes: Attributes) -> Try:
        verb, subresource, name = attributes.verb, attributes.subresource, attributes.name
        if not subresource and verb in ("create", "update", "patch"):
            return self._any
        if subresource == "status" and verb in ("update", "patch"):
            return self._any
        if not subresource and verb in ("get", "list", "watch"):
            if name == node:
                return self._own
            if not name:
                return self._no(f"node '{node}' cannot read all nodes, only its own Node object")
            return self._no(f"node '{node}' cannot read '{name}', only its own Node object")
        return self._no("")

    def _pod(self, node: str, attributes: Attributes) -> Try:
        verb, subresource = attributes.verb, attributes.subresource
        if subresource == "status" and verb in ("update", "patch"):
            return self._any
        if subresource == "eviction" and verb == "create":
            return self._any
        if not subresource and verb in ("create", "delete"):
            return self._any
        if not subresource and verb == "get":
            return self._related(node, attributes)
        if not subresource and verb in ("list", "watch"):
            if _selects(attributes.fields, "spec.nodeName", node):
                return self._own
            if attributes.name:
                return self._related(node, attributes)
            return self._no("can only list/watch pods with spec.nodeName field selector")
        return self._no("")

    # -- paths to the node ----------------------------------------------------------------------

    def _related(self, node: str, attributes: Attributes) -> Try:
        if not attributes.name:
            return self._no("No Object name found")
        via = self._path(node, attributes.resource, attributes.namespace, attributes.name)
        if via:
            return Try(self.name, "allow", via, source=SOURCE)
        return self._no(f"no relationship found between node '{node}' and this object")

    def _path(self, node: str, resource: str, namespace: str, name: str) -> str:
        """Describes how the object is related to the node; "" when it is not."""
        if resource == "pods":
            pod = self.reader.get("pods", namespace, name)
            is_bound = pod is not None and pod.get("spec", {}).get("nodeName") == node
            return "the pod is bound to this node" if is_bound else ""
        if resource == "volumeattachments":
            obj = self.reader.get("volumeattachments.storage.k8s.io", "", name)
            attached = obj is not None and obj.get("spec", {}).get("nodeName") == node
            return "the volume is attached to this node" if attached else ""
        if resource == "resourceslices":
            obj = self.reader.get("resourceslices.resource.k8s.io", "", name)
            own = obj is not None and obj.get("spec", {}).get("nodeName") == node
            return "the slice is this node's" if own else ""
        if resource == "persistentvolumes":
            volume = self.reader.get("persistentvolumes", "", name)
            claim = (volume or {}).get("spec", {}).get("claimRef")
            if not claim:
                return ""
            resource = "persistentvolumeclaims"
            namespace, name = claim.get("namespace", ""), claim.get("name", "")
        ref = (resource, name)
        for pod in self.reader.pods_on(node):
            if meta.namespace_of(pod) == namespace and ref in self.refs_of(pod):
                return f'pod "{meta.name_of(pod)}" on this node uses it'
        return self._through_volume(node, namespace, name) if resource == "secrets" else ""

    def _through_volume(self, node: str, namespace: str, name: str) -> str:
        """Finds a Secret named by the volumes behind the claims of the node's pods."""
        for pod in self.reader.pods_on(node):
            for kind, claim_name in sorted(self.refs_of(pod)):
                if kind != "persistentvolumeclaims":
                    continue
                claim = self.reader.get(kind, meta.namespace_of(pod), claim_name)
                volume_name = (claim or {}).get("spec", {}).get("volumeName", "")
                volume = self.reader.get("persistentvolumes", "", volume_name)
                if volume is not None and (namespace, name) in volume_secrets(volume):
                    return f'the volume of pod "{meta.name_of(pod)}" on this node uses it'
        return ""

    def refs_of(self, pod: Object) -> frozenset[Ref]:
        key = (meta.namespace_of(pod), meta.name_of(pod))
        known = self.refs.get(key)
        if known is None or known[0] is not pod:
            if len(self.refs) >= self._refs_max:
                self._forget_gone()
            known = self.refs[key] = (pod, pod_refs(pod))
        return known[1]

    def _forget_gone(self) -> None:
        """Keeps what is known of pods that are there, and leaves room for as many again."""
        pods = self.reader.get
        self.refs = {
            key: entry for key, entry in self.refs.items() if pods("pods", *key) is entry[0]
        }
        self._refs_max = max(REFS_MIN, 2 * len(self.refs))

    def _no(self, reason: str) -> Try:
        why = reason or "nodes may not do this"
        return Try(self.name, "noop", why, source=SOURCE, reason=reason)


def _selects(fields: str, field: str, node: str) -> bool:
    terms = (f"{field}={node}", f"{field}=={node}")
    return any(part in terms for part in fields.split(","))
