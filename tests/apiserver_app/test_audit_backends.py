"""Events as lines of text, cut ones, lists for a webhook; what is put aside of the log's file."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import orjson
import pytest

from apiserver_app import flags
from apiserver_app.egress import outbound
from apiserver_app.machinery.kernel import SECOND
from lifecycle.hosting.scripted import Session, default_inputs
from lifecycle.hosting.worker import auditlog
from tests.apiserver_app.cluster import CONFIGMAPS, configmap, server_session
from tests.apiserver_app.test_audit import HEAD, Log

ADMIN = """
omitStages: [RequestReceived]
rules:
- level: RequestResponse
  users: [kubernetes-admin]
"""
KUBECONFIG = """
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: "https://127.0.0.1:9/audit"}}]
users: [{name: u, user: {token: t}}]
contexts: [{name: x, context: {cluster: c, user: u}}]
current-context: x
"""


class Service:
    """A service that events are sent to; down as often as it is told."""

    def __init__(self, *more: str, failures: int = 0, policy: str = ADMIN) -> None:
        files = {"p": HEAD + policy, "k": KUBECONFIG}
        arguments = ["audit-policy-file=p", "audit-webhook-config-file=k", *more]
        given = flags.parse(arguments, files.__getitem__)
        self.failures = failures
        self.lists: list[dict[str, Any]] = []
        self.times: list[int] = []
        self.tries = 0
        self.session = server_session(flags=given)
        audit = self.session.cluster.context.audit
        assert audit is not None
        backend: Any = audit.backends[0]
        backend.call = self.answer
        self.backend = backend

    async def answer(self, call: outbound.Call) -> outbound.Answer:
        self.tries += 1
        if self.tries <= self.failures:
            raise outbound.CallFailed('Post "https://127.0.0.1:9/audit": connection refused')
        assert call.headers["Authorization"] == "Bearer t"
        self.lists.append(orjson.loads(call.body))
        self.times.append(self.session.cluster.kernel.now)
        return outbound.Answer(200, {}, b"", "127.0.0.1:9")

    def request(self, count: int = 1) -> int:
        status = 0
        for number in range(count):
            made = self.session.request("POST", CONFIGMAPS, configmap(f"m{number}"))
            status = made.status
        return status

    def told(self) -> list[dict[str, Any]]:
        records = self.session.records()
        return [record for record in records if record.get("name") == "audit-webhook"]


def test_events_are_gathered_for_half_a_minute_and_sent_as_a_list() -> None:
    service = Service()
    service.request(3)
    assert service.lists == []
    service.session.wait(31)
    [sent] = service.lists
    assert (sent["kind"], sent["apiVersion"]) == ("EventList", "audit.k8s.io/v1")
    assert [item["objectRef"]["name"] for item in sent["items"]] == ["m0", "m1", "m2"]
    [record] = service.told()
    assert (record["state"], record["detail"]["events"], record["detail"]["tries"]) == (
        "synced",
        3,
        1,
    )


def test_a_full_list_is_sent_at_once_and_lists_are_spread_out() -> None:
    service = Service(
        "audit-webhook-batch-max-size=2",
        "audit-webhook-batch-throttle-qps=1",
        "audit-webhook-batch-throttle-burst=1",
    )
    service.request(6)
    service.session.wait(5)
    assert [len(one["items"]) for one in service.lists] == [2, 2, 2]
    first, second, third = service.times
    assert second - first > 0.9 * SECOND and third - second > 0.9 * SECOND


def test_who_is_away_is_asked_five_times_and_then_the_events_are_lost() -> None:
    service = Service(failures=4)
    service.request()
    service.session.wait(32)
    assert service.tries == 1
    service.session.wait(10 + 15 + 22.5 + 33.75)
    assert (service.tries, len(service.lists)) == (5, 1)

    lost = Service("audit-webhook-initial-backoff=1s", failures=9)
    lost.request()
    lost.session.wait(60)
    [record] = lost.told()
    assert (record["state"], record["detail"]["events"]) == ("failed", 1)
    assert "connection refused" in record["detail"]["why"]
    assert (lost.tries, lost.backend.errors) == (5, 1)


def test_what_finds_no_place_to_wait_is_lost() -> None:
    service = Service("audit-webhook-batch-buffer-size=2")
    service.request(3)
    assert service.backend.errors == 1


def test_a_mode_that_blocks_sends_before_it_answers_and_the_strict_refuses() -> None:
    blocking = Service("audit-webhook-mode=blocking")
    assert blocking.request() == 201
    assert len(blocking.lists) == 1
    strict = Service(
        "audit-webhook-mode=blocking-strict",
        "audit-webhook-initial-backoff=1ms",
        failures=999,
        policy="rules: [{level: Metadata, users: [kubernetes-admin]}]",
    )
    answer = strict.session.request("POST", CONFIGMAPS, configmap("x"))
    assert (answer.status, b"failed to store audit event" in answer.text) == (500, True)


def test_the_old_format_is_one_line_of_text() -> None:
    log = Log(HEAD + ADMIN, "audit-log-format=legacy")
    log.session.request("GET", f"{CONFIGMAPS}/a", headers={"audit-id": "my-id"})
    [line] = log.lines
    text = line.decode()
    assert ' AUDIT: id="my-id" stage="ResponseComplete" ip=' in text
    assert text.endswith(
        'method="get" user="kubernetes-admin" groups="\\"system:masters\\",'
        '\\"system:authenticated\\"" as="<self>" asgroups="<lookup>" user-agent="script/1" '
        f'namespace="default" uri="{CONFIGMAPS}/a" response="404"'
    )


def test_what_is_too_big_loses_its_objects_first() -> None:
    log = Log(HEAD + ADMIN, "audit-log-truncate-enabled", "audit-log-truncate-max-event-size=2000")
    [event] = log.of("POST", CONFIGMAPS, configmap("big", x="y" * 2000))
    assert event["annotations"]["audit.k8s.io/truncated"] == "true"
    assert "requestObject" not in event and "responseObject" not in event
    [event] = log.of("POST", CONFIGMAPS, configmap("small"))
    assert "requestObject" in event


def test_the_log_names_deprecated_kinds_and_issued_tokens() -> None:
    log = Log(HEAD + ADMIN)
    [event] = log.of("GET", "/api/v1/componentstatuses")
    assert event["annotations"]["k8s.io/deprecated"] == "true"
    path = "/api/v1/namespaces/default/serviceaccounts/default/token"
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {}}
    [event] = log.of("POST", path, body)
    issued = event["annotations"]["authentication.kubernetes.io/issued-credential-id"]
    assert issued.startswith("JTI=")


@pytest.mark.parametrize(
    ("argument", "said"),
    [
        ("audit-log-format=xml", 'invalid audit log format xml, allowed formats are "legacy,json"'),
        ("audit-log-maxage=-1", "--audit-log-maxage -1 can't be a negative number"),
        (
            "audit-log-mode=never",
            'invalid audit log mode never, allowed modes are "batch,blocking,blocking-strict"',
        ),
        ("audit-log-version=v2", 'invalid group version, allowed versions are ["audit.k8s.io/v1"]'),
        (
            "audit-webhook-batch-max-size=0",
            "invalid audit batch webhook max batch size 0, must be a positive number",
        ),
    ],
)
def test_what_cannot_be_ends_the_start(argument: str, said: str) -> None:
    files = {"k": KUBECONFIG}.__getitem__
    given = flags.parse(["audit-log-path=-", "audit-webhook-config-file=k", argument], files)
    with pytest.raises(flags.FlagError) as refused:
        Session(default_inputs(nodes=0, flags=given))
    assert str(refused.value) == said


# -- the file ------------------------------------------------------------------------------------

DAY = 86_400 * SECOND


def test_a_full_file_is_put_aside_with_its_time_and_old_ones_are_forgotten(tmp_path: Path) -> None:
    now = [1_735_689_600 * SECOND]
    file = auditlog.File(
        tmp_path / "audit.log", lambda: now[0], megabytes=1, backups=2, days=3, compress=True
    )
    for _ in range(3):
        file.write([b"x" * 900_000])
        now[0] += DAY
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [
        "audit-2025-01-02T00-00-00.000.log.gz",
        "audit-2025-01-03T00-00-00.000.log.gz",
        "audit.log",
    ]
    assert gzip.decompress((tmp_path / names[0]).read_bytes()) == b"x" * 900_000 + b"\n"
    now[0] += 10 * DAY
    file.write([b"x" * 900_000])
    assert sorted(path.name for path in tmp_path.iterdir())[:-1] == [
        "audit-2025-01-14T00-00-00.000.log.gz"
    ]
