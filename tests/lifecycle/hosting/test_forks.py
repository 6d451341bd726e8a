"""Forks of a real cluster, over REST and with the real kubectl."""

from __future__ import annotations

import functools
import json
import os
import signal
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from lifecycle.hosting import backup
from tests.conformance import kubectl as kubectls
from tests.conformance.kubectl import PATIENTLY, Kubectl
from tests.lifecycle.hosting.running import REAL, WAIT_SECONDS, Demo, wait_for_end
from tests.suite import waiting

SECOND = 1_000_000  # of virtual time
EARLY = 300  # a record of the start: what leads to it is run again in no time


def call(demo: Demo, method: str, path: str, body: Any = None) -> tuple[int, dict[str, Any]]:
    data = b"" if body is None else json.dumps(body).encode()
    where = f"/viz/v1/clusters/{path}".rstrip("/")
    answer = demo.ask(method, where, data, Content_Type="application/json")
    text = answer.read()
    return answer.status, json.loads(text) if text else {}


def get(demo: Demo, path: str) -> dict[str, Any]:
    status, answer = call(demo, "GET", path)
    assert status == 200, answer
    return answer


def until(what: str, found: Callable[[], Any]) -> Any:
    """To ask takes as long as a slice of what is waited for."""
    return waiting.until(found, what=what, every=0.1)


def forks(demo: Demo) -> list[dict[str, Any]]:
    return list(get(demo, "demo/forks")["forks"])


def made(demo: Demo, **wanted: Any) -> dict[str, Any]:
    """A fork that is ready."""
    status, fork = call(demo, "POST", "demo/forks", wanted)
    assert status == 201, fork

    def ready() -> dict[str, Any] | None:
        now: dict[str, Any] = next(one for one in forks(demo) if one["name"] == fork["name"])
        assert now["state"] != "failed", now
        return now if now["state"] == "ready" else None

    return dict(until("the fork is ready", ready))


def control(demo: Demo, cluster: str, action: str, **more: Any) -> dict[str, Any]:
    status, state = call(demo, "POST", f"{cluster}/control", {"action": action, **more})
    assert status == 200, state
    return state


def is_ready(demo: Demo, cluster: str) -> bool:
    return bool(get(demo, cluster)["ready"])


def rows(demo: Demo) -> set[str]:
    """The clusters that the store knows, also those that are to be deleted."""
    with sqlite3.connect(demo.data_dir / "store.sqlite3") as store:
        return {name for (name,) in store.execute("SELECT name FROM apiserver_app_cluster")}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    """A cluster whose own pods run, paused: its records are as they are."""
    with Demo(tmp_path_factory.mktemp("demo") / "data", driver=REAL) as demo:
        admin = Kubectl(kubectls.newest(), demo.data_dir, demo.data_dir)
        uploaded = ("get", "configmap", "kubeadm-config", "--ignore-not-found", "-o", "name")
        admin.until(bool, "-n", "kube-system", *uploaded)
        admin("-n", "kube-system", "rollout", "status", "deployment/coredns", PATIENTLY)
        admin("create", "deployment", "web", "--image=nginx", "--replicas=2")
        admin("rollout", "status", "deployment/web", PATIENTLY)
        admin("create", "deployment", "one", "--image=nginx")
        admin("rollout", "status", "deployment/one", PATIENTLY)
        begun = control(demo, "demo", "speed", speed=20)["now"]
        until("twelve seconds pass", lambda: get(demo, "demo")["now"] > begun + 12 * SECOND)
        control(demo, "demo", "pause")
        yield demo


@pytest.fixture
def demo(served: Demo) -> Iterator[Demo]:
    yield served
    for fork in forks(served):
        assert call(served, "DELETE", fork["name"]) == (204, {})


def kubectl_of(demo: Demo, cluster: str, home: Path) -> Kubectl:
    """The real program, whose kubeconfig leads to one of several clusters."""
    kubectl = Kubectl(kubectls.newest(), demo.data_dir, home)
    config = yaml.safe_load(kubectl.config.read_text())
    config["clusters"][0]["cluster"]["server"] += f"/clusters/{cluster}"
    kubectl.config = home / cluster
    kubectl.config.write_text(yaml.safe_dump(config))
    return kubectl


def test_a_fork_is_ready_paused_at_its_moment(demo: Demo) -> None:
    state = get(demo, "demo")
    seq = state["seq"] - 200
    fork = made(demo, seq=seq, title="what if")
    assert (fork["cluster"], fork["title"], fork["done"]) == ("demo", "what if", 1.0)
    assert seq <= fork["seq"] <= seq + 100 and fork["seed"] == state["seed"]
    assert (fork["how"], fork["why"]) == ("rerun", "")
    forked = get(demo, fork["name"])
    assert (forked["mode"], forked["frozen"], forked["now"]) == ("paused", True, fork["t"])
    records = [
        get(demo, f"{name}/records?from={seq - 99}&limit=100")["records"]
        for name in ("demo", fork["name"])
    ]
    assert records[0] == records[1] and records[0][-1]["t"] == fork["t"]
    assert [cluster["cluster"] for cluster in get(demo, "")["clusters"]] == ["demo", fork["name"]]


def after(demo: Demo, cluster: str, seq: int, until: int, shift: int = 0) -> list[dict[str, Any]]:
    """The records behind one up to a time; numbers of records as if `shift` had not been there."""
    found: list[dict[str, Any]] = []
    following: int | None = seq + 1
    while following:
        answer = get(demo, f"{cluster}/records?from={following}")
        found += answer["records"]
        following = answer["next"]
    for one in found:
        for name in ("seq", "span", "parent"):
            if one.get(name, 0) > seq:
                one[name] -= shift
    return [record for record in found[shift:] if record["t"] <= until]


def test_an_exact_fork_that_is_not_changed_goes_on_as_its_cluster_did(demo: Demo) -> None:
    records = after(demo, "demo", 0, 1 << 60)
    set_off = next(
        record for record in records if record["kind"] == "clock"
    )  # nobody asks for more then
    fork = made(demo, seq=set_off["seq"])
    assert (fork["how"], fork["why"]) == ("rerun", "")
    control(demo, fork["name"], "resume")
    end = fork["t"] + 10 * SECOND
    until("ten seconds pass in the fork", lambda: get(demo, fork["name"])["now"] > end)
    control(demo, fork["name"], "pause")
    ours = after(demo, fork["name"], fork["seq"], end, shift=1)  # of the record of the resume
    assert ours == after(demo, "demo", fork["seq"], end)
    assert len(ours) > 50
    compared = get(demo, f"{fork['name']}/comparison")
    assert compared["differences"] == [] and compared["first"] is None and compared["more"] == 0
    assert (compared["from"], compared["until"] > 9 * SECOND) == (fork["seq"], True)


def test_a_taint_sends_the_pod_to_another_node_and_the_comparison_names_it(demo: Demo) -> None:
    records = after(demo, "demo", 0, 1 << 60)
    created = next(
        record
        for record in records
        if record["kind"] == "write"
        and (record["resource"], record["name"]) == ("deployments.apps", "one")
    )
    pods = get(demo, "demo/objects?prefix=/registry/pods/default/one-")["objects"]
    [pod] = pods.values()
    before = pod["spec"]["nodeName"]
    fork = made(demo, seq=created["seq"])
    taint = {"key": "mine", "value": "x", "effect": "NoSchedule"}
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": before},
        "spec": {"taints": [taint]},
    }
    _, answer = call(demo, "POST", f"{fork['name']}/apply?server-side=true", node)
    assert answer["results"][0]["code"] == 200
    control(demo, fork["name"], "resume")
    later = fork["t"] + 3 * SECOND
    until("three seconds pass in the fork", lambda: get(demo, fork["name"])["now"] > later)
    control(demo, fork["name"], "pause")
    compared = get(demo, f"{fork['name']}/comparison")
    first = compared["first"]
    assert (first["kind"], first["what"], first["there"]) == ("Pod", "spec.nodeName", before)
    assert first["here"] not in (before, None) and first["here"].startswith("node-")
    assert 0 < first["after"] < SECOND and first["name"].startswith("one-")
    asked = [difference for difference in compared["differences"] if difference["asked"]]
    assert {(one["kind"], one["name"]) for one in asked} == {("Node", before)}
    for name, seq in (("demo", first["seq_there"]), (fork["name"], first["seq_here"])):
        [written] = get(demo, f"{name}/records?from={seq}&limit=1")["records"]
        assert (written["kind"], written["resource"]) == ("write", "pods")


def test_another_seed_gives_another_future(demo: Demo) -> None:
    fork = made(demo, seq=get(demo, "demo")["seq"], seed=77)
    assert (fork["seed"], get(demo, fork["name"])["seed"], fork["how"]) == (77, 77, "rerun")


def test_a_fork_of_a_cluster_that_is_starting_starts_to_the_end(demo: Demo) -> None:
    fork = made(demo, seq=EARLY)
    assert (fork["how"], get(demo, fork["name"])["ready"]) == ("rerun", False)
    control(demo, fork["name"], "speed", speed="max")
    control(demo, fork["name"], "resume")
    until("the fork has started", lambda: get(demo, fork["name"])["ready"])


def test_a_fork_that_is_being_made_can_be_removed(demo: Demo) -> None:
    seq = get(demo, "demo")["seq"]
    names = [call(demo, "POST", "demo/forks", {"seq": seq})[1]["name"] for _ in range(5)]
    status, answer = call(demo, "GET", f"{names[4]}/comparison")  # four are made before it
    assert (status, "is being made" in answer["detail"]) == (400, True)
    for name in reversed(names):
        assert call(demo, "DELETE", name) == (204, {})
    assert forks(demo) == []
    assert call(demo, "GET", "demo/comparison") == (404, {"detail": 'there is no fork "demo"'})


def test_a_fork_begins_at_a_revision(demo: Demo) -> None:
    revision = get(demo, "demo")["revision"] - 10
    fork = made(demo, revision=revision)
    assert revision <= fork["revision"] <= revision + 5  # what its last step wrote besides
    last = after(demo, "demo", fork["seq"] - 20, fork["t"])
    assert max(record["rev"] for record in last if record["kind"] == "write") >= revision


def test_a_fork_begins_with_the_bookmarks_of_before_its_moment_and_has_its_own(demo: Demo) -> None:
    last = get(demo, "demo")["seq"]
    marks = [{"seq": seq, "t": 0, "title": f"record {seq}"} for seq in (1, last - 1, last)]
    assert call(demo, "PUT", "demo/bookmarks", {"bookmarks": marks})[0] == 200

    name = made(demo, seq=last - 1)["name"]

    assert get(demo, f"{name}/bookmarks") == {"bookmarks": marks[:2]}
    own = {"bookmarks": [{"seq": 2, "t": 0, "title": "mine"}]}
    assert call(demo, "PUT", f"{name}/bookmarks", own) == (200, own)
    assert get(demo, f"{name}/bookmarks") == own
    assert get(demo, "demo/bookmarks") == {"bookmarks": marks}
    ahead = {"bookmarks": [{"seq": last + 10_000, "t": 0, "title": "ahead"}]}
    assert call(demo, "PUT", f"{name}/bookmarks", ahead)[0] == 400
    assert call(demo, "PUT", "demo/bookmarks", {"bookmarks": []})[0] == 200


def test_the_real_kubectl_changes_a_fork_and_nothing_else(demo: Demo, tmp_path: Path) -> None:
    """What is sent while it is paused is done before the fork goes on, and nothing else is."""
    fork = made(demo, seq=get(demo, "demo")["seq"])
    name = fork["name"]
    kubectl = kubectl_of(demo, name, tmp_path)
    assert kubectl("create", "configmap", "only-here") == "configmap/only-here created\n"
    assert kubectl("taint", "node", "node-1", "mine=x:NoSchedule") == "node/node-1 tainted\n"
    assert "only-here" in kubectl("get", "configmaps", "-o", "name")
    state = get(demo, name)
    assert (state["mode"], state["frozen"], state["waiting"]) == ("paused", True, 0)
    assert state["revision"] == fork["revision"] + 2
    assert state["now"] == fork["t"]
    begun = get(demo, f"{name}/records?from={fork['seq'] + 1}")["records"]
    assert all(one["outside"] for one in begun if one["kind"] == "request")
    assert not [record for record in begun if record["kind"] in ("work", "done")]
    control(demo, name, "resume")
    kubectl("scale", "deployment/web", "--replicas=3")
    kubectl("rollout", "status", "deployment/web", PATIENTLY)
    assert len(kubectl("get", "pods", "-l", "app=web", "-o", "name").split()) == 3
    keys = get(demo, "demo/objects?prefix=/registry/configmaps/default/")["objects"]
    assert "/registry/configmaps/default/only-here" not in keys
    control(demo, name, "pause")
    assert get(demo, name)["mode"] == "paused"


@pytest.mark.parametrize(
    ("wanted", "status", "why"),
    [
        ({}, 400, 'either "seq" or "revision"'),
        ({"seq": 5, "revision": 5}, 400, 'either "seq" or "revision"'),
        ({"seq": "x"}, 400, "A valid integer is required."),
        ({"seq": 0}, 400, "seq must be a number from 1 on"),
        ({"seq": 10**9}, 400, "seq 1000000000 lies ahead: the cluster is at "),
        ({"revision": 10**9}, 400, "revision 1000000000 lies ahead: the cluster is at "),
        ({"seq": 5, "seed": -1}, 400, "greater than or equal to 0"),
        ({"seq": 2**70}, 400, "64 bits"),
        ({"seq": 5, "title": "x" * 101}, 400, "100 characters"),
    ],
)
def test_a_moment_that_there_is_not_is_refused_in_words(
    demo: Demo, wanted: dict[str, Any], status: int, why: str
) -> None:
    code, answer = call(demo, "POST", "demo/forks", wanted)
    assert code == status and why in json.dumps(answer, ensure_ascii=False).replace('\\"', '"')
    assert forks(demo) == []


def test_five_are_kept_and_only_forks_are_removed(demo: Demo) -> None:
    names = [call(demo, "POST", "demo/forks", {"seq": EARLY})[1]["name"] for _ in range(5)]
    assert call(demo, "POST", "demo/forks", {"seq": EARLY}) == (
        400,
        {"detail": "there are 5 forks already: remove one first"},
    )
    until("all are ready", lambda: {fork["state"] for fork in forks(demo)} == {"ready"})
    assert call(demo, "POST", f"{names[0]}/forks", {"seq": 5}) == (
        400,
        {"detail": f'"{names[0]}" is a fork itself: fork "demo"'},
    )
    assert call(demo, "DELETE", "demo") == (
        400,
        {"detail": '"demo" is the cluster that is served here, and no fork'},
    )
    assert call(demo, "DELETE", "nope") == (404, {"detail": 'there is no cluster "nope"'})
    assert call(demo, "POST", f"{names[0]}/control", {"action": "reset"})[0] == 400
    assert call(demo, "DELETE", names[2]) == (204, {})
    assert call(demo, "GET", names[2])[0] == 404
    assert demo.get(f"/clusters/{names[2]}/version").status == 404
    assert [fork["name"] for fork in forks(demo)] == [name for name in names if name != names[2]]


def test_a_copy_begins_anew_runs_at_once_and_uses_up_no_forks(demo: Demo) -> None:
    kept = [made(demo, seq=EARLY)["name"] for _ in range(5)]
    control(demo, "demo", "speed", speed=1)  # at which its copies will run
    copy = made(demo, anew=True)
    assert (copy["how"], copy["anew"], copy["seq"], copy["revision"]) == ("anew", True, 0, 0)
    assert get(demo, "demo")["stage"] == copy["name"]
    state = get(demo, copy["name"])
    assert (state["mode"], state["frozen"], state["untouched"]) == ("run", False, True)
    assert (state["seed"], get(demo, "demo")["untouched"]) == (get(demo, "demo")["seed"], False)
    prefix = "objects?prefix=/registry/deployments/"
    assert [*get(demo, f"{copy['name']}/{prefix}")["objects"]] == [
        "/registry/deployments/kube-system/coredns"
    ]
    begun = get(demo, f"{copy['name']}/records?from=1&limit=1")["records"][0]
    assert (begun["kind"], begun["t"]) == ("component", 0)

    others = [made(demo, anew=True, replaces=copy["name"])["name"]]
    assert copy["name"] not in {fork["name"] for fork in forks(demo)}
    others += [made(demo, anew=True)["name"] for _ in range(3)]

    assert [fork["name"] for fork in forks(demo)] == [*kept, *others[1:]]
    stages = ["demo", *others[1:]]
    assert [get(demo, name)["stage"] for name in stages] == [*[others[-1]] * 3, ""]
    assert call(demo, "POST", "demo/control", {"action": "stage"})[0] == 200
    assert [get(demo, name)["stage"] for name in stages] == ["", *["demo"] * 3]
    assert call(demo, "POST", f"{kept[0]}/control", {"action": "stage"})[0] == 200
    assert get(demo, "demo")["stage"] == "", "a fork that is no copy is nobody's stage"
    assert call(demo, "POST", f"{others[-1]}/control", {"action": "stage"})[0] == 200
    assert [get(demo, name)["stage"] for name in stages] == [*[others[-1]] * 3, ""]
    status, refused = call(demo, "GET", f"{others[-1]}/comparison")
    assert (status, refused["detail"]) == (
        400,
        f'"{others[-1]}" began anew: it has no moment in common with "demo"',
    )
    assert call(demo, "DELETE", others[-1]) == (204, {})
    assert get(demo, "demo")["stage"] == ""
    control(demo, "demo", "speed", speed=20)


def test_a_copy_is_forked_exactly_and_its_forks_end_with_it(demo: Demo) -> None:
    copy = made(demo, anew=True)["name"]
    control(demo, copy, "pause")
    seq = get(demo, copy)["seq"] - 500
    status, fork = call(demo, "POST", f"{copy}/forks", {"seq": seq})
    assert (status, fork["cluster"]) == (201, copy)

    def ready() -> dict[str, Any] | None:
        [one] = get(demo, f"{copy}/forks")["forks"]
        return dict(one) if one["state"] == "ready" else None

    one = until("the fork of the copy is ready", ready)
    assert (one["how"], one["why"]) == ("rerun", "")
    assert get(demo, f"{one['name']}/comparison")["differences"] == []

    assert call(demo, "DELETE", copy) == (204, {})

    assert [each["cluster"] for each in get(demo, "")["clusters"]] == ["demo"]


def test_whoever_follows_a_fork_is_sent_away_when_it_is_removed(demo: Demo) -> None:
    fork = made(demo, seq=EARLY)
    feed = demo.feed(f"/ws/v1/clusters/{fork['name']}/trace?from={fork['seq']}")
    assert feed.json()["hello"]["cluster"] == fork["name"]
    control(demo, fork["name"], "resume")
    while not any(record["kind"] == "control" for record in feed.json().get("records", ())):
        pass
    assert call(demo, "DELETE", fork["name"]) == (204, {})
    feed.close_code()
    feed.close()
    until("the store has no fork", lambda: rows(demo) == {"demo"})


def test_a_backup_holds_the_cluster_and_no_fork(demo: Demo, tmp_path: Path) -> None:
    made(demo, seq=EARLY)
    file, clusters = backup.write(demo.data_dir, tmp_path)
    assert clusters == {"demo": get(demo, "demo")["revision"]}
    assert backup.restore(file, tmp_path / "again") == clusters
    with Demo(tmp_path / "again", driver=REAL) as again:
        assert forks(again) == []
        until("the store has no fork", lambda: rows(again) == {"demo"})


def test_a_fork_in_the_middle_of_a_held_request_serves_it_to_its_end(
    demo: Demo, tmp_path: Path
) -> None:
    """Its client is the cluster's own; what it asked for comes about in the fork, too."""
    key = "/registry/configmaps/default/held"
    holds = {"id": "h", "kind": "gate", "gate": "mutating", "resource": "configmaps"}
    control(demo, "demo", "breakpoint", set=[holds])
    control(demo, "demo", "resume")
    waits = Kubectl(kubectls.newest(), demo.data_dir, tmp_path).open("create", "cm", "held")
    held = until("the request is held", lambda: get(demo, "demo")["held"])
    fork = made(demo, seq=get(demo, "demo")["seq"])
    name = fork["name"]
    assert (fork["how"], fork["why"], get(demo, name)["held"]) == ("rerun", "", held)
    control(demo, name, "breakpoint", set=[])
    control(demo, name, "resume")
    until("it is made", lambda: key in get(demo, f"{name}/objects?prefix={key}")["objects"])
    assert get(demo, f"demo/objects?prefix={key}")["objects"] == {}
    control(demo, "demo", "breakpoint", set=[])
    control(demo, "demo", "resume")
    assert waits.communicate(timeout=WAIT_SECONDS)[0] == "configmap/held created\n"
    control(demo, "demo", "pause")


def test_forks_end_with_their_worker_and_later_ones_begin_where_the_next_did(
    tmp_path: Path,
) -> None:
    with Demo(tmp_path / "data", "--nodes", "1", driver=REAL) as demo:
        before = get(demo, "demo")["seq"]
        fork = made(demo, seq=before)
        worker = demo.endpoints["worker_pid"]
        os.kill(worker, signal.SIGKILL)
        assert wait_for_end(worker)
        until("the cluster is ready", lambda: call(demo, "GET", "demo")[1].get("ready"))
        assert forks(demo) == []
        assert call(demo, "GET", fork["name"])[0] == 404
        until("the store has no fork", lambda: rows(demo) == {"demo"})
        older, newer = made(demo, seq=before), made(demo, seq=get(demo, "demo")["seq"])
        assert (older["how"], older["seq"]) == ("objects", before)
        assert "lies before the last start of the worker" in older["why"]
        assert (newer["how"], newer["why"]) == ("rerun", "")
        for one in (older, newer):
            control(demo, one["name"], "resume")
            until("the fork has started", functools.partial(is_ready, demo, one["name"]))
        assert len(forks(demo)) == 2
        control(demo, "demo", "reset")
        until("no fork is left", lambda: call(demo, "GET", "demo/forks")[1].get("forks") == [])


def test_a_token_is_shown_again_and_kept_nowhere(tmp_path: Path) -> None:
    """As fast as it goes, and in one process."""
    given = ("--nodes", "1", "--speed", "max", "--single-process")
    with Demo(tmp_path / "data", *given, driver=REAL) as demo:
        until("the cluster is ready", lambda: call(demo, "GET", "demo")[1].get("ready"))
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "t"}}
        assert call(demo, "POST", "demo/apply?as=token-user", pod)[1]["results"][0]["code"] != 401
        assert demo.get("/api/v1/pods", Authorization="Bearer planted").status == 401
        fork = made(demo, seq=get(demo, "demo")["seq"])
        assert (fork["how"], fork["why"]) == ("rerun", "")
        told = [
            (record["t"], record["verdict"], record["detail"])
            for name in ("demo", fork["name"])
            for record in after(demo, name, 0, fork["t"])
            if record["kind"] == "gate" and record["gate"] == "authentication"
        ]
        assert told[: len(told) // 2] == told[len(told) // 2 :]
    assert not any(b"planted" in file.read_bytes() for file in tmp_path.rglob("*.sqlite3*"))
