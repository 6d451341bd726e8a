"""Plugins that newer versions no longer have: presets, policies, estimates."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object, User
from tests.apiserver_app.admission.conftest import ADMIN, Cluster, pod

DENIED = 'pods "nginx" is forbidden: '


def preset(name: str, **spec: Any) -> Object:
    selector = {"matchLabels": {"app": "web"}}
    metadata = {"name": name, "namespace": "default", "resourceVersion": "7"}
    return {"metadata": metadata, "spec": {"selector": selector, **spec}}


def web(**annotations: str) -> Object:
    made = pod()
    made["metadata"]["labels"] = {"app": "web"}
    if annotations:
        made["metadata"]["annotations"] = annotations
    return made


def test_a_preset_gives_variables_mounts_and_volumes() -> None:
    cluster = Cluster("1.19", "PodPreset")
    cluster.reader.put("podpresets.settings.k8s.io", preset(
        "db", env=[{"name": "DB", "value": "x"}], envFrom=[{"configMapRef": {"name": "c"}}],
        volumeMounts=[{"name": "v", "mountPath": "/v"}], volumes=[{"name": "v", "emptyDir": {}}],
    ))  # fmt: skip
    made = cluster.send("pods", web())
    (container,) = made["spec"]["containers"]
    assert container["env"] == [{"name": "DB", "value": "x"}]
    assert container["envFrom"] == [{"configMapRef": {"name": "c"}}]
    assert container["volumeMounts"] == [{"name": "v", "mountPath": "/v"}]
    assert made["spec"]["volumes"] == [{"name": "v", "emptyDir": {}}]
    assert made["metadata"]["annotations"] == {
        "podpreset.admission.kubernetes.io/podpreset-db": "7"
    }
    assert cluster.send("pods", pod())["spec"] == pod()["spec"]


def test_presets_that_contradict_each_other_are_not_applied() -> None:
    cluster = Cluster("1.19", "PodPreset")
    for name in ("a", "b"):
        one = preset(name, env=[{"name": "DB", "value": name}])
        cluster.reader.put("podpresets.settings.k8s.io", one)
    assert cluster.send("pods", web()) == web()
    assert "merging env for b has a conflict on DB" in cluster.said("PodPreset").why


def test_a_pod_may_be_left_out_of_presets() -> None:
    cluster = Cluster("1.19", "PodPreset")
    cluster.reader.put("podpresets.settings.k8s.io", preset("db", env=[{"name": "DB"}]))
    out = web(**{"podpreset.admission.kubernetes.io/exclude": "true"})
    assert cluster.send("pods", out) == out


def policy(name: str, **spec: Any) -> Object:
    rules = {key: {"rule": "RunAsAny"} for key in ("runAsUser", "fsGroup", "supplementalGroups",
                                                   "seLinux")}  # fmt: skip
    return {"metadata": {"name": name}, "spec": {**rules, "volumes": ["*"], **spec}}


def privileged() -> Object:
    context = {"privileged": True}
    return pod(containers=[{"name": "c", "image": "i", "securityContext": context}])


def refused(cluster: Cluster, obj: Object, user: User = ADMIN) -> str:
    with pytest.raises(errors.ApiError) as caught:
        cluster.send("pods", obj, user=user)
    assert caught.value.code == 403
    return caught.value.message


POLICIES = "podsecuritypolicies.policy"


def test_a_privileged_pod_needs_a_policy_that_allows_it() -> None:
    cluster = Cluster("1.19", "PodSecurityPolicy")
    unable = f"{DENIED}unable to validate against any pod security policy: "
    assert refused(cluster, privileged()) == f"{unable}[]"
    cluster.reader.put(POLICIES, policy("psp.flannel.unprivileged"))
    assert refused(cluster, privileged()) == (
        f"{unable}[spec.containers[0].securityContext.privileged: Invalid value: true: "
        "Privileged containers are not allowed]"
    )
    cluster.reader.put(POLICIES, policy("z", privileged=True))
    made = cluster.send("pods", privileged())
    assert made["metadata"]["annotations"] == {"kubernetes.io/psp": "z"}


def test_1_20_says_it_in_other_words() -> None:
    cluster = Cluster("1.20", "PodSecurityPolicy")
    assert refused(cluster, pod()) == f"{DENIED}PodSecurityPolicy: unable to admit pod: []"


def test_a_policy_counts_for_those_who_may_use_it() -> None:
    cluster = Cluster("1.19", "PodSecurityPolicy")
    cluster.reader.put(POLICIES, policy("p"))
    assert refused(cluster, pod(), User("nobody")).endswith("policy: []")
    cluster.send("pods", pod())


def test_a_policy_that_changes_nothing_goes_before_one_that_does() -> None:
    cluster = Cluster("1.19", "PodSecurityPolicy")
    ranges = [{"min": 1000, "max": 2000}]
    cluster.reader.put(POLICIES, policy("a", runAsUser={"rule": "MustRunAs", "ranges": ranges}))
    made = cluster.send("pods", pod())
    assert made["spec"]["containers"][0]["securityContext"] == {"runAsUser": 1000}
    cluster.reader.put(POLICIES, policy("b"))
    plain = cluster.send("pods", pod())
    assert plain["metadata"]["annotations"] == {"kubernetes.io/psp": "b"}


@pytest.mark.parametrize(
    ("rules", "spec", "text"),
    [
        ({}, {"hostNetwork": True}, "spec.securityContext.hostNetwork: Invalid value: true: Host "
         "network is not allowed to be used"),
        ({"volumes": ["secret"]}, {"volumes": [{"name": "v", "hostPath": {"path": "/"}}]},
         'spec.volumes[0]: Invalid value: "hostPath": hostPath volumes are not allowed to be used'),
        ({"fsGroup": {"rule": "MustRunAs", "ranges": [{"min": 1, "max": 5}]}},
         {"securityContext": {"fsGroup": 9}},
         "spec.securityContext.fsGroup: Invalid value: []int64{9}: group 9 must be in the ranges: "
         "[{1 5}]"),
        ({"runAsUser": {"rule": "MustRunAsNonRoot"}}, {"securityContext": {"runAsUser": 0}},
         "spec.containers[0].securityContext.runAsUser: Invalid value: 0: running with the root "
         "UID is forbidden"),
        ({}, {"containers": [{"name": "c", "ports": [{"hostPort": 80}]}]},
         "spec.containers[0].hostPort: Invalid value: 80: Host port 80 is not allowed to be used. "
         "Allowed ports: []"),
    ],
)  # fmt: skip
def test_each_rule_of_a_policy_has_upstreams_words(rules: Any, spec: Any, text: str) -> None:
    cluster = Cluster("1.19", "PodSecurityPolicy")
    cluster.reader.put(POLICIES, policy("p", **rules))
    assert refused(cluster, pod(**spec)).endswith(f"policy: [{text}]")


def test_requests_are_estimated_from_what_an_image_used() -> None:
    samples = {"cpu": range(1, 101), "memory": range(1, 11)}
    cluster = Cluster("1.8", "InitialResources", usage=lambda image, name: samples[name])
    made = cluster.send("pods", pod())
    assert made["spec"]["containers"][0]["resources"] == {"requests": {"cpu": "91m"}}
    assert made["metadata"]["annotations"] == {
        "kubernetes.io/initial-resources":
            "Initial Resources plugin set: cpu request for container nginx"
    }  # fmt: skip
    assert "requests" not in Cluster("1.8", "InitialResources").send("pods", pod())["spec"]
