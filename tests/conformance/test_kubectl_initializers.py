"""Initializers with the real kubectl: what waits is in no list until nobody is left to wait for."""

from __future__ import annotations

from pathlib import Path

import yaml

from tests.conformance import kubectl as kubectls
from tests.conformance.kubectl import PATIENTLY, Kubectl
from tests.lifecycle.hosting.running import Demo

CONFIGURATION = """
apiVersion: admissionregistration.k8s.io/v1alpha1
kind: InitializerConfiguration
metadata: {name: custom-pod-initializer}
initializers:
- name: podimage.example.com
  rules:
  - {apiGroups: [""], apiVersions: [v1], resources: [pods]}
"""
POD = (
    '{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"},'
    '"spec":{"containers":[{"name":"web","image":"nginx"}]}}'
)
PODS = "/api/v1/namespaces/default/pods"
TURN = (
    '[{"op":"test","path":"/metadata/initializers/pending/0/name","value":"podimage.example.com"},'
    '{"op":"remove","path":"/metadata/initializers/pending/0"}]'
)


def test_a_pod_is_listed_once_its_initializer_took_its_name_away(
    of_1_10: Demo, tmp_path: Path, home: Path
) -> None:
    kubectl = Kubectl(kubectls.newest(), of_1_10.data_dir, home)
    kubectl.until(bool, "get", "serviceaccount", "default", "--ignore-not-found", "-o", "name")
    said = kubectl("create", "-f", "-", given=CONFIGURATION)
    assert said.endswith("/custom-pod-initializer created\n")
    body = tmp_path / "pod.json"
    body.write_text(POD)
    kubectl("create", "--raw", f"{PODS}?includeUninitialized=1", "-f", str(body))
    assert kubectl("get", "pods", "-o", "name") == ""
    listed = yaml.safe_load(kubectl("get", "--raw", f"{PODS}?includeUninitialized=true"))
    (pod,) = listed["items"]
    assert pod["metadata"]["initializers"]["pending"] == [{"name": "podimage.example.com"}]
    kubectl("patch", "pod", "web", "--type=json", "-p", TURN)
    assert kubectl("get", "pods", "-o", "name") == "pod/web\n"
    kubectl("wait", "--for=condition=Ready", "pod/web", PATIENTLY)
    kubectl("delete", "-f", "-", given=CONFIGURATION)
    kubectl("delete", "pod", "web", "--now")
