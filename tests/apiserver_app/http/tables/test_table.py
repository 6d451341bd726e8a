"""Table documents, and the rows of every kind but pods."""

from pathlib import Path
from typing import Any

import orjson
import pytest
import yaml

from apiserver_app.http.tables import forms, table
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.releases import Release

GOLDEN = Path(__file__).parents[3] / "golden"
NOW = meta.parse_time("2022-02-16T15:57:50Z")
BORN = {"name": "x", "creationTimestamp": "2022-02-16T15:53:28Z"}  # 4m22s old
TEMPLATE = {"spec": {"containers": [{"name": "a", "image": "i:1"}, {"name": "b", "image": "j"}]}}
SELECTOR = {
    "matchLabels": {"app": "web"},
    "matchExpressions": [
        {"key": "tier", "operator": "In", "values": ["b", "a"]},
        {"key": "arch", "operator": "NotIn", "values": ["arm"]},
        {"key": "old", "operator": "DoesNotExist"},
    ],
}
WRITTEN = "app=web,arch notin (arm),!old,tier in (a,b)"


def golden(name: str) -> Any:
    text = (GOLDEN / name).read_text()
    return orjson.loads(text) if name.endswith(".json") else _as_stored(yaml.safe_load(text))


def _as_stored(value: Any) -> Any:
    return orjson.loads(orjson.dumps(value))


def obj(spec: Any = None, status: Any = None, **more: Any) -> dict[str, Any]:
    return {"metadata": BORN, "spec": spec or {}, "status": status or {}, **more}


ROWS: list[tuple[str, dict[str, Any], list[Any]]] = [
    ("deployments.apps",
     obj({"replicas": 3, "template": TEMPLATE, "selector": SELECTOR},
         {"readyReplicas": 2, "updatedReplicas": 3, "availableReplicas": 1}),
     ["x", "2/3", 3, 1, "4m22s", "a,b", "i:1,j", WRITTEN]),
    ("replicasets.apps", obj({"replicas": 3, "template": TEMPLATE, "selector": SELECTOR},
                             {"replicas": 2}),
     ["x", 3, 2, 0, "4m22s", "a,b", "i:1,j", WRITTEN]),
    ("replicationcontrollers", obj({"replicas": 1, "template": TEMPLATE, "selector": {"a": "b"}}),
     ["x", 1, 0, 0, "4m22s", "a,b", "i:1,j", "a=b"]),
    ("statefulsets.apps", obj({"replicas": 2, "template": TEMPLATE}, {"readyReplicas": 1}),
     ["x", "1/2", "4m22s", "a,b", "i:1,j"]),
    ("daemonsets.apps", obj({"template": TEMPLATE, "selector": {"matchLabels": {"a": "b"}}},
                            {"desiredNumberScheduled": 3, "numberReady": 2}),
     ["x", 3, 0, 2, 0, 0, "<none>", "4m22s", "a,b", "i:1,j", "a=b"]),
    ("jobs.batch", obj({"completions": 3, "template": TEMPLATE},
                       {"succeeded": 1, "startTime": "2022-02-16T15:53:28Z"}),
     ["x", "Running", "1/3", "4m22s", "4m22s", "a,b", "i:1,j", "<none>"]),
    ("jobs.batch", obj({"parallelism": 2, "template": TEMPLATE},
                       {"conditions": [{"type": "Complete", "status": "True"}], "succeeded": 1,
                        "startTime": "2022-02-16T15:53:28Z",
                        "completionTime": "2022-02-16T15:53:33Z"}),
     ["x", "Complete", "1/1 of 2", "5s", "4m22s", "a,b", "i:1,j", "<none>"]),
    ("cronjobs.batch", obj({"schedule": "* * * * *", "suspend": False,
                            "jobTemplate": {"spec": {"template": TEMPLATE}}},
                           {"active": [{}], "lastScheduleTime": "2022-02-16T15:57:00Z"}),
     ["x", "* * * * *", "<none>", "False", 1, "50s", "4m22s", "a,b", "i:1,j", "<none>"]),
    ("services", obj({"type": "ClusterIP", "clusterIPs": ["10.96.0.1"], "selector": {"a": "b"},
                      "ports": [{"port": 443, "protocol": "TCP"}]}),
     ["x", "ClusterIP", "10.96.0.1", "<none>", "443/TCP", "4m22s", "a=b"]),
    ("services", obj({"type": "NodePort", "clusterIPs": ["10.96.0.1"],
                      "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"},
                                {"port": 53, "protocol": "UDP"}]}),
     ["x", "NodePort", "10.96.0.1", "<none>", "80:30080/TCP,53/UDP", "4m22s", "<none>"]),
    ("services", obj({"type": "LoadBalancer", "clusterIPs": ["10.96.0.1"]}),
     ["x", "LoadBalancer", "10.96.0.1", "<pending>", "<none>", "4m22s", "<none>"]),
    ("services", obj({"type": "LoadBalancer", "clusterIPs": ["10.96.0.1"]},
                     {"loadBalancer": {"ingress": [{"ip": "2.2.2.2"}, {"hostname": "1.lb"}]}}),
     ["x", "LoadBalancer", "10.96.0.1", "1.lb,2.2.2.2", "<none>", "4m22s", "<none>"]),
    ("services", obj({"type": "ExternalName", "externalName": "a.b"}),
     ["x", "ExternalName", "<none>", "a.b", "<none>", "4m22s", "<none>"]),
    ("endpoints", {"metadata": BORN, "subsets": [
        {"addresses": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}, {"ip": "fd00::1"}, {"ip": "z"}],
         "ports": [{"port": 80}]}]},
     ["x", "10.0.0.1:80,10.0.0.2:80,[fd00::1]:80 + 1 more...", "4m22s"]),
    ("endpoints", {"metadata": BORN}, ["x", "<none>", "4m22s"]),
    ("endpointslices.discovery.k8s.io",
     {"metadata": BORN, "addressType": "IPv4", "ports": [{"port": 80}, {"name": "n"}, {}],
      "endpoints": [{"addresses": [f"10.0.0.{last}"]} for last in range(5)]},
     ["x", "IPv4", "80,n,*", "10.0.0.0,10.0.0.1,10.0.0.2 + 2 more...", "4m22s"]),
    ("endpointslices.discovery.k8s.io", {"metadata": BORN, "addressType": "IPv4"},
     ["x", "IPv4", "<unset>", "<unset>", "4m22s"]),
    ("ingresses.networking.k8s.io",
     obj({"rules": [{"host": "a"}, {}], "tls": [{}], "ingressClassName": "nginx"}),
     ["x", "nginx", "a", "", "80, 443", "4m22s"]),
    ("networkpolicies.networking.k8s.io", obj({"podSelector": {}}), ["x", "<none>", "4m22s"]),
    ("nodes",
     {"metadata": {**BORN, "labels": {"node-role.kubernetes.io/control-plane": ""}},
      "spec": {"unschedulable": True},
      "status": {"conditions": [{"type": "Ready", "status": "True"}],
                 "addresses": [{"type": "InternalIP", "address": "172.18.0.2"}],
                 "nodeInfo": {"kubeletVersion": "v1.33.1", "osImage": "Debian",
                              "kernelVersion": "6.1",
                              "containerRuntimeVersion": "containerd://2"}}},
     ["x", "Ready,SchedulingDisabled", "control-plane", "4m22s", "v1.33.1", "172.18.0.2", "<none>",
      "Debian", "6.1", "containerd://2"]),
    ("nodes", obj(),
     ["x", "Unknown", "<none>", "4m22s", "", "<none>", "<none>", *["<unknown>"] * 3]),
    ("namespaces", obj(status={"phase": "Active"}), ["x", "Active", "4m22s"]),
    ("configmaps", {"metadata": BORN, "data": {"a": ""}, "binaryData": {"b": ""}},
     ["x", 2, "4m22s"]),
    ("secrets", {"metadata": BORN, "type": "Opaque"}, ["x", "Opaque", 0, "4m22s"]),
    ("serviceaccounts", {"metadata": BORN}, ["x", 0, "4m22s"]),
    ("persistentvolumeclaims",
     obj({"volumeName": "pv", "storageClassName": "fast", "volumeMode": "Filesystem"},
         {"phase": "Bound", "capacity": {"storage": "1Gi"},
          "accessModes": ["ReadWriteMany", "ReadWriteOnce"]}),
     ["x", "Bound", "pv", "1Gi", "RWO,RWX", "fast", "<unset>", "4m22s", "Filesystem"]),
    ("persistentvolumes",
     obj({"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOncePod"],
          "persistentVolumeReclaimPolicy": "Delete", "storageClassName": "fast",
          "claimRef": {"namespace": "d", "name": "c"}}, {"phase": "Bound"}),
     ["x", "1Gi", "RWOP", "Delete", "Bound", "d/c", "fast", "<unset>", "", "4m22s", "<unset>"]),
    ("storageclasses.storage.k8s.io",
     {"metadata": {**BORN, "annotations": {"storageclass.kubernetes.io/is-default-class": "true"}},
      "provisioner": "p", "volumeBindingMode": "WaitForFirstConsumer"},
     ["x (default)", "p", "Delete", "WaitForFirstConsumer", False, "4m22s"]),
    ("rolebindings.rbac.authorization.k8s.io",
     {"metadata": BORN, "roleRef": {"kind": "Role", "name": "r"},
      "subjects": [{"kind": "User", "name": "u"}, {"kind": "User", "name": "v"},
                   {"kind": "ServiceAccount", "namespace": "n", "name": "s"}]},
     ["x", "Role/r", "4m22s", "u, v", "", "n/s"]),
    ("roles.rbac.authorization.k8s.io", {"metadata": BORN}, ["x", "2022-02-16T15:53:28Z"]),
    ("limitranges", {"metadata": BORN}, ["x", "2022-02-16T15:53:28Z"]),
    ("leases.coordination.k8s.io", obj({"holderIdentity": "node-1"}), ["x", "node-1", "4m22s"]),
    ("horizontalpodautoscalers.autoscaling",
     obj({"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "minReplicas": 1, "maxReplicas": 5,
          "metrics": [{"type": "Resource", "resource": {
              "name": "cpu", "target": {"averageUtilization": 80}}}]}, {"currentReplicas": 2}),
     ["x", "Deployment/d", "cpu: <unknown>/80%", "1", 5, 2, "4m22s"]),
    ("horizontalpodautoscalers.autoscaling",
     obj({"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 5,
          "targetCPUUtilizationPercentage": 80}, {"currentCPUUtilizationPercentage": 20}),
     ["x", "Deployment/d", "cpu: 20%/80%", "<unset>", 5, 0, "4m22s"]),
    ("poddisruptionbudgets.policy", obj({"minAvailable": "50%"}, {"disruptionsAllowed": 1}),
     ["x", "50%", "N/A", 1, "4m22s"]),
    ("resourcequotas", obj(status={"hard": {"pods": "5", "limits.cpu": "2", "cpu": "1"},
                                   "used": {"pods": "1"}}),
     ["x", "cpu: 0/1, pods: 1/5", "limits.cpu: 0/2", "4m22s"]),
    ("priorityclasses.scheduling.k8s.io",
     {"metadata": BORN, "value": 1000, "preemptionPolicy": "PreemptLowerPriority"},
     ["x", 1000, False, "4m22s", "PreemptLowerPriority"]),
    ("certificatesigningrequests.certificates.k8s.io",
     obj({"signerName": "s", "username": "u", "expirationSeconds": 86400},
         {"conditions": [{"type": "Approved"}], "certificate": "x"}),
     ["x", "4m22s", "s", "u", "24h", "Approved,Issued"]),
    ("controllerrevisions.apps",
     {"metadata": {**BORN, "ownerReferences": [
         {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "s", "controller": True}]},
      "revision": 2}, ["x", "statefulset.apps/s", 2, "4m22s"]),
    ("flowschemas.flowcontrol.apiserver.k8s.io",
     obj({"priorityLevelConfiguration": {"name": "p"}, "matchingPrecedence": 1,
          "distinguisherMethod": {"type": "ByUser"}},
         {"conditions": [{"type": "Dangling", "status": "False"}]}),
     ["x", "p", 1, "ByUser", "4m22s", "False"]),
    ("customresourcedefinitions.apiextensions.k8s.io", obj(), ["x", "2022-02-16T15:53:28Z"]),
    ("apiservices.apiregistration.k8s.io", obj(), ["x", "Local", "Unknown", "4m22s"]),
    ("apiservices.apiregistration.k8s.io",
     obj({"service": {"namespace": "n", "name": "s"}},
         {"conditions": [{"type": "Available", "status": "False", "reason": "Away"}]}),
     ["x", "n/s", "False (Away)", "4m22s"]),
    ("apiservices.apiregistration.k8s.io",
     obj(status={"conditions": [{"type": "Available", "status": "False"}]}),
     ["x", "Local", "False", "4m22s"]),
    ("validatingadmissionpolicybindings.admissionregistration.k8s.io",
     obj({"policyName": "p", "paramRef": {"name": "a"}}), ["x", "p", "*/a", "4m22s"]),
    ("validatingadmissionpolicybindings.admissionregistration.k8s.io",
     obj({"policyName": "p", "paramRef": {"selector": {
         "matchLabels": {"b": "c", "a": "d"},
         "matchExpressions": [{"key": "e", "operator": "In", "values": ["f", "g"]}]}}}),
     ["x", "p", "&LabelSelector{MatchLabels:map[string]string{a: d,b: c,},MatchExpressions:"
      "[]LabelSelectorRequirement{LabelSelectorRequirement{Key:e,Operator:In,Values:[f g],},},}",
      "4m22s"]),
    ("endpointslices.discovery.k8s.io",
     {"metadata": BORN, "addressType": "IPv4", "ports": [{"name": ""}]},
     ["x", "IPv4", "<unset>", "<unset>", "4m22s"]),
    ("horizontalpodautoscalers.autoscaling",
     obj({"scaleTargetRef": {"kind": "Deployment", "name": "d"}, "maxReplicas": 5, "metrics": [
         {"type": "Pods", "pods": {"target": {"averageValue": "1"}}},
         {"type": "External", "external": {"target": {"value": "2"}}},
         {"type": "Object", "object": {"target": {"averageValue": "3"}}}]},
         {"currentMetrics": [{"pods": {"current": {}}}, {"external": {"current": {}}}]}),
     ["x", "Deployment/d", "<nil>/1, <nil>/2 + 1 more...", "<unset>", 5, 0, "4m22s"]),
    ("widgets.example.com", obj(), ["x", "4m22s"]),
    ("events",
     {"metadata": BORN, "type": "Normal", "reason": "Pulled", "message": " done \n", "count": 2,
      "firstTimestamp": "2022-02-16T15:53:28Z", "lastTimestamp": "2022-02-16T15:57:00Z",
      "involvedObject": {"kind": "Pod", "name": "p", "fieldPath": "spec.containers{c}"},
      "source": {"component": "kubelet", "host": "node-1"}},
     ["50s", "Normal", "Pulled", "pod/p", "spec.containers{c}", "kubelet, node-1", "done", "4m22s",
      2, "x"]),
    ("events.events.k8s.io",
     {"metadata": BORN, "type": "Normal", "reason": "Scheduled", "note": "done",
      "eventTime": "2022-02-16T15:57:00.000000Z", "regarding": {"kind": "Pod", "name": "p"},
      "reportingController": "default-scheduler", "reportingInstance": "s-1"},
     ["50s", "Normal", "Scheduled", "pod/p", "", "default-scheduler, s-1", "done", "50s", 1, "x"]),
]  # fmt: skip


@pytest.mark.parametrize(("key", "value", "expected"), ROWS)
def test_row_is_written_as_upstream_writes_it(
    key: str, value: dict[str, Any], expected: list[Any]
) -> None:
    assert table.row(key, value, NOW) == expected


def test_every_form_has_columns_and_a_row_of_their_number_even_for_an_empty_object() -> None:
    for key in forms.FORMS:
        empty = {"metadata": {"name": "x"}}
        more = 1 if key == "ipaddresses.networking.k8s.io" else 0  # as upstream
        assert len(table.row(key, empty, NOW)) == len(table.columns(key)) + more, key


def test_every_resource_that_is_listed_has_a_form() -> None:
    served = kinds.resources(Release(33))
    formless = {info.key for info in served if "list" in info.verbs} - set(forms.FORMS)
    assert {key for key in formless if forms.form_of(key) == forms.CUSTOM} == set()


def test_golden_objects_are_shown_as_kubectl_showed_them() -> None:
    assert table.row("deployments.apps", golden("deployment-1.22.json"), NOW) == [
        "nginx-deployment",
        "0/1",
        0,
        0,
        "4m22s",
        "nginx",
        "nginx",
        "app=nginx",
    ]
    assert table.row("replicasets.apps", golden("replicaset-1.22.yaml"), NOW) == [
        "nginx-deployment-6799fc88d8",
        1,
        1,
        1,
        "4m22s",
        "nginx",
        "nginx",
        "app=nginx,pod-template-hash=6799fc88d8",
    ]
    row = table.row("pods", golden("pod-1.22.yaml"), NOW)
    assert row[1:6] == ["1/1", "Running", "0", "4m22s", "10.244.2.10"]


def test_table_of_a_list_carries_the_lists_metadata_and_partial_objects() -> None:
    metadata = {"resourceVersion": "7", "continue": "abc", "remainingItemCount": 3}
    printed = table.Table("namespaces", NOW)
    body = orjson.loads(printed.form(metadata).compact([printed.row(obj())]))
    definitions = body.pop("columnDefinitions")
    assert [list(column) for column in definitions] == [
        ["name", "type", "format", "description", "priority"]
    ] * 3
    assert body == {
        "kind": "Table",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": metadata,
        "rows": [
            {
                "cells": ["x", "", "4m22s"],
                "object": {
                    "kind": "PartialObjectMetadata",
                    "apiVersion": "meta.k8s.io/v1",
                    "metadata": BORN,
                },
            }
        ],
    }


def test_rows_carry_the_object_that_was_asked_for() -> None:
    bare = orjson.loads(table.of_object("namespaces", obj(), NOW, include_object="None"))
    full = orjson.loads(table.of_object("namespaces", obj(), NOW, include_object="Object"))
    old = orjson.loads(table.of_object("namespaces", obj(), NOW, version="v1beta1"))
    assert list(bare["rows"][0]) == ["cells", "object"]
    assert bare["rows"][0]["object"] is None
    assert full["rows"][0]["object"] == obj()
    assert old["apiVersion"] == old["rows"][0]["object"]["apiVersion"] == "meta.k8s.io/v1beta1"


@pytest.mark.parametrize(
    ("key", "minor", "name"),
    [(key, minor, name) for key, late in forms.SINCE.items() for name, minor in late.items()],
)
def test_columns_that_came_later_are_not_there_before(key: str, minor: int, name: str) -> None:
    for given, there in (
        ({"release": Release(minor - 1)}, False),
        ({"release": Release(minor)}, True),
        ({}, True),
    ):
        body = orjson.loads(table.of_object(key, obj(), NOW, **given))
        names = [column["name"] for column in body["columnDefinitions"]]
        assert (name in names) is there
        [row] = body["rows"]
        assert len(row["cells"]) == len(names)
        assert row["cells"][names.index("Age")] == "4m22s"


def test_an_autoscaler_names_what_is_measured_since_1_30() -> None:
    target = {"name": "cpu", "target": {"averageUtilization": 80}}
    scaler = obj({"metrics": [{"type": "Resource", "resource": target}]})
    for release, shown in (("1.29", "<unknown>/80%"), ("1.30", "cpu: <unknown>/80%")):
        key = "horizontalpodautoscalers.autoscaling"
        body = orjson.loads(table.of_object(key, scaler, NOW, release=Release.parse(release)))
        assert body["rows"][0]["cells"][2] == shown


def test_later_events_of_a_watch_have_no_column_definitions() -> None:
    first = orjson.loads(table.of_object("namespaces", obj(), NOW))
    later = orjson.loads(table.of_object("namespaces", obj(), NOW, headers=False))
    assert len(first["columnDefinitions"]) == 3
    assert later["columnDefinitions"] is None


def test_scale_of_a_resource_has_columns_of_its_own() -> None:
    scale = obj({"replicas": 3}, {"replicas": 2}, kind="Scale")
    body = orjson.loads(table.of_object("deployments.apps", scale, NOW))
    assert [column["name"] for column in body["columnDefinitions"]] == [
        "Name",
        "Desired",
        "Available",
        "Age",
    ]
    assert body["rows"][0]["cells"] == ["x", 3, 2, "4m22s"]


def test_flow_schemas_are_listed_in_the_order_they_are_tried() -> None:
    found = [
        {"metadata": {"name": name}, "spec": {"matchingPrecedence": precedence}}
        for name, precedence in (("c", 9), ("b", 1), ("a", 9))
    ]
    key = "flowschemas.flowcontrol.apiserver.k8s.io"
    printed = table.Table(key, NOW)
    rows = [orjson.loads(printed.row(obj)) for obj in printed.ordered(found)]
    assert [row["cells"][0] for row in rows] == ["b", "a", "c"]


def test_unknown_include_object_is_refused_with_upstreams_sentence() -> None:
    assert table.include_object({}) == "Metadata"
    assert table.include_object({"includeObject": ["None"]}) == "None"
    with pytest.raises(errors.ApiError) as caught:
        table.include_object({"includeObject": ["All"]})
    assert caught.value.message == (
        'Unable to convert to Table as requested: includeObject: Invalid value: "All": '
        "must be 'Metadata', 'Object', 'None', or empty"
    )
