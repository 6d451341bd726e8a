"""Plugins that somebody has to switch on, each alone, with upstream's sentences."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.admission.config import ConfigurationError
from apiserver_app.admission.plugin import CONNECT, DELETE, UPDATE
from apiserver_app.machinery import errors
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object, User
from tests.apiserver_app.admission.conftest import Cluster, pod

DENIED = 'pods "nginx" is forbidden: '
CONFIGMAP: Object = {"metadata": {"name": "a", "namespace": "default"}}


def refused(cluster: Cluster, resource: str, obj: Object | None, **more: Any) -> errors.ApiError:
    with pytest.raises(errors.ApiError) as caught:
        cluster.send(resource, obj, **more)
    return caught.value


def annotate(cluster: Cluster, namespace: str, **annotations: str) -> None:
    metadata = {"name": namespace, "annotations": annotations}
    cluster.reader.put("namespaces", {"metadata": metadata, "status": {"phase": "Active"}})


# -- the first and the last ---------------------------------------------------------------------


def test_always_admit_agrees_with_everything() -> None:
    cluster = Cluster("1.33", "AlwaysAdmit")
    cluster.send("configmaps", CONFIGMAP)
    cluster.send("configmaps", None, old=CONFIGMAP, operation=DELETE)
    assert cluster.said("AlwaysAdmit").why == "always admits"


@pytest.mark.parametrize("operation", ["CREATE", "UPDATE", "DELETE"])
def test_always_deny_refuses_every_write(operation: str) -> None:
    cluster = Cluster("1.33", "AlwaysAdmit", "AlwaysDeny")
    obj = None if operation == DELETE else CONFIGMAP
    error = refused(cluster, "configmaps", obj, old=CONFIGMAP, operation=operation)
    assert (error.code, error.message) == (
        403,
        'configmaps "a" is forbidden: admission control is denying all modifications',
    )
    assert [one.plugin for one in cluster.told] == ["AlwaysAdmit", "AlwaysDeny"]


# -- namespaces ---------------------------------------------------------------------------------


def test_auto_provision_makes_the_namespace_unless_it_is_a_dry_run() -> None:
    cluster = Cluster("1.33", "NamespaceAutoProvision", "NamespaceLifecycle")
    obj = {"metadata": {"name": "a", "namespace": "new"}}
    assert refused(cluster, "configmaps", obj, dry_run=True).code == 404
    cluster.send("configmaps", obj)
    assert cluster.made == ["new"]
    assert cluster.said("NamespaceAutoProvision").why == "made the namespace new"
    cluster.send("configmaps", obj)
    assert cluster.made == ["new"]


def test_namespace_exists_refuses_without_waiting() -> None:
    cluster = Cluster("1.33", "NamespaceExists")
    error = refused(cluster, "configmaps", {"metadata": {"name": "a", "namespace": "none"}})
    assert (error.code, error.message, cluster.slept) == (404, 'namespaces "none" not found', [])


# -- pods ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("context", "text"),
    [
        ({"runAsUser": 0}, "pod.Spec.SecurityContext.RunAsUser is forbidden"),
        ({"fsGroup": 1}, "pod.Spec.SecurityContext.FSGroup is forbidden"),
        ({"supplementalGroups": [1]}, "pod.Spec.SecurityContext.SupplementalGroups is forbidden"),
        ({"seLinuxOptions": {}}, "pod.Spec.SecurityContext.SELinuxOptions is forbidden"),
    ],
)
def test_security_context_deny_refuses_who_says_as_whom_it_runs(context: Any, text: str) -> None:
    cluster = Cluster("1.29", "SecurityContextDeny")
    assert refused(cluster, "pods", pod(securityContext=context)).message == DENIED + text


def test_security_context_deny_lets_an_empty_context_pass_and_looks_at_containers() -> None:
    cluster = Cluster("1.29", "SecurityContextDeny")
    cluster.send("pods", pod(securityContext={}))
    own = [{"name": "c", "image": "i", "securityContext": {"runAsUser": 1}}]
    error = refused(cluster, "pods", pod(containers=own))
    assert error.message == f"{DENIED}SecurityContext.RunAsUser is forbidden"


def test_anti_affinity_is_limited_to_nodes() -> None:
    cluster = Cluster("1.33", "LimitPodHardAntiAffinityTopology")

    def spread(key: str) -> Object:
        term = [{"topologyKey": key}]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": term}
        return pod(affinity={"podAntiAffinity": required})

    cluster.send("pods", spread("kubernetes.io/hostname"))
    error = refused(cluster, "pods", spread("zone"))
    assert error.message == (
        f"{DENIED}affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey zone but only "
        "key kubernetes.io/hostname is allowed"
    )


def test_always_pull_images_sets_the_policy_and_leaves_known_images_alone() -> None:
    cluster = Cluster("1.33", "AlwaysPullImages")
    images = [{"name": "a", "image": "i", "imagePullPolicy": "IfNotPresent"}]
    volumes = [{"name": "v", "image": {"reference": "data", "pullPolicy": "Never"}}]
    made = cluster.send("pods", pod(containers=images, initContainers=images, volumes=volumes))
    assert made["spec"]["containers"][0]["imagePullPolicy"] == "Always"
    assert made["spec"]["initContainers"][0]["imagePullPolicy"] == "Always"
    assert made["spec"]["volumes"][0]["image"]["pullPolicy"] == "Always"
    old = pod(containers=images)
    again = cluster.send("pods", old, old=old, operation=UPDATE)
    assert again["spec"]["containers"][0]["imagePullPolicy"] == "IfNotPresent"


def test_pod_gets_the_node_selector_of_its_namespace() -> None:
    cluster = Cluster("1.33", "PodNodeSelector")
    key = "scheduler.alpha.kubernetes.io/node-selector"
    annotate(cluster, "default", **{key: "disk=ssd, env=test"})
    made = cluster.send("pods", pod(nodeSelector={"own": "yes"}))
    assert made["spec"]["nodeSelector"] == {"disk": "ssd", "env": "test", "own": "yes"}
    error = refused(cluster, "pods", pod(nodeSelector={"disk": "hdd"}))
    assert error.message == (
        f"{DENIED}pod node label selector conflicts with its namespace node label selector"
    )


def test_node_selector_of_the_cluster_and_allowed_labels_come_from_the_configuration() -> None:
    selectors = {"clusterDefaultNodeSelector": "env=prod", "default": "env=prod,disk=ssd"}
    config = {"PodNodeSelector": {"podNodeSelectorPluginConfig": selectors}}
    cluster = Cluster("1.33", "PodNodeSelector", config=config)
    made = cluster.send("pods", pod(nodeSelector={"disk": "ssd"}))
    assert made["spec"]["nodeSelector"] == {"disk": "ssd", "env": "prod"}
    error = refused(cluster, "pods", pod(nodeSelector={"own": "yes"}))
    assert error.message == (
        f"{DENIED}pod node label selector labels conflict with its namespace whitelist"
    )


def test_tolerations_of_the_namespace_are_merged_and_its_whitelist_holds() -> None:
    cluster = Cluster("1.33", "PodTolerationRestriction")
    prefix = "scheduler.alpha.kubernetes.io"
    annotate(
        cluster,
        "default",
        **{
            f"{prefix}/defaultTolerations": '[{"key": "a", "operator": "Exists"}]',
            f"{prefix}/tolerationsWhitelist": '[{"key": "a", "operator": "Exists"}]',
        },
    )
    narrow = {"key": "a", "operator": "Equal", "value": "x", "effect": "NoSchedule"}
    made = cluster.send("pods", pod(tolerations=[narrow]))
    assert made["spec"]["tolerations"] == [{"key": "a", "operator": "Exists"}]
    error = refused(cluster, "pods", pod(tolerations=[{"key": "b", "operator": "Exists"}]))
    assert (error.code, error.message) == (
        500,
        "pod tolerations (possibly merged with namespace default tolerations) conflict with its "
        "namespace whitelist",
    )


def test_pod_that_asks_for_something_tolerates_memory_pressure() -> None:
    cluster = Cluster("1.33", "PodTolerationRestriction")
    asks = [{"name": "a", "image": "i", "resources": {"requests": {"cpu": "1"}}}]
    made = cluster.send("pods", pod(containers=asks))
    assert made["spec"]["tolerations"] == [
        {"key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule"}
    ]
    assert "tolerations" not in cluster.send("pods", pod())["spec"]


def test_a_pod_that_requests_a_device_tolerates_its_nodes() -> None:
    cluster = Cluster("1.33", "ExtendedResourceToleration")
    wanted = {"requests": {"example.com/gpu": "1", "a.io/fpga": "1", "cpu": "1"}}
    made = cluster.send("pods", pod(containers=[{"name": "a", "resources": wanted}]))
    assert made["spec"]["tolerations"] == [
        {"key": "a.io/fpga", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "example.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
    ]


@pytest.mark.parametrize(
    ("plugin", "spec", "text"),
    [
        ("DenyEscalatingExec", {"hostNetwork": True}, " container using host network"),
        ("DenyEscalatingExec", {"hostPID": True}, " container using host pid"),
        ("DenyEscalatingExec", {"hostIPC": True}, " container using host ipc"),
        (
            "DenyExecOnPrivileged",
            {"containers": [{"name": "a", "securityContext": {"privileged": True}}]},
            " privileged container",
        ),
    ],
)
def test_nobody_enters_a_pod_that_reaches_its_node(plugin: str, spec: Any, text: str) -> None:
    cluster = Cluster("1.19", plugin)
    cluster.reader.put("pods", pod(**spec))
    cluster.reader.put("pods", pod("plain"))
    error = refused(
        cluster,
        "pods",
        {"kind": "PodExecOptions"},
        operation=CONNECT,
        subresource="exec",
        name="nginx",
    )
    assert error.message == f"{DENIED}cannot exec into or attach to a{text}"
    options = {"kind": "PodAttachOptions"}
    cluster.send("pods", options, operation=CONNECT, subresource="attach", name="plain")


# -- events, volumes, owners, services, bindings ------------------------------------------------


def event(namespace: str = "default", about: str = "p") -> Object:
    return {
        "metadata": {"name": "e", "namespace": namespace},
        "involvedObject": {"kind": "Pod", "name": about, "namespace": namespace},
        "source": {"component": "kubelet"},
    }


def test_events_beyond_the_limit_are_refused_until_time_goes_on() -> None:
    limits = [{"type": "Namespace", "qps": 1, "burst": 2}]
    cluster = Cluster("1.33", "EventRateLimit", config={"EventRateLimit": {"limits": limits}})
    cluster.send("events", event())
    cluster.send("events", event())
    error = refused(cluster, "events", event())
    assert (error.code, error.message) == (429, "limit reached on type Namespace for key default")
    cluster.send("events", event("kube-system"))
    cluster.now += SECOND
    cluster.send("events", event())
    assert refused(cluster, "events", event()).code == 429


def test_events_are_counted_by_source_and_object() -> None:
    limits = [{"type": "SourceAndObject", "qps": 1, "burst": 1}]
    cluster = Cluster("1.33", "EventRateLimit", config={"EventRateLimit": {"limits": limits}})
    cluster.send("events", event())
    cluster.send("events", event(about="q"))
    key = "kubeletPoddefaultp"
    message = f"limit reached on type SourceAndObject for key {key}"
    assert refused(cluster, "events", event()).message == message


@pytest.mark.parametrize(
    ("limits", "text"),
    [
        ([], "limits: Invalid value: []: must not be empty"),
        (
            [{"type": "Server", "qps": 0, "burst": 1}],
            "limits[0].qps: Invalid value: 0: must be positive",
        ),
        (
            [{"type": "X", "qps": 1, "burst": 1}],
            'limits[0].type: Unsupported value: "X": supported values: "Namespace", "Server", '
            '"SourceAndObject", "User"',
        ),
    ],
)
def test_a_limit_that_cannot_be_ends_the_start(limits: list[Object], text: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        Cluster("1.33", "EventRateLimit", config={"EventRateLimit": {"limits": limits}})
    assert str(caught.value) == f'couldn\'t init admission plugin "EventRateLimit": {text}'


def test_a_disk_of_a_cloud_needs_its_provider_unless_it_is_labelled() -> None:
    cluster = Cluster("1.30", "PersistentVolumeLabel")
    disk = {"awsElasticBlockStore": {"volumeID": "vol-1"}}
    volume: Object = {"metadata": {"name": "v"}, "spec": disk}
    assert refused(cluster, "persistentvolumes", volume).message == (
        'persistentvolumes "v" is forbidden: error querying AWS EBS volume vol-1: unable to build '
        "AWS cloud provider for EBS"
    )
    labels = {"topology.kubernetes.io/zone": "z", "topology.kubernetes.io/region": "r"}
    cluster.send("persistentvolumes", {"metadata": {"name": "v", "labels": labels}, "spec": disk})
    cluster.send("persistentvolumes", {"metadata": {"name": "v"}, "spec": {"hostPath": {}}})


NOBODY = User("nobody", ("system:authenticated",))


def owned(blocking: bool = False, kind: str = "ReplicaSet") -> Object:
    owner: Object = {"apiVersion": "apps/v1", "kind": kind, "name": "r", "uid": "u"}
    if blocking:
        owner["blockOwnerDeletion"] = True
    made = pod()
    made["metadata"]["ownerReferences"] = [owner]
    return made


def test_who_may_not_delete_an_object_cannot_give_it_an_owner() -> None:
    cluster = Cluster("1.33", "OwnerReferencesPermissionEnforcement")
    error = refused(cluster, "pods", owned(), user=NOBODY)
    start = f"{DENIED}cannot set an ownerRef on a resource you can't delete: "
    assert error.message.startswith(start) and error.message.endswith(", <nil>")
    cluster.send("pods", owned(), old=owned(), operation=UPDATE, user=NOBODY)
    cluster.send("pods", owned(blocking=True))


def test_who_may_not_set_finalizers_of_an_owner_cannot_block_its_deletion() -> None:
    cluster = Cluster("1.33", "OwnerReferencesPermissionEnforcement")
    name = "deleter"
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"]}
    roles, bindings = "clusterroles", "clusterrolebindings"
    group = "rbac.authorization.k8s.io"
    cluster.reader.put(f"{roles}.{group}", {"metadata": {"name": name}, "rules": [rule]})
    subject = {"kind": "User", "apiGroup": group, "name": "nobody"}
    ref = {"apiGroup": group, "kind": "ClusterRole", "name": name}
    bound = {"metadata": {"name": name}, "roleRef": ref, "subjects": [subject]}
    cluster.reader.put(f"{bindings}.{group}", bound)
    cluster.send("pods", owned(), user=NOBODY)
    error = refused(cluster, "pods", owned(blocking=True), user=NOBODY)
    assert error.message.startswith(
        f"{DENIED}cannot set blockOwnerDeletion if an ownerReference refers to a resource you "
        "can't set finalizers on: "
    )
    error = refused(cluster, "pods", owned(blocking=True, kind="None"), user=NOBODY)
    assert error.message == (
        f"{DENIED}cannot set blockOwnerDeletion in this case because cannot find RESTMapping for "
        'APIVersion apps/v1 Kind None: no matches for kind "None" in version "apps/v1"'
    )


def test_a_service_keeps_its_external_addresses_but_gets_no_new_ones() -> None:
    cluster = Cluster("1.33", "DenyServiceExternalIPs")
    metadata = {"name": "s", "namespace": "default"}
    old: Object = {"metadata": metadata, "spec": {"externalIPs": ["1.2.3.4"]}}
    new: Object = {"metadata": metadata, "spec": {"externalIPs": ["1.2.3.4", "5.6.7.8"]}}
    cluster.send("services", old, old=old, operation=UPDATE)
    message = 'services "s" is forbidden: Use of external IPs is denied by admission control'
    assert refused(cluster, "services", new, old=old, operation=UPDATE).message == message


def test_a_binding_brings_the_zone_of_its_node() -> None:
    cluster = Cluster("1.35", "PodTopologyLabels")
    labels = {"topology.kubernetes.io/zone": "z", "other": "no"}
    cluster.reader.put("nodes", {"metadata": {"name": "n", "labels": labels}})
    binding: Object = {
        "metadata": {"name": "nginx", "namespace": "default"},
        "target": {"kind": "Node", "name": "n"},
    }
    made = cluster.send("pods", binding, subresource="binding")
    assert made["metadata"]["labels"] == {"topology.kubernetes.io/zone": "z"}
