"""ABAC: what a policy file allows, and what makes it no policy file."""

from __future__ import annotations

import json
from typing import Any

import pytest

from apiserver_app.auth.authz import abac
from apiserver_app.authprotocols import Attributes
from apiserver_app.machinery.meta import User

ALICE = User("alice", ("system:authenticated",))
STRANGER = User("system:anonymous", ("system:unauthenticated",))


def policy(**spec: Any) -> str:
    return json.dumps({"apiVersion": abac.API_VERSION, "kind": "Policy", "spec": spec})


def allowed(text: str, user: User, verb: str, **more: str) -> bool:
    return abac.Abac(text, "p").authorize(Attributes(user, verb, **more)).verdict == "allow"


def test_a_policy_allows_its_user_its_resource_in_its_namespace() -> None:
    text = policy(user="alice", namespace="projectCaribou", resource="pods", apiGroup="")
    assert allowed(text, ALICE, "create", resource="pods", namespace="projectCaribou")
    assert not allowed(text, ALICE, "create", resource="pods", namespace="other")
    assert not allowed(text, ALICE, "get", resource="secrets", namespace="projectCaribou")
    assert not allowed(text, User("bob"), "get", resource="pods", namespace="projectCaribou")


def test_a_readonly_policy_allows_reads_only() -> None:
    text = policy(user="alice", namespace="*", resource="*", apiGroup="*", readonly=True)
    assert allowed(text, ALICE, "list", resource="pods", namespace="a")
    assert not allowed(text, ALICE, "delete", resource="pods", namespace="a")


def test_paths_match_by_prefix_and_resources_do_not_match_paths() -> None:
    text = policy(user="alice", nonResourcePath="/healthz*")
    assert allowed(text, ALICE, "get", path="/healthz/etcd")
    assert not allowed(text, ALICE, "get", path="/metrics")
    everything = policy(user="alice", resource="*", namespace="*", apiGroup="*")
    assert not allowed(everything, ALICE, "get", path="/healthz")


def test_a_star_is_everybody_who_is_authenticated() -> None:
    text = policy(user="*", nonResourcePath="*")
    assert allowed(text, ALICE, "get", path="/x")
    assert not allowed(text, STRANGER, "get", path="/x")


def test_lines_without_a_version_are_of_the_oldest_format() -> None:
    assert allowed('{"user":"alice"}', ALICE, "delete", resource="nodes", group="x")
    assert allowed('{"user":"alice"}', ALICE, "get", path="/anything")
    assert not allowed('{"user":"alice","namespace":"a"}', ALICE, "get", path="/anything")


def test_comments_and_blank_lines_are_passed_over_and_the_line_is_told() -> None:
    authorizer = abac.Abac("# who may what\n\n" + policy(user="alice", nonResourcePath="*"), "p")
    answer = authorizer.authorize(Attributes(ALICE, "get", "/"))
    assert answer.why == "line 3 of the policy file allows it"
    refused = authorizer.authorize(Attributes(STRANGER, "get", "/"))
    assert (refused.verdict, refused.reason) == ("noop", "No policy matched.")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "couldn't get version/kind; json parse error: unexpected end of JSON input"),
        (
            "nonsense",
            "couldn't get version/kind; json parse error: invalid character 'o' in literal null",
        ),
        (
            '{"user":3}',
            "json: cannot unmarshal number into Go struct field Policy.user of type string",
        ),
    ],
)
def test_a_bad_line_is_a_start_up_error_with_its_number(line: str, problem: str) -> None:
    with pytest.raises(ValueError) as caught:
        abac.parse(f"# first\n{line}\n", "/etc/policy.jsonl")
    said = str(caught.value)
    assert said.startswith(f"error reading policy file /etc/policy.jsonl, line 2: {line}: ")
    if "literal" not in problem:
        assert said.endswith(problem)


def test_rules_of_a_user_are_those_of_the_policies_about_him() -> None:
    text = "\n".join(
        [
            policy(user="alice", namespace="a", resource="pods", apiGroup="", readonly=True),
            policy(user="alice", namespace="b", resource="nodes"),
            policy(user="bob", namespace="*", resource="*", apiGroup="*"),
        ]
    )
    found = abac.Abac(text, "p").rules_for(ALICE, "a")
    assert found.resources == [
        {"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["pods"]}
    ]
    assert not found.incomplete
