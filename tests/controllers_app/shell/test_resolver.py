"""The order in which a program asks for names, by what resolv.conf says."""

from __future__ import annotations

import pytest

from controllers_app.cri import dns
from controllers_app.shell import resolver
from controllers_app.shell.resolver import NOERROR, NXDOMAIN, Config, Record, Reply

CLUSTER = Config(
    ("10.96.0.10",), ("shop.svc.cluster.local", "svc.cluster.local", "cluster.local"), 5
)


def names(name: str, config: Config = CLUSTER) -> list[str]:
    return [full for full, _ in resolver.searched(name, config)]


def test_a_name_with_few_dots_is_tried_with_each_domain_and_then_as_it_is() -> None:
    assert names("web.default") == [
        "web.default.shop.svc.cluster.local",
        "web.default.svc.cluster.local",
        "web.default.cluster.local",
        "web.default",
    ]


def test_a_name_with_as_many_dots_as_ndots_is_tried_as_it_is_first() -> None:
    assert names("a.b.svc.cluster.local", Config(ndots=4, domains=("x",))) == [
        "a.b.svc.cluster.local",
        "a.b.svc.cluster.local.x",
    ]
    assert names("web", Config()) == ["web"]


def test_a_name_that_ends_with_a_dot_is_tried_as_it_is_only() -> None:
    assert names("web.") == ["web"]


def test_the_first_answer_with_an_address_ends_the_search() -> None:
    def ask(full: str) -> Reply:
        if full == "web.svc.cluster.local":
            return Reply(NOERROR, records=(Record(full, "A", "10.96.0.7"),))
        return Reply(NOERROR if full.startswith("web.shop") else NXDOMAIN)

    tried = resolver.search("Web", CLUSTER, ask)

    assert [(one.domain, one.reply.addresses) for one in tried] == [
        ("shop.svc.cluster.local", []),
        ("svc.cluster.local", ["10.96.0.7"]),
    ]


def test_a_name_that_becomes_too_long_is_not_asked_for() -> None:
    asked: list[str] = []

    def ask(full: str) -> Reply:
        asked.append(full)
        return Reply(NXDOMAIN)

    name = ".".join(["a" * 60] * 4)
    tried = resolver.search(name, CLUSTER, ask)

    assert [one.reply.why for one in tried] == ["too-long", "too-long", "too-long", ""]
    assert asked == [name]


@pytest.mark.parametrize(
    ("text", "config"),
    [
        ("", Config(("127.0.0.1",))),
        (
            "search a.b c.\nnameserver 1.2.3.4\noptions ndots:2 edns0\n",
            Config(("1.2.3.4",), ("a.b", "c"), 2),
        ),
        ("search a\nsearch b\noptions ndots:99\n", Config(domains=("b",), ndots=15)),
        ("nameserver nobody\nnameserver\noptions ndots:x ndots:\n# no\n", Config()),
        ("nameserver 1.1.1.1\n" * 5, Config(("1.1.1.1",) * 3)),
    ],
)
def test_resolv_conf_is_read_as_the_c_library_reads_it(text: str, config: Config) -> None:
    assert resolver.parsed(text) == config


@pytest.mark.parametrize("name", ["a", "a.b.", "a_b", "A-1.x", "a" * 63])
def test_names_that_can_be_asked_for(name: str) -> None:
    assert resolver.is_name(name)


@pytest.mark.parametrize(
    "name", ["", ".", "a..b", "-a", "a b", "a/b", "ü", "a" * 64, ".".join(["a" * 60] * 5)]
)
def test_what_is_no_name(name: str) -> None:
    assert not resolver.is_name(name)


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (
            {},
            "search shop.svc.cluster.local svc.cluster.local cluster.local\n"
            "nameserver 10.96.0.10\noptions ndots:5\n",
        ),
        ({"dnsPolicy": "Default"}, "nameserver 10.0.0.1\n"),
        ({"dnsPolicy": "ClusterFirst", "hostNetwork": True}, "nameserver 10.0.0.1\n"),
        (
            {
                "dnsPolicy": "ClusterFirstWithHostNet",
                "hostNetwork": True,
                "dnsConfig": {
                    "nameservers": ["1.1.1.1", "10.96.0.10"],
                    "searches": ["corp.example", "svc.cluster.local"],
                    "options": [{"name": "ndots", "value": "2"}, {"name": "edns0"}],
                },
            },
            "search shop.svc.cluster.local svc.cluster.local cluster.local corp.example\n"
            "nameserver 10.96.0.10\nnameserver 1.1.1.1\noptions ndots:2 edns0\n",
        ),
        ({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["1.1.1.1"]}}, "nameserver 1.1.1.1\n"),
    ],
)
def test_the_policy_of_a_pod_decides_what_its_resolv_conf_says(
    spec: dict[str, object], text: str
) -> None:
    pod = {"metadata": {"namespace": "shop"}, "spec": spec}
    assert dns.resolv_conf(pod, "10.96.0.10") == text
