"""What becomes of a name that a pod looks up, told step by step by the resolver of containers."""

from __future__ import annotations

import json
from typing import Any

import pytest

from lifecycle.hosting.scripted import Session, default_inputs
from lifecycle.hosting.worker.control import ControlError, Controls
from tests import builders

SERVICES = "/api/v1/namespaces/default/services"
SCALE = "/apis/apps/v1/namespaces/kube-system/deployments/coredns/scale"
MERGE = {"content-type": "application/merge-patch+json"}
PORTS = [{"port": 80}]


@pytest.fixture(scope="module")
def session() -> Session:
    """A cluster after `kubeadm init` with a Service of each sort and a pod behind two of them."""
    inputs = default_inputs()
    inputs.options["kubeadm"] = True
    session = Session(inputs)
    session.wait(60)
    selector = {"app": "web"}
    service(session, "web", selector=selector, ports=PORTS)
    service(session, "peers", selector=selector, ports=PORTS, clusterIP="None")
    service(session, "nobody", selector={"app": "nobody"}, ports=PORTS, clusterIP="None")
    service(session, "alias", type="ExternalName", externalName="web.default.svc.cluster.local")
    service(session, "abroad", type="ExternalName", externalName="example.com")
    service(session, "ring", type="ExternalName", externalName="ring.default.svc.cluster.local")
    pod = builders.pod("web-0", labels=selector, hostname="first", subdomain="peers")
    other = builders.pod("web-1", labels=selector)
    never = builders.pod("web-2", labels=selector)
    probe = {"exec": {"command": ["false"]}}
    never["spec"]["containers"][0]["readinessProbe"] = probe
    for body in (pod, other, never):
        answer = session.request("POST", "/api/v1/namespaces/default/pods", body)
        assert answer.status == 201, answer.json()
    session.wait(30)
    return session


def service(session: Session, name: str, **spec: Any) -> None:
    answer = session.request("POST", SERVICES, {"metadata": {"name": name}, "spec": spec})
    assert answer.status == 201, answer.json()


def told(session: Session, name: str, namespace: str = "default") -> dict[str, Any]:
    args = {"name": name, "namespace": namespace}
    answer: dict[str, Any] = Controls({"demo": session.host}).handle("demo", "resolve", args)
    resolved: dict[str, Any] = json.loads(json.dumps(answer["resolved"]))
    return resolved


def decided(found: dict[str, Any]) -> list[tuple[str, str]]:
    return [(tried["reply"]["code"], tried["reply"]["why"]) for tried in found["tried"]]


def addresses(session: Session, *names: str) -> list[str]:
    pods = (session.request("GET", f"/api/v1/namespaces/default/pods/{n}").json() for n in names)
    return [pod["status"]["podIP"] for pod in pods]


def test_a_short_name_is_answered_with_the_namespace_of_the_pod(session: Session) -> None:
    found = told(session, "web")

    address = session.request("GET", f"{SERVICES}/web").json()["spec"]["clusterIP"]
    assert found["addresses"] == [address]
    assert found["name"] == "web.default.svc.cluster.local"
    assert (found["ndots"], found["search"]) == (
        5,
        ["default.svc.cluster.local", "svc.cluster.local", "cluster.local"],
    )
    assert "search default.svc.cluster.local svc.cluster.local" in found["resolv_conf"]
    assert (found["server"], found["service"]) == ("10.96.0.10", "kube-system/kube-dns")
    [tried] = found["tried"]
    assert tried["reply"] == {
        "code": "NOERROR",
        "why": "cluster-ip",
        "about": "default/web",
        "records": [{"name": found["name"], "type": "A", "data": address}],
    }


def test_a_ready_coredns_pod_is_named_as_who_answers(session: Session) -> None:
    endpoint = told(session, "web")["endpoint"]

    namespace, _, name = endpoint["pod"].partition("/")
    pod = session.request("GET", f"/api/v1/namespaces/{namespace}/pods/{name}").json()
    assert name.startswith("coredns-")
    assert (endpoint["address"], endpoint["port"]) == (pod["status"]["podIP"], 53)
    assert endpoint["node"] == pod["spec"]["nodeName"]


@pytest.mark.parametrize(
    ("name", "namespace", "steps"),
    [
        ("web", "kube-system", ["no-service", "no-namespace", "no-form", "outside"]),
        ("web.default", "kube-system", ["no-service", "cluster-ip"]),
        ("web.default.svc", "kube-system", ["no-form", "no-namespace", "cluster-ip"]),
        ("web.default.svc.cluster.local.", "kube-system", ["cluster-ip"]),
        ("a.web.default.svc.cluster.local", "default", ["no-endpoint", *["no-form"] * 3]),
        ("peers", "default", ["headless"]),
        ("first.peers", "default", ["endpoint"]),
        ("nobody", "default", ["no-endpoints", "no-namespace", "no-form", "outside"]),
        ("alias", "default", ["external"]),
        ("abroad", "default", ["external-outside", "no-namespace", "no-form", "outside"]),
        ("ring", "default", ["loop", "no-namespace", "no-form", "outside"]),
        ("10-244-1-5.default.pod.cluster.local.", "default", ["pod"]),
        ("ten.default.pod.cluster.local.", "default", ["no-address"]),
        ("default.svc.cluster.local.", "default", ["apex"]),
        ("svc.cluster.local.", "default", ["apex"]),
        ("cluster.local.", "default", ["apex"]),
        ("node-1.node.cluster.local.", "default", ["no-form"]),
        ("example.com.", "default", ["outside"]),
    ],
)
def test_each_name_that_is_tried_says_what_decided_it(
    session: Session, name: str, namespace: str, steps: list[str]
) -> None:
    assert [why for _, why in decided(told(session, name, namespace))] == steps


def test_a_headless_service_has_the_addresses_of_its_ready_pods(session: Session) -> None:
    assert sorted(told(session, "peers")["addresses"]) == sorted(
        addresses(session, "web-0", "web-1")
    )
    assert told(session, "first.peers")["addresses"] == addresses(session, "web-0")
    [dashed] = addresses(session, "web-1")
    assert told(session, f"{dashed.replace('.', '-')}.peers")["addresses"] == [dashed]


def test_an_external_name_leads_to_another(session: Session) -> None:
    found = told(session, "alias")
    records = found["tried"][0]["reply"]["records"]
    assert [(record["type"], record["name"]) for record in records] == [
        ("CNAME", "alias.default.svc.cluster.local"),
        ("A", "web.default.svc.cluster.local"),
    ]
    assert found["addresses"] == told(session, "web")["addresses"]
    abroad = told(session, "abroad")
    assert abroad["addresses"] == []
    assert abroad["tried"][0]["reply"]["records"][0]["data"] == "example.com"


def test_an_address_and_localhost_are_asked_of_nobody(session: Session) -> None:
    assert [
        (found["source"], found["addresses"], found["tried"])
        for found in (told(session, "10.96.0.1"), told(session, "localhost"))
    ] == [("address", ["10.96.0.1"], []), ("hosts", ["127.0.0.1"], [])]


def test_the_shell_of_a_container_gives_the_same_answers(session: Session) -> None:
    names = ("web", "peers.default.svc", "first.peers", "alias", "nobody", "nix.default")
    lines = "; ".join(f"getent hosts {name} || echo none" for name in names)
    body = builders.pod("asks", "debian", restartPolicy="Never")
    body["spec"]["containers"][0]["command"] = ["sh", "-c", lines]
    assert session.request("POST", "/api/v1/namespaces/default/pods", body).status == 201
    session.wait(30)

    said = session.request("GET", "/api/v1/namespaces/default/pods/asks/log").text.decode()

    expected = [told(session, name)["addresses"] or ["none"] for name in names]
    assert [line.split()[0] for line in said.splitlines()] == [
        address for found in expected for address in found
    ]


def test_who_asks_changes_nothing(session: Session) -> None:
    seq, revision = session.cluster.recorder.seq, session.cluster.store.revision
    first = told(session, "web")

    assert told(session, "web") == first
    assert (session.cluster.recorder.seq, session.cluster.store.revision) == (seq, revision)


@pytest.mark.parametrize("name", ["a b", "", "-", "a" * 64, ".".join(["a" * 60] * 5), None, 7])
def test_what_is_no_name_is_refused_with_what_one_is(session: Session, name: Any) -> None:
    with pytest.raises(ControlError, match="a name has at most 253 characters: parts of letters"):
        told(session, name)


def test_a_namespace_that_is_not_there_is_refused(session: Session) -> None:
    with pytest.raises(ControlError, match='there is no namespace "nix" that a pod could be in'):
        told(session, "web", "nix")


def test_without_a_ready_coredns_nobody_answers_and_nothing_more_is_asked() -> None:
    inputs = default_inputs()
    inputs.options["kubeadm"] = True
    session = Session(inputs)
    session.wait(60)
    session.request("PATCH", SCALE, {"spec": {"replicas": 0}}, headers=MERGE)
    session.wait(40)

    found = told(session, "kubernetes")

    assert (found["fault"], found["endpoint"], found["addresses"]) == (
        "Connection refused",
        None,
        [],
    )
    assert decided(found) == [("", "")]

    where = "/api/v1/namespaces/kube-system/services/kube-dns"
    assert session.request("DELETE", where).status == 200
    session.wait(5)
    assert told(session, "kubernetes")["fault"] == "timed out"


def test_without_kubeadm_no_pod_stands_behind_the_dns() -> None:
    session = Session(default_inputs(nodes=0))
    session.wait(5)
    found = told(session, "kubernetes")
    assert found["addresses"] == ["10.96.0.1"]
    assert (found["service"], found["endpoint"]) == ("", None)
