"""A request leaves nothing behind that only a search for cycles frees, however it is answered.

What a refused request holds is as large as its body, and cycles are looked for when there are many
objects, however large they are.
"""

from __future__ import annotations

import gc
from collections import Counter
from typing import Any

import pytest

from lifecycle.hosting import scripted

MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = {"content-type": "application/merge-patch+json"}
JSON = {"content-type": "application/json-patch+json"}
APPLY = {"content-type": "application/apply-patch+yaml"}


def config_map(name: str, data: dict[str, str] | None = None, **metadata: Any) -> dict[str, Any]:
    data = {"a": "b"} if data is None else data
    metadata = {"name": name, **metadata}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


LARGE = {"data": {"a": "b" * (1 << 20), "c": "d" * (1 << 20)}}
TOO_LARGE = {"data": {f"k{number}": "" for number in range(115_000)}}  # for etcd
SCALE = "/apis/apps/v1/namespaces/default/replicasets/none/scale"
SORTS: dict[str, tuple[int, str, str, Any, dict[str, Any]]] = {
    "a create": (201, "POST", MAPS, config_map("new"), {}),
    "a read": (200, "GET", f"{MAPS}/there", None, {}),
    "a list": (200, "GET", MAPS, None, {}),
    "an apply": (201, "PATCH", f"{MAPS}/applied?fieldManager=x", config_map("applied"),
                 {"headers": APPLY}),
    "a delete": (200, "DELETE", f"{MAPS}/gone", None, {}),
    "what exists": (409, "POST", MAPS, config_map("there"), {}),
    "what changed": (409, "PUT", f"{MAPS}/there", config_map("there", resourceVersion="1"), {}),
    "an invalid name": (422, "POST", MAPS, config_map("B_d"), {}),
    "an invalid object": (422, "PATCH", f"{MAPS}/there", LARGE, {"headers": MERGE}),
    "what etcd refuses": (500, "PATCH", f"{MAPS}/there", TOO_LARGE, {"headers": MERGE}),
    "what is not there": (404, "GET", f"{MAPS}/none", None, {}),
    "what is forbidden": (403, "GET", "/api/v1/nodes", None, {"user": "student"}),
    "what is no JSON": (400, "POST", MAPS, b"{", {}),
    "what is no patch": (400, "PATCH", f"{MAPS}/there", b"[", {"headers": MERGE}),
    "no strict patch": (400, "PATCH", f"{MAPS}/there?fieldValidation=Strict", b"[",
                        {"headers": MERGE}),
    "a failing test": (422, "PATCH", f"{MAPS}/there",
                       [{"op": "test", "path": "/kind", "value": "x"}], {"headers": JSON}),
    "an unknown field": (400, "POST", f"{MAPS}?fieldValidation=Strict",
                         {**config_map("strict"), "x": 1}, {}),
    "another's field": (409, "PATCH", f"{MAPS}/there?fieldManager=y",
                        config_map("there", {"a": "c"}), {"headers": APPLY}),
    "another object": (409, "DELETE", f"{MAPS}/there", {"preconditions": {"uid": "x"}}, {}),
    "no scale": (404, "PUT", SCALE, {"spec": {"replicas": 1}}, {}),
    "no path": (404, "GET", "/nowhere", None, {}),
}  # fmt: skip


@pytest.fixture(scope="module")
def session() -> scripted.Session:
    gc.collect()
    gc.freeze()  # what other tests left is not looked through each time
    session = scripted.Session(scripted.default_inputs(nodes=0))
    for name in ("there", "gone"):
        assert session.request("POST", MAPS, config_map(name)).status == 201
    return session


@pytest.mark.parametrize("sort", SORTS)
def test_nothing_is_left_for_the_search_for_cycles(session: scripted.Session, sort: str) -> None:
    status, method, path, body, how = SORTS[sort]
    gc.collect()
    gc.disable()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        assert session.request(method, path, body, **how).status == status
        gc.collect()
        left = Counter(type(one).__name__ for one in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
    assert not left
