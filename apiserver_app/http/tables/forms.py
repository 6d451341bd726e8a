"""Which row function writes the rows of which resource. Columns are data: `columns.json`.

Every built-in resource that upstream prints in a form of its own is in FORMS; `table` falls back
to name and age for the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from apiserver_app.http.tables import cluster, network, pods, policy, storage, workloads
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Span

Row = Callable[[Object, int], list[Any]]

CUSTOM = ""  # columns of kinds that are not built in
CREATED = "created"  # columns of built-in kinds without a form
SCALE = "scales.autoscaling"  # the scale subresource

FORMS: dict[str, Row] = {
    CUSTOM: cluster.named,
    CREATED: cluster.created,
    SCALE: workloads.scale,
    # core
    "componentstatuses": cluster.component_status,
    "configmaps": cluster.config_map,
    "endpoints": network.endpoints,
    "events": cluster.event,
    "namespaces": cluster.namespace,
    "nodes": cluster.node,
    "persistentvolumeclaims": storage.claim,
    "persistentvolumes": storage.volume,
    "pods": pods.row,
    "podtemplates": workloads.pod_template,
    "replicationcontrollers": workloads.replication_controller,
    "resourcequotas": policy.resource_quota,
    "secrets": cluster.secret,
    "serviceaccounts": cluster.service_account,
    "services": network.service,
    # admissionregistration.k8s.io
    "mutatingadmissionpolicies.admissionregistration.k8s.io": policy.mutating_policy,
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io": policy.admission_binding,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": policy.webhooks,
    "validatingadmissionpolicies.admissionregistration.k8s.io": policy.validating_policy,
    "validatingadmissionpolicybindings.admissionregistration.k8s.io": policy.admission_binding,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": policy.webhooks,
    "apiservices.apiregistration.k8s.io": cluster.api_service,
    # apps, autoscaling, batch, policy
    "controllerrevisions.apps": workloads.controller_revision,
    "daemonsets.apps": workloads.daemon_set,
    "deployments.apps": workloads.deployment,
    "replicasets.apps": workloads.replica_set,
    "statefulsets.apps": workloads.stateful_set,
    "horizontalpodautoscalers.autoscaling": workloads.autoscaler,
    "cronjobs.batch": workloads.cron_job,
    "jobs.batch": workloads.job,
    "poddisruptionbudgets.policy": workloads.disruption_budget,
    # certificates, coordination, discovery, flow control, internal
    "certificatesigningrequests.certificates.k8s.io": policy.signing_request,
    "clustertrustbundles.certificates.k8s.io": policy.trust_bundle,
    "leasecandidates.coordination.k8s.io": cluster.lease_candidate,
    "leases.coordination.k8s.io": cluster.lease,
    "endpointslices.discovery.k8s.io": network.endpoint_slice,
    "flowschemas.flowcontrol.apiserver.k8s.io": policy.flow_schema,
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": policy.priority_level,
    "storageversions.internal.apiserver.k8s.io": cluster.storage_version,
    "storageversionmigrations.storagemigration.k8s.io": cluster.version_migration,
    # networking.k8s.io, node.k8s.io, rbac.authorization.k8s.io
    "ingressclasses.networking.k8s.io": network.ingress_class,
    "ingresses.networking.k8s.io": network.ingress,
    "ipaddresses.networking.k8s.io": network.ip_address,
    "networkpolicies.networking.k8s.io": network.network_policy,
    "servicecidrs.networking.k8s.io": network.service_cidr,
    "runtimeclasses.node.k8s.io": cluster.runtime_class,
    "clusterrolebindings.rbac.authorization.k8s.io": policy.binding,
    "rolebindings.rbac.authorization.k8s.io": policy.binding,
    # resource.k8s.io, scheduling.k8s.io, storage.k8s.io
    "deviceclasses.resource.k8s.io": cluster.named,
    "resourceclaims.resource.k8s.io": cluster.resource_claim,
    "resourceclaimtemplates.resource.k8s.io": cluster.named,
    "resourceslices.resource.k8s.io": cluster.resource_slice,
    "priorityclasses.scheduling.k8s.io": cluster.priority_class,
    "csidrivers.storage.k8s.io": storage.csi_driver,
    "csinodes.storage.k8s.io": storage.csi_node,
    "storageclasses.storage.k8s.io": storage.storage_class,
    "volumeattachments.storage.k8s.io": storage.attachment,
    "volumeattributesclasses.storage.k8s.io": storage.attributes_class,
}

# columns that came later: resource -> name of the column -> the minor version that has it first
SINCE: dict[str, dict[str, int]] = {
    "cronjobs.batch": {"Timezone": 30},
    "jobs.batch": {"Status": 30},
    "persistentvolumeclaims": {"VolumeAttributesClass": 29},
    "persistentvolumes": {"VolumeAttributesClass": 29},
    "priorityclasses.scheduling.k8s.io": {"PreemptionPolicy": 32},
}
# columns that are no more: the minor version that has it last
UNTIL: dict[str, dict[str, int]] = {"serviceaccounts": {"Secrets": 34}}
# columns that stood in another order: the last minor version, and the order
ORDER: dict[str, tuple[int, tuple[int, ...]]] = {"resourcequotas": (32, (0, 3, 1, 2))}
# columns that are described as the release publishes a field, in the releases that say otherwise
# than `columns.json`
PUBLISHED: dict[str, dict[str, tuple[Span, str, str]]] = {
    "controllerrevisions.apps": {"Revision": (Span(36), "apps.v1.ControllerRevision", "revision")},
    "csidrivers.storage.k8s.io": {
        "AttachRequired": (Span(34), "storage.v1.CSIDriverSpec", "attachRequired")
    },
    "daemonsets.apps": {
        "Ready": (Span(36), "apps.v1.DaemonSetStatus", "numberReady"),
        "Selector": (Span(36), "apps.v1.DaemonSetSpec", "selector"),
    },
    "deployments.apps": {
        "Up-to-date": (Span(until=32), "apps.v1.DeploymentStatus", "updatedReplicas"),
        "Available": (Span(until=32), "apps.v1.DeploymentStatus", "availableReplicas"),
        "Selector": (Span(36), "apps.v1.DeploymentSpec", "selector"),
    },
    "endpointslices.discovery.k8s.io": {
        "AddressType": (Span(36), "discovery.v1.EndpointSlice", "addressType"),
        "Ports": (Span(36), "discovery.v1.EndpointSlice", "ports"),
    },
    "horizontalpodautoscalers.autoscaling": {
        "Targets": (Span(36), "autoscaling.v2.HorizontalPodAutoscalerSpec", "metrics")
    },
    "networkpolicies.networking.k8s.io": {
        "Pod-Selector": (Span(36), "networking.v1.NetworkPolicySpec", "podSelector")
    },
    "replicasets.apps": {
        "Desired": (Span(until=32), "apps.v1.ReplicaSetSpec", "replicas"),
        "Current": (Span(until=32), "apps.v1.ReplicaSetStatus", "replicas"),
        "Selector": (Span(36), "apps.v1.ReplicaSetSpec", "selector"),
    },
}
# the last release that describes a column so
FORMER: dict[str, dict[str, tuple[int, str]]] = {
    "replicasets.apps": {"Ready": (32, "The number of ready replicas for this replica set.")}
}
MISSPELT = (35, "configration", "configuration")  # until then, and what it is since
# rows that were written otherwise before a minor version
BEFORE: dict[str, tuple[int, Row]] = {
    "horizontalpodautoscalers.autoscaling": (30, workloads.autoscaler_of_the_past)
}

# the same form under another name
_SAME = {
    "events.events.k8s.io": "events",
    "clusterroles.rbac.authorization.k8s.io": CREATED,
    "customresourcedefinitions.apiextensions.k8s.io": CREATED,
    "csistoragecapacities.storage.k8s.io": CREATED,
    "limitranges": CREATED,
    "roles.rbac.authorization.k8s.io": CREATED,
}


def form_of(key: str) -> str:
    """The name of the form of a resource, by its GroupResource."""
    key = _SAME.get(key, key)
    return key if key in FORMS else CUSTOM
