"""What the kinds of networking.k8s.io and discovery.k8s.io are refused for, word for word.

The rows are facts of kubernetes pkg/apis/networking/validation/validation.go and
pkg/apis/discovery/validation/validation.go.
"""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery.meta import Object
from tests.apiserver_app.registry.kinds import strategies

INGRESSES, CLASSES = "ingresses.networking.k8s.io", "ingressclasses.networking.k8s.io"
POLICIES, RANGES = "networkpolicies.networking.k8s.io", "servicecidrs.networking.k8s.io"
ADDRESSES, SLICES = "ipaddresses.networking.k8s.io", "endpointslices.discovery.k8s.io"
API = "networking.k8s.io/v1"
BACKEND = {"service": {"name": "web", "port": {"number": 80}}}
PATH = "spec.rules[0].http.paths[0]"


def ingress(**spec: object) -> Object:
    return strategies.named("Ingress", API, spec=spec)


def path(**fields: object) -> dict[str, Any]:
    one = {"path": "/", "pathType": "Prefix", "backend": BACKEND, **fields}
    return {"rules": [{"http": {"paths": [one]}}]}


INGRESS_ROWS: tuple[tuple[dict[str, Any], list[str]], ...] = (
    (path(), []),
    (
        {},
        ["spec: Invalid value: []networking.IngressRule(nil): "
         "either `defaultBackend` or `rules` must be specified"],
    ),
    (path(pathType=None), [f"{PATH}.pathType: Required value: pathType must be specified"]),
    (
        path(pathType="Regex"),
        [f'{PATH}.pathType: Unsupported value: "Regex": '
         'supported values: "Exact", "ImplementationSpecific", "Prefix"'],
    ),
    (path(path="web"), [f'{PATH}.path: Invalid value: "web": must be an absolute path']),
    (
        path(path="/a//b/.."),
        [f"{PATH}.path: Invalid value: \"/a//b/..\": must not contain '//'",
         f"{PATH}.path: Invalid value: \"/a//b/..\": cannot end with '/..'"],
    ),
    (path(path="a", pathType="ImplementationSpecific"),
     [f'{PATH}.path: Invalid value: "a": must be an absolute path']),
    (path(path="", pathType="ImplementationSpecific"), []),
    (
        path(backend={}),
        [f'{PATH}.backend: Invalid value: "": resource or service backend is required'],
    ),
    (
        path(backend={"service": {"name": "web"}}),
        [f"{PATH}.backend: Required value: port name or number is required"],
    ),
    (
        path(backend={"service": {"name": "web", "port": {"name": "http", "number": 80}}}),
        [f'{PATH}.backend: Invalid value: "": cannot set both port name & port number'],
    ),
    (
        path(backend={"service": {"port": {"number": 70000}}}),
        [f"{PATH}.backend.service.name: Required value",
         f"{PATH}.backend.service.port.number: Invalid value: 70000: "
         "must be between 1 and 65535, inclusive"],
    ),
    (
        path(backend={**BACKEND, "resource": {"kind": "Bucket", "name": "a"}}),
        [f'{PATH}.backend: Invalid value: "": cannot set both resource and service backends'],
    ),
    (
        path(backend={"resource": {"apiGroup": "A", "kind": "", "name": "a/b"}}),
        [f'{PATH}.backend.resource.apiGroup: Invalid value: "A": a lowercase RFC 1123 subdomain '
         "must consist of lower case alphanumeric characters, '-' or '.', and must start and end "
         "with an alphanumeric character (e.g. 'example.com', regex used for validation is "
         "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
         f"{PATH}.backend.resource.kind: Required value: kind is required",
         f"{PATH}.backend.resource.name: Invalid value: \"a/b\": may not contain '/'"],
    ),
    (
        {"rules": [{"host": "10.0.0.1"}]},
        ['spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address'],
    ),
    (
        {"rules": [{"host": "foo.*.com"}]},
        ['spec.rules[0].host: Invalid value: "foo.*.com": a wildcard DNS-1123 subdomain must '
         "start with '*.', followed by a valid DNS subdomain, which must consist of lower case "
         "alphanumeric characters, '-' or '.' and end with an alphanumeric character "
         "(e.g. '*.example.com', regex used for validation is "
         "'\\*\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"],
    ),
    ({"rules": [{"http": {"paths": []}}]}, ["spec.rules[0].http.paths: Required value"]),
)  # fmt: skip


@pytest.mark.parametrize(("spec", "messages"), INGRESS_ROWS)
def test_an_ingress_is_told_what_is_wrong(spec: dict[str, Any], messages: list[str]) -> None:
    assert strategies.create_errors(INGRESSES, ingress(**spec)) == messages


def test_the_old_annotation_of_an_ingress_says_the_same_as_the_field() -> None:
    obj = ingress(**path(), ingressClassName="nginx")
    obj["metadata"]["annotations"] = {"kubernetes.io/ingress.class": "nginx"}

    assert strategies.create_errors(INGRESSES, obj) == []
    obj["metadata"]["annotations"]["kubernetes.io/ingress.class"] = "traefik"
    assert strategies.create_errors(INGRESSES, obj) == [
        'annotations.kubernetes.io/ingress.class: Invalid value: "traefik": '
        "must match `ingressClassName` when both are specified"
    ]


CLASS_ROWS: tuple[tuple[dict[str, Any], list[str]], ...] = (
    ({"controller": "example.com/ingress"}, []),
    ({}, ["spec.controller: Required value"]),
    (
        {"controller": "nginx"},
        [
            'spec.controller: Invalid value: "nginx": '
            'must be a domain-prefixed path (such as "acme.io/foo")'
        ],
    ),
    (
        {"controller": "a.b/c", "parameters": {"kind": "K", "name": "n", "namespace": "x"}},
        ["spec.parameters.namespace: Forbidden: `parameters.scope` is set to 'Cluster'"],
    ),
    (
        {"controller": "a.b/c", "parameters": {"kind": "K", "name": "n", "scope": "Namespace"}},
        ["spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'"],
    ),
    (
        {"controller": "a.b/c", "parameters": {"kind": "K", "name": "n", "scope": "Galaxy"}},
        [
            'spec.parameters.scope: Unsupported value: "Galaxy": '
            'supported values: "Cluster", "Namespace"'
        ],
    ),
)


@pytest.mark.parametrize(("spec", "messages"), CLASS_ROWS)
def test_an_ingress_class_is_told_what_is_wrong(spec: dict[str, Any], messages: list[str]) -> None:
    obj = strategies.named("IngressClass", API, namespace=None, spec=spec)

    assert strategies.create_errors(CLASSES, obj) == messages


def test_the_controller_of_an_ingress_class_is_fixed() -> None:
    obj = strategies.named("IngressClass", API, namespace=None, spec={"controller": "a.b/c"})
    old = strategies.created(CLASSES, obj)

    assert strategies.update_errors(
        CLASSES, strategies.with_spec(old, controller="a.b/d"), old
    ) == ['spec.controller: Invalid value: "a.b/d": field is immutable']


def inward(**rule: object) -> dict[str, Any]:
    return {"podSelector": {}, "ingress": [rule]}


POLICY_ROWS: tuple[tuple[dict[str, Any], list[str]], ...] = (
    ({}, []),
    (inward(**{"from": [{}]}), ["spec.ingress[0].from[0]: Required value: must specify a peer"]),
    (
        inward(ports=[{"protocol": "ICMP", "port": 0}]),
        ['spec.ingress[0].ports[0].protocol: Unsupported value: "ICMP": '
         'supported values: "TCP", "UDP", "SCTP"',
         "spec.ingress[0].ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"],
    ),
    (
        inward(ports=[{"port": 80, "endPort": 79}, {"port": "web", "endPort": 90},
                      {"endPort": 90}]),
        ["spec.ingress[0].ports[0].endPort: Invalid value: 80: "
         "must be greater than or equal to `port`",
         "spec.ingress[0].ports[1].endPort: Invalid value: 90: "
         "may not be specified when `port` is non-numeric",
         "spec.ingress[0].ports[2].endPort: Invalid value: 90: "
         "may not be specified when `port` is not specified"],
    ),
    (
        inward(**{"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}, "podSelector": {}}]}),
        ["spec.ingress[0].from[0]: Forbidden: may not specify both ipBlock and another peer"],
    ),
    (
        inward(**{"from": [{"ipBlock": {"cidr": "10.0.0.0/24", "except": ["10.1.0.0/28"]}}]}),
        ['spec.ingress[0].from[0].ipBlock.except[0]: Invalid value: "10.1.0.0/28": '
         "must be a strict subset of `cidr`"],
    ),
    (
        inward(**{"from": [{"ipBlock": {"cidr": "10.0.0.0"}}]}),
        ['spec.ingress[0].from[0].ipBlock.cidr: Invalid value: "10.0.0.0": '
         "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"],
    ),
    (
        {"policyTypes": ["ingress"]},
        ['spec.policyTypes[0]: Unsupported value: "ingress": '
         'supported values: "Ingress", "Egress"'],
    ),
    (
        {"policyTypes": ["Ingress", "Egress", "Ingress"]},
        ['spec.policyTypes: Invalid value: []networking.PolicyType{"Ingress", "Egress", '
         '"Ingress"}: may not specify more than two policyTypes'],
    ),
)  # fmt: skip


@pytest.mark.parametrize(("spec", "messages"), POLICY_ROWS)
def test_a_network_policy_is_told_what_is_wrong(spec: dict[str, Any], messages: list[str]) -> None:
    obj = strategies.named("NetworkPolicy", API, spec=spec)

    assert strategies.create_errors(POLICIES, obj) == messages


RANGE_ROWS: tuple[tuple[list[str], list[str]], ...] = (
    (["10.96.0.0/16", "fd00::/112"], []),
    ([], ["spec.cidrs: Required value: at least one CIDR required"]),
    (
        ["10.0.0.0/8", "10.1.0.0/16", "fd00::/112"],
        ['spec.cidrs: Invalid value: networking.ServiceCIDRSpec{CIDRs:[]string{"10.0.0.0/8", '
         '"10.1.0.0/16", "fd00::/112"}}: may only hold up to 2 values'],
    ),
    (
        ["10.0.0.0/8", "10.1.0.0/16"],
        ['spec.cidrs: Invalid value: []string{"10.0.0.0/8", "10.1.0.0/16"}: may specify no more '
         "than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"],
    ),
    (
        ["10.0.0.1/8"],
        ['spec.cidrs[0]: Invalid value: "10.0.0.1/8": '
         "must not have bits set beyond the prefix length"],
    ),
    (
        ["10.00.0.0/8"],
        ['spec.cidrs[0]: Invalid value: "10.00.0.0/8": '
         "must not have leading 0s in IP or prefix length"],
    ),
    (
        ["FD00::/112"],
        ['spec.cidrs[0]: Invalid value: "FD00::/112": must be in canonical form ("fd00::/112")'],
    ),
    (
        ["10.0.0.0"],
        ['spec.cidrs[0]: Invalid value: "10.0.0.0": '
         "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"],
    ),
)  # fmt: skip


@pytest.mark.parametrize(("cidrs", "messages"), RANGE_ROWS)
def test_a_service_range_is_told_what_is_wrong(cidrs: list[str], messages: list[str]) -> None:
    obj = strategies.named("ServiceCIDR", API, namespace=None, spec={"cidrs": cidrs})

    assert strategies.create_errors(RANGES, obj) == messages


def test_a_service_range_may_gain_a_family_and_nothing_else() -> None:
    obj = strategies.named("ServiceCIDR", API, namespace=None, spec={"cidrs": ["10.0.0.0/16"]})
    old = strategies.created(RANGES, obj)
    both = strategies.with_spec(old, cidrs=["10.0.0.0/16", "fd00::/112"])
    other = strategies.with_spec(old, cidrs=["10.1.0.0/16"])

    assert strategies.update_errors(RANGES, both, old) == []
    assert strategies.update_errors(RANGES, other, old) == [
        'spec.cidrs[0]: Invalid value: "10.1.0.0/16": field is immutable'
    ]


def test_an_address_is_called_after_itself_and_has_an_owner() -> None:
    parent = {"resource": "services", "name": "web", "namespace": "default"}
    good = strategies.named(
        "IPAddress", API, "10.0.0.1", namespace=None, spec={"parentRef": parent}
    )
    bad = strategies.named("IPAddress", API, "web", namespace=None, spec={})

    assert strategies.create_errors(ADDRESSES, good) == []
    assert strategies.create_errors(ADDRESSES, bad) == [
        'metadata.name: Invalid value: "web": '
        "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
        "spec.parentRef: Required value",
    ]


SLICE_ROWS: tuple[tuple[dict[str, Any], list[str]], ...] = (
    ({"endpoints": [{"addresses": ["10.0.0.1"]}]}, []),
    ({"addressType": ""}, ["addressType: Required value"]),
    (
        {"addressType": "IPv5"},
        ['addressType: Unsupported value: "IPv5": supported values: "FQDN", "IPv4", "IPv6"'],
    ),
    (
        {"endpoints": [{"addresses": []}]},
        ["endpoints[0].addresses: Required value: must contain at least 1 address"],
    ),
    (
        {"endpoints": [{"addresses": ["127.0.0.1"]}]},
        ['endpoints[0].addresses[0]: Invalid value: "127.0.0.1": '
         "may not be in the loopback range (127.0.0.0/8, ::1/128)"],
    ),
    (
        {"addressType": "FQDN", "endpoints": [{"addresses": ["localhost"]}]},
        ['endpoints[0].addresses[0]: Invalid value: "localhost": '
         "should be a domain with at least two segments separated by dots"],
    ),
    (
        {"ports": [{"name": "a", "port": 1}, {"name": "a", "port": 2, "protocol": "ICMP"}]},
        ['ports[1].name: Duplicate value: "a"',
         'ports[1].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"'],
    ),
    (
        {"endpoints": [{"addresses": ["10.0.0.1"],
                        "hints": {"forZones": [{"name": "a"}, {"name": "a"}]}}]},
        ['endpoints[0].hints.forZones[1].name: Duplicate value: "a"'],
    ),
)  # fmt: skip


@pytest.mark.parametrize(("fields", "messages"), SLICE_ROWS)
def test_an_endpoint_slice_is_told_what_is_wrong(
    fields: dict[str, Any], messages: list[str]
) -> None:
    parts = {"addressType": "IPv4", "endpoints": [], "ports": [], **fields}
    obj = strategies.named("EndpointSlice", "discovery.k8s.io/v1", **parts)

    assert strategies.create_errors(SLICES, obj) == messages
