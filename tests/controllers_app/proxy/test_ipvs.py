"""The mode ipvs: the table of virtual servers."""

from __future__ import annotations

from controllers_app.proxy import ipvs
from controllers_app.proxy.servicemap import Node, ServicePort
from tests.controllers_app.proxy import recorded

HEAD = [
    "IP Virtual Server version 1.2.1 (size=4096)",
    "Prot LocalAddress:Port Scheduler Flags",
    "  -> RemoteAddress:Port           Forward Weight ActiveConn InActConn",
]


def shown(ports: list[ServicePort], node: Node, scheduler: str) -> str:
    return ipvs.HEAD + ipvs.of_service(ports, node, scheduler)


def real(address: str) -> str:
    return f"  -> {address:<28} Masq    1      0          0         "


def test_each_address_of_a_service_is_a_virtual_server() -> None:
    lines = shown(recorded.ports(recorded.state(1)), recorded.NODE, "rr").splitlines()
    assert lines[:3] == HEAD
    three = [real(f"10.244.{last}:8080") for last in ("0.0", "1.0", "1.1")]
    at = lines.index("TCP  10.96.100.10:80 rr")
    assert lines[at + 1 : at + 4] == three
    assert lines[lines.index("TCP  10.0.7.7:80 rr") + 1 :][:3] == three
    assert lines[lines.index("TCP  10.0.9.1:30081 rr") + 1 :][:3] == three
    assert lines[lines.index("UDP  10.96.100.12:53 rr") + 1] == real("10.244.0.0:5353")


def test_affinity_is_persistence() -> None:
    text = shown(recorded.ports(recorded.state(1)), recorded.NODE, "wrr")
    assert "TCP  10.96.100.11:80 wrr persistent 10800\n" in text


def test_a_local_policy_keeps_to_the_node_and_takes_all_where_it_has_none() -> None:
    ports = recorded.ports(recorded.state(1))
    [port] = [port for port in ports if port.name == "default/web-node:http"]
    assert [endpoint.ip for endpoint in ipvs.external(port)] == ["10.244.0.0"]
    elsewhere = recorded.ports(recorded.state(1), Node("node-3", "10.0.9.3"))
    [port] = [port for port in elsewhere if port.name == "default/web-node:http"]
    assert len(ipvs.external(port)) == 3


def test_a_service_without_endpoints_is_a_server_that_leads_to_nobody() -> None:
    lines = shown(recorded.ports(recorded.state(1)), recorded.NODE, "rr").splitlines()
    at = lines.index("TCP  10.96.100.13:80 rr")
    assert not lines[at + 1].startswith("  ->")
