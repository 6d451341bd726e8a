"""Which addresses and node ports are taken, as the API server keeps it for itself."""

from __future__ import annotations

import base64
import ipaddress
import re
from typing import Any

import orjson
import pytest

from apiserver_app import flags
from apiserver_app.machinery.serializer import protobuf
from apiserver_app.registry import masterleases
from apiserver_app.registry.core.service import ranges
from lifecycle.etcdctl import processes
from lifecycle.hosting.scripted import Session, default_inputs
from tests.apiserver_app.cluster import server_session

SERVICES = "/api/v1/namespaces/default/services"
ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"


def service(name: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name},
        "spec": {"ports": [{"port": 80}], **spec},
    }


def taken(session: Session, key: str) -> set[int]:
    """The offsets in the bit map that etcdctl shows."""
    answer = processes.console(session.cluster.etcd, f"etcdctl get {key} -w json")
    found = orjson.loads(answer["output"])["kvs"][0]["value"]
    obj = protobuf.decode(base64.b64decode(found))
    assert obj["kind"] == "RangeAllocation"
    bits = int.from_bytes(base64.b64decode(obj.get("data") or ""), "big")
    return {at for at in range(bits.bit_length()) if bits >> at & 1}


@pytest.fixture
def session() -> Session:
    return server_session()


def test_a_services_address_and_ports_are_taken_while_it_is_there(session: Session) -> None:
    assert taken(session, ranges.ADDRESSES) == {0}, "10.96.0.1 is the first of the range"
    ports = [{"port": 80, "nodePort": 30007}]
    made = service("web", type="NodePort", clusterIP="10.96.0.50", ports=ports)
    assert session.request("POST", SERVICES, made).status == 201
    assert taken(session, ranges.ADDRESSES) == {0, 49}
    assert taken(session, ranges.PORTS) == {7}
    assert session.request("DELETE", f"{SERVICES}/web").status == 200
    assert taken(session, ranges.ADDRESSES) == {0}
    assert taken(session, ranges.PORTS) == set()


def test_a_change_of_type_gives_back_what_is_not_needed(session: Session) -> None:
    session.request("POST", SERVICES, service("web", type="NodePort"))
    assert len(taken(session, ranges.PORTS)) == 1
    now = session.request("GET", f"{SERVICES}/web").json()
    now["spec"]["type"] = "ClusterIP"
    assert session.request("PUT", f"{SERVICES}/web", now).status == 200
    assert taken(session, ranges.PORTS) == set()


def test_an_address_is_an_object_of_its_own_made_by_the_server(session: Session) -> None:
    session.request("POST", SERVICES, service("web", clusterIP="10.96.0.50"))
    found = session.request("GET", f"{ADDRESSES}/10.96.0.50").json()
    assert found["spec"]["parentRef"] == {
        "resource": "services",
        "namespace": "default",
        "name": "web",
    }
    assert found["metadata"]["labels"]["ipaddress.kubernetes.io/managed-by"] == "ipallocator.k8s.io"
    requests = [record for record in session.records() if record["kind"] == "request"]
    inner = [
        request
        for request in requests
        if request["path"] == ADDRESSES and request["verb"] == "create"
    ][-1]
    outer = next(
        request for request in requests if request["outside"] and request["path"] == SERVICES
    )
    assert inner["parent"] == outer["seq"], "asked for on the way of the service"
    session.request("DELETE", f"{SERVICES}/web")
    assert session.request("GET", f"{ADDRESSES}/10.96.0.50").status == 404


def test_nothing_is_taken_for_a_refused_or_pretended_service(session: Session) -> None:
    session.request("POST", SERVICES, service("web", clusterIP="10.96.0.50"))
    again = service("web", clusterIP="10.96.0.51")
    assert session.request("POST", SERVICES, again).status == 409
    tried = service("dry", clusterIP="10.96.0.52")
    assert session.request("POST", f"{SERVICES}?dryRun=All", tried).status == 201
    assert session.request("POST", SERVICES, service("head", clusterIP="None")).status == 201
    assert taken(session, ranges.ADDRESSES) == {0, 49}
    names = [
        address["metadata"]["name"] for address in session.request("GET", ADDRESSES).json()["items"]
    ]
    assert names == ["10.96.0.1", "10.96.0.50"]


def test_what_somebody_lost_is_mended_within_three_minutes(session: Session) -> None:
    session.request("POST", SERVICES, service("web", clusterIP="10.96.0.50"))
    processes.console(session.cluster.etcd, f"etcdctl del {ranges.ADDRESSES}")
    processes.console(session.cluster.etcd, "etcdctl del /registry/services/specs/default/web")
    session.request("DELETE", f"{ADDRESSES}/10.96.0.1")
    session.wait(181)
    assert taken(session, ranges.ADDRESSES) == {0}
    names = [
        address["metadata"]["name"] for address in session.request("GET", ADDRESSES).json()["items"]
    ]
    assert names == ["10.96.0.1"]


@pytest.mark.parametrize(
    ("version", "kept", "objects"),
    [("1.32", True, False), ("1.33", True, True), ("1.34", False, True)],
)
def test_a_version_keeps_addresses_in_a_range_in_objects_or_in_both(
    version: str, kept: bool, objects: bool
) -> None:
    session = server_session(version=version)
    store = session.cluster.store
    assert (store.get(ranges.ADDRESSES) is not None) is kept
    assert (store.get("/registry/ipaddresses/10.96.0.1") is not None) is objects
    assert store.get(ranges.PORTS) is not None


def test_the_servers_key_goes_with_its_lease_unless_it_is_renewed() -> None:
    session = Session(default_inputs(nodes=0))
    store = session.cluster.store
    key = f"{masterleases.PREFIX}10.0.0.11"
    first = store.get(key)
    assert first is not None and store.granted[first.lease].ttl == 15
    session.wait(31)
    now = store.get(key)
    assert now is not None and now.version == 4 and now.lease != first.lease
    assert first.lease not in store.leases(), "the one before has ended, and took nothing along"
    obj = masterleases.decode(now)
    assert obj is not None and obj["metadata"]["generation"] == 4
    assert obj["subsets"] == [{"addresses": [{"ip": "10.0.0.11"}]}]


def test_the_server_has_a_lease_that_names_it(session: Session) -> None:
    path = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
    found = session.request("GET", f"{path}?labelSelector=apiserver.kubernetes.io/identity")
    (lease,) = found.json()["items"]
    assert lease["metadata"]["name"].startswith("apiserver-")
    assert lease["spec"]["leaseDurationSeconds"] == 3600


def test_the_compactor_writes_down_how_far_it_came(session: Session) -> None:
    assert session.cluster.store.get("compact_rev_key") is None
    session.wait(601)
    entry = session.cluster.store.get("compact_rev_key")
    assert entry is not None and (entry.value, entry.version) == (b"0", 2)


# -- other ranges ---------------------------------------------------------------------------------


def with_flags(*given: str) -> Session:
    return Session(default_inputs(nodes=0, flags=flags.parse(given, lambda name: "")))


def test_the_ranges_are_those_of_the_flags() -> None:
    session = with_flags("service-cluster-ip-range=172.20.0.0/24", "service-node-port-range=80+40")
    own = session.request("GET", f"{SERVICES}/kubernetes").json()["spec"]
    assert own["clusterIPs"] == ["172.20.0.1"]
    made = session.request("POST", SERVICES, service("web", type="NodePort", ports=[{"port": 1}]))
    spec = made.json()["spec"]
    address = ipaddress.IPv4Address(spec["clusterIP"])
    assert 16 <= int(address) - int(ipaddress.IPv4Address("172.20.0.0")) <= 255
    assert 96 <= spec["ports"][0]["nodePort"] <= 120
    refused = session.request("POST", SERVICES, service("old", clusterIP="10.96.0.50"))
    assert "The range of valid IPs is 172.20.0.0/24" in refused.json()["message"]
    cidr = session.request("GET", "/apis/networking.k8s.io/v1/servicecidrs/kubernetes").json()
    assert cidr["spec"]["cidrs"] == ["172.20.0.0/24"]
    for key, wanted in ((ranges.ADDRESSES, "172.20.0.0/24"), (ranges.PORTS, "80-120")):
        entry = session.cluster.store.get(key)
        assert entry is not None
        shown = ranges.decode(entry)
        assert shown is not None and shown["range"] == wanted
    assert session.request("GET", "/api").json()["serverAddressByClientCIDRs"] == [
        {"clientCIDR": "0.0.0.0/0", "serverAddress": "10.0.0.11:6443"}  # no service's address
    ]


def test_a_range_that_is_full_gives_nothing_more() -> None:
    session = with_flags("service-cluster-ip-range=192.168.7.0/29")
    codes = [session.request("POST", SERVICES, service(f"s{n}")).status for n in range(5)]
    assert codes == [201] * 5
    full = session.request("POST", SERVICES, service("more"))
    assert full.status >= 400


@pytest.mark.parametrize(
    ("flag", "why"),
    [
        ("service-cluster-ip-range=10.0.0.0/8", "too large; for 32-bit addresses, the mask must"),
        ("service-cluster-ip-range=10.0.0.0/30", "must be at least 8 IP addresses"),
        ("service-cluster-ip-range=x", "service-cluster-ip-range is not a valid cidr"),
        ("service-cluster-ip-range=fd00::/108", "ranges of IPv6 are not simulated"),
        ("service-node-port-range=9-3", "end port cannot be less than start port: 9-3"),
        ("service-node-port-range=x", "unable to parse port range: x"),
        ("service-node-port-range=70000-70001", "cannot be greater than 65535"),
    ],
)
def test_ranges_that_cannot_be_end_the_start(flag: str, why: str) -> None:
    with pytest.raises(flags.FlagError, match=re.escape(why)):
        with_flags(flag)
