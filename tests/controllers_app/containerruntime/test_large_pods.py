"""Variables, words and volumes of a pod take no more than a process may be given."""

from __future__ import annotations

import tracemalloc
from typing import Any

import pytest

from controllers_app.cri import environment
from lifecycle.hosting.scripted import Session
from tests.controllers_app.nodelab import execute
from tests.controllers_app.podlab import cluster, create, pod

MEMORY_MAX = 60 << 20
DOUBLED = [
    {"name": "v0", "value": "12345678"},
    *({"name": f"v{n}", "value": f"$(v{n - 1})$(v{n - 1})"} for n in range(1, 36)),
]
FROM = [{"prefix": f"p{n}_", "configMapRef": {"name": "large"}} for n in range(1500)]
SOURCES = [
    {"configMap": {"name": "large", "items": [{"key": "k0", "path": f"p{n}"}]}} for n in range(1500)
]
SPECS: dict[str, dict[str, Any]] = {
    "variables that double": {"container": {"env": DOUBLED}},
    "words of large variables": {
        "container": {
            "env": DOUBLED[:15],
            "command": ["sh", "-c", "sleep infinity", *(["$(v14)"] * 5000)],
        }
    },
    "very many variables": {
        "container": {"env": [{"name": f"v{n}", "value": "$(v1)"} for n in range(4990)]}
    },
    "variables of many sources": {"container": {"envFrom": FROM}},
    "a volume of many sources": {
        "container": {"volumeMounts": [{"name": "v", "mountPath": "/v"}]},
        "volumes": [{"name": "v", "projected": {"sources": SOURCES}}],
    },
}


@pytest.mark.parametrize("what", SPECS)
def test_a_pod_takes_no_more_than_it_may(what: str) -> None:
    session: Session = cluster(nodes=1)
    data = {f"k{n}": "x" * 30_000 for n in range(20)}
    made = session.request(
        "POST",
        "/api/v1/namespaces/default/configmaps",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "large"}, "data": data},
    )
    assert made.status == 201
    spec = {**SPECS[what]}
    container = {"command": ["sleep", "infinity"], **spec.pop("container")}
    tracemalloc.start()
    try:
        create(session, pod(image="busybox", container=container, **spec))
        assert execute(session, "sh", "-c", "echo here; ls /v") is not None
        assert tracemalloc.get_traced_memory()[1] < MEMORY_MAX
    finally:
        tracemalloc.stop()


def test_a_text_without_room_for_its_values_stays_as_it_is_written() -> None:
    known = {"a": "12345678"}
    assert environment.expanded("$(a)-$(b)-$$(c)", known) == "12345678-$(b)-$(c)"
    assert environment.expanded("$(a)", known, 4) == "$(a)"
    assert environment.expanded("abc", known, 0) == "abc"
