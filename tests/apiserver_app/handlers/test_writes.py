"""Create, update, patch and apply: conflicts, retries, what may not change, dry runs."""

from __future__ import annotations

from typing import Any

import pytest

from apiserver_app.machinery import errors
from lifecycle.hosting.scripted import Answer, Session
from tests.apiserver_app.cluster import (
    APPLY,
    CONFIGMAPS,
    DEPLOYMENTS,
    JSON_PATCH,
    MERGE,
    PODS,
    STRATEGIC,
    configmap,
    last_gates,
    pod,
    server_session,
)
from tests.sim.test_story import deployment

MODIFIED = (
    'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply '
    "your changes to the latest version and try again"
)
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"


@pytest.fixture
def session() -> Session:
    session = server_session()
    session.request("POST", CONFIGMAPS, configmap("a", k="v"))
    return session


def get(session: Session, name: str = "a") -> dict[str, Any]:
    found: dict[str, Any] = session.request("GET", f"{CONFIGMAPS}/{name}").json()
    return found


def test_an_update_of_a_stale_object_is_a_conflict(session: Session) -> None:
    stale = get(session)
    session.request("PUT", f"{CONFIGMAPS}/a", configmap("a", k="w"))
    answer = session.request("PUT", f"{CONFIGMAPS}/a", {**stale, "data": {"k": "x"}})
    assert (answer.status, answer.json()["message"]) == (409, MODIFIED)
    assert get(session)["data"] == {"k": "w"}


def test_an_update_without_a_revision_is_unconditional(session: Session) -> None:
    session.request("PUT", f"{CONFIGMAPS}/a", configmap("a", k="w"))
    answer = session.request("PUT", f"{CONFIGMAPS}/a", configmap("a", k="x"))
    assert (answer.status, answer.json()["data"]) == (200, {"k": "x"})


def test_a_kind_that_needs_a_revision_says_so() -> None:
    session = server_session()
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "l"},
        "spec": {"holderIdentity": "me"},
    }
    session.request("POST", LEASES, lease)
    answer = session.request("PUT", f"{LEASES}/l", lease)
    assert (answer.status, answer.json()["message"]) == (
        422,
        'leases.coordination.k8s.io "l" is invalid: metadata.resourceVersion: '
        "Invalid value: 0x0: must be specified for an update",
    )


def test_an_update_that_changes_nothing_writes_nothing(session: Session) -> None:
    revision = session.cluster.store.revision
    before = get(session)
    answer = session.request("PUT", f"{CONFIGMAPS}/a", before)
    assert (answer.status, answer.json()) == (200, before)
    assert session.cluster.store.revision == revision
    assert last_gates(session)[-1] == ("etcd", "skip")


@pytest.mark.parametrize(
    ("metadata", "code", "message"),
    [
        ({"name": "b"}, 400,
         "the name of the object (b) does not match the name on the URL (a)"),
        ({}, 400, "the name of the object (a based on URL) was undeterminable: "
         "name must be provided"),
        ({"name": "a", "namespace": "other"}, 400,
         "the namespace of the provided object does not match the namespace sent on the request"),
        ({"name": "a", "uid": "other"}, 409,
         "AdditionalErrorMsg: Precondition failed: UID in precondition: other, UID in object meta"),
    ],
)  # fmt: skip
def test_an_update_of_something_else_is_refused(
    session: Session, metadata: dict[str, str], code: int, message: str
) -> None:
    answer = session.request("PUT", f"{CONFIGMAPS}/a", {**configmap("a"), "metadata": metadata})
    assert answer.status == code and message in answer.json()["message"]


@pytest.mark.parametrize(
    ("headers", "patch"),
    [
        (MERGE, {"data": {"k": None, "l": "w"}}),
        (STRATEGIC, {"data": {"k": None, "l": "w"}}),
        (
            JSON_PATCH,
            [{"op": "remove", "path": "/data/k"}, {"op": "add", "path": "/data/l", "value": "w"}],
        ),
    ],
)
def test_each_kind_of_patch_changes_what_it_names(
    session: Session, headers: dict[str, str], patch: Any
) -> None:
    answer = session.request("PATCH", f"{CONFIGMAPS}/a", patch, headers=headers)
    assert (answer.status, answer.json()["data"]) == (200, {"l": "w"})


@pytest.mark.parametrize(
    ("headers", "patch"),
    [
        (MERGE, {"metadata": {"resourceVersion": "1"}, "data": {"k": "w"}}),
        (STRATEGIC, {"metadata": {"resourceVersion": "1"}, "data": {"k": "w"}}),
        (
            JSON_PATCH,
            [
                {"op": "replace", "path": "/metadata/resourceVersion", "value": "1"},
                {"op": "replace", "path": "/data/k", "value": "w"},
            ],
        ),
    ],
)
def test_a_patch_that_names_another_revision_is_a_conflict(
    session: Session, headers: dict[str, str], patch: Any
) -> None:
    answer = session.request("PATCH", f"{CONFIGMAPS}/a", patch, headers=headers)
    assert (answer.status, answer.json()["message"]) == (409, MODIFIED)
    assert get(session)["data"] == {"k": "v"}


def test_a_json_patch_whose_test_fails_is_refused_and_told(session: Session) -> None:
    patch = [{"op": "test", "path": "/data/k", "value": "other"}]
    answer = session.request("PATCH", f"{CONFIGMAPS}/a", patch, headers=JSON_PATCH)
    assert answer.status == 422
    assert last_gates(session)[-1] == ("decode", "deny")


class Faster:
    """Somebody who writes the same object, between another's read and write, so many times."""

    def __init__(self, session: Session, times: int) -> None:
        self.storage = session.cluster.context.storage
        self.info = session.cluster.resources.by_key["configmaps"]
        self.update = self.storage.update
        self.left = times

    def __call__(self, info: Any, obj: Any, old: Any, **more: Any) -> Any:
        if self.left:
            self.left -= 1
            now = self.storage.find(self.info, "default", "a")
            assert now is not None
            self.update(info, {**now, "data": {**now["data"], "by": str(self.left)}}, now)
        return self.update(info, obj, old, **more)


@pytest.mark.parametrize("method", ["PATCH", "PUT"])
def test_who_was_too_slow_tries_again_on_the_newer_object(
    session: Session, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    monkeypatch.setattr(session.cluster.context.storage, "update", Faster(session, 2))
    body = {"data": {"k": "w"}} if method == "PATCH" else configmap("a", k="w")
    answer = session.request(
        method, f"{CONFIGMAPS}/a", body, headers=MERGE if method == "PATCH" else None
    )
    assert answer.status == 200
    expected = {"k": "w", "by": "0"} if method == "PATCH" else {"k": "w"}
    assert answer.json()["data"] == expected


def test_after_five_times_too_slow_it_is_a_conflict(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session.cluster.context.storage, "update", Faster(session, 99))
    answer = session.request("PATCH", f"{CONFIGMAPS}/a", {"data": {"k": "w"}}, headers=MERGE)
    assert (answer.status, answer.json()["message"]) == (409, MODIFIED)


def test_who_names_a_revision_is_not_tried_again(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    faster = Faster(session, 99)
    before = get(session)
    monkeypatch.setattr(session.cluster.context.storage, "update", faster)
    assert session.request("PUT", f"{CONFIGMAPS}/a", {**before, "data": {}}).status == 409
    assert faster.left == 98


def applied(session: Session, body: Any, query: str = "", **more: Any) -> Answer:
    name = body["metadata"]["name"]
    path = f"{CONFIGMAPS}/{name}?fieldManager=me{query}"
    return session.request("PATCH", path, body, headers=APPLY, **more)


def test_an_apply_creates_what_is_not_there_and_changes_what_is(session: Session) -> None:
    made = applied(session, configmap("b", k="v"))
    assert made.status == 201
    changed = applied(session, configmap("b", k="w"))
    assert (changed.status, changed.json()["data"]) == (200, {"k": "w"})
    entries = changed.json()["metadata"]["managedFields"]
    assert [(entry["manager"], entry["operation"]) for entry in entries] == [("me", "Apply")]


def test_an_apply_drops_what_it_no_longer_names(session: Session) -> None:
    applied(session, configmap("b", k="v", l="w"))
    assert applied(session, configmap("b", l="w")).json()["data"] == {"l": "w"}


def test_an_apply_of_a_field_of_somebody_else_is_a_conflict_unless_forced(session: Session) -> None:
    refused = applied(session, configmap("a", k="mine"))
    assert refused.status == 409
    assert refused.json()["details"]["causes"] == [
        {
            "reason": "FieldManagerConflict",
            "message": 'conflict with "script" using v1',
            "field": ".data.k",
        }
    ]
    assert applied(session, configmap("a", k="mine"), "&force=true").json()["data"] == {"k": "mine"}


def test_an_apply_that_would_create_another_name_than_its_path_says_is_refused(
    session: Session,
) -> None:
    path = f"{CONFIGMAPS}/b?fieldManager=me"
    answer = session.request("PATCH", path, configmap("c"), headers=APPLY)
    assert (answer.status, answer.json()["message"]) == (
        400,
        "the name of the object (c) does not match the name on the URL (b)",
    )


def test_an_apply_that_means_an_object_that_is_gone_is_a_conflict(session: Session) -> None:
    body = configmap("b")
    body["metadata"]["uid"] = "gone"
    answer = applied(session, body)
    assert answer.status == 409 and "uid mismatch" in answer.json()["message"]


def may_patch_only(session: Session) -> None:
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
        "metadata": {"name": "patcher"},
        "rules": [{"apiGroups": ["", "coordination.k8s.io"], "verbs": ["patch", "update"],
                   "resources": ["configmaps", "leases"]}],
    }  # fmt: skip
    bound = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "patcher"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "patcher"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": "pat"}],
    }
    root = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    assert session.request("POST", f"{root}/roles", role).status == 201
    assert session.request("POST", f"{root}/rolebindings", bound).status == 201


def test_who_may_patch_but_not_create_cannot_create_by_an_apply(session: Session) -> None:
    may_patch_only(session)
    assert applied(session, configmap("a", l="w"), user="pat").status == 200
    answer = applied(session, configmap("b"), user="pat")
    assert answer.status == 403
    assert 'User "pat" cannot create resource "configmaps"' in answer.json()["message"]
    assert session.request("GET", f"{CONFIGMAPS}/b").status == 404


def test_an_update_creates_a_lease_for_whoever_may_create_it(session: Session) -> None:
    may_patch_only(session)
    lease = {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": "l"},
        "spec": {"holderIdentity": "me"},
    }
    assert session.request("PUT", f"{LEASES}/l", lease, user="pat").status == 403
    made = session.request("PUT", f"{LEASES}/l", lease)
    assert made.status == 201
    assert [entry["operation"] for entry in made.json()["metadata"]["managedFields"]] == ["Update"]


def test_the_main_resource_keeps_its_status_and_the_status_its_spec() -> None:
    session = server_session()
    session.request("POST", DEPLOYMENTS, deployment(replicas=0))
    session.cluster.role("controllers", "stop")
    path = f"{DEPLOYMENTS}/nginx"
    found = session.request("GET", path).json()
    both = {"spec": {"replicas": 9}, "status": {"replicas": 7}}
    main = session.request("PATCH", path, both, headers=MERGE).json()
    assert (main["spec"]["replicas"], main["status"]) == (9, found["status"])
    assert main["metadata"]["generation"] == found["metadata"]["generation"] + 1
    status = {"spec": {"replicas": 5}, "status": {"replicas": 7}}
    told = session.request("PATCH", f"{path}/status", status, headers=MERGE).json()
    assert (told["spec"]["replicas"], told["status"]["replicas"]) == (9, 7)
    assert told["metadata"]["generation"] == main["metadata"]["generation"]


def test_a_generated_name_is_free_of_what_is_there() -> None:
    session = server_session()
    rand = session.cluster.rand
    suffixes = iter(["taken", "taken", "fresh"])
    body = {**configmap(""), "metadata": {"generateName": "web-"}}
    session.request("POST", CONFIGMAPS, configmap("web-taken"))

    class Fixed:
        state = rand.state
        suffix = staticmethod(lambda length=5: next(suffixes))
        uuid = rand.uuid

    session.cluster.context.rand = Fixed()  # type: ignore[assignment]
    answer = session.request("POST", CONFIGMAPS, body)
    session.cluster.context.rand = rand
    assert (answer.status, answer.json()["metadata"]["name"]) == (201, "web-fresh")


def test_a_create_that_names_a_revision_is_refused_in_upstreams_words(session: Session) -> None:
    answer = session.request(
        "POST", CONFIGMAPS, {**configmap("b"), "metadata": {"name": "b", "resourceVersion": "7"}}
    )
    assert (answer.status, answer.json()["message"]) == (
        500,
        "resourceVersion should not be set on objects to be created",
    )


def test_a_create_with_a_revision_that_is_no_number_is_taken(session: Session) -> None:
    answer = session.request(
        "POST",
        CONFIGMAPS,
        {**configmap("unnumbered"), "metadata": {"name": "unnumbered", "resourceVersion": "v1"}},
    )
    assert answer.status == 201
    assert answer.json()["metadata"]["resourceVersion"].isdigit()


def test_what_only_the_server_knows_cannot_be_given(session: Session) -> None:
    metadata = {
        "name": "b",
        "uid": "mine",
        "creationTimestamp": "2000-01-01T00:00:00Z",
        "deletionTimestamp": "2000-01-01T00:00:00Z",
        "deletionGracePeriodSeconds": 3,
        "selfLink": "/x",
    }
    made = session.request("POST", CONFIGMAPS, {**configmap("b"), "metadata": metadata}).json()
    kept = made["metadata"]
    assert kept["uid"] != "mine" and kept["creationTimestamp"].startswith("2025")
    assert not {"deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"} & set(kept)


def test_managed_fields_are_left_out_when_there_are_none(session: Session) -> None:
    empty = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "b"}}
    made = session.request("POST", CONFIGMAPS, empty).json()
    assert "managedFields" not in made["metadata"]


@pytest.mark.parametrize(
    ("method", "path", "body", "headers"),
    [
        ("POST", CONFIGMAPS, configmap("b"), None),
        ("PUT", f"{CONFIGMAPS}/a", configmap("a", k="w"), None),
        ("PATCH", f"{CONFIGMAPS}/a", {"data": {"k": "w"}}, MERGE),
        ("PATCH", f"{CONFIGMAPS}/b", configmap("b"), APPLY),
        ("DELETE", f"{CONFIGMAPS}/a", None, None),
        ("DELETE", CONFIGMAPS, None, None),
        ("POST", PODS, pod("p"), None),
    ],
)
def test_a_dry_run_answers_the_same_and_writes_nothing(
    session: Session, method: str, path: str, body: Any, headers: dict[str, str] | None
) -> None:
    cluster = session.cluster
    revision = cluster.store.revision
    before = session.request("GET", "/api/v1/configmaps").json()["items"]
    seen = list(cluster.cache.list("configmaps")), list(cluster.cache.list("pods"))
    answer = session.request(method, f"{path}?dryRun=All&fieldManager=me", body, headers=headers)
    assert answer.status in (200, 201)
    if method == "POST":
        assert "resourceVersion" not in answer.json()["metadata"]
    assert cluster.store.revision == revision
    assert (list(cluster.cache.list("configmaps")), list(cluster.cache.list("pods"))) == seen
    assert session.request("GET", "/api/v1/configmaps").json()["items"] == before
    assert last_gates(session)  # it passed the gates all the same


def test_a_component_cannot_change_what_it_was_given(session: Session) -> None:
    """Objects are shared: the handlers never write into a body or into what is stored."""
    cluster = session.cluster
    body = configmap("mine", k="v")
    kept: list[Any] = []

    async def component() -> None:
        client = cluster.clients.client("admin", "test", ("system:masters",))
        kept.append(await client.create("configmaps", "default", body))
        stored = await client.get("configmaps", "default", "mine")
        before = dict(stored["metadata"])
        await client.update("configmaps", "default", "mine", {**stored, "data": {"k": "w"}})
        kept.append(stored["metadata"] == before and stored["data"] == {"k": "v"})
        try:
            await client.update("configmaps", "default", "mine", stored)
        except errors.ApiError as error:
            kept.append(error.reason)

    cluster.kernel.spawn("component", component())
    session.settle()
    assert body == configmap("mine", k="v")
    assert kept[1:] == [True, "Conflict"]
