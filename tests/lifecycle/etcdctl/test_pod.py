"""etcdctl in a container: commands that wait for others, and those that write files."""

from __future__ import annotations

import pytest

from lifecycle.hosting.scripted import Session
from tests.controllers_app.nodelab import execute
from tests.controllers_app.podlab import cluster, create, pod
from tests.lifecycle.etcdctl.test_console import Shell

CERTIFIED = [{"name": f"ETCDCTL_{one}", "value": "/etc/hostname"} for one in ("CERT", "KEY")]


@pytest.fixture(scope="module")
def box() -> Session:
    session = cluster(nodes=1)
    container = {"command": ["sleep", "infinity"], "env": CERTIFIED}
    create(session, pod(image="registry.k8s.io/etcd:3.5.21-0", container=container))
    return session


def sh(session: Session, script: str) -> str:
    return execute(session, "sh", "-c", script)[0]


def test_a_lock_is_had_by_one_after_the_other(box: Session) -> None:
    out = sh(
        box,
        "etcdctl lock turn -- sh -c 'sleep 3; echo first $ETCD_LOCK_REV' & sleep 1; "
        "etcdctl lock turn -- sh -c 'echo second; exit 5'; echo $?; wait",
    )
    first, *rest = out.splitlines()
    assert first.startswith("first ") and int(first.split()[1]) > 0
    assert rest == ["second", "Error: exit status 5", "5"]
    assert Shell(box)("get turn/ --prefix") == ""


def test_a_lock_whose_holder_is_killed_is_free_when_its_lease_is_over(box: Session) -> None:
    out = sh(
        box,
        "etcdctl lock held & p=$!; sleep 25; kill -9 $p; date +%s; "
        "etcdctl lock held date +%s & for i in $(seq 15); do sleep 1; done; wait",
    )
    key, blank, killed, taken = out.splitlines()
    assert key.startswith("held/") and not blank
    assert 6 <= int(taken) - int(killed) <= 11


def test_who_leads_is_seen_by_those_who_listen(box: Session) -> None:
    out = sh(
        box,
        "etcdctl elect chair -l & l=$!; sleep 1; etcdctl elect chair ann >/dev/null 2>&1 & "
        "sleep 1; etcdctl elect chair bob >/dev/null & sleep 1; "
        "etcdctl del $(etcdctl get chair --prefix --sort-by CREATE --limit 1 --keys-only) "
        ">/dev/null; sleep 1; kill $l",
    )
    lines = out.splitlines()
    assert lines[1::2] == ["ann", "bob"]
    assert all(line.startswith("chair/") for line in lines[::2])


def test_a_lock_is_given_back_by_ctrl_c(box: Session) -> None:
    typed = b"etcdctl lock typed\r\x03etcdctl get typed/ --prefix --keys-only\rexit\r"
    out, _ = execute(box, "sh", stdin=typed, tty=True)
    assert "typed/" not in out.split("--keys-only")[1]


def test_a_snapshot_is_a_file_with_a_status(box: Session) -> None:
    out = sh(
        box,
        "etcdctl snapshot save /tmp/s.db; etcdctl snapshot status /tmp/s.db -w table 2>/dev/null; "
        "etcdutl snapshot status /tmp/s.db; wc -c /tmp/s.db; echo x > /tmp/no.db; "
        "etcdutl snapshot status /tmp/no.db; etcdutl snapshot restore /tmp/s.db",
    ).splitlines()
    assert out[0] == "Snapshot saved at /tmp/s.db"
    assert "TOTAL KEYS" in out[2]
    digest, revision, keys, size = out[-4].split(", ")
    assert int(digest, 16) and int(revision) > 100 and int(keys) > 50 and size.endswith(" kB")
    assert int(out[-3].split()[0]) % 4096 == 32
    assert out[-2] == "Error: invalid database"
    assert "etcdutl snapshot restore is not simulated" in out[-1]


def test_watches_are_read_line_by_line(box: Session) -> None:
    out = sh(
        box,
        "(echo watch a; echo 'watch \"b c\" --prev-kv'; echo get a; sleep 2; echo progress) "
        "| etcdctl watch -i & sleep 1; etcdctl put a 1 >/dev/null; etcdctl put 'b c' 2 >/dev/null; "
        "wait",
    ).splitlines()
    assert out[0] == "Invalid command get a (only support watch)"
    assert out[1:7] == ["PUT", "a", "1", "PUT", "b c", "2"]
    assert out[7].startswith("progress notify: ")
    assert out[8] == "Error: error reading watch request line: EOF"
