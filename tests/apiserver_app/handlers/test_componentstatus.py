"""Component statuses tell what really runs."""

from __future__ import annotations

from tests.apiserver_app.cluster import bare_session

PATH = "/api/v1/componentstatuses"


def test_each_component_is_healthy_until_it_is_stopped() -> None:
    session = bare_session()
    session.settle()
    listed = session.request("GET", PATH).json()
    assert [item["metadata"]["name"] for item in listed["items"]] == [
        "scheduler",
        "controller-manager",
        "etcd-0",
    ]
    assert {item["conditions"][0]["message"] for item in listed["items"]} == {"ok"}

    table = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}
    rows = session.request("GET", PATH, headers=table).json()["rows"]
    assert [row["cells"][:2] for row in rows] == [
        ["scheduler", "Healthy"],
        ["controller-manager", "Healthy"],
        ["etcd-0", "Healthy"],
    ]

    session.cluster.role("scheduler", "stop")
    (condition,) = session.request("GET", f"{PATH}/scheduler").json()["conditions"]
    assert condition == {
        "type": "Healthy",
        "status": "False",
        "message": 'Get "https://127.0.0.1:10259/healthz": dial tcp 127.0.0.1:10259: connect: '
        "connection refused",
    }
    assert session.request("GET", f"{PATH}/nobody").status == 404
