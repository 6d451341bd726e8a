"""What diverged between two clusters that were one up to a record."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.etcd.backend import MemoryBackend
from lifecycle.hosting import scripted
from lifecycle.trace import comparison, moments
from tests.apiserver_app.cluster import started_session
from tests.sim.test_story import DEPLOYMENTS, deployment

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"
SECRETS = "/api/v1/namespaces/default/secrets"
PATCH = {"content-type": "application/merge-patch+json"}


def begun() -> tuple[scripted.Session, int]:
    """One of several equal clusters, and its last record."""
    session = started_session()
    session.request("POST", CONFIGMAPS, {"metadata": {"name": "kept"}, "data": {"a": "1"}})
    return session, session.cluster.recorder.seq


def compared(there: scripted.Session, here: scripted.Session, seq: int) -> dict[str, Any]:
    for session in (there, here):
        session.wait(30)
    return comparison.compare(there.backend, here.backend, seq)


def told(found: dict[str, Any]) -> list[tuple[Any, ...]]:
    names = ("kind", "name", "what", "there", "here", "asked")
    return [tuple(difference[name] for name in names) for difference in found["differences"]]


def test_two_that_do_the_same_are_equal() -> None:
    (there, seq), (here, _) = begun(), begun()
    for session in (there, here):
        session.request("POST", DEPLOYMENTS, deployment(replicas=3))
    found = compared(there, here, seq)
    assert (found["differences"], found["first"], found["more"]) == ([], None, 0)
    assert found["from"] == seq and found["until"] > 20_000_000


def test_what_one_made_changed_and_deleted_is_named_with_its_record() -> None:
    (there, seq), (here, _) = begun(), begun()
    here.request("POST", CONFIGMAPS, {"metadata": {"name": "new"}})
    here.request("PATCH", f"{CONFIGMAPS}/kept", {"data": {"a": "2"}}, headers=PATCH)
    there.request("DELETE", f"{CONFIGMAPS}/kube-root-ca.crt")
    found = compared(there, here, seq)
    assert ("ConfigMap", "new", "existence", False, True, True) in told(found)
    assert ("ConfigMap", "kept", "data.a", "1", "2", True) in told(found)
    assert ("ConfigMap", "kube-root-ca.crt", "existence", False, True, True) in told(found)
    new = next(difference for difference in found["differences"] if difference["name"] == "new")
    assert (new["key"], new["namespace"]) == ("configmaps/default/new", "default")
    assert new["seq_there"] is None
    [record] = [one for one in here.records() if one["seq"] == new["seq_here"]]
    assert (record["kind"], record["name"]) == ("write", "new") and new["after"] > 0


def test_generated_names_and_random_volumes_are_the_same_in_both() -> None:
    """An object more takes random numbers: everything behind it has other names, and of equal nodes
    the scheduler picks others. With as many pods as nodes each node pulls the image."""
    (there, seq), (here, _) = begun(), begun()
    here.request("POST", CONFIGMAPS, {"metadata": {"generateName": "more-"}})
    for session in (there, here):
        session.request("POST", DEPLOYMENTS, deployment(replicas=3))
    pods = [
        {pod["metadata"]["name"] for pod in session.cluster.cache.list("pods", "default")}
        for session in (there, here)
    ]
    assert len(pods[0]) == 3 and pods[0].isdisjoint(pods[1])
    differences = compared(there, here, seq)["differences"]
    for difference in differences:
        if difference["kind"] == "Pod":
            assert (difference["name_there"] in pods[0], difference["name"] in pods[1]) == (
                True,
                True,
            )
    differ = {(difference["kind"], difference["what"]) for difference in differences}
    assert differ <= {("ConfigMap", "existence"), ("Pod", "spec.nodeName")}


def test_values_of_secrets_are_not_told() -> None:
    (there, seq), (here, _) = begun(), begun()
    for session, value in ((there, "cGxhbnRlZDE="), (here, "cGxhbnRlZDI=")):
        body = {"metadata": {"name": "s", "labels": {"a": value[-2]}}, "data": {"k": value}}
        session.request("POST", SECRETS, body)
    found = compared(there, here, seq)
    assert "cGxhb" not in str(found)
    assert told(found) == [("Secret", "s", "metadata.labels.a", "E", "I", True)]


def test_no_more_than_a_hundred_are_told() -> None:
    (there, seq), (here, _) = begun(), begun()
    for number in range(110):
        here.request("POST", CONFIGMAPS, {"metadata": {"name": f"c-{number}"}}, settle=False)
    found = compared(there, here, seq)
    assert (len(found["differences"]), found["more"]) == (100, 10)


@pytest.mark.parametrize("behind", [0, 1, 700, 4000])
def test_a_record_and_a_revision_lead_to_each_other(behind: int) -> None:
    session, last = begun()
    writes = {
        record["seq"]: record["rev"] for record in session.records() if record["kind"] == "write"
    }
    seq = last - behind
    moment = moments.at_record(session.backend, seq)
    assert moment is not None and moment.seq == seq
    assert moment.revision == max(rev for at, rev in writes.items() if at <= seq)
    found = moments.at_revision(session.backend, moment.revision, last)
    assert found is not None and writes[found.seq] == moment.revision
    assert moments.at_record(MemoryBackend(), 1) is None
    assert moments.at_revision(session.backend, 10**9, last) is None
