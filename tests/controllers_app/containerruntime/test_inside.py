"""The API server as a container reaches it, with the token and the CA that it finds."""

from __future__ import annotations

import orjson
import pytest

from lifecycle.hosting.scripted import Session
from tests.controllers_app.nodelab import execute, run
from tests.controllers_app.podlab import cluster, create, get, pod

WHERE = "/var/run/secrets/kubernetes.io/serviceaccount"
PODS = "https://kubernetes.default.svc/api/v1/namespaces/default/pods"
CURL = f"curl -s --cacert {WHERE}/ca.crt"
TOKEN = f'-H "Authorization: Bearer $(cat {WHERE}/token)"'
ROLE = """
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: reader, namespace: default}
rules: [{apiGroups: [""], resources: [pods], verbs: [get, list]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: reader, namespace: default}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: reader}
subjects: [{kind: ServiceAccount, name: default, namespace: default}]
"""


@pytest.fixture(scope="module")
def site() -> Session:
    session = cluster(nodes=1)
    create(session, pod())
    create(session, pod("box", image="busybox", container={"command": ["sleep", "infinity"]}))
    return session


def sh(site: Session, script: str, name: str = "web") -> tuple[str, int | None]:
    return execute(site, "sh", "-c", script, name=name)


def test_the_first_command_of_a_container_finds_its_token() -> None:
    session = cluster(nodes=1)
    create(session, pod())
    assert sh(session, f"head -c 3 {WHERE}/token") == ("eyJ", 0)


def test_without_a_token_it_is_anonymous_and_without_a_role_forbidden(site: Session) -> None:
    said = orjson.loads(sh(site, f"{CURL} {PODS}")[0])
    assert said["code"] == 403 and 'User "system:anonymous" cannot list' in said["message"]
    said = orjson.loads(sh(site, f"{CURL} {TOKEN} {PODS}")[0])
    assert said["code"] == 403
    assert 'User "system:serviceaccount:default:default" cannot list' in said["message"]
    said, code = sh(site, f'wget -qO- --header "{TOKEN[4:-1]}" {PODS}', "box")
    assert (code, said.splitlines()[-1]) == (
        1,
        "wget: server returned error: HTTP/1.1 403 Forbidden",
    )


def test_a_wrong_token_is_not_known(site: Session) -> None:
    script = f'{CURL} -o /dev/null -w "%{{http_code}}" -H "Authorization: Bearer nope" {PODS}'
    assert sh(site, script) == ("401", 0)


def test_with_a_role_the_pods_are_listed_and_every_gate_is_in_the_trace(site: Session) -> None:
    site.apply(ROLE)
    site.settle()
    listed = orjson.loads(sh(site, f"{CURL} {TOKEN} {PODS}")[0])
    assert [item["metadata"]["name"] for item in listed["items"]] == ["box", "web"]
    asked = [
        record for record in site.records() if record["kind"] == "request" and record.get("outside")
    ]
    assert asked


def test_certificates_are_checked(site: Session) -> None:
    out, code = sh(site, f"curl {PODS}")
    assert code == 60 and "(60) SSL certificate problem: unable to get local issuer" in out
    assert sh(site, f"curl -sk -o /dev/null -w '%{{http_code}}' {PODS}") == ("403", 0)
    assert sh(site, f"curl -s --cacert /nope {PODS}")[1] == 77


def test_tls_and_plain_http_do_not_understand_each_other(site: Session) -> None:
    out, code = sh(site, "curl https://localhost:80/")
    assert code == 35 and "wrong version number" in out
    out, code = sh(site, "curl -s http://kubernetes.default:443/")
    assert (out, code) == ("Client sent an HTTP request to an HTTPS server.\n", 0)


def test_a_server_that_is_stopped_refuses_connections(site: Session) -> None:
    life, body = site.cluster.context.life, get(site)
    life.stop()
    site.settle()
    command = ["curl", "-sS", "-k", PODS]
    process = run(site, site.cluster.nodes.exec(body, "c", command, stdin=False, tty=False))
    said = run(site, process.read())[1].decode()
    assert said.startswith("curl: (7) Failed to connect to kubernetes.default.svc port 443")
    life.start()
    site.settle()
    assert sh(site, f"{CURL} -o /dev/null {PODS}")[1] == 0
