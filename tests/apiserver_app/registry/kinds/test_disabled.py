"""Fields of pods that a release takes only with a feature gate; AppArmor's field and annotation.

What a release does with each was seen from kube-apiserver 1.33.4.
"""

from __future__ import annotations

import copy
from typing import Any

import pytest

from apiserver_app.machinery.releases import Release
from apiserver_app.registry.core.pod import disabled
from lifecycle.hosting.scripted import Session
from tests.apiserver_app.cluster import server_session

PODS = "/api/v1/namespaces/default/pods"
KEY = "container.apparmor.security.beta.kubernetes.io/c"
BUNDLE = {"projected": {"sources": [{"clusterTrustBundle": {"path": "a"}}, {"secret": {}}]}}


def spec(*containers: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {
        "containers": [{"name": "c", **container} for container in containers or ({},)],
        **fields,
    }


@pytest.mark.parametrize(
    ("sent", "kept", "since"),
    [
        (spec(hostUsers=False), spec(), 33),
        (spec(securityContext={"supplementalGroupsPolicy": "Strict"}),
         spec(securityContext={}), 33),
        (spec(securityContext={"seLinuxChangePolicy": "Recursive"}), spec(securityContext={}), 33),
        (spec({"resizePolicy": []}), spec(), 33),
        (spec(resources={"limits": {}}), spec(), 34),
        (spec({"resources": {"claims": [{"name": "a"}], "limits": {}}}, {},
              resourceClaims=[{"name": "a"}]),
         spec({"resources": {"limits": {}}}, {}), 34),
        (spec({"volumeMounts": [{"name": "i"}, {"name": "v"}]}, {"volumeMounts": [{"name": "i"}]},
              volumes=[{"name": "i", "image": {}}, {"name": "v"}]),
         spec({"volumeMounts": [{"name": "v"}]}, {}, volumes=[{"name": "v"}]), 35),
        (spec(volumes=[{"name": "i", "image": {}}]), spec(), 35),
        (spec({"lifecycle": {"stopSignal": "SIGUSR1"}},
              {"lifecycle": {"stopSignal": "SIGUSR1", "preStop": {}}}),
         spec({}, {"lifecycle": {"preStop": {}}}), None),
        (spec(volumes=[{"name": "b", **BUNDLE}, {"name": "v"}]),
         spec(volumes=[{"name": "b", "projected": {"sources": [{}, {"secret": {}}]}},
                       {"name": "v"}]), None),
    ],
)  # fmt: skip
def test_a_field_whose_gate_is_off_is_dropped_unless_it_was_there(
    sent: dict[str, Any], kept: dict[str, Any], since: int | None
) -> None:
    before, off = copy.deepcopy(sent), Release(since - 1 if since else 36)
    assert disabled.without(sent, None, off) == kept
    assert disabled.without(sent, sent, off) is sent
    if since:
        assert disabled.without(sent, kept, Release(since)) is sent
    assert sent == before, "nothing is changed in place"


@pytest.fixture(scope="module")
def session() -> Session:
    return server_session()


def stored(session: Session, path: str, obj: dict[str, Any]) -> Any:
    answer = session.request("POST", f"{path}?dryRun=All", obj)
    assert answer.status == 201, answer.text
    return answer.json()


def pod(annotations: dict[str, str] | None = None, **fields: Any) -> dict[str, Any]:
    containers = [{"name": "c", "image": "i", **fields.pop("container", {})}]
    metadata = {"name": "p", "annotations": annotations or {}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": containers, **fields},
    }


def test_every_kind_with_a_template_drops_it(session: Session) -> None:
    inside = pod(resourceClaims=[{"name": "a", "resourceClaimName": "b"}], restartPolicy="Never")
    template = {"metadata": {"labels": {"a": "b"}}, "spec": inside["spec"]}
    job = {"template": template}
    selector = {"matchLabels": {"a": "b"}}
    always = {**template, "spec": {**inside["spec"], "restartPolicy": "Always"}}
    for path, kind, body in (
        ("batch/v1/namespaces/default/jobs", "Job", job),
        ("batch/v1/namespaces/default/cronjobs", "CronJob",
         {"schedule": "* * * * *", "jobTemplate": {"spec": job}}),
        ("apps/v1/namespaces/default/deployments", "Deployment",
         {"selector": selector, "template": always}),
    ):  # fmt: skip
        group = path.partition("/namespaces")[0]
        made = {"apiVersion": group, "kind": kind, "metadata": {"name": "w"}, "spec": body}
        assert "resourceClaims" not in str(stored(session, f"/apis/{path}", made)["spec"]), kind


@pytest.mark.parametrize(
    ("word", "profile"),
    [
        ("unconfined", {"type": "Unconfined"}),
        ("runtime/default", {"type": "RuntimeDefault"}),
        ("localhost/mine", {"type": "Localhost", "localhostProfile": "mine"}),
    ],
)
def test_a_profiles_field_and_annotation_say_the_same(
    session: Session, word: str, profile: dict[str, str]
) -> None:
    context: dict[str, Any] = {"securityContext": {"appArmorProfile": profile}}
    for sent in (pod(container=context), pod(**context)):
        assert stored(session, PODS, sent)["metadata"]["annotations"] == {KEY: word}
    made = stored(session, PODS, pod({KEY: word}))
    assert made["spec"]["containers"][0]["securityContext"] == {"appArmorProfile": profile}
    same = stored(session, PODS, pod({KEY: word}, **context))
    assert "securityContext" not in same["spec"]["containers"][0], "that of the pod is enough"


def test_a_pod_that_is_held_back_says_since_when(session: Session) -> None:
    made = stored(session, PODS, pod(schedulingGates=[{"name": "a.b/c"}]))
    [condition] = made["status"]["conditions"]
    assert condition["reason"] == "SchedulingGated"
    assert condition["lastTransitionTime"] == made["metadata"]["creationTimestamp"]
