"""One ClusterRole per controller, each bound to its service account in kube-system.

Also the roles inside kube-system and kube-public. Default feature gates of 1.33.

Models kubernetes plugin/pkg/auth/authorizer/rbac/bootstrappolicy/controller_policy.go and
namespace_policy.go.
"""

from __future__ import annotations

from apiserver_app.auth.data.notation import EVENTS
from apiserver_app.machinery.releases import Release

PREFIX = "system:controller:"
_APPS = "apps extensions"
_SLICES = "create delete READ update | discovery.k8s.io | endpointslices"
_SIGN = (
    "kubernetes.io/kube-apiserver-client kubernetes.io/kube-apiserver-client-kubelet "
    "kubernetes.io/kubelet-serving kubernetes.io/legacy-unknown"
)

# name of the service account -> rules
CONTROLLERS: dict[str, tuple[str, ...]] = {
    "attachdetach-controller": (
        "list watch | core | persistentvolumeclaims persistentvolumes",
        "READ | core | nodes",
        "patch update | core | nodes/status",
        "list watch | core | pods",
        EVENTS,
        "create delete READ | storage.k8s.io | volumeattachments",
        "READ | storage.k8s.io | csidrivers",
        "READ | storage.k8s.io | csinodes",
    ),
    "certificate-controller": (
        "delete READ | certificates.k8s.io | certificatesigningrequests",
        "update | certificates.k8s.io | certificatesigningrequests/approval "
        "certificatesigningrequests/status",
        "approve | certificates.k8s.io | signers | kubernetes.io/kube-apiserver-client-kubelet",
        f"sign | certificates.k8s.io | signers | {_SIGN}",
        "create | authorization.k8s.io | subjectaccessreviews",
        EVENTS,
    ),
    "clusterrole-aggregation-controller": (
        "escalate READ patch update | rbac.authorization.k8s.io | clusterroles",
    ),
    "cronjob-controller": (
        "READ update | batch | cronjobs",
        "create delete READ patch update | batch | jobs",
        "update | batch | cronjobs/status",
        "update | batch | cronjobs/finalizers",
        "delete list watch | core | pods",
        EVENTS,
    ),
    "daemon-set-controller": (
        f"READ | {_APPS} | daemonsets",
        f"update | {_APPS} | daemonsets/status",
        f"update | {_APPS} | daemonsets/finalizers",
        "list watch | core | nodes",
        "create delete list patch watch | core | pods",
        "create | core | pods/binding",
        "create delete READ patch update | apps | controllerrevisions",
        EVENTS,
    ),
    "deployment-controller": (
        f"READ update | {_APPS} | deployments",
        f"update | {_APPS} | deployments/status",
        f"update | {_APPS} | deployments/finalizers",
        f"create delete READ patch update | {_APPS} | replicasets",
        "READ update | core | pods",
        EVENTS,
    ),
    "disruption-controller": (
        f"READ | {_APPS} | deployments",
        f"READ | {_APPS} | replicasets",
        "READ | core | replicationcontrollers",
        "READ | policy | poddisruptionbudgets",
        "READ | apps | statefulsets",
        "update | policy | poddisruptionbudgets/status",
        "patch update | core | pods/status",
        "get | * | */scale",
        EVENTS,
    ),
    "endpoint-controller": (
        "READ | core | pods services",
        "create delete READ update | core | endpoints",
        "create | core | endpoints/restricted",
        EVENTS,
    ),
    "endpointslice-controller": (
        "READ | core | nodes pods services",
        "update | core | services/finalizers",
        _SLICES,
        EVENTS,
    ),
    "endpointslicemirroring-controller": (
        "READ | core | endpoints services",
        "update | core | services/finalizers",
        "update | core | endpoints/finalizers",
        _SLICES,
        EVENTS,
    ),
    "ephemeral-volume-controller": (
        "READ | core | pods",
        "update | core | pods/finalizers",
        "create READ | core | persistentvolumeclaims",
        EVENTS,
    ),
    "expand-controller": (
        "READ patch update | core | persistentvolumes",
        "patch update | core | persistentvolumeclaims/status",
        "READ | core | persistentvolumeclaims",
        EVENTS,
        "get | core | services",
    ),
    "generic-garbage-collector": ("delete READ patch update | * | *", EVENTS),
    "horizontal-pod-autoscaler": (
        "READ | autoscaling | horizontalpodautoscalers",
        "update | autoscaling | horizontalpodautoscalers/status",
        "get update | * | */scale",
        "list watch | core | pods",
        "list watch | metrics.k8s.io | pods",
        "READ | custom.metrics.k8s.io | *",
        "READ | external.metrics.k8s.io | *",
        EVENTS,
    ),
    "job-controller": (
        "READ patch update | batch | jobs",
        "update | batch | jobs/status",
        "update | batch | jobs/finalizers",
        "create delete list patch watch | core | pods",
        EVENTS,
    ),
    "legacy-service-account-token-cleaner": (
        "get | core | configmaps | kube-apiserver-legacy-service-account-token-tracking",
        "delete patch | core | secrets",
    ),
    "namespace-controller": (
        "delete READ | core | namespaces",
        "update | core | namespaces/finalize namespaces/status",
        "delete deletecollection READ | * | *",
    ),
    "node-controller": (
        "delete READ patch update | core | nodes",
        "patch update | core | nodes/status",
        "patch update | core | pods/status",
        "delete READ | core | pods",
        EVENTS,
    ),
    "persistent-volume-binder": (
        "create delete READ update | core | persistentvolumes",
        "update | core | persistentvolumes/status",
        "READ update | core | persistentvolumeclaims",
        "update | core | persistentvolumeclaims/status",
        "create delete READ | core | pods",
        "READ | storage.k8s.io | storageclasses",
        "list watch | core | nodes",
        EVENTS,
        "watch | core | events",
        "get | core | services",
    ),
    "pod-garbage-collector": (
        "delete list watch | core | pods",
        "READ | core | nodes",
        "patch | core | pods/status",
    ),
    "pv-protection-controller": ("READ update | core | persistentvolumes", EVENTS),
    "pvc-protection-controller": (
        "READ update | core | persistentvolumeclaims",
        "READ | core | pods",
        EVENTS,
    ),
    "replicaset-controller": (
        f"READ update | {_APPS} | replicasets",
        f"update | {_APPS} | replicasets/status",
        f"update | {_APPS} | replicasets/finalizers",
        "create delete list patch watch | core | pods",
        EVENTS,
    ),
    "replication-controller": (
        "READ update | core | replicationcontrollers",
        "update | core | replicationcontrollers/status",
        "update | core | replicationcontrollers/finalizers",
        "create delete list patch watch | core | pods",
        EVENTS,
    ),
    "resourcequota-controller": (
        "list watch | * | *",
        "update | core | resourcequotas/status",
        EVENTS,
    ),
    "root-ca-cert-publisher": ("create update | core | configmaps", EVENTS),
    "route-controller": ("list watch | core | nodes", "patch | core | nodes/status", EVENTS),
    "selinux-warning-controller": (
        EVENTS,
        "READ | core | persistentvolumes",
        "READ | core | persistentvolumeclaims",
        "READ | core | pods",
        "READ | storage.k8s.io | csidrivers",
    ),
    "service-account-controller": ("create | core | serviceaccounts", EVENTS),
    "service-cidrs-controller": (
        "READ patch update | networking.k8s.io | servicecidrs",
        "patch update | networking.k8s.io | servicecidrs/finalizers",
        "patch update | networking.k8s.io | servicecidrs/status",
        "READ | networking.k8s.io | ipaddresses",
        EVENTS,
    ),
    "service-controller": (
        "READ | core | services",
        "patch update | core | services/status",
        "list watch | core | nodes",
        EVENTS,
    ),
    "statefulset-controller": (
        "list watch | core | pods",
        "READ | apps | statefulsets",
        "update | apps | statefulsets/status",
        "update | apps | statefulsets/finalizers",
        "create delete get patch update | core | pods",
        "create delete READ patch update | apps | controllerrevisions",
        "create READ | core | persistentvolumeclaims",
        EVENTS,
        "delete update | core | persistentvolumeclaims",
        "update | core | pods/finalizers",
    ),
    "ttl-after-finished-controller": ("delete READ | batch | jobs", EVENTS),
    "ttl-controller": ("list patch update watch | core | nodes", EVENTS),
    "validatingadmissionpolicy-status-controller": (
        "READ | admissionregistration.k8s.io | validatingadmissionpolicies",
        "get patch update | admissionregistration.k8s.io | validatingadmissionpolicies/status",
        EVENTS,
    ),
}

# since which version; left out before it
SINCE = {
    "legacy-service-account-token-cleaner": Release(29),
    "selinux-warning-controller": Release(33),
    "service-cidrs-controller": Release(33),
    "validatingadmissionpolicy-status-controller": Release(30),
}

_LOCK = (
    "watch | core | configmaps",
    "get update | core | configmaps | {0}",
    "create READ update | coordination.k8s.io | leases",
    "create READ update | coordination.k8s.io | leasecandidates",
)


def _lock(component: str) -> tuple[str, ...]:
    return tuple(line.format(component) for line in _LOCK)


# (namespace, name) -> rules
NAMESPACED_ROLES: dict[tuple[str, str], tuple[str, ...]] = {
    ("kube-public", f"{PREFIX}bootstrap-signer"): (
        "READ | core | configmaps",
        "update | core | configmaps | cluster-info",
        EVENTS,
    ),
    ("kube-system", "extension-apiserver-authentication-reader"): (
        "READ | core | configmaps | extension-apiserver-authentication",
    ),
    ("kube-system", "system::leader-locking-kube-controller-manager"): _lock(
        "kube-controller-manager"
    ),
    ("kube-system", "system::leader-locking-kube-scheduler"): _lock("kube-scheduler"),
    ("kube-system", f"{PREFIX}bootstrap-signer"): ("READ | core | secrets",),
    ("kube-system", f"{PREFIX}cloud-provider"): ("create READ | core | configmaps",),
    ("kube-system", f"{PREFIX}token-cleaner"): ("delete READ | core | secrets", EVENTS),
}

# (namespace, name) -> (role, subjects)
NAMESPACED_BINDINGS: dict[tuple[str, str], tuple[str, tuple[str, ...]]] = {
    ("kube-public", f"{PREFIX}bootstrap-signer"): (
        f"{PREFIX}bootstrap-signer",
        ("ServiceAccount kube-system/bootstrap-signer",),
    ),
    ("kube-system", "system::extension-apiserver-authentication-reader"): (
        "extension-apiserver-authentication-reader",
        ("User system:kube-controller-manager", "User system:kube-scheduler"),
    ),
    ("kube-system", "system::leader-locking-kube-controller-manager"): (
        "system::leader-locking-kube-controller-manager",
        (
            "User system:kube-controller-manager",
            "ServiceAccount kube-system/kube-controller-manager",
            "ServiceAccount kube-system/leader-election-controller",
        ),
    ),
    ("kube-system", "system::leader-locking-kube-scheduler"): (
        "system::leader-locking-kube-scheduler",
        ("User system:kube-scheduler", "ServiceAccount kube-system/kube-scheduler"),
    ),
    ("kube-system", f"{PREFIX}bootstrap-signer"): (
        f"{PREFIX}bootstrap-signer",
        ("ServiceAccount kube-system/bootstrap-signer",),
    ),
    ("kube-system", f"{PREFIX}cloud-provider"): (
        f"{PREFIX}cloud-provider",
        ("ServiceAccount kube-system/cloud-provider",),
    ),
    ("kube-system", f"{PREFIX}token-cleaner"): (
        f"{PREFIX}token-cleaner",
        ("ServiceAccount kube-system/token-cleaner",),
    ),
}

# further service accounts that the controller manager creates
EXTRA_ACCOUNTS = ("bootstrap-signer", "token-cleaner")
# roles of controllers that only run with a cloud provider: they have no account
NO_ACCOUNT = ("route-controller",)
