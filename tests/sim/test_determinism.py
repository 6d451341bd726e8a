"""The same seed and the same inputs give the same trace, byte for byte."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from apiserver_app.etcd.log import DatabaseBackend
from lifecycle.hosting import scripted
from lifecycle.trace import archive, reading
from tests.sim.test_story import DEPLOYMENTS, deployment

SCRIPT = """
nodes: 3
steps:
- apply: |
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: web}
    spec:
      replicas: 4
      selector: {matchLabels: {app: web}}
      template:
        metadata: {labels: {app: web}}
        spec: {containers: [{name: web, image: nginx}]}
- settle: true
- apply: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: no}
  as: student
- wait: 30
RESTART
- request:
    method: PATCH
    path: /apis/apps/v1/namespaces/default/deployments/web
    headers: {content-type: application/merge-patch+json}
    body: {spec: {replicas: 6}}
- settle: true
- request: {method: DELETE, path: /apis/apps/v1/namespaces/default/deployments/web}
- wait: 15
"""
PLAIN = SCRIPT.replace("RESTART\n", "")
RESTARTED = SCRIPT.replace("RESTART", "- restart: true")


@functools.cache
def first_run(script: str) -> scripted.Session:
    """What the runs of a script are compared with."""
    return scripted.run(scripted.parse(script), 7)


def trace_file(session: scripted.Session, file: Path) -> bytes:
    archive.write_file(file, session.header(), session.records())
    return file.read_bytes()


@pytest.mark.parametrize("script", [PLAIN, RESTARTED], ids=["plain", "restarted"])
def test_two_runs_of_one_script_give_identical_files(script: str, tmp_path: Path) -> None:
    again = scripted.run(scripted.parse(script), 7)
    one, other = (tmp_path / name for name in ("a.gz", "b.gz"))
    assert trace_file(first_run(script), one) == trace_file(again, other)


def test_another_seed_gives_another_trace(tmp_path: Path) -> None:
    other = scripted.run(scripted.parse(PLAIN), 2)
    first = trace_file(first_run(PLAIN), tmp_path / "a.gz")
    assert first != trace_file(other, tmp_path / "b.gz")
    assert first_run(PLAIN).records() != other.records()


@pytest.mark.django_db(transaction=True)
def test_the_database_gives_the_same_trace_as_memory_also_across_a_restart(tmp_path: Path) -> None:
    in_database = scripted.run(scripted.parse(RESTARTED), 7, DatabaseBackend("demo"))
    assert in_database.records() == first_run(RESTARTED).records()


@pytest.mark.parametrize("replicas", [3, 20])
def test_pausing_and_stepping_change_nothing_but_the_control_records(replicas: int) -> None:
    def happened(stepped: bool) -> list[tuple[object, ...]]:
        session = scripted.Session()
        host = session.host
        if stepped:
            host.pause()
        body = deployment(replicas=replicas)
        session.request("POST", DEPLOYMENTS, body, settle=not stepped)
        if stepped:
            for _ in range(100 * replicas):
                host.step("hop")
                session.settle()
            host.resume()
            session.settle()
        keep = ("t", "kind", "rev", "gate", "verdict", "name", "said")
        return [
            tuple(record.get(name) for name in keep)
            for record in session.records()
            if record["kind"] not in ("held", "control", "clock")
        ]

    assert happened(stepped=True) == happened(stepped=False)


def test_the_length_of_slices_changes_nothing() -> None:
    def happened(seconds: float) -> tuple[int, list[dict[str, object]]]:
        session = scripted.Session()
        session.request("POST", DEPLOYMENTS, deployment(replicas=20), settle=False)
        slices = 0
        while session.host.idle_seconds() == 0.0:
            session.host.run_slice(seconds)
            session.host.commit()
            slices += 1
        return slices, session.records()

    (steps, by_steps), (slices, at_once) = happened(0.0), happened(1.0)
    assert by_steps == at_once
    assert slices < 10 < steps


def test_a_file_that_was_recorded_passes_its_own_check(tmp_path: Path) -> None:
    file = tmp_path / "trace.jsonl.gz"
    trace_file(first_run(PLAIN), file)
    with file.open("rb") as raw:
        found = reading.Checked(raw)
        assert sum(1 for _ in found) == found.header["last"] and not found.changes


@pytest.mark.parametrize(
    ("script", "why"),
    [
        ("steps: 3", 'a list of "steps"'),
        ("steps: [{fly: true}]", "step 1: exactly one of"),
        ("steps: []\nmood: good", 'no "mood"'),
        ("steps: [", "no YAML"),
    ],
)
def test_a_bad_script_is_refused_with_one_sentence(script: str, why: str) -> None:
    with pytest.raises(scripted.ScriptError, match=why):
        scripted.parse(script)
