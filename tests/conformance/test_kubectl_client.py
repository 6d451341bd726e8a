"""What the real kubectl decides by itself, before it sends a request and when it sends one."""

from __future__ import annotations

import http.server
import json
import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import yaml

from tests.conformance import kubectl as kubectls
from tests.conformance import manifests
from tests.conformance.counting import Counting
from tests.conformance.kubectl import PATIENTLY, Kubectl, since
from tests.conformance.prints import fits
from tests.lifecycle.hosting.running import Demo

# the command groups of the articles; later releases have more commands, and no other groups
GROUPS = {
    "Basic Commands (Beginner)": {"create", "expose", "run", "set"},
    "Basic Commands (Intermediate)": {"explain", "get", "edit", "delete"},
    "Deploy Commands": {"rollout", "scale", "autoscale"},
    "Cluster Management Commands": {
        "certificate", "cluster-info", "top", "cordon", "uncordon", "drain", "taint",
    },
    "Troubleshooting and Debugging Commands": {
        "describe", "logs", "attach", "exec", "port-forward", "proxy", "cp", "auth",
    },
    "Advanced Commands": {"diff", "apply", "patch", "replace", "wait", "kustomize"},
    "Settings Commands": {"label", "annotate", "completion"},
    "Other Commands": {"config", "plugin", "version", "api-versions", "api-resources"},
}  # fmt: skip
CREATES = (
    "namespace quota secret configmap serviceaccount service deployment clusterrole "
    "clusterrolebinding role rolebinding poddisruptionbudget priorityclass job cronjob"
).split()
NGINX_POD = """\
apiVersion: v1
kind: Pod
metadata: {name: nginx-pod}
spec: {containers: [{name: nginx, image: "nginx:1.8"}]}
"""


@pytest.fixture(scope="module")
def kubectl(kubectl: Kubectl) -> Iterator[Kubectl]:
    with kubectl.space("client") as within:
        yield within


@pytest.fixture(scope="module")
def asked(cluster: Demo, kubectl: Kubectl) -> Counting:
    return Counting(cluster, kubectl)


@pytest.fixture(scope="module")
def old(kubectl: Kubectl) -> Kubectl:
    """The oldest program: from 1.32 on, it words some of what the articles show otherwise."""
    return Kubectl(kubectls.oldest(), kubectl.data_dir, kubectl.home, namespace="client")


@contextmanager
def serving(text: str, failures: int = 0) -> Iterator[tuple[str, list[str]]]:
    """A web server with one file; its address, and the paths that were asked for."""
    paths: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths.append(self.path)
            body = text.encode() if len(paths) > failures else b""
            self.send_response(200 if body else 503)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}/pod.yaml", paths
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (("run", "--image=nginx"), "error: NAME is required for run"),
        (("run", "web"), 'required flag(s) "image" not set'),
        (("run", "web", "--image="), "error: --image is required"),
        (("run", "web", "--image=ng inx"), 'Invalid image name "ng inx": invalid reference format'),
        (("create",), "must specify one of -f and -k"),
        (("create", "-f", "-", "--edit=maybe"), 'invalid argument "maybe" for "--edit" flag'),
    ],
)
def test_what_must_fail_is_refused_by_the_client_and_never_sent(
    asked: Counting, arguments: tuple[str, ...], complaint: str
) -> None:
    printed, requests = asked.run(*arguments)
    assert printed.code == 1
    assert complaint in printed.err
    assert requests == []


def test_create_without_a_file_says_what_it_needs_and_how_it_is_used(
    cluster: Demo, old: Kubectl
) -> None:
    printed, requests = Counting(cluster, old).run("create")
    assert requests == []
    assert printed.err.startswith("Error: must specify one of -f and -k\n\n")
    usage = printed.err.replace(old.program.name, "kubectl")
    assert "\nUsage:\n  kubectl create -f FILENAME" in usage


@since(1, 21, "`run --replicas` was a deprecated flag without effect")
def test_run_makes_one_pod_that_nobody_owns_and_knows_no_replicas(
    kubectl: Kubectl, asked: Counting
) -> None:
    printed, requests = asked.run("run", "three", "--image=nginx", "--replicas=3")
    assert printed.code == 1
    assert printed.err.startswith("error: unknown flag: --replicas")
    assert requests == []
    assert kubectl("run", "single", "--image=nginx") == "pod/single created\n"
    items = kubectl.object("pods,deployments,replicasets")["items"]
    assert [(item["kind"], item["metadata"]["name"]) for item in items] == [("Pod", "single")]
    assert "ownerReferences" not in items[0]["metadata"]
    kubectl("delete", "pod", "single", "--now")


def test_run_generates_a_pod_with_its_name_for_the_container(asked: Counting) -> None:
    printed, requests = asked.run("run", "web", "--image=nginx", "--dry-run=client", "-o", "json")
    assert requests == []
    pod = json.loads(printed.out)
    assert (pod["apiVersion"], pod["kind"]) == ("v1", "Pod")
    assert pod["metadata"]["name"] == "web"
    assert pod["metadata"]["labels"] == {"run": "web"}
    (container,) = pod["spec"]["containers"]
    assert (container["name"], container["image"]) == (pod["metadata"]["name"], "nginx")


def test_a_dry_run_of_the_client_sends_nothing_and_one_of_the_server_passes_every_gate(
    kubectl: Kubectl, asked: Counting
) -> None:
    create = ("create", "deployment", "dry", "--image=nginx")
    printed, requests = asked.run(*create, "--dry-run=client")
    assert printed.out == "deployment.apps/dry created (dry run)\n"
    assert requests == []
    printed, records = asked.traced(*create, "--dry-run=server")
    assert printed.out == "deployment.apps/dry created (server dry run)\n"
    (request,) = [
        each
        for each in records
        if each["kind"] == "request" and each["outside"] and each["verb"] == "create"
    ]
    assert request["path"] == "/apis/apps/v1/namespaces/client/deployments"
    own = [each for each in records if each["span"] == request["seq"]]
    gates = [each["gate"] for each in own if each["kind"] == "gate"]
    assert gates == [
        "authentication", "audit", "flowcontrol", "authorization", "routing", "decode", "mutating",
        "prepare", "validation", "validating", "etcd",
    ]  # fmt: skip
    assert kubectl("get", "deployment", "dry", "--ignore-not-found") == ""


def test_record_writes_the_command_as_the_change_cause(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "recorded", "--image=nginx:1.26")
    kubectl.until(bool, "get", "rs", "-l", "app=recorded", "-o", "name")  # the first revision
    kubectl("set", "image", "deployment/recorded", "nginx=nginx:1.27", "--record")
    metadata = kubectl.object("deployment", "recorded")["metadata"]
    cause = metadata["annotations"]["kubernetes.io/change-cause"]
    command = f"{kubectl.program.name} set image deployment/recorded nginx=nginx:1.27"
    assert cause == f"{command} --namespace=client --record=true"
    history = ("rollout", "history", "deployment/recorded")
    kubectl.until(lambda out: f"2         {cause}" in out, *history)
    kubectl("delete", "deployment", "recorded")


def test_an_unknown_command_is_looked_for_among_the_plugins(
    kubectl: Kubectl, tmp_path: Path
) -> None:
    plain = Kubectl(kubectl.program, kubectl.data_dir, kubectl.home)
    assert 'unknown command "nonesuch" for "kubectl"' in plain.fails("nonesuch")
    plugin = tmp_path / "kubectl-nonesuch"
    plugin.write_text('#!/bin/sh\necho "the plugin got $*"\nexit 3\n')
    plugin.chmod(0o755)
    path = f"{tmp_path}:{kubectl.environment()['PATH']}"
    printed = plain.run("nonesuch", "a", "--b", PATH=path)
    assert (printed.out, printed.code) == ("the plugin got a --b\n", 3)


@since(1, 26, "a warning is an error only where fields are validated by the server")
def test_warnings_are_errors_when_that_is_asked_for(kubectl: Kubectl) -> None:
    unknown = NGINX_POD.replace("metadata: {name: nginx-pod}", "metadata: {name: warned}\nodd: 1")
    create = ("create", "-f", "-", "--validate=warn", "--dry-run=server")
    assert kubectl.run(*create, given=unknown).code == 0
    printed = kubectl.run(*create, "--warnings-as-errors", given=unknown)
    assert printed.code == 1
    assert printed.err.splitlines() == ['Warning: unknown field "odd"', "error: 1 warning received"]
    two = unknown.replace("odd: 1", "odd: 1\nodder: 2")
    printed = kubectl.run(*create, "--warnings-as-errors", given=two)
    assert printed.code == 1
    assert printed.err.splitlines()[-1] == "error: 2 warnings received"


def test_a_profile_of_kubectl_itself_lies_in_a_file(kubectl: Kubectl, tmp_path: Path) -> None:
    file = tmp_path / "profile.pprof"
    kubectl("get", "pods", "--profile=cpu", f"--profile-output={file}")
    assert file.read_bytes()[:2] == b"\x1f\x8b"  # pprof is compressed by gzip


def test_the_commands_are_in_the_articles_groups(kubectl: Kubectl) -> None:
    groups: dict[str, set[str]] = {}
    group = ""
    for line in kubectl("--help").splitlines():
        if line.endswith(":") and not line.startswith(" "):
            group = line.rstrip(":")
        elif command := re.match(r"  ([a-z-]+) ", line):
            groups.setdefault(group, set()).add(command[1])
    missing = {name: wanted - groups.get(name, set()) for name, wanted in GROUPS.items()}
    assert {name: commands for name, commands in missing.items() if commands} == {}


def test_create_has_the_articles_subcommands_and_flags(kubectl: Kubectl) -> None:
    help_text = kubectl("create", "--help")
    assert [name for name in CREATES if not re.search(rf"^  {name} ", help_text, re.M)] == []
    flags = ("-f", "-k", "--validate", "--edit", "--windows-line-endings", "--dry-run", "-l",
             "--raw", "--field-manager", "--save-config")  # fmt: skip
    assert [flag for flag in flags if not re.search(rf"[\s]{flag}[ ,=]", help_text)] == []
    assert "kubectl-create" in help_text


def test_create_reads_the_schema_then_posts_into_its_namespace_then_prints(
    kubectl: Kubectl,
) -> None:
    kubectl.forget()
    printed = kubectl.run("create", "-f", "-", "-v=9", given=NGINX_POD)
    assert printed.code == 0, printed.err
    assert printed.out.splitlines()[-1] == "pod/nginx-pod created"
    schema = printed.err.index("/openapi/v")
    body = printed.err.index("Request Body", schema)
    post = printed.err.index("-XPOST", body)
    assert '"namespace":"client"' in printed.err[body:post]  # of the flag, not of the file
    assert "Response Body" in printed.err[post:]
    kubectl("delete", "pod", "nginx-pod", "--now")


@since(1, 23, "its log has no times of an exchange")
def test_at_level_nine_it_logs_config_curl_trace_statistics_and_bodies_in_that_order(
    kubectl: Kubectl,
) -> None:
    # from 1.33 on it words and orders them otherwise
    programs = (path for path in kubectls.programs() if kubectls.minor_of(path) >= (1, 23))
    oldest = min(programs, key=kubectls.minor_of)
    old = Kubectl(oldest, kubectl.data_dir, kubectl.home, namespace="client")
    printed = old.run("create", "cm", "logged", "-v=9")
    assert printed.code == 0, printed.err
    kubectl("delete", "cm", "logged")
    expected = (
        r"Config loaded from file:",
        r"Request Body",
        r"curl -v -XPOST .*-H .*'https://[0-9.:]+/api/v1/namespaces/client/configmaps\?",
        r"HTTP Trace: Dial to tcp:",
        r"HTTP Statistics: .*ServerProcessing",
        r"Response Headers:",
        r"Response Body",
    )
    at = 0
    for pattern in expected:
        match = re.compile(pattern).search(printed.err, at)
        assert match, f"{pattern} is not there, or not in its place, in\n{printed.err}"
        at = match.end()


def test_a_file_without_a_namespace_gets_that_of_the_context(kubectl: Kubectl) -> None:
    config = yaml.safe_load(kubectl.config.read_text())
    plain = Kubectl(kubectl.program, kubectl.data_dir, kubectl.home)
    create = ("create", "-f", "-", "-v=8", "--dry-run=server")
    printed = plain.run(*create, given=NGINX_POD)
    assert '"namespace":"default"' in printed.err
    config["contexts"][0]["context"]["namespace"] = "client"
    changed = kubectl.home / "of-the-context"
    changed.write_text(yaml.safe_dump(config))
    printed = plain.run(*create, f"--kubeconfig={changed}", given=NGINX_POD)
    assert '"namespace":"client"' in printed.err


def test_a_list_becomes_one_request_for_each_item(asked: Counting, kubectl: Kubectl) -> None:
    items = [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}} for name in "abc"
    ]
    body = json.dumps({"apiVersion": "v1", "kind": "List", "items": items})
    requests = asked("create", "-f", "-", given=body)
    posts = [each.path for each in requests if each.verb == "create"]
    assert posts == ["/api/v1/namespaces/client/configmaps"] * 3
    kubectl("delete", "cm", "a", "b", "c")


def test_documents_go_on_past_a_bad_one_and_its_error_is_told_once(kubectl: Kubectl) -> None:
    good = manifests.SETTINGS
    bad = good.replace("name: settings", "name: Not_A_Name")
    last = good.replace("name: settings", "name: third")
    printed = kubectl.run("create", "-f", "-", given="---\n".join((good, bad, last)))
    assert printed.code == 1
    assert printed.out == "configmap/settings created\nconfigmap/third created\n"
    assert printed.err.count("is invalid") == 1
    assert '"Not_A_Name" is invalid' in printed.err
    kubectl("delete", "cm", "settings", "third")


def test_a_document_without_a_kind_is_a_decode_error(asked: Counting) -> None:
    printed, requests = asked.run(
        "create", "-f", "-", "--validate=false", given='{"apiVersion": "v1", "metadata": {}}'
    )
    assert printed.code == 1
    assert "Object 'Kind' is missing in" in printed.err
    assert [each for each in requests if each.verb == "create"] == []


def test_file_input_address_and_kustomization_give_the_same_object(
    kubectl: Kubectl, tmp_path: Path
) -> None:
    file = tmp_path / "pod.yaml"
    file.write_text(NGINX_POD)
    (tmp_path / "kustomization.yaml").write_text("resources: [pod.yaml]\n")
    create = (
        "create",
        "--dry-run=server",
        "-o",
        "jsonpath={.kind} {.metadata.name} {.spec.containers}",
    )

    def created(*source: str, given: str = "") -> str:
        return re.sub(
            "kube-api-access-[a-z0-9]{5}", "TOKEN", kubectl(*create, *source, given=given)
        )

    with serving(NGINX_POD, failures=1) as (address, paths):
        forms = {
            created("-f", str(file)),
            created("-f", "-", given=NGINX_POD),
            created("-f", address),
            created("-k", str(tmp_path)),
        }
        assert len(paths) == 2  # it asks again for what was not to be had
    assert len(forms) == 1
    assert forms.pop().startswith("Pod nginx-pod [{")


def test_create_deployment_gives_the_template_the_hash_of_a_real_cluster(kubectl: Kubectl) -> None:
    kubectl("create", "deployment", "nginx", "--image=nginx")
    names = kubectl.until(bool, "get", "rs", "-l", "app=nginx", "-o", "name")
    assert names == "replicaset.apps/nginx-5869d7778c\n"
    kubectl("delete", "deployment", "nginx")


def test_the_articles_pod_is_created_and_runs(kubectl: Kubectl) -> None:
    assert kubectl("create", "-f", "-", given=NGINX_POD) == "pod/nginx-pod created\n"
    kubectl("wait", "--for=condition=Ready", "pod/nginx-pod", PATIENTLY)
    fits(
        kubectl("get", "pod", "nginx-pod"),
        """
NAME        READY   STATUS    RESTARTS   AGE
nginx-pod   1/1     Running   0          {age}
""",
    )
    policy = kubectl("get", "pod", "nginx-pod", "-o", "jsonpath={..imagePullPolicy}")
    assert policy == "IfNotPresent"
    kubectl("delete", "pod", "nginx-pod", "--now")
