"""The bundled recording of the articles' session, and a run that makes it anew.

`--rewrite-recording` writes what the run makes instead of comparing it.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from apiserver_app.machinery import meta
from lifecycle import catalog
from lifecycle.hosting import scripted
from lifecycle.trace import archive, reading
from tests.conformance.test_golden import KUBECTL

FOLDER = Path(catalog.__file__).parent / "session"
FILE = catalog.recording(catalog.profile("session"))

Trace = tuple[dict[str, Any], list[dict[str, Any]]]


@pytest.fixture(scope="module")
def again(request: pytest.FixtureRequest) -> Trace:
    """What the script makes now."""
    script = scripted.parse((FOLDER / "story.yaml").read_text())
    session = scripted.run(script)
    header = session.header() | {"bookmarks": scripted.bookmarks_of(script, session)}
    records = session.records()
    if request.config.getoption("--rewrite-recording"):
        assert FILE is not None
        archive.write_file(FILE, header, records)
    return header, records


@pytest.fixture(scope="module")
def bundled(again: Trace) -> Trace:
    assert FILE is not None
    header, *records = map(json.loads, gzip.decompress(FILE.read_bytes()).splitlines())
    return header, records


def test_the_bundled_recording_is_a_good_file(bundled: Trace) -> None:
    assert FILE is not None
    with FILE.open("rb") as file:
        checked = reading.Checked(file)
        assert sum(1 for _ in checked) == len(bundled[1])
    assert checked.header["profile"] == "session"


def test_the_recording_replays_the_offsets_of_the_session(bundled: Trace) -> None:
    told = offsets(*bundled)
    assert [round(told[name], 2) for name in ("config", "openapi")] == [28.03, 28.03]
    assert [round(told[name], 3) for name in ("post", "answer")] == [28.219, 28.228]
    assert told["answer"] - told["post"] < 0.010  # 9 ms of the server
    for name in ("replica set", "pod", "scheduled", "started"):
        assert int(told[name]) == 28
    assert int(told["running"]) == 44
    assert int(told["ready"]) == 46
    assert round(told["ready"] - told["pod"]) == 18
    assert round(told["pull"], 1) == 15.5


def test_the_same_run_gives_the_same_offsets_today(bundled: Trace, again: Trace) -> None:
    assert offsets(*again) == offsets(*bundled)


def test_the_request_of_the_recording_is_kubectls(bundled: Trace) -> None:
    """The query and the headers are in no record: the script beside the file has them."""
    sent = [one for one in bundled[1] if one["kind"] == "request" and one["outside"]]
    assert [(request["client"], request["verb"], request["path"]) for request in sent] == [
        (KUBECTL, "get", "/openapi/v2"),
        (KUBECTL, "create", "/apis/apps/v1/namespaces/default/deployments"),
    ]


def offsets(header: dict[str, Any], records: list[dict[str, Any]]) -> dict[str, float]:
    """When each thing came about, in seconds of the minute 15:53; of the pull how long it took."""
    minute = meta.parse_time("2022-02-16T15:53:00Z") - meta.parse_time(header["epoch"])

    def second(record: dict[str, Any]) -> float:
        return float(record["t"] - minute) / 1e6

    first, post = (one for one in records if one["kind"] == "request" and one["outside"])
    answer = next(
        one for one in records if one["kind"] == "response" and one["span"] == post["span"]
    )
    behind = [one for one in records if one["seq"] > post["seq"]]
    writes = [one for one in behind if one["kind"] == "write"]
    steps = {
        (one["step"], one["state"]): one
        for one in behind
        if one["kind"] == "kubelet" and "nginx-deployment" in one["pod"]
    }
    ready = next(write for write in writes if _is_ready(write))
    conditions = {
        each["type"]: each["lastTransitionTime"] for each in ready["object"]["status"]["conditions"]
    }
    assert conditions["Ready"] == meta.rfc3339(meta.parse_time(header["epoch"]) + ready["t"])
    return {
        "config": (header["bookmarks"][0]["t"] - minute) / 1e6,
        "openapi": second(first),
        "post": second(post),
        "answer": second(answer),
        "replica set": second(_created(writes, "replicasets.apps")),
        "pod": second(_created(writes, "pods")),
        "scheduled": second(next(write for write in writes if write["subresource"] == "binding")),
        "started": second(steps["sandbox", "begin"]),
        "running": second(steps["container", "end"]),
        "ready": second(ready),
        "pull": float(steps["image", "end"]["detail"]["seconds"]),
    }


def _created(writes: list[dict[str, Any]], resource: str) -> dict[str, Any]:
    return next(
        write for write in writes if write["op"] == "create" and write["resource"] == resource
    )


def _is_ready(write: dict[str, Any]) -> bool:
    if write["resource"] != "pods" or "nginx-deployment" not in write["name"]:
        return False
    conditions = write["object"]["status"].get("conditions") or ()
    return any(
        condition["type"] == "Ready" and condition["status"] == "True" for condition in conditions
    )
