"""A real HTTPS webhook on loopback against a real server, with the real kubectl."""

from __future__ import annotations

import base64
import contextlib
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests import httpsserver
from tests.conformance.kubectl import Kubectl
from tests.httpsserver import Server
from tests.lifecycle.hosting.running import WAIT_SECONDS

# what is wanted of a request of a review: the response without its uid
Decide = Callable[[dict[str, Any]], dict[str, Any]]


@pytest.fixture
def space(kubectl: Kubectl) -> Iterator[Kubectl]:
    with kubectl.space("hooked") as within:
        yield within


def serving(decide: Decide, where: Path) -> Server:
    def respond(method: str, path: str, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        review = json.loads(body)
        response = {"uid": review["request"]["uid"], **decide(review["request"])}
        answer = {"kind": "AdmissionReview", "apiVersion": review["apiVersion"]}
        return 200, json.dumps({**answer, "response": response}).encode()

    return Server(where, respond)


@contextlib.contextmanager
def configured(
    kubectl: Kubectl, kind: str, url: str, ca_pem: str, configuration: str = "check", **fields: Any
) -> Iterator[None]:
    """A configuration of one webhook for config maps of the namespace, while the test runs."""
    rule = {
        "operations": ["CREATE"],
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["configmaps"],
    }
    webhook = {
        "name": "check.example.com",
        "rules": [rule],
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "clientConfig": {"url": url, "caBundle": base64.b64encode(ca_pem.encode()).decode()},
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "hooked"}},
        "objectSelector": {"matchExpressions": [{"key": "app", "operator": "Exists"}]},
        **fields,
    }
    resource = f"{kind.capitalize()}WebhookConfiguration"
    made = {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": resource,
        "metadata": {"name": configuration},
        "webhooks": [webhook],
    }
    kubectl("create", "-f", "-", given=yaml.safe_dump(made))
    try:
        yield
    finally:
        kubectl("delete", resource, configuration)


def configmap(name: str) -> str:
    metadata = {"name": name, "labels": {"app": name}}
    return yaml.safe_dump({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata})


def test_a_patch_is_applied_also_on_dry_run(space: Kubectl, tmp_path: Path) -> None:
    patch = json.dumps([{"op": "add", "path": "/metadata/labels/seen", "value": "yes"}])
    encoded = base64.b64encode(patch.encode()).decode()

    def decide(request: dict[str, Any]) -> dict[str, Any]:
        said = {"allowed": True, "patchType": "JSONPatch", "patch": encoded}
        return {**said, "warnings": [f"dry run: {request['dryRun']}"]}

    with serving(decide, tmp_path) as server:
        url, ca = f"{server.url}/mutate", server.certificate.ca_pem
        with configured(space, "mutating", url, ca):
            shown = space.run(
                "create", "-f", "-", "--dry-run=server", "-o", "yaml", given=configmap("one")
            )
            assert yaml.safe_load(shown.out)["metadata"]["labels"] == {"app": "one", "seen": "yes"}
            assert shown.err == "Warning: dry run: True\n"
            space("create", "-f", "-", given=configmap("one"))
        assert space.object("configmap", "one")["metadata"]["labels"]["seen"] == "yes"
        method, path, headers, _ = server.asked[-1]
        assert (method, path) == ("POST", "/mutate?timeout=10s")
        assert headers["user-agent"] == "kube-apiserver-admission"


def test_a_refusal_is_printed_as_by_a_real_server(space: Kubectl, tmp_path: Path) -> None:
    def decide(request: dict[str, Any]) -> dict[str, Any]:
        status = {"code": 403, "reason": "Forbidden", "message": "not this one"}
        return {"allowed": False, "status": status}

    with (
        serving(decide, tmp_path) as server,
        configured(space, "validating", server.url, server.certificate.ca_pem),
    ):
        assert space.fails("create", "-f", "-", given=configmap("one")) == (
            'Error from server (Forbidden): error when creating "STDIN": admission webhook '
            '"check.example.com" denied the request: not this one'
        )
    assert space.run("get", "configmap", "one").code == 1


def test_a_slow_webhook_fails_or_is_ignored(space: Kubectl, tmp_path: Path) -> None:
    given_up = threading.Event()

    def decide(request: dict[str, Any]) -> dict[str, Any]:
        given_up.wait(WAIT_SECONDS)
        return {"allowed": True}

    with serving(decide, tmp_path) as server, contextlib.ExitStack() as behind:
        behind.callback(given_up.set)
        url, ca = server.url, server.certificate.ca_pem
        with configured(space, "validating", url, ca, timeoutSeconds=1):
            said = space.fails("create", "-f", "-", given=configmap("one"))
            assert said.endswith(
                'failed calling webhook "check.example.com": failed to call webhook: Post '
                f'"{url}?timeout=1s": context deadline exceeded'
            )
            assert said.startswith("Error from server (InternalError): ")
        with configured(space, "mutating", url, ca, timeoutSeconds=1, failurePolicy="Ignore"):
            assert "created" in space("create", "-f", "-", given=configmap("one"))


def test_nobody_there_a_wrong_authority_and_a_forbidden_address_are_named(
    space: Kubectl, tmp_path: Path
) -> None:
    failed = 'failed calling webhook "check.example.com": failed to call webhook: Post '
    other = httpsserver.certificate("127.0.0.1").ca_pem

    def refusal(url: str) -> str:
        with configured(space, "validating", url, other):
            said = space.fails("create", "-f", "-", given=configmap("one"))
        return said.partition(failed)[2].partition('": ')[2]

    with serving(lambda request: {"allowed": True}, tmp_path) as server:
        assert refusal(server.url) == (
            "tls: failed to verify certificate: x509: certificate signed by unknown authority"
        )
    assert refusal("https://127.0.0.1:9/x") == "dial tcp 127.0.0.1:9: connect: connection refused"
    assert refusal("https://192.0.2.1/x") == (
        "dial tcp 192.0.2.1:443: the address is not allowed, --outbound-allowed-addresses is "
        "127.0.0.0/8,::1/128"
    )


def test_two_webhooks_change_the_object_and_the_first_is_asked_again(
    space: Kubectl, tmp_path: Path
) -> None:
    def adding(label: str, value: str) -> Decide:
        patch = json.dumps([{"op": "add", "path": f"/metadata/labels/{label}", "value": value}])
        encoded = base64.b64encode(patch.encode()).decode()
        return lambda request: {"allowed": True, "patchType": "JSONPatch", "patch": encoded}

    def first(request: dict[str, Any]) -> dict[str, Any]:
        labels = request["object"]["metadata"]["labels"]
        return adding("times", "2" if "second" in labels else "1")(request)

    folders = [tmp_path / "one", tmp_path / "two"]
    for folder in folders:
        folder.mkdir()
    with (
        serving(first, folders[0]) as one,
        serving(adding("second", "here"), folders[1]) as two,
        configured(
            space,
            "mutating",
            one.url,
            one.certificate.ca_pem,
            configuration="a-first",
            reinvocationPolicy="IfNeeded",
        ),
        configured(
            space,
            "mutating",
            two.url,
            two.certificate.ca_pem,
            configuration="b-second",
            sideEffects="NoneOnDryRun",
            matchConditions=[{"name": "named", "expression": "object.metadata.name != 'alone'"}],
        ),
    ):
        space("create", "-f", "-", given=configmap("both"))
        space("create", "-f", "-", given=configmap("alone"))
        assert (len(one.asked), len(two.asked)) == (3, 1)
        shown = space.run(
            "create", "-f", "-", "--dry-run=server", "-o", "yaml", given=configmap("dry")
        )
        labels = {"app": "dry", "second": "here", "times": "2"}
        assert yaml.safe_load(shown.out)["metadata"]["labels"] == labels
    labels = {"app": "both", "second": "here", "times": "2"}
    assert space.object("configmap", "both")["metadata"]["labels"] == labels
    labels = {"app": "alone", "times": "1"}
    assert space.object("configmap", "alone")["metadata"]["labels"] == labels


def test_a_condition_without_a_value_refuses_where_failures_do(
    space: Kubectl, tmp_path: Path
) -> None:
    with (
        serving(lambda request: {"allowed": True}, tmp_path) as server,
        configured(
            space,
            "validating",
            server.url,
            server.certificate.ca_pem,
            admissionReviewVersions=["v1beta1", "v1"],
            sideEffects="NoneOnDryRun",
            matchConditions=[{"name": "broken", "expression": "object.data.nothing == ''"}],
            failurePolicy="Fail",
        ),
    ):
        said = space.fails("create", "-f", "-", "--dry-run=server", given=configmap("one"))
        assert "expression 'object.data.nothing == ''' resulted in error: no such key: data" in said
        assert server.asked == []
