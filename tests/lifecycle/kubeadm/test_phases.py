"""What kubeadm's phases leave in a cluster of nodes, in virtual time."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.hosting.scripted import Session, default_inputs

SYSTEM = "/api/v1/namespaces/kube-system"


def begun(**changes: Any) -> Session:
    """A cluster at the beginning of `kubeadm init`."""
    inputs = default_inputs(**changes)
    inputs.options["kubeadm"] = True
    return Session(inputs)


def made(**changes: Any) -> Session:
    """A cluster after `kubeadm init`."""
    session = begun(**changes)
    session.wait(60)
    return session


@pytest.fixture(scope="module")
def cluster() -> Session:
    return made()


def _get(session: Session, path: str) -> Any:
    answer = session.request("GET", path)
    assert answer.status == 200, answer.text
    return answer.json()


def test_the_addons_run_on_every_node_and_twice(cluster: Session) -> None:
    pods = _get(cluster, f"{SYSTEM}/pods")["items"]
    running = [
        (pod["metadata"]["labels"]["k8s-app"], pod["spec"]["nodeName"])
        for pod in pods
        if pod["status"]["phase"] == "Running"
    ]
    assert sorted(node for app, node in running if app == "kube-proxy") == [
        "node-1",
        "node-2",
        "node-3",
    ]
    assert len({node for app, node in running if app == "kube-dns"}) == 2, "they keep apart"
    dns = _get(cluster, f"{SYSTEM}/services/kube-dns")
    assert dns["spec"]["clusterIP"] == "10.96.0.10"
    ready = _get(cluster, f"{SYSTEM}/endpoints/kube-dns")["subsets"][0]["addresses"]
    assert len(ready) == 2


def test_the_cluster_says_how_it_was_configured(cluster: Session) -> None:
    text = _get(cluster, f"{SYSTEM}/configmaps/kubeadm-config")["data"]["ClusterConfiguration"]
    assert "apiVersion: kubeadm.k8s.io/v1beta4" in text
    assert "kubernetesVersion: v1.33.1" in text and "serviceSubnet: 10.96.0.0/12" in text
    assert (
        "clusterDNS:\n- 10.96.0.10\n"
        in (_get(cluster, f"{SYSTEM}/configmaps/kubelet-config")["data"]["kubelet"])
    )
    node = _get(cluster, "/api/v1/nodes/node-1")
    assert node["metadata"]["labels"]["node-role.kubernetes.io/control-plane"] == ""
    assert "taints" not in node["spec"]


def test_the_class_has_a_quota_and_cannot_use_up_what_all_share(cluster: Session) -> None:
    path = "/api/v1/namespaces/student/resourcequotas/classroom"
    quota = cluster.request("GET", path).json()
    assert quota["spec"]["hard"]["pods"] == quota["status"]["hard"]["pods"] == "50"


def test_the_quota_is_there_before_the_first_request() -> None:
    quota = _get(begun(), "/api/v1/namespaces/student/resourcequotas/classroom")
    assert quota["status"]["used"]["pods"] == "0"


def test_cluster_info_is_signed_with_the_token_by_which_nodes_may_join(cluster: Session) -> None:
    secrets = _get(cluster, f"{SYSTEM}/secrets")["items"]
    token = next(secret for secret in secrets if secret["type"] == "bootstrap.kubernetes.io/token")
    identity = token["metadata"]["name"].removeprefix("bootstrap-token-")
    info = _get(cluster, "/api/v1/namespaces/kube-public/configmaps/cluster-info")["data"]
    assert set(info) == {"kubeconfig", f"jws-kubeconfig-{identity}"}
    assert "server: https://10.0.0.11:6443" in info["kubeconfig"]


def test_what_was_deleted_stays_deleted_when_the_server_starts_again() -> None:
    session = made(nodes=0)
    assert session.request("DELETE", f"{SYSTEM}/services/kube-dns").status == 200
    quota = "/api/v1/namespaces/student/resourcequotas/classroom"
    assert session.request("DELETE", quota).status == 200
    session.restart()
    session.wait(60)
    assert session.request("GET", f"{SYSTEM}/services/kube-dns").status == 404
    assert session.request("GET", quota).status == 404


def test_older_versions_name_their_maps_and_groups_differently() -> None:
    session = made(nodes=0, version="1.23")
    assert _get(session, f"{SYSTEM}/configmaps/kubelet-config-1.23")
    text = _get(session, f"{SYSTEM}/configmaps/kubeadm-config")["data"]["ClusterConfiguration"]
    assert "kubeadm.k8s.io/v1beta3" in text and "imageRepository: k8s.gcr.io" in text
    bindings = _get(session, "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings")["items"]
    assert "kubeadm:cluster-admins" not in [binding["metadata"]["name"] for binding in bindings]


def test_a_cluster_that_was_not_asked_for_it_has_nothing_of_kubeadm() -> None:
    session = Session(default_inputs(nodes=0))
    session.wait(60)
    assert session.request("GET", f"{SYSTEM}/configmaps/kubeadm-config").status == 404


def _said(session: Session, pod: str, command: str) -> str:
    """What a command in a container of that pod wrote."""
    log = f"/api/v1/namespaces/default/pods/{pod}/log"
    containers = [{"name": "c", "image": "busybox:1.36", "command": ["sh", "-c", command]}]
    made = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": pod},
        "spec": {"containers": containers, "restartPolicy": "Never"},
    }
    assert session.request("POST", "/api/v1/namespaces/default/pods", made).status == 201
    session.wait(30)
    text: bytes = session.request("GET", log).text
    return text.decode()


def test_names_are_resolved_as_long_as_coredns_runs() -> None:
    session = made()
    line = "nslookup kubernetes.default; wget -qO- http://kubernetes.default.svc:1/"
    assert "Address: 10.96.0.1\n" in _said(session, "before", line)

    path = "/apis/apps/v1/namespaces/kube-system/deployments/coredns/scale"
    patch = {"content-type": "application/merge-patch+json"}
    session.request("PATCH", path, {"spec": {"replicas": 0}}, headers=patch)
    session.wait(40)
    assert _said(session, "without", line) == (
        "nslookup: write to '10.96.0.10': Connection refused\n"
        ";; connection timed out; no servers could be reached\n\n"
        "wget: bad address 'kubernetes.default.svc'\n"
    )

    session.request("PATCH", path, {"spec": {"replicas": 1}}, headers=patch)
    session.wait(40)
    assert "Address: 10.96.0.1\n" in _said(session, "after", line)
