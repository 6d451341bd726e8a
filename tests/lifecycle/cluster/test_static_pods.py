"""The control plane's static pods run with the flags that kubeadm writes.

Models kubernetes cmd/kubeadm/app/phases/controlplane/manifests.go.
"""

from __future__ import annotations

from apiserver_app.machinery.releases import Release
from lifecycle.cluster import staticpods


def commands() -> dict[str, list[str]]:
    """The command of each program's only container."""
    pods = staticpods.manifests(Release(33), pods="10.244.0.0/16").pods
    containers = [pod["spec"]["containers"] for pod in pods]
    return {one["name"]: one["command"] for [one] in containers}


def test_the_controller_manager_has_a_service_account_for_each_controller() -> None:
    name, *given = commands()["kube-controller-manager"]

    assert name == "kube-controller-manager"
    assert {
        "--allocate-node-cidrs=true",
        "--cluster-cidr=10.244.0.0/16",
        "--cluster-name=kubernetes",
        "--controllers=*,bootstrapsigner,tokencleaner",
        "--kubeconfig=/etc/kubernetes/controller-manager.conf",
        "--leader-elect=true",
        "--root-ca-file=/etc/kubernetes/pki/ca.crt",
        "--service-cluster-ip-range=10.96.0.0/12",
        "--use-service-account-credentials=true",
    } <= set(given)


def test_the_scheduler_leads_before_it_works() -> None:
    assert {"--kubeconfig=/etc/kubernetes/scheduler.conf", "--leader-elect=true"} <= set(
        commands()["kube-scheduler"]
    )
