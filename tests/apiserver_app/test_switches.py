"""feature-gates and runtime-config: what they switch is served and done, the rest is refused."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app import flags
from apiserver_app.machinery.releases import Release
from lifecycle.hosting.scripted import Session, default_inputs
from tests.apiserver_app.cluster import CONFIGMAPS, configmap, server_session

ALPHA = "admissionregistration.k8s.io/v1alpha1"
BETA = "admissionregistration.k8s.io/v1beta1"


def session(*arguments: str, version: str = "1.33", nodes: int = 0) -> Session:
    given = flags.parse(arguments, lambda name: "", Release.parse(version))
    return Session(default_inputs(nodes=nodes, version=version, flags=given))


def served(*arguments: str, version: str = "1.33") -> Session:
    """Its API server alone, which had no flags when it started first."""
    given = flags.parse(arguments, lambda name: "", Release.parse(version))
    return server_session(version, flags=given)


def policy(api: str, kind: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": api, "kind": kind, "metadata": {"name": "mark"}, "spec": spec}


def mark(running: Session, api: str) -> dict[str, Any]:
    """Have a policy label every ConfigMap, then make one; its labels."""
    group = f"/apis/{api}"
    rule = {
        "operations": ["CREATE"],
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "resources": ["configmaps"],
    }
    text = 'Object{metadata: Object.metadata{labels: {"marked": "yes"}}}'
    mutation = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": text}}
    made = running.request(
        "POST",
        f"{group}/mutatingadmissionpolicies",
        policy(
            api,
            "MutatingAdmissionPolicy",
            reinvocationPolicy="Never",
            mutations=[mutation],
            matchConstraints={"resourceRules": [rule]},
        ),
    )
    assert (made.status, made.json()["apiVersion"]) == (201, api), made.text
    bound = policy(api, "MutatingAdmissionPolicyBinding", policyName="mark")
    answer = running.request("POST", f"{group}/mutatingadmissionpolicybindings", bound)
    assert answer.status == 201
    answer = running.request("POST", CONFIGMAPS, configmap("one"))
    return dict(answer.json()["metadata"].get("labels") or {})


def test_mutating_policies_of_the_alpha_version_are_served_and_evaluated_once_switched_on() -> None:
    running = served(
        "feature-gates=MutatingAdmissionPolicy=true", f"runtime-config={ALPHA}=true", version="1.32"
    )
    assert mark(running, ALPHA) == {"marked": "yes"}


def test_of_two_versions_the_preferred_one_is_stored_and_each_is_served() -> None:
    running = served(
        "feature-gates=MutatingAdmissionPolicy=true",
        f"runtime-config={ALPHA}=true,{BETA}=true",
        version="1.34",
    )
    assert mark(running, ALPHA) == {"marked": "yes"}
    entry = running.cluster.store.get("/registry/mutatingadmissionpolicies/mark")
    assert entry is not None and b'"apiVersion":"admissionregistration.k8s.io/v1beta1"' in (
        entry.value.replace(b" ", b"")
    )
    for api in (ALPHA, BETA):
        listed = running.request("GET", f"/apis/{api}/mutatingadmissionpolicies").json()
        assert listed["apiVersion"] == api
        assert [item.get("apiVersion", api) for item in listed["items"]] == [api]


def test_a_policy_without_its_gate_is_stored_and_not_evaluated() -> None:
    assert mark(served(f"runtime-config={ALPHA}=true"), ALPHA) == {}


def test_by_default_neither_version_is_there() -> None:
    running = server_session()
    for api in (ALPHA, BETA):
        assert running.request("GET", f"/apis/{api}/mutatingadmissionpolicies").status == 404


def test_a_group_version_that_is_off_is_nowhere() -> None:
    running = served("runtime-config=batch/v1=false")
    for path in ("/apis/batch", "/apis/batch/v1", "/apis/batch/v1/jobs", "/openapi/v3/apis/batch"):
        assert running.request("GET", path).status == 404, path
    groups = running.request("GET", "/apis").json()["groups"]
    assert "batch" not in [group["name"] for group in groups]
    paths = running.request("GET", "/openapi/v2").json()["paths"]
    assert not [path for path in paths if path.startswith("/apis/batch")]


def test_a_single_resource_is_switched_off_in_a_group_that_stays() -> None:
    running = served("runtime-config=apps/v1/daemonsets=false")
    assert running.request("GET", "/apis/apps/v1/daemonsets").status == 404
    listed = running.request("GET", "/apis/apps/v1").json()["resources"]
    assert "deployments" in [one["name"] for one in listed]
    assert "daemonsets" not in [one["name"] for one in listed]


def test_all_but_what_is_named_is_switched_off_and_the_cluster_starts() -> None:
    running = session("runtime-config=api/all=false,/v1=true,coordination.k8s.io/v1=true")
    groups = running.request("GET", "/apis").json()["groups"]
    assert [group["name"] for group in groups] == ["coordination.k8s.io"]
    assert running.request("POST", CONFIGMAPS, configmap("one")).status == 201


def test_a_namespace_goes_when_jobs_are_not_served() -> None:
    running = session("runtime-config=batch/v1=false")
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "short"}}
    assert running.request("POST", "/api/v1/namespaces", body).status == 201
    running.request("DELETE", "/api/v1/namespaces/short")
    running.settle()
    assert running.request("GET", "/api/v1/namespaces/short").status == 404


def test_one_stream_of_a_log_is_given_when_the_gate_is_on() -> None:
    running = session("feature-gates=PodLogsQuerySplitStreams=true", nodes=1)
    script = "echo out; echo err >&2; sleep 1000000"
    container = {"name": "main", "image": "busybox", "command": ["sh", "-c", script]}
    body = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "two"},
        "spec": {"containers": [container]},
    }
    assert running.request("POST", "/api/v1/namespaces/default/pods", body).status == 201
    running.settle()
    path = "/api/v1/namespaces/default/pods/two/log"
    assert running.request("GET", f"{path}?stream=Stderr").text == b"err\n"
    assert running.request("GET", f"{path}?stream=Stdout").text == b"out\n"
    answer = running.request("GET", f"{path}?stream=Both")
    assert (answer.status, answer.json()["message"]) == (
        422,
        'PodLogOptions "two" is invalid: stream: Unsupported value: "Both": supported values: '
        '"All", "Stderr", "Stdout"',
    )
    answer = running.request("GET", f"{path}?stream=Stdout&tailLines=1")
    why = "`tailLines` and specific `stream` are mutually exclusive for now"
    assert why in answer.json()["message"]


def test_the_start_tells_what_was_switched() -> None:
    running = session("feature-gates=MutatingAdmissionPolicy=true", "runtime-config=batch/v1=false")
    first = next(record for record in running.records() if record["kind"] == "component")
    assert first["detail"]["flags"]["feature-gates"] == ["MutatingAdmissionPolicy=true"]
    assert first["detail"]["flags"]["runtime-config"] == ["batch/v1=false"]


@pytest.mark.parametrize(
    ("argument", "why"),
    [
        (
            "feature-gates=Nope=true",
            'invalid argument "Nope=true" for "--feature-gates" flag: unrecognized feature gate: '
            "Nope",
        ),
        (
            "feature-gates=WatchList",
            'invalid argument "WatchList" for "--feature-gates" flag: missing bool value for '
            "WatchList",
        ),
        (
            "feature-gates=WatchList=maybe",
            'invalid argument "WatchList=maybe" for "--feature-gates" flag: invalid value of '
            'WatchList=maybe, err: strconv.ParseBool: parsing "maybe": invalid syntax',
        ),
        (
            "feature-gates=WatchList=true",
            'invalid argument "WatchList=true" for "--feature-gates" flag: feature gate WatchList '
            "switches nothing in a simulated cluster",
        ),
        ("runtime-config=foo.example/v1=true", "unknown api groups foo.example"),
        ("runtime-config=api/all=false", "invalid key with only api/all=false"),
        ("runtime-config=v1=true", "runtime-config invalid key v1"),
        ("runtime-config=batch/v7=true", "group version batch/v7 that has not been registered"),
        ("runtime-config=api/beta=maybe", "invalid value api/beta=maybe"),
    ],
)
def test_what_cannot_be_switched_ends_the_start(argument: str, why: str) -> None:
    with pytest.raises(flags.FlagError) as caught:
        flags.parse([argument], lambda name: "")
    assert str(caught.value) == why


def test_a_gate_may_be_given_the_value_it_has() -> None:
    flags.parse(["feature-gates=WatchList=false,APIServerIdentity=true"], lambda name: "")


def test_a_cluster_that_denies_everything_settles_and_can_be_read() -> None:
    denying = session("admission-control=AlwaysDeny")
    assert denying.request("GET", "/api/v1/namespaces").json()["items"] == []
    synced = next(record for record in denying.records() if record.get("state") == "synced")
    assert synced["detail"]["message"].endswith("admission control is denying all modifications")
