"""What the page prints for `kubectl get`, held against the real kubectl at the same moment."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.conformance import kubectl as kubectls
from tests.conformance.kubectl import PATIENTLY, Kubectl
from tests.lifecycle.hosting.running import REAL, Demo
from tests.suite import seeds

TRIES = 50  # until both ask within one second, which their column AGE counts
CRD = """\
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: widgets.shop.example}
spec:
  group: shop.example
  scope: Namespaced
  names: {plural: widgets, singular: widget, kind: Widget, shortNames: [wd], categories: [all]}
  versions:
  - {name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}
"""
WIDGET = "apiVersion: shop.example/v1\nkind: Widget\nmetadata: {name: wheel}\n"


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Demo]:
    with Demo(tmp_path_factory.mktemp("get") / "data", driver=REAL) as demo:
        yield demo


@pytest.fixture(scope="module")
def kubectl(demo: Demo, tmp_path_factory: pytest.TempPathFactory) -> Kubectl:
    """As admin; two Deployments, one with a Service, and a custom resource are there."""
    kubectl = Kubectl(kubectls.newest(), demo.data_dir, tmp_path_factory.mktemp("home"))
    for name in ("web", "db"):
        kubectl("create", "deployment", name, "--image=nginx", "--replicas=2")
    kubectl("expose", "deployment", "web", "--port=80")
    kubectl("apply", "-f", "-", given=CRD)
    kubectl.until_established("widgets.shop.example")
    kubectl("apply", "-f", "-", given=WIDGET)
    kubectl("rollout", "status", "deployment/web", PATIENTLY)
    kubectl("rollout", "status", "deployment/db", PATIENTLY)
    return kubectl


def printed(demo: Demo, user: str, line: dict[str, Any]) -> str:
    path = f"/viz/v1/clusters/demo/get?as={user or 'admin'}"
    body = json.dumps(line).encode()
    answer = demo.ask("POST", path, body, Content_Type="application/json")
    assert answer.status == 200
    return "".join(f"{one['text']}\n" for one in json.loads(answer.read())["lines"])


LINES: list[tuple[str, dict[str, Any]]] = [
    ("pods", {"types": ["pods"]}),
    ("po -o wide", {"types": ["po"], "output": "wide"}),
    ("pods -A", {"types": ["pods"], "all_namespaces": True}),
    ("nodes -o wide", {"types": ["nodes"], "output": "wide"}),
    ("all", {"types": ["all"]}),
    ("deploy,svc", {"types": ["deploy", "svc"]}),
    ("deployments.apps web db", {"types": ["deployments.apps"], "names": ["web", "db"]}),
    ("deploy web nobody", {"types": ["deploy"], "names": ["web", "nobody"]}),
    ("rs -l app=web -o name", {"types": ["rs"], "selector": "app=web", "output": "name"}),
    ("pods -n kube-node-lease", {"types": ["pods"], "namespace": "kube-node-lease"}),
    ("pods -n a -l app=none", {"types": ["pods"], "namespace": "a", "selector": "app=none"}),
    ("pv", {"types": ["pv"]}),
    ("wd", {"types": ["wd"]}),
    ("widgets.shop.example wheel", {"types": ["widgets.shop.example"], "names": ["wheel"]}),
    ("gadgets", {"types": ["gadgets"]}),
    ("cm -n kube-system", {"types": ["cm"], "namespace": "kube-system"}),
    ("pods -l ===", {"types": ["pods"], "selector": "==="}),
]


# each line by one of them each day, by all in the long suite
ROWS = [
    (user, words, line)
    for words, line in LINES
    for user in seeds.draw(f"get {words}", ["", "student", "viewer"], 1)
]


@pytest.mark.parametrize(
    ("user", "words", "line"), ROWS, ids=[f"{user}-{words}" for user, words, _ in ROWS]
)
def test_it_is_what_the_real_one_prints(
    demo: Demo, kubectl: Kubectl, user: str, words: str, line: dict[str, Any]
) -> None:
    program = kubectl.by(user) if user else kubectl
    ours = real = ""
    for _ in range(TRIES):
        said = program.run("get", *words.split())
        ours, real = printed(demo, user, line), said.out + said.err
        if ours == real:
            break
    assert ours == real
