"""Pods: defaults, what is refused, what may change, how they end."""

from __future__ import annotations

import copy
import pathlib
from typing import Any

import pytest
import yaml

from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from tests.apiserver_app.registry.kinds import strategies

GOLDEN = pathlib.Path(__file__).parents[3] / "golden"


def errors_of(**spec: object) -> list[str]:
    return strategies.create_errors("pods", strategies.pod(**spec))


def container(**fields: object) -> dict[str, list[Any]]:
    return {"containers": [{"name": "nginx", "image": "nginx", **fields}]}


def test_defaults_of_the_golden_pod_change_nothing() -> None:
    golden = yaml.safe_load((GOLDEN / "pod-1.22.yaml").read_text())
    spec = copy.deepcopy(golden["spec"])

    strategies.of("pods").default(golden)

    assert golden["spec"] == spec


def test_what_a_client_left_out_of_the_golden_pod_is_defaulted_back() -> None:
    golden = yaml.safe_load((GOLDEN / "pod-1.22.yaml").read_text())
    given = copy.deepcopy(golden["spec"])
    for field in (
        "dnsPolicy",
        "enableServiceLinks",
        "restartPolicy",
        "schedulerName",
        "securityContext",
        "serviceAccount",
        "terminationGracePeriodSeconds",
    ):
        del given[field]
    for field in (
        "imagePullPolicy",
        "resources",
        "terminationMessagePath",
        "terminationMessagePolicy",
    ):
        del given["containers"][0][field]
    del given["volumes"][0]["projected"]["defaultMode"]
    del given["volumes"][0]["projected"]["sources"][2]["downwardAPI"]["items"][0]["fieldRef"][
        "apiVersion"
    ]

    stored = strategies.created("pods", strategies.named("Pod", "v1", spec=given))

    assert stored["spec"] == golden["spec"]


def test_label_keys_become_requirements_of_the_selector_beside_them() -> None:
    def term(**more: Any) -> dict[str, Any]:
        return {"topologyKey": "zone", **more}

    selector = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
    keys = {"matchLabelKeys": ["rev", "absent"], "mismatchLabelKeys": ["team"]}
    affinity = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                term(labelSelector=selector, **keys),
                term(labelSelector={}),
                term(**keys),
            ]
        },
        "podAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 1, "podAffinityTerm": term(labelSelector={}, matchLabelKeys=["rev"])}
            ]
        },
    }
    given = strategies.pod(affinity=affinity)
    given["metadata"]["labels"] = {"rev": "2", "team": "a"}
    stored = strategies.created("pods", given)["spec"]["affinity"]
    rev = {"key": "rev", "operator": "In", "values": ["2"]}
    team = {"key": "team", "operator": "NotIn", "values": ["a"]}
    apart = stored["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert apart[0]["labelSelector"]["matchExpressions"] == [
        {"key": "app", "operator": "Exists"},
        rev,
        team,
    ]
    assert apart[0]["matchLabelKeys"] == keys["matchLabelKeys"]
    assert apart[1]["labelSelector"] == {} and "labelSelector" not in apart[2]
    near = stored["podAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"]
    assert near[0]["podAffinityTerm"]["labelSelector"] == {"matchExpressions": [rev]}


def test_a_selector_that_names_a_match_label_key_itself_is_refused() -> None:
    selector = {"matchLabels": {"rev": "1"}}
    term = {"topologyKey": "zone", "labelSelector": selector, "matchLabelKeys": ["x", "rev"]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    given = strategies.pod(affinity={"podAffinity": required})
    given["metadata"]["labels"] = {"rev": "1"}
    at = "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0][1]"
    assert strategies.create_errors("pods", given) == [
        f'{at}: Invalid value: "rev": exists in both matchLabelKeys and labelSelector'
    ]


def test_a_new_pod_is_pending_with_its_class_and_generation() -> None:
    stored = strategies.created("pods", strategies.pod())

    assert stored["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert stored["metadata"]["generation"] == 1


@pytest.mark.parametrize(
    ("image", "policy"),
    [
        ("nginx", "Always"),
        ("nginx:latest", "Always"),
        ("localhost:5000/nginx", "Always"),
        ("nginx:1.27", "IfNotPresent"),
        ("nginx@sha256:abc", "IfNotPresent"),
        ("localhost:5000/nginx:1", "IfNotPresent"),
    ],
)
def test_the_pull_policy_follows_the_tag(image: str, policy: str) -> None:
    stored = strategies.decoded("pods", strategies.pod(**container(image=image)))

    assert stored["spec"]["containers"][0]["imagePullPolicy"] == policy


def test_requests_come_from_limits_in_pods_but_not_in_templates() -> None:
    limited = container(resources={"limits": {"cpu": "0.5", "memory": "1Gi"}})

    pod = strategies.created("pods", strategies.pod(**limited))
    deployment = strategies.created(
        "deployments.apps", strategies.deployment(template=strategies.template(**limited))
    )

    amounts = {"cpu": "500m", "memory": "1Gi"}
    assert pod["spec"]["containers"][0]["resources"] == {"limits": amounts, "requests": amounts}
    assert pod["status"]["qosClass"] == "Guaranteed"
    inside = deployment["spec"]["template"]["spec"]["containers"][0]["resources"]
    assert inside == {"limits": amounts}


def test_some_requests_make_a_pod_burstable() -> None:
    stored = strategies.created(
        "pods", strategies.pod(**container(resources={"requests": {"cpu": "1"}}))
    )

    assert stored["status"]["qosClass"] == "Burstable"


def test_probes_ports_and_host_network_get_their_defaults() -> None:
    probe = {"httpGet": {"port": 80}}
    stored = strategies.created(
        "pods",
        strategies.pod(
            hostNetwork=True, **container(ports=[{"containerPort": 80}], livenessProbe=probe)
        ),
    )

    inside = stored["spec"]["containers"][0]
    assert list(inside["livenessProbe"].items()) == [
        ("httpGet", {"path": "/", "port": 80, "scheme": "HTTP"}),
        ("timeoutSeconds", 1),
        ("periodSeconds", 10),
        ("successThreshold", 1),
        ("failureThreshold", 3),
    ]
    assert inside["ports"] == [{"hostPort": 80, "containerPort": 80, "protocol": "TCP"}]


def test_no_containers_are_required_to_be_some() -> None:
    assert errors_of(containers=[]) == ["spec.containers: Required value"]


@pytest.mark.parametrize(
    ("spec", "messages"),
    [
        (container(name=""), ["spec.containers[0].name: Required value"]),
        (container(image=""), ["spec.containers[0].image: Required value"]),
        (container(image=" nginx"), [
            'spec.containers[0].image: Invalid value: " nginx": '
            "must not have leading or trailing whitespace"]),
        (container(name="Web"), [
            'spec.containers[0].name: Invalid value: "Web": a lowercase RFC 1123 label must '
            "consist of lower case alphanumeric characters or '-', and must start and end with "
            "an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for "
            "validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"]),
        (container(name="a.b"), [
            'spec.containers[0].name: Invalid value: "a.b": must not contain dots']),
        (container(imagePullPolicy="Maybe"), [
            'spec.containers[0].imagePullPolicy: Unsupported value: "Maybe": '
            'supported values: "Always", "IfNotPresent", "Never"']),
        (container(ports=[{"containerPort": 70000}]), [
            "spec.containers[0].ports[0].containerPort: Invalid value: 70000: "
            "must be between 1 and 65535, inclusive"]),
        (container(ports=[{"name": "web", "containerPort": 1}, {"name": "web",
                   "containerPort": 2}]), [
            'spec.containers[0].ports[1].name: Duplicate value: "web"']),
        (container(volumeMounts=[{"name": "data", "mountPath": "/d"}]), [
            'spec.containers[0].volumeMounts[0].name: Not found: "data"']),
        (container(resources={"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}), [
            'spec.containers[0].resources.requests: Invalid value: "2": '
            "must be less than or equal to cpu limit of 1"]),
        (container(resources={"limits": {"gpu": "1"}}), [
            'spec.containers[0].resources.limits[gpu]: Invalid value: gpu: '
            "must be a standard resource type or fully qualified",
            'spec.containers[0].resources.limits[gpu]: Invalid value: gpu: '
            "must be a standard resource for containers",
            'spec.containers[0].resources.requests[gpu]: Invalid value: gpu: '
            "must be a standard resource type or fully qualified",
            'spec.containers[0].resources.requests[gpu]: Invalid value: gpu: '
            "must be a standard resource for containers"]),
        (container(livenessProbe={}), [
            "spec.containers[0].livenessProbe: Required value: must specify a handler type"]),
        (container(livenessProbe={"exec": {"command": ["x"]}, "successThreshold": 2}), [
            "spec.containers[0].livenessProbe.successThreshold: Invalid value: 2: must be 1"]),
        (container(restartPolicy="Always"), [
            "spec.containers[0].restartPolicy: Forbidden: "
            "may not be set for non-init containers"]),
        (container(env=[{"name": "A", "value": "b", "valueFrom": {}}]), [
            'spec.containers[0].env[0].valueFrom: Invalid value: "": must specify one of: '
            "`fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`"]),
        ({"restartPolicy": "Sometimes"}, [
            'spec.restartPolicy: Unsupported value: "Sometimes": supported values: '
            '"Always", "OnFailure", "Never"']),
        ({"dnsPolicy": "None"}, [
            "spec.dnsConfig: Required value: must provide `dnsConfig` when `dnsPolicy` is None"]),
        ({"activeDeadlineSeconds": 0}, [
            "spec.activeDeadlineSeconds: Invalid value: 0: "
            "must be between 1 and 2147483647, inclusive"]),
        ({"tolerations": [{"operator": "Equal"}]}, [
            'spec.tolerations[0].operator: Invalid value: "Equal": operator must be Exists when '
            '`key` is empty, which means "match all values and all keys"']),
        ({"tolerations": [{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 1}]}, [
            'spec.tolerations[0].effect: Invalid value: "NoSchedule": '
            "effect must be 'NoExecute' when `tolerationSeconds` is set"]),
        ({"volumes": [{"name": "v", "emptyDir": {}, "hostPath": {"path": "/x"}}]}, [
            "spec.volumes[0].hostPath: Forbidden: may not specify more than 1 volume type"]),
        ({"ephemeralContainers": [{"name": "debug", "image": "busybox"}]}, [
            "spec.ephemeralContainers: Forbidden: cannot be set on create"]),
        ({"nodeName": "n", "schedulingGates": [{"name": "wait"}]}, [
            "spec.nodeName: Forbidden: cannot be set until all schedulingGates "
            "have been cleared"]),
    ],
)  # fmt: skip
def test_refusals_are_worded_as_upstream_words_them(
    spec: dict[str, object], messages: list[str]
) -> None:
    assert errors_of(**spec) == messages


def test_init_containers_have_probes_only_as_sidecars() -> None:
    probe = {"exec": {"command": ["true"]}}
    plain = {"name": "init", "image": "busybox", "livenessProbe": probe}

    assert errors_of(initContainers=[plain]) == [
        "spec.initContainers[0].livenessProbe: Forbidden: "
        "may not be set for init containers without restartPolicy=Always"
    ]
    assert errors_of(initContainers=[{**plain, "restartPolicy": "Always"}]) == []


def test_names_are_unique_over_init_and_regular_containers() -> None:
    assert errors_of(initContainers=[{"name": "nginx", "image": "busybox"}]) == [
        'spec.initContainers[0].name: Duplicate value: "nginx"'
    ]


def test_only_images_and_a_few_fields_of_a_pod_may_change() -> None:
    old = strategies.created("pods", strategies.pod())
    image = [{**old["spec"]["containers"][0], "image": "nginx:2"}]

    assert strategies.update_errors("pods", strategies.with_spec(old, containers=image), old) == []
    [message] = strategies.update_errors(
        "pods", strategies.with_spec(old, dnsPolicy="Default"), old
    )
    assert message.startswith(
        "spec: Forbidden: pod updates may not change fields other than "
        "`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,"
        "`spec.tolerations` (only additions to existing tolerations),"
        "`spec.terminationGracePeriodSeconds` "
        "(allow it to be set to 1 if it was previously negative)\n"
    )
    assert (
        '- \tDNSPolicy:                     "ClusterFirst",\n'
        '+ \tDNSPolicy:                     "Default",\n'
    ) in message


def test_a_pod_cannot_be_moved_by_an_update() -> None:
    old = strategies.created("pods", strategies.pod())

    [message] = strategies.update_errors("pods", strategies.with_spec(old, nodeName="n"), old)

    assert message.startswith("spec: Forbidden: pod updates may not change fields other than")


def test_containers_are_neither_added_nor_removed() -> None:
    old = strategies.created("pods", strategies.pod())
    more = [*old["spec"]["containers"], {"name": "b", "image": "c"}]

    assert strategies.update_errors("pods", strategies.with_spec(old, containers=more), old) == [
        "spec.containers: Forbidden: pod updates may not add or remove containers"
    ]


def test_tolerations_are_only_added() -> None:
    one, two = {"key": "a", "operator": "Exists"}, {"key": "b", "operator": "Exists"}
    old = strategies.created("pods", strategies.pod(tolerations=[one]))

    added = strategies.with_spec(old, tolerations=[one, two])
    removed = strategies.with_spec(old, tolerations=[two])

    assert strategies.update_errors("pods", added, old) == []
    assert strategies.update_errors("pods", removed, old) == [
        "spec.tolerations: Forbidden: existing toleration can not be modified "
        "except its tolerationSeconds"
    ]


def test_the_generation_of_a_pod_counts_its_spec() -> None:
    old = strategies.created("pods", strategies.pod())
    image = [{**old["spec"]["containers"][0], "image": "nginx:2"}]
    labels = {**old, "metadata": {**old["metadata"], "labels": {"a": "b"}}}

    changed = strategies.updated("pods", strategies.with_spec(old, containers=image), old)
    labelled = strategies.updated("pods", labels, old)

    assert changed["metadata"]["generation"] == 2
    assert labelled["metadata"]["generation"] == 1


def test_ephemeral_containers_are_added_through_their_subresource_only() -> None:
    old = strategies.created("pods", strategies.pod())
    debug = strategies.with_spec(
        old, dnsPolicy="Default", ephemeralContainers=[{"name": "debug", "image": "busybox"}]
    )
    ctx = strategies.context(subresource="ephemeralcontainers")

    new = strategies.updated("pods", debug, old, ctx)

    assert strategies.update_errors("pods", debug, old, ctx) == []
    assert new["spec"]["dnsPolicy"] == "ClusterFirst"
    assert new["spec"]["ephemeralContainers"][0]["name"] == "debug"


def running(**status: object) -> Object:
    obj = strategies.created("pods", strategies.pod(nodeName="node-1"))
    return {**obj, "status": {**obj["status"], "phase": "Running", **status}}


def test_a_status_update_fills_what_go_always_prints_and_keeps_the_spec() -> None:
    old = running()
    new = {
        **copy.deepcopy(old),
        "spec": {},
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{"name": "nginx", "ready": True, "restartCount": 0}],
        },
    }

    strategies.of("pods").prepare_for_status_update(strategies.context(), new, old)

    assert new["spec"] is old["spec"]
    status = new["status"]
    assert status["qosClass"] == "BestEffort"
    assert status["conditions"][0] == {
        "type": "Ready",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": None,
    }
    assert status["containerStatuses"][0] == {
        "name": "nginx",
        "state": {},
        "lastState": {},
        "ready": True,
        "restartCount": 0,
        "image": "",
        "imageID": "",
    }


def test_a_container_that_ended_for_good_stays_ended() -> None:
    ended = {"name": "nginx", "state": {"terminated": {"exitCode": 0}}}
    old = running(containerStatuses=[ended])
    old["spec"]["restartPolicy"] = "OnFailure"
    new = {
        **old,
        "status": {
            **old["status"],
            "containerStatuses": [{"name": "nginx", "state": {"running": {}}}],
        },
    }

    assert strategies.status_errors("pods", new, old) == [
        "status.containerStatuses[0].state: Forbidden: "
        "may not be transitioned to non-terminated state"
    ]


def test_the_class_of_service_and_addresses_are_checked_in_status() -> None:
    old = running()
    new = {**old, "status": {**old["status"], "qosClass": "Burstable", "podIPs": [{"ip": "x"}]}}

    assert strategies.status_errors("pods", new, old) == [
        'status.qosClass: Invalid value: "Burstable": field is immutable',
        'status.podIPs[0]: Invalid value: "x": '
        "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
    ]


@pytest.mark.parametrize(
    ("obj", "options", "seconds"),
    [
        (running(), {}, 30),
        (running(), {"gracePeriodSeconds": 5}, 5),
        (running(), {"gracePeriodSeconds": -1}, 1),
        (running(phase="Succeeded"), {}, 0),
        (strategies.created("pods", strategies.pod()), {}, 0),
    ],
)
def test_a_pod_on_a_node_ends_gracefully(obj: Object, options: Object, seconds: int) -> None:
    assert strategies.of("pods").grace_seconds(obj, options) == seconds


def test_selectable_fields_of_a_pod() -> None:
    pods, obj = strategies.of("pods"), running(podIPs=[{"ip": "10.244.1.2"}])

    values = {
        path: pods.selectable_value(obj, path)
        for path in (
            "metadata.name",
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        )
    }

    assert list(values.values()) == [
        "web",
        "node-1",
        "Always",
        "default-scheduler",
        "false",
        "Running",
        "10.244.1.2",
        "",
    ]
    assert pods.selectable_value(obj, "spec.containers") is None


def test_warnings_tell_of_names_ports_and_old_labels() -> None:
    obj = strategies.decoded(
        "pods",
        strategies.pod(
            nodeSelector={"beta.kubernetes.io/os": "linux"},
            **container(ports=[{"containerPort": 80}, {"containerPort": 80}]),
        ),
    )

    assert strategies.of("pods").warnings(strategies.context(), obj, None) == [
        "spec.nodeSelector[beta.kubernetes.io/os]: "
        'deprecated since v1.14; use "kubernetes.io/os" instead',
        "spec.containers[0].ports[1]: duplicate port definition with spec.containers[0].ports[0]",
    ]


def test_pods_have_no_generation_before_1_33() -> None:
    obj, ctx = strategies.decoded("pods", strategies.pod()), strategies.context()
    ctx.version = Release(32)

    strategies.of("pods").prepare_for_create(ctx, obj)

    assert "generation" not in obj["metadata"]
