"""What a container sees of others: processes and files, as one debugs with it."""

from __future__ import annotations

from typing import Any

from lifecycle.hosting.scripted import Session
from tests.controllers_app.nodelab import execute
from tests.controllers_app.podlab import cluster, create, pod

IDLE = {"command": ["sleep", "infinity"]}


def with_box(**spec: Any) -> Session:
    """A pod of nginx, and a busybox named c beside it."""
    session = cluster(nodes=1)
    made = pod("web", image="busybox", container=IDLE)
    made["spec"]["containers"].append({"name": "site", "image": "nginx"})
    made["spec"].update(spec)
    create(session, made)
    return session


def test_containers_that_share_nothing_see_only_themselves() -> None:
    out, _ = execute(with_box(), "ps")
    assert "nginx" not in out and "    1 root      0:00 sleep infinity" in out


def test_containers_of_a_pod_that_share_see_each_other_and_their_files() -> None:
    session = with_box(shareProcessNamespace=True)
    out, _ = execute(session, "ps")
    assert "    1 root      0:00 /pause" in out and "nginx: master process" in out
    pid = next(line.split()[0] for line in out.splitlines() if "master process" in line)
    assert execute(session, "ls", f"/proc/{pid}/root" + "/usr/share/nginx/html")[0] == (
        "50x.html\nindex.html\n"
    )
    assert execute(session, "sh", "-c", f"kill {pid}; echo $?")[0] == "0\n"


def test_a_pod_with_the_nodes_processes_and_disk_is_as_good_as_on_the_node() -> None:
    volume = {"name": "host", "hostPath": {"path": "/"}}
    session = cluster(nodes=1)
    made = pod("web", image="busybox", container=dict(IDLE))
    made["spec"]["containers"][0]["volumeMounts"] = [{"name": "host", "mountPath": "/host"}]
    made["spec"].update(hostPID=True, hostNetwork=True, volumes=[volume])
    create(session, made)
    assert "/usr/bin/kubelet" in execute(session, "ps")[0]
    assert "kubelet" in execute(session, "ls", "/host/var/lib")[0].split()
    script = "chroot /host sh -c 'cat /etc/hostname; pwd; ls /nope'"
    assert execute(session, "sh", "-c", script)[0] == (
        "node-1\n/\nls: cannot access '/nope': No such file or directory\n"
    )
