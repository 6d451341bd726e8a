"""Webhooks on the real pipeline: who is asked what, what an answer does, what a failure does."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery.meta import Object
from tests.apiserver_app.admission.hooks import GROUP, RULE, Lab, label, patch
from tests.apiserver_app.cluster import CONFIGMAPS, MERGE, configmap, header, pod

ALLOW = {"allowed": True}
DENY = {"allowed": False}


@pytest.fixture
def lab() -> Lab:
    return Lab()


def send(lab: Lab, name: str = "one", query: str = "", **more: Any) -> tuple[int, Object]:
    labels = more.pop("labels", {"app": name})
    answer = lab.create(CONFIGMAPS + query, configmap(name, labels=labels), **more)
    return answer.status, answer.json()


def refused(lab: Lab, name: str = "one", query: str = "") -> str:
    code, status = send(lab, name, query)
    assert code >= 400, status
    return str(status["message"])


# -- what they may do -----------------------------------------------------------------------------


def test_a_mutating_webhooks_patch_makes_the_object_and_is_recorded(lab: Lab) -> None:
    lab.serve("mark", lambda request: patch(label("marked", "yes")))
    lab.configure("mutating", "mark", lab.hook("mark"))
    _, stored = send(lab)
    assert stored["metadata"]["labels"] == {"app": "one", "marked": "yes"}
    record = lab.plugins()[0]
    assert (record["plugin"], record["verdict"]) == ("MutatingAdmissionWebhook", "change")
    assert record["ops"] == [label("marked", "yes")]
    call = record["detail"]["calls"][0]
    assert call["webhook"] == "mark.example.com"
    assert call["to"] == "service hooks/mark:443/review"
    assert call["by"] == "pod hooks/mark"
    assert call["patch"] == [label("marked", "yes")]
    assert call["micros"] >= 3000
    assert call["request"]["request"]["object"]["metadata"]["name"] == "one"
    assert lab.paths == ["/review?timeout=10s"]


def test_mutating_webhooks_are_asked_in_the_order_of_names_and_see_each_other(lab: Lab) -> None:
    for name in ("first", "second", "third"):
        lab.serve(name, lambda request, name=name: patch(label(name, "1")))  # type: ignore[misc]
    lab.configure("mutating", "b", lab.hook("third"))
    lab.configure("mutating", "a", lab.hook("second"), lab.hook("first"))
    send(lab)
    seen = [
        (who, sorted(review["request"]["object"]["metadata"]["labels"]))
        for who, review in lab.asked
    ]
    assert seen == [
        ("second", ["app"]),
        ("first", ["app", "second"]),
        ("third", ["app", "first", "second"]),
    ]


def test_a_refusal_carries_the_webhooks_own_code_reason_and_words(lab: Lab) -> None:
    said: Object = {"code": 403, "reason": "Forbidden", "message": "not on Fridays"}
    lab.serve("check", lambda request: {**DENY, "status": said})
    lab.configure("validating", "check", lab.hook("check"))
    code, status = send(lab)
    assert (code, status["reason"]) == (403, "Forbidden")
    denied = 'admission webhook "check.example.com" denied the request'
    assert status["message"] == f"{denied}: not on Fridays"
    assert lab.plugins()[0]["detail"]["calls"][0]["verdict"] == "deny"
    said = {"reason": "Because"}
    assert refused(lab) == f"{denied}: Because"
    said = {}
    code, status = send(lab)
    assert (code, status["message"]) == (400, f"{denied} without explanation")
    assert lab.session.request("GET", f"{CONFIGMAPS}/one").status == 404


def test_validating_webhooks_are_asked_at_once_and_the_first_in_order_refuses(lab: Lab) -> None:
    kernel = lab.session.cluster.kernel
    lab.serve("slow", lambda request: {**DENY, "status": {"message": "slow"}}, seconds=4)
    lab.serve("quick", lambda request: {**DENY, "status": {"message": "quick"}}, seconds=1)
    lab.configure("validating", "a", lab.hook("slow"), lab.hook("quick"))
    began = kernel.now
    assert refused(lab).endswith("denied the request: slow")
    assert 4_000_000 <= kernel.now - began < 5_000_000
    assert [who for who, _ in lab.asked] == ["quick", "slow"]


def test_warnings_reach_the_client_and_annotations_are_kept(lab: Lab) -> None:
    more = {"warnings": ["mind the gap"], "auditAnnotations": {"key": "value"}}
    lab.serve("check", lambda request: {**ALLOW, **more})
    lab.configure("validating", "check", lab.hook("check"))
    answer = lab.create(CONFIGMAPS, configmap("one"))
    assert header(answer, "warning") == ['299 - "mind the gap"']
    record = lab.plugins()[0]
    assert (record["verdict"], record["why"]) == ("allow", "asked check.example.com")


# -- the question ---------------------------------------------------------------------------------


def test_the_review_of_a_create_says_who_wants_what(lab: Lab) -> None:
    lab.serve("see", lambda request: ALLOW)
    lab.configure("mutating", "see", lab.hook("see"))
    send(lab, query="?fieldManager=kubectl-create&fieldValidation=Strict")
    review = lab.asked[0][1]
    assert (review["kind"], review["apiVersion"]) == ("AdmissionReview", "admission.k8s.io/v1")
    request = review["request"]
    assert request.pop("object")["metadata"]["namespace"] == "default"
    assert len(request.pop("uid")) == 36
    kind = {"group": "", "version": "v1", "kind": "ConfigMap"}
    resource = {"group": "", "version": "v1", "resource": "configmaps"}
    assert request == {
        "kind": kind,
        "requestKind": kind,
        "resource": resource,
        "requestResource": resource,
        "name": "one",
        "namespace": "default",
        "operation": "CREATE",
        "userInfo": {
            "username": "kubernetes-admin",
            "groups": ["system:masters", "system:authenticated"],
            **({"extra": request["userInfo"]["extra"]} if "extra" in request["userInfo"] else {}),
        },
        "oldObject": None,
        "dryRun": False,
        "options": {
            "kind": "CreateOptions",
            "apiVersion": "meta.k8s.io/v1",
            "fieldManager": "kubectl-create",
            "fieldValidation": "Strict",
        },
    }


def test_updates_and_deletes_show_the_old_object(lab: Lab) -> None:
    lab.serve("see", lambda request: ALLOW)
    rule = {**RULE, "operations": ["UPDATE", "DELETE"]}
    lab.configure("validating", "see", lab.hook("see", rules=[rule]))
    send(lab)
    lab.session.request("PATCH", f"{CONFIGMAPS}/one", {"data": {"a": "b"}}, headers=MERGE)
    lab.session.request("DELETE", f"{CONFIGMAPS}/one")
    update, delete = (review["request"] for _, review in lab.asked)
    assert (update["operation"], update["object"]["data"]) == ("UPDATE", {"a": "b"})
    assert "data" not in update["oldObject"]
    assert update["options"]["kind"] == "UpdateOptions"
    assert (delete["operation"], delete["object"]) == ("DELETE", None)
    assert delete["oldObject"]["metadata"]["name"] == "one"
    assert delete["options"]["kind"] == "DeleteOptions"


def test_a_webhook_of_the_old_review_is_asked_in_it(lab: Lab) -> None:
    lab.serve("old", lambda request: patch(label("old", "1"), patchType=None))
    lab.configure("mutating", "old", lab.hook("old", admissionReviewVersions=["v1beta1", "v1"]))
    _, stored = send(lab)
    assert stored["metadata"]["labels"]["old"] == "1"
    assert lab.asked[0][1]["apiVersion"] == "admission.k8s.io/v1beta1"


def test_equivalent_versions_are_asked_about_in_the_webhooks_own(lab: Lab) -> None:
    lab.serve(
        "see", lambda request: patch({"op": "replace", "path": "/spec/maxReplicas", "value": 7})
    )
    rule = {
        **RULE,
        "apiGroups": ["autoscaling"],
        "apiVersions": ["v1"],
        "resources": ["horizontalpodautoscalers"],
    }
    lab.configure("mutating", "see", lab.hook("see", rules=[rule]))
    lab.serve("exact", lambda request: DENY)
    lab.configure("validating", "exact", lab.hook("exact", rules=[rule], matchPolicy="Exact"))
    scaler = {
        "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "maxReplicas": 3,
            "metrics": [{"type": "Resource", "resource": {
                "name": "cpu", "target": {"type": "Utilization", "averageUtilization": 60}}}],
        },
    }  # fmt: skip
    answer = lab.create("/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers", scaler)
    assert answer.status == 201, answer.text
    request = lab.asked[0][1]["request"]
    assert request["kind"]["version"] == "v1"
    assert request["requestKind"]["version"] == "v2"
    assert request["object"]["apiVersion"] == "autoscaling/v1"
    assert request["object"]["spec"]["targetCPUUtilizationPercentage"] == 60
    assert answer.json()["apiVersion"] == "autoscaling/v2"
    assert answer.json()["spec"]["maxReplicas"] == 7


# -- who is asked ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "asked"),
    [
        ({"objectSelector": {"matchLabels": {"app": "one"}}}, True),
        ({"objectSelector": {"matchLabels": {"app": "two"}}}, False),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "default"}}}, True),
        ({"namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": "x"}}}, False),
        ({"rules": [{**RULE, "scope": "Namespaced"}]}, True),
        ({"rules": [{**RULE, "scope": "Cluster"}]}, False),
        ({"rules": [{**RULE, "operations": ["UPDATE"]}]}, False),
        ({"rules": [{**RULE, "resources": ["configmaps/*"]}]}, True),
        ({"rules": [{**RULE, "resources": ["configmaps/status"]}]}, False),
        ({"rules": [{**RULE, "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*"]}]}, True),
        ({"rules": [{**RULE, "apiGroups": ["apps"]}]}, False),
    ],
)
def test_selectors_and_rules_decide_who_is_asked(
    lab: Lab, fields: dict[str, Any], asked: bool
) -> None:
    lab.serve("check", lambda request: DENY)
    lab.configure("validating", "check", lab.hook("check", **fields))
    assert send(lab)[0] == (400 if asked else 201)


def test_the_labels_a_namespace_is_created_with_are_its_own_selectors(lab: Lab) -> None:
    lab.serve("check", lambda request: DENY)
    rule = {**RULE, "resources": ["namespaces"]}
    chosen = {"matchLabels": {"checked": "yes"}}
    lab.configure("validating", "check", lab.hook("check", rules=[rule], namespaceSelector=chosen))
    for name, labels, code in (("a", {"checked": "yes"}, 400), ("b", {}, 201)):
        made = {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": labels},
        }
        assert lab.create("/api/v1/namespaces", made).status == code
    assert lab.asked[0][1]["request"]["namespace"] == "a"


def test_webhook_configurations_themselves_are_never_held_up(lab: Lab) -> None:
    lab.serve("check", lambda request: DENY)
    rule = {"operations": ["*"], "apiGroups": ["*"], "apiVersions": ["*"], "resources": ["*/*"]}
    lab.configure("validating", "all", lab.hook("check", rules=[rule]))
    assert send(lab)[0] == 400
    gone = lab.session.request("DELETE", f"{GROUP}/validatingwebhookconfigurations/all")
    assert gone.status == 200
    assert send(lab)[0] == 201


@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("object.metadata.name == 'one'", 400),
        ("object.metadata.name != 'one'", 201),
        ("request.userInfo.username == 'kubernetes-admin'", 400),
        ("!('system:masters' in request.userInfo.groups)", 201),
        ("authorizer.group('').resource('pods').check('create').allowed()", 400),
        ("object.data.missing == 'x'", 403),
    ],
)
def test_match_conditions_decide_who_is_asked(lab: Lab, expression: str, code: int) -> None:
    lab.serve("check", lambda request: DENY)
    condition = {"name": "chosen", "expression": expression}
    lab.configure("validating", "check", lab.hook("check", matchConditions=[condition]))
    found, status = send(lab)
    assert found == code
    if code == 201:
        call = lab.plugins()[0]["detail"]["calls"][0]
        assert (call["verdict"], call["why"]) == ("skip", "matchCondition chosen")
    elif code == 403:
        assert status["message"].startswith(
            "configmaps \"one\" is forbidden: expression 'object.data.missing == 'x'' resulted in "
            "error: no such key: "
        )


def test_a_condition_without_a_value_leaves_out_a_webhook_that_may_fail(lab: Lab) -> None:
    lab.serve("check", lambda request: DENY)
    condition = {"name": "chosen", "expression": "object.data.missing == 'x'"}
    hook = lab.hook("check", matchConditions=[condition], failurePolicy="Ignore")
    lab.configure("mutating", "check", hook)
    assert send(lab)[0] == 201


# -- failures -------------------------------------------------------------------------------------

FAILED = 'Internal error occurred: failed calling webhook "check.example.com": '
POST = FAILED + 'failed to call webhook: Post "https://check.hooks.svc:443/review?timeout='


@pytest.mark.parametrize("kind", ["mutating", "validating"])
def test_a_dead_webhook_refuses_or_is_ignored_as_its_policy_says(lab: Lab, kind: str) -> None:
    lab.serve("check", lambda request: ALLOW)
    lab.configure(kind, "check", lab.hook("check"))
    lab.kill("check")
    code, status = send(lab)
    assert code == 500
    assert status["message"] == (
        POST + '10s": dial tcp 10.244.0.5:8443: connect: connection refused'
    )
    assert lab.plugins()[0]["detail"]["calls"][0]["verdict"] == "failed"
    change = [{"op": "replace", "path": "/webhooks/0/failurePolicy", "value": "Ignore"}]
    lab.session.request(
        "PATCH",
        f"{GROUP}/{kind}webhookconfigurations/check",
        change,
        headers={"content-type": "application/json-patch+json"},
    )
    assert send(lab)[0] == 201
    record = lab.plugins()[0]
    assert record["why"] == "failures ignored of check.example.com"
    assert record["detail"]["calls"][0]["verdict"] == "ignored"


def test_a_slow_webhook_is_given_up_after_its_timeout(lab: Lab) -> None:
    lab.serve("check", lambda request: ALLOW, seconds=3)
    lab.configure("validating", "check", lab.hook("check", timeoutSeconds=2))
    assert refused(lab) == POST + '2s": context deadline exceeded'


def test_a_wrong_authority_is_not_believed(lab: Lab) -> None:
    lab.serve("check", lambda request: ALLOW)
    hook = lab.hook("check")
    hook["clientConfig"]["caBundle"] = "b3RoZXI="
    lab.configure("validating", "check", hook)
    assert refused(lab) == (
        POST + '10s": tls: failed to verify certificate: x509: certificate signed by unknown '
        "authority"
    )


def test_a_service_that_is_not_there_is_named(lab: Lab) -> None:
    lab.configure("validating", "check", lab.hook("check"))
    assert refused(lab) == POST + '10s": service "check" not found'


def test_what_is_outside_fails_by_name_where_there_is_no_network(lab: Lab) -> None:
    hook = lab.hook("check", clientConfig={"url": "https://127.0.0.1:9443/check"})
    lab.configure("validating", "check", hook)
    assert refused(lab) == (
        FAILED + 'failed to call webhook: Post "https://127.0.0.1:9443/check?timeout=10s": dial '
        "tcp 127.0.0.1:9443: this run of the cluster is not connected to a network"
    )


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ({"uid": "x"}, "received invalid webhook response: expected response.uid="),
        (b"{}", "received invalid webhook response: webhook response was absent"),
        (b"oops", "failed to call webhook: couldn't get version/kind; json parse error: invalid "
         "character 'o' looking for beginning of value"),
        (500, 'failed to call webhook: an error on the server ("boom") has prevented the request '
         "from succeeding"),
        (404, "failed to call webhook: the server could not find the requested resource"),
        ({"allowed": "yes"}, "failed to call webhook: json: cannot unmarshal string into Go "
         "struct field AdmissionResponse.response.allowed of type bool"),
        ({**ALLOW, "patch": "W10="}, "received invalid webhook response: webhook returned "
         "response.patch but not response.patchType"),
        ({**ALLOW, "patchType": "JSONPatch"}, "received invalid webhook response: webhook "
         "returned response.patchType but not response.patch"),
        ({**ALLOW, "patchType": "Merge", "patch": "W10="}, 'unsupported patch type "Merge"'),
    ],
)  # fmt: skip
def test_an_answer_that_is_none_is_a_failed_call(lab: Lab, said: Any, why: str) -> None:
    lab.serve("check", lambda request: said)
    lab.configure("mutating", "check", lab.hook("check"))
    assert refused(lab).startswith(FAILED + why)


def test_a_validating_webhook_may_not_patch(lab: Lab) -> None:
    lab.serve("check", lambda request: patch(label("a", "b")))
    lab.configure("validating", "check", lab.hook("check"))
    assert refused(lab) == (
        FAILED + "received invalid webhook response: validating webhook may not return "
        "response.patch"
    )


def test_a_patch_that_does_not_fit_ends_the_request_whatever_the_policy(lab: Lab) -> None:
    wrong = {"op": "replace", "path": "/nowhere/at/all", "value": 1}
    lab.serve("check", lambda request: patch(wrong))
    lab.configure("mutating", "check", lab.hook("check", failurePolicy="Ignore"))
    code, status = send(lab)
    assert code == 500
    assert status["message"].startswith("Internal error occurred: ")
    assert "replace operation does not apply" in status["message"]


def test_a_patch_on_a_delete_is_refused(lab: Lab) -> None:
    lab.serve("check", lambda request: patch(label("a", "b")))
    rule = {**RULE, "operations": ["DELETE"]}
    lab.configure("mutating", "check", lab.hook("check", rules=[rule]))
    send(lab)
    answer = lab.session.request("DELETE", f"{CONFIGMAPS}/one")
    assert answer.json()["message"] == (
        'Internal error occurred: admission webhook "check.example.com" attempted to modify the '
        "object, which is not supported for this operation"
    )


# -- dry run and second rounds --------------------------------------------------------------------


def test_a_dry_run_asks_only_who_has_no_side_effects(lab: Lab) -> None:
    lab.serve("check", lambda request: ALLOW)
    lab.configure("mutating", "check", lab.hook("check", sideEffects="NoneOnDryRun"))
    assert send(lab, query="?dryRun=All")[0] == 201
    assert lab.asked[0][1]["request"]["dryRun"] is True
    # configurations of today cannot say so, old ones may: store one as it was
    cluster = lab.session.cluster
    info = cluster.resources.by_key["mutatingwebhookconfigurations.admissionregistration.k8s.io"]
    old, _ = cluster.context.storage.get(info, "", "check")
    changed = {**old, "webhooks": [{**old["webhooks"][0], "sideEffects": "Unknown"}]}
    cluster.context.storage.update(info, changed, old)
    code, status = send(lab, query="?dryRun=All")
    assert (code, status["message"]) == (
        400,
        'admission webhook "check.example.com" does not support dry run',
    )


def test_a_later_change_has_earlier_webhooks_called_again_if_they_ask_for_it(lab: Lab) -> None:
    lab.serve("again", lambda request: ALLOW)
    lab.serve("once", lambda request: ALLOW)
    lab.serve("change", lambda request: patch(label("changed", "1")))
    lab.configure(
        "mutating",
        "a",
        lab.hook("again", reinvocationPolicy="IfNeeded"),
        lab.hook("once"),
        lab.hook("change"),
    )
    send(lab)
    assert [who for who, _ in lab.asked] == ["again", "once", "change", "again"]
    calls = [call for record in lab.plugins() for call in record["detail"]["calls"]]
    assert [call.get("round", 0) for call in calls] == [0, 0, 0, 1]


def test_plugins_run_again_over_what_a_webhook_added(lab: Lab) -> None:
    sidecar = {
        "op": "add",
        "path": "/spec/containers/-",
        "value": {"name": "sidecar", "image": "busybox"},
    }
    lab.serve("inject", lambda request: patch(sidecar))
    rule = {**RULE, "resources": ["pods"]}
    chosen = {"matchLabels": {"app": "web"}}
    lab.configure("mutating", "inject", lab.hook("inject", rules=[rule], objectSelector=chosen))
    lab.create(
        "/api/v1/namespaces/default/serviceaccounts",
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}},
    )
    answer = lab.create("/api/v1/namespaces/default/pods", pod("web"))
    assert answer.status == 201, answer.text
    main, added = answer.json()["spec"]["containers"]
    assert added["imagePullPolicy"] == "Always"
    assert added["volumeMounts"] == main["volumeMounts"]
    assert len(answer.json()["spec"]["volumes"]) == 1


def test_equal_runs_ask_with_equal_bytes() -> None:
    runs = []
    for _ in range(2):
        lab = Lab()
        lab.serve("mark", lambda request: patch(label("marked", "yes")))
        lab.serve("check", lambda request: ALLOW)
        lab.serve("look", lambda request: ALLOW)
        lab.configure("mutating", "mark", lab.hook("mark"))
        lab.configure("validating", "both", lab.hook("check"), lab.hook("look"))
        send(lab)
        runs.append(lab.asked)
    assert runs[0] == runs[1]
