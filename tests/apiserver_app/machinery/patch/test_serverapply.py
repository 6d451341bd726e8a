"""Server-side apply: what becomes the applier's, what goes, who is in the way."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from apiserver_app.machinery import errors
from apiserver_app.machinery.patch import managedfields
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.types import fieldsets
from apiserver_app.machinery.types.scheme import Types

TYPES = Types(Release(33))
DEPLOYMENT = TYPES.schema("io.k8s.api.apps.v1.Deployment")


def config(*names: str, metadata: Any = None, **spec: Any) -> dict[str, Any]:
    """What a user applies."""
    body: dict[str, Any] = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "default", **(metadata or {})},
        "spec": dict(spec),
    }
    if names:
        containers = [{"name": name, "image": f"{name}:1"} for name in names]
        body["spec"]["template"] = {"spec": {"containers": containers}}
    return body


def applied(old: Any, body: Any, manager: str = "ann", force: bool = False, at: int = 1) -> Any:
    untouched = copy.deepcopy((old, body))
    made = managedfields.apply(
        old, body, manager=manager, force=force, now=f"2024-01-01T00:00:{at:02}Z", schema=DEPLOYMENT
    )
    assert (old, body) == untouched, "neither the object nor the patch may change"
    return made


def updated(old: Any, manager: str, **spec: Any) -> Any:
    new = {**old, "spec": {**old["spec"], **spec}}
    entries = managedfields.track(
        old,
        new,
        manager=manager,
        api_version="apps/v1",
        time="2024-01-01T00:00:05Z",
        schema=DEPLOYMENT,
    )
    return {**new, "metadata": {**new["metadata"], "managedFields": entries}}


def owned(obj: Any, manager: str) -> list[str]:
    for entry in obj["metadata"]["managedFields"]:
        if entry["manager"] == manager:
            return [fieldsets.path_text(path) for path in fieldsets.paths(entry["fieldsV1"])]
    return []


def names_of(obj: Any) -> list[str]:
    return [item["name"] for item in obj["spec"]["template"]["spec"]["containers"]]


def test_applier_owns_exactly_what_it_names() -> None:
    made = applied(None, config("a", replicas=2, metadata={"labels": {"app": "web"}}))
    assert made["metadata"]["managedFields"] == [
        {
            "manager": "ann",
            "operation": "Apply",
            "apiVersion": "apps/v1",
            "time": "2024-01-01T00:00:01Z",
            "fieldsType": "FieldsV1",
            "fieldsV1": {
                "f:metadata": {"f:labels": {"f:app": {}}},
                "f:spec": {
                    "f:replicas": {},
                    "f:template": {
                        "f:spec": {
                            "f:containers": {
                                'k:{"name":"a"}': {".": {}, "f:image": {}, "f:name": {}}
                            }
                        }
                    },
                },
            },
        }
    ]


def test_what_is_no_longer_applied_goes() -> None:
    one = applied(None, config("a", "b", replicas=2, paused=True))
    two = applied(one, config("a", replicas=2), at=2)
    assert names_of(two) == ["a"]
    assert "paused" not in two["spec"]
    assert two["spec"]["replicas"] == 2


def test_what_somebody_else_owns_too_stays() -> None:
    one = applied(None, config("a", replicas=2))
    two = applied(one, config(replicas=2), manager="bob", at=2)
    three = applied(two, config("a"), at=3)
    assert three["spec"]["replicas"] == 2
    assert owned(three, "bob") == [".spec.replicas"]
    assert ".spec.replicas" not in owned(three, "ann")


def test_one_conflict_is_worded_as_upstream_words_it() -> None:
    one = updated(applied(None, config("a")), "kubectl-client-side-apply", replicas=1)
    with pytest.raises(errors.ApiError) as caught:
        applied(one, config("a", replicas=3), at=6)
    error = caught.value
    assert (error.code, error.reason) == (409, "Conflict")
    assert error.message == (
        'Apply failed with 1 conflict: conflict with "kubectl-client-side-apply" using apps/v1: '
        ".spec.replicas"
    )
    assert error.status()["details"] == {
        "causes": [
            {
                "reason": "FieldManagerConflict",
                "message": 'conflict with "kubectl-client-side-apply" using apps/v1',
                "field": ".spec.replicas",
            }
        ]
    }


def test_conflicts_are_listed_by_manager() -> None:
    one = applied(None, config("a", replicas=1), manager="zoe")
    two = updated(one, "bob", paused=True, minReadySeconds=1)
    with pytest.raises(errors.ApiError) as caught:
        applied(two, config("a", replicas=3, paused=False, minReadySeconds=2), at=6)
    assert caught.value.message == (
        'Apply failed with 3 conflicts: conflicts with "bob" using apps/v1:\n'
        "- .spec.minReadySeconds\n"
        "- .spec.paused\n"
        'conflicts with "zoe":\n'
        "- .spec.replicas"
    )


def test_force_takes_the_field_over() -> None:
    one = updated(applied(None, config("a")), "bob", replicas=1)
    two = applied(one, config("a", replicas=3), force=True, at=6)
    assert two["spec"]["replicas"] == 3
    assert owned(two, "bob") == []
    assert ".spec.replicas" in owned(two, "ann")


def test_the_same_value_is_no_conflict_but_shared() -> None:
    one = updated(applied(None, config("a")), "bob", replicas=3)
    two = applied(one, config("a", replicas=3), at=6)
    assert owned(two, "bob") == [".spec.replicas"]
    assert ".spec.replicas" in owned(two, "ann")


def test_applying_the_same_again_changes_nothing() -> None:
    one = applied(None, config("a", replicas=2))
    assert applied(one, config("a", replicas=2), at=9) == one


def test_items_are_merged_in_the_appliers_order() -> None:
    one = updated(
        applied(None, config("a", "b")),
        "injector",
        template={
            "spec": {"containers": [{"name": "s"}, {"name": "a", "image": "a:1"}, {"name": "b"}]}
        },
    )
    two = applied(one, config("b", "c", "a"), force=True, at=6)
    assert names_of(two) == ["s", "b", "c", "a"]


def test_object_without_entries_belonged_to_somebody_before() -> None:
    old = config("a", replicas=1)
    with pytest.raises(errors.ApiError) as caught:
        applied(old, config(replicas=2))
    assert '"before-first-apply" using apps/v1: .spec.replicas' in caught.value.message
    forced = applied(old, config(replicas=2), force=True)
    assert ".spec.replicas" not in owned(forced, "before-first-apply")
    assert owned(forced, "before-first-apply")


def test_kubectl_takes_over_what_it_applied_from_the_client() -> None:
    last = json.dumps(config("a", replicas=1))
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": last}
    body = config("a", replicas=1, metadata={"annotations": annotations})
    entries = managedfields.track(
        None,
        body,
        manager="kubectl-client-side-apply",
        api_version="apps/v1",
        time="2024-01-01T00:00:00Z",
        schema=DEPLOYMENT,
    )
    live = {**body, "metadata": {**body["metadata"], "managedFields": entries}}
    with pytest.raises(errors.ApiError):
        applied(live, config("a", replicas=2))
    made = applied(live, config("a", replicas=2), manager="kubectl")
    assert made["spec"]["replicas"] == 2
    kept = made["metadata"]["annotations"]["kubectl.kubernetes.io/last-applied-configuration"]
    assert json.loads(kept) == config("a", replicas=2)
    assert kept.endswith("}\n")


def test_status_is_not_the_objects_to_apply() -> None:
    body = {**config(replicas=1), "status": {"replicas": 4}}
    made = applied(None, body)
    assert owned(made, "ann") == [".spec.replicas"]


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        (config(metadata={"managedFields": []}), 400, "metadata.managedFields must be nil"),
        ({**config(), "apiVersion": "apps/v2"}, 400,
         "invalid object type: apps/v2, Kind=Deployment"),
        (config(foo=1), 500, "failed to create typed patch object (default/web; apps/v1, "
         "Kind=Deployment): .spec.foo: field not declared in schema"),
        (config(replicas="3"), 500, "failed to create typed patch object (default/web; apps/v1, "
         "Kind=Deployment): .spec.replicas: expected numeric (int or float), got string"),
        (config("a", "a"), 500, "failed to create typed patch object (default/web; apps/v1, "
         'Kind=Deployment): .spec.template.spec.containers: duplicate entries for key [name="a"]'),
        (config(template={"spec": {"containers": [{"image": "x"}, {"image": "y"}]}}), 500,
         "failed to create typed patch object (default/web; apps/v1, Kind=Deployment): "
         '.spec.template.spec.containers: duplicate entries for key [name=""]'),
    ],
)  # fmt: skip
def test_what_cannot_be_applied_is_refused_in_upstreams_words(
    body: Any, code: int, message: str
) -> None:
    with pytest.raises(errors.ApiError) as caught:
        applied(applied(None, config("z")), body)
    assert (caught.value.code, caught.value.message) == (code, message)
