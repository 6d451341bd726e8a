"""Node ports as kube-apiserver 1.33.4 gives them, and what it answered to ports that are taken."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import MERGE, server_session

SERVICES = "/api/v1/namespaces/default/services"
HELD, FREE, OTHER = 30570, 30571, 30572
TAKEN = "provided port is already allocated"


@pytest.fixture(scope="module")
def session() -> Session:
    session = server_session()
    assert create(session, "held", [port(1, HELD, "UDP")])[0] == 201
    assert create(session, "mine", [port(1, FREE)])[0] == 201
    return session


def port(number: int, node_port: int = 0, protocol: str = "TCP", name: str = "") -> dict[str, Any]:
    named = name or f"{protocol.lower()}-{number}"
    out = {"name": named, "port": number, "protocol": protocol}
    return {**out, "nodePort": node_port} if node_port else out


def create(
    session: Session, name: str, ports: list[dict[str, Any]], query: str = "", **spec: Any
) -> tuple[int, Any]:
    body = {"metadata": {"name": name}, "spec": {"type": "NodePort", "ports": ports, **spec}}
    answer = session.request("POST", SERVICES + query, body)
    return answer.status, answer.json()


def refused(found: tuple[int, Any], *said: str) -> None:
    code, status = found
    assert code == 422
    causes = [f"{cause['field']}: {cause['message']}" for cause in status["details"]["causes"]]
    assert causes == [*said]


@pytest.mark.parametrize(
    ("ports", "spec", "at"),
    [
        ([port(1, HELD)], {}, 0),  # whatever the protocol
        ([port(1, OTHER), port(2, OTHER)], {}, 1),
        ([port(1, OTHER), port(2, OTHER, "UDP")], {}, 1),
        ([port(1, HELD, name="A!")], {"sessionAffinity": "none"}, 0),  # nothing else is looked at
        ([port(1, HELD)], {"clusterIP": "None"}, 0),
        ([port(1, HELD)], {"type": "LoadBalancer", "allocateLoadBalancerNodePorts": False}, 0),
    ],
)
def test_a_port_that_is_taken_is_refused_before_all_else(
    session: Session, ports: list[Any], spec: dict[str, Any], at: int
) -> None:
    number = ports[at]["nodePort"]
    wanted = f"spec.ports[{at}].nodePort: Invalid value: {number}: {TAKEN}"
    for query in ("", "?dryRun=All"):
        refused(create(session, "new", ports, query, **spec), wanted)


def test_one_port_of_two_protocols_has_one_number(session: Session) -> None:
    pairs = [
        [port(53), port(53, protocol="UDP")],
        [port(53, OTHER), port(53, protocol="UDP")],
        [port(53), port(53, OTHER, "UDP")],
    ]
    for ports in pairs:
        code, made = create(session, "new", ports, "?dryRun=All")
        numbers = {one["nodePort"] for one in made["spec"]["ports"]}
        assert code == 201 and len(numbers) == 1, made["spec"]["ports"]
    assert numbers == {OTHER}


def test_a_dry_run_does_not_look_at_the_range(session: Session) -> None:
    why = "provided port is not in the valid range. The range of valid ports is 30000-32767"
    refused(
        create(session, "new", [port(1, 80)]), f"spec.ports[0].nodePort: Invalid value: 80: {why}"
    )
    assert create(session, "new", [port(1, 80)], "?dryRun=All")[0] == 201


def test_a_port_for_health_checks_that_is_taken_is_an_internal_error(session: Session) -> None:
    spec: dict[str, Any] = {
        "type": "LoadBalancer",
        "externalTrafficPolicy": "Local",
        "healthCheckNodePort": HELD,
    }
    code, status = create(session, "new", [port(1)], **spec)
    why = f"failed to allocate requested HealthCheck NodePort {HELD}: {TAKEN}"
    assert (code, status["message"]) == (500, f"Internal error occurred: {why}")


def test_families_that_the_cluster_lacks_are_told_before_addresses(session: Session) -> None:
    said = 'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster'
    refused(create(session, "new", [port(1, HELD)], ipFamilies=["IPv6"]), said)


def test_an_empty_address_is_refused_before_ports_are_looked_at(session: Session) -> None:
    refused(
        create(session, "new", [port(1, HELD)], clusterIPs=[""]),
        'spec.clusterIPs: Invalid value: []string{""}: must be empty when `clusterIP` is not '
        "specified",
        'spec.clusterIPs[0]: Invalid value: "": must be a valid IP address, (e.g. 10.9.8.7 or '
        "2001:db8::ffff)",
    )


def test_an_update_is_refused_a_port_of_another_service(session: Session) -> None:
    def changed(*ports: dict[str, Any]) -> tuple[int, Any]:
        body = {"spec": {"ports": [*ports]}}
        answer = session.request("PATCH", f"{SERVICES}/mine?dryRun=All", body, headers=MERGE)
        return answer.status, answer.json()

    said = f"spec.ports[0].nodePort: Invalid value: {HELD}: {TAKEN}"
    refused(changed(port(1, HELD)), said)
    refused(changed(port(1, HELD, name="A!")), said)
    assert changed(port(1, FREE), port(1, FREE, "UDP"))[0] == 200
    code, status = changed(port(1, FREE), port(2, FREE))
    assert (code, status["message"]) == (500, f"duplicate nodePort: {{TCP {FREE}}}")
