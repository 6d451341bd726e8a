"""What is warned of in pods, templates, services and whatever names labels of nodes.

The rows are facts of kubernetes pkg/api/{pod,service,node,storage}/*.go and
staging/src/k8s.io/apimachinery/pkg/util/validation/ip.go.
"""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import DEFAULT, Release
from apiserver_app.registry.validation import addresswarnings
from tests.apiserver_app.registry.kinds import strategies

OS = 'deprecated since v1.14; use "kubernetes.io/os" instead'
NOTHING = "a null labelSelector results in matching no pod"
NONE = 'non-functional in v1.27+; use the "seccompProfile" field instead'


def told(key: str, obj: Object, old: Object | None = None, version: str = "") -> list[str]:
    ctx = strategies.context()
    if version:
        ctx.version = Release.parse(version)
    decoded, strategy = strategies.decoded(key, obj), strategies.of(key)
    if old is None:
        strategy.prepare_for_create(ctx, decoded)
    return [*ctx.warnings, *strategy.warnings(ctx, decoded, old)]


def term(key: str, value: str = "linux") -> dict[str, Any]:
    return {"matchExpressions": [{"key": key, "operator": "In", "values": [value]}]}


def ports(*items: dict[str, Any]) -> dict[str, Any]:
    return {"containers": [{"name": "a", "image": "b", "ports": list(items)}]}


def projected(*sources: dict[str, Any]) -> dict[str, Any]:
    token = {"serviceAccountToken": {"path": "token"}}
    return {"volumes": [{"name": "v", "projected": {"sources": [token, *sources]}}]}


PODS: tuple[tuple[dict[str, Any], list[str]], ...] = (
    ({}, []),
    (
        {"nodeSelector": {"node-role.kubernetes.io/master": ""}},
        ["spec.nodeSelector[node-role.kubernetes.io/master]: "
         'use "node-role.kubernetes.io/control-plane" instead'],
    ),
    (
        {"affinity": {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [term("beta.kubernetes.io/os")]},
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "preference": term("a", "-")}]}}},
        ["spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution."
         f"nodeSelectorTerms[0].matchExpressions[0].key: beta.kubernetes.io/os is {OS}",
         "spec.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]."
         "preference.matchExpressions[0].values[0]: - is invalid, a valid label must be an empty "
         "string or consist of alphanumeric characters, '-', '_' or '.', and must start and end "
         "with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex "
         "used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"],
    ),
    (
        {"topologySpreadConstraints": [
            {"maxSkew": 1, "topologyKey": "beta.kubernetes.io/os",
             "whenUnsatisfiable": "DoNotSchedule"}]},
        [f"spec.topologySpreadConstraints[0].topologyKey: beta.kubernetes.io/os is {OS}",
         f"spec.topologySpreadConstraints[0].labelSelector: {NOTHING}"],
    ),
    (
        {"affinity": {"podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "a"}],
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": {"topologyKey": "a"}}]}}},
        ["spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]."
         f"labelSelector: {NOTHING}",
         "spec.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]."
         f"podAffinityTerm.labelSelector: {NOTHING}"],
    ),
    (
        {"hostAliases": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.1"}, {"ip": "010.0.0.2"}],
         "dnsConfig": {"nameservers": ["::ffff:1.2.3.4", "FE80::1"]}},
        ['spec.hostAliases[1].ip: duplicate ip "10.0.0.1"',
         'spec.dnsConfig.nameservers[0]: non-standard IP address "::ffff:1.2.3.4" will be '
         'considered invalid in a future Kubernetes release: use "1.2.3.4"',
         'spec.dnsConfig.nameservers[1]: IPv6 address "FE80::1" should be in RFC 5952 canonical '
         'format ("fe80::1")',
         'spec.hostAliases[2].ip: non-standard IP address "010.0.0.2" will be considered invalid '
         'in a future Kubernetes release: use "10.0.0.2"'],
    ),
    (
        {"imagePullSecrets": [{"name": "a"}, {"name": "a"}, {}]},
        ['spec.imagePullSecrets[1].name: duplicate name "a"',
         'spec.imagePullSecrets[2].name: invalid empty name ""'],
    ),
    (
        {"overhead": {"memory": "1500m"}},
        ['spec.overhead[memory]: fractional byte value "1500m" is invalid, must be an integer'],
    ),
    (
        {"volumes": [{"name": "v", "photonPersistentDisk": {"pdID": "p"}},
                     {"name": "w", "storageos": {}}, {"name": "x", "gitRepo": {}}]},
        ["spec.volumes[0].photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
         "spec.volumes[1].storageOS: deprecated in v1.22, non-functional in v1.25+",
         "spec.volumes[2].gitRepo: deprecated in v1.11"],
    ),
    (
        projected({"secret": {"items": [{"key": "k", "path": "token"}]}},
                  {"downwardAPI": {"items": [{"path": "other"}, {"path": "token"}]}}),
        ["spec.volumes[0].projected.sources.secrets[0]: "
         'has duplicated path with ServiceAccountToken "token"',
         "spec.volumes[0].projected.sources.downwardAPI[1]: "
         'has duplicated path with ServiceAccountToken "token"'],
    ),
    (
        ports({"containerPort": 80}, {"containerPort": 80, "hostPort": 80},
              {"containerPort": 81, "hostPort": 81},
              {"containerPort": 81, "hostPort": 81, "hostIP": "1.2.3.4"},
              {"name": "x", "containerPort": 82, "hostIP": "1.2.3.4"}),
        ["spec.containers[0].ports[1]: overlapping port definition with "
         "spec.containers[0].ports[0]",
         "spec.containers[0].ports[3]: dangerously ambiguous port definition with "
         "spec.containers[0].ports[2]",
         "spec.containers[0].ports[4]: hostIP set without hostPort: "
         "{Name:x HostPort:0 ContainerPort:82 Protocol:TCP HostIP:1.2.3.4}"],
    ),
    (
        {"containers": [{"name": "a", "image": "b", "env": [
            {"name": "X", "value": "1"}, {"name": "X", "value": "$(X)2"},
            {"name": "X", "value": "$(X)"}]}]},
        ['spec.containers[0].env[2]: hides previous definition of "X", '
         "which may be dropped when using apply"],
    ),
    (
        {"terminationGracePeriodSeconds": -1},
        ["spec.terminationGracePeriodSeconds: must be >= 0; "
         "negative values are invalid and will be treated as 1"],
    ),
)  # fmt: skip


@pytest.mark.parametrize(("spec", "messages"), PODS)
def test_a_pod_is_created_with_a_warning(spec: dict[str, Any], messages: list[str]) -> None:
    assert told("pods", strategies.pod(**spec)) == messages


def test_annotations_that_fields_replaced_are_warned_of_until_the_field_is_there() -> None:
    obj = strategies.pod()
    obj["metadata"]["annotations"] = {
        "seccomp.security.alpha.kubernetes.io/pod": "unconfined",
        "container.seccomp.security.alpha.kubernetes.io/nginx": "unconfined",
        "container.apparmor.security.beta.kubernetes.io/nginx": "unconfined",
        "security.alpha.kubernetes.io/sysctls": "a=b",
    }
    profile = {"type": "Unconfined"}
    fields = {"seccompProfile": profile, "appArmorProfile": profile}
    there = strategies.with_spec(obj, securityContext=fields)
    there["spec"]["containers"] = [{**obj["spec"]["containers"][0], "securityContext": fields}]
    sysctls = (
        "metadata.annotations[security.alpha.kubernetes.io/sysctls]: "
        'non-functional in v1.11+; use the "sysctls" field instead'
    )

    assert told("pods", obj) == [
        "metadata.annotations[container.apparmor.security.beta.kubernetes.io/nginx]: "
        'deprecated since v1.30; use the "appArmorProfile" field instead',
        sysctls,
        f"metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]: {NONE}",
        f"metadata.annotations[container.seccomp.security.alpha.kubernetes.io/nginx]: {NONE}",
    ]
    assert told("pods", there) == [sysctls]


@pytest.mark.parametrize(
    ("value", "messages"),
    [
        ("192.12.2.0/24", []),
        ("2001:db8::/64", []),
        ("192.012.2.0/24", ['a: non-standard CIDR value "192.012.2.0/24" will be considered '
                            'invalid in a future Kubernetes release: use "192.12.2.0/24"']),
        ("192.12.2.0/024", ['a: non-standard CIDR value "192.12.2.0/024" will be considered '
                            'invalid in a future Kubernetes release: use "192.12.2.0/24"']),
        ("::ffff:192.12.2.0/120", [
            'a: non-standard CIDR value "::ffff:192.12.2.0/120" will be considered invalid in a '
            'future Kubernetes release: use "192.12.2.0/24"']),
        ("192.12.2.8/24", ['a: CIDR value "192.12.2.8/24" is ambiguous in this context '
                           '(should be "192.12.2.0/24" or "192.12.2.8/32"?)']),
        ("192.012.2.8/24", ['a: CIDR value "192.012.2.8/24" is ambiguous in this context '
                            '(should be "192.12.2.0/24" or "192.12.2.8/32"?)',
                            'a: non-standard CIDR value "192.012.2.8/24" will be considered '
                            'invalid in a future Kubernetes release: use "192.12.2.0/24"']),
        ("2001:db8:0:0::/64", ['a: IPv6 CIDR value "2001:db8:0:0::/64" should be in RFC 5952 '
                               'canonical format ("2001:db8::/64")']),
    ],
)  # fmt: skip
def test_a_range_is_written_in_one_way(value: str, messages: list[str]) -> None:
    found: list[str] = []

    addresswarnings.cidr(value, "a", DEFAULT, found)

    assert found == messages


def test_what_names_labels_of_nodes_is_warned_of_old_ones() -> None:
    zone = 'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    key = "failure-domain.beta.kubernetes.io/zone"
    where = {"matchLabelExpressions": [{"key": key, "values": ["a"]}]}
    stored = strategies.named(
        "StorageClass",
        "storage.k8s.io/v1",
        namespace=None,
        provisioner="a",
        allowedTopologies=[where],
    )
    room = strategies.named(
        "CSIStorageCapacity",
        "storage.k8s.io/v1",
        storageClassName="a",
        nodeTopology={
            "matchLabels": {key: "a"},
            "matchExpressions": [{"key": key, "operator": "Exists"}],
        },
    )
    runtime = strategies.named(
        "RuntimeClass",
        "node.k8s.io/v1",
        namespace=None,
        handler="a",
        scheduling={"nodeSelector": {key: "a"}},
    )

    assert told("storageclasses.storage.k8s.io", stored) == [
        f"allowedTopologies[0].matchLabelExpressions[0]: {zone}"
    ]
    assert told("csistoragecapacities.storage.k8s.io", room) == [
        f"nodeTopology.matchExpressions[0].key: {key} is {zone}",
        f"nodeTopology.matchLabels.{key}: {zone}",
    ]
    assert told("runtimeclasses.node.k8s.io", runtime) == [f"scheduling.nodeSelector: {zone}"]


def test_a_service_is_warned_of_what_is_ignored_and_of_addresses() -> None:
    headless = strategies.named(
        "Service",
        "v1",
        spec={
            "clusterIP": "None",
            "loadBalancerIP": "1.2.3.4",
            "sessionAffinity": "ClientIP",
            "externalIPs": ["01.2.3.4"],
        },
    )
    old_ip = (
        'spec.externalIPs[0]: non-standard IP address "01.2.3.4" will be considered invalid in a '
        'future Kubernetes release: use "1.2.3.4"'
    )

    assert told("services", headless) == [
        "spec.loadBalancerIP is ignored for headless service",
        old_ip,
    ]
    assert told("services", headless, version="1.34") == [
        "spec.loadBalancerIP is ignored for headless services",
        "spec.externalIPs is ignored for headless services",
        "spec.SessionAffinity is ignored for headless services",
        old_ip,
    ]


def test_a_node_is_warned_of_what_is_gone() -> None:
    obj = strategies.named(
        "Node",
        "v1",
        namespace=None,
        spec={"externalID": "a", "podCIDRs": ["10.0.0.1/24"], "podCIDR": "10.0.0.1/24"},
    )

    assert told("nodes", obj) == [
        "spec.externalID: this field is deprecated, and is unused by Kubernetes",
        'spec.podCIDRs[0]: CIDR value "10.0.0.1/24" is ambiguous in this context '
        '(should be "10.0.0.0/24" or "10.0.0.1/32"?)',
    ]


def test_a_template_is_warned_of_again_whenever_the_spec_changes() -> None:
    obj = strategies.deployment(template=strategies.template(terminationGracePeriodSeconds=-1))
    old = strategies.created("deployments.apps", obj)
    scaled = strategies.updated("deployments.apps", strategies.with_spec(old, replicas=3), old)
    same = strategies.updated("deployments.apps", old, old)
    strategy, ctx = strategies.of("deployments.apps"), strategies.context()

    assert strategy.warnings(ctx, scaled, old) == [
        "spec.template.spec.terminationGracePeriodSeconds: must be >= 0; "
        "negative values are invalid and will be treated as 1"
    ]
    assert strategy.warnings(ctx, same, old) == []
