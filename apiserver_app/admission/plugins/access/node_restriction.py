"""NodeRestriction: a kubelet changes only its own node, lease and pods.

Models kubernetes plugin/pkg/admission/noderestriction/admission.go.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from apiserver_app.admission.plugin import (
    CREATE,
    DELETE,
    SECURITY,
    SKIP,
    UPDATE,
    Attributes,
    Plugin,
    Verdict,
    forbidden,
)
from apiserver_app.admission.plugins.access.certificates import REQUESTS, common_name
from apiserver_app.apis import podrefs
from apiserver_app.apis.nodeidentity import node_name
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.errors import go_value
from apiserver_app.machinery.meta import Object

MIRROR = "kubernetes.io/config.mirror"
LEASES = "kube-node-lease"
_RESTRICTED = "node-restriction.kubernetes.io"
_LABELS = frozenset(
    (
        "beta.kubernetes.io/arch",
        "beta.kubernetes.io/instance-type",
        "beta.kubernetes.io/os",
        "failure-domain.beta.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "kubernetes.io/arch",
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "node.kubernetes.io/instance-type",
        "topology.kubernetes.io/region",
        "topology.kubernetes.io/zone",
    )
)
_LABEL_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")
DRIVERS = "csidrivers.storage.k8s.io"
_NODE_SIGNERS = ("kubernetes.io/kubelet-serving", "kubernetes.io/kube-apiserver-client-kubelet")
_OWN = Verdict("allow", "its own object")
_OWN_POD = Verdict("allow", "a pod of its own node")


class NodeRestriction(Plugin):
    name = "NodeRestriction"
    concern = SECURITY
    handles = (CREATE, UPDATE, DELETE)
    mutates = True  # upstream runs it in the mutating phase; it changes nothing
    reads = ("nodes", "pods", DRIVERS, "persistentvolumeclaims", "persistentvolumes")
    source = "plugin/pkg/admission/noderestriction/admission.go"

    def admit(self, attributes: Attributes) -> Verdict:
        node = node_name(attributes.user)
        if node is None:
            return SKIP
        if not node:
            user = go_value(attributes.user.name)
            raise forbidden(attributes, f"could not determine node from user {user}")
        check = _CHECKS.get(attributes.info.key)
        return check(node, attributes) if check else SKIP


# -- pods ---------------------------------------------------------------------------------------


def _pods(node: str, attributes: Attributes) -> Verdict:
    subresource = attributes.subresource
    if subresource == "status":
        return _pod_status(node, attributes)
    if subresource == "eviction":
        return _eviction(node, attributes)
    if subresource:
        raise forbidden(
            attributes,
            f"unexpected pod subresource {go_value(subresource)}, "
            "only 'status' and 'eviction' are allowed",
        )
    if attributes.operation == CREATE:
        return _mirror_pod(node, attributes)
    if attributes.operation == DELETE:
        if _node_of(_existing(attributes, attributes.name)) != node:
            raise _only(attributes, node, "delete pods with spec.nodeName set to itself")
        return _OWN_POD
    raise forbidden(
        attributes,
        f"unexpected operation {go_value(attributes.operation)}, "
        f"node {go_value(node)} can only create and delete mirror pods",
    )


def _mirror_pod(node: str, attributes: Attributes) -> Verdict:
    pod = attributes.obj or {}
    if MIRROR not in meta.annotations_of(pod):
        raise forbidden(
            attributes,
            f'pod does not have "{MIRROR}" annotation, '
            f"node {go_value(node)} can only create mirror pods",
        )
    if _node_of(pod) != node:
        raise _only(attributes, node, "create pods with spec.nodeName set to itself")
    _check_owner(node, attributes, pod["metadata"].get("ownerReferences") or [])
    _check_references(node, attributes, pod["spec"])
    return Verdict("allow", "a mirror pod of its own node")


def _check_owner(node: str, attributes: Attributes, owners: list[Object]) -> None:
    if len(owners) > 1:
        raise _only(attributes, node, "create pods with a single owner reference set to itself")
    owner = owners[0] if owners else {}
    if (owner.get("apiVersion"), owner.get("kind"), owner.get("name")) != ("v1", "Node", node):
        raise _only(attributes, node, "create pods with an owner reference set to itself")
    if not owner.get("controller"):
        raise _only(attributes, node, "create pods with a controller owner reference set to itself")
    if owner.get("blockOwnerDeletion"):
        raise forbidden(
            attributes,
            f"node {go_value(node)} must not set blockOwnerDeletion on an owner reference",
        )
    stored = attributes.reader.get("nodes", "", node)
    if stored is None:
        raise errors.not_found("", "nodes", node)
    if owner.get("uid") != meta.uid_of(stored):
        raise forbidden(
            attributes,
            f"node {node} UID mismatch: expected {owner.get('uid', '')} got {meta.uid_of(stored)}",
        )


def _check_references(node: str, attributes: Attributes, spec: Object) -> None:
    if spec.get("serviceAccountName"):
        raise _cannot(attributes, node, "create pods that reference a service account")
    refs = podrefs.pod_refs({"metadata": {"name": ""}, "spec": spec})
    kinds = {kind for kind, _ in refs}
    for kind in ("secrets", "configmaps", "persistentvolumeclaims"):
        if kind in kinds:
            raise _cannot(attributes, node, f"create pods that reference {kind}")
    if spec.get("resourceClaims"):
        raise _cannot(attributes, node, "create pods that reference resourceclaims")


def _pod_status(node: str, attributes: Attributes) -> Verdict:
    if attributes.operation != UPDATE:
        raise forbidden(attributes, f"unexpected operation {go_value(attributes.operation)}")
    old, new = attributes.old or {}, attributes.obj or {}
    if _node_of(old) != node:
        raise _only(attributes, node, "update pod status for pods with spec.nodeName set to itself")
    if meta.labels_of(old) != meta.labels_of(new):
        reason = f"node {go_value(node)} cannot update labels through pod status"
        raise forbidden(attributes, reason)
    return _OWN_POD


def _eviction(node: str, attributes: Attributes) -> Verdict:
    if attributes.operation != CREATE:
        raise forbidden(attributes, f"unexpected operation {attributes.operation}")
    name = attributes.name or meta.name_of(attributes.obj or {})
    if not name:
        raise forbidden(attributes, "could not determine pod from request data")
    if _node_of(_existing(attributes, name)) != node:
        raise forbidden(
            attributes, f"node {node} can only evict pods with spec.nodeName set to itself"
        )
    return _OWN_POD


# -- the node and what belongs to it ------------------------------------------------------------


def _nodes(node: str, attributes: Attributes) -> Verdict:
    name = attributes.name or meta.name_of(attributes.obj or {})
    if name != node:
        raise forbidden(
            attributes, f"node {go_value(node)} is not allowed to modify node {go_value(name)}"
        )
    if attributes.operation == DELETE or attributes.obj is None:
        return _OWN
    new = attributes.obj
    old = attributes.old or {}
    if attributes.operation == CREATE:
        changed = _forbidden_labels(meta.labels_of(new), {})
        if changed:
            raise forbidden(
                attributes,
                f"node {go_value(node)} is not allowed to set the following labels: "
                f"{', '.join(changed)}",
            )
        return _OWN
    if (new.get("spec") or {}).get("taints") != (old.get("spec") or {}).get("taints"):
        raise forbidden(attributes, f"node {go_value(node)} is not allowed to modify taints")
    owners = [obj["metadata"].get("ownerReferences") for obj in (new, old) if obj]
    if owners[0] != owners[-1]:
        reason = f"node {go_value(node)} is not allowed to modify ownerReferences"
        raise forbidden(attributes, reason)
    changed = _forbidden_labels(meta.labels_of(new), meta.labels_of(old))
    if changed:
        raise forbidden(attributes, f"is not allowed to modify labels: {', '.join(changed)}")
    return _OWN


def _forbidden_labels(new: dict[str, str], old: dict[str, str]) -> list[str]:
    """Returns the changed labels that a kubelet may not set."""
    if new == old:
        return []
    changed = {key for key in {*new, *old} if new.get(key) != old.get(key)}
    return sorted(key for key in changed if _is_foreign(key))


def _is_foreign(label: str) -> bool:
    domain, slash, _ = label.partition("/")
    if not slash:
        return False
    if domain == _RESTRICTED or domain.endswith(f".{_RESTRICTED}"):
        return True
    ours = any(domain == own or domain.endswith(f".{own}") for own in ("kubernetes.io", "k8s.io"))
    if not ours or label in _LABELS:
        return False
    return not any(domain == own or domain.endswith(f".{own}") for own in _LABEL_DOMAINS)


def _claims(node: str, attributes: Attributes) -> Verdict:
    if attributes.subresource != "status":
        raise forbidden(attributes, "may only update PVC status")
    if attributes.operation != UPDATE:
        raise forbidden(attributes, f"unexpected operation {go_value(attributes.operation)}")
    if _claim_rest(attributes.old) != _claim_rest(attributes.obj):
        raise forbidden(
            attributes,
            f"node {go_value(node)} is not allowed to update fields other than "
            "status.quantity and status.conditions",
        )
    return Verdict("allow", "only the claim's capacity and conditions change")


def _claim_rest(claim: Object | None) -> Object:
    """Returns a claim without the fields its kubelet may update."""
    out = dict(claim or {})
    out["metadata"] = {
        key: value
        for key, value in out.get("metadata", {}).items()
        if key not in ("resourceVersion", "managedFields")
    }
    reported = ("capacity", "conditions", "allocatedResources", "allocatedResourceStatuses")
    status = out.get("status") or {}
    out["status"] = {key: value for key, value in status.items() if key not in reported}
    return out


def _accounts(node: str, attributes: Attributes) -> Verdict:
    if attributes.operation != CREATE or attributes.subresource != "token":
        return SKIP
    spec = (attributes.obj or {}).get("spec") or {}
    ref = spec.get("boundObjectRef") or {}
    if (ref.get("apiVersion"), ref.get("kind")) != ("v1", "Pod") or not ref.get("name"):
        raise forbidden(attributes, "node requested token not bound to a pod")
    if not ref.get("uid"):
        raise forbidden(attributes, "node requested token with a pod binding without a uid")
    pod = _existing(attributes, ref["name"])
    if ref["uid"] != meta.uid_of(pod):
        raise forbidden(
            attributes,
            f"the UID in the bound object reference ({ref['uid']}) does not match the UID in "
            "record. The object might have been deleted and then recreated",
        )
    if _node_of(pod) != node:
        raise forbidden(
            attributes, "node requested token bound to a pod scheduled on a different node"
        )
    if attributes.version.has("ServiceAccountNodeAudienceRestriction"):
        _check_audience(attributes, spec.get("audiences") or (), pod)
    return Verdict("allow", f'token of pod "{ref["name"]}" on its own node')


def _check_audience(attributes: Attributes, requested: Sequence[str], pod: Object) -> None:
    """Allows tokens only for audiences that a volume of the pod names."""
    if len(requested) > 1:
        raise forbidden(attributes, "node may only request 0 or 1 audiences")
    audience = requested[0] if requested else ""
    for volume in pod["spec"].get("volumes") or ():
        for source in (volume.get("projected") or {}).get("sources") or ():
            token = source.get("serviceAccountToken")
            if token is not None and token.get("audience", "") == audience:
                return
        driver = _driver_of(attributes, pod, volume)
        driver_object = attributes.reader.get(DRIVERS, "", driver) if driver else None
        for request in ((driver_object or {}).get("spec") or {}).get("tokenRequests") or ():
            if request.get("audience", "") == audience:
                return
    raise forbidden(attributes, f"audience {go_value(audience)} not found in pod spec volume")


def _driver_of(attributes: Attributes, pod: Object, volume: Object) -> str:
    """Returns the CSI driver of a pod's volume, inline or by its claim."""
    if volume.get("csi"):
        return str(volume["csi"].get("driver", ""))
    name = (volume.get("persistentVolumeClaim") or {}).get("claimName", "")
    if volume.get("ephemeral"):
        name = f"{meta.name_of(pod)}-{volume['name']}"
    reader = attributes.reader
    claim = reader.get("persistentvolumeclaims", attributes.namespace, name) if name else None
    volume_name = ((claim or {}).get("spec") or {}).get("volumeName", "")
    stored = reader.get("persistentvolumes", "", volume_name) if volume_name else None
    return str((((stored or {}).get("spec") or {}).get("csi") or {}).get("driver", ""))


def _slices(node: str, attributes: Attributes) -> Verdict:
    """A node reports only its own devices."""
    if attributes.operation == UPDATE:
        return SKIP  # nodeName cannot change
    verb = "create" if attributes.operation == CREATE else "delete"
    subject = attributes.obj if attributes.operation == CREATE else attributes.old
    if _node_of(subject or {}) != node:
        raise forbidden(
            attributes,
            f"can only {verb} ResourceSlice with the same NodeName as the requesting node",
        )
    return _OWN


def _requests(node: str, attributes: Attributes) -> Verdict:
    """A node requests certificates only in its own name."""
    spec = (attributes.obj or {}).get("spec") or {}
    if attributes.operation != CREATE or spec.get("signerName") not in _NODE_SIGNERS:
        return SKIP
    try:
        requested = common_name(spec.get("request", ""))
    except ValueError as error:
        raise forbidden(attributes, f"unable to parse csr: {error}") from error
    if requested != attributes.user.name:
        reason = f"can only create a node CSR with CN={attributes.user.name}"
        raise forbidden(attributes, reason)
    return Verdict("allow", "a certificate in its own name")


def _leases(node: str, attributes: Attributes) -> Verdict:
    if attributes.namespace != LEASES:
        raise forbidden(attributes, f'can only access leases in the "{LEASES}" system namespace')
    return _same_name(node, attributes, "node lease")


def _csinodes(node: str, attributes: Attributes) -> Verdict:
    return _same_name(node, attributes, "CSINode")


def _same_name(node: str, attributes: Attributes, kind: str) -> Verdict:
    creating = attributes.operation == CREATE
    name = meta.name_of(attributes.obj or {}) if creating else attributes.name
    if name != node:
        raise forbidden(
            attributes, f"can only access {kind} with the same name as the requesting node"
        )
    return _OWN


def _existing(attributes: Attributes, name: str) -> Object:
    pod = attributes.reader.get("pods", attributes.namespace, name)
    if pod is None:
        raise errors.not_found("", "pods", name)
    return pod


def _node_of(pod: Object) -> str:
    return str((pod.get("spec") or {}).get("nodeName") or "")


def _only(attributes: Attributes, node: str, permitted: str) -> errors.ApiError:
    return forbidden(attributes, f"node {go_value(node)} can only {permitted}")


def _cannot(attributes: Attributes, node: str, denied: str) -> errors.ApiError:
    return forbidden(attributes, f"node {go_value(node)} can not {denied}")


_CHECKS: dict[str, Callable[[str, Attributes], Verdict]] = {
    "pods": _pods,
    "nodes": _nodes,
    "persistentvolumeclaims": _claims,
    "serviceaccounts": _accounts,
    "leases.coordination.k8s.io": _leases,
    "csinodes.storage.k8s.io": _csinodes,
    "resourceslices.resource.k8s.io": _slices,
    REQUESTS: _requests,
}
