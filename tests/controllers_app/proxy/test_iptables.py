"""The mode iptables: the rules are those that the real kube-proxy wrote for the same objects."""

from __future__ import annotations

import re
from typing import Any

import pytest

from controllers_app.proxy import iptables
from tests.controllers_app.proxy import recorded

# of these the order of the real one is that of a Go map
UNORDERED = ("KUBE-SERVICES", "KUBE-NODEPORTS", "KUBE-PROXY-FIREWALL", "KUBE-EXTERNAL-SERVICES")
SLICE = "EndpointSlice"


def tables(objects: list[dict[str, Any]], pods: str = recorded.PODS) -> iptables.Tables:
    ports = recorded.ports(objects)
    comments = not iptables.are_many(ports)
    return iptables.tables(
        rule
        for port in ports
        for rule in iptables.of_port(port, recorded.NODE, pods, comments=comments)
    )


def in_order(lines: list[str]) -> list[str]:
    """With the rules of chains that have no order sorted."""
    return sorted(
        lines, key=lambda line: (chain_of(line), line if chain_of(line) in UNORDERED else "")
    )


def chain_of(line: str) -> str:
    return line.split()[1] if line.startswith("-A ") else ""


@pytest.mark.parametrize("number", [1, 2])
def test_what_is_saved_is_what_the_real_one_wrote(number: int) -> None:
    made = tables(recorded.state(number))
    lines = [
        line for name in ("nat", "filter", "mangle") for line in iptables.save(name, made[name])
    ]
    assert in_order(lines) == in_order(recorded.text(f"iptables-{number}.txt").splitlines())


def test_a_listing_is_what_the_real_iptables_prints() -> None:
    """Recorded without the counters of nfacct, which its kernel had not."""
    made = tables(recorded.state(1))
    lines = [
        re.sub(r" nfacct-name  \w+", "", line)
        for name in ("nat", "filter")
        for line in iptables.listing(name, made[name], "", numeric=True, numbered=False)
    ]
    real = recorded.text("iptables-list-1.txt").splitlines()
    assert sorted(filter(None, lines)) == sorted(filter(None, real))


def test_a_chain_is_shown_alone_by_number_and_by_specification() -> None:
    nat = tables(recorded.state(1))["nat"]
    listed = iptables.listing("nat", nat, "KUBE-MARK-MASQ", numeric=False, numbered=True)
    assert list(listed) == [
        "Chain KUBE-MARK-MASQ (19 references)",
        "num  target     prot opt source               destination         ",
        "1    MARK       all  --  anywhere             anywhere             MARK or 0x4000",
    ]
    assert list(iptables.specification("nat", nat, "KUBE-MARK-MASQ")) == [
        "-N KUBE-MARK-MASQ",
        "-A KUBE-MARK-MASQ -j MARK --set-xmark 0x4000/0x4000",
    ]


def test_without_endpoints_there_is_a_refusal_and_no_chain() -> None:
    objects = [item for item in recorded.state(1) if item["kind"] == "Service"]
    made = tables(objects)
    refused = [iptables.saved(rule) for rule in made["filter"]["KUBE-SERVICES"]]
    end = "-j REJECT --reject-with icmp-port-unreachable"
    assert (
        '-A KUBE-SERVICES -d 10.96.100.10/32 -p tcp -m comment --comment "default/web:http has no '
        f'endpoints" -m tcp --dport 80 {end}'
    ) in refused
    assert (
        '-A KUBE-EXTERNAL-SERVICES -p tcp -m comment --comment "default/web-node:http has no '
        f'endpoints" -m addrtype --dst-type LOCAL -m tcp --dport 30080 {end}'
    ) in [iptables.saved(rule) for rule in made["filter"]["KUBE-EXTERNAL-SERVICES"]]
    assert not [name for name in made["nat"] if re.match("KUBE-(SVC|SVL|SEP|EXT)-", name)]


def test_a_local_policy_without_local_endpoints_drops() -> None:
    objects = recorded.state(1)
    for item in objects:
        if item["kind"] == SLICE:
            item["endpoints"] = [
                entry for entry in item.get("endpoints") or [] if entry["nodeName"] == "node-2"
            ]
        elif item["metadata"]["name"] == "web":
            item["spec"]["internalTrafficPolicy"] = "Local"
    made = tables(objects)
    [rule] = [
        rule for rule in made["filter"]["KUBE-SERVICES"] if rule.destination == "10.96.100.10/32"
    ]
    assert rule.target == "DROP"
    assert '"default/web:http has no local endpoints"' in iptables.saved(rule)
    [rule] = made["filter"]["KUBE-EXTERNAL-SERVICES"]
    assert (rule.target, "has no local endpoints" in iptables.saved(rule)) == ("DROP", True)
    external = "KUBE-EXT-CPIJA3NH4GQFINYE"
    assert [rule.target for rule in made["nat"][external]] == [
        "KUBE-SVC-CPIJA3NH4GQFINYE",  # pods reach the other node all the same
        "KUBE-MARK-MASQ",
        "KUBE-SVC-CPIJA3NH4GQFINYE",
    ]


def test_without_the_range_of_the_pods_nothing_is_masqueraded_by_it() -> None:
    made = tables(recorded.state(1), pods="")
    assert not [
        rule for rules in made["nat"].values() for rule in rules if recorded.PODS in rule.source
    ]


def test_beyond_a_thousand_endpoints_theirs_have_no_comments() -> None:
    def many(count: int) -> iptables.Tables:
        objects = recorded.state(1)
        entry = {"conditions": {"ready": True}, "nodeName": "node-2"}
        for item in objects:
            if item["kind"] == SLICE and item.get("endpoints"):
                item["endpoints"] = [
                    {**entry, "addresses": [f"10.244.{at // 250}.{at % 250 + 1}"]}
                    for at in range(count)
                ]
        return tables(objects)

    chain = "KUBE-SVC-CDGGSHYLG3RE2FKL"
    assert "--comment" in iptables.saved(many(250)["nat"][chain][1])  # of four ports
    assert "--comment" not in iptables.saved(many(251)["nat"][chain][1])
