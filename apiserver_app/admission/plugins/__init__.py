"""Every admission plugin, in upstream's order, with the versions that have it.

A version's API server runs those that are on by default in it, and what the flags switch on or
off; the order is always this one, whatever order a flag has. Only before 1.10 the one flag there
was, admission-control, gave the order, too. Plugins of a feature that is off (PodTopologyLabels
in 1.33) run when they are switched on by name.

Models kubernetes pkg/kubeapiserver/options/{plugins,admission}.go (AllOrderedPlugins) and
staging/src/k8s.io/apiserver/pkg/server/options/admission.go.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from typing import NamedTuple

from apiserver_app.admission.plugin import Given, Plugin
from apiserver_app.admission.plugins.access.certificates import (
    CertificateApproval,
    CertificateSigning,
    CertificateSubjectRestriction,
    ClusterTrustBundleAttest,
)
from apiserver_app.admission.plugins.access.node_restriction import NodeRestriction
from apiserver_app.admission.plugins.access.owner_references import (
    OwnerReferencesPermissionEnforcement,
)
from apiserver_app.admission.plugins.access.service_account import ServiceAccount
from apiserver_app.admission.plugins.always import AlwaysAdmit, AlwaysDeny
from apiserver_app.admission.plugins.default_class import DefaultIngressClass, DefaultStorageClass
from apiserver_app.admission.plugins.dynamic.initializers import Initializers
from apiserver_app.admission.plugins.dynamic.mutating_policy import MutatingAdmissionPolicy
from apiserver_app.admission.plugins.dynamic.validating_policy import ValidatingAdmissionPolicy
from apiserver_app.admission.plugins.dynamic.webhooks import (
    MutatingAdmissionWebhook,
    ValidatingAdmissionWebhook,
)
from apiserver_app.admission.plugins.limits.event_rate_limit import EventRateLimit
from apiserver_app.admission.plugins.limits.initial_resources import InitialResources
from apiserver_app.admission.plugins.limits.limit_ranger import LimitRanger
from apiserver_app.admission.plugins.limits.resource_quota import ResourceQuota
from apiserver_app.admission.plugins.namespaces.namespace_lifecycle import NamespaceLifecycle
from apiserver_app.admission.plugins.namespaces.namespaces import (
    NamespaceAutoProvision,
    NamespaceExists,
)
from apiserver_app.admission.plugins.network.deny_service_external_ips import DenyServiceExternalIPs
from apiserver_app.admission.plugins.pod_preset import PodPreset
from apiserver_app.admission.plugins.podsecurity.always_pull_images import AlwaysPullImages
from apiserver_app.admission.plugins.podsecurity.deny_exec import (
    DenyEscalatingExec,
    DenyExecOnPrivileged,
)
from apiserver_app.admission.plugins.podsecurity.image_policy import ImagePolicyWebhook
from apiserver_app.admission.plugins.podsecurity.pod_security import PodSecurity
from apiserver_app.admission.plugins.podsecurity.pod_security_policy import PodSecurityPolicy
from apiserver_app.admission.plugins.podsecurity.security_context_deny import SecurityContextDeny
from apiserver_app.admission.plugins.scheduling.anti_affinity import (
    LimitPodHardAntiAffinityTopology,
)
from apiserver_app.admission.plugins.scheduling.default_toleration_seconds import (
    DefaultTolerationSeconds,
)
from apiserver_app.admission.plugins.scheduling.extended_resource_toleration import (
    ExtendedResourceToleration,
)
from apiserver_app.admission.plugins.scheduling.pod_node_selector import PodNodeSelector
from apiserver_app.admission.plugins.scheduling.pod_toleration_restriction import (
    PodTolerationRestriction,
)
from apiserver_app.admission.plugins.scheduling.pod_topology_labels import PodTopologyLabels
from apiserver_app.admission.plugins.scheduling.priority import Priority
from apiserver_app.admission.plugins.scheduling.runtime_class import RuntimeClass
from apiserver_app.admission.plugins.scheduling.taint_nodes_by_condition import (
    TaintNodesByCondition,
)
from apiserver_app.admission.plugins.storage.persistent_volume_label import PersistentVolumeLabel
from apiserver_app.admission.plugins.storage.storage import (
    PersistentVolumeClaimResize,
    StorageObjectInUseProtection,
)
from apiserver_app.machinery.kinds import features
from apiserver_app.machinery.releases import ALWAYS, Release


class Row(NamedTuple):
    """A plugin: the first version that has it, the first that has it on by default, and the first
    that no longer has it. One with a feature gate runs only while the gate is on."""

    plugin: type[Plugin]
    since: Release
    on: Release | None
    until: Release | None = None
    gate: str = ""


# new plugins go above the webhooks; webhooks, policies, quota and deny stay at the end
PLUGINS: tuple[Row, ...] = (
    Row(AlwaysAdmit, ALWAYS, None),
    Row(NamespaceAutoProvision, ALWAYS, None),
    Row(NamespaceLifecycle, ALWAYS, ALWAYS),
    Row(NamespaceExists, ALWAYS, None),
    Row(SecurityContextDeny, ALWAYS, None, until=Release(30)),
    Row(LimitPodHardAntiAffinityTopology, Release(2), None),
    Row(PodPreset, Release(6), None, until=Release(20)),
    Row(InitialResources, Release(2), None, until=Release(10)),
    Row(LimitRanger, ALWAYS, ALWAYS),
    Row(ServiceAccount, ALWAYS, ALWAYS),
    Row(NodeRestriction, Release(7), None),
    Row(TaintNodesByCondition, Release(12), Release(12)),
    Row(AlwaysPullImages, Release(2), None),
    Row(ImagePolicyWebhook, Release(4), None),
    Row(PodSecurity, Release(22), Release(23)),
    Row(PodSecurityPolicy, Release(3), None, until=Release(25)),
    Row(PodNodeSelector, Release(5), None),
    Row(Priority, Release(8), Release(11)),
    Row(DefaultTolerationSeconds, Release(6), Release(6)),
    Row(PodTolerationRestriction, Release(7), None),
    Row(DenyEscalatingExec, ALWAYS, None, until=Release(21)),
    Row(DenyExecOnPrivileged, ALWAYS, None, until=Release(21)),
    Row(EventRateLimit, Release(9), None),
    Row(ExtendedResourceToleration, Release(9), None),
    Row(PersistentVolumeLabel, ALWAYS, None, until=Release(31)),
    Row(DefaultStorageClass, Release(4), Release(4)),
    Row(StorageObjectInUseProtection, Release(10), Release(10)),
    Row(OwnerReferencesPermissionEnforcement, Release(6), None),
    Row(PersistentVolumeClaimResize, Release(8), Release(11)),
    Row(RuntimeClass, Release(16), Release(16)),
    Row(CertificateApproval, Release(18), Release(18)),
    Row(CertificateSigning, Release(18), Release(18)),
    Row(ClusterTrustBundleAttest, Release(27), Release(27)),
    Row(CertificateSubjectRestriction, Release(18), Release(18)),
    Row(DefaultIngressClass, Release(18), Release(18)),
    Row(DenyServiceExternalIPs, Release(21), None),
    Row(PodTopologyLabels, Release(33), Release(33), gate=features.TOPOLOGY_LABELS),
    Row(MutatingAdmissionPolicy, Release(32), Release(32), gate=features.MUTATING_POLICY),
    Row(MutatingAdmissionWebhook, Release(9), Release(9)),
    Row(Initializers, Release(7), None, until=Release(14)),
    Row(ValidatingAdmissionPolicy, Release(30), Release(30)),
    Row(ValidatingAdmissionWebhook, Release(9), Release(9)),
    Row(ResourceQuota, ALWAYS, ALWAYS),
    Row(AlwaysDeny, ALWAYS, None),
)

# kubeadm's value while the flag gave both names and order
FLAG_ORDER_UNTIL = Release(10)
_OLD_DEFAULT = tuple(
    """
    NamespaceLifecycle LimitRanger ServiceAccount PersistentVolumeLabel DefaultStorageClass
    DefaultTolerationSeconds NodeRestriction ResourceQuota
    """.split()
)


class PluginFlagError(ValueError):
    """The flags name plugins that cannot run; the message is upstream's."""


def registered(version: Release) -> tuple[str, ...]:
    """Returns the plugin names of a version, in order."""
    return tuple(row.plugin.name for row in _rows(version))


def enabled(
    version: Release,
    enable: Sequence[str] = (),
    disable: Sequence[str] = (),
    only: Sequence[str] | None = None,
    gates: Set[str] | None = None,
) -> tuple[str, ...]:
    """Who runs, in order. `only` is the old admission-control flag: exactly those. `gates` are the
    feature gates that are on, by default the version's."""
    known = registered(version)
    for flag, names in (
        ("admission-control", only or ()),
        ("enable-admission-plugins", enable),
        ("disable-admission-plugins", disable),
    ):
        for name in names:
            if name not in known:
                raise PluginFlagError(f'{flag} plugin "{name}" is unknown')
    both = sorted({*enable} & {*disable})
    if both:
        raise PluginFlagError(
            f"[{' '.join(both)}] in enable-admission-plugins and disable-admission-plugins "
            "overlapped"
        )
    if version < FLAG_ORDER_UNTIL:
        return tuple(only or _OLD_DEFAULT)
    if only is not None:
        return tuple(name for name in known if name in only)
    if gates is None:
        gates = features.switched((), version)
    on = {row.plugin.name for row in _rows(version) if row.on is not None and version >= row.on}
    off = {row.plugin.name for row in _rows(version) if row.gate and row.gate not in gates}
    return tuple(
        name
        for name in known
        if name not in off and (name in enable or (name in on and name not in disable))
    )


def build(given: Given, names: Sequence[str] | None = None) -> tuple[Plugin, ...]:
    """Builds the named plugins of a version, by default those that are on."""
    by_name = {row.plugin.name: row.plugin for row in _rows(given.version)}
    selected = enabled(given.version) if names is None else names
    unknown = [name for name in selected if name not in by_name]
    if unknown:
        raise PluginFlagError(f"unknown admission plugin: {unknown[0]}")
    return tuple(by_name[name].make(given) for name in selected)


def described(plugins: Sequence[Plugin]) -> dict[str, list[list[str]]]:
    """Describes each phase for the trace: plugins in order, with their concern."""
    return {
        "mutating": [[plugin.name, plugin.concern] for plugin in plugins if plugin.mutates],
        "validating": [[plugin.name, plugin.concern] for plugin in plugins if plugin.validates],
    }


def facts(plugins: Sequence[Plugin]) -> dict[str, dict[str, object]]:
    """Describes each plugin for the trace: the resources it checks (all when empty), what it reads
    from the caches, and its upstream file."""
    out: dict[str, dict[str, object]] = {}
    for plugin in plugins:
        fact: dict[str, object] = {"source": plugin.source}
        if plugin.resources:
            fact["resources"] = list(plugin.resources)
        if plugin.reads:
            fact["reads"] = list(plugin.reads)
        out[plugin.name] = fact
    return out


def _rows(version: Release) -> list[Row]:
    return [
        row
        for row in PLUGINS
        if row.since <= version and (row.until is None or version < row.until)
    ]
