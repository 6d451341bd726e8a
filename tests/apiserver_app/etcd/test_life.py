"""etcd is stopped and started: who waits and how it ends, what goes on, and what comes back.

Codes, messages and how long each request waited were recorded of kube-apiserver 1.33.4 whose etcd
3.5.21 was killed.
"""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.etcd import lease as leases
from apiserver_app.machinery.kernel import SECOND
from lifecycle.etcdctl import processes
from lifecycle.hosting.scripted import Answer, Session, default_inputs
from tests.apiserver_app.cluster import CONFIGMAPS, DEPLOYMENTS, configmap, server_session
from tests.sim.test_story import deployment

GAVE_UP = "Timeout: request did not complete within requested timeout - context deadline exceeded"
ALLOTTED = "Timeout: request did not complete within the allotted timeout"
CLUSTER = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
PATCH = {"content-type": "application/merge-patch+json"}
REVIEW = "/apis/authentication.k8s.io/v1/selfsubjectreviews"


def stopped(session: Session) -> int:
    """Stop etcd; the seq of what was recorded last before."""
    session.cluster.context.etcd.stop()
    return session.cluster.recorder.seq


def took(session: Session, since: int) -> float:
    """Seconds from the script's only request behind `since` to its answer."""
    records = [record for record in session.records() if record["seq"] > since]
    [asked] = [r for r in records if r["kind"] == "request" and r["client"] == "script/1"]
    [told] = [r for r in records if r["kind"] == "response" and r["span"] == asked["seq"]]
    return float(told["t"] - asked["t"]) / 1e6


@pytest.mark.parametrize(
    ("method", "path", "body", "seconds"),
    [
        ("POST", CONFIGMAPS, configmap("b"), 34),
        ("POST", f"{CONFIGMAPS}?dryRun=All", configmap("b"), 34),
        ("POST", f"{CONFIGMAPS}?timeout=50s", configmap("b"), 34),
        ("PUT", f"{CONFIGMAPS}/a", {**configmap("a"), "data": {"x": "y"}}, 34),
        ("PATCH", f"{CONFIGMAPS}/a", {"data": {"x": "y"}}, 34),
        ("DELETE", f"{CONFIGMAPS}/a", None, 34),
        ("DELETE", CONFIGMAPS, None, 34),
        ("POST", f"{CONFIGMAPS}?timeout=5s", configmap("b"), 5),
        ("GET", f"{CONFIGMAPS}?timeout=5s", None, 5),
        ("GET", f"{CONFIGMAPS}?timeout=90s", None, 60),
        ("GET", f"{CONFIGMAPS}/a", None, 60),
        ("GET", CONFIGMAPS, None, 60),
        ("GET", f"{CONFIGMAPS}?limit=500", None, 60),
    ],
)
def test_who_needs_it_waits_and_is_told_that_the_time_is_over(
    method: str, path: str, body: Any, seconds: int
) -> None:
    session = server_session()
    session.request("POST", CONFIGMAPS, configmap("a"))
    since, revision = stopped(session), session.cluster.store.revision

    headers = PATCH if method == "PATCH" else None
    answer = session.request(method, path, body, headers=headers, settle=False)
    session.wait(seconds + 1)

    assert answer.status == 504 and int(took(session, since)) == seconds
    told = answer.json()
    assert (told["reason"], told["code"], told["details"]) == ("Timeout", 504, {})
    if seconds == 34:
        assert (told["kind"], told["message"]) == ("Status", GAVE_UP)
        assert ("Content-Type", "application/json") in answer.headers
    else:  # the filter around the handler
        assert "kind" not in told and told["message"] == ALLOTTED
        assert ("Content-Type", "text/plain; charset=utf-8") in answer.headers
        assert answer.text.endswith(b"}\n")
    assert session.cluster.store.revision == revision


def test_the_gate_that_refuses_is_etcd_and_the_others_were_passed() -> None:
    session = server_session()
    since = stopped(session)
    session.request("POST", CONFIGMAPS, configmap("b"), settle=False)
    session.wait(35)
    records = [record for record in session.records() if record["seq"] > since]
    [asked] = [r for r in records if r["kind"] == "request" and r["client"] == "script/1"]
    gates = [r for r in records if r["kind"] == "gate" and r["span"] == asked["seq"]]
    verdicts = [(gate["gate"], gate["verdict"]) for gate in gates if gate["gate"] != "audit"]
    assert verdicts[-1] == ("etcd", "deny")
    assert gates[-1]["detail"]["end"] == "unreached" and gates[-1]["detail"]["call"] == "Create"
    assert {"authentication", "authorization", "mutating", "validation"} <= {g for g, _ in verdicts}
    assert all(verdict != "deny" for _, verdict in verdicts[:-1])


def test_what_the_watch_cache_has_is_still_served() -> None:
    session = server_session()
    session.request("POST", CONFIGMAPS, configmap("a"))
    watch: Answer = session.request("GET", f"{CONFIGMAPS}?watch=true")
    stopped(session)

    for path in (f"{CONFIGMAPS}/a?resourceVersion=0", f"{CONFIGMAPS}?resourceVersion=0"):
        assert session.request("GET", path, settle=False).status == 200
    assert session.request("GET", "/apis", settle=False).status == 200
    assert session.request("POST", REVIEW, {}, settle=False).status == 201
    another = session.request("GET", f"{CONFIGMAPS}?watch=true", settle=False)
    assert b'"name":"a"' in another.text
    session.wait(90)
    assert not watch.done and not another.done
    assert b'"type":"ERROR"' not in watch.text

    session.cluster.context.etcd.start()
    session.request("POST", CONFIGMAPS, configmap("late"))
    assert b'"name":"late"' in watch.text and b'"name":"late"' in another.text


def test_who_waits_goes_on_when_it_is_back_and_only_one_update_wins() -> None:
    session = server_session()
    session.request("POST", CONFIGMAPS, configmap("a"))
    stopped(session)
    waiting = [session.send("POST", CONFIGMAPS, configmap("b")), session.send("GET", CONFIGMAPS)]
    stale = session.request("GET", f"{CONFIGMAPS}/a?resourceVersion=0", settle=False).json()
    rivals = [
        session.send("PUT", f"{CONFIGMAPS}/a", {**stale, "data": {"by": str(n)}}) for n in range(3)
    ]
    end = session.cluster.kernel.now + 10 * SECOND
    while session.cluster.kernel.now < end:
        session.host.run_slice(0.0)
        session.host.commit()
    assert [answer.status for answer in (*waiting, *rivals)] == [0] * 5

    session.cluster.context.etcd.start()
    session.settle()

    assert [answer.status for answer in waiting] == [201, 200]
    assert sorted(answer.status for answer in rivals) == [200, 409, 409]


@pytest.mark.parametrize("root", ["readyz", "livez", "healthz"])
def test_the_server_is_not_ready_and_says_by_which_check(root: str) -> None:
    session = server_session()
    assert session.request("GET", f"/{root}").status == 200
    stopped(session)

    told = session.request("GET", f"/{root}", settle=False)
    text = told.text.decode()
    assert told.status == 500 and text.endswith(f"{root} check failed\n")
    assert "[-]etcd failed: reason withheld\n" in text
    assert ("[-]etcd-readiness failed: reason withheld\n" in text) == (root == "readyz")
    assert text.count("[-]") == (2 if root == "readyz" else 1)
    alone = session.request("GET", f"/{root}/etcd", settle=False)
    why = "error getting data from etcd: context deadline exceeded"
    assert (alone.status, alone.text.decode()) == (500, f"internal server error: {why}\n")
    status = session.request("GET", "/api/v1/componentstatuses/etcd-0", settle=False).json()
    unhealthy = {"type": "Healthy", "status": "False", "error": "context deadline exceeded"}
    assert status["conditions"] == [unhealthy]

    session.cluster.context.etcd.start()
    assert session.request("GET", f"/{root}").text == b"ok"


def test_leaders_lose_their_lease_and_lead_again_and_nothing_is_lost() -> None:
    session = Session(default_inputs(nodes=2))
    session.request("POST", DEPLOYMENTS, deployment("web"))
    session.wait(30)
    revision, since = session.cluster.store.revision, stopped(session)
    session.wait(120)
    assert session.cluster.store.revision == revision
    ended = {
        (record["name"], record["detail"]["why"])
        for record in session.records()
        if record["seq"] > since and record.get("state") == "failed"
    }
    assert ("scheduler", "LeadershipLost: leaderelection lost") in ended
    assert ("replicaset", "controllermanager has ended") in ended

    since = session.cluster.recorder.seq
    session.cluster.context.etcd.start()
    session.wait(120)

    leading = [
        record["name"]
        for record in session.records()
        if record["seq"] > since and record.get("state") == "leading"
    ]
    assert sorted(leading) == ["controllermanager", "kube-scheduler"]
    session.request("PATCH", f"{DEPLOYMENTS}/web", {"spec": {"replicas": 5}}, headers=PATCH)
    session.wait(30)
    assert session.request("GET", f"{DEPLOYMENTS}/web").json()["status"]["readyReplicas"] == 5
    for node in session.request("GET", "/api/v1/nodes").json()["items"]:
        ready = [c for c in node["status"]["conditions"] if c["type"] == "Ready"]
        assert ready[0]["status"] == "True" and "taints" not in node["spec"]


def test_a_lease_does_not_expire_meanwhile_and_begins_anew() -> None:
    session = server_session()
    etcd = session.cluster.etcd
    lease = processes.console(etcd, "etcdctl lease grant 30")["output"].split()[1]
    processes.console(etcd, f"etcdctl put held by --lease={lease}")
    session.wait(20)
    stopped(session)
    session.wait(300)
    refused = processes.console(etcd, "etcdctl get held")
    assert (refused["exit_code"], refused["output"]) == (1, "")
    assert "context deadline exceeded" in refused["errors"]

    session.cluster.context.etcd.start()
    session.wait(25)
    assert processes.console(etcd, "etcdctl get held")["output"] == "held\nby\n"
    session.wait(10)
    assert processes.console(etcd, "etcdctl get held")["output"] == ""


def test_a_worker_that_is_started_again_has_it_running_and_says_so() -> None:
    session = server_session()
    stopped(session)
    session.settle()
    session.restart()
    session.settle()
    told = [record["state"] for record in session.records() if record.get("name") == "etcd"]
    assert told == ["stopped", "starting"]
    assert session.request("POST", CONFIGMAPS, configmap("b")).status == 201


def test_a_lease_whose_client_keeps_it_alive_is_renewed_when_it_is_back() -> None:
    session = server_session()
    etcd = session.cluster.etcd
    lease = processes.console(etcd, "etcdctl lease grant 30")["output"].split()[1]
    processes.console(etcd, f"etcdctl put held by --lease={lease}")
    leases.keep_alive(etcd, int(lease, 16))
    stopped(session)
    session.wait(100)

    session.cluster.context.etcd.start()
    session.wait(100)
    assert processes.console(etcd, "etcdctl get held")["output"] == "held\nby\n"
    leases.let_go(etcd, int(lease, 16))
    session.wait(50)
    assert processes.console(etcd, "etcdctl get held")["output"] == ""
