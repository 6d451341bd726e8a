"""etcdctl in the etcd pod, entered with the real kubectl."""

from __future__ import annotations

import io
import json
import urllib.parse
from collections.abc import Iterator

import pytest

from tests.conformance.kubectl import Kubectl

IN_POD = ("-n", "kube-system", "exec", "etcd-node-1", "--")
PKI = "/etc/kubernetes/pki/etcd"


class Etcdctl:
    """etcdctl as kubectl reaches it."""

    def __init__(self, kubectl: Kubectl) -> None:
        self.kubectl = kubectl

    def __call__(self, *words: str) -> str:
        return self.kubectl(*IN_POD, "etcdctl", *words)

    def fails(self, *words: str) -> str:
        said = self.kubectl.run(*IN_POD, "etcdctl", *words)
        assert said.code != 0, said
        return said.err


@pytest.fixture(scope="module")
def etcdctl(kubectl: Kubectl) -> Iterator[Etcdctl]:
    phase = ("-n", "kube-system", "get", "pod", "etcd-node-1", "-o", "jsonpath={.status.phase}")
    kubectl.until(lambda out: out == "Running", *phase)
    with kubectl.space("etcd") as within:
        yield Etcdctl(Kubectl(within.program, within.data_dir, within.home))


def test_the_control_plane_runs_as_mirror_pods(kubectl: Kubectl, etcdctl: Etcdctl) -> None:
    parts = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
    wanted = {f"pod/{part}-node-1" for part in parts}
    listed = ("-n", "kube-system", "get", "pods", "-o", "name")
    kubectl.until(lambda out: wanted <= set(out.splitlines()), *listed)
    pod = kubectl.object("pod", "etcd-node-1", "-n", "kube-system")
    notes = pod["metadata"]["annotations"]
    assert notes["kubernetes.io/config.mirror"] == notes["kubernetes.io/config.hash"]
    assert pod["metadata"]["ownerReferences"][0]["kind"] == "Node"
    assert "became leader" in kubectl("-n", "kube-system", "logs", "etcd-node-1")


def test_a_mirror_pod_comes_back_when_it_is_deleted(kubectl: Kubectl) -> None:
    where = ("-n", "kube-system", "get", "pod", "kube-scheduler-node-1")
    uid = kubectl.until(bool, *where, "-o", "jsonpath={.metadata.uid}")
    kubectl("-n", "kube-system", "delete", "pod", "kube-scheduler-node-1", "--force")
    kubectl.until(lambda out: out not in ("", uid), *where, "-o", "jsonpath={.metadata.uid}")


def test_keys_are_listed_as_the_seed_does_it(kubectl: Kubectl, etcdctl: Etcdctl) -> None:
    line = (
        f"ETCDCTL_API=3 etcdctl --endpoints=https://127.0.0.1:2379 --cacert={PKI}/ca.crt "
        f"--cert={PKI}/server.crt --key={PKI}/server.key get --keys-only --prefix /"
    )
    told = kubectl("-n", "kube-system", "exec", "-i", "etcd-node-1", "--", "sh", "-c", line)
    keys = told.split("\n\n")
    for key in (
        "/registry/minions/node-1",
        "/registry/services/specs/default/kubernetes",
        "/registry/services/endpoints/default/kubernetes",
        "/registry/leases/kube-node-lease/node-1",
    ):
        assert key in keys
    assert told.count("\n\n") == len(keys) - 1


def test_a_deployments_key_holds_protobuf(kubectl: Kubectl, etcdctl: Etcdctl) -> None:
    kubectl("-n", "etcd", "create", "deployment", "nginx-deployment", "--image=nginx")
    key = "/registry/deployments/etcd/nginx-deployment"
    told = etcdctl("get", key, "-w", "fields")
    assert f'"Key" : "{key}"' in told
    assert r'"Value" : "k8s\x00\n' in told and "Deployment" in told


def test_a_watch_in_the_pod_sees_what_kubectl_changes(etcdctl: Etcdctl) -> None:
    kubectl = etcdctl.kubectl
    watch = kubectl.open(
        *IN_POD,
        "etcdctl",
        "watch",
        "/registry/configmaps/etcd/",
        "--prefix",
        "--rev",
        str(_revision(etcdctl) + 1),
    )
    try:
        kubectl("-n", "etcd", "create", "configmap", "seen", "--from-literal=a=b")
        assert isinstance(watch.stdout, io.TextIOWrapper)
        assert [watch.stdout.buffer.readline() for _ in range(2)] == [
            b"PUT\n",
            b"/registry/configmaps/etcd/seen\n",
        ]
    finally:
        watch.terminate()
        watch.wait()
        for pipe in (watch.stdout, watch.stderr):  # an object of bytes may follow, which is no text
            assert pipe is not None
            pipe.close()


def _revision(etcdctl: Etcdctl) -> int:
    status = json.loads(etcdctl("endpoint", "status", "-w", "json"))[0]["Status"]
    return int(status["header"]["revision"])


def test_the_status_shows_the_revision_and_grows(etcdctl: Etcdctl) -> None:
    before = _revision(etcdctl)
    assert etcdctl("put", "grow", "1") == "OK\n"
    assert _revision(etcdctl) > before
    table = etcdctl("endpoint", "status", "-w", "table")
    assert "|    ENDPOINT    |" in table and "RAFT INDEX" in table


def test_an_object_put_into_etcd_is_the_clusters(etcdctl: Etcdctl) -> None:
    kubectl = etcdctl.kubectl
    kubectl("-n", "etcd", "create", "deployment", "small", "--image=nginx", "--replicas=1")
    deployment = kubectl.object("deployment", "small", "-n", "etcd")
    deployment["spec"]["replicas"] = 2
    said = kubectl(
        "-n",
        "kube-system",
        "exec",
        "-i",
        "etcd-node-1",
        "--",
        "etcdctl",
        "put",
        "/registry/deployments/etcd/small",
        given=json.dumps(deployment),
    )
    assert said == "OK\n"
    counted = ("-n", "etcd", "get", "pods", "-l", "app=small", "-o", "name")
    kubectl.until(lambda out: len(out.splitlines()) == 2, *counted)


def test_garbage_is_an_error_for_its_kind_until_it_is_deleted(etcdctl: Etcdctl) -> None:
    key = "/registry/secrets/etcd/garbage"
    etcdctl("put", key, "not an object")
    said = etcdctl.kubectl.fails("-n", "etcd", "get", "secret", "garbage")
    assert "couldn't get version/kind; json parse error" in said
    assert etcdctl("del", key) == "1\n"
    assert "not found" in etcdctl.kubectl.fails("-n", "etcd", "get", "secret", "garbage")


def test_a_key_goes_with_its_lease(etcdctl: Etcdctl) -> None:
    # in one go: between two commands the lease may run out
    lines = "set -- $(etcdctl lease grant 2); etcdctl put leased x --lease=$2; echo $2"
    put, lease = etcdctl.kubectl(*IN_POD, "sh", "-c", lines).split()
    assert put == "OK"
    etcdctl.kubectl.until_nothing(*IN_POD, "etcdctl", "get", "leased")
    assert etcdctl("lease", "timetolive", lease) == f"lease {lease} already expired\n"


def test_a_transaction_is_read_from_standard_input(etcdctl: Etcdctl) -> None:
    etcdctl("put", "swap", "1")
    asked = 'value("swap") = "1"\n\nput swap 2\n\nget swap\n\n'
    line = ("-n", "kube-system", "exec", "-i", "etcd-node-1", "--", "etcdctl", "txn")
    assert etcdctl.kubectl(*line, given=asked) == "SUCCESS\n\nOK\n"
    assert etcdctl.kubectl(*line, given=asked) == "FAILURE\n\nswap\n2\n"


def test_what_was_compacted_is_gone_for_etcdctl_and_for_kubectl(etcdctl: Etcdctl) -> None:
    kubectl = etcdctl.kubectl
    for name in ("one", "two", "three"):
        kubectl("-n", "etcd", "create", "configmap", name)
    path = "/api/v1/namespaces/etcd/configmaps?limit=1"
    token = json.loads(kubectl("get", "--raw", path))["metadata"]["continue"]
    old = _revision(etcdctl)
    etcdctl("put", "compact", "1")
    now = _revision(etcdctl)
    assert etcdctl("compact", str(now)) == f"compacted revision {now}\n"
    compacted = "Error: etcdserver: mvcc: required revision has been compacted"
    assert compacted in etcdctl.fails("get", "compact", "--rev", str(old - 1))
    said = kubectl.fails("get", "--raw", f"{path}&continue={urllib.parse.quote(token)}")
    assert "The provided continue parameter is too old" in said
    kubectl("-n", "etcd", "get", "configmaps", "--chunk-size=1")


def test_what_is_refused_is_said_in_etcdctls_words(etcdctl: Etcdctl) -> None:
    assert 'Error: unknown command "nope" for "etcdctl"' in etcdctl.fails("nope")
    assert "deadline exceeded" in etcdctl.fails("--endpoints=https://10.0.0.99:2379", "get", "a")
    health = ("-n", "kube-system", "exec", "etcd-node-1", "--", "curl", "-s")
    assert etcdctl.kubectl(*health, "http://127.0.0.1:2381/health") == (
        '{"health":"true","reason":""}'
    )
