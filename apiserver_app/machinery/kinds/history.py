"""The group versions that only versions before 1.25 served, and the table of all group versions.

An old version of a kind is stored as its successor, which the cluster's own components use from
the start. If both have the same fields, they share a definition; data/old_definitions.json has the
fields of the others, and `registry.conversion.v1beta1` converts them.

Models kubernetes pkg/master/master.go and pkg/controlplane/instance.go of those versions, their
pkg/registry/*/rest/storage_*.go, and the deprecation guide of the API.
"""

from __future__ import annotations

from apiserver_app.machinery.kinds import builtin
from apiserver_app.machinery.kinds.builtin import API, GroupVersion

_WORKLOADS = """
daemonsets | DaemonSet | ns | ds | all | status
deployments | Deployment | ns | deploy | all | scale status
replicasets | ReplicaSet | ns | rs | all | scale status
"""
_APPS_FIRST = """
controllerrevisions | ControllerRevision | ns
deployments | Deployment | ns | deploy | all | scale status
statefulsets | StatefulSet | ns | sts | all | scale status
"""
_INGRESSES = "ingresses | Ingress | ns | ing | | status"
_INGRESS_CLASSES = "ingressclasses | IngressClass | - | | | | 18-"
_NETWORK_POLICIES = "networkpolicies | NetworkPolicy | ns | netpol"
_SECURITY_POLICIES = "podsecuritypolicies | PodSecurityPolicy | - | psp"
_CRON_JOBS = "cronjobs | CronJob | ns | cj | all | status"
_REQUESTS = """
certificatesigningrequests | CertificateSigningRequest | - | csr | | approval status
"""
_STORAGE = """
csidrivers | CSIDriver | - | | | | 14-21
csinodes | CSINode | - | | | | 14-21
storageclasses | StorageClass | - | sc | | | -21
volumeattachments | VolumeAttachment | - | | | | 10-21
"""
_WEBHOOKS = """
mutatingwebhookconfigurations | MutatingWebhookConfiguration | - | | api-extensions
validatingwebhookconfigurations | ValidatingWebhookConfiguration | - | | api-extensions
"""
_APIEXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1beta1"


def _old(
    group: str, version: str, package: str, lines: str, since: int, until: int
) -> GroupVersion:
    if not package.startswith("io."):
        package = f"{API}.{package}"
    return GroupVersion(group, version, package, lines, since, until)


OLD: tuple[GroupVersion, ...] = (
    _old("extensions", "v1beta1", "apps.v1", _WORKLOADS, 0, 15),
    _old("extensions", "v1beta1", "extensions.v1beta1", _INGRESSES, 0, 21),
    _old("extensions", "v1beta1", "networking.v1", _NETWORK_POLICIES, 0, 15),
    _old("extensions", "v1beta1", "policy.v1beta1", _SECURITY_POLICIES, 0, 15),
    _old("apps", "v1beta2", "apps.v1", builtin.APPS, 8, 15),
    _old("apps", "v1beta1", "apps.v1", _APPS_FIRST, 6, 15),
    _old(
        "apiregistration.k8s.io", "v1beta1", builtin.APIREGISTRATION, builtin.APISERVICES, 7,
        21,
    ),
    _old("events.k8s.io", "v1beta1", "events.v1", builtin.EVENTS, 8, 24),
    _old(
        "authentication.k8s.io", "v1beta1", "authentication.v1",
        "tokenreviews | TokenReview | -", 0, 21,
    ),
    _old("authorization.k8s.io", "v1beta1", "authorization.v1", builtin.AUTHORIZATION, 0, 21),
    _old("batch", "v1beta1", "batch.v1", _CRON_JOBS, 8, 24),
    _old("certificates.k8s.io", "v1beta1", "certificates.v1", _REQUESTS, 6, 21),
    _old("networking.k8s.io", "v1beta1", "extensions.v1beta1", _INGRESSES, 14, 21),
    _old("networking.k8s.io", "v1beta1", "networking.v1", _INGRESS_CLASSES, 18, 21),
    _old("policy", "v1beta1", "policy.v1", builtin.POLICY, 4, 24),
    GroupVersion(
        "policy", "v1beta1", f"{API}.policy.v1beta1", _SECURITY_POLICIES, 10, 24, inside=True
    ),
    _old("rbac.authorization.k8s.io", "v1beta1", "rbac.v1", builtin.RBAC, 6, 21),
    _old("storage.k8s.io", "v1beta1", "storage.v1", _STORAGE, 6, 21),
    _old("admissionregistration.k8s.io", "v1beta1", "admissionregistration.v1", _WEBHOOKS, 9, 21),
    _old("apiextensions.k8s.io", "v1beta1", _APIEXTENSIONS, builtin.CRDS, 7, 21),
    _old("scheduling.k8s.io", "v1beta1", "scheduling.v1", builtin.PRIORITIES, 11, 21),
    _old("coordination.k8s.io", "v1beta1", "coordination.v1", builtin.LEASES, 12, 21),
    _old("node.k8s.io", "v1beta1", "node.v1", builtin.RUNTIME_CLASSES, 14, 24),
    _old("discovery.k8s.io", "v1beta1", "discovery.v1", builtin.SLICES, 17, 24),
    GroupVersion(
        "settings.k8s.io", "v1alpha1", f"{API}.settings.v1alpha1",
        "podpresets | PodPreset | ns", 6, 19, default=False,
    ),
    GroupVersion(
        "admissionregistration.k8s.io", "v1alpha1", f"{API}.admissionregistration.v1alpha1",
        "initializerconfigurations | InitializerConfiguration | -", 7, 13, default=False,
    ),
)  # fmt: skip

GONE = frozenset(  # (group, version, plural)
    (old.group, old.version, line.partition("|")[0].strip())
    for old in OLD
    for line in old.lines.strip().splitlines()
)
WITHOUT_SUCCESSOR = (
    "podsecuritypolicies.policy",
    "podpresets.settings.k8s.io",
    "initializerconfigurations.admissionregistration.k8s.io",
)
# fields that became required with the newer version only, by what they are fields of
LENIENT: dict[str, tuple[str, ...]] = {
    f"{API}.apps.v1.DaemonSetSpec": ("selector",),
    f"{API}.apps.v1.DeploymentSpec": ("selector",),
    f"{API}.apps.v1.ReplicaSetSpec": ("selector",),
    f"{API}.apps.v1.StatefulSetSpec": ("selector",),
    f"{API}.certificates.v1.CertificateSigningRequestSpec": ("signerName",),
    f"{API}.admissionregistration.v1.MutatingWebhook": ("sideEffects", "admissionReviewVersions"),
    f"{API}.admissionregistration.v1.ValidatingWebhook": ("sideEffects", "admissionReviewVersions"),
}
LEFT = ("extensions",)  # groups whose kinds moved to others
_BEFORE = {"extensions": "apps"}  # it was asked first, so that clients went on resolving to it


def _every() -> tuple[GroupVersion, ...]:
    """By group as the newer ones are, the older versions of a group behind its newer ones."""
    order = list(dict.fromkeys(row.group for row in builtin.GROUP_VERSIONS))
    for row in OLD:
        if row.group not in order:
            behind = _BEFORE.get(row.group)
            order.insert(order.index(behind) if behind else len(order), row.group)
    rows = [*builtin.GROUP_VERSIONS, *OLD]
    return tuple(sorted(rows, key=lambda row: order.index(row.group)))


EVERY = _every()
