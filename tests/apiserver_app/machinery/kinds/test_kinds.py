"""The table of built-in resources against the published schemas and facts of a real 1.33."""

from __future__ import annotations

import orjson
import pytest

from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.types import published

SERVED_1_33 = """
v1 apiregistration.k8s.io/v1 apps/v1 events.k8s.io/v1 authentication.k8s.io/v1
authorization.k8s.io/v1 autoscaling/v2 autoscaling/v1 batch/v1 certificates.k8s.io/v1
networking.k8s.io/v1 policy/v1 rbac.authorization.k8s.io/v1 storage.k8s.io/v1
admissionregistration.k8s.io/v1 apiextensions.k8s.io/v1 scheduling.k8s.io/v1
coordination.k8s.io/v1 node.k8s.io/v1 discovery.k8s.io/v1 flowcontrol.apiserver.k8s.io/v1
"""
# GA kinds of the schemas that are bodies or envelopes, not resources
NO_RESOURCES = {
    "APIGroup", "APIGroupList", "APIResourceList", "APIVersions", "DeleteOptions", "Status",
    "WatchEvent", "Eviction", "Scale", "TokenRequest",
}  # fmt: skip


@pytest.fixture(scope="module")
def served() -> kinds.Resources:
    return kinds.Resources(Release(33))


def gvks_of(version: str) -> dict[tuple[str, str, str], str]:
    document = orjson.loads(published.path_of(Release.parse(version)).read_bytes())
    return {
        (gvk["group"], gvk["version"], gvk["kind"]): name
        for name, definition in document["$defs"].items()
        for gvk in definition.get("x-kubernetes-group-version-kind") or ()
    }


def test_default_1_33_serves_these_group_versions_in_this_order(served: kinds.Resources) -> None:
    names = [f"{group}/{version}" if group else version for group, version in served.group_versions]

    assert names == SERVED_1_33.split()


@pytest.mark.parametrize("version", ["1.25", "1.27", "1.29", "1.31", "1.33", "1.34", "1.37"])
def test_every_resource_has_the_definition_of_its_kind(version: str) -> None:
    gvks = gvks_of(version)

    for info in kinds.resources(Release.parse(version)):
        assert gvks.get((info.group, info.version, info.kind)) == info.definition


@pytest.mark.parametrize("version", ["1.25", "1.30", "1.33", "1.34", "1.36", "1.37"])
def test_every_kind_that_is_generally_available_is_served(version: str) -> None:
    index = kinds.Resources(Release.parse(version))

    missing = [
        gvk
        for gvk in gvks_of(version)
        if gvk[1].lstrip("v").isdigit()
        and gvk[2] not in NO_RESOURCES
        and not gvk[2].endswith("List")
        and index.by_gvk(*gvk) is None
    ]

    assert missing == []


def test_resources_of_a_group_version_are_in_alphabetical_order(served: kinds.Resources) -> None:
    for group, version in served.group_versions:
        here = [info for info in served.all if (info.group, info.version) == (group, version)]
        names = [info.plural for info in here]
        assert names == sorted(names)


def test_names_by_which_kubectl_knows_resources(served: kinds.Resources) -> None:
    short = {name: info.key for info in served.all for name in info.short_names}

    assert short == {
        "cs": "componentstatuses", "cm": "configmaps", "ep": "endpoints", "limits": "limitranges",
        "ev": "events.events.k8s.io", "ns": "namespaces", "no": "nodes",
        "pvc": "persistentvolumeclaims", "pv": "persistentvolumes", "po": "pods",
        "rc": "replicationcontrollers", "quota": "resourcequotas", "sa": "serviceaccounts",
        "svc": "services", "ds": "daemonsets.apps", "deploy": "deployments.apps",
        "rs": "replicasets.apps", "sts": "statefulsets.apps", "cj": "cronjobs.batch",
        "hpa": "horizontalpodautoscalers.autoscaling", "pdb": "poddisruptionbudgets.policy",
        "csr": "certificatesigningrequests.certificates.k8s.io",
        "ing": "ingresses.networking.k8s.io", "ip": "ipaddresses.networking.k8s.io",
        "netpol": "networkpolicies.networking.k8s.io", "sc": "storageclasses.storage.k8s.io",
        "crd": "customresourcedefinitions.apiextensions.k8s.io",
        "crds": "customresourcedefinitions.apiextensions.k8s.io",
        "pc": "priorityclasses.scheduling.k8s.io",
    }  # fmt: skip
    assert served.by_key["endpoints"].singular == "endpoints"
    assert served.by_key["networkpolicies.networking.k8s.io"].singular == "networkpolicy"


def test_get_all_means_these_resources(served: kinds.Resources) -> None:
    keys = [info.key for info in served.all if "all" in info.categories]

    assert list(dict.fromkeys(keys)) == [
        "pods",
        "replicationcontrollers",
        "services",
        "daemonsets.apps",
        "deployments.apps",
        "replicasets.apps",
        "statefulsets.apps",
        "horizontalpodautoscalers.autoscaling",
        "cronjobs.batch",
        "jobs.batch",
    ]


@pytest.mark.parametrize(
    ("key", "prefix"),
    [
        ("pods", "/registry/pods/default/x"),
        ("nodes", "/registry/minions/x"),
        ("services", "/registry/services/specs/default/x"),
        ("endpoints", "/registry/services/endpoints/default/x"),
        ("endpointslices.discovery.k8s.io", "/registry/endpointslices/default/x"),
        ("events.events.k8s.io", "/registry/events/default/x"),
        ("replicationcontrollers", "/registry/controllers/default/x"),
        ("ingresses.networking.k8s.io", "/registry/ingress/default/x"),
        ("apiservices.apiregistration.k8s.io", "/registry/apiregistration.k8s.io/apiservices/x"),
        (
            "customresourcedefinitions.apiextensions.k8s.io",
            "/registry/apiextensions.k8s.io/customresourcedefinitions/x",
        ),
    ],
)
def test_objects_are_stored_where_a_real_cluster_has_them(
    served: kinds.Resources, key: str, prefix: str
) -> None:
    assert served.by_key[key].etcd_key("default", "x") == prefix


def test_events_of_both_groups_are_the_same_objects(served: kinds.Resources) -> None:
    assert served.by_key["events"].storage == served.by_key["events.events.k8s.io"].storage
    assert served.by_storage("events") == served.by_key["events"]


def test_what_is_only_answered_can_only_be_created(served: kinds.Resources) -> None:
    virtual = {info.kind: info.verbs for info in served.all if not info.storage}

    assert virtual.pop("ComponentStatus") == ("get", "list")
    assert sorted(virtual) == [
        "Binding",
        "LocalSubjectAccessReview",
        "SelfSubjectAccessReview",
        "SelfSubjectReview",
        "SelfSubjectRulesReview",
        "SubjectAccessReview",
        "TokenReview",
    ]
    assert set(virtual.values()) == {("create",)}


def test_subresources_of_pods_have_their_own_kinds_and_verbs(served: kinds.Resources) -> None:
    subs = {sub.name: sub for sub in served.subresources(served.by_key["pods"])}

    assert list(subs) == sorted(subs)
    assert (subs["eviction"].group, subs["eviction"].version) == ("policy", "v1")
    assert (subs["eviction"].kind, subs["eviction"].verbs) == ("Eviction", ("create",))
    assert (subs["binding"].kind, subs["binding"].verbs) == ("Binding", ("create",))
    assert (subs["exec"].kind, subs["exec"].verbs) == ("PodExecOptions", ("create", "get"))
    assert (subs["log"].kind, subs["log"].verbs) == ("Pod", ("get",))
    assert subs["resize"].verbs == ("get", "patch", "update")


def test_scale_is_of_autoscaling_v1_whatever_is_scaled(served: kinds.Resources) -> None:
    for key in ("deployments.apps", "replicationcontrollers"):
        scale = served.subresource(served.by_key[key], "scale")
        assert scale is not None
        assert (scale.group, scale.version, scale.kind) == ("autoscaling", "v1", "Scale")


def test_subresource_that_is_not_served_has_no_verbs(served: kinds.Resources) -> None:
    pods = served.by_key["pods"]

    assert served.subresource_verbs(pods, "scale") == ()
    assert served.subresource_verbs(pods, "status") == ("get", "patch", "update")
    assert "resize" not in kinds.Resources(Release(32)).by_key["pods"].subresources


def test_bodies_of_subresources_are_found_by_kind(served: kinds.Resources) -> None:
    request = served.by_gvk("authentication.k8s.io", "v1", "TokenRequest")

    assert request is not None
    assert (request.plural, request.definition) == ("", "io.k8s.api.authentication.v1.TokenRequest")


def test_preferred_version_is_the_one_found_by_key(served: kinds.Resources) -> None:
    assert served.by_key["horizontalpodautoscalers.autoscaling"].version == "v2"
    assert served.find("autoscaling", "v1", "horizontalpodautoscalers") is not None
    assert served.find("autoscaling", "v3", "horizontalpodautoscalers") is None


@pytest.mark.parametrize(
    ("key", "digest"),
    [
        ("pods", "xPOwRZ+Yhw8="),
        ("services", "0/CO1lhkEBI="),
        ("events.events.k8s.io", "r2yiGXH7wu8="),
        ("horizontalpodautoscalers.autoscaling", "qwQve8ut294="),
        ("nodes", "XwShjMxG9Fs="),
        ("namespaces", "Q3oi5N2YM8M="),
        ("configmaps", "qFsyl6wFWjQ="),
        ("secrets", "S6u1pOWzb84="),
        ("endpoints", "fWeeMqaN/OA="),
        ("persistentvolumes", "HN/zwEC+JgM="),
        ("deployments.apps", "8aSe+NMegvE="),
        ("daemonsets.apps", "dd7pWHUlMKQ="),
        ("replicasets.apps", "P1RzHs8/mWQ="),
        ("statefulsets.apps", "H+vl74LkKdo="),
        ("jobs.batch", "mudhfqk/qZY="),
        ("cronjobs.batch", "sd5LIXh4Fjs="),
        ("ingresses.networking.k8s.io", "39NQlfNR+bo="),
        ("networkpolicies.networking.k8s.io", "YpfwF18m1G8="),
        ("poddisruptionbudgets.policy", "EVWiDmWqyJw="),
        ("clusterroles.rbac.authorization.k8s.io", "bYE5ZWDrJ44="),
        ("priorityclasses.scheduling.k8s.io", "1QwjyaZjj3Y="),
        ("storageclasses.storage.k8s.io", "K+m6uJwbjGY="),
        ("bindings", ""),
    ],
)
def test_storage_version_hash_equals_a_real_servers(
    served: kinds.Resources, key: str, digest: str
) -> None:
    assert served.storage_version_hash(served.by_key[key]) == digest


def test_betas_are_served_in_the_versions_that_had_them_on() -> None:
    def versions_of(version: str) -> list[str]:
        group = "flowcontrol.apiserver.k8s.io"
        return [
            api
            for name, api in kinds.Resources(Release.parse(version)).group_versions
            if name == group
        ]

    assert versions_of("1.25") == ["v1beta2", "v1beta1"]
    assert versions_of("1.28") == ["v1beta3", "v1beta2"]
    assert versions_of("1.29") == ["v1", "v1beta3"]
    assert versions_of("v1.33.1") == ["v1"]
