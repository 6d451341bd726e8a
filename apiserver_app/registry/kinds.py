"""The strategies of all kinds. Adding a kind touches its file, this tuple and its test.

Models kubernetes pkg/registry/*/rest/storage_*.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver_app.machinery.meta import ResourceInfo
from apiserver_app.machinery.releases import DEFAULT, Release
from apiserver_app.registry.admissionregistration import (
    admissionpolicy,
    initializerconfiguration,
    webhookconfiguration,
)
from apiserver_app.registry.apiextensions import customresourcedefinition
from apiserver_app.registry.apiregistration import apiservice
from apiserver_app.registry.apps import (
    controllerrevision,
    daemonset,
    deployment,
    replicaset,
    statefulset,
)
from apiserver_app.registry.autoscaling import horizontalpodautoscaler
from apiserver_app.registry.batch import cronjob
from apiserver_app.registry.batch.job import strategy as job
from apiserver_app.registry.certificates import certificatesigningrequest, clustertrustbundle
from apiserver_app.registry.conversion import v1beta1
from apiserver_app.registry.conversion.hubstrategy import OldStrategy
from apiserver_app.registry.coordination import lease, leasecandidate
from apiserver_app.registry.core import (
    configmap,
    endpoints,
    event,
    limitrange,
    namespace,
    node,
    persistentvolume,
    persistentvolumeclaim,
    podtemplate,
    replicationcontroller,
    resourcequota,
    secret,
    serviceaccount,
)
from apiserver_app.registry.core.pod import strategy as pod
from apiserver_app.registry.core.service import strategy as service
from apiserver_app.registry.discovery import endpointslice
from apiserver_app.registry.flowcontrol import flowcontrol
from apiserver_app.registry.networking import ingress, ingressclass, networkpolicy, servicecidr
from apiserver_app.registry.node import runtimeclass
from apiserver_app.registry.policy import poddisruptionbudget
from apiserver_app.registry.rbac import role, rolebinding
from apiserver_app.registry.resource import resourceclaim, resourceslice
from apiserver_app.registry.scheduling import priorityclass
from apiserver_app.registry.storage import csidriver, storageclass, volumeattachment
from apiserver_app.registry.strategy import Strategy

KINDS: tuple[tuple[str, type[Strategy]], ...] = (
    ("configmaps", configmap.ConfigMapStrategy),
    ("endpoints", endpoints.EndpointsStrategy),
    ("events", event.EventStrategy),
    ("limitranges", limitrange.LimitRangeStrategy),
    ("namespaces", namespace.NamespaceStrategy),
    ("nodes", node.NodeStrategy),
    ("persistentvolumeclaims", persistentvolumeclaim.PersistentVolumeClaimStrategy),
    ("persistentvolumes", persistentvolume.PersistentVolumeStrategy),
    ("pods", pod.PodStrategy),
    ("podtemplates", podtemplate.PodTemplateStrategy),
    ("replicationcontrollers", replicationcontroller.ReplicationControllerStrategy),
    ("resourcequotas", resourcequota.ResourceQuotaStrategy),
    ("secrets", secret.SecretStrategy),
    ("serviceaccounts", serviceaccount.ServiceAccountStrategy),
    ("services", service.ServiceStrategy),
    (
        "initializerconfigurations.admissionregistration.k8s.io",
        initializerconfiguration.InitializerConfigurationStrategy,
    ),
    (
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        webhookconfiguration.WebhookConfigurationStrategy,
    ),
    (
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        webhookconfiguration.WebhookConfigurationStrategy,
    ),
    (
        "validatingadmissionpolicies.admissionregistration.k8s.io",
        admissionpolicy.ValidatingAdmissionPolicyStrategy,
    ),
    (
        "validatingadmissionpolicybindings.admissionregistration.k8s.io",
        admissionpolicy.ValidatingAdmissionPolicyBindingStrategy,
    ),
    (
        "mutatingadmissionpolicies.admissionregistration.k8s.io",
        admissionpolicy.MutatingAdmissionPolicyStrategy,
    ),
    (
        "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
        admissionpolicy.MutatingAdmissionPolicyBindingStrategy,
    ),
    (
        "customresourcedefinitions.apiextensions.k8s.io",
        customresourcedefinition.CustomResourceDefinitionStrategy,
    ),
    ("apiservices.apiregistration.k8s.io", apiservice.APIServiceStrategy),
    ("controllerrevisions.apps", controllerrevision.ControllerRevisionStrategy),
    ("daemonsets.apps", daemonset.DaemonSetStrategy),
    ("deployments.apps", deployment.DeploymentStrategy),
    ("replicasets.apps", replicaset.ReplicaSetStrategy),
    ("statefulsets.apps", statefulset.StatefulSetStrategy),
    (
        "horizontalpodautoscalers.autoscaling",
        horizontalpodautoscaler.HorizontalPodAutoscalerStrategy,
    ),
    ("cronjobs.batch", cronjob.CronJobStrategy),
    ("jobs.batch", job.JobStrategy),
    (
        "certificatesigningrequests.certificates.k8s.io",
        certificatesigningrequest.CertificateSigningRequestStrategy,
    ),
    ("clustertrustbundles.certificates.k8s.io", clustertrustbundle.ClusterTrustBundleStrategy),
    ("leasecandidates.coordination.k8s.io", leasecandidate.LeaseCandidateStrategy),
    ("leases.coordination.k8s.io", lease.LeaseStrategy),
    ("endpointslices.discovery.k8s.io", endpointslice.EndpointSliceStrategy),
    ("events.events.k8s.io", event.EventStrategy),
    ("ingressclasses.networking.k8s.io", ingressclass.IngressClassStrategy),
    ("ingresses.networking.k8s.io", ingress.IngressStrategy),
    ("ipaddresses.networking.k8s.io", servicecidr.IPAddressStrategy),
    ("networkpolicies.networking.k8s.io", networkpolicy.NetworkPolicyStrategy),
    ("servicecidrs.networking.k8s.io", servicecidr.ServiceCIDRStrategy),
    ("runtimeclasses.node.k8s.io", runtimeclass.RuntimeClassStrategy),
    ("poddisruptionbudgets.policy", poddisruptionbudget.PodDisruptionBudgetStrategy),
    ("clusterrolebindings.rbac.authorization.k8s.io", rolebinding.RoleBindingStrategy),
    ("clusterroles.rbac.authorization.k8s.io", role.RoleStrategy),
    ("rolebindings.rbac.authorization.k8s.io", rolebinding.RoleBindingStrategy),
    ("roles.rbac.authorization.k8s.io", role.RoleStrategy),
    ("flowschemas.flowcontrol.apiserver.k8s.io", flowcontrol.FlowSchemaStrategy),
    ("prioritylevelconfigurations.flowcontrol.apiserver.k8s.io", flowcontrol.PriorityLevelStrategy),
    ("deviceclasses.resource.k8s.io", resourceslice.DeviceClassStrategy),
    ("resourceclaims.resource.k8s.io", resourceclaim.ResourceClaimStrategy),
    ("resourceclaimtemplates.resource.k8s.io", resourceclaim.ResourceClaimTemplateStrategy),
    ("resourceslices.resource.k8s.io", resourceslice.ResourceSliceStrategy),
    ("priorityclasses.scheduling.k8s.io", priorityclass.PriorityClassStrategy),
    ("csidrivers.storage.k8s.io", csidriver.CSIDriverStrategy),
    ("csinodes.storage.k8s.io", volumeattachment.CSINodeStrategy),
    ("csistoragecapacities.storage.k8s.io", volumeattachment.CSIStorageCapacityStrategy),
    ("storageclasses.storage.k8s.io", storageclass.StorageClassStrategy),
    ("volumeattachments.storage.k8s.io", volumeattachment.VolumeAttachmentStrategy),
    ("volumeattributesclasses.storage.k8s.io", storageclass.VolumeAttributesClassStrategy),
)

# kinds whose old versions have a strategy of their own
OLD_KINDS: tuple[tuple[str, type[Strategy]], ...] = (
    (
        "mutatingwebhookconfigurations.admissionregistration.k8s.io",
        webhookconfiguration.OldWebhookConfigurationStrategy,
    ),
    (
        "validatingwebhookconfigurations.admissionregistration.k8s.io",
        webhookconfiguration.OldWebhookConfigurationStrategy,
    ),
)


def strategies(
    resources: Sequence[ResourceInfo], release: Release = DEFAULT
) -> dict[tuple[str, str, str], Strategy]:
    """A strategy for every resource, by group, version and plural."""
    classes = dict(KINDS)
    old_classes = {**classes, **dict(OLD_KINDS)}
    hubs = {info.storage: info for info in resources if not info.stored_as}
    out: dict[tuple[str, str, str], Strategy] = {}
    for info in resources:
        strategy = classes.get(info.hub, Strategy)(info)
        if (info.api_version, info.kind) in v1beta1.TO:
            hub = hubs[info.storage]
            strategy = OldStrategy(info, old_classes.get(hub.key, Strategy)(hub))
        strategy.release = release
        out[info.gvr] = strategy
    return out
