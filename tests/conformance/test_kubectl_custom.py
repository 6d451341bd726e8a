"""Custom resources as the real kubectl uses them: the CronTab of the documentation, from its
definition to its end."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from tests.conformance.kubectl import PATIENTLY, Kubectl, since

NAME = "crontabs.stable.example.com"
DEFINITION = """
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: crontabs.stable.example.com
spec:
  group: stable.example.com
  scope: Namespaced
  names:
    plural: crontabs
    singular: crontab
    kind: CronTab
    shortNames: [ct]
    categories: [all]
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        description: CronTab is a job that comes again.
        type: object
        properties:
          spec:
            type: object
            required: [cronSpec]
            x-kubernetes-validations:
            - rule: "!has(self.replicas) || self.replicas <= 10"
              message: no more than ten
            properties:
              cronSpec:
                description: When it runs.
                type: string
                pattern: '^(\\d+|\\*)(/\\d+)?(\\s+(\\d+|\\*)(/\\d+)?){4}$'
              image: {type: string, default: my-awesome-cron-image}
              replicas: {type: integer, minimum: 1}
              env:
                type: array
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties:
                    name: {type: string}
                    value: {type: string}
          status:
            type: object
            properties:
              replicas: {type: integer}
              labelSelector: {type: string}
    subresources:
      status: {}
      scale:
        specReplicasPath: .spec.replicas
        statusReplicasPath: .status.replicas
        labelSelectorPath: .status.labelSelector
    additionalPrinterColumns:
    - {name: Spec, type: string, description: The cron spec, jsonPath: .spec.cronSpec}
    - {name: Replicas, type: integer, jsonPath: .spec.replicas}
    - {name: Image, type: string, jsonPath: .spec.image, priority: 1}
    - {name: Age, type: date, jsonPath: .metadata.creationTimestamp}
"""
CRONTAB = """
apiVersion: stable.example.com/v1
kind: CronTab
metadata:
  name: my-new-cron-object
spec:
  cronSpec: "* * * * */5"
  replicas: 2
"""


@pytest.fixture(scope="module")
def kubectl(kubectl: Kubectl) -> Iterator[Kubectl]:
    said = kubectl("apply", "-f", "-", given=DEFINITION)
    assert said == f"customresourcedefinition.apiextensions.k8s.io/{NAME} created\n"
    kubectl.until_established(NAME)
    said = kubectl("wait", "--for=condition=established", f"crd/{NAME}", PATIENTLY)
    assert said == f"customresourcedefinition.apiextensions.k8s.io/{NAME} condition met\n"
    with kubectl.space("customs") as within:
        within("apply", "-f", "-", given=CRONTAB)
        yield within
    kubectl("delete", "crd", NAME)
    kubectl.forget()


def test_get_prints_the_definitions_columns(kubectl: Kubectl) -> None:
    lines = kubectl("get", "ct").splitlines()
    assert lines[0].split() == ["NAME", "SPEC", "REPLICAS", "AGE"]
    assert lines[1].startswith("my-new-cron-object   * * * * */5   2")
    wide = kubectl("get", "crontabs", "-o", "wide").splitlines()
    assert wide[0].split() == ["NAME", "SPEC", "REPLICAS", "IMAGE", "AGE"]
    assert "my-awesome-cron-image" in wide[1]
    assert "crontab.stable.example.com/my-new-cron-object" in kubectl("get", "all")


@since(1, 27, "`explain` has another layout")
def test_describe_and_explain_know_the_kind(kubectl: Kubectl) -> None:
    said = kubectl("describe", "crontab", "my-new-cron-object")
    assert "API Version:  stable.example.com/v1" in said
    assert "Cron Spec:  * * * * */5" in said
    said = kubectl("explain", "crontab.spec.cronSpec")
    assert "FIELD: cronSpec <string>" in said
    assert "When it runs." in said
    assert "CronTab is a job that comes again." in kubectl("explain", "ct")
    listed = kubectl("api-resources", "--api-group=stable.example.com")
    assert listed.splitlines()[1].split() == [
        "crontabs",
        "ct",
        "stable.example.com/v1",
        "true",
        "CronTab",
    ]


def test_apply_merges_and_says_what_it_did(kubectl: Kubectl) -> None:
    what = "crontab.stable.example.com/my-new-cron-object"
    assert kubectl("apply", "-f", "-", given=CRONTAB) == f"{what} unchanged\n"
    changed = CRONTAB.replace("replicas: 2", "replicas: 3")
    assert kubectl("diff", "-f", "-", given=CRONTAB) == ""
    assert kubectl("apply", "-f", "-", given=changed) == f"{what} configured\n"
    assert kubectl.object("ct", "my-new-cron-object")["spec"]["replicas"] == 3
    kubectl("apply", "-f", "-", given=CRONTAB)


def test_scale_writes_the_path_that_the_definition_names(kubectl: Kubectl) -> None:
    said = kubectl("scale", "--replicas=5", "crontabs/my-new-cron-object")
    assert said == "crontab.stable.example.com/my-new-cron-object scaled\n"
    assert kubectl.object("ct", "my-new-cron-object")["spec"]["replicas"] == 5


@since(1, 24, "`patch` has no `--subresource`")
def test_patches_are_merge_and_json_patches(kubectl: Kubectl) -> None:
    patch = json.dumps({"spec": {"image": "other"}})
    kubectl("patch", "ct", "my-new-cron-object", "--type=merge", "-p", patch)
    assert kubectl.object("ct", "my-new-cron-object")["spec"]["image"] == "other"
    said = kubectl.fails("patch", "ct", "my-new-cron-object", "-p", patch)
    assert "UnsupportedMediaType" in said or "not supported" in said
    status = json.dumps({"status": {"replicas": 5}})
    kubectl(
        "patch", "ct", "my-new-cron-object", "--type=merge", "--subresource=status", "-p", status
    )
    assert kubectl.object("ct", "my-new-cron-object")["status"] == {"replicas": 5}


@since(1, 25, "it validates by itself")
def test_unknown_fields_are_refused_or_warned_of(kubectl: Kubectl) -> None:
    odd = CRONTAB.replace("replicas: 2", "bogus: 2").replace("my-new-cron-object", "odd")
    said = kubectl.fails("apply", "-f", "-", given=odd)
    assert 'strict decoding error: unknown field "spec.bogus"' in said
    warned = kubectl.run("apply", "--validate=warn", "-f", "-", given=odd)
    assert 'Warning: unknown field "spec.bogus"' in warned.err
    assert "bogus" not in kubectl.object("ct", "odd")["spec"]
    kubectl("delete", "ct", "odd")


def test_what_does_not_fit_is_refused_in_upstreams_words(kubectl: Kubectl) -> None:
    bad = CRONTAB.replace("* * * * */5", "* * * *").replace("my-new-cron-object", "bad")
    said = kubectl.fails("apply", "-f", "-", given=bad)
    assert (
        'The CronTab "bad" is invalid: \n* spec.cronSpec: Invalid value: "* * * *": '
        "spec.cronSpec in body should match"
    ) in said or 'The CronTab "bad" is invalid: spec.cronSpec: Invalid value: "* * * *"' in said
    many = CRONTAB.replace("replicas: 2", "replicas: 11").replace("my-new-cron-object", "bad")
    said = kubectl.fails("apply", "-f", "-", given=many)
    assert said.endswith('spec: Invalid value: "object": no more than ten')


def test_server_side_apply_conflicts_by_list_keys(kubectl: Kubectl) -> None:
    first = CRONTAB.replace("my-new", "shared") + "  env:\n  - {name: A, value: a}\n"
    kubectl("apply", "--server-side", "--field-manager=one", "-f", "-", given=first)
    other = first.replace("value: a", "value: b")
    said = kubectl.fails("apply", "--server-side", "--field-manager=two", "-f", "-", given=other)
    assert 'conflict with "one": .spec.env[name="A"].value' in said
    kubectl(
        "apply", "--server-side", "--force-conflicts", "--field-manager=two", "-f", "-", given=other
    )
    kubectl("delete", "ct", "shared-cron-object")


def test_a_definition_takes_its_objects_along(kubectl: Kubectl) -> None:
    again = DEFINITION.replace("crontabs", "lines").replace("crontab", "line")
    again = again.replace("CronTab", "Line").replace("[ct]", "[ln]")
    kubectl("apply", "-f", "-", given=again)
    kubectl.until_established("lines.stable.example.com")
    kubectl("apply", "-f", "-", given=CRONTAB.replace("CronTab", "Line"))
    assert "my-new-cron-object" in kubectl("get", "lines")
    kubectl("delete", "crd", "lines.stable.example.com", PATIENTLY)
    said = kubectl.fails("get", "lines")
    # what it has cached of discovery is asked first
    assert "the server could not find the requested resource" in said or (
        'the server doesn\'t have a resource type "lines"' in said
    )
