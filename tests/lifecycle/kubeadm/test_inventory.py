"""The keys of a cluster that kubeadm set up, beside those of a real one of 1.22.

The golden list was read from etcd by `etcdctl get --keys-only --prefix /`. Names that a controller
drew end in `*` here, names of machines are made the same, and what somebody added to the real
cluster, or has to be in the simulated one, is named with its reason. Nothing else may differ.
"""

from __future__ import annotations

import pathlib
import re

import pytest

from apiserver_app.machinery.releases import Release
from lifecycle import catalog
from lifecycle.cluster import staticpods
from lifecycle.cluster.inputs import POD_RANGE
from lifecycle.etcdctl import processes
from lifecycle.hosting.scripted import Session, default_inputs

GOLDEN = pathlib.Path("tests/golden/etcd-keys-1.22.txt")

# the machines of both: the first is the control plane
MACHINES = {"k8s-master": "node-1", "k8s-node1": "node-2", "k8s-node2": "node-3"}
ADDRESSES = {"192.168.0.154": "10.0.0.11"}

# what the people of the real cluster had put there
OTHERS = (
    "/development(/|$)",  # a namespace of theirs
    "/default/(mysql|myweb|tomcat)",  # their workloads
    # their network. Here nodes have their network from the simulated kubelets
    "flannel",
)
# what a version before 1.25 served and whose types are in no schema that this project has
UNSERVED = ("apiregistration.k8s.io/apiservices/v2beta1.autoscaling",)
# what is only here
CLASSROOM = (
    "/student(/|$|s$)",  # the namespace of the classroom, and who may work in it
    "clusterrolebindings/(teachers|viewers|simulation-metrics)$",
)
# there for a while only: events for an hour, the token of `kubeadm init` for a day
PASSING = ("/events/", "secrets/kube-system/bootstrap-token-")

DRAWN = (
    (r"(secrets/[^/]+/[^/]+-token)-[a-z0-9]{5}$", r"\1-*"),
    (r"(controllerrevisions/[^/]+/[^/]+?)-[a-z0-9]+$", r"\1-*"),
    (r"(endpointslices/kube-system/kube-dns)-[a-z0-9]{5}$", r"\1-*"),
    (r"(pods/kube-system/coredns)-[a-z0-9]+-[a-z0-9]{5}$", r"\1-*-*"),
    (r"(pods/kube-system/kube-proxy)-[a-z0-9]{5}$", r"\1-*"),
    (r"(replicasets/kube-system/coredns)-[a-z0-9]+$", r"\1-*"),
)


def shape(key: str) -> str:
    """The key without what was drawn and without what machines are called."""
    for pattern, instead in DRAWN:
        key = re.sub(pattern, instead, key)
    for real, ours in (*MACHINES.items(), *ADDRESSES.items()):
        key = re.sub(rf"(?<=[/-]){re.escape(real)}$", ours, key)
    return key.removeprefix("/registry/")


def without(keys: list[str], patterns: tuple[str, ...]) -> list[str]:
    return sorted(
        shape(key) for key in keys if not any(re.search(pattern, key) for pattern in patterns)
    )


def keys_of(version: str) -> list[str]:
    """As etcdctl lists them a minute after `kubeadm init`."""
    inputs = default_inputs(version=version)
    inputs.options.update(
        kubeadm=True,
        kubelet={"images": catalog.images()},
        manifests={staticpods.NODE: staticpods.manifests(Release.parse(version), pods=POD_RANGE)},
    )
    session = Session(inputs)
    session.wait(60)
    listed = processes.console(session.cluster.etcd, "etcdctl get / --prefix --keys-only")
    return [key for key in str(listed["output"]).split("\n") if key]


@pytest.fixture(scope="module")
def of_1_22() -> list[str]:
    return keys_of("1.22")


def test_a_cluster_of_1_22_has_the_keys_of_a_real_one(of_1_22: list[str]) -> None:
    real = without(GOLDEN.read_text().split(), (*OTHERS, *PASSING))
    ours = without(of_1_22, (*CLASSROOM, *PASSING))
    assert sorted(real) == sorted([*ours, *UNSERVED])


def test_the_golden_list_is_the_seeds() -> None:
    keys = GOLDEN.read_text().split()
    assert len(keys) == 359
    assert sum(key.startswith("/registry/secrets/") for key in keys) == 40


def test_every_account_has_its_token_before_1_24(of_1_22: list[str]) -> None:
    accounts = [shape(key) for key in of_1_22 if key.startswith("/registry/serviceaccounts/")]
    wanted = [account.replace("serviceaccounts/", "secrets/") + "-token-*" for account in accounts]
    secrets = [shape(key) for key in of_1_22 if key.startswith("/registry/secrets/")]
    tokens = [secret for secret in secrets if "bootstrap-token-" not in secret]
    assert sorted(tokens) == sorted(wanted)


def test_a_security_policy_is_stored_under_its_odd_prefix() -> None:
    session = Session(default_inputs(version="1.22", nodes=0))
    rule = {"rule": "RunAsAny"}
    spec = {"seLinux": rule, "runAsUser": rule, "supplementalGroups": rule, "fsGroup": rule}
    body = {
        "apiVersion": "policy/v1beta1",
        "kind": "PodSecurityPolicy",
        "metadata": {"name": "psp.flannel.unprivileged"},
        "spec": spec,
    }
    answer = session.request("POST", "/apis/policy/v1beta1/podsecuritypolicies", body)
    assert answer.status == 201, answer.text
    stored = {key for key in GOLDEN.read_text().split() if "podsecuritypolicy" in key}
    assert [entry.key for entry in session.cluster.store.range(min(stored)).entries] == [*stored]


# since 1.22, by what brought them or took them away
CAME = {
    "APIs that 1.33 serves": (
        "apiregistration.k8s.io/apiservices/v1.flowcontrol.apiserver.k8s.io",
        "apiregistration.k8s.io/apiservices/v2.autoscaling",
    ),
    "a group for admin.conf (1.29)": ("clusterrolebindings/kubeadm:cluster-admins",),
    "a name without version (1.24)": (
        "configmaps/kube-system/kubelet-config",
        "roles/kube-system/kubeadm:kubelet-config",
        "rolebindings/kube-system/kubeadm:kubelet-config",
    ),
    "the use of legacy tokens is noted (1.27), and the unused go (1.29)": (
        "configmaps/kube-system/kube-apiserver-legacy-service-account-token-tracking",
        "clusterroles/system:controller:legacy-service-account-token-cleaner",
        "clusterrolebindings/system:controller:legacy-service-account-token-cleaner",
        "serviceaccounts/kube-system/legacy-service-account-token-cleaner",
    ),
    "addresses are objects (1.33)": (
        "ipaddresses/10.96.0.1",
        "ipaddresses/10.96.0.10",
        "servicecidrs/kubernetes",
        "clusterroles/system:controller:service-cidrs-controller",
        "clusterrolebindings/system:controller:service-cidrs-controller",
        "serviceaccounts/kube-system/service-cidrs-controller",
    ),
    "admission policies (1.30)": (
        "clusterroles/system:controller:validatingadmissionpolicy-status-controller",
        "clusterrolebindings/system:controller:validatingadmissionpolicy-status-controller",
        "serviceaccounts/kube-system/validatingadmissionpolicy-status-controller",
    ),
    "warnings about SELinux (1.33)": (
        "clusterroles/system:controller:selinux-warning-controller",
        "clusterrolebindings/system:controller:selinux-warning-controller",
        "serviceaccounts/kube-system/selinux-warning-controller",
    ),
    "a flow schema of its own (1.24)": ("flowschemas/endpoint-controller",),
    "servers have identities (1.26)": ("leases/kube-system/apiserver-gwlrxzxjxmbevckvql7a4qxaja",),
}
WENT = {
    "betas and v1beta1 of flow control": (
        "apiregistration.k8s.io/apiservices/v1beta1.batch",
        "apiregistration.k8s.io/apiservices/v1beta1.discovery.k8s.io",
        "apiregistration.k8s.io/apiservices/v1beta1.events.k8s.io",
        "apiregistration.k8s.io/apiservices/v1beta1.flowcontrol.apiserver.k8s.io",
        "apiregistration.k8s.io/apiservices/v1beta1.node.k8s.io",
        "apiregistration.k8s.io/apiservices/v1beta1.policy",
        "apiregistration.k8s.io/apiservices/v1beta1.storage.k8s.io",
        "apiregistration.k8s.io/apiservices/v2beta2.autoscaling",
    ),
    "a name with the version (until 1.23)": (
        "configmaps/kube-system/kubelet-config-1.22",
        "roles/kube-system/kubeadm:kubelet-config-1.22",
        "rolebindings/kube-system/kubeadm:kubelet-config-1.22",
    ),
}


def test_1_33_differs_from_1_22_by_what_came_and_went(of_1_22: list[str]) -> None:
    before, now = set(without(of_1_22, PASSING)), set(without(keys_of("1.33"), PASSING))
    tokens = {key for key in before if key.startswith("secrets/")}
    assert now - before == {key for keys in CAME.values() for key in keys}
    assert before - now - tokens == {key for keys in WENT.values() for key in keys}
    assert tokens and not {key for key in now if key.startswith("secrets/")}, "none since 1.24"
