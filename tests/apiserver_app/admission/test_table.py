"""Which plugins a version has, which of them run, and in which order."""

from __future__ import annotations

import pytest

from apiserver_app.admission import config, plugins
from apiserver_app.admission.plugin import (
    CONSISTENCY,
    DEFAULTING,
    EXTENSION,
    RESOURCES,
    SECURITY,
    Given,
)
from apiserver_app.machinery.releases import Release

V1_33 = [
    "AlwaysAdmit", "NamespaceAutoProvision", "NamespaceLifecycle", "NamespaceExists",
    "LimitPodHardAntiAffinityTopology", "LimitRanger", "ServiceAccount", "NodeRestriction",
    "TaintNodesByCondition", "AlwaysPullImages", "ImagePolicyWebhook", "PodSecurity",
    "PodNodeSelector", "Priority", "DefaultTolerationSeconds", "PodTolerationRestriction",
    "EventRateLimit", "ExtendedResourceToleration", "DefaultStorageClass",
    "StorageObjectInUseProtection", "OwnerReferencesPermissionEnforcement",
    "PersistentVolumeClaimResize", "RuntimeClass", "CertificateApproval", "CertificateSigning",
    "ClusterTrustBundleAttest", "CertificateSubjectRestriction", "DefaultIngressClass",
    "DenyServiceExternalIPs", "PodTopologyLabels", "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook", "ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook",
    "ResourceQuota", "AlwaysDeny",
]  # fmt: skip

V1_19 = [
    "AlwaysAdmit", "NamespaceAutoProvision", "NamespaceLifecycle", "NamespaceExists",
    "SecurityContextDeny", "LimitPodHardAntiAffinityTopology", "PodPreset", "LimitRanger",
    "ServiceAccount", "NodeRestriction", "TaintNodesByCondition", "AlwaysPullImages",
    "ImagePolicyWebhook", "PodSecurityPolicy", "PodNodeSelector", "Priority",
    "DefaultTolerationSeconds", "PodTolerationRestriction", "DenyEscalatingExec",
    "DenyExecOnPrivileged", "EventRateLimit", "ExtendedResourceToleration",
    "PersistentVolumeLabel", "DefaultStorageClass", "StorageObjectInUseProtection",
    "OwnerReferencesPermissionEnforcement", "PersistentVolumeClaimResize", "RuntimeClass",
    "CertificateApproval", "CertificateSigning", "CertificateSubjectRestriction",
    "DefaultIngressClass", "MutatingAdmissionWebhook", "ValidatingAdmissionWebhook",
    "ResourceQuota", "AlwaysDeny",
]  # fmt: skip

TAIL = {
    "Initializers",
    "MutatingAdmissionPolicy",
    "MutatingAdmissionWebhook",
    "ValidatingAdmissionPolicy",
    "ValidatingAdmissionWebhook",
    "ResourceQuota",
    "AlwaysDeny",
}


def known(names: list[str]) -> list[str]:
    """Those that are built here."""
    here = {row.plugin.name for row in plugins.PLUGINS}
    return [name for name in names if name in here]


def test_1_33_knows_upstreams_plugins_in_upstreams_order() -> None:
    assert list(plugins.registered(Release(33))) == known(V1_33)


def test_1_19_knows_its_36_plugins_in_upstreams_order() -> None:
    assert len(V1_19) == 36
    assert list(plugins.registered(Release(19))) == known(V1_19)


def test_only_webhooks_policies_quota_and_deny_stand_at_the_end() -> None:
    names = [row.plugin.name for row in plugins.PLUGINS]
    first = min(names.index(name) for name in TAIL if name in names)
    assert set(names[first:]) <= TAIL


def test_what_runs_by_default_in_1_33() -> None:
    assert plugins.enabled(Release(33)) == (
        "NamespaceLifecycle", "LimitRanger", "ServiceAccount", "TaintNodesByCondition",
        "PodSecurity", "Priority", "DefaultTolerationSeconds", "DefaultStorageClass",
        "StorageObjectInUseProtection", "PersistentVolumeClaimResize", "RuntimeClass",
        "CertificateApproval", "CertificateSigning", "ClusterTrustBundleAttest",
        "CertificateSubjectRestriction", "DefaultIngressClass", "MutatingAdmissionWebhook",
        "ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook", "ResourceQuota",
    )  # fmt: skip


def test_an_old_version_lacks_what_came_later_and_has_what_went() -> None:
    names = plugins.registered(Release(24))
    assert "ValidatingAdmissionPolicy" not in names and "ClusterTrustBundleAttest" not in names
    assert "PodSecurityPolicy" in names and "SecurityContextDeny" in names
    assert "PodSecurityPolicy" not in plugins.registered(Release(25))
    assert "SecurityContextDeny" not in plugins.registered(Release(30))


def test_flags_switch_plugins_on_and_off_whatever_their_order() -> None:
    found = plugins.enabled(Release(33), ("AlwaysDeny", "AlwaysPullImages"), ("Priority",))
    assert found.index("AlwaysPullImages") < found.index("PodSecurity")
    assert found[-2:] == ("ResourceQuota", "AlwaysDeny") and "Priority" not in found


@pytest.mark.parametrize(
    ("version", "enable", "disable", "only", "text"),
    [
        ("1.33", ("Foo",), (), None, 'enable-admission-plugins plugin "Foo" is unknown'),
        ("1.33", (), ("Foo",), None, 'disable-admission-plugins plugin "Foo" is unknown'),
        ("1.33", (), (), ("Foo",), 'admission-control plugin "Foo" is unknown'),
        ("1.19", ("InitialResources",), (), None,
         'enable-admission-plugins plugin "InitialResources" is unknown'),
        ("1.33", ("Priority",), ("Priority",), None,
         "[Priority] in enable-admission-plugins and disable-admission-plugins overlapped"),
    ],
)  # fmt: skip
def test_flags_that_name_what_cannot_run_end_the_start(
    version: str,
    enable: tuple[str, ...],
    disable: tuple[str, ...],
    only: tuple[str, ...] | None,
    text: str,
) -> None:
    with pytest.raises(plugins.PluginFlagError) as caught:
        plugins.enabled(Release.parse(version), enable, disable, only)
    assert str(caught.value) == text


def test_the_old_flag_gives_exactly_who_runs() -> None:
    only = ("ResourceQuota", "LimitRanger")
    assert plugins.enabled(Release(33), only=only) == ("LimitRanger", "ResourceQuota")
    assert plugins.enabled(Release(8), only=only) == only


def test_initial_resources_runs_in_1_8_only() -> None:
    assert plugins.enabled(Release(8), only=("InitialResources",)) == ("InitialResources",)
    (built,) = plugins.build(Given(version=Release(8)), ("InitialResources",))
    assert built.name == "InitialResources"
    with pytest.raises(plugins.PluginFlagError, match="unknown admission plugin: InitialResou"):
        plugins.build(Given(version=Release(19)), ("InitialResources",))


def test_every_plugin_says_what_it_is_about_and_where_it_comes_from() -> None:
    concerns = {RESOURCES, SECURITY, DEFAULTING, CONSISTENCY, EXTENSION}
    for row in plugins.PLUGINS:
        assert row.plugin.concern in concerns, row.plugin.name
        assert row.plugin.source.endswith(".go"), row.plugin.name
        assert row.plugin.mutates or row.plugin.validates, row.plugin.name


def test_every_plugin_of_1_19_can_be_built_at_once() -> None:
    limits = {"limits": [{"type": "Server", "qps": 1, "burst": 1}]}
    given = Given(version=Release(19), config=config.Configuration({"EventRateLimit": limits}))
    names = [one for one in plugins.registered(Release(19)) if one != "ImagePolicyWebhook"]
    built = plugins.build(given, names)
    assert [one.name for one in built] == names
