"""Initializers: a new object is hidden until those that configurations name have acted. The plugin
of 1.8 to 1.13, on whole clusters that were started with the flags of that time."""

from __future__ import annotations

import functools
from typing import Any

import orjson
import pytest

from apiserver_app import flags
from apiserver_app.machinery.releases import Release
from lifecycle.hosting.scripted import Answer, Session, default_inputs
from tests.apiserver_app.cluster import (
    CONFIGMAPS,
    DEPLOYMENTS,
    JSON_PATCH,
    MERGE,
    PODS,
    STRATEGIC,
    configmap,
    copied,
    events,
    pod,
    told,
)

GROUP = "/apis/admissionregistration.k8s.io/v1alpha1"
CONFIGURATIONS = f"{GROUP}/initializerconfigurations"
SERVED = "runtime-config=admissionregistration.k8s.io/v1alpha1=true"
ALL = "?includeUninitialized=true"
IMAGE, PROXY = "podimage.example.com", "proxy.example.com"
SECRETS = "/api/v1/namespaces/default/secrets"


@functools.cache
def _first(version: str, nodes: int, arguments: tuple[str, ...]) -> Session:
    given = flags.parse(arguments, lambda name: "", Release.parse(version))
    return Session(default_inputs(nodes=nodes, version=version, flags=given))


def switched_on(version: str = "1.10", *more: str, nodes: int = 0) -> Session:
    plugin = "enable-admission-plugins=Initializers"
    if Release.parse(version) < Release(10):
        plugin = "admission-control=NamespaceLifecycle,ServiceAccount,Initializers"
    first = _first(version, nodes, (plugin, SERVED, *more))
    return Session(first.inputs, copied(first.backend))


def configuration(name: str = "custom-pod-initializer", *names: str, **rule: Any) -> dict[str, Any]:
    """As the article has it, unless said otherwise."""
    rules = [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], **rule}]
    return {
        "apiVersion": "admissionregistration.k8s.io/v1alpha1",
        "kind": "InitializerConfiguration",
        "metadata": {"name": name},
        "initializers": [{"name": one, "rules": rules} for one in names or (IMAGE,)],
    }


def configured(session: Session, *configurations: dict[str, Any]) -> Session:
    for one in configurations or (configuration(),):
        answer = session.request("POST", CONFIGURATIONS, one)
        assert answer.status == 201, answer.text
    return session


def create(session: Session, path: str, body: dict[str, Any], query: str = "") -> Answer:
    """Hands in a create; its answer may be a while in coming."""
    answer = session.send("POST", path + query, body)
    session.request("GET", "/version", settle=False)
    while not session.request("GET", f"{path}/{body['metadata']['name']}", settle=False).status:
        pass
    return answer


def at_once(session: Session, method: str, path: str, *args: Any, **more: Any) -> Any:
    """What is answered before time passes."""
    return session.request(method, path, *args, settle=False, **more).json()


def names(session: Session, path: str) -> list[str]:
    return [item["metadata"]["name"] for item in at_once(session, "GET", path)["items"]]


def acts(session: Session, name: str, path: str = f"{PODS}/web", **change: Any) -> Answer:
    """The initializer does what it has to do and takes its own name away."""
    gone = {"pending": [{"$patch": "delete", "name": name}]}
    body = {**change, "metadata": {"initializers": gone}}
    return session.request("PATCH", path, body, headers=STRATEGIC, settle=False)


def said(session: Session, plugin: str = "Initializers") -> list[tuple[str, str]]:
    """What the plugin said, (verdict, why), by the trace."""
    out = []
    for record in session.records():
        if record["kind"] == "plugin" and record["plugin"] == plugin:
            out.append((record["verdict"], record["why"]))
        detail = record.get("detail")
        passed = record.get("passed") or (detail or {}).get("passed") or ()
        out += [(verdict, why) for name, verdict, why in passed if name == plugin]
    return out


def etcd(session: Session) -> list[dict[str, Any]]:
    """What the trace has of writes to pods at the etcd gate."""
    gates = [record for record in session.records() if record.get("gate") == "etcd"]
    return [gate["detail"] for gate in gates if "/pods/default/" in gate["detail"].get("key", "")]


# -- IN-04, IN-05: configurations and the pending list --------------------------------------------


def test_a_configuration_puts_its_initializer_on_the_next_pod_and_the_trace_says_which() -> None:
    session = switched_on()
    before = create(session, PODS, pod("before"))
    session.settle()
    assert before.status == 201
    configured(session)
    made = session.request("POST", f"{PODS}?includeUninitialized=1", pod("web"), settle=False)
    assert made.status == 202
    assert made.json()["metadata"]["initializers"] == {"pending": [{"name": IMAGE}]}
    assert said(session)[-1] == (
        "change",
        f"hidden until initialized by {IMAGE} (custom-pod-initializer)",
    )
    assert etcd(session)[-1]["hidden"] == [IMAGE]


def test_initializers_of_several_configurations_wait_in_the_order_of_their_names() -> None:
    session = configured(
        switched_on(), configuration("second", PROXY), configuration("first", IMAGE, "a.b.c")
    )
    made = session.request("POST", f"{PODS}?includeUninitialized=1", pod("web"), settle=False)
    pending = made.json()["metadata"]["initializers"]["pending"]
    assert [one["name"] for one in pending] == [IMAGE, "a.b.c", PROXY]


def test_a_configuration_says_fully_qualified_names_and_rules_without_subresources() -> None:
    session = switched_on()
    wrong = configuration("x", "short", resources=["pods/log"], apiGroups=[])
    answer = session.request("POST", CONFIGURATIONS, wrong)
    assert answer.status == 422
    assert [cause["field"] for cause in answer.json()["details"]["causes"]] == [
        "initializers[0].name",
        "initializers[0].rules[0].apiGroups",
        "initializers[0].rules[0].resources",
    ]


@pytest.mark.parametrize("version", ["1.8", "1.13"])
def test_the_first_and_the_last_release_have_them(version: str) -> None:
    session = configured(switched_on(version))
    waiting = create(session, PODS, pod("web"))
    assert names(session, PODS) == []
    assert acts(session, IMAGE).status == 200
    session.settle()
    assert waiting.status == 201
    assert names(session, PODS) == ["web"]


def test_1_14_knows_neither_plugin_nor_gate_nor_kind() -> None:
    for argument in ("enable-admission-plugins=Initializers", "feature-gates=Initializers=true"):
        with pytest.raises(ValueError, match="Initializers"):
            first = flags.parse([argument], lambda name: "", Release(14))
            Session(default_inputs(nodes=0, version="1.14", flags=first))
    with pytest.raises(flags.FlagError, match="v1alpha1"):
        flags.parse([SERVED], lambda name: "", Release(14))


# -- IN-01, IN-02, IN-07: what is hidden, from whom, and until when -------------------------------


def test_an_uninitialized_deployment_is_in_etcd_and_in_no_list() -> None:
    rule = {"apiGroups": ["apps"], "resources": ["deployments"]}
    session = configured(switched_on(nodes=1), configuration("d", "deploy.example.com", **rule))
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod("x")["spec"]}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"}}
    waiting = create(session, DEPLOYMENTS, {**body, "spec": spec})
    for _ in range(50):  # long enough for each controller
        session.request("GET", "/version", settle=False)
    key = "/registry/deployments/default/web"
    assert session.cluster.store.get(key) is not None
    assert names(session, DEPLOYMENTS) == [] and names(session, DEPLOYMENTS + ALL) == ["web"]
    assert names(session, "/apis/apps/v1/replicasets") == []
    assert waiting.text == b""
    assert acts(session, "deploy.example.com", f"{DEPLOYMENTS}/web").status == 200
    session.settle()
    assert waiting.status == 201
    assert "initializers" not in waiting.json()["metadata"]
    assert len(names(session, "/apis/apps/v1/replicasets")) == 1


def test_a_type_without_initializers_is_visible_at_once() -> None:
    session = configured(switched_on())
    assert session.request("POST", CONFIGMAPS, configmap("c")).status == 201
    assert "c" in names(session, CONFIGMAPS)
    assert ("allow", "no initializer for configmaps, skipped") in said(session)


def test_the_same_list_with_and_without_the_parameter_differs() -> None:
    session = configured(switched_on())
    session.request("POST", f"{PODS}?includeUninitialized=1", pod("web"), settle=False)
    for query, seen in (("", []), (ALL, ["web"]), ("?includeUninitialized=false", [])):
        assert names(session, PODS + query) == seen, query
    # who names it, sees it: upstream's store filters lists and watches only
    assert at_once(session, "GET", f"{PODS}/web")["metadata"]["name"] == "web"
    by_name = "fieldSelector=metadata.name=web"
    assert names(session, f"{PODS}?{by_name}") == []
    assert names(session, f"{PODS}{ALL}&{by_name}") == ["web"]


def test_watches_are_told_of_it_as_new_once_it_is_initialized() -> None:
    session = configured(switched_on(), configuration("two", IMAGE, PROXY))
    plain = session.request("GET", f"{PODS}?watch=1", settle=False)
    every = session.request("GET", f"{PODS}{ALL}&watch=1", settle=False)
    session.request("POST", f"{PODS}?includeUninitialized=1", pod("web"), settle=False)
    acts(session, IMAGE)
    assert told(plain) == []
    acts(session, PROXY)
    session.request("DELETE", f"{PODS}/web", settle=False)
    session.settle()
    heard, all_ = [[kind for kind, _ in told(watch)] for watch in (plain, every)]
    assert (heard[0], heard[-1], heard.count("ADDED")) == ("ADDED", "DELETED", 1)
    assert all_[:3] == ["ADDED", "MODIFIED", "MODIFIED"] and len(all_) == len(heard) + 2
    assert "initializers" not in events(plain)[0][1]["metadata"]


def test_an_uninitialized_pod_is_not_scheduled_and_runs_afterwards() -> None:
    session = configured(switched_on(nodes=1))
    session.request("POST", f"{PODS}?includeUninitialized=1", pod("web"))
    session.wait(60)
    assert "nodeName" not in at_once(session, "GET", f"{PODS}/web")["spec"]
    acts(session, IMAGE)
    session.wait(60)
    assert at_once(session, "GET", f"{PODS}/web")["status"]["phase"] == "Running"


def test_what_waits_is_still_hidden_when_the_server_starts_again() -> None:
    session = configured(switched_on())
    session.request("POST", f"{PODS}?includeUninitialized=1", pod("web"))
    session.restart()
    assert names(session, PODS) == [] and names(session, PODS + ALL) == ["web"]
    assert session.cluster.cache.get("pods", "default", "web") is None


# -- the create waits -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("version", "words"), [("1.10", "allowed duration"), ("1.13", "requested timeout 30s")]
)
def test_a_create_gives_up_after_half_a_minute_and_the_object_stays(
    version: str, words: str
) -> None:
    session = configured(switched_on(version))
    answer = session.request("POST", PODS, pod("web"))
    session.wait(29)
    assert answer.text == b""  # no clock leaps to the end, since somebody may act before
    session.wait(2)
    assert answer.status == 504
    assert answer.json()["message"] == f"Timeout: request did not complete within {words}"
    assert names(session, PODS + ALL) == ["web"]


def test_a_create_ends_when_its_object_is_deleted() -> None:
    session = configured(switched_on())
    waiting = create(session, PODS, pod("web"))
    assert at_once(session, "DELETE", f"{PODS}/web")["kind"] == "Pod"
    session.settle()
    assert (waiting.status, waiting.json()["message"]) == (
        500,
        "Internal error occurred: object deleted while waiting for creation",
    )
    assert names(session, PODS + ALL) == []


def test_a_result_refuses_the_object_which_watches_see_before_it_goes() -> None:
    session = configured(switched_on())
    every = session.request("GET", f"{PODS}{ALL}&watch=1", settle=False)
    waiting = create(session, PODS, pod("web"))
    why = {"status": "Failure", "code": 422, "reason": "Invalid", "message": "not this image"}
    left = {"metadata": {"initializers": {"result": why}}}
    answer = session.request("PATCH", f"{PODS}/web", left, headers=MERGE, settle=False)
    assert answer.status == 200
    session.settle()
    assert (waiting.status, waiting.json()["reason"]) == (422, "Invalid")
    assert waiting.json()["message"] == "not this image"
    assert [kind for kind, _ in told(every)] == ["ADDED", "MODIFIED", "DELETED"]
    assert events(every)[1][1]["metadata"]["initializers"]["result"]["code"] == 422
    assert names(session, PODS + ALL) == []


def test_a_replica_set_makes_no_other_pod_while_the_first_waits() -> None:
    session = configured(switched_on(nodes=1))
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod("x")["spec"]}
    spec = {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}, "template": template}
    body = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "web"}}
    path = "/apis/apps/v1/namespaces/default/replicasets"
    assert session.request("POST", path, {**body, "spec": spec}, settle=False).status == 201
    session.wait(120)
    (name,) = names(session, PODS + ALL)
    acts(session, IMAGE, f"{PODS}/{name}")
    session.wait(60)
    assert names(session, PODS + ALL) == [name]
    assert at_once(session, "GET", f"{path}/web")["status"]["readyReplicas"] == 1


def test_a_delete_of_many_takes_the_hidden_ones_too() -> None:
    session = configured(switched_on())
    session.request("POST", f"{PODS}?includeUninitialized=1", pod("web"), settle=False)
    assert session.request("DELETE", PODS).status == 200
    assert names(session, PODS + ALL) == []


# -- IN-05, IN-06: who acts, and when -------------------------------------------------------------


def test_the_list_shrinks_from_the_front_and_the_trace_says_who_acted() -> None:
    session = configured(switched_on(), configuration("two", IMAGE, PROXY))
    session.request("POST", f"{PODS}?includeUninitialized=1", pod("web"), settle=False)
    first_only = [
        {"op": "test", "path": "/metadata/initializers/pending/0/name", "value": PROXY},
        {"op": "remove", "path": "/metadata/initializers/pending/0"},
    ]
    body = orjson.dumps(first_only)
    early = session.request("PATCH", f"{PODS}/web", body, headers=JSON_PATCH, settle=False)
    assert early.status != 200  # as every initializer does it: it looks whether it is the first
    assert acts(session, IMAGE).json()["metadata"]["initializers"] == {"pending": [{"name": PROXY}]}
    late = session.request("PATCH", f"{PODS}/web", body, headers=JSON_PATCH, settle=False)
    assert late.status == 200 and "initializers" not in late.json()["metadata"]
    assert names(session, PODS) == ["web"]
    assert said(session)[-2:] == [
        ("allow", f"{IMAGE} acted, {PROXY} to come"),
        ("change", f"{PROXY} acted: initialized, visible now"),
    ]
    _, hidden, last = etcd(session)[:3]
    assert hidden["hidden"] == [PROXY] and last["initialized"] is True


def test_whose_turn_it_is_initializers_look_at_themselves_as_upstream() -> None:
    session = configured(switched_on(), configuration("two", IMAGE, PROXY))
    session.request("POST", f"{PODS}?includeUninitialized=1", pod("web"), settle=False)
    answer = acts(session, PROXY)
    assert answer.status == 200
    assert answer.json()["metadata"]["initializers"] == {"pending": [{"name": IMAGE}]}


def test_nobody_joins_the_list_of_an_object_that_is_initialized() -> None:
    session = switched_on()
    assert session.request("POST", PODS, pod("web")).status == 201
    body = {"metadata": {"initializers": {"pending": [{"name": PROXY}]}}}
    answer = session.request("PATCH", f"{PODS}/web", body, headers=MERGE)
    assert answer.status == 422
    assert answer.json()["message"] == (
        'Pod "web" is invalid: metadata.initializers: Invalid value: "null": '
        "field is immutable once initialization has completed"
    )
    empty: dict[str, Any] = {"metadata": {"initializers": {"pending": []}}}
    answer = session.request("PATCH", f"{PODS}/web", empty, headers=MERGE)
    assert answer.status == 200 and "initializers" not in answer.json()["metadata"]


def test_a_pod_that_waits_may_change_in_what_nobody_changes_later() -> None:
    session = configured(switched_on())
    session.request("POST", f"{PODS}?includeUninitialized=1", pod("web"), settle=False)
    proxy = {"name": "proxy", "image": "envoyproxy/envoy"}
    made = acts(session, IMAGE, spec={"containers": [proxy]}).json()
    assert sorted(container["name"] for container in made["spec"]["containers"]) == [
        "main",
        "proxy",
    ]
    body = {"spec": {"containers": [{"name": "late", "image": "nginx"}]}}
    later = session.request("PATCH", f"{PODS}/web", body, headers=STRATEGIC)
    assert later.status == 422


def test_who_may_not_initialize_brings_no_list_and_changes_nothing_that_waits() -> None:
    session = configured(switched_on())
    rule = {"apiGroups": [""], "resources": ["pods"], "verbs": ["create", "get", "patch"]}
    rbac, meta = "/apis/rbac.authorization.k8s.io/v1", {"name": "pods", "namespace": "default"}
    roles = f"{rbac}/namespaces/default"
    role = {"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role", "metadata": meta}
    binding = {
        **role,
        "kind": "RoleBinding",
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "pods"},
        "subjects": [{"kind": "User", "name": "nobody"}],
    }
    assert session.request("POST", f"{roles}/roles", {**role, "rules": [rule]}).status == 201
    assert session.request("POST", f"{roles}/rolebindings", binding).status == 201

    own = pod("own")
    own["metadata"]["initializers"] = {"pending": []}
    answer = session.request("POST", PODS, own, user="nobody")
    assert answer.status == 403
    assert "pods is forbidden: create with initializers denied: " in answer.json()["message"]
    session.request("POST", f"{PODS}?includeUninitialized=1", pod("web"), settle=False)
    body = {"metadata": {"labels": {"a": "b"}}}
    answer = session.request("PATCH", f"{PODS}/web", body, headers=MERGE, user="nobody")
    assert answer.status == 403
    assert (
        'pods "web" is forbidden: update to uninitialized resource denied: '
        in (answer.json()["message"])
    )

    answer = session.request("POST", PODS, own)
    assert answer.status == 201 and "initializers" not in answer.json()["metadata"]
    assert ("change", "the client asked to wait for none") in said(session)


# -- where they are off ---------------------------------------------------------------------------


def test_the_gate_alone_lets_clients_say_whom_to_wait_for() -> None:
    first = _first("1.10", 0, ("feature-gates=Initializers=true",))
    session = Session(first.inputs, copied(first.backend))
    own = pod("own")
    own["metadata"]["initializers"] = {"pending": [{"name": IMAGE}]}
    assert session.request("POST", f"{PODS}?includeUninitialized=1", own).status == 202
    assert names(session, PODS) == [] and names(session, PODS + ALL) == ["own"]


def test_without_gate_and_plugin_the_list_is_dropped_and_nothing_is_hidden() -> None:
    first = _first("1.10", 0, (SERVED,))
    session = configured(Session(first.inputs, copied(first.backend)))
    own = pod("own")
    own["metadata"]["initializers"] = {"pending": [{"name": IMAGE}]}
    made = session.request("POST", PODS, own)
    assert made.status == 201 and "initializers" not in made.json()["metadata"]
    assert names(session, PODS) == ["own"]


def test_without_the_kind_nothing_waits() -> None:
    """The plugin fails open, as upstream, when nobody serves its configurations."""
    first = _first("1.10", 0, ("enable-admission-plugins=Initializers",))
    session = Session(first.inputs, copied(first.backend))
    assert session.request("POST", PODS, pod("web")).status == 201


def test_the_published_schema_of_metadata_has_the_list_in_those_releases_only() -> None:
    for version, has in (("1.10", True), ("1.14", False)):
        session = Session(default_inputs(nodes=0, version=version))
        definitions = session.request("GET", "/openapi/v2").json()["definitions"]
        metadata = definitions["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"]["properties"]
        assert ("initializers" in metadata) is has
