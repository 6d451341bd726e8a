"""Values that were planted are nowhere in what the page, the feed and saved files show."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from lifecycle.hosting.scripted import Session, default_inputs
from lifecycle.hosting.worker.control import Controls
from lifecycle.trace import storage
from tests.apiserver_app.cluster import APPLY, JSON_PATCH, MERGE

VALUE, BOOTSTRAP, QUERY, BEARER = (
    "Planted-0-secret",
    "planted0planted0",
    "planted-query",
    "planted-b",
)
SECRETS = "/api/v1/namespaces/default/secrets"
REVIEWS = "/apis/authentication.k8s.io/v1/tokenreviews"
APPLIED = "kubectl.kubernetes.io/last-applied-configuration"


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def secret(name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}, **more}


class Planted:
    """A cluster that was told values in every way there is, and what must not be seen."""

    def __init__(self) -> None:
        self.session = Session(default_inputs(nodes=1))
        self.live: list[bytes] = []
        self._catch_the_feed()
        self._plant()
        self.values = [VALUE, BOOTSTRAP, QUERY, BEARER, self.token]
        self.controls = Controls({"demo": self.session.host})

    def _catch_the_feed(self) -> None:
        commit = self.session.host.commit

        def caught(**how: Any) -> list[Any]:
            messages = commit(**how)
            self.live += [message[4] for message in messages if message[0] == "trace"]
            return messages

        self.session.host.commit = caught  # type: ignore[method-assign]

    def _plant(self) -> None:
        ask = self.session.request
        applied = orjson.dumps(secret("a", stringData={"x": VALUE})).decode()
        first = secret("a", data={"x": b64(VALUE)})
        first["metadata"]["annotations"] = {APPLIED: applied}
        ask("POST", SECRETS, first)
        ask("POST", SECRETS, secret("b", stringData={"x": VALUE}))
        ask("PUT", f"{SECRETS}/b", secret("b", stringData={"y": VALUE}))
        ask("PATCH", f"{SECRETS}/a", {"stringData": {"y": VALUE}}, headers=MERGE)
        ops = [{"op": "add", "path": "/data/z", "value": b64(VALUE)}]
        ask("PATCH", f"{SECRETS}/a", ops, headers=JSON_PATCH)
        body = secret("c", stringData={"x": VALUE})
        ask("PATCH", f"{SECRETS}/c?fieldManager=x", body, headers=APPLY)
        ask("POST", SECRETS, secret("Bad", stringData={"x": VALUE}))
        account = "/api/v1/namespaces/default/serviceaccounts/default/token"
        self.token: str = ask("POST", account, {"spec": {}}).json()["status"]["token"]
        review = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview"}
        ask("POST", REVIEWS, {**review, "spec": {"token": self.token}})
        ask("GET", SECRETS, headers={"authorization": f"Bearer {self.token}"}, user="")
        ask("GET", SECRETS, headers={"authorization": f"Bearer {BEARER}"}, user="")
        ask("GET", f"/api/v1/pods?access_token={QUERY}")
        ask("GET", f"/api/v1/pods?limit=1&access%5Ftoken={QUERY}")
        named = {"token-id": "abcdef", "token-secret": BOOTSTRAP}
        ask(
            "POST",
            "/api/v1/namespaces/kube-system/secrets",
            secret(
                "bootstrap-token-abcdef", type="bootstrap.kubernetes.io/token", stringData=named
            ),
        )
        ask("DELETE", f"{SECRETS}/b")

    def ask(self, action: str, **args: Any) -> bytes:
        return orjson.dumps(self.controls.handle("demo", action, args))

    def seen(self, shown: bytes) -> list[str]:
        """The planted values that can be read, as they are or encoded."""
        text = shown.decode().lower()
        return [
            value
            for value in self.values
            for form in (
                value,
                b64(value),
                b64(b64(value)),
                value.encode().hex(),
                b64(value).encode().hex(),
                orjson.dumps(b64(value)).hex(),
            )
            if form.lower() in text
        ]


@pytest.fixture(scope="module")
def planted() -> Iterator[Planted]:
    yield Planted()


def test_the_search_finds_what_is_there(planted: Planted) -> None:
    answer = planted.session.request("GET", f"{SECRETS}/a")
    assert planted.seen(answer.text) and not planted.seen(b"nothing")


def test_neither_the_feed_nor_saved_records_hold_a_value(planted: Planted) -> None:
    assert planted.seen(b",".join(planted.live)) == []
    kept = storage.read_bytes(planted.session.backend, 1, 10**9, 10**9)[0]
    assert planted.seen(kept) == []
    assert planted.seen(orjson.dumps(planted.session.records())) == []
    writes = [record for record in planted.session.records() if record.get("resource") == "secrets"]
    objects = [write["object"] for write in writes if write["kind"] == "write"]
    assert {"x": "<masked>"} in [item.get("data") for item in objects]


def test_the_objects_that_the_page_shows_hold_no_value(planted: Planted) -> None:
    assert planted.seen(planted.ask("objects", prefix="/registry/")) == []
    revision = planted.session.cluster.store.revision
    for name in "abc":
        key = f"/registry/secrets/default/{name}"
        for past in range(1, revision, 7):
            assert planted.seen(planted.ask("object_at", key=key, revision=past)) == []


def test_the_forms_of_requests_hold_no_value(planted: Planted) -> None:
    records = planted.session.records()
    asked = [
        record["seq"] for record in records if record["kind"] == "request" and record["outside"]
    ]
    forms = [planted.ask("forms", seq=seq) for seq in asked]
    assert planted.seen(b"".join(forms)) == []
    assert any(b"<masked>" in form for form in forms)


@pytest.mark.parametrize("how", ["simple", "json", "fields", "protobuf", "simple --hex"])
def test_the_console_shows_no_value(planted: Planted, how: str) -> None:
    for line in (
        f"get /registry/secrets --prefix -w {how}",
        f"get / --prefix --limit 300 -w {how}",
        f"put /registry/secrets/default/a --prev-kv {{}} -w {how}",
        f"del /registry/secrets/default/none --prev-kv -w {how}",
    ):
        assert planted.seen(planted.ask("console", command=f"etcdctl {line}")) == []


def test_what_a_command_writes_to_a_secret_is_not_told() -> None:
    session = Session(default_inputs(nodes=0))
    controls = Controls({"demo": session.host})
    value = orjson.dumps(secret("x", stringData={"a": VALUE})).decode()
    for line, stdin in (
        (f"etcdctl put /registry/secrets/default/x '{value}'", ""),
        ("etcdctl put /registry/secrets/default/x", value),
        (f"etcdctl --user root:{VALUE} get a", ""),
        (f"etcdctl --password={VALUE} get a", ""),
        ("etcdctl txn", f"\n\nput /registry/secrets/default/x '{value}'\n\n\n"),
    ):
        controls.handle("demo", "console", {"command": line, "stdin": stdin})
        session.settle()
    assert VALUE.encode() not in orjson.dumps(session.records())


def test_the_log_of_inputs_keeps_no_credential(planted: Planted) -> None:
    """What is in a Secret is stored by etcd beside it; who sent a request with what is not."""
    log = io.BytesIO()
    for row in planted.session.backend.inputs():
        log.write(row.data)
    kept = log.getvalue().decode(errors="replace")
    assert [one for one in (QUERY, BEARER, planted.token) if one in kept] == []
