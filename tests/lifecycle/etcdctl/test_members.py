"""The membership of etcd changes, and every member sees it."""

from __future__ import annotations

import orjson
import pytest

from tests.apiserver_app.cluster import started_session
from tests.lifecycle.etcdctl.test_console import Shell

SECOND = "https://10.0.0.12"


@pytest.fixture
def shell() -> Shell:
    return Shell(started_session())


def table(shell: Shell, *flags: str) -> list[list[str]]:
    lines = shell(" ".join(["member list", *flags])).splitlines()
    return [line.split(", ") for line in lines]


def test_a_member_is_unstarted_until_the_etcd_of_its_node_runs(shell: Shell) -> None:
    (first,) = table(shell)
    said = shell(f"member add node-2 --peer-urls={SECOND}:2380")

    assert " added to cluster " in said.splitlines()[0]
    assert f'ETCD_INITIAL_CLUSTER="node-1=https://10.0.0.11:2380,node-2={SECOND}:2380"' in said
    assert [row[1:] for row in table(shell)] == [
        first[1:],
        ["unstarted", "", f"{SECOND}:2380", "", "false"],
    ]
    shell.session.wait(4)
    second = table(shell)[1]
    assert second[1:] == ["started", "node-2", f"{SECOND}:2380", f"{SECOND}:2379", "false"]
    assert second[0] in said


def test_every_member_sees_the_others_and_knows_its_leader(shell: Shell) -> None:
    shell(f"member add node-2 --peer-urls={SECOND}:2380")
    shell.session.wait(4)
    own = orjson.loads(shell("member list -w json"))
    theirs = orjson.loads(shell(f"--endpoints={SECOND}:2379 member list -w json"))
    assert [len(one["members"]) for one in (own, theirs)] == [2, 2]
    found = orjson.loads(shell("endpoint status --cluster -w json"))
    ids = [one["Status"]["header"]["member_id"] for one in found]
    assert ids == [member["ID"] for member in own["members"]]
    assert {one["Status"]["leader"] for one in found} == {ids[0]}
    shell("put seen 1")
    assert shell(f"--endpoints={SECOND}:2379 get seen") == "seen\n1\n"


def test_the_membership_outlives_a_restart(shell: Shell) -> None:
    shell("member add far --learner --peer-urls=https://10.9.9.9:2380")
    shell(f"member add node-2 --peer-urls={SECOND}:2380")
    shell.session.restart()
    shell.session.wait(4)
    assert [(row[1], row[2], row[-1]) for row in table(shell)] == [
        ("started", "node-1", "false"),
        ("unstarted", "", "true"),
        ("started", table(shell)[2][2], "false"),
    ]


def test_a_learner_is_promoted_once_it_has_started(shell: Shell) -> None:
    said = shell(f"member add node-2 --learner --peer-urls={SECOND}:2380")
    assert " added as learner to cluster " in said
    member = said.split()[1]
    ready = "etcdserver: can only promote a learner member which is in sync with leader"
    assert shell(f"member promote {member}", code=1) == f"Error: {ready}\n"
    shell.session.wait(4)
    assert " promoted in cluster " in shell(f"member promote {member}")
    assert table(shell)[1][-1] == "false"
    assert "can only promote a learner member" in shell(f"member promote {member}", code=1)


def test_a_member_is_updated_and_removed(shell: Shell) -> None:
    shell(f"member add node-2 --peer-urls={SECOND}:2380")
    shell.session.wait(4)
    member = table(shell)[1][0]
    shell(f"member update {member} --peer-urls={SECOND}:2390")
    assert table(shell)[1][3] == f"{SECOND}:2390"
    assert " removed from cluster " in shell(f"member remove {member}")
    assert len(table(shell)) == 1


def test_what_would_stop_etcd_is_refused(shell: Shell) -> None:
    own = table(shell)[0][0]
    assert "not enough started members" in shell(f"member remove {own}", code=1)
    assert "Peer URLs already exists" in shell(
        "member add x --peer-urls=https://10.0.0.11:2380", code=1
    )
    assert "member URLs are invalid" in shell("member add x --peer-urls=here", code=1)
    said = shell("member add far --peer-urls=https://10.9.9.9:2380", code=1)
    assert "no quorum" in said and "--learner" in said
    shell("member add a --learner --peer-urls=https://10.9.9.8:2380")
    more = shell("member add b --learner --peer-urls=https://10.9.9.7:2380", code=1)
    assert "too many learner members" in more


def test_a_change_is_told_as_work_of_etcdctl(shell: Shell) -> None:
    shell(f"member add node-2 --peer-urls={SECOND}:2380")
    records = shell.session.records()
    work = [
        record
        for record in records
        if record["kind"] == "work" and record["component"] == "etcdctl"
    ][-1]
    done = next(
        record for record in records if record["kind"] == "done" and record["span"] == work["seq"]
    )
    assert "2 members" in str(done)


def test_the_leader_moves_and_its_term_with_it(shell: Shell) -> None:
    shell(f"member add node-2 --peer-urls={SECOND}:2380")
    shell.session.wait(4)
    first, second = (row[0] for row in table(shell))
    said = shell(f"move-leader {second}")
    assert said == f"Leadership transferred from {first} to {second}\n"
    (status,) = orjson.loads(shell("endpoint status -w json"))
    assert (f"{status['Status']['leader']:x}", status["Status"]["raftTerm"]) == (second, 3)
    assert "no leader endpoint given at [127.0.0.1:2379]" in shell(f"move-leader {first}", code=128)
    shell.session.restart()
    shell(f"--endpoints={SECOND}:2379 move-leader {first}")
    (status,) = orjson.loads(shell("endpoint status -w json"))
    assert (f"{status['Status']['leader']:x}", status["Status"]["raftTerm"]) == (first, 4)
