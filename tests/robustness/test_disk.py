"""A disk that takes no writes: they are refused in words, reads and watches go on, and so does
everything once the cause is gone. Nothing acknowledged is lost."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.apiserver_app.cluster import CONFIGMAPS, configmap
from tests.conformance.api import Answer, Api
from tests.lifecycle.hosting.running import REAL, Demo
from tests.robustness.trouble import INDEX_BYTES, Failing, Locked
from tests.suite import waiting


def until_refused(api: Api, name: str) -> Answer:
    """Write until the store refuses a write; a worker that ends for it is no refusal yet."""
    for number in range(1000):
        answer = api.post(CONFIGMAPS, configmap(f"{name}-taken-{number}", a="x" * 1000))
        if answer.code not in (201, 503):
            return answer
    raise AssertionError("every write was taken")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with Demo(tmp_path_factory.mktemp("disk") / "data", "--nodes", "1", driver=REAL) as running:
        yield running


def until(ask: Callable[[], Answer], code: int) -> Answer:
    """Ask until that is the answer's code."""

    def answered() -> Answer | None:
        with contextlib.suppress(OSError, http.client.HTTPException):
            return ask()
        return None

    answer = waiting.until(
        answered, what=f"an answer {code}", true=lambda one: one is not None and one.code == code
    )
    assert answer is not None
    return answer


@pytest.mark.parametrize(
    ("trouble", "first", "then"),
    [
        (Failing, "the store cannot be written: disk I/O error", "mvcc: database space exceeded"),
        (Locked, *["the store cannot be written: database is locked"] * 2),
    ],
)
def test_writes_are_refused_in_words_while_reads_and_watches_go_on(
    demo: Demo, tmp_path: Path, trouble: Callable[[Demo], Failing | Locked], first: str, then: str
) -> None:
    api, name = Api(demo, tmp_path), trouble.__name__.lower()
    assert api.post(CONFIGMAPS, configmap(f"{name}-before", a="a")).code == 201
    broken = trouble(demo)
    try:
        refused = until_refused(api, name)
        assert refused.json["message"] in (f"etcdserver: {first}", f"etcdserver: {then}")
        assert until(lambda: api.get(f"{CONFIGMAPS}/{name}-before"), 200).json["data"] == {"a": "a"}
        for method, path, body in (
            ("POST", CONFIGMAPS, configmap(f"{name}-refused")),
            ("PUT", f"{CONFIGMAPS}/{name}-before", configmap(f"{name}-before", a="b")),
            ("DELETE", f"{CONFIGMAPS}/{name}-before", b""),
        ):
            refused = api.ask(method, path, body)
            assert (refused.code, refused.json["message"]) == (500, f"etcdserver: {then}")
        listed = api.get(CONFIGMAPS).json
        watched = api.get(f"{CONFIGMAPS}?watch=1&timeoutSeconds=1&resourceVersion=0")
        assert f"{name}-before" in watched.body.decode()
        assert f"{name}-refused" not in {item["metadata"]["name"] for item in listed["items"]}
    finally:
        broken.heal()
    until(lambda: api.post(CONFIGMAPS, configmap(f"{name}-after")), 201)
    names = {one["metadata"]["name"] for one in api.get(CONFIGMAPS).json["items"]}
    assert {f"{name}-before", f"{name}-after"} <= names and f"{name}-refused" not in names
    since = api.get(
        f"{CONFIGMAPS}?watch=1&timeoutSeconds=1&resourceVersion="
        f"{listed['metadata']['resourceVersion']}"
    )  # nothing that was seen then happened otherwise
    assert f"{name}-after" in since.body.decode() and "ERROR" not in since.body.decode()


def test_an_upload_to_a_full_disk_is_refused_in_words_and_leaves_nothing(demo: Demo) -> None:
    traces = demo.data_dir / "traces"
    before = set(traces.glob("*"))
    broken = Failing(demo)
    try:
        answer = demo.ask("POST", "/viz/v1/traces/import", b"x" * (4 * INDEX_BYTES))
        status, told = answer.status, json.loads(answer.read())
    finally:
        broken.heal()
    assert (status, told["message"]) == (507, "the upload cannot be kept: File too large")
    assert set(traces.glob("*")) == before
    until(lambda: Api(demo, demo.data_dir.parent).get("/readyz"), 200)
    assert demo.get("/viz/v1/traces").status == 200


def test_the_end_leaves_no_log_beside_the_database(tmp_path: Path) -> None:
    with Demo(tmp_path / "data", "--nodes", "1", driver=REAL) as demo:
        demo.process.terminate()
        assert demo.errors() == ""
    assert [path.name for path in (tmp_path / "data").glob("store*")] == ["store.sqlite3"]
