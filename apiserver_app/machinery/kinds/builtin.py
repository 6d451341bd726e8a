"""Every built-in resource by group and version, in the order in which discovery lists them.

Plain data, read by `kinds`. A line of a group is

    plural | Kind | ns or - | short names | categories | subresources | since-until

and trailing empty columns are left out. `~21-` is one that clients see since 1.21, and that the
cluster's own components use in any version. What only versions before 1.25 served is in
`history`. Nothing here says what a kind does.

Models kubernetes api/discovery/*.json (what a default kube-apiserver answers: GA versions, and
betas in the versions that still served them by default).
"""

from __future__ import annotations

from typing import NamedTuple


class GroupVersion(NamedTuple):
    """One group version: where its types are defined, since and until when it is served."""

    group: str
    version: str
    package: str  # what its definition names begin with
    lines: str
    since: int = 0  # minor version
    until: int = 999
    default: bool = True  # otherwise runtime-config must ask for it
    inside: bool = False  # the cluster's own components use it before that, too


_CORE = """
bindings | Binding | ns
componentstatuses | ComponentStatus | - | cs
configmaps | ConfigMap | ns | cm
endpoints | Endpoints | ns | ep
events | Event | ns | ev
limitranges | LimitRange | ns | limits
namespaces | Namespace | - | ns | | finalize status
nodes | Node | - | no | | proxy status
persistentvolumeclaims | PersistentVolumeClaim | ns | pvc | | status
persistentvolumes | PersistentVolume | - | pv | | status
pods | Pod | ns | po | all | attach binding ephemeralcontainers@16 eviction exec log portforward \
proxy resize@33 status
podtemplates | PodTemplate | ns
replicationcontrollers | ReplicationController | ns | rc | all | scale status
resourcequotas | ResourceQuota | ns | quota | | status
secrets | Secret | ns
serviceaccounts | ServiceAccount | ns | sa | | token
services | Service | ns | svc | all | proxy status
"""

APISERVICES = "apiservices | APIService | - | | api-extensions | status"

APPS = """
controllerrevisions | ControllerRevision | ns
daemonsets | DaemonSet | ns | ds | all | status
deployments | Deployment | ns | deploy | all | scale status
replicasets | ReplicaSet | ns | rs | all | scale status
statefulsets | StatefulSet | ns | sts | all | scale status
"""

EVENTS = "events | Event | ns | ev"

_AUTHENTICATION = """
selfsubjectreviews | SelfSubjectReview | - | | | | 28-
tokenreviews | TokenReview | -
"""

AUTHORIZATION = """
localsubjectaccessreviews | LocalSubjectAccessReview | ns
selfsubjectaccessreviews | SelfSubjectAccessReview | -
selfsubjectrulesreviews | SelfSubjectRulesReview | -
subjectaccessreviews | SubjectAccessReview | -
"""

_AUTOSCALING = "horizontalpodautoscalers | HorizontalPodAutoscaler | ns | hpa | all | status"

_BATCH = """
cronjobs | CronJob | ns | cj | all | status | ~21-
jobs | Job | ns | | all | status
"""

_CERTIFICATES = """
certificatesigningrequests | CertificateSigningRequest | - | csr | | approval status
clustertrustbundles | ClusterTrustBundle | - | | | | 37-
podcertificaterequests | PodCertificateRequest | ns | | | status | 37-
"""

_NETWORKING = """
ingressclasses | IngressClass | - | | | | ~19-
ingresses | Ingress | ns | ing | | status | ~19-
ipaddresses | IPAddress | - | ip | | | 33-
networkpolicies | NetworkPolicy | ns | netpol
servicecidrs | ServiceCIDR | - | | | status | 33-
"""

POLICY = "poddisruptionbudgets | PodDisruptionBudget | ns | pdb | | status"

RBAC = """
clusterrolebindings | ClusterRoleBinding | -
clusterroles | ClusterRole | -
rolebindings | RoleBinding | ns
roles | Role | ns
"""

_STORAGE = """
csidrivers | CSIDriver | - | | | | ~18-
csinodes | CSINode | - | | | | ~17-
csistoragecapacities | CSIStorageCapacity | ns | | | | ~24-
storageclasses | StorageClass | - | sc
volumeattachments | VolumeAttachment | - | | | status | ~13-
volumeattributesclasses | VolumeAttributesClass | - | vac | | | 34-
"""

PRIORITIES = "priorityclasses | PriorityClass | - | pc"

_STORAGE_BETA = "csistoragecapacities | CSIStorageCapacity | ns"

_ADMISSION = """
mutatingadmissionpolicies | MutatingAdmissionPolicy | - | | api-extensions | | 36-
mutatingadmissionpolicybindings | MutatingAdmissionPolicyBinding | - | | api-extensions | | 36-
mutatingwebhookconfigurations | MutatingWebhookConfiguration | - | | api-extensions
validatingadmissionpolicies | ValidatingAdmissionPolicy | - | | api-extensions | status | 30-
validatingadmissionpolicybindings | ValidatingAdmissionPolicyBinding | - | | api-extensions | | 30-
validatingwebhookconfigurations | ValidatingWebhookConfiguration | - | | api-extensions
"""

_POLICIES_ALPHA = """
mutatingadmissionpolicies | MutatingAdmissionPolicy | - | | api-extensions | | 32-
mutatingadmissionpolicybindings | MutatingAdmissionPolicyBinding | - | | api-extensions | | 32-
validatingadmissionpolicies | ValidatingAdmissionPolicy | - | | api-extensions | status | -31
validatingadmissionpolicybindings | ValidatingAdmissionPolicyBinding | - | | api-extensions | | -31
"""

_POLICIES_BETA = """
mutatingadmissionpolicies | MutatingAdmissionPolicy | - | | api-extensions | | 34-
mutatingadmissionpolicybindings | MutatingAdmissionPolicyBinding | - | | api-extensions | | 34-
validatingadmissionpolicies | ValidatingAdmissionPolicy | - | | api-extensions | status | -33
validatingadmissionpolicybindings | ValidatingAdmissionPolicyBinding | - | | api-extensions | | -33
"""

_ADDRESSES = """
ipaddresses | IPAddress | - | ip
servicecidrs | ServiceCIDR | - | | | status
"""

_ATTRIBUTES = "volumeattributesclasses | VolumeAttributesClass | - | vac"
_CANDIDATES = "leasecandidates | LeaseCandidate | ns"
LEASES = "leases | Lease | ns"
RUNTIME_CLASSES = "runtimeclasses | RuntimeClass | -"
SLICES = "endpointslices | EndpointSlice | ns"
_BUNDLES = "clustertrustbundles | ClusterTrustBundle | -"

CRDS = """
customresourcedefinitions | CustomResourceDefinition | - | crd crds | api-extensions | status
"""

_FLOW = """
flowschemas | FlowSchema | - | | | status
prioritylevelconfigurations | PriorityLevelConfiguration | - | | | status
"""

_DEVICES = """
deviceclasses | DeviceClass | -
devicetaintrules | DeviceTaintRule | - | | | status | 37-
resourceclaims | ResourceClaim | ns | | | status
resourceclaimtemplates | ResourceClaimTemplate | ns
resourceslices | ResourceSlice | -
"""

_DEVICES_BETA = """
deviceclasses | DeviceClass | -
resourceclaims | ResourceClaim | ns | | | status
resourceclaimtemplates | ResourceClaimTemplate | ns
resourceslices | ResourceSlice | -
"""

_TAINT_RULES = "devicetaintrules | DeviceTaintRule | -"
_MIGRATION = "storageversionmigrations | StorageVersionMigration | - | | | status"

API = "io.k8s.api"
_APIEXTENSIONS = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1"
APIREGISTRATION = "io.k8s.kube-aggregator.pkg.apis.apiregistration.v1"
_FLOWCONTROL = "flowcontrol.apiserver.k8s.io"


def _off(
    group: str, version: str, package: str, lines: str, since: int, until: int = 999
) -> GroupVersion:
    """One that is served only when runtime-config says so."""
    return GroupVersion(
        group, version, f"{API}.{package}.{version}", lines, since, until, default=False
    )


def _later(group: str, version: str, package: str, lines: str, since: int) -> GroupVersion:
    """One that clients see since then."""
    return GroupVersion(group, version, package, lines, since, inside=True)


# by priority of the group, then of the version, as the aggregator sorts them
GROUP_VERSIONS: tuple[GroupVersion, ...] = (
    GroupVersion("", "v1", f"{API}.core.v1", _CORE),
    _later("apiregistration.k8s.io", "v1", APIREGISTRATION, APISERVICES, 10),
    _later("apps", "v1", f"{API}.apps.v1", APPS, 9),
    GroupVersion("events.k8s.io", "v1", f"{API}.events.v1", EVENTS, 19),
    GroupVersion("authentication.k8s.io", "v1", f"{API}.authentication.v1", _AUTHENTICATION),
    GroupVersion("authorization.k8s.io", "v1", f"{API}.authorization.v1", AUTHORIZATION),
    _later("autoscaling", "v2", f"{API}.autoscaling.v2", _AUTOSCALING, 23),
    GroupVersion("autoscaling", "v1", f"{API}.autoscaling.v1", _AUTOSCALING),
    GroupVersion("autoscaling", "v2beta2", f"{API}.autoscaling.v2beta2", _AUTOSCALING, 12, 25),
    GroupVersion("batch", "v1", f"{API}.batch.v1", _BATCH),
    _later("certificates.k8s.io", "v1", f"{API}.certificates.v1", _CERTIFICATES, 19),
    _off("certificates.k8s.io", "v1beta1", "certificates", _BUNDLES, 33),
    _off("certificates.k8s.io", "v1alpha1", "certificates", _BUNDLES, 27, 36),
    GroupVersion("networking.k8s.io", "v1", f"{API}.networking.v1", _NETWORKING),
    _off("networking.k8s.io", "v1beta1", "networking", _ADDRESSES, 31, 36),
    _later("policy", "v1", f"{API}.policy.v1", POLICY, 21),
    GroupVersion("rbac.authorization.k8s.io", "v1", f"{API}.rbac.v1", RBAC),
    GroupVersion("storage.k8s.io", "v1", f"{API}.storage.v1", _STORAGE),
    GroupVersion("storage.k8s.io", "v1beta1", f"{API}.storage.v1beta1", _STORAGE_BETA, 21, 26),
    _off("storage.k8s.io", "v1beta1", "storage", _ATTRIBUTES, 31, 36),
    _off("storage.k8s.io", "v1alpha1", "storage", _ATTRIBUTES, 29, 34),
    _later("admissionregistration.k8s.io", "v1", f"{API}.admissionregistration.v1", _ADMISSION, 16),
    _off("admissionregistration.k8s.io", "v1beta1", "admissionregistration", _POLICIES_BETA, 28),
    _off("admissionregistration.k8s.io", "v1alpha1", "admissionregistration", _POLICIES_ALPHA, 26),
    _later("apiextensions.k8s.io", "v1", _APIEXTENSIONS, CRDS, 16),
    _later("scheduling.k8s.io", "v1", f"{API}.scheduling.v1", PRIORITIES, 14),
    _later("coordination.k8s.io", "v1", f"{API}.coordination.v1", LEASES, 14),
    _off("coordination.k8s.io", "v1beta1", "coordination", _CANDIDATES, 33),
    _off("coordination.k8s.io", "v1alpha2", "coordination", _CANDIDATES, 32),
    _later("node.k8s.io", "v1", f"{API}.node.v1", RUNTIME_CLASSES, 20),
    _later("discovery.k8s.io", "v1", f"{API}.discovery.v1", SLICES, 21),
    GroupVersion("resource.k8s.io", "v1", f"{API}.resource.v1", _DEVICES, 34),
    _off("resource.k8s.io", "v1beta2", "resource", _DEVICES_BETA, 33),
    _off("resource.k8s.io", "v1beta1", "resource", _DEVICES_BETA, 32),
    _off("resource.k8s.io", "v1alpha3", "resource", _TAINT_RULES, 33, 36),
    GroupVersion(_FLOWCONTROL, "v1", f"{API}.flowcontrol.v1", _FLOW, 29),
    GroupVersion(_FLOWCONTROL, "v1beta3", f"{API}.flowcontrol.v1beta3", _FLOW, 26, 31),
    GroupVersion(_FLOWCONTROL, "v1beta2", f"{API}.flowcontrol.v1beta2", _FLOW, 23, 28),
    GroupVersion(_FLOWCONTROL, "v1beta1", f"{API}.flowcontrol.v1beta1", _FLOW, 20, 25),
    GroupVersion("storagemigration.k8s.io", "v1", f"{API}.storagemigration.v1", _MIGRATION, 37),
)

# what is created and answered but never stored
VIRTUAL = tuple(
    """
    Binding LocalSubjectAccessReview SelfSubjectAccessReview SelfSubjectReview
    SelfSubjectRulesReview SubjectAccessReview TokenReview
    """.split()
)

# resource -> the versions upstream writes it in, which discovery tells a hash of, each up to a
# minor version, where it is not the most preferred: a new one waits until the server before that
# can read it
_DEVICES_WRITTEN = ((32, "v1alpha3"), (34, "v1beta1"))
_MUTATIONS_WRITTEN = ((34, "v1alpha1"), (36, "v1beta1"))
ENCODED: dict[str, tuple[tuple[int, str], ...]] = {
    "customresourcedefinitions.apiextensions.k8s.io": ((999, "v1beta1"),),
    "ipaddresses.networking.k8s.io": ((33, "v1beta1"),),
    "mutatingadmissionpolicies.admissionregistration.k8s.io": _MUTATIONS_WRITTEN,
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": _MUTATIONS_WRITTEN,
    "deviceclasses.resource.k8s.io": _DEVICES_WRITTEN,
    "resourceclaims.resource.k8s.io": _DEVICES_WRITTEN,
    "resourceclaimtemplates.resource.k8s.io": _DEVICES_WRITTEN,
    "resourceslices.resource.k8s.io": _DEVICES_WRITTEN,
    "servicecidrs.networking.k8s.io": ((33, "v1beta1"),),
    "volumeattributesclasses.storage.k8s.io": ((34, "v1beta1"),),
}

# path below /registry where it is not the plural
STORAGE = {
    "nodes": "minions",
    "endpoints": "services/endpoints",
    "services": "services/specs",
    "replicationcontrollers": "controllers",
    "ingresses.networking.k8s.io": "ingress",
    "ingresses.extensions": "ingress",
    "podsecuritypolicies.extensions": "podsecuritypolicy",
    "podsecuritypolicies.policy": "podsecuritypolicy",
    "customresourcedefinitions.apiextensions.k8s.io":
        "apiextensions.k8s.io/customresourcedefinitions",
    "apiservices.apiregistration.k8s.io": "apiregistration.k8s.io/apiservices",
}  # fmt: skip

_READ_WRITE = ("get", "patch", "update")
_CONNECT = ("create", "delete", "get", "patch", "update")

# subresource of a resource -> (group, version, kind of its body, verbs); the version is empty
# where it is the parent's
SUBRESOURCES: dict[str, tuple[str, str, str, tuple[str, ...]]] = {
    "namespaces/finalize": ("", "", "Namespace", ("update",)),
    "nodes/proxy": ("", "", "NodeProxyOptions", _CONNECT),
    "pods/attach": ("", "", "PodAttachOptions", ("create", "get")),
    "pods/binding": ("", "", "Binding", ("create",)),
    "pods/eviction": ("policy", "v1", "Eviction", ("create",)),
    "pods/exec": ("", "", "PodExecOptions", ("create", "get")),
    "pods/log": ("", "", "Pod", ("get",)),
    "pods/portforward": ("", "", "PodPortForwardOptions", ("create", "get")),
    "pods/proxy": ("", "", "PodProxyOptions", _CONNECT),
    "serviceaccounts/token": ("authentication.k8s.io", "v1", "TokenRequest", ("create",)),
    "services/proxy": ("", "", "ServiceProxyOptions", _CONNECT),
    "*/scale": ("autoscaling", "v1", "Scale", _READ_WRITE),
    "*/*": ("", "", "", _READ_WRITE),
}

# kinds that are the body of a subresource only
BODIES = (
    ("autoscaling", "v1", "Scale", f"{API}.autoscaling.v1.Scale"),
    ("policy", "v1", "Eviction", f"{API}.policy.v1.Eviction"),
    ("policy", "v1beta1", "Eviction", f"{API}.policy.v1.Eviction"),
    ("authentication.k8s.io", "v1", "TokenRequest", f"{API}.authentication.v1.TokenRequest"),
)
