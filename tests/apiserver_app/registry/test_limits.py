"""A cluster holds so much and no more; what it needs for itself is not counted."""

from __future__ import annotations

from typing import Any

import pytest

from lifecycle.hosting import scripted
from lifecycle.hosting.options import OptionError, parse
from lifecycle.hosting.scripted import Answer, Session

MAPS = "/api/v1/namespaces/{}/configmaps"


def limited(**limits: int) -> Session:
    return Session(scripted.default_inputs(nodes=1, options={"limits": limits}))


def config_map(session: Session, name: str, size: int = 1, namespace: str = "default") -> Answer:
    body = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name},
        "data": {"text": "x" * size},
    }
    return session.request("POST", MAPS.format(namespace), body)


def why(answer: Answer) -> tuple[int, str]:
    told: dict[str, Any] = answer.json()
    assert told["kind"] == "Status" and told["reason"] == "Forbidden"
    return answer.status, told["message"]


def test_a_namespace_holds_so_many_objects_of_one_resource() -> None:
    session = limited(namespace_objects=3)
    created = [config_map(session, f"m{number}") for number in range(4)]
    assert [one.status for one in created] == [201, 201, 403, 403]  # the CA is there already
    assert why(created[-1])[1] == (
        'configmaps "m3" is forbidden: exceeded limit of the cluster: namespace-objects, '
        "requested: 1, used: 3, limited: 3"
    )
    assert config_map(session, "mine", namespace="kube-system").status == 201
    assert session.request("DELETE", f"{MAPS.format('default')}/m0").status == 200
    assert config_map(session, "m4").status == 201


def test_a_cluster_holds_so_many_objects_and_bytes() -> None:
    session = limited(objects=1)
    assert why(config_map(session, "m"))[1].startswith(
        'configmaps "m" is forbidden: exceeded limit of the cluster: objects, requested: 1, used: '
    )
    session = limited()
    used = session.cluster.store.bytes
    assert used == sum(len(entry.value) for entry in session.cluster.store.range("/").entries)
    session = limited(bytes=used + 20_000)
    assert config_map(session, "small").status == 201
    assert (
        ": exceeded limit of the cluster: bytes, requested: 3"
        in why(config_map(session, "large", 30_000))[1]
    )
    path = f"{MAPS.format('default')}/small"
    grown = session.request(
        "PATCH",
        path,
        {"data": {"more": "x" * 30_000}},
        headers={"content-type": "application/merge-patch+json"},
    )
    assert ": exceeded limit of the cluster: bytes, requested: 3" in why(grown)[1]


def test_a_namespace_that_is_full_leaves_room_for_the_others() -> None:
    session = limited(namespace_bytes=20_000)
    assert config_map(session, "large", 10_000).status == 201
    answer = config_map(session, "more", 10_000)
    assert ": exceeded limit of the cluster: namespace-bytes, requested: 1" in why(answer)[1]
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "other"}}
    assert session.request("POST", "/api/v1/namespaces", space).status == 201
    assert config_map(session, "more", 10_000, "other").status == 201
    assert session.request("DELETE", f"{MAPS.format('default')}/large").status == 200
    assert config_map(session, "more", 10_000).status == 201


def test_a_pod_has_so_many_containers_of_all_sorts() -> None:
    session = limited(pod_containers=2)
    spec = {
        "containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "x"}],
        "initContainers": [{"name": "c", "image": "x"}],
    }
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": spec}
    answer = session.request("POST", "/api/v1/namespaces/default/pods", body)
    assert why(answer) == (
        403,
        (
            'pods "p" is forbidden: exceeded limit of the cluster: pod-containers, requested: 3, '
            "limited: 2"
        ),
    )


def test_the_bytes_are_those_of_what_is_there_also_after_a_restart() -> None:
    session = limited()
    config_map(session, "m", 10_000)
    session.request("DELETE", f"{MAPS.format('default')}/m")
    session.restart()
    store = session.cluster.store
    assert store.bytes == sum(len(entry.value) for entry in store.range("/").entries)


def test_limits_are_given_by_name() -> None:
    assert parse(["--limit", "pods=9", "--limit", "namespace-pods=3"]).limits == (
        ("pods", 9),
        ("namespace-pods", 3),
    )
    with pytest.raises((OptionError, SystemExit)):
        parse(["--limit", "clouds=9"])
