"""The Webhook authorizer: what it asks, how long it remembers, what silence means."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from apiserver_app.auth import reviewing
from apiserver_app.auth.authz import config, union, webhook
from apiserver_app.authprotocols import Attributes, Decision
from apiserver_app.egress import outbound
from apiserver_app.egress.kubeconfigs import Target
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import User
from tests.apiserver_app.memory import MemoryReader, bootstrapped, run

JANE = User("jane", ("dev",), "u1", {"scopes": ("a",)})
PODS = Attributes(JANE, "list", "", "", "v1", "pods", namespace="team", fields="spec.nodeName=n1")


class Outside:
    """A server that gives its answers one after the other; the last one again and again."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.asked: list[outbound.Call] = []
        self.now = 0
        self.slept: list[float] = []

    async def call(self, call: outbound.Call) -> outbound.Answer:
        self.asked.append(call)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, outbound.CallFailed):
            raise answer
        if isinstance(answer, int):
            return outbound.Answer(answer, {}, b"")
        return outbound.Answer(201, {}, orjson.dumps({"status": answer}), "127.0.0.1:9443")

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)

    def world(self) -> reviewing.Transport:
        return reviewing.Transport(self.call, lambda: self.now, self.sleep)


def authorizer(outside: Outside, **more: Any) -> webhook.Webhook:
    settings = webhook.Settings(Target("https://authz.example/check"), **more)
    return webhook.Webhook(settings, outside.world())


def test_it_asks_by_a_review_of_who_wants_what() -> None:
    outside = Outside({"allowed": True, "reason": "knows her"})
    answer = run(authorizer(outside).authorize(PODS))
    assert (answer.verdict, answer.reason) == ("allow", "knows her")
    assert outside.asked[0].to == "https://authz.example/check"
    assert orjson.loads(outside.asked[0].body) == {
        "kind": "SubjectAccessReview",
        "apiVersion": "authorization.k8s.io/v1beta1",
        "metadata": {},
        "spec": {
            "resourceAttributes": {
                "namespace": "team",
                "verb": "list",
                "version": "v1",
                "resource": "pods",
                "fieldSelector": {
                    "requirements": [{"key": "spec.nodeName", "operator": "In", "values": ["n1"]}]
                },
            },
            "user": "jane",
            "group": ["dev"],
            "extra": {"scopes": ["a"]},
            "uid": "u1",
        },
        "status": {"allowed": False},
    }


def test_version_v1_names_groups() -> None:
    assert webhook.review_of(PODS, "v1")["spec"]["groups"] == ["dev"]


def test_a_denial_ends_the_chain_and_silence_does_not() -> None:
    def decided(status: dict[str, Any]) -> Decision:
        hook = authorizer(Outside(status))
        decision: Decision = run(union.build([hook, "AlwaysAllow"], MemoryReader()).authorize(PODS))
        return decision

    denied = decided({"allowed": False, "denied": True, "reason": "never"})
    assert (denied.verdict, denied.reason) == ("deny", "never")
    assert [attempt.name for attempt in denied.tries] == ["PrivilegedGroup", "Webhook"]
    silent = decided({"allowed": False})
    assert [attempt.verdict for attempt in silent.tries] == ["noop", "noop", "allow"]


def test_answers_are_remembered_each_for_its_time() -> None:
    outside = Outside({"allowed": True})
    hook = authorizer(outside)
    run(hook.authorize(PODS))
    outside.now = 299 * SECOND
    assert run(hook.authorize(PODS)).detail["cached"]
    outside.now = 300 * SECOND
    run(hook.authorize(PODS))
    assert len(outside.asked) == 2

    outside = Outside({"allowed": False})
    hook = authorizer(outside)
    run(hook.authorize(PODS))
    outside.now = 30 * SECOND
    run(hook.authorize(PODS))
    assert len(outside.asked) == 2


def test_a_server_that_fails_is_asked_again_after_growing_pauses() -> None:
    outside = Outside(500, 429, {"allowed": True})
    assert run(authorizer(outside).authorize(PODS)).verdict == "allow"
    assert outside.slept == [0.5, 0.75]


def test_who_cannot_be_asked_has_no_opinion_or_denies_as_configured() -> None:
    gone = outbound.CallFailed('Post "https://authz.example/check": dial tcp: connection refused')
    silent = run(authorizer(Outside(gone)).authorize(PODS))
    assert (silent.verdict, silent.error) == ("noop", str(gone))
    assert run(authorizer(Outside(gone), on_error="deny").authorize(PODS)).verdict == "deny"


def test_it_resolves_no_rules() -> None:
    found = authorizer(Outside({})).rules_for(JANE, "team")
    assert (found.incomplete, found.error) == (
        True,
        "webhook authorizer does not support user rule resolution",
    )


# -- configuration -------------------------------------------------------------------------------

KUBECONFIG = """
kind: Config
apiVersion: v1
current-context: c
contexts: [{name: c, context: {cluster: remote, user: me}}]
clusters: [{name: remote, cluster: {server: "https://127.0.0.1:9443/authorize"}}]
users: [{name: me, user: {token: secret}}]
"""
STRUCTURED = """
apiVersion: apiserver.config.k8s.io/v1
kind: AuthorizationConfiguration
authorizers:
- {type: Node, name: node}
- type: Webhook
  name: first
  webhook:
    timeout: 3s
    subjectAccessReviewVersion: v1
    failurePolicy: Deny
    connectionInfo: {type: KubeConfigFile, kubeConfigFile: /etc/authz.yaml}
- {type: RBAC, name: rbac}
"""


def build(**options: Any) -> union.Union:
    world = Outside({"allowed": True}).world()
    return config.build(config.Options(**options), bootstrapped(), world)


def test_flags_give_the_modes_in_their_order() -> None:
    built = build(modes=("Webhook", "RBAC"), webhook=KUBECONFIG)
    assert built.names == ["PrivilegedGroup", "Webhook", "RBAC"]
    assert run(built.authorize(PODS)).tries[1].verdict == "allow"


def test_a_configuration_names_several_webhooks_in_order() -> None:
    files = {"/etc/authz.yaml": KUBECONFIG}
    second = STRUCTURED.replace("name: first", "name: second").split("- {type: RBAC")[0]
    text = STRUCTURED + second[second.index("- type: Webhook") :]
    built = build(config=text, config_path="/c", kubeconfigs=files)
    assert built.names == ["PrivilegedGroup", "Node", "Webhook first", "RBAC", "Webhook second"]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"modes": ("ABAC",)}, "authorization-mode ABAC's authorization policy file not passed"),
        (
            {"modes": ("Webhook",)},
            "authorization-mode Webhook's authorization config file not passed",
        ),
        (
            {"modes": ("RBAC",), "policy_path": "/p"},
            "cannot specify --authorization-policy-file without mode ABAC",
        ),
        (
            {"modes": ("RBAC", "RBAC")},
            'authorization-mode ["RBAC" "RBAC"] has mode specified more than once',
        ),
        ({"modes": ()}, "at least one authorization mode must be passed"),
        ({"modes": ("Foo",)}, "unknown authorization mode Foo specified"),
        (
            {"config": STRUCTURED.replace("timeout: 3s", "timeout: 60s"), "config_path": "/c",
             "kubeconfigs": {"/etc/authz.yaml": KUBECONFIG}},
            'authorizers[1].timeout: Invalid value: "60s": must be > 0s and <= 30s',
        ),
        (
            {"config": STRUCTURED.replace("type: RBAC, ", "type: Magic, "), "config_path": "/c",
             "kubeconfigs": {"/etc/authz.yaml": KUBECONFIG}},
            'authorizers[2].type: Unsupported value: "Magic": supported values: "ABAC", '
            '"AlwaysAllow", "AlwaysDeny", "Node", "RBAC", "Webhook"',
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_is_a_start_up_error(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        build(**options)
    assert str(caught.value) == problem


def test_a_webhook_is_asked_only_when_its_conditions_hold() -> None:
    outside = Outside({"allowed": False, "denied": True})
    hook = """
    matchConditionSubjectAccessReviewVersion: v1
    matchConditions:
    - expression: "has(request.resourceAttributes)"
    - expression: "request.resourceAttributes.namespace == 'team'"
    connectionInfo"""
    text = STRUCTURED.replace("    connectionInfo", hook[1:])
    options = config.Options(
        config=text, config_path="/c", kubeconfigs={"/etc/authz.yaml": KUBECONFIG}
    )
    built = config.build(options, bootstrapped(), outside.world())
    assert run(built.authorize(PODS)).verdict == "deny"
    elsewhere = Attributes(JANE, "list", "", "", "v1", "pods", namespace="other")
    assert run(built.authorize(elsewhere)).verdict == "noop"
    assert len(outside.asked) == 1
    path = run(built.authorize(Attributes(JANE, "get", "/x")))
    assert path.tries[2].why == "its conditions do not match"


def test_a_condition_that_cannot_be_is_a_start_up_error() -> None:
    hook = """
    matchConditionSubjectAccessReviewVersion: v1
    matchConditions:
    - expression: "request.user =="
    connectionInfo"""
    text = STRUCTURED.replace("    connectionInfo", hook[1:])
    with pytest.raises(ValueError) as caught:
        build(config=text, config_path="/c", kubeconfigs={"/etc/authz.yaml": KUBECONFIG})
    said = str(caught.value)
    assert said.startswith("authorizers[1].matchConditions[0].expression: Invalid value: ")
