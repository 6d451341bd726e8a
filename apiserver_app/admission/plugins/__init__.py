"""The admission plugins that a 1.33 API server runs, in the order in which it asks them.

The defaults of kube-apiserver, and NodeRestriction, which kubeadm turns on. Plugins of a disabled
feature (MutatingAdmissionPolicy, PodTopologyLabels) are not here.

Models kubernetes pkg/kubeapiserver/options/plugins.go (AllOrderedPlugins).
"""

from __future__ import annotations

from apiserver_app.admission.plugin import Plugin
from apiserver_app.admission.plugins.certificates import (
    Allows,
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
    ClusterTrustBundleAttest,
    SignerPlugin,
)
from apiserver_app.admission.plugins.default_ingress_class import DefaultIngressClass
from apiserver_app.admission.plugins.default_toleration_seconds import DefaultTolerationSeconds
from apiserver_app.admission.plugins.dynamic import (
    MutatingAdmissionWebhook,
    ValidatingAdmissionWebhook,
)
from apiserver_app.admission.plugins.limit_ranger import LimitRanger
from apiserver_app.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from apiserver_app.admission.plugins.node_restriction import NodeRestriction
from apiserver_app.admission.plugins.pod_security import PodSecurity
from apiserver_app.admission.plugins.priority import Priority
from apiserver_app.admission.plugins.resource_quota import ResourceQuota
from apiserver_app.admission.plugins.runtime_class import RuntimeClass
from apiserver_app.admission.plugins.service_account import ServiceAccount
from apiserver_app.admission.plugins.storage import (
    DefaultStorageClass,
    PersistentVolumeClaimResize,
    StorageObjectInUseProtection,
)
from apiserver_app.admission.plugins.taint_nodes_by_condition import TaintNodesByCondition
from apiserver_app.admission.plugins.validating_policy import ValidatingAdmissionPolicy

# webhooks, policies and quota stay at the end, as upstream demands
PLUGINS: tuple[type[Plugin], ...] = (
    NamespaceLifecycle,
    LimitRanger,
    ServiceAccount,
    NodeRestriction,
    TaintNodesByCondition,
    PodSecurity,
    Priority,
    DefaultTolerationSeconds,
    DefaultStorageClass,
    StorageObjectInUseProtection,
    PersistentVolumeClaimResize,
    RuntimeClass,
    CertificateApproval,
    CertificateSigning,
    ClusterTrustBundleAttest,
    CertificateSubjectRestriction,
    DefaultIngressClass,
    MutatingAdmissionWebhook,
    ValidatingAdmissionPolicy,
    ValidatingAdmissionWebhook,
    ResourceQuota,
)

# plugins that came after 1.25, the oldest version with a schema
_SINCE = {"ClusterTrustBundleAttest": (1, 27), "ValidatingAdmissionPolicy": (1, 30)}


def build(allows: Allows, version: str = "1.33") -> tuple[Plugin, ...]:
    """The plugins of a version. `allows` asks the authorizers for what some plugins must know."""
    major, minor = version.lstrip("v").split(".")[:2]
    profile = (int(major), int(minor))
    return tuple(
        one(allows) if issubclass(one, SignerPlugin) else one()
        for one in PLUGINS
        if profile >= _SINCE.get(one.name, (1, 0))
    )
