"""Upstream's name for the strategy of each kind, and the steps that each kind overrides here.

For the trace and the page only: no behaviour depends on these names.

Models the types of kubernetes pkg/registry/*/*/strategy.go, kube-aggregator
pkg/registry/apiservice/strategy.go and apiextensions-apiserver pkg/registry.
"""

from __future__ import annotations

from collections.abc import Iterable

from apiserver_app.machinery.meta import ResourceInfo
from apiserver_app.registry.apiextensions.customresource import CustomResourceStrategy
from apiserver_app.registry.strategy import Strategy

CUSTOM = "customResourceStrategy"
PLAIN = "strategy"  # upstream's name where the package already names the kind
NAMES = {
    "endpoints": "endpointsStrategy",
    "events": "eventStrategy",
    "limitranges": "limitrangeStrategy",
    "namespaces": "namespaceStrategy",
    "nodes": "nodeStrategy",
    "persistentvolumeclaims": "persistentvolumeclaimStrategy",
    "persistentvolumes": "persistentvolumeStrategy",
    "pods": "podStrategy",
    "podtemplates": "podTemplateStrategy",
    "replicationcontrollers": "rcStrategy",
    "resourcequotas": "resourcequotaStrategy",
    "services": "svcStrategy",
    "apiservices.apiregistration.k8s.io": "apiServerStrategy",
    "daemonsets.apps": "daemonSetStrategy",
    "deployments.apps": "deploymentStrategy",
    "replicasets.apps": "rsStrategy",
    "statefulsets.apps": "statefulSetStrategy",
    "horizontalpodautoscalers.autoscaling": "autoscalerStrategy",
    "cronjobs.batch": "cronJobStrategy",
    "jobs.batch": "jobStrategy",
    "certificatesigningrequests.certificates.k8s.io": "csrStrategy",
    "leases.coordination.k8s.io": "leaseStrategy",
    "endpointslices.discovery.k8s.io": "endpointSliceStrategy",
    "events.events.k8s.io": "eventStrategy",
    "ingressclasses.networking.k8s.io": "ingressClassStrategy",
    "ingresses.networking.k8s.io": "ingressStrategy",
    "ipaddresses.networking.k8s.io": "ipAddressStrategy",
    "networkpolicies.networking.k8s.io": "networkPolicyStrategy",
    "servicecidrs.networking.k8s.io": "serviceCIDRStrategy",
    "poddisruptionbudgets.policy": "podDisruptionBudgetStrategy",
    "flowschemas.flowcontrol.apiserver.k8s.io": "flowSchemaStrategy",
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io":
        "priorityLevelConfigurationStrategy",
    "priorityclasses.scheduling.k8s.io": "priorityClassStrategy",
    "csidrivers.storage.k8s.io": "csiDriverStrategy",
    "csinodes.storage.k8s.io": "csiNodeStrategy",
    "csistoragecapacities.storage.k8s.io": "csiStorageCapacityStrategy",
    "storageclasses.storage.k8s.io": "storageClassStrategy",
    "volumeattachments.storage.k8s.io": "volumeAttachmentStrategy",
    "mutatingadmissionpolicies.admissionregistration.k8s.io": "mutatingAdmissionPolicyStrategy",
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io":
        "MutatingAdmissionPolicyBindingStrategy",
    "mutatingwebhookconfigurations.admissionregistration.k8s.io":
        "mutatingWebhookConfigurationStrategy",
    "validatingadmissionpolicies.admissionregistration.k8s.io":
        "validatingAdmissionPolicyStrategy",
    "validatingadmissionpolicybindings.admissionregistration.k8s.io":
        "validatingAdmissionPolicyBindingStrategy",
    "validatingwebhookconfigurations.admissionregistration.k8s.io":
        "validatingWebhookConfigurationStrategy",
}  # fmt: skip
# steps that a kind may override, and the method of each here
_STEPS = (
    ("PrepareForCreate", "prepare_for_create"),
    ("Validate", "validate"),
    ("PrepareForUpdate", "prepare_for_update"),
    ("ValidateUpdate", "validate_update"),
)


def described(
    resources: Iterable[ResourceInfo], strategies: dict[tuple[str, str, str], Strategy]
) -> list[list[object]]:
    """[resource, upstream's name, overridden steps] of each stored resource; "" are custom ones."""
    out: dict[str, list[object]] = {}
    for info in resources:
        if info.storage and info.key not in out:
            strategy = strategies[info.gvr]
            out[info.key] = [info.key, NAMES.get(info.key, PLAIN), _own(type(strategy))]
    custom: list[object] = ["", CUSTOM, _own(CustomResourceStrategy)]
    return [*out.values(), custom]


def _own(kind: type[Strategy]) -> list[str]:
    """Upstream's names of the steps that the kind overrides."""
    return [
        name for name, method in _STEPS if getattr(kind, method) is not getattr(Strategy, method)
    ]
