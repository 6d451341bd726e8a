"""Claims and slices of devices under the versions of resource.k8s.io: there and back."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app import flags
from apiserver_app.machinery.releases import Release
from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import server_session

OLD, NEW = "resource.k8s.io/v1beta1", "resource.k8s.io/v1beta2"
CLAIMS = "namespaces/default/resourceclaims"


@pytest.fixture(scope="module")
def session() -> Session:
    asked = flags.parse([f"runtime-config={OLD}=true,{NEW}=true"], lambda name: "", Release(33))
    return server_session(version="1.33", flags=asked)


def body(api: str, kind: str, name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": name}, "spec": spec}


def test_beta_devices_are_served_when_they_are_asked_for_only(session: Session) -> None:
    plain = server_session(version="1.33")

    assert plain.request("GET", f"/apis/{NEW}/deviceclasses").status == 404
    assert session.request("GET", f"/apis/{NEW}/deviceclasses").status == 200


def test_a_flat_request_is_wrapped_into_what_exactly_is_asked_for(session: Session) -> None:
    flat = {"name": "gpu", "deviceClassName": "gpu.example.com", "count": 2}
    sent = body(OLD, "ResourceClaim", "flat", devices={"requests": [flat]})

    made = session.request("POST", f"/apis/{OLD}/{CLAIMS}", sent)
    assert made.status == 201, made.text
    seen = session.request("GET", f"/apis/{NEW}/{CLAIMS}/flat").json()
    again = session.request("GET", f"/apis/{OLD}/{CLAIMS}/flat").json()

    whole = {**flat, "allocationMode": "ExactCount"}
    inner = {name: value for name, value in whole.items() if name != "name"}
    assert seen["spec"]["devices"]["requests"] == [{"name": "gpu", "exactly": inner}]
    assert again["spec"]["devices"]["requests"] == [whole]
    assert made.json()["spec"] == again["spec"]


def test_alternatives_are_no_flat_request() -> None:
    asked = flags.parse([f"runtime-config={OLD}=true,{NEW}=true"], lambda name: "", Release(34))
    session = server_session(version="1.34", flags=asked)
    options = [{"name": "big", "deviceClassName": "gpu.example.com"}]
    request = {"name": "gpu", "firstAvailable": options}
    sent = body(NEW, "ResourceClaimTemplate", "any", spec={"devices": {"requests": [request]}})
    path = "namespaces/default/resourceclaimtemplates"

    assert session.request("POST", f"/apis/{NEW}/{path}", sent).status == 201
    old = session.request("GET", f"/apis/{OLD}/{path}/any").json()

    [seen] = old["spec"]["spec"]["devices"]["requests"]
    assert seen["deviceClassName"] == ""
    assert [one["count"] for one in seen["firstAvailable"]] == [1]


def test_what_a_device_has_is_wrapped_in_the_old_version_only(session: Session) -> None:
    has = {"attributes": {"model": {"string": "a"}}, "capacity": {"memory": {"value": "1Gi"}}}
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": "gpu.example.com", "pool": pool, "nodeName": "node-1"}
    device = {"name": "gpu-0", "basic": has}
    sent = body(OLD, "ResourceSlice", "s", **spec, devices=[device])

    assert session.request("POST", f"/apis/{OLD}/resourceslices", sent).status == 201
    seen = session.request("GET", f"/apis/{NEW}/resourceslices/s").json()
    again = session.request("GET", f"/apis/{OLD}/resourceslices/s").json()

    assert seen["spec"]["devices"] == [{"name": "gpu-0", **has}]
    assert again["spec"]["devices"] == [device]
