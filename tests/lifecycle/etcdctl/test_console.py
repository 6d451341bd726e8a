"""etcdctl in the console: what each command does to the store of a whole cluster and prints."""

from __future__ import annotations

import base64
from collections.abc import Iterator

import orjson
import pytest

from apiserver_app.etcd.backend import Backend, MemoryBackend
from apiserver_app.etcd.errors import NO_SPACE
from apiserver_app.etcd.log import DatabaseBackend
from apiserver_app.machinery.serializer import protobuf
from lifecycle.etcdctl import processes, program
from lifecycle.hosting.scripted import Session, default_inputs
from tests.apiserver_app.cluster import CONFIGMAPS, PODS, bare_session, configmap, events

pytestmark = pytest.mark.django_db(transaction=True)


class Shell:
    """A cluster and its console."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def __call__(self, line: str, stdin: str = "", *, code: int = 0) -> str:
        answer = processes.console(self.session.cluster.etcd, f"etcdctl {line}", stdin)
        self.session.settle()
        assert answer["exit_code"] == code, answer
        text: str = answer["errors"] if code else answer["output"]
        return text


@pytest.fixture(params=["memory", "database"])
def shell(request: pytest.FixtureRequest) -> Iterator[Shell]:
    backend: Backend = MemoryBackend()
    if request.param == "database":
        request.getfixturevalue("transactional_db")
        backend = DatabaseBackend("demo")
    yield Shell(Session(default_inputs(nodes=0), backend))


@pytest.fixture(scope="module")
def plain() -> Shell:
    return Shell(bare_session())


def test_what_is_put_is_got_at_every_revision(shell: Shell) -> None:
    assert shell("put foo bar") == "OK\n"
    first = shell.session.cluster.store.revision
    assert shell("put foo baz --prev-kv") == "OK\nfoo\nbar\n"
    assert shell("get foo") == "foo\nbaz\n"
    assert shell(f"get foo --rev {first}") == "foo\nbar\n"
    assert shell("get foo --print-value-only") == "baz\n"
    assert shell("del foo --prev-kv") == "1\nfoo\nbaz\n"
    assert shell("get foo") == ""


def test_a_compacted_revision_is_refused_in_etcds_words(shell: Shell) -> None:
    shell("put foo 1")
    old = shell.session.cluster.store.revision
    shell("put foo 2")
    now = shell.session.cluster.store.revision
    assert shell(f"compact {now}") == f"compacted revision {now}\n"
    compacted = "Error: etcdserver: mvcc: required revision has been compacted\n"
    assert shell(f"get foo --rev {old}", code=1) == compacted
    assert shell(f"compact {old}", code=1) == compacted
    assert "watch was canceled" in shell(f"watch foo --rev {old}", code=5)
    future = "Error: etcdserver: mvcc: required revision is a future revision\n"
    assert shell("get foo --rev 999999", code=1) == future


def test_a_lease_takes_its_keys_along_in_virtual_time(shell: Shell) -> None:
    lease = shell("lease grant 60").split()[1]
    assert shell(f"put k v --lease={lease}") == "OK\n"
    assert "remaining(60s), attached keys([k])" in shell(f"lease timetolive {lease} --keys")
    shell.session.wait(40)
    assert "remaining(20s)" in shell(f"lease timetolive {lease}")
    assert shell(f"lease keep-alive --once {lease}").endswith("keepalived with TTL(60)\n")
    shell.session.wait(40)
    assert shell("get k") == "k\nv\n"
    shell.session.restart()
    shell.session.wait(21)
    assert shell("get k") == ""
    assert shell(f"lease timetolive {lease}") == f"lease {lease} already expired\n"


def test_a_lease_that_is_not_there_is_refused(plain: Shell) -> None:
    gone = "etcdserver: requested lease not found"
    assert plain("put k v --lease=1234", code=1) == f"Error: {gone}\n"
    assert plain("lease revoke 1234", code=1) == f"Error: failed to revoke lease ({gone})\n"
    assert plain("lease keep-alive --once 1234", code=2) == f"Error: {gone}\n"
    assert "expecting ID in Hex" in plain("lease revoke xyz", code=128)


def test_a_transaction_compares_and_swaps(plain: Shell) -> None:
    plain("put lock free")
    asked = 'value("lock") = "free"\n\nput lock mine\nget lock\n\nget lock\n\n'
    assert plain("txn", asked) == "SUCCESS\n\nOK\n\nlock\nmine\n"
    assert plain("txn", asked) == "FAILURE\n\nlock\nmine\n"
    prompts = plain("txn -i", 'mod("lock") > "0"\n\n\n\n')
    assert prompts.startswith("compares:\nsuccess requests (get, put, del):\n")
    assert plain("txn", "nonsense\n\n", code=3).startswith("Error: malformed comparison: nonsense")
    twice = "put a 1\nput a 2\n\n\n"
    assert "duplicate key given in txn request" in plain("txn", f"\n{twice}", code=1)


def test_a_watch_shows_what_happened_since_a_revision(plain: Shell) -> None:
    plain("put w/a 1")
    since = plain.session.cluster.store.revision
    plain("put w/a 2")
    plain("del w/a")
    told = plain(f"watch w/ --prefix --rev {since} --prev-kv")
    assert told == "PUT\nw/a\n1\nPUT\nw/a\n1\nw/a\n2\nDELETE\nw/a\n2\nw/a\n\n"


def test_ranges_are_sorted_limited_and_counted(plain: Shell) -> None:
    for name in ("r/b", "r/a", "r/c"):
        plain(f"put {name} {name[-1]}")
    assert plain("get r/ --prefix --keys-only") == "r/a\n\nr/b\n\nr/c\n\n"
    assert plain("get r/a r/c --keys-only") == "r/a\n\nr/b\n\n"
    assert plain("get r/ --prefix --sort-by=CREATE --order=DESCEND --limit 1") == "r/c\nc\n"
    assert '"Count" : 3' in plain("get r/ --prefix --count-only -w fields")
    assert plain("get r/b --from-key --limit 1 --print-value-only") == "b\n"
    told = orjson.loads(plain("get r/ --prefix --limit 2 -w json"))
    assert (told["count"], told["more"], len(told["kvs"])) == (3, True, 2)
    assert base64.b64decode(told["kvs"][0]["key"]) == b"r/a"
    assert plain("get r/a --hex") == "\\x72\\x2f\\x61\n\\x61\n"
    assert plain("del r/ --prefix") == "3\n"


@pytest.mark.parametrize(
    ("line", "code", "said"),
    [
        ("nope", 1, 'Error: unknown command "nope" for "etcdctl"'),
        ("get --nope x", 1, "Error: unknown flag: --nope"),
        ("get", 128, "get command needs one argument as key"),
        ("get ''", 1, "etcdserver: key is not provided"),
        ("get a --limit x", 1, 'invalid argument "x" for "--limit" flag: strconv.ParseInt'),
        ("get a --prefix --from-key", 128, "`--prefix` and `--from-key` cannot be set"),
        ("get a -w yaml", 4, "unsupported output format"),
        ("get a -w table", 4, "table not supported as output format"),
        ("get a --count-only", 128, "--count-only is only for `--write-out=fields`"),
        ("put", 128, "put command needs 1 argument and input from stdin or 2 arguments"),
        ("put k --ignore-value", 1, "etcdserver: key not found"),
        ("compaction", 128, "compaction command needs 1 argument"),
        ("snapshot save x", 4, "the console has no files"),
        ("snapshot restore x", 1, "etcdctl snapshot restore is not simulated"),
        ("snapshot status x", 1, "stat x: no such file or directory"),
        ("lock", 128, "lock takes a lock name argument and an optional command to execute"),
        ("elect a", 128, "no proposal argument but -l not set"),
        ("elect a b -l", 128, "proposal given but -l is set"),
        ("move-leader", 128, "move-leader command needs 1 argument"),
        ("move-leader 1", 1, "etcdserver: bad leader transferee"),
        ("watch -i", 3, "error reading watch request line: EOF"),
        ("check perf", 1, "etcdctl check is not simulated"),
        ("user add x", 1, "etcdctl user is not simulated"),
        ("auth enable", 1, "etcdserver: root user does not exist"),
        ("member list -w protobuf", 4, "protobuf not supported as output format"),
        ("member add x", 128, "member peer urls not provided"),
        ("member remove 1", 1, "etcdserver: member not found"),
        ("member remove xyz", 128, "expecting ID in Hex"),
        ("get a --cert /nope", 1, "open /nope: no such file or directory"),
    ],
)
def test_what_cannot_be_is_refused_in_upstreams_words(
    plain: Shell, line: str, code: int, said: str
) -> None:
    assert said in plain(line, code=code)


def test_help_has_an_example(plain: Shell) -> None:
    assert "EXAMPLE:\n\tetcdctl get /registry/pods --prefix --keys-only" in plain("get --help")
    assert "endpoint status" in plain("help")


def test_the_status_grows_with_the_revision(plain: Shell) -> None:
    before = orjson.loads(plain("endpoint status -w json"))[0]["Status"]
    plain("put grows 1")
    after = orjson.loads(plain("endpoint status -w json"))[0]["Status"]
    assert after["raftIndex"] == before["raftIndex"] + 1
    assert after["header"]["revision"] == before["header"]["revision"] + 1
    table = plain("endpoint status -w table").splitlines()
    assert table[1].split("|")[1].strip() == "ENDPOINT" and "127.0.0.1:2379" in table[3]
    assert "started" in plain("member list -w table")
    assert "is healthy: successfully committed proposal" in plain("endpoint health")
    assert plain("version") == "etcdctl version: 3.5.21\nAPI version: 3.5\n"


def test_built_in_kinds_are_shown_in_protobuf_and_come_back(plain: Shell) -> None:
    key = "/registry/services/specs/default/kubernetes"
    told = orjson.loads(plain(f"get {key} -w json"))["kvs"][0]
    value = base64.b64decode(told["value"])
    assert value.startswith(b"k8s\0\n\r\n\x02v1\x12\x07Service")
    assert value.endswith(b'\x1a\x00"\x00'), "content encoding and type are empty, and written"
    back = protobuf.decode(value)
    assert back["spec"]["clusterIP"] == "10.96.0.1"
    assert back["metadata"].get("resourceVersion") is None


def test_a_valid_object_that_is_put_is_served_and_watched(plain: Shell) -> None:
    session = plain.session
    watch = session.request("GET", f"{CONFIGMAPS}?watch=1&resourceVersion=0", settle=False)
    body = orjson.dumps(
        {**configmap("mine", a="1"), "metadata": {"name": "mine", "namespace": "default"}}
    ).decode()
    assert plain("put /registry/configmaps/default/mine", body) == "OK\n"
    found = session.request("GET", f"{CONFIGMAPS}/mine").json()
    assert found["data"] == {"a": "1"}
    assert found["metadata"]["resourceVersion"] == str(session.cluster.store.revision)
    assert ("ADDED", "mine") in [(kind, obj["metadata"].get("name")) for kind, obj in events(watch)]
    writes = [
        record
        for record in session.records()
        if record["kind"] == "write" and record["name"] == "mine"
    ]
    work = next(record for record in session.records() if record["seq"] == writes[0]["span"])
    assert (work["kind"], work["component"]) == ("work", "etcdctl")
    plain("del /registry/configmaps/default/mine")
    assert session.request("GET", f"{CONFIGMAPS}/mine").status == 404


@pytest.mark.parametrize("garbage", ["garbage", "{}", "[1]", "12", '{"kind":"Pod"}'])
def test_garbage_fails_reads_of_its_kind_and_nothing_else(garbage: str) -> None:
    shell = Shell(bare_session())
    session = shell.session
    session.request("POST", CONFIGMAPS, configmap("good"))
    shell("put /registry/pods/default/bad", garbage)
    answer = session.request("GET", f"{PODS}/bad")
    assert answer.status == 500 and answer.json()["message"]
    assert session.request("GET", PODS).status == 500
    assert session.request("GET", f"{CONFIGMAPS}/good").status == 200
    session.restart()
    assert session.request("GET", PODS).status == 500
    shell("del /registry/pods/default/bad")
    assert session.request("GET", PODS).json()["items"] == []


def test_an_object_overwritten_by_garbage_is_gone_for_those_who_watch() -> None:
    shell = Shell(bare_session())
    session = shell.session
    session.request("POST", CONFIGMAPS, configmap("good"))
    watch = session.request("GET", f"{CONFIGMAPS}?watch=1", settle=False)
    shell("put /registry/configmaps/default/good garbage")
    assert [kind for kind, obj in events(watch) if obj["metadata"]["name"] == "good"] == [
        "ADDED",
        "DELETED",
    ]
    assert session.request("GET", f"{CONFIGMAPS}/good").status == 500


def test_a_continue_token_of_a_compacted_list_is_expired(plain: Shell) -> None:
    session = plain.session
    for number in range(4):
        session.request("POST", CONFIGMAPS, configmap(f"page-{number}"))
    page = session.request("GET", f"{CONFIGMAPS}?limit=2").json()
    plain("put later 1")
    plain(f"compact {session.cluster.store.revision}")
    token = page["metadata"]["continue"]
    answer = session.request("GET", f"{CONFIGMAPS}?limit=2&continue={token}")
    assert (answer.status, answer.json()["reason"]) == (410, "Expired")


def test_a_watch_from_before_a_compaction_is_told_to_list_again() -> None:
    shell = Shell(bare_session())
    session = shell.session
    old = session.cluster.store.revision
    session.request("POST", CONFIGMAPS, configmap("one"))
    shell(f"compact {session.cluster.store.revision}")
    session.restart()
    answer = session.request("GET", f"{CONFIGMAPS}?watch=1&resourceVersion={old}", settle=False)
    ((kind, said),) = events(answer)
    assert (kind, said["code"], said["reason"]) == ("ERROR", 410, "Expired")
    assert said["message"] == f"too old resource version: {old} ({old + 1})"


def test_the_kubernetes_service_is_as_a_real_one_at_boot(plain: Shell) -> None:
    path = "/api/v1/namespaces/default/services/kubernetes"
    service = plain.session.request("GET", path).json()
    metadata, spec = service["metadata"], service["spec"]
    assert metadata["labels"] == {"component": "apiserver", "provider": "kubernetes"}
    manager = metadata["managedFields"][0]
    assert (manager["manager"], manager["operation"], manager["apiVersion"]) == (
        "kube-apiserver",
        "Update",
        "v1",
    )
    assert spec["ports"][0]["name"] == "https" and spec["ports"][0]["port"] == 443
    assert (spec["clusterIP"], spec["sessionAffinity"], spec["ipFamilyPolicy"]) == (
        "10.96.0.1",
        "None",
        "SingleStack",
    )
    assert (spec["type"], spec["internalTrafficPolicy"]) == ("ClusterIP", "Cluster")


def test_the_keys_are_those_of_a_cluster_before_kubeadm_adds_its_own(plain: Shell) -> None:
    keys = set(plain("get /registry --prefix --keys-only").split("\n\n"))
    for key in (
        "apiregistration.k8s.io/apiservices/v1.apps", "clusterroles/cluster-admin",
        "clusterrolebindings/system:node", "flowschemas/probes", "namespaces/kube-node-lease",
        "prioritylevelconfigurations/workload-low", "priorityclasses/system-node-critical",
        "rolebindings/kube-system/system:controller:token-cleaner",
        "services/specs/default/kubernetes",
        "services/endpoints/default/kubernetes", "endpointslices/default/kubernetes",
        "configmaps/kube-system/extension-apiserver-authentication",
        "serviceaccounts/kube-system/namespace-controller", "servicecidrs/kubernetes",
    ):  # fmt: skip
        assert f"/registry/{key}" in keys
    assert {"/registry/ranges/serviceips", "/registry/ranges/servicenodeports"} <= keys
    assert "/registry/masterleases/10.0.0.11" in keys


def test_nobody_authenticates_and_no_alarm_is_raised(plain: Shell) -> None:
    assert plain("auth status") == "Authentication Status: false\nAuthRevision: 1\n"
    assert plain("user list") == plain("role list") == plain("alarm disarm") == ""


def test_a_full_disk_is_an_alarm(plain: Shell) -> None:
    store = plain.session.cluster.store
    store.alarm = NO_SPACE
    try:
        member = plain.session.cluster.etcd.members.own.id
        assert plain("alarm list") == f"memberID:{member} alarm:NOSPACE \n"
        assert f'"MemberID" : {member}\n"AlarmType" : NOSPACE' in plain("alarm list -w fields")
        told = orjson.loads(plain("alarm list -w json"))
        assert told["alarms"] == [{"memberID": member, "alarm": 1}]
        assert "etcdserver: mvcc: database space exceeded" in plain("put a b", code=1)
    finally:
        store.alarm = ""
    assert plain("alarm list") == ""


def test_the_hash_of_a_revision_stays_what_it_was(plain: Shell) -> None:
    plain("put hashed 1")
    revision = plain.session.cluster.store.revision
    now = plain("endpoint hashkv").split(", ")[1]
    plain("put hashed 2")
    assert plain(f"endpoint hashkv --rev {revision}").split(", ")[1] == now
    assert plain("endpoint hashkv").split(", ")[1] != now


def test_an_answer_is_written_as_the_message_it_came_in(plain: Shell) -> None:
    plain("put as-it-is value")
    process = processes.ConsoleProcess({}, b"")
    task = program.run(plain.session.cluster.etcd, process, ["get", "as-it-is", "-w", "protobuf"])
    assert processes.at_once(task) == 0
    raw = bytes(process.output)
    entry = plain.session.cluster.store.get("as-it-is")
    assert entry is not None
    assert raw[0] == 0x0A, "the header comes first"
    assert b"\n\x08as-it-is" in raw and b"*\x05value" in raw and raw.endswith(b" \x01")
