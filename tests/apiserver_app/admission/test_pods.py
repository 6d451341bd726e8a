"""What a pod meets on its way in: account, tolerations, priority, class."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.admission.plugin import UPDATE
from apiserver_app.machinery import errors
from tests.apiserver_app.admission.conftest import KUBELET, Cluster, pod

PRIORITIES = "priorityclasses.scheduling.k8s.io"


def _refusal(cluster: Cluster, resource: str, obj: dict[str, Any], **more: Any) -> str:
    with pytest.raises(errors.ApiError) as caught:
        cluster.send(resource, obj, **more)
    return caught.value.message


def test_pod_gets_the_golden_token_volume_and_mount(cluster: Cluster) -> None:
    spec = cluster.send("pods", pod())["spec"]

    (volume,) = spec["volumes"]
    name = volume["name"]
    assert name.startswith("kube-api-access-") and len(name) == 21
    assert volume == {
        "name": name,
        "projected": {
            "defaultMode": 420,
            "sources": [
                {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
                {
                    "configMap": {
                        "items": [{"key": "ca.crt", "path": "ca.crt"}],
                        "name": "kube-root-ca.crt",
                    }
                },
                {
                    "downwardAPI": {
                        "items": [
                            {
                                "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
                                "path": "namespace",
                            }
                        ]
                    }
                },
            ],
        },
    }
    assert spec["containers"][0]["volumeMounts"] == [
        {
            "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
            "name": name,
            "readOnly": True,
        }
    ]
    assert spec["serviceAccount"] == spec["serviceAccountName"] == "default"


def test_pod_gets_the_golden_tolerations_and_priority(cluster: Cluster) -> None:
    spec = cluster.send("pods", pod())["spec"]

    assert spec["tolerations"] == [
        {
            "effect": "NoExecute",
            "key": f"node.kubernetes.io/{word}",
            "operator": "Exists",
            "tolerationSeconds": 300,
        }
        for word in ("not-ready", "unreachable")
    ]
    assert (spec["priority"], spec["preemptionPolicy"]) == (0, "PreemptLowerPriority")
    assert "priorityClassName" not in spec


def test_pod_that_tolerates_everything_gets_no_more(cluster: Cluster) -> None:
    spec = cluster.send("pods", pod(tolerations=[{"operator": "Exists"}]))["spec"]

    assert spec["tolerations"] == [{"operator": "Exists"}]


def test_pod_with_one_of_the_tolerations_gets_the_other(cluster: Cluster) -> None:
    own = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
    spec = cluster.send("pods", pod(tolerations=[own]))["spec"]

    assert [toleration["key"] for toleration in spec["tolerations"]] == [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ]


@pytest.mark.parametrize("said", ["pod", "account"])
def test_token_is_not_mounted_when_pod_or_account_says_so(cluster: Cluster, said: str) -> None:
    cluster.account("default", "quiet", automountServiceAccountToken=said == "pod")
    own: dict[str, Any] = {"automountServiceAccountToken": False} if said == "pod" else {}

    spec = cluster.send("pods", pod(serviceAccountName="quiet", **own))["spec"]

    assert "volumes" not in spec


def test_existing_mount_at_the_tokens_path_is_left_alone(cluster: Cluster) -> None:
    mount = {"name": "mine", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount"}
    containers = [{"name": "a", "image": "a", "volumeMounts": [mount]}, {"name": "b"}]

    spec = cluster.send("pods", pod(containers=containers, volumes=[{"name": "mine"}]))["spec"]

    assert spec["containers"][0]["volumeMounts"] == [mount]
    assert len(spec["containers"][1]["volumeMounts"]) == 1
    assert spec["volumes"][0]["name"] == "mine"


def test_missing_account_is_named(cluster: Cluster) -> None:
    assert _refusal(cluster, "pods", pod(serviceAccountName="ghost")) == (
        'pods "nginx" is forbidden: error looking up service account default/ghost: '
        'serviceaccount "ghost" not found'
    )
    assert cluster.slept == []


def test_default_account_of_a_new_namespace_is_waited_for(cluster: Cluster) -> None:
    cluster.namespace("fresh")
    metadata = {"namespace": "fresh", "name": "default", "uid": "u"}
    cluster.appears = {"serviceaccounts": {"metadata": metadata}}

    made = cluster.send("pods", pod(namespace="fresh"))

    assert made["spec"]["serviceAccountName"] == "default"
    assert len(cluster.slept) == 1


def test_default_account_that_never_appears_is_a_refusal(cluster: Cluster) -> None:
    cluster.namespace("fresh")

    message = _refusal(cluster, "pods", pod(namespace="fresh"))

    assert message.endswith('account fresh/default: serviceaccount "default" not found')
    assert len(cluster.slept) == 9
    assert cluster.told[-1].verdict == "deny"


def test_pull_secrets_of_the_account_are_taken(cluster: Cluster) -> None:
    cluster.account("default", "puller", imagePullSecrets=[{"name": "registry"}])

    spec = cluster.send("pods", pod(serviceAccountName="puller"))["spec"]

    assert spec["imagePullSecrets"] == [{"name": "registry"}]


def test_priority_class_becomes_a_number(cluster: Cluster) -> None:
    spec = cluster.send("pods", pod(priorityClassName="system-node-critical"))["spec"]

    assert spec["priority"] == 2000001000


def test_default_priority_class_is_taken(cluster: Cluster) -> None:
    high = {
        "metadata": {"name": "high"},
        "value": 7,
        "globalDefault": True,
        "preemptionPolicy": "Never",
    }
    cluster.reader.put(PRIORITIES, high)

    spec = cluster.send("pods", pod())["spec"]

    assert (spec["priorityClassName"], spec["priority"]) == ("high", 7)
    assert spec["preemptionPolicy"] == "Never"


def test_unknown_priority_class_is_named(cluster: Cluster) -> None:
    assert _refusal(cluster, "pods", pod(priorityClassName="gold")) == (
        'pods "nginx" is forbidden: no PriorityClass with name gold was found'
    )


def test_priority_of_ones_own_is_refused(cluster: Cluster) -> None:
    assert _refusal(cluster, "pods", pod(priority=5)) == (
        'pods "nginx" is forbidden: the integer value of priority (5) must not be provided in '
        "pod spec; priority admission controller computed 0 from the given PriorityClass name"
    )


def test_second_default_priority_class_is_refused(cluster: Cluster) -> None:
    first = {"metadata": {"name": "high"}, "value": 7, "globalDefault": True}
    cluster.reader.put(PRIORITIES, first)
    second = {"metadata": {"name": "low"}, "value": 1, "globalDefault": True}

    assert _refusal(cluster, PRIORITIES, second) == (
        'priorityclasses.scheduling.k8s.io "low" is forbidden: PriorityClass high is already '
        "marked as default. Only one default can exist"
    )


def test_a_default_priority_class_may_be_written_again_but_not_twice(cluster: Cluster) -> None:
    high = {"metadata": {"name": "high"}, "value": 7, "globalDefault": True}
    low = {"metadata": {"name": "low"}, "value": 1}
    cluster.reader.put(PRIORITIES, high)

    cluster.send(PRIORITIES, high, old=high, operation=UPDATE)
    cluster.send(PRIORITIES, low)
    lower = {**low, "globalDefault": True}
    assert "PriorityClass high is already marked as default" in _refusal(
        cluster, PRIORITIES, lower, old=low, operation=UPDATE
    )


def test_of_several_default_classes_the_lowest_counts(cluster: Cluster) -> None:
    for name, value in (("high", 7), ("low", 1), ("mid", 3)):
        one = {"metadata": {"name": name}, "value": value, "globalDefault": True}
        cluster.reader.put(PRIORITIES, one)
    assert cluster.send("pods", pod())["spec"]["priorityClassName"] == "low"


def test_a_preemption_policy_of_ones_own_is_refused(cluster: Cluster) -> None:
    never = {"metadata": {"name": "meek"}, "value": 7, "preemptionPolicy": "Never"}
    cluster.reader.put(PRIORITIES, never)
    mine = pod(priorityClassName="meek", priority=7, preemptionPolicy="Never")
    assert cluster.send("pods", mine)["spec"]["preemptionPolicy"] == "Never"
    mine = pod(priorityClassName="meek", preemptionPolicy="PreemptLowerPriority")
    assert _refusal(cluster, "pods", mine) == (
        'pods "nginx" is forbidden: the string value of PreemptionPolicy (PreemptLowerPriority) '
        "must not be provided in pod spec; priority admission controller computed Never from the "
        "given PriorityClass name"
    )


def test_update_keeps_priority_and_does_not_mount_again(cluster: Cluster) -> None:
    old = cluster.send("pods", pod())
    new = pod(tolerations=old["spec"]["tolerations"])

    updated = cluster.send("pods", new, old=old, operation=UPDATE)

    assert updated["spec"]["priority"] == 0
    assert "volumes" not in updated["spec"]


def test_runtime_class_brings_overhead_and_selector(cluster: Cluster) -> None:
    cluster.reader.put(
        "runtimeclasses.node.k8s.io",
        {
            "metadata": {"name": "vm"},
            "overhead": {"podFixed": {"memory": "64Mi"}},
            "scheduling": {"nodeSelector": {"vm": "yes"}},
        },
    )

    spec = cluster.send("pods", pod(runtimeClassName="vm", nodeSelector={"a": "b"}))["spec"]

    assert spec["overhead"] == {"memory": "64Mi"}
    assert spec["nodeSelector"] == {"a": "b", "vm": "yes"}


def test_unknown_runtime_class_is_named(cluster: Cluster) -> None:
    assert _refusal(cluster, "pods", pod(runtimeClassName="vm")) == (
        'pods "nginx" is forbidden: pod rejected: RuntimeClass "vm" not found'
    )


def test_new_node_is_tainted_as_not_ready(cluster: Cluster) -> None:
    node = cluster.send("nodes", {"metadata": {"name": "node-9"}, "spec": {}})

    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    assert node["spec"]["taints"] == [taint]


# -- what kubelets may not do -------------------------------------------------------------------


def test_kubelet_may_not_touch_another_node(cluster: Cluster) -> None:
    node = {"metadata": {"name": "node-2"}}

    assert _refusal(cluster, "nodes", node, old=node, operation=UPDATE, user=KUBELET) == (
        'nodes "node-2" is forbidden: node "node-1" is not allowed to modify node "node-2"'
    )


def test_kubelet_may_not_remove_its_taints(cluster: Cluster) -> None:
    old = {"metadata": {"name": "node-1"}, "spec": {"taints": [{"key": "x"}]}}
    new = {"metadata": {"name": "node-1"}, "spec": {}}

    assert _refusal(cluster, "nodes", new, old=old, operation=UPDATE, user=KUBELET) == (
        'nodes "node-1" is forbidden: node "node-1" is not allowed to modify taints'
    )


def test_kubelet_may_not_give_itself_a_role_label(cluster: Cluster) -> None:
    labels = {"kubernetes.io/hostname": "node-1", "node-role.kubernetes.io/control-plane": ""}
    node = {"metadata": {"name": "node-1", "labels": labels}}

    assert _refusal(cluster, "nodes", node, user=KUBELET) == (
        'nodes "node-1" is forbidden: node "node-1" is not allowed to set the following labels: '
        "node-role.kubernetes.io/control-plane"
    )


def test_kubelet_reports_status_of_its_own_pods_only(cluster: Cluster) -> None:
    mine, theirs = pod("a", nodeName="node-1"), pod("b", nodeName="node-2")

    cluster.send("pods", mine, old=mine, operation=UPDATE, subresource="status", user=KUBELET)
    message = _refusal(
        cluster, "pods", theirs, old=theirs, operation=UPDATE, subresource="status", user=KUBELET
    )

    assert message == (
        'pods "b" is forbidden: node "node-1" can only update pod status for pods with '
        "spec.nodeName set to itself"
    )


def test_kubelet_creates_no_ordinary_pods(cluster: Cluster) -> None:
    assert _refusal(cluster, "pods", pod(nodeName="node-1"), user=KUBELET) == (
        'pods "nginx" is forbidden: pod does not have "kubernetes.io/config.mirror" annotation, '
        'node "node-1" can only create mirror pods'
    )


def test_kubelet_renews_its_own_lease_only(cluster: Cluster) -> None:
    lease = {"metadata": {"name": "node-2", "namespace": "kube-node-lease"}}

    assert _refusal(cluster, "leases.coordination.k8s.io", lease, user=KUBELET) == (
        'leases.coordination.k8s.io "node-2" is forbidden: can only access node lease with the '
        "same name as the requesting node"
    )


def test_kubelet_gets_tokens_for_its_own_pods_only(cluster: Cluster) -> None:
    bound = pod("a", nodeName="node-2")
    bound["metadata"]["uid"] = "u-a"
    cluster.reader.put("pods", bound)
    ref = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "u-a"}
    request = {"metadata": {"namespace": "default"}, "spec": {"boundObjectRef": ref}}

    message = _refusal(
        cluster, "serviceaccounts", request, subresource="token", name="default", user=KUBELET
    )

    assert message.endswith("node requested token bound to a pod scheduled on a different node")
