"""Which endpoints a node uses: by readiness, by traffic policy, by hints."""

from __future__ import annotations

from typing import Any

from apiserver_app.machinery.meta import Object
from controllers_app.proxy import servicemap
from controllers_app.proxy.servicemap import Node, ServicePort

HERE, THERE = Node("here", "10.0.0.1", "north"), Node("there", "10.0.0.2", "south")


def seen(entries: list[Object], node: Node = HERE, **spec: Any) -> ServicePort:
    """The only port of a service with these endpoints."""
    service = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"clusterIP": "10.96.0.9", "ports": [{"port": 80}], **spec},
    }
    item = {"addressType": "IPv4", "ports": [{"name": "", "port": 8080, "protocol": "TCP"}]}
    six = {**item, "addressType": "IPv6", "endpoints": [{"addresses": ["fd00::1"]}]}
    [port] = servicemap.ports([service], lambda _: [{**item, "endpoints": entries}, six], node)
    return port


def entry(last: int, node: str = "here", *, zone: str = "", **conditions: bool) -> Object:
    made: Object = {"addresses": [f"10.244.0.{last}"], "nodeName": node, "conditions": conditions}
    return {**made, "hints": {"forZones": [{"name": zone}]}} if zone else made


def lasts(endpoints: servicemap.Endpoints) -> list[int]:
    return [int(endpoint.ip.rpartition(".")[2]) for endpoint in endpoints]


def test_ready_ones_are_used_and_one_of_which_nothing_is_said_is_ready() -> None:
    port = seen([entry(1), entry(2, ready=True), entry(3, ready=False)])
    assert lasts(port.cluster) == [1, 2]


def test_only_where_none_is_ready_those_that_end_and_still_serve_are_used() -> None:
    ending = entry(1, ready=False, serving=True, terminating=True)
    assert lasts(seen([ending, entry(2, ready=True)]).cluster) == [2]
    assert lasts(seen([ending, entry(2, ready=False)]).cluster) == [1]
    gone = seen([entry(1, ready=False, serving=False, terminating=True)])
    assert (gone.cluster, gone.has_endpoints) == ((), False)


def test_a_local_policy_uses_those_of_the_node() -> None:
    entries = [entry(1), entry(2, "there")]
    internal = {"internalTrafficPolicy": "Local"}
    assert lasts(seen(entries, HERE, **internal).internal) == [1]
    assert lasts(seen(entries, THERE, **internal).internal) == [2]
    outer = {"externalTrafficPolicy": "Local", "externalIPs": ["10.0.7.7"]}
    port = seen(entries, THERE, **outer)
    assert (lasts(port.internal), lasts(port.external)) == ([1, 2], [2])


def test_hints_keep_to_the_zone_when_all_endpoints_have_them() -> None:
    north, south = entry(1, zone="north"), entry(2, "there", zone="south")
    assert lasts(seen([north, south], HERE).cluster) == [1]
    assert lasts(seen([north, south], THERE).cluster) == [2]
    assert lasts(seen([north, entry(3)], HERE).cluster) == [1, 3]


def test_an_address_in_two_slices_is_one_endpoint() -> None:
    assert lasts(seen([entry(1), entry(1)]).cluster) == [1]


def test_headless_services_and_names_of_others_are_not_proxied() -> None:
    for spec in ({"clusterIP": "None"}, {"clusterIP": ""}, {"type": "ExternalName"}):
        service = {
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"clusterIP": "10.96.0.9", "ports": [{"port": 80}], **spec},
        }
        assert list(servicemap.ports([service], lambda _: [], HERE)) == []
