"""The scheduler's policy of releases up to 1.22: which predicates and priorities are asked."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from apiserver_app.machinery.releases import Release
from controllers_app.scheduler import flags, policy
from lifecycle import catalog
from lifecycle.hosting import apiserver, options
from lifecycle.hosting.scripted import Session
from tests.controllers_app.podlab import create, get, new_cluster, pod

ALWAYS = ["NodeUnschedulable", "TaintToleration"]  # of the predicates that are mandatory


def text(**fields: Any) -> str:
    return yaml.safe_dump({"apiVersion": "v1", "kind": "Policy", **fields})


def started(given: flags.Flags, **inputs: Any) -> Session:
    more = {"kubelet": {"images": catalog.images()}, "scheduler": given}
    return new_cluster(version="1.22", options=more, **inputs)


def phase(session: Session, name: str, of: str = "web") -> dict[str, Any]:
    """What the last attempt for a pod told of a phase."""
    found = [
        record["detail"]
        for record in session.records()
        if record["kind"] == "schedule"
        and record["phase"] == name
        and record["pod"] == f"default/{of}"
    ]
    return dict(found[-1])


def asked(session: Session, name: str) -> list[str]:
    return [each["name"] for each in phase(session, name)["plugins"]]


def test_with_one_predicate_only_it_and_the_mandatory_ones_run(tmp_path: Path) -> None:
    file = tmp_path / "policy.yaml"
    file.write_text(text(predicates=[{"name": "PodFitsHostPorts"}]))
    given = flags.parse([f"policy-config-file={file}"], _read, Release(22))
    session = started(given)
    ports = [{"containerPort": 80, "hostPort": 80}]
    much = {"requests": {"cpu": "100"}}
    create(session, pod(container={"resources": much, "ports": ports}, nodeSelector={"a": "b"}))

    told = phase(session, "filter")
    names = [*(each["name"] for each in told["plugins"]), *told.get("skipped", ())]
    assert sorted(names) == sorted([*ALWAYS, "NodePorts"])
    assert get(session)["spec"]["nodeName"]  # nobody asked for the CPUs and the node's labels
    (start,) = (
        record["detail"]
        for record in session.records()
        if record["kind"] == "component"
        and (record["name"], record["state"]) == ("scheduler", "starting")
    )
    filters = [each["name"] for each in start["plugins"] if each.get("filters")]
    assert filters == ["NodeUnschedulable", "NodePorts", "TaintToleration"]


def test_without_a_policy_the_same_pod_is_refused() -> None:
    session = started(flags.NONE)
    create(session, pod(container={"resources": {"requests": {"cpu": "100"}}}))
    assert "nodeName" not in get(session)["spec"]


def test_priorities_of_a_policy_score_with_its_weights() -> None:
    given = policy.parse(
        text(
            priorities=[
                {"name": "ImageLocalityPriority", "weight": 5},
                {"name": "LeastRequestedPriority", "weight": 2},
                {"name": "EqualPriority", "weight": 1},
            ]
        )
    )
    session = started(flags.Flags(policy=given))
    create(session, pod())
    told = phase(session, "score")
    weights = {each["name"]: each["weight"] for each in told["plugins"]}
    assert weights == {"ImageLocality": 5, "NodeResourcesFit": 2}
    assert told["skipped"] == []


def test_what_a_policy_leaves_out_is_as_without_one() -> None:
    given = policy.parse(text())
    assert given.filters == (
        "NodeUnschedulable", "NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity",
        "VolumeRestrictions", "TaintToleration", "VolumeBinding", "VolumeZone",
        "PodTopologySpread", "InterPodAffinity",
    )  # fmt: skip
    assert given.scores == {
        "NodeResourcesBalancedAllocation": 1,
        "PodTopologySpread": 2,
        "ImageLocality": 1,
        "InterPodAffinity": 1,
        "NodeResourcesFit": 1,
        "NodeAffinity": 1,
        "TaintToleration": 1,
    }
    assert policy.parse(text(priorities=[])).scores == {}
    assert list(policy.parse(text(predicates=[])).filters) == ALWAYS


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"predicates": [{"name": "x"}]}, 'predicate type not found for "x"'),
        ({"priorities": [{"name": "x", "weight": 1}]}, 'priority type not found for "x"'),
        (
            {"priorities": [{"name": "ImageLocalityPriority"}]},
            "priority ImageLocalityPriority should have a positive weight applied to it or it has "
            "overflown",
        ),
        (
            {"predicates": [{"name": "a", "argument": {"labelsPresence": {"labels": ["zone"]}}}]},
            "the predicate a of a policy is not simulated",
        ),
        ({"extenders": [{"urlPrefix": "x"}]}, "extenders of a policy is not simulated"),
        ({"kind": "Pod"}, 'invalid policy: its kind must be Policy, its apiVersion "v1"'),
    ],
)
def test_a_bad_policy_is_refused_in_words(given: dict[str, Any], message: str) -> None:
    with pytest.raises(policy.PolicyError) as refused:
        policy.parse(text(**given))
    assert str(refused.value) == message


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--kubernetes-version=1.23", "--scheduler-arg=policy-config-file=x"],
            "unknown flag: --policy-config-file",
        ),
        (["--profile=v1.22", "--scheduler-arg=v=4"], "unknown flag: --v"),
        (
            ["--profile=v1.22", "--scheduler-arg=policy-config-file=/nowhere"],
            "missing policy config file /nowhere",
        ),
        (
            ["--profile=v1.22", "--scheduler-arg=use-legacy-policy-config=true"],
            "policyConfigFile: Required value: required when --use-legacy-policy-config is true",
        ),
    ],
)
def test_the_flags_are_those_of_the_release(arguments: list[str], message: str) -> None:
    with pytest.raises(ValueError) as refused:
        apiserver.scheduler(options.parse(arguments))
    assert str(refused.value) == message


def test_a_policy_of_a_config_map_is_read_once_the_scheduler_may() -> None:
    """As upstream: the role of the scheduler does not let it read that, and it ends and starts
    again until somebody does."""
    given = flags.parse(["policy-configmap=mine"], _read, Release(22))
    session = started(given)
    create(session, pod(container={"resources": {"requests": {"cpu": "100"}}}))
    assert "nodeName" not in get(session)["spec"]
    assert (
        'couldn\'t get policy config map kube-system/mine: configmaps "mine" is forbidden'
        in (failures(session)[-1])
    )

    session.apply(f"""
{{apiVersion: v1, kind: ConfigMap, metadata: {{name: mine, namespace: kube-system}},
  data: {{policy.cfg: '{text(predicates=[{"name": "HostName"}]).replace(chr(10), chr(10) * 2)}'}}}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {{name: policy, namespace: kube-system}}
rules: [{{apiGroups: [""], resources: [configmaps], verbs: [get], resourceNames: [mine]}}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {{name: policy, namespace: kube-system}}
roleRef: {{apiGroup: rbac.authorization.k8s.io, kind: Role, name: policy}}
subjects: [{{apiGroup: rbac.authorization.k8s.io, kind: User, name: "system:kube-scheduler"}}]
""")
    session.wait(10)
    assert get(session)["spec"]["nodeName"]
    assert sorted(asked(session, "filter")) == sorted([*ALWAYS, "NodeName"])
    told = [one["detail"] for one in session.records() if one.get("name") == "scheduler"]
    (plugins,) = (detail["plugins"] for detail in told if "plugins" in detail)
    filters = [each["name"] for each in plugins if each.get("filters")]
    assert filters == ["NodeUnschedulable", "NodeName", "TaintToleration"]


def failures(session: Session) -> list[str]:
    return [
        record["detail"]["why"]
        for record in session.records()
        if record["kind"] == "component" and record["state"] == "failed"
    ]


def _read(path: str) -> str:
    return Path(path).read_text()
