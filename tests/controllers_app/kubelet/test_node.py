"""How a kubelet reports its node: the lease as a heartbeat, the status when it changed."""

from __future__ import annotations

from typing import Any

from lifecycle.hosting.scripted import Session
from tests.controllers_app.podlab import cluster, create, pod


def requests_of_kubelet(session: Session, since: int) -> list[tuple[str, str, str]]:
    """(verb, resource, subresource) of what node-1's kubelet asked for after a record."""
    return [
        (one["verb"], one["resource"], one["subresource"])
        for one in session.records()
        if one["kind"] == "request" and one["client"] == "kubelet/node-1" and one["seq"] > since
    ]


def last(session: Session) -> int:
    records: list[Any] = list(session.records())
    seq: int = records[-1]["seq"]
    return seq


def test_a_node_that_does_not_change_renews_its_lease_and_nothing_else() -> None:
    session = cluster(nodes=1)
    session.wait(15)
    begin = last(session)
    session.wait(120)
    asked = requests_of_kubelet(session, begin)
    assert set(asked) == {("update", "leases.coordination.k8s.io", "")}
    assert len(asked) == 12


def test_a_status_that_changed_is_patched_within_ten_seconds() -> None:
    session = cluster(nodes=1)
    session.wait(15)
    begin = last(session)
    create(session, pod(image="redis:7"))
    session.wait(11)
    patches = [one for one in requests_of_kubelet(session, begin) if one[1] == "nodes"]
    assert patches == [("patch", "nodes", "status")]


def test_a_status_that_does_not_change_is_patched_every_five_minutes() -> None:
    session = cluster(nodes=1)
    session.wait(15)
    begin = last(session)
    session.wait(605)
    patches = [one for one in requests_of_kubelet(session, begin) if one[1] == "nodes"]
    assert patches == [("patch", "nodes", "status")] * 2
