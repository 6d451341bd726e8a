"""Metadata: names, owners, finalizers, and what never changes."""

from __future__ import annotations

import pytest

from apiserver_app.machinery.meta import Object
from apiserver_app.registry.validation import objectmeta


def meta(**fields: object) -> Object:
    return {"metadata": {"name": "web", "namespace": "default", **fields}}


def create_errors(**fields: object) -> list[str]:
    found = objectmeta.validate_object_meta(meta(**fields), True, objectmeta.dns_subdomain)
    objectmeta.finalizer_words(fields, found)
    return [str(error) for error in found]


def update_errors(new: Object, old: Object) -> list[str]:
    return [str(error) for error in objectmeta.validate_object_meta_update(new, old)]


def owner(name: str, **fields: object) -> Object:
    return {"apiVersion": "apps/v1", "kind": "A", "name": name, "uid": "u", **fields}


def test_good_metadata_is_accepted() -> None:
    assert (
        create_errors(
            labels={"app": "web", "example.com/tier": "x"},
            annotations={"Note": "any text"},
            ownerReferences=[owner("a", controller=True), owner("b")],
            finalizers=["example.com/hold", "foregroundDeletion"],
        )
        == []
    )


def test_a_name_is_required() -> None:
    assert create_errors(name="") == [
        "metadata.name: Required value: name or generateName is required"
    ]


def test_a_bad_name_is_told_with_the_rule() -> None:
    assert create_errors(name="Web_1") == [
        'metadata.name: Invalid value: "Web_1": a lowercase RFC 1123 subdomain must consist of '
        "lower case alphanumeric characters, '-' or '.', and must start and end with an "
        "alphanumeric character (e.g. 'example.com', regex used for validation is "
        r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
    ]


def test_a_prefix_may_end_in_a_dash() -> None:
    assert create_errors(name="web-abcde", generateName="web-") == []


def test_two_controllers_are_one_too_many() -> None:
    [message] = create_errors(
        ownerReferences=[owner("x", controller=True), owner("y", controller=True)]
    )

    assert message.endswith(
        "Only one reference can have Controller set to true. "
        'Found "true" in references for A/x and A/y'
    )


def test_an_owner_names_itself_completely() -> None:
    assert create_errors(ownerReferences=[{"apiVersion": "", "kind": "A", "name": "x"}]) == [
        'metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty',
        'metadata.ownerReferences.uid: Invalid value: "": uid must not be empty',
    ]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"labels": {"a b": "c"}},
         'metadata.labels: Invalid value: "a b": name part must consist of alphanumeric '
         "characters, '-', '_' or '.', and must start and end with an alphanumeric character "
         "(e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is "
         "'([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"),
        ({"labels": {"a": "b c"}},
         'metadata.labels: Invalid value: "b c": a valid label must be an empty string or '
         "consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
         "alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
         "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"),
        ({"labels": {"a": "b" * 64}},
         f'metadata.labels: Invalid value: "{"b" * 64}": must be no more than 63 characters'),
        ({"annotations": {"a": "x" * 262144}},
         "metadata.annotations: Too long: may not be more than 262144 bytes"),
        ({"finalizers": ["mine"]},
         'metadata.finalizers[0]: Invalid value: "mine": '
         "name is neither a standard finalizer name nor is it fully qualified"),
        ({"finalizers": ["orphan", "foregroundDeletion"]},
         'metadata.finalizers: Invalid value: []string{"orphan", "foregroundDeletion"}: '
         "finalizer orphan and foregroundDeletion cannot be both set"),
        ({"namespace": ""}, "metadata.namespace: Required value"),
    ],
)  # fmt: skip
def test_metadata_is_refused_as_upstream_words_it(fields: dict[str, object], message: str) -> None:
    assert create_errors(**fields) == [message]


def test_a_namespace_is_not_allowed_on_cluster_wide_kinds() -> None:
    found = objectmeta.validate_object_meta(meta(), False, objectmeta.dns_subdomain)

    assert [str(error) for error in found] == [
        "metadata.namespace: Forbidden: not allowed on this type"
    ]


@pytest.mark.parametrize("field", ["name", "namespace", "uid"])
def test_identity_never_changes(field: str) -> None:
    old = meta(uid="u", resourceVersion="1")
    new = {"metadata": {**old["metadata"], field: "other"}}

    assert update_errors(new, old) == [
        f'metadata.{field}: Invalid value: "other": field is immutable'
    ]


@pytest.mark.parametrize("field", ["creationTimestamp", "deletionTimestamp"])
def test_times_of_birth_and_death_never_change(field: str) -> None:
    old = meta(resourceVersion="1", **{field: "2022-02-16T15:53:28Z"})
    new = {"metadata": {**old["metadata"], field: "2023-02-16T15:53:28Z"}}

    assert update_errors(new, old) == [
        f"metadata.{field}: Invalid value: 2023-02-16 15:53:28 +0000 UTC: field is immutable"
    ]


def test_an_update_needs_a_revision() -> None:
    assert update_errors(meta(), meta(resourceVersion="1")) == [
        'metadata.resourceVersion: Invalid value: "": must be specified for an update'
    ]


def test_no_finalizer_is_added_to_what_is_being_deleted() -> None:
    old = meta(resourceVersion="1", deletionTimestamp="2022-02-16T15:53:28Z")
    new = {"metadata": {**old["metadata"], "finalizers": ["example.com/a"]}}

    assert update_errors(new, old) == [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being "
        'deleted, found new finalizers []string{"example.com/a"}'
    ]


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("system:admin", []),
        ("..", ["may not be '..'"]),
        ("a/b%", ["may not contain '/'", "may not contain '%'"]),
    ],
)
def test_path_segments_may_be_nearly_anything(name: str, wrong: list[str]) -> None:
    assert objectmeta.path_segment(name, False) == wrong
