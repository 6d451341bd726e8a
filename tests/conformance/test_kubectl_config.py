"""Where the real kubectl finds its cluster and its user, what it asks the server about itself,
and what it remembers of that."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import yaml

from tests.conformance import kubectl as kubectls
from tests.conformance import manifests
from tests.conformance.counting import Counting
from tests.conformance.kubectl import Kubectl, since
from tests.lifecycle.hosting.running import Demo


@pytest.fixture
def fresh(kubectl: Kubectl, tmp_path: Path) -> Kubectl:
    """The newest program with a home in which it has never run."""
    return Kubectl(kubectl.program, kubectl.data_dir, tmp_path)


@pytest.fixture(scope="module")
def old(of_1_10: Demo, home: Path) -> tuple[Demo, Kubectl]:
    """No server of 1.10 validates fields for its clients, and it knows passwords."""
    return of_1_10, Kubectl(kubectls.oldest(), of_1_10.data_dir, home)


def test_the_flag_wins_over_the_environment_and_that_over_the_home(
    fresh: Kubectl, tmp_path: Path
) -> None:
    places = [tmp_path / "by-flag", tmp_path / "by-environment", tmp_path / ".kube" / "config"]
    places[2].parent.mkdir()
    for place in places:
        place.write_text(fresh.config.read_text())

    def loaded(*arguments: str, **environment: str) -> str:
        printed = fresh.run("get", "ns", "-v=6", *arguments, **environment)
        assert printed.code == 0, printed.err
        (line,) = re.findall("Config loaded from file: +(.*)", printed.err)
        return str(line)

    flag, environment = f"--kubeconfig={places[0]}", {"KUBECONFIG": str(places[1])}
    assert loaded(flag, **environment) == str(places[0])
    assert loaded(**environment) == str(places[1])
    assert loaded(KUBECONFIG="") == str(places[2])


@since(1, 28, "it has no `auth whoami`")
def test_another_context_is_another_server_and_another_user(
    cluster: Demo, fresh: Kubectl, tmp_path: Path
) -> None:
    config = yaml.safe_load(fresh.config.read_text())
    student = yaml.safe_load((fresh.data_dir / "kubeconfigs" / "student").read_text())
    config["users"].append({"name": "of-a-student", "user": student["users"][0]["user"]})
    known = config["clusters"][0]
    server = known["cluster"]["server"].replace("127.0.0.1", "localhost")
    config["clusters"].append(
        {"name": "by-name", "cluster": {**known["cluster"], "server": server}}
    )
    config["contexts"].append(
        {"name": "other", "context": {"cluster": "by-name", "user": "of-a-student"}}
    )
    fresh.config = tmp_path / "two-contexts"
    fresh.config.write_text(yaml.safe_dump(config))

    def asked_by() -> tuple[str, str]:
        printed = fresh.run("auth", "whoami", "-o", "jsonpath={.status.userInfo.username}", "-v=8")
        (host,) = set(re.findall(r"https://([a-z0-9.]+):", printed.err))
        return host, printed.out.splitlines()[-1]

    assert asked_by() == ("127.0.0.1", "kubernetes-admin")
    assert fresh("config", "use-context", "other") == 'Switched to context "other".\n'
    assert asked_by() == ("localhost", "student")


def with_a_password(kubectl: Kubectl, *arguments: str) -> tuple[str, ...]:
    """A command by somebody with a password in the file, and another one in the flags."""
    config = yaml.safe_load(kubectl.config.read_text())
    config["users"][0]["user"] = {"username": "somebody", "password": "of-the-file"}
    file = kubectl.home / "with-a-password"
    file.write_text(yaml.safe_dump(config))
    flags = ("--username=else", "--password=of-the-flag", "-v=9")
    return (f"--kubeconfig={file}", *arguments, *flags)


def test_a_name_and_a_password_of_flags_win_over_those_of_the_file(
    old: tuple[Demo, Kubectl],
) -> None:
    demo, kubectl = old
    command = with_a_password(kubectl, "get", "--raw", "/api/v1/namespaces/default")
    printed, records = Counting(demo, kubectl).traced(*command)
    assert printed.code == 0, printed.err
    assert 'Authorization: Basic <masked>"' in printed.err
    (request,) = [each for each in records if each["kind"] == "request" and each["outside"]]
    (decided,) = [
        each["detail"]
        for each in records
        if each["kind"] == "gate"
        and (each["span"], each["gate"]) == (request["seq"], "authentication")
    ]
    assert decided["user"]["name"] == "else"
    allowed = [each["name"] for each in decided["tries"] if each["verdict"] == "allow"]
    assert allowed == ["BasicAuth"]


def test_a_server_of_today_knows_no_passwords(kubectl: Kubectl) -> None:
    kubectl("get", "pods")  # remembers of discovery, which is refused to anonymous users as well
    printed = kubectl.run(*with_a_password(kubectl, "get", "pods"))
    assert printed.code in (1, 255)  # an old one ends with all its stacks at this level
    assert 'Authorization: Basic <masked>"' in printed.err
    assert 'User "system:anonymous" cannot list resource "pods"' in printed.err


def test_the_first_command_asks_for_all_groups_and_the_next_does_not(
    cluster: Demo, fresh: Kubectl
) -> None:
    asked = Counting(cluster, fresh)

    def discovery() -> list[str]:
        requests = asked("get", "deployments")
        assert [each.verb for each in requests][-1] == "list"
        return [each.path for each in requests][:-1]

    first = discovery()
    assert {"/api", "/apis"} <= set(first)
    assert discovery() == []
    fresh.forget()
    assert set(discovery()) == set(first)


def test_a_kind_is_mapped_to_its_resource_and_its_scope(cluster: Demo, fresh: Kubectl) -> None:
    asked = Counting(cluster, fresh)
    create = ("create", "--dry-run=server", "-f", "-")

    def posted(manifest: str) -> str:
        (path,) = [each.path for each in asked(*create, given=manifest) if each.verb == "create"]
        return path

    assert posted(manifests.WEB) == "/apis/apps/v1/namespaces/default/deployments"
    assert posted(manifests.SETTINGS) == "/api/v1/namespaces/default/configmaps"
    assert posted(manifests.STORAGE_CLASS) == "/apis/storage.k8s.io/v1/storageclasses"


def test_an_older_server_lets_the_client_read_its_schema_and_refuse_unknown_fields(
    old: tuple[Demo, Kubectl],
) -> None:
    demo, kubectl = old
    kubectl.forget()
    asked = Counting(demo, kubectl)
    unknown = manifests.SETTINGS + "odd: 1\n"
    printed, requests = asked.run("create", "-f", "-", given=unknown)
    assert printed.code == 1
    assert 'unknown field "odd" in io.k8s.api.core.v1.ConfigMap' in printed.err
    assert "create" not in [each.verb for each in requests]
    requests = asked("create", "-f", "-", given=manifests.SETTINGS)
    paths = [each.path for each in requests]
    assert paths.index("/openapi/v2") < paths.index("/api/v1/namespaces/default/configmaps")
    kubectl("delete", "cm", "settings")


def test_the_schema_is_asked_for_as_the_session_shows_and_kept_by_the_http_cache(
    old: tuple[Demo, Kubectl],
) -> None:
    _, kubectl = old
    kubectl.forget()
    explain: tuple[str, ...] = ("explain", "pods", "-v=9")
    if kubectls.minor_of(kubectl.program) >= (1, 26):
        explain += ("--output=plaintext-openapiv2",)

    def exchange() -> tuple[str, str]:
        printed = kubectl.run(*explain)
        assert printed.code == 0, printed.err
        before, _, after = printed.err.partition("/openapi/v2?timeout=32s'")
        return before.splitlines()[-1], after

    request, answer = exchange()
    accept = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"
    assert "-XGET" in request
    assert f'Accept: {accept}"' in request
    assert re.search(r"Etag: \"?[0-9A-F]{128}", answer, re.I)
    assert "Last-Modified: " in answer
    assert "X-From-Cache: 1" not in answer
    _, answer = exchange()
    assert "X-From-Cache: 1" in answer


def test_a_user_of_a_provider_comes_with_a_bearer_token_that_openid_connect_knows(
    cluster: Demo, kubectl: Kubectl
) -> None:
    asked = Counting(cluster, kubectl.by("oidc-user"))
    printed, records = asked.traced("get", "cm", "-v=9")
    assert printed.code == 0, printed.err
    assert 'Authorization: Bearer <masked>"' in printed.err
    spans = {each["span"] for each in records if each["kind"] == "request" and each["outside"]}
    gates = [each for each in records if each["kind"] == "gate" and each["span"] in spans]
    known = [each["detail"] for each in gates if each["gate"] == "authentication"]
    assert len(known) == len(spans)
    assert {detail["user"]["name"] for detail in known} == {"oidc:oidc-user"}
    allowed = [each for detail in known for each in detail["tries"] if each["verdict"] == "allow"]
    # the token of one who was known less than ten seconds ago is not looked at again
    assert {each.get("detail", {}).get("authenticator", each["name"]) for each in allowed} == {
        "OIDC"
    }
