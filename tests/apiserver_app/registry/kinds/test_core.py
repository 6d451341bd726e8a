"""The small kinds of the core group, events and leases."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery.kinds import kinds as resources
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.registry import kinds as registered
from apiserver_app.registry.core import event
from apiserver_app.registry.strategy import Strategy
from tests.apiserver_app.registry.kinds import strategies


def test_every_registered_kind_is_served_and_registered_once() -> None:
    keys = [key for key, _ in registered.KINDS]

    assert len(keys) == len(set(keys))
    newest, old = (
        registered.strategies(resources.resources(Release(minor), (("api/all", "true"),)))
        for minor in (37, 13)
    )
    for key in keys:
        made = old if key.startswith("initializerconfigurations.") else newest
        [strategy, *_] = [one for one in made.values() if one.info.key == key]
        assert type(strategy) is not Strategy


def test_a_kind_without_behaviour_has_the_base_strategy() -> None:
    assert type(strategies.of("componentstatuses")) is Strategy


def namespace(**fields: object) -> Object:
    return strategies.named("Namespace", "v1", "team", namespace=None, **fields)


def test_a_namespace_has_its_finalizer_phase_and_label() -> None:
    obj = strategies.created("namespaces", namespace())

    assert obj["spec"] == {"finalizers": ["kubernetes"]}
    assert obj["status"] == {"phase": "Active"}
    assert obj["metadata"]["labels"] == {"kubernetes.io/metadata.name": "team"}


def test_the_label_of_a_namespace_cannot_be_taken_away() -> None:
    old = strategies.created("namespaces", namespace())
    bare = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}

    new = strategies.updated("namespaces", bare, old)

    assert new["metadata"]["labels"] == {"a": "b", "kubernetes.io/metadata.name": "team"}


def test_finalizers_of_a_namespace_change_only_through_finalize() -> None:
    old = strategies.created("namespaces", namespace())
    emptied = {**old, "spec": {"finalizers": []}}

    plain = strategies.updated("namespaces", emptied, old)
    through = strategies.updated(
        "namespaces", emptied, old, strategies.context(subresource="finalize")
    )

    assert plain["spec"] == {"finalizers": ["kubernetes"]}
    assert through["spec"] == {"finalizers": []}


def test_a_namespace_is_terminating_only_when_it_is_deleted() -> None:
    old = strategies.created("namespaces", namespace())
    new = {**old, "status": {"phase": "Terminating"}}

    assert strategies.status_errors("namespaces", new, old) == [
        'status.Phase: Invalid value: "Terminating": '
        "may only be 'Active' if `deletionTimestamp` is empty"
    ]


def test_allocatable_follows_capacity() -> None:
    obj = strategies.created(
        "nodes",
        strategies.named(
            "Node", "v1", "node-1", namespace=None, status={"capacity": {"cpu": "2000m"}}
        ),
    )

    assert obj["status"]["capacity"] == obj["status"]["allocatable"] == {"cpu": "2"}


def test_the_pod_range_of_a_node_is_set_once() -> None:
    old = strategies.created(
        "nodes",
        strategies.named(
            "Node",
            "v1",
            "n",
            namespace=None,
            spec={"podCIDR": "10.244.0.0/24", "podCIDRs": ["10.244.0.0/24"]},
        ),
    )
    new = strategies.with_spec(old, podCIDR="10.244.9.0/24")

    assert strategies.update_errors("nodes", new, old) == [
        'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid'
    ]


def test_taints_have_an_effect_and_stand_once() -> None:
    taints = [
        {"key": "a"},
        {"key": "b", "effect": "NoSchedule"},
        {"key": "b", "effect": "NoSchedule"},
    ]
    obj = strategies.named("Node", "v1", "n", namespace=None, spec={"taints": taints})

    assert strategies.create_errors("nodes", obj) == [
        "metadata.taints[0].effect: Required value",
        'metadata.taints[2]: Duplicate value: core.Taint{Key:"b", Value:"", '
        'Effect:"NoSchedule", TimeAdded:<nil>}: taints must be unique by key and effect pair',
    ]


def test_keys_of_a_config_map_are_file_names() -> None:
    obj = strategies.named("ConfigMap", "v1", data={"a/b": "x", "..": "y"})

    assert strategies.create_errors("configmaps", obj) == [
        "data[..]: Invalid value: \"..\": must not be '..'",
        'data[a/b]: Invalid value: "a/b": a valid config key must consist of alphanumeric '
        "characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', "
        "regex used for validation is '[-._a-zA-Z0-9]+')",
    ]


@pytest.mark.parametrize("key", ["configmaps", "secrets"])
def test_what_is_immutable_stays(key: str) -> None:
    kind = "ConfigMap" if key == "configmaps" else "Secret"
    old = strategies.created(key, strategies.named(kind, "v1", immutable=True, data={"a": "YQ=="}))
    new = {**old, "data": {"a": "Yg=="}}

    assert strategies.update_errors(key, new, old) == [
        "data: Forbidden: field is immutable when `immutable` is set"
    ]


def test_a_secret_is_opaque_and_its_plain_data_is_coded() -> None:
    obj = strategies.created(
        "secrets", strategies.named("Secret", "v1", stringData={"user": "root"})
    )

    assert obj["type"] == "Opaque"
    assert obj["data"] == {"user": "cm9vdA=="}
    assert "stringData" not in obj


def test_secrets_are_bounded_and_typed() -> None:
    big = strategies.named("Secret", "v1", data={"a": "A" * (4 * 360_000)})
    tls = strategies.named("Secret", "v1", type="kubernetes.io/tls")

    assert strategies.create_errors("secrets", big) == [
        "data: Too long: may not be more than 1048576 bytes"
    ]
    assert strategies.create_errors("secrets", tls) == [
        "data[tls.crt]: Required value",
        "data[tls.key]: Required value",
    ]


def note(**fields: Any) -> Object:
    about = {"kind": "Pod", "namespace": "default", "name": "web", "uid": "u"}
    return strategies.named("Event", "v1", involvedObject=about, reason="Pulled", **fields)


def test_an_event_is_about_something_in_its_namespace() -> None:
    assert strategies.create_errors("events", note()) == []
    wrong = {**note(), "involvedObject": {"kind": "Pod", "namespace": "other"}}

    assert strategies.create_errors("events", wrong) == [
        'involvedObject.namespace: Invalid value: "other": does not match event.namespace'
    ]


def test_events_are_selected_by_what_they_are_about() -> None:
    events = strategies.of("events")
    obj = strategies.created("events", note(source={"component": "kubelet"}, type="Normal"))

    values = [
        events.selectable_value(obj, path)
        for path in ("involvedObject.kind", "involvedObject.uid", "reason", "source", "type")
    ]

    assert values == ["Pod", "u", "Pulled", "kubelet", "Normal"]


def test_an_event_is_the_same_under_both_groups() -> None:
    stored = strategies.created("events", note(message="pulled", count=2))

    shown = event.to_events(stored)

    assert shown["note"] == "pulled"
    assert shown["regarding"]["name"] == "web"
    assert shown["deprecatedCount"] == 2
    assert event.from_events(shown) == stored


def test_a_lease_lasts_for_some_time() -> None:
    obj = strategies.named("Lease", "coordination.k8s.io/v1", spec={"leaseDurationSeconds": 0})

    assert strategies.create_errors("leases.coordination.k8s.io", obj) == [
        "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0"
    ]


def test_defaults_of_a_limit_range_follow_from_its_bounds() -> None:
    limits = [{"type": "Container", "max": {"cpu": "1"}, "min": {"memory": "1Mi"}}]
    obj = strategies.created(
        "limitranges", strategies.named("LimitRange", "v1", spec={"limits": limits})
    )

    assert obj["spec"]["limits"][0] == {
        "type": "Container",
        "max": {"cpu": "1"},
        "min": {"memory": "1Mi"},
        "default": {"cpu": "1"},
        "defaultRequest": {"memory": "1Mi", "cpu": "1"},
    }


def test_a_minimum_is_not_above_its_maximum() -> None:
    limits = [{"type": "Pod", "max": {"cpu": "1"}, "min": {"cpu": "2"}}]
    obj = strategies.named("LimitRange", "v1", spec={"limits": limits})

    assert strategies.create_errors("limitranges", obj) == [
        "spec.limits[0].min[cpu]: Invalid value: resource.Quantity{i:resource.int64Amount{"
        "value:2, scale:0}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, "
        's:"2", Format:"DecimalSI"}: min value 2 is greater than max value 1'
    ]


def test_a_quota_counts_known_resources_in_whole_numbers() -> None:
    obj = strategies.named("ResourceQuota", "v1", spec={"hard": {"pods": "1500m", "gpus": "1"}})

    assert strategies.create_errors("resourcequotas", obj) == [
        "spec.hard[gpus]: Invalid value: gpus: must be a standard resource type or fully qualified",
        "spec.hard[gpus]: Invalid value: gpus: must be a standard resource for quota",
        "spec.hard[pods]: Invalid value: resource.Quantity{i:resource.int64Amount{value:1500, "
        'scale:-3}, d:resource.infDecAmount{Dec:(*inf.Dec)(nil)}, s:"1500m", '
        'Format:"DecimalSI"}: must be an integer',
    ]


def test_endpoints_are_read_as_before_but_deprecated() -> None:
    subset = {"addresses": [{"ip": "127.0.0.1"}], "ports": [{"port": 80}]}
    obj = strategies.named("Endpoints", "v1", subsets=[subset])
    stored = strategies.created("endpoints", obj)

    told = strategies.of("endpoints").warnings(strategies.context(), stored, None)

    assert stored["subsets"][0]["ports"] == [{"port": 80, "protocol": "TCP"}]
    assert told == ["v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"]
    assert strategies.create_errors("endpoints", obj) == [
        'subsets[0].addresses[0].ip: Invalid value: "127.0.0.1": '
        "may not be in the loopback range (127.0.0.0/8, ::1/128)"
    ]
