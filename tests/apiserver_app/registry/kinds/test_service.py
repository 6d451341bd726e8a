"""Services: addresses, ports, families, types and what may change."""

from __future__ import annotations

import ipaddress
from typing import Any

import pytest

from apiserver_app.machinery.meta import Object
from tests.apiserver_app.memory import MemoryReader
from tests.apiserver_app.registry.kinds import strategies


def service(name: str = "web", **spec: Any) -> Object:
    ports = [{"port": 80}]
    return strategies.named(
        "Service", "v1", name, spec={"selector": {"app": "web"}, "ports": ports, **spec}
    )


def created(reader: MemoryReader | None = None, **spec: Any) -> Object:
    return strategies.created("services", service(**spec), strategies.context(reader))


def errors_of(reader: MemoryReader | None = None, **spec: Any) -> list[str]:
    return strategies.create_errors("services", service(**spec), strategies.context(reader))


def test_a_service_gets_an_address_of_the_upper_range_and_its_defaults() -> None:
    obj = created()

    address = obj["spec"].pop("clusterIP")
    assert ipaddress.ip_address(address) in ipaddress.ip_network("10.96.0.0/12")
    assert int(ipaddress.ip_address(address)) >= int(ipaddress.ip_address("10.96.1.0"))
    assert obj["spec"] == {
        "ports": [{"protocol": "TCP", "port": 80, "targetPort": 80}],
        "selector": {"app": "web"},
        "clusterIPs": [address],
        "type": "ClusterIP",
        "sessionAffinity": "None",
        "ipFamilies": ["IPv4"],
        "ipFamilyPolicy": "SingleStack",
        "internalTrafficPolicy": "Cluster",
    }
    assert obj["status"] == {"loadBalancer": {}}


def test_a_node_port_is_drawn_from_the_dynamic_part_of_the_range() -> None:
    obj = created(type="NodePort")

    assert 30086 <= obj["spec"]["ports"][0]["nodePort"] <= 32767
    assert obj["spec"]["externalTrafficPolicy"] == "Cluster"


def test_the_same_port_under_two_protocols_shares_its_node_port() -> None:
    ports = [
        {"name": "a", "port": 53, "protocol": "TCP"},
        {"name": "b", "port": 53, "protocol": "UDP"},
    ]
    obj = created(type="NodePort", ports=ports)

    one, other = obj["spec"]["ports"]
    assert one["nodePort"] == other["nodePort"]


def test_a_headless_service_without_selector_spans_both_families() -> None:
    obj = created(clusterIP="None", selector=None)

    spec = obj["spec"]
    assert spec["clusterIPs"] == ["None"]
    assert (spec["ipFamilies"], spec["ipFamilyPolicy"]) == (["IPv4", "IPv6"], "RequireDualStack")


def test_an_external_name_has_no_address() -> None:
    obj = created(type="ExternalName", externalName="example.com", ports=None)

    assert not {"clusterIP", "clusterIPs", "ipFamilies", "internalTrafficPolicy"} & set(obj["spec"])


def test_the_first_service_may_ask_for_the_first_address() -> None:
    assert errors_of(clusterIP="10.96.0.1") == []


def test_an_address_is_given_once() -> None:
    reader = MemoryReader()
    dns = strategies.named("Service", "v1", "dns", spec={"clusterIP": "10.96.0.10"})
    reader.put("services", dns)

    assert errors_of(reader, clusterIP="10.96.0.10") == [
        'spec.clusterIPs: Invalid value: []string{"10.96.0.10"}: '
        "failed to allocate IP 10.96.0.10: provided IP is already allocated"
    ]


def test_an_address_outside_of_the_range_is_refused() -> None:
    assert errors_of(clusterIP="1.2.3.4") == [
        'spec.clusterIPs: Invalid value: []string{"1.2.3.4"}: failed to allocate IP 1.2.3.4: '
        "the provided IP (1.2.3.4) is not in the valid range. "
        "The range of valid IPs is 10.96.0.0/12"
    ]


def test_a_node_port_is_given_once_and_inside_of_its_range() -> None:
    reader = MemoryReader()
    taken = [{"port": 80, "nodePort": 30080, "protocol": "TCP"}]
    reader.put("services", strategies.named("Service", "v1", "other", spec={"ports": taken}))

    def asked(number: int) -> list[str]:
        ports = [{"port": 80, "nodePort": number}]
        return errors_of(reader, type="NodePort", ports=ports)

    assert asked(30080) == [
        "spec.ports[0].nodePort: Invalid value: 30080: provided port is already allocated"
    ]
    assert asked(80) == [
        "spec.ports[0].nodePort: Invalid value: 80: provided port is not in the valid range. "
        "The range of valid ports is 30000-32767"
    ]


@pytest.mark.parametrize(
    ("spec", "messages"),
    [
        ({"ports": []}, ["spec.ports: Required value"]),
        ({"ports": [{"port": 0}]}, [
            "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
            "spec.ports[0].targetPort: Invalid value: 0: "
            "must be between 1 and 65535, inclusive"]),
        ({"ports": [{"port": 1}, {"port": 2}]}, [
            "spec.ports[0].name: Required value", "spec.ports[1].name: Required value"]),
        ({"ports": [{"port": 80, "nodePort": 30000}]}, [
            "spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"]),
        ({"type": "Other"}, [
            'spec.type: Unsupported value: "Other": supported values: '
            '"ClusterIP", "ExternalName", "LoadBalancer", "NodePort"']),
        ({"type": "NodePort", "clusterIP": "None"}, [
            'spec.clusterIPs[0]: Invalid value: "None": '
            "may not be set to 'None' for NodePort services"]),
        ({"sessionAffinity": "Maybe"}, [
            'spec.sessionAffinity: Unsupported value: "Maybe": '
            'supported values: "ClientIP", "None"']),
        ({"ipFamilyPolicy": "RequireDualStack"}, [
            'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": '
            "this cluster is not configured for dual-stack services"]),
        ({"type": "ExternalName"}, ["spec.externalName: Required value"]),
    ],
)  # fmt: skip
def test_refusals_are_worded_as_upstream_words_them(
    spec: dict[str, Any], messages: list[str]
) -> None:
    assert errors_of(**spec) == messages


def test_names_of_services_begin_with_a_letter() -> None:
    [message] = strategies.create_errors("services", service("1st"))

    assert message.startswith(
        'metadata.name: Invalid value: "1st": a DNS-1035 label must consist of'
    )


def test_an_address_stays_when_left_out_and_never_changes() -> None:
    old = created()
    left_out = strategies.with_spec(old, clusterIP=None, clusterIPs=None, selector={"a": "b"})
    other = strategies.with_spec(old, clusterIP="10.96.0.99", clusterIPs=["10.96.0.99"])

    kept = strategies.updated("services", left_out, old)

    assert kept["spec"]["clusterIP"] == old["spec"]["clusterIP"]
    assert strategies.update_errors("services", left_out, old) == []
    assert strategies.update_errors("services", other, old) == [
        'spec.clusterIPs[0]: Invalid value: []string{"10.96.0.99"}: may not change once set'
    ]


def test_a_type_change_gives_and_takes_node_ports() -> None:
    old = created()
    opened = strategies.updated("services", strategies.with_spec(old, type="NodePort"), old)
    closed = strategies.updated("services", strategies.with_spec(opened, type="ClusterIP"), opened)

    assert opened["spec"]["ports"][0]["nodePort"] >= 30086
    assert "nodePort" not in closed["spec"]["ports"][0]
    assert "externalTrafficPolicy" not in closed["spec"]
    assert (
        strategies.update_errors("services", strategies.with_spec(opened, type="ClusterIP"), opened)
        == []
    )


def test_a_node_port_stays_when_left_out() -> None:
    old = created(type="NodePort")
    ports = [{"port": 80, "protocol": "TCP", "targetPort": 8080}]

    new = strategies.updated("services", strategies.with_spec(old, ports=ports), old)

    assert new["spec"]["ports"][0]["nodePort"] == old["spec"]["ports"][0]["nodePort"]
