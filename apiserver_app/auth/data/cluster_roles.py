"""The default ClusterRoles of 1.33 other than the controllers', and their subjects.

Default feature gates. The rules of `admin`, `edit` and `view` are aggregated from the roles
labelled for it, so they are computed (see bootstrap.py) and not written here.

Models kubernetes plugin/pkg/auth/authorizer/rbac/bootstrappolicy/policy.go.
"""

from __future__ import annotations

from apiserver_app.auth.data.notation import EVENTS, rules
from apiserver_app.machinery.meta import Object

_PODS_OPEN = "pods/attach pods/exec pods/portforward pods/proxy"
_SIGNER = "approve | certificates.k8s.io | signers | kubernetes.io/"
_CSR = "certificatesigningrequests"

# role -> the role it is aggregated into, by label
AGGREGATES_TO = {
    "edit": "admin",
    "view": "edit",
    "system:aggregate-to-admin": "admin",
    "system:aggregate-to-edit": "edit",
    "system:aggregate-to-view": "view",
}
AGGREGATED = ("admin", "edit", "view")

ROLES: dict[str, tuple[str, ...]] = {
    "cluster-admin": ("* | * | *", "* | url | *"),
    "system:aggregate-to-admin": (
        "create | authorization.k8s.io | localsubjectaccessreviews",
        "ALL | rbac.authorization.k8s.io | roles rolebindings",
    ),
    "system:aggregate-to-edit": (
        f"READ | core | {_PODS_OPEN} secrets services/proxy",
        "impersonate | core | serviceaccounts",
        f"WRITE | core | pods {_PODS_OPEN}",
        "create | core | pods/eviction",
        "WRITE | core | configmaps events persistentvolumeclaims replicationcontrollers "
        "replicationcontrollers/scale secrets serviceaccounts services services/proxy",
        "create | core | serviceaccounts/token",
        "WRITE | apps | daemonsets deployments deployments/rollback deployments/scale "
        "replicasets replicasets/scale statefulsets statefulsets/scale",
        "WRITE | autoscaling | horizontalpodautoscalers",
        "WRITE | batch | cronjobs jobs",
        "WRITE | extensions | daemonsets deployments deployments/rollback deployments/scale "
        "ingresses networkpolicies replicasets replicasets/scale replicationcontrollers/scale",
        "WRITE | policy | poddisruptionbudgets",
        "WRITE | networking.k8s.io | ingresses networkpolicies",
        "ALL | coordination.k8s.io | leases",
    ),
    "system:aggregate-to-view": (
        "READ | core | configmaps endpoints persistentvolumeclaims persistentvolumeclaims/status "
        "pods replicationcontrollers replicationcontrollers/scale serviceaccounts services "
        "services/status",
        "READ | core | bindings events limitranges namespaces/status pods/log pods/status "
        "replicationcontrollers/status resourcequotas resourcequotas/status",
        "READ | core | namespaces",
        "READ | discovery.k8s.io | endpointslices",
        "READ | apps | controllerrevisions daemonsets daemonsets/status deployments "
        "deployments/scale deployments/status replicasets replicasets/scale replicasets/status "
        "statefulsets statefulsets/scale statefulsets/status",
        "READ | autoscaling | horizontalpodautoscalers horizontalpodautoscalers/status",
        "READ | batch | cronjobs cronjobs/status jobs jobs/status",
        "READ | extensions | daemonsets daemonsets/status deployments deployments/scale "
        "deployments/status ingresses ingresses/status networkpolicies replicasets "
        "replicasets/scale replicasets/status replicationcontrollers/scale",
        "READ | policy | poddisruptionbudgets poddisruptionbudgets/status",
        "READ | networking.k8s.io | ingresses ingresses/status networkpolicies",
    ),
    "system:auth-delegator": (
        "create | authentication.k8s.io | tokenreviews",
        "create | authorization.k8s.io | subjectaccessreviews",
    ),
    "system:basic-user": (
        "create | authorization.k8s.io | selfsubjectaccessreviews selfsubjectrulesreviews",
        "create | authentication.k8s.io | selfsubjectreviews",
    ),
    f"system:certificates.k8s.io:{_CSR}:nodeclient": (
        f"create | certificates.k8s.io | {_CSR}/nodeclient",
    ),
    f"system:certificates.k8s.io:{_CSR}:selfnodeclient": (
        f"create | certificates.k8s.io | {_CSR}/selfnodeclient",
    ),
    "system:certificates.k8s.io:kube-apiserver-client-approver": (
        f"{_SIGNER}kube-apiserver-client",
    ),
    "system:certificates.k8s.io:kube-apiserver-client-kubelet-approver": (
        f"{_SIGNER}kube-apiserver-client-kubelet",
    ),
    "system:certificates.k8s.io:kubelet-serving-approver": (f"{_SIGNER}kubelet-serving",),
    "system:certificates.k8s.io:legacy-unknown-approver": (f"{_SIGNER}legacy-unknown",),
    "system:discovery": (
        "get | url | /api /api/* /apis /apis/* /healthz /livez /openapi /openapi/* /readyz "
        "/version /version/",
    ),
    "system:heapster": (
        "READ | core | events namespaces nodes pods",
        "READ | extensions | deployments",
    ),
    "system:kube-aggregator": ("READ | core | endpoints services",),
    "system:kube-controller-manager": (
        EVENTS,
        "create | coordination.k8s.io | leases",
        "get update | coordination.k8s.io | leases | kube-controller-manager",
        "create | core | secrets serviceaccounts",
        "delete | core | secrets",
        "get | core | configmaps namespaces secrets serviceaccounts",
        "update | core | secrets serviceaccounts",
        "create | authentication.k8s.io | tokenreviews",
        "create | authorization.k8s.io | subjectaccessreviews",
        "list watch | * | *",
        "create | core | serviceaccounts/token",
    ),
    "system:kube-dns": ("list watch | core | endpoints services",),
    "system:kube-scheduler": (
        EVENTS,
        "create | coordination.k8s.io | leases",
        "get list update watch | coordination.k8s.io | leases | kube-scheduler",
        "ALL | coordination.k8s.io | leasecandidates",
        "READ | core | nodes",
        "delete READ | core | pods",
        "create | core | bindings pods/binding",
        "patch update | core | pods/status",
        "READ | core | replicationcontrollers services",
        "READ | apps extensions | replicasets",
        "READ | apps | statefulsets",
        "READ | policy | poddisruptionbudgets",
        "READ | core | persistentvolumeclaims persistentvolumes",
        "create | authentication.k8s.io | tokenreviews",
        "create | authorization.k8s.io | subjectaccessreviews",
        "READ | storage.k8s.io | csinodes",
        "READ | storage.k8s.io | volumeattachments",
        "READ | core | namespaces",
        "READ | storage.k8s.io | csidrivers",
        "READ | storage.k8s.io | csistoragecapacities",
    ),
    "system:kubelet-api-admin": (
        "READ | core | nodes",
        "proxy | core | nodes",
        "* | core | nodes/log nodes/metrics nodes/proxy nodes/stats",
        "* | core | nodes/configz nodes/healthz nodes/pods",
    ),
    "system:monitoring": (
        "get | url | /healthz /healthz/* /livez /livez/* /metrics /metrics/slis /readyz /readyz/*",
    ),
    "system:node": (
        "create | authentication.k8s.io | tokenreviews",
        "create | authorization.k8s.io | localsubjectaccessreviews subjectaccessreviews",
        "READ | core | services",
        "create READ | core | nodes",
        "patch update | core | nodes/status",
        "patch update | core | nodes",
        "create patch update | core | events",
        "READ | core | pods",
        "create delete | core | pods",
        "patch update | core | pods/status",
        "create | core | pods/eviction",
        "READ | core | configmaps secrets",
        "get | core | persistentvolumeclaims persistentvolumes",
        "get | core | endpoints",
        f"create READ | certificates.k8s.io | {_CSR}",
        "create delete get patch update | coordination.k8s.io | leases",
        "get | storage.k8s.io | volumeattachments",
        "create | core | serviceaccounts/token",
        "get patch update | core | persistentvolumeclaims/status",
        "READ | storage.k8s.io | csidrivers",
        "create delete get patch update | storage.k8s.io | csinodes",
        "READ | node.k8s.io | runtimeclasses",
    ),
    "system:node-bootstrapper": (f"create READ | certificates.k8s.io | {_CSR}",),
    "system:node-problem-detector": ("get | core | nodes", "patch | core | nodes/status", EVENTS),
    "system:node-proxier": (
        "list watch | core | endpoints services",
        "READ | core | nodes",
        EVENTS,
        "list watch | networking.k8s.io | servicecidrs",
        "list watch | discovery.k8s.io | endpointslices",
    ),
    "system:persistent-volume-provisioner": (
        "create delete READ | core | persistentvolumes",
        "READ update | core | persistentvolumeclaims",
        "READ | storage.k8s.io | storageclasses",
        "watch | core | events",
        EVENTS,
    ),
    "system:public-info-viewer": ("get | url | /healthz /livez /readyz /version /version/",),
    "system:service-account-issuer-discovery": (
        "get | url | /.well-known/openid-configuration /.well-known/openid-configuration/ "
        "/openid/v1/jwks /openid/v1/jwks/",
    ),
    "system:volume-scheduler": (
        "READ patch update | core | persistentvolumes",
        "READ | storage.k8s.io | storageclasses",
        "READ patch update | core | persistentvolumeclaims",
    ),
}

# ClusterRoleBindings have the name of their role; subjects are "Kind name" or "Kind ns/name"
BINDINGS: dict[str, tuple[str, ...]] = {
    "cluster-admin": ("Group system:masters",),
    "system:basic-user": ("Group system:authenticated",),
    "system:discovery": ("Group system:authenticated",),
    "system:kube-controller-manager": ("User system:kube-controller-manager",),
    "system:kube-dns": ("ServiceAccount kube-system/kube-dns",),
    "system:kube-scheduler": ("User system:kube-scheduler",),
    "system:monitoring": ("Group system:monitoring",),
    "system:node": (),
    "system:node-proxier": ("User system:kube-proxy",),
    "system:public-info-viewer": ("Group system:authenticated", "Group system:unauthenticated"),
    "system:service-account-issuer-discovery": ("Group system:serviceaccounts",),
    "system:volume-scheduler": ("User system:kube-scheduler",),
}


def node_rules() -> list[Object]:
    """Returns what every node may do; the Node authorizer narrows the rest."""
    return rules(ROLES["system:node"])
