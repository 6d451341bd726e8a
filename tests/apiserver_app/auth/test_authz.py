"""Authorization: upstream's reasons and sentences, over the real bootstrap policy."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.auth.authz import union as unions
from apiserver_app.auth.authz.forbidden import forbidden_error
from apiserver_app.authprotocols import Attributes, Decision
from apiserver_app.machinery.meta import User
from tests.apiserver_app.memory import MemoryReader, run

KNOWN = "system:authenticated"
STUDENT = User("student", ("students", KNOWN))
VIEWER = User("viewer", ("viewers", KNOWN))
TEACHER = User("teacher", ("teachers", KNOWN))
NOBODY = User("nobody", (KNOWN,))
ADMIN = User("kubernetes-admin", ("system:masters", KNOWN))
KUBELET = User("system:node:node-1", ("system:nodes", KNOWN))
RBAC = "rbac.authorization.k8s.io"


def _account(name: str) -> User:
    groups = ("system:serviceaccounts", "system:serviceaccounts:kube-system", KNOWN)
    return User(f"system:serviceaccount:kube-system:{name}", groups)


@pytest.fixture
def authz(reader: MemoryReader) -> unions.Union:
    return unions.build(["Node", "RBAC"], reader)


def ask(authz: unions.Union, user: User, verb: str, what: str, **more: str) -> Decision:
    """`what` is "deployments.apps" or "pods/log"."""
    resource, _, subresource = what.partition("/")
    plural, _, group = resource.partition(".")
    asked = Attributes(user, verb, "", group, "v1", plural, subresource, **more)
    decision: Decision = run(authz.authorize(asked))
    return decision


def test_group_binding_is_named_in_upstreams_words(authz: unions.Union) -> None:
    decision = ask(authz, TEACHER, "create", "deployments.apps", namespace="default")

    assert decision.reason == (
        'RBAC: allowed by ClusterRoleBinding "teachers" of ClusterRole "cluster-admin" '
        'to Group "teachers"'
    )
    assert [attempt.name for attempt in decision.tries] == ["PrivilegedGroup", "Node", "RBAC"]


def test_service_account_binding_is_named_with_name_before_namespace(authz: unions.Union) -> None:
    decision = ask(
        authz, _account("deployment-controller"), "create", "replicasets.apps", namespace="x"
    )

    assert decision.reason == (
        'RBAC: allowed by ClusterRoleBinding "system:controller:deployment-controller" of '
        'ClusterRole "system:controller:deployment-controller" to ServiceAccount '
        '"deployment-controller/kube-system"'
    )
    assert decision.tries[-1].detail["rule"]["resources"] == ["replicasets"]


def test_role_binding_is_named_with_its_namespace(authz: unions.Union) -> None:
    decision = ask(authz, STUDENT, "create", "deployments.apps", namespace="student")

    assert decision.reason == (
        'RBAC: allowed by RoleBinding "students/student" of ClusterRole "edit" to Group "students"'
    )


@pytest.mark.parametrize(
    ("user", "verb", "what", "namespace", "allowed"),
    [
        (STUDENT, "create", "pods", "student", True),
        (STUDENT, "get", "pods/log", "student", True),
        (STUDENT, "create", "pods/exec", "student", True),
        (STUDENT, "create", "roles.rbac.authorization.k8s.io", "student", False),
        (STUDENT, "update", "resourcequotas", "student", False),
        (STUDENT, "list", "pods", "default", False),
        (STUDENT, "list", "pods", "", False),
        (STUDENT, "list", "nodes", "", False),
        (VIEWER, "list", "pods", "default", True),
        (VIEWER, "list", "pods", "", True),
        (VIEWER, "get", "secrets", "default", False),
        (VIEWER, "delete", "pods", "default", False),
        (TEACHER, "delete", "nodes", "", True),
        (NOBODY, "list", "pods", "student", False),
        (NOBODY, "create", "selfsubjectaccessreviews.authorization.k8s.io", "", True),
        (ADMIN, "impersonate", "users", "", True),
        (User("system:kube-scheduler", (KNOWN,)), "create", "pods/binding", "default", True),
        (_account("replicaset-controller"), "create", "pods", "default", True),
        (_account("replicaset-controller"), "create", "deployments.apps", "default", False),
        (_account("disruption-controller"), "get", "deployments.apps/scale", "default", True),
    ],
)
def test_cast_and_components_may_do_what_their_roles_say(
    authz: unions.Union, user: User, verb: str, what: str, namespace: str, allowed: bool
) -> None:
    assert ask(authz, user, verb, what, namespace=namespace).allowed is allowed


def test_discovery_is_open_to_the_known_and_version_to_everybody(authz: unions.Union) -> None:
    anonymous = User("system:anonymous", ("system:unauthenticated",))

    assert run(authz.authorize(Attributes(NOBODY, "get", "/apis/apps/v1"))).allowed
    assert run(authz.authorize(Attributes(anonymous, "get", "/version"))).allowed
    assert not run(authz.authorize(Attributes(anonymous, "get", "/apis"))).allowed


def test_masters_are_allowed_before_any_mode_is_asked(authz: unions.Union) -> None:
    decision = ask(authz, ADMIN, "delete", "nodes", name="node-1")

    assert decision.allowed and decision.reason == ""
    assert [attempt.name for attempt in decision.tries] == ["PrivilegedGroup"]


def test_refusal_names_every_binding_and_the_smallest_rule(authz: unions.Union) -> None:
    decision = ask(authz, STUDENT, "create", "deployments.apps", namespace="default")
    detail = decision.tries[-1].detail

    assert not decision.allowed and decision.reason == ""
    assert [binding["binding"]["name"] for binding in detail["bindings"]] == [
        "system:basic-user",
        "system:discovery",
        "system:public-info-viewer",
    ]
    assert detail["bindings"][0]["closest"]["missing"] == ["apiGroup", "resource"]
    assert detail["smallest_rule"] == {
        "apiGroups": ["apps"],
        "resources": ["deployments"],
        "verbs": ["create"],
    }
    assert detail["smallest_role"] == {"kind": "Role", "namespace": "default"}


@pytest.mark.parametrize(
    ("verb", "what", "would_do"),
    [
        ("get", "pods", "view"),
        ("create", "deployments.apps", "edit"),
        ("create", "roles.rbac.authorization.k8s.io", "admin"),
        ("delete", "nodes", None),
    ],
)
def test_refusal_names_the_least_role_for_people_that_would_do(
    authz: unions.Union, verb: str, what: str, would_do: str | None
) -> None:
    detail = ask(authz, STUDENT, verb, what, namespace="default").tries[-1].detail
    assert detail.get("role_that_would_do") == would_do


def test_refusal_says_what_nobody_allows_or_that_nothing_is_bound(authz: unions.Union) -> None:
    stranger = User("stranger", ())
    assert ask(authz, STUDENT, "get", "pods", namespace="default").tries[-1].why == (
        "no rule of 3 bindings allows get pods"
    )
    path: Decision = run(authz.authorize(Attributes(STUDENT, "get", "/metrics")))
    assert path.tries[-1].why == "no rule of 3 bindings allows get /metrics"
    assert ask(authz, stranger, "get", "pods").tries[-1].why == 'no binding applies to "stranger"'


@pytest.mark.parametrize(
    ("verb", "what", "more"),
    [
        ("create", "deployments.apps", {"namespace": "default"}),
        ("delete", "pods", {"namespace": "default", "name": "web"}),
        ("get", "pods/log", {"namespace": "default", "name": "web"}),
        ("list", "nodes", {}),
    ],
)
def test_smallest_rule_in_a_role_lets_the_same_request_pass(
    authz: unions.Union, reader: MemoryReader, verb: str, what: str, more: dict[str, str]
) -> None:
    refused = ask(authz, NOBODY, verb, what, **more)
    detail = refused.tries[-1].detail
    kind = detail["smallest_role"]["kind"]
    place = {"namespace": more["namespace"]} if kind == "Role" else {}
    plural = "roles" if kind == "Role" else "clusterroles"
    bindings = "rolebindings" if kind == "Role" else "clusterrolebindings"

    reader.put(
        f"{plural}.{RBAC}",
        {"metadata": {"name": "just-this", **place}, "rules": [detail["smallest_rule"]]},
    )
    reader.put(f"{bindings}.{RBAC}", _binding("just-this", kind, "just-this", place))

    assert not refused.allowed
    assert ask(authz, NOBODY, verb, what, **more).allowed


def _binding(name: str, kind: str, role: str, place: dict[str, str]) -> dict[str, Any]:
    return {
        "metadata": {"name": name, **place},
        "subjects": [{"kind": "User", "name": "nobody"}],
        "roleRef": {"kind": kind, "name": role},
    }


def test_removed_binding_is_noticed_at_once(authz: unions.Union, reader: MemoryReader) -> None:
    before = ask(authz, STUDENT, "create", "pods", namespace="student")
    reader.drop(f"rolebindings.{RBAC}", "student", "students")

    assert before.allowed
    assert not ask(authz, STUDENT, "create", "pods", namespace="student").allowed


def test_changed_role_is_noticed_at_once(authz: unions.Union, reader: MemoryReader) -> None:
    assert ask(authz, STUDENT, "get", "secrets", namespace="student").allowed

    edit = reader.get(f"clusterroles.{RBAC}", "", "edit")
    assert edit is not None
    reader.put(f"clusterroles.{RBAC}", {**edit, "rules": []})

    assert not ask(authz, STUDENT, "get", "secrets", namespace="student").allowed


def test_missing_role_is_named_in_the_reason(authz: unions.Union, reader: MemoryReader) -> None:
    place = {"namespace": "default"}
    reader.put(f"rolebindings.{RBAC}", _binding("broken", "Role", "gone", place))

    decision = ask(authz, NOBODY, "list", "pods", namespace="default")

    assert decision.reason == 'RBAC: role.rbac.authorization.k8s.io "gone" not found'


def test_rule_with_a_name_allows_that_name_only(authz: unions.Union) -> None:
    manager = User("system:kube-controller-manager", (KNOWN,))
    leases = "leases.coordination.k8s.io"

    def may(name: str) -> bool:
        return ask(authz, manager, "update", leases, namespace="other", name=name).allowed

    assert may("kube-controller-manager")
    assert not may("kube-scheduler")
    assert may("kube-controller-manager")


# -- nodes --------------------------------------------------------------------------------------


@pytest.fixture
def on_nodes(reader: MemoryReader) -> MemoryReader:
    for node, secret in (("node-1", "mine"), ("node-2", "theirs")):
        spec = {
            "nodeName": node,
            "serviceAccountName": f"account-{secret}",
            "volumes": [
                {"name": "s", "secret": {"secretName": secret}},
                {"name": "c", "projected": {"sources": [{"configMap": {"name": "root-ca"}}]}},
                {"name": "d", "persistentVolumeClaim": {"claimName": f"claim-{secret}"}},
            ],
            "containers": [{"envFrom": [{"configMapRef": {"name": f"env-{secret}"}}]}],
        }
        reader.put("pods", {"metadata": {"namespace": "a", "name": f"p-{node}"}, "spec": spec})
        claim = {"metadata": {"namespace": "a", "name": f"claim-{secret}"}}
        reader.put("persistentvolumeclaims", claim)
        volume = {"claimRef": {"namespace": "a", "name": f"claim-{secret}"}}
        reader.put("persistentvolumes", {"metadata": {"name": f"pv-{secret}"}, "spec": volume})
    return reader


@pytest.mark.parametrize(
    ("verb", "what", "namespace", "name", "allowed"),
    [
        ("get", "secrets", "a", "mine", True),
        ("get", "secrets", "a", "theirs", False),
        ("get", "secrets", "b", "mine", False),
        ("list", "secrets", "a", "", False),
        ("watch", "configmaps", "a", "root-ca", True),
        ("get", "configmaps", "a", "env-theirs", False),
        ("get", "persistentvolumeclaims", "a", "claim-mine", True),
        ("get", "persistentvolumes", "", "pv-mine", True),
        ("get", "persistentvolumes", "", "pv-theirs", False),
        ("create", "serviceaccounts/token", "a", "account-mine", True),
        ("create", "serviceaccounts/token", "a", "account-theirs", False),
        ("get", "pods", "a", "p-node-1", True),
        ("get", "pods", "a", "p-node-2", False),
        ("get", "nodes", "", "node-1", True),
        ("get", "nodes", "", "node-2", False),
        ("patch", "nodes/status", "", "node-1", True),
        ("update", "leases.coordination.k8s.io", "kube-node-lease", "node-1", True),
        ("update", "leases.coordination.k8s.io", "kube-node-lease", "node-2", False),
        ("update", "leases.coordination.k8s.io", "default", "node-1", False),
        ("update", "csinodes.storage.k8s.io", "", "node-1", True),
        ("list", "services", "", "", True),
        ("create", "deployments.apps", "a", "", False),
    ],
)
def test_kubelet_reaches_what_its_pods_need_and_no_more(
    on_nodes: MemoryReader, verb: str, what: str, namespace: str, name: str, allowed: bool
) -> None:
    authz = unions.build(["Node", "RBAC"], on_nodes)

    decision = ask(authz, KUBELET, verb, what, namespace=namespace, name=name)

    assert decision.allowed is allowed


def test_refused_kubelet_is_told_that_there_is_no_relationship(on_nodes: MemoryReader) -> None:
    authz = unions.build(["Node", "RBAC"], on_nodes)
    asked = Attributes(KUBELET, "get", "", "", "v1", "secrets", "", "a", "theirs")

    error = forbidden_error(asked, run(authz.authorize(asked)).reason)

    assert error.message == (
        'secrets "theirs" is forbidden: User "system:node:node-1" cannot get resource "secrets" '
        'in API group "" in the namespace "a": no relationship found between node \'node-1\' '
        "and this object"
    )


@pytest.mark.parametrize(
    ("verb", "what", "name", "fields", "why"),
    [
        ("get", "serviceaccounts", "default", "", "not allowed to get service accounts"),
        ("update", "serviceaccounts/token", "default", "",
         "can only create tokens for individual service accounts"),
        ("create", "serviceaccounts/token", "", "",
         "can only create tokens for individual service accounts"),
        ("create", "serviceaccounts", "default", "",
         "can only create token subresource of serviceaccount"),
        ("update", "csinodes.storage.k8s.io/status", "node-1", "",
         "cannot authorize CSINode subresources"),
        ("update", "resourceslices.resource.k8s.io/status", "s", "",
         "cannot authorize ResourceSlice subresources"),
        ("list", "resourceslices.resource.k8s.io", "", "nodeName=node-2",
         "can only list/watch/deletecollection resourceslices with nodeName field selector"),
        ("bind", "resourceslices.resource.k8s.io", "s", "",
         "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, "
         "update, patch, delete, deletecollection"),
        ("get", "nodes/status", "node-1", "", "nodes may not do this"),
        ("get", "nodes", "", "",
         "node 'node-1' cannot read all nodes, only its own Node object"),
    ],
)  # fmt: skip
def test_refused_kubelet_is_told_upstreams_reason(
    on_nodes: MemoryReader, verb: str, what: str, name: str, fields: str, why: str
) -> None:
    authz = unions.build(["Node"], on_nodes)
    decision = ask(authz, KUBELET, verb, what, namespace="a", name=name, fields=fields)
    assert not decision.allowed and decision.tries[-1].why == why


def test_kubelet_makes_slices_and_lists_its_own(on_nodes: MemoryReader) -> None:
    authz = unions.build(["Node"], on_nodes)
    slices = "resourceslices.resource.k8s.io"
    assert ask(authz, KUBELET, "create", slices).allowed
    assert ask(authz, KUBELET, "deletecollection", slices, fields="nodeName=node-1").allowed
    assert ask(authz, KUBELET, "update", "nodes/status", name="node-1").allowed
    assert not ask(authz, KUBELET, "delete", "nodes", name="node-1").allowed


def test_kubelet_lists_pods_of_its_own_node_only(authz: unions.Union) -> None:
    def may(fields: str) -> bool:
        return ask(authz, KUBELET, "watch", "pods", fields=fields).allowed

    assert may("spec.nodeName=node-1")
    assert not may("spec.nodeName=node-2")
    assert not may("")


# -- the union ----------------------------------------------------------------------------------


def test_no_mode_is_a_start_up_error(reader: MemoryReader) -> None:
    with pytest.raises(ValueError, match=r"^at least one authorization mode must be passed$"):
        unions.build([], reader)


def test_unknown_mode_is_a_start_up_error(reader: MemoryReader) -> None:
    with pytest.raises(ValueError, match=r"^unknown authorization mode Foo specified$"):
        unions.build(["RBAC", "Foo"], reader)


def test_always_deny_alone_refuses_everything(reader: MemoryReader) -> None:
    decision = ask(unions.build(["AlwaysDeny"], reader), TEACHER, "get", "pods", namespace="a")

    assert not decision.allowed
    assert decision.reason == "Everything is forbidden."


def test_modes_are_asked_in_the_order_given(reader: MemoryReader) -> None:
    names = unions.build(["RBAC", "Node"], reader).names

    assert names == ["PrivilegedGroup", "RBAC", "Node"]


def test_forbidden_sentences_are_upstreams() -> None:
    namespaced = Attributes(STUDENT, "create", "", "apps", "v1", "deployments", "", "default")
    cluster = Attributes(STUDENT, "patch", "", "", "v1", "nodes", "status", "", "node-1")
    path = Attributes(User("x"), "get", "/y")

    assert forbidden_error(namespaced).message == (
        'deployments.apps is forbidden: User "student" cannot create resource "deployments" '
        'in API group "apps" in the namespace "default"'
    )
    assert forbidden_error(cluster).message == (
        'nodes "node-1" is forbidden: User "student" cannot patch resource "nodes/status" '
        'in API group "" at the cluster scope'
    )
    assert forbidden_error(path).message == 'forbidden: User "x" cannot get path "/y"'
    assert forbidden_error(path).status()["details"] == {}


def test_rules_review_lists_the_students_rules(authz: unions.Union) -> None:
    resources, paths, incomplete, _ = authz.rules_for(STUDENT, "student")

    assert {"verbs": ["create"], "apiGroups": [""], "resources": ["pods/eviction"]} in resources
    assert any("/healthz" in rule["nonResourceURLs"] for rule in paths)
    assert not incomplete


def test_rules_review_of_a_kubelet_is_incomplete(authz: unions.Union) -> None:
    found = authz.rules_for(KUBELET, "default")
    assert found.incomplete
    assert found.error == "node authorizer does not support user rule resolution"
