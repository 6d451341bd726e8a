"""What a namespace decides: its life, its quota, its pod security level."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.admission.plugin import DELETE, UPDATE
from apiserver_app.machinery import errors
from tests.apiserver_app.admission.conftest import Cluster, pod, with_resources


def _refusal(cluster: Cluster, resource: str, obj: Any, **more: Any) -> errors.ApiError:
    with pytest.raises(errors.ApiError) as caught:
        cluster.send(resource, obj, **more)
    return caught.value


# -- its life -----------------------------------------------------------------------------------


def test_missing_namespace_is_404_after_a_short_wait(cluster: Cluster) -> None:
    error = _refusal(cluster, "pods", pod(namespace="ghost"))

    assert (error.code, error.message) == (404, 'namespaces "ghost" not found')
    assert cluster.slept == [0.05]


def test_namespace_made_a_moment_ago_is_found_after_the_wait(cluster: Cluster) -> None:
    metadata = {"name": "fresh"}
    cluster.appears = {"namespaces": {"metadata": metadata, "status": {"phase": "Active"}}}
    settings = {"metadata": {"name": "a", "namespace": "fresh"}}

    cluster.send("configmaps", settings)

    assert cluster.said("NamespaceLifecycle").why == "fresh is active"


def test_nothing_new_in_a_namespace_that_is_going_away(cluster: Cluster) -> None:
    cluster.namespace("old", "Terminating")

    error = _refusal(cluster, "pods", pod(namespace="old"))

    assert error.message == (
        'pods "nginx" is forbidden: unable to create new content in namespace old because it '
        "is being terminated"
    )
    assert error.details["causes"] == [
        {
            "reason": "NamespaceTerminating",
            "message": "namespace old is being terminated",
            "field": "metadata.namespace",
        }
    ]


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public"])
def test_system_namespaces_may_not_be_deleted(cluster: Cluster, name: str) -> None:
    old = {"metadata": {"name": name}}

    error = _refusal(cluster, "namespaces", None, old=old, operation=DELETE)

    assert error.message == f'namespaces "{name}" is forbidden: this namespace may not be deleted'


# -- its quota ----------------------------------------------------------------------------------


def _quota(cluster: Cluster, hard: dict[str, str], **spec: Any) -> None:
    cluster.reader.put(
        "resourcequotas",
        {"metadata": {"name": "q", "namespace": "default"}, "spec": {"hard": hard, **spec}},
    )


def test_pod_beyond_the_quota_is_refused_with_upstreams_figures(cluster: Cluster) -> None:
    _quota(cluster, {"pods": "2"})
    for name in ("a", "b"):
        cluster.reader.put("pods", pod(name))

    error = _refusal(cluster, "pods", pod("c"))

    assert (error.code, error.reason) == (403, "Forbidden")
    assert error.message == (
        'pods "c" is forbidden: exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2'
    )


def test_finished_pods_leave_room_in_the_quota(cluster: Cluster) -> None:
    _quota(cluster, {"pods": "1"})
    cluster.reader.put("pods", {**pod("a"), "status": {"phase": "Succeeded"}})

    cluster.send("pods", pod("b"))

    assert cluster.said("ResourceQuota").why == "q: pods 1 of 1"


def test_quota_on_cpu_wants_every_container_to_name_it(cluster: Cluster) -> None:
    _quota(cluster, {"requests.cpu": "1", "limits.memory": "1Gi"})

    assert _refusal(cluster, "pods", pod()).message == (
        'pods "nginx" is forbidden: failed quota: q: must specify limits.memory for: nginx; '
        "requests.cpu for: nginx"
    )


def test_quota_on_cpu_adds_up_exactly(cluster: Cluster) -> None:
    _quota(cluster, {"requests.cpu": "1"})
    cluster.reader.put(
        "pods",
        {
            **with_resources(requests={"cpu": "600m"}),
            "metadata": {"name": "a", "namespace": "default"},
        },
    )

    assert _refusal(cluster, "pods", with_resources(requests={"cpu": "500m"})).message == (
        'pods "nginx" is forbidden: exceeded quota: q, requested: requests.cpu=500m, '
        "used: requests.cpu=600m, limited: requests.cpu=1"
    )


def test_count_quota_covers_any_kind(cluster: Cluster) -> None:
    _quota(cluster, {"count/deployments.apps": "0"})
    deployment = {"metadata": {"name": "web", "namespace": "default"}, "spec": {}}

    assert _refusal(cluster, "deployments.apps", deployment).message == (
        'deployments.apps "web" is forbidden: exceeded quota: q, '
        "requested: count/deployments.apps=1, used: count/deployments.apps=0, "
        "limited: count/deployments.apps=0"
    )


def test_update_of_a_service_is_charged_for_what_it_adds(cluster: Cluster) -> None:
    _quota(cluster, {"services": "1", "services.nodeports": "1"})
    ports = [{"port": 80}, {"port": 81}]
    old = {"metadata": {"name": "web", "namespace": "default"}, "spec": {"ports": ports}}
    cluster.reader.put("services", old)
    new = {**old, "spec": {"ports": ports, "type": "NodePort"}}

    assert _refusal(cluster, "services", new, old=old, operation=UPDATE).message == (
        'services "web" is forbidden: exceeded quota: q, requested: services.nodeports=2, '
        "used: services.nodeports=0, limited: services.nodeports=1"
    )


def test_scoped_quota_counts_only_what_is_in_its_scope(cluster: Cluster) -> None:
    _quota(cluster, {"pods": "0"}, scopes=["NotBestEffort"])

    cluster.send("pods", pod())
    error = _refusal(cluster, "pods", with_resources(requests={"cpu": "1"}))

    assert error.message.startswith('pods "nginx" is forbidden: exceeded quota: q')


def test_dry_run_or_not_nothing_is_written_by_the_quota(cluster: Cluster) -> None:
    _quota(cluster, {"pods": "2"})
    before = cluster.reader.get("resourcequotas", "default", "q")

    cluster.send("pods", pod())

    assert cluster.reader.get("resourcequotas", "default", "q") is before


# -- its pod security level ---------------------------------------------------------------------


def test_namespace_without_labels_is_privileged(cluster: Cluster) -> None:
    cluster.send("pods", pod(hostNetwork=True))

    assert cluster.said("PodSecurity").why == "this namespace is privileged"


def test_restricted_namespace_refuses_a_plain_pod_in_upstreams_words(cluster: Cluster) -> None:
    cluster.namespace("safe", labels={"pod-security.kubernetes.io/enforce": "restricted"})
    cluster.account("safe", "default")

    assert _refusal(cluster, "pods", pod(namespace="safe")).message == (
        'pods "nginx" is forbidden: violates PodSecurity "restricted:latest": '
        'allowPrivilegeEscalation != false (container "nginx" must set '
        "securityContext.allowPrivilegeEscalation=false), unrestricted capabilities (container "
        '"nginx" must set securityContext.capabilities.drop=["ALL"]), runAsNonRoot != true (pod '
        'or container "nginx" must set securityContext.runAsNonRoot=true), seccompProfile (pod '
        'or container "nginx" must set securityContext.seccompProfile.type to "RuntimeDefault" '
        'or "Localhost")'
    )


def _baseline(cluster: Cluster, **labels: str) -> None:
    given = {"pod-security.kubernetes.io/enforce": "baseline"}
    given |= {f"pod-security.kubernetes.io/{mode}": level for mode, level in labels.items()}
    cluster.namespace("default", labels=given)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (
            {"hostNetwork": True, "hostPID": True},
            "host namespaces (hostNetwork=true, hostPID=true)",
        ),
        (
            {"volumes": [{"name": "root", "hostPath": {"path": "/"}}]},
            'hostPath volumes (volume "root")',
        ),
        (
            {"containers": [{"name": "a", "securityContext": {"privileged": True}}]},
            'privileged (container "a" must not set securityContext.privileged=true)',
        ),
        (
            {"containers": [{"name": "a", "ports": [{"containerPort": 1, "hostPort": 80}]}]},
            'hostPort (container "a" uses hostPort 80)',
        ),
        (
            {
                "containers": [
                    {"name": "a", "securityContext": {"capabilities": {"add": ["NET_RAW"]}}},
                    {"name": "b", "securityContext": {"capabilities": {"add": ["SYS_ADMIN"]}}},
                ]
            },
            'non-default capabilities (containers "a", "b" must not include "NET_RAW", '
            '"SYS_ADMIN" in securityContext.capabilities.add)',
        ),
        (
            {"securityContext": {"seccompProfile": {"type": "Unconfined"}}},
            'seccompProfile (pod must not set securityContext.seccompProfile.type to "Unconfined")',
        ),
    ],
)
def test_baseline_namespace_refuses_what_reaches_the_host(
    cluster: Cluster, spec: dict[str, Any], said: str
) -> None:
    _baseline(cluster)

    assert _refusal(cluster, "pods", pod(**spec)).message == (
        f'pods "nginx" is forbidden: violates PodSecurity "baseline:latest": {said}'
    )


def test_deployment_with_forbidden_pods_is_let_in_with_a_warning(cluster: Cluster) -> None:
    _baseline(cluster)
    template = {"metadata": {}, "spec": {"hostNetwork": True, "containers": []}}
    deployment = {
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"template": template},
    }

    cluster.send("deployments.apps", deployment)

    assert cluster.warnings == [
        'would violate PodSecurity "baseline:latest": host namespaces (hostNetwork=true)'
    ]


def test_warn_level_warns_about_what_enforce_lets_in(cluster: Cluster) -> None:
    _baseline(cluster, warn="restricted")

    cluster.send("pods", pod())

    assert cluster.warnings[0].startswith('would violate PodSecurity "restricted:latest": ')


def test_bad_level_on_a_namespace_is_invalid(cluster: Cluster) -> None:
    labels = {"pod-security.kubernetes.io/enforce": "tight"}

    error = _refusal(cluster, "namespaces", {"metadata": {"name": "n", "labels": labels}})

    assert error.code == 422
    assert error.message == (
        'Namespace "n" is invalid: metadata.labels[pod-security.kubernetes.io/enforce]: '
        'Invalid value: "tight": must be one of privileged, baseline, restricted'
    )


def test_stricter_level_warns_of_the_pods_already_there(cluster: Cluster) -> None:
    for name in ("b", "a"):
        cluster.reader.put("pods", pod(name, hostNetwork=True))
    labels = {"pod-security.kubernetes.io/enforce": "baseline"}
    old = {"metadata": {"name": "default"}}
    new = {"metadata": {"name": "default", "labels": labels}}

    cluster.send("namespaces", new, old=old, operation=UPDATE)

    assert cluster.warnings == [
        'existing pods in namespace "default" violate the new PodSecurity enforce level '
        '"baseline:latest"',
        "a (and 1 other pod): host namespaces",
    ]


def _privileged_namespaced(cluster: Cluster, **labels: str) -> None:
    cluster.namespace(
        "default",
        labels={f"pod-security.kubernetes.io/{k.replace('_', '-')}": v for k, v in labels.items()},
    )


def _security(**config: Any) -> Cluster:
    return Cluster("1.33", "PodSecurity", config={"PodSecurity": config})


def test_pod_security_defaults_come_from_the_configuration() -> None:
    cluster = _security(defaults={"enforce": "baseline", "audit": "restricted"})
    with pytest.raises(errors.ApiError, match='violates PodSecurity "baseline:latest"'):
        cluster.send("pods", pod(hostNetwork=True))
    cluster.send("pods", pod())
    noted = cluster.annotations
    assert noted["pod-security.kubernetes.io/enforce-policy"] == "baseline:latest"
    assert noted["pod-security.kubernetes.io/audit-violations"].startswith(
        'would violate PodSecurity "restricted:latest": allowPrivilegeEscalation != false'
    )


@pytest.mark.parametrize(
    ("exemption", "word", "spec"),
    [
        ({"usernames": ["kubernetes-admin"]}, "user", {}),
        ({"namespaces": ["default"]}, "namespace", {}),
        ({"runtimeClasses": ["vm"]}, "runtimeClass", {"runtimeClassName": "vm"}),
    ],
)
def test_pod_security_exempts_users_namespaces_and_runtime_classes(
    exemption: Any, word: str, spec: Any
) -> None:
    cluster = _security(defaults={"enforce": "baseline"}, exemptions=exemption)
    cluster.send("pods", pod(hostNetwork=True, **spec))
    assert cluster.said("PodSecurity").why == f"exempt: {word}"
    assert cluster.annotations == {"pod-security.kubernetes.io/exempt": word}


def test_a_policy_of_an_exempt_namespace_is_ignored_with_a_warning() -> None:
    cluster = _security(exemptions={"namespaces": ["free"]})
    labels = {"pod-security.kubernetes.io/enforce": "baseline"}
    cluster.send("namespaces", {"metadata": {"name": "free", "labels": labels}})
    assert cluster.warnings == [
        'namespace "free" is exempt from Pod Security, and the policy (enforce=baseline:latest, '
        "warn=baseline:latest) will be ignored"
    ]


@pytest.mark.parametrize(
    ("level", "old", "new", "spec", "text"),
    [
        ("baseline", "v1.26", "v1.27",
         {"securityContext": {"sysctls": [{"name": "net.ipv4.ip_local_reserved_ports"}]}},
         "forbidden sysctls (net.ipv4.ip_local_reserved_ports)"),
        ("baseline", "v1.30", "v1.31",
         {"securityContext": {"seLinuxOptions": {"type": "container_engine_t"}}},
         'seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type '
         '"container_engine_t")'),
    ],
)  # fmt: skip
def test_pod_security_knows_what_older_versions_forbade(
    cluster: Cluster, level: str, old: str, new: str, spec: Any, text: str
) -> None:
    _privileged_namespaced(cluster, enforce=level, enforce_version=new)
    cluster.send("pods", pod(**spec))
    _privileged_namespaced(cluster, enforce=level, enforce_version=old)
    with pytest.raises(errors.ApiError) as caught:
        cluster.send("pods", pod(**spec))
    assert caught.value.message.endswith(f'violates PodSecurity "{level}:{old}": {text}')


def test_an_old_version_lacks_the_checks_that_came_later(cluster: Cluster) -> None:
    _privileged_namespaced(cluster, enforce="restricted", enforce_version="v1.7")
    cluster.send("pods", pod(securityContext={"runAsNonRoot": True}))
    _privileged_namespaced(cluster, enforce="restricted", enforce_version="v1.8")
    with pytest.raises(errors.ApiError, match="allowPrivilegeEscalation != false"):
        cluster.send("pods", pod(securityContext={"runAsNonRoot": True}))
    _privileged_namespaced(cluster, enforce="baseline", enforce_version="v1.18")
    made = pod()
    key = "seccomp.security.alpha.kubernetes.io/pod"
    made["metadata"]["annotations"] = {key: "unconfined"}
    with pytest.raises(errors.ApiError) as caught:
        cluster.send("pods", made)
    assert caught.value.message.endswith(
        f'seccompProfile (forbidden annotation {key}="unconfined")'
    )


def _made_quota(**hard: str) -> dict[str, Any]:
    metadata = {"name": "q", "namespace": "default"}
    return {"metadata": metadata, "spec": {"hard": hard}, "status": {"hard": hard}}


def test_what_the_configuration_limits_needs_a_quota_that_covers_it() -> None:
    limited = [{"resource": "persistentvolumeclaims", "matchContains": [".storageclass."]}]
    cluster = Cluster(
        "1.33", "ResourceQuota", config={"ResourceQuota": {"limitedResources": limited}}
    )
    spec = {"storageClassName": "gold", "resources": {"requests": {"storage": "1Gi"}}}
    claim = {"metadata": {"name": "c", "namespace": "default"}, "spec": spec}
    names = [
        f"gold.storageclass.storage.k8s.io/{one}"
        for one in ("persistentvolumeclaims", "requests.storage")
    ]
    with pytest.raises(errors.ApiError) as caught:
        cluster.send("persistentvolumeclaims", claim)
    assert caught.value.message == (
        'persistentvolumeclaims "c" is forbidden: insufficient quota to consume: ' + ",".join(names)
    )
    cluster.reader.put("resourcequotas", _made_quota(**dict.fromkeys(names, "5Gi")))
    cluster.send("persistentvolumeclaims", claim)


def test_a_class_that_the_configuration_limits_needs_a_quota_of_its_scope() -> None:
    scope = {"scopeName": "PriorityClass", "operator": "In", "values": ["top"]}
    limited = [{"resource": "pods", "matchScopes": [scope]}]
    cluster = Cluster(
        "1.33", "ResourceQuota", config={"ResourceQuota": {"limitedResources": limited}}
    )
    cluster.send("pods", pod())
    with pytest.raises(errors.ApiError) as caught:
        cluster.send("pods", pod(priorityClassName="top"))
    assert caught.value.message == (
        'pods "nginx" is forbidden: insufficient quota to match these scopes: '
        "[{PriorityClass In [top]}]"
    )
    quota = _made_quota(pods="5")
    quota["spec"]["scopeSelector"] = {"matchExpressions": [scope]}
    cluster.reader.put("resourcequotas", quota)
    cluster.send("pods", pod(priorityClassName="top"))
