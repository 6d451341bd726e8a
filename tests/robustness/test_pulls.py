"""Images are pulled one after another on a node, as upstream's kubelet does; a class that is full
of pods keeps nobody else's waiting for long."""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery.kernel import SECOND
from controllers_app.containerruntime import service
from lifecycle.bench.attacks import making
from lifecycle.hosting.scripted import Session
from tests.lifecycle.kubeadm.test_phases import made

ATTACK_SECONDS, WELL_SECONDS = 4, 10
NODES = ("node-1", "node-2", "node-3")
PODS = "/api/v1/namespaces/default/pods"


def let_pass(session: Session, seconds: int) -> None:
    """Exactly so much virtual time, whatever there is to do in it."""
    kernel = session.cluster.kernel
    end = kernel.now + seconds * SECOND
    while kernel.has_ready() or kernel.fire_timer(end, jump=False):
        kernel.run_ready(1)
    kernel.advance(end)


def crowded(number: int) -> dict[str, Any]:
    body = making.pod(f"p{number}")
    containers = [{"name": f"c{n}", "image": "nginx"} for n in range(50)]
    return {**body, "spec": {"containers": containers}}


def test_pods_on_any_node_get_their_image_while_those_of_a_full_class_pull_theirs() -> None:
    session = made()
    path = f"{making.CORE}/pods"
    sent = [
        session.request("POST", path, crowded(number), user="student", settle=False)
        for number in range(120)
    ]
    let_pass(session, ATTACK_SECONDS)
    assert {answer.status for answer in sent} == {201, 403}
    for node in NODES:
        body = making.pod(f"on-{node}", nodeSelector={"kubernetes.io/hostname": node})
        assert session.request("POST", PODS, body, settle=False).status == 201
    let_pass(session, WELL_SECONDS)
    pods = session.request("GET", PODS, settle=False).json()["items"]
    assert [pod["status"]["phase"] for pod in pods] == ["Running"] * len(NODES)


def test_pulls_of_one_node_stay_below_the_rate_at_which_upstream_refuses_them() -> None:
    """registryPullQPS 5, registryBurst 10: what is pulled one at a time never gets there."""
    shortest = 0.8 * service.MANIFEST_SECONDS
    assert 1 / shortest < 5
