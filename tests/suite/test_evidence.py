"""A test that failed leaves what one needs to see why, and no key of a cluster."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.apiserver_app import cluster
from tests.suite import evidence, opened

NODEID = "tests/sim/test_story.py::test_it[a b]"


class Running:
    """What of a demo is looked at."""

    def __init__(self, data_dir: Path) -> None:
        self.data_dir = data_dir


@pytest.fixture
def left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """What a test leaves that failed with a cluster and a demo open."""
    monkeypatch.setattr(evidence, "FOLDER", tmp_path / "failed")
    data = tmp_path / "data"
    for file in ("worker.log", "pki/ca.key", "kubeconfigs/admin", "kubeconfig", "endpoints.json"):
        (data / file).parent.mkdir(parents=True, exist_ok=True)
        (data / file).write_text("it ended\n")
    session = cluster.started_session()
    session.request("POST", cluster.CONFIGMAPS, cluster.configmap("note"))
    demo = Running(data)
    opened.note(opened.DEMOS, demo)
    report = pytest.TestReport(
        NODEID, ("", 0, ""), {}, "failed", "assert 1 == 2", "call", [("Captured stdout", "hello")]
    )
    evidence.keep(NODEID, report)
    opened.gone(opened.DEMOS, demo)
    return evidence.folder_of(NODEID)


def test_the_report_says_what_failed_and_how_it_is_run_again(left: Path) -> None:
    report = (left / "report.txt").read_text()

    assert report.startswith(NODEID)
    assert "assert 1 == 2" in report
    assert "hello" in report
    assert f"make test TESTS='\"{NODEID}\"'" in report


def test_the_trace_of_the_cluster_that_was_open_last_is_left(left: Path) -> None:
    traces = sorted(left.glob("cluster-*.jsonl"))
    records = [json.loads(line) for line in traces[-1].read_text().splitlines()]

    assert [r["path"] for r in records if r["kind"] == "request"][-1] == cluster.CONFIGMAPS


def test_the_logs_of_a_demo_are_left_and_its_keys_are_not(left: Path) -> None:
    kept = {str(file.relative_to(left)) for file in left.rglob("*") if file.is_file()}

    assert {name for name in kept if name.startswith("demo-")} == {"demo-0/worker.log"}
