"""What kubectl learns of the server: discovery, explain, version, health, and what is missing."""

from __future__ import annotations

import json
import re

from tests.conformance.kubectl import Kubectl, since
from tests.conformance.prints import fits, has


def test_api_resources(kubectl: Kubectl) -> None:
    has(
        kubectl("api-resources"),
        """
NAME                                SHORTNAMES   APIVERSION                        NAMESPACED   KIND
bindings  v1  true  Binding
componentstatuses  cs  v1  false  ComponentStatus
configmaps  cm  v1  true  ConfigMap
persistentvolumeclaims  pvc  v1  true  PersistentVolumeClaim
pods                                po           v1                                true         Pod
customresourcedefinitions  crd,crds  apiextensions.k8s.io/v1  false  CustomResourceDefinition
deployments  deploy  apps/v1  true  Deployment
selfsubjectreviews  authentication.k8s.io/v1  false  SelfSubjectReview
horizontalpodautoscalers  hpa  autoscaling/v2  true  HorizontalPodAutoscaler
cronjobs  cj  batch/v1  true  CronJob
events  ev  events.k8s.io/v1  true  Event
ipaddresses  ip  networking.k8s.io/v1  false  IPAddress
volumeattachments  storage.k8s.io/v1  false  VolumeAttachment
""",
    )
    fits(
        kubectl("api-resources", "--api-group=apps", "--namespaced", "-o", "name"),
        """
controllerrevisions.apps
daemonsets.apps
deployments.apps
replicasets.apps
statefulsets.apps
""",
    )


def test_api_versions(kubectl: Kubectl) -> None:
    fits(
        kubectl("api-versions"),
        """
admissionregistration.k8s.io/v1
apiextensions.k8s.io/v1
apiregistration.k8s.io/v1
apps/v1
authentication.k8s.io/v1
authorization.k8s.io/v1
autoscaling/v1
autoscaling/v2
batch/v1
certificates.k8s.io/v1
coordination.k8s.io/v1
discovery.k8s.io/v1
events.k8s.io/v1
flowcontrol.apiserver.k8s.io/v1
networking.k8s.io/v1
node.k8s.io/v1
policy/v1
rbac.authorization.k8s.io/v1
scheduling.k8s.io/v1
storage.k8s.io/v1
v1
""",
    )


def test_version_and_cluster_info(kubectl: Kubectl) -> None:
    said = json.loads(kubectl("version", "-o", "json"))
    assert re.fullmatch(r"v1\.33\.\d+", said["serverVersion"]["gitVersion"])
    said = kubectl("cluster-info")
    assert "Kubernetes control plane" in said and "is running at" in said


def test_health(kubectl: Kubectl) -> None:
    for path in ("healthz", "livez", "readyz"):
        assert kubectl("get", "--raw", f"/{path}") == "ok"
        has(
            kubectl("get", "--raw", f"/{path}?verbose"),
            f"""
[+]ping ok
[+]log ok
[+]etcd ok
[+]poststarthook/rbac/bootstrap-roles ok
{path} check passed
""",
        )


@since(1, 27, "`explain` has another layout")
def test_explain(kubectl: Kubectl) -> None:
    has(
        kubectl("explain", "deployment.spec"),
        """
GROUP:      apps
KIND:       Deployment
VERSION:    v1
FIELD: spec <DeploymentSpec>
DESCRIPTION:
    Specification of the desired behavior of the Deployment.
FIELDS:
  minReadySeconds\t<integer>
  replicas\t<integer>
    Number of desired pods. This is a pointer to distinguish between explicit
  selector\t<LabelSelector> -required-
  strategy\t<DeploymentStrategy>
  template\t<PodTemplateSpec> -required-
""",
    )
    has(
        kubectl("explain", "deployment.spec", "--recursive"),
        """
  template\t<PodTemplateSpec> -required-
    metadata\t<ObjectMeta>
    spec\t<PodSpec>
      containers\t<[]Container> -required-
        image\t<string>
""",
    )
    said = kubectl.fails("explain", "pod.nope")
    assert said == 'error: field "nope" does not exist'


def test_what_is_not_there(kubectl: Kubectl) -> None:
    assert kubectl.fails("get", "nope") == (
        'error: the server doesn\'t have a resource type "nope"'
    )
    assert kubectl.fails("get", "pods", "nope") == (
        'Error from server (NotFound): pods "nope" not found'
    )
    assert kubectl.fails("get", "--raw", "/nope") == (
        "Error from server (NotFound): the server could not find the requested resource"
    )
    for what in ("pods", "nodes"):
        assert kubectl.fails("top", what) == "error: Metrics API not available"


@since(1, 25, "it validates by itself")
def test_unknown_fields(kubectl: Kubectl) -> None:
    spec = {"bogus": 1, "containers": [{"name": "a", "image": "x"}]}
    pod = json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "b"}, "spec": spec})
    assert kubectl.fails("create", "-f", "-", given=pod) == (
        'Error from server (BadRequest): error when creating "STDIN": Pod in version "v1" cannot '
        'be handled as a Pod: strict decoding error: unknown field "spec.bogus"'
    )
    dry = ("create", "--dry-run=server", "-f", "-")
    said = kubectl.run(*dry, "--validate=warn", given=pod)
    assert said.err == 'Warning: unknown field "spec.bogus"\n'
    assert said.out == "pod/b created (server dry run)\n"
    said = kubectl.run(*dry, "--validate=ignore", given=pod)
    assert (said.out, said.err) == ("pod/b created (server dry run)\n", "")


def test_invalid_objects(kubectl: Kubectl) -> None:
    assert kubectl.fails("create", "deployment", "x", "--image=nginx", "--replicas=-1") == (
        'error: failed to create deployment: Deployment.apps "x" is invalid: spec.replicas: '
        "Invalid value: -1: must be greater than or equal to 0"
    )
    said = kubectl.fails("run", "BAD", "--image=nginx")  # and no warning, as it was not created
    assert [line.split(" a lower")[0] for line in said.splitlines()] == [
        'The Pod "BAD" is invalid: ',
        '* metadata.name: Invalid value: "BAD":',
        '* spec.containers[0].name: Invalid value: "BAD":',
    ]
