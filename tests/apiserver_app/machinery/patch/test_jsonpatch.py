"""JSON and merge patches: what they make, what they refuse, and that inputs stay as they are."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver_app.machinery import errors
from apiserver_app.machinery.patch import jsonpatch

POD: dict[str, Any] = {
    "metadata": {"name": "web", "labels": {"app": "web", "a/b": "c~d"}},
    "spec": {"containers": [{"name": "a"}, {"name": "b"}], "replicas": 1},
}

scalars = st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["", "a", "b/~"])
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from("abc/~"), inner, max_size=4)
    ),
    max_leaves=20,
)
objects = st.dictionaries(st.sampled_from("abc/~"), values, max_size=4)


@settings(max_examples=50)
@given(objects, objects)
def test_diff_applied_to_before_gives_after(before: Any, after: Any) -> None:
    ops = jsonpatch.diff(before, after)
    untouched = copy.deepcopy(before)
    patched = jsonpatch.apply_json_patch(before, ops)
    assert jsonpatch.same(patched, after)
    assert jsonpatch.same(before, untouched)
    assert jsonpatch.same(jsonpatch.apply_in_place(copy.deepcopy(before), ops), after)


@settings(max_examples=30)
@given(objects)
def test_diff_of_equal_objects_is_empty(obj: Any) -> None:
    assert jsonpatch.diff(obj, copy.deepcopy(obj)) == []


def test_diff_is_minimal_and_lists_change_at_their_end() -> None:
    after = copy.deepcopy(POD)
    after["metadata"]["labels"]["a/b"] = "x"
    after["spec"]["containers"] = [{"name": "a", "image": "i"}]
    after["spec"]["paused"] = True
    assert jsonpatch.diff(POD, after) == [
        {"op": "replace", "path": "/metadata/labels/a~1b", "value": "x"},
        {"op": "add", "path": "/spec/containers/0/image", "value": "i"},
        {"op": "remove", "path": "/spec/containers/1"},
        {"op": "add", "path": "/spec/paused", "value": True},
    ]


@settings(max_examples=60)
@given(objects, st.lists(st.tuples(st.sampled_from(
    ["add", "remove", "replace", "move", "copy", "test"]),
    st.sampled_from(["/a", "/b/a", "/a/0", "/a/-", "/b/c/1", "/~1/~0", "/c"]),
    st.sampled_from(["/a", "/b", "/a/0", "/c/a"]), values), max_size=6))  # fmt: skip
def test_no_json_patch_changes_its_input(before: Any, steps: Any) -> None:
    ops = [
        {"op": op, "path": path, "from": source, "value": value}
        for op, path, source, value in steps
    ]
    untouched, asked = copy.deepcopy(before), copy.deepcopy(ops)
    try:
        jsonpatch.apply_json_patch(before, ops)
    except errors.ApiError as error:
        assert error.code == 422
    assert jsonpatch.same(before, untouched)
    assert jsonpatch.same(ops, asked)


@settings(max_examples=50)
@given(objects, objects)
def test_merge_follows_the_rfc_and_never_changes_its_input(before: Any, patch: Any) -> None:
    untouched, asked = copy.deepcopy(before), copy.deepcopy(patch)
    merged = jsonpatch.merge(before, patch)
    assert jsonpatch.same(before, untouched)
    assert jsonpatch.same(patch, asked)
    for name in before.keys() - patch.keys():
        assert merged[name] is before[name]
    for name, value in patch.items():
        assert (name in merged) == (value is not None)


def test_merge_of_what_is_there_already_is_the_object_itself() -> None:
    labels = POD["metadata"]["labels"]
    assert jsonpatch.merge(POD, {"metadata": {"labels": {"gone": None}}}) is POD
    assert jsonpatch.merge(POD, {"metadata": {"labels": labels}})["spec"] is POD["spec"]


def test_merge_replaces_lists_and_drops_nulls() -> None:
    merged = jsonpatch.merge(
        POD,
        {
            "metadata": {"labels": {"app": None, "new": "1"}},
            "spec": {"containers": [{"name": "c", "image": None}], "fresh": {"x": None}},
        },
    )
    assert merged["metadata"] == {"name": "web", "labels": {"a/b": "c~d", "new": "1"}}
    assert merged["spec"] == {"containers": [{"name": "c"}], "replicas": 1, "fresh": {}}


@pytest.mark.parametrize("patch", ["text", 1, None, []])
def test_merge_refuses_what_is_no_object(patch: Any) -> None:
    with pytest.raises(errors.ApiError) as caught:
        jsonpatch.merge(POD, patch)
    assert caught.value.code == 400


@pytest.mark.parametrize(
    ("op", "path", "made"),
    [
        ({"op": "add", "path": "/spec/containers/0", "value": 1}, ("spec", "containers"),
         [1, {"name": "a"}, {"name": "b"}]),
        ({"op": "add", "path": "/spec/containers/-", "value": 1}, ("spec", "containers"),
         [{"name": "a"}, {"name": "b"}, 1]),
        ({"op": "add", "path": "/spec/containers/-1", "value": 1}, ("spec", "containers"),
         [{"name": "a"}, {"name": "b"}, 1]),
        ({"op": "remove", "path": "/spec/containers/-1"}, ("spec", "containers"), [{"name": "a"}]),
        ({"op": "replace", "path": "/spec/absent", "value": 2}, ("spec", "absent"), 2),
        ({"op": "copy", "from": "/spec/containers/0", "path": "/spec/first"}, ("spec", "first"),
         {"name": "a"}),
        ({"op": "move", "from": "/metadata/labels/a~1b", "path": "/metadata/moved"},
         ("metadata", "moved"), "c~d"),
    ],
)  # fmt: skip
def test_operation_makes(op: dict[str, Any], path: tuple[str, str], made: Any) -> None:
    patched = jsonpatch.apply_json_patch(POD, [op])
    assert patched[path[0]][path[1]] == made


def test_copied_value_does_not_follow_its_source() -> None:
    patched = jsonpatch.apply_json_patch(
        POD,
        [
            {"op": "add", "path": "/metadata/labels/x", "value": "1"},
            {"op": "copy", "from": "/metadata/labels", "path": "/metadata/annotations"},
            {"op": "add", "path": "/metadata/labels/x", "value": "2"},
        ],
    )
    assert patched["metadata"]["annotations"]["x"] == "1"


@pytest.mark.parametrize(
    ("op", "why"),
    [
        ({"op": "test", "path": "/metadata/name", "value": "db"},
         "testing value /metadata/name failed: test failed"),
        ({"op": "test", "path": "/spec/replicas", "value": True},
         "testing value /spec/replicas failed: test failed"),
        ({"op": "add", "path": "/no/way", "value": 1},
         'add operation does not apply: doc is missing path: "/no/way": missing value'),
        ({"op": "add", "path": "", "value": {}},
         'add operation does not apply: doc is missing path: "": missing value'),
        ({"op": "add", "path": "/spec/containers/7", "value": 1},
         ("error in add for path: '/spec/containers/7': Unable to access invalid index: 7: "
         "invalid index referenced")),
        ({"op": "remove", "path": "/spec/absent"},
         ("error in remove for path: '/spec/absent': Unable to remove nonexistent key: absent: "
         "missing value")),
        ({"op": "replace", "path": "/spec/containers/2", "value": 1},
         "replace operation does not apply: doc is missing key: /spec/containers/2: missing value"),
        ({"op": "add", "value": 1}, "add operation failed to decode path: missing value"),
        ({"op": "jump", "path": "/a"}, "Unexpected kind: jump"),
    ],
)  # fmt: skip
def test_failing_operation_is_a_422_whose_cause_says_why(op: dict[str, Any], why: str) -> None:
    with pytest.raises(errors.ApiError) as caught:
        jsonpatch.apply_json_patch(POD, [op])
    error = caught.value
    assert (error.code, error.reason) == (422, "Invalid")
    assert error.message == "the server rejected our request due to an error in our request"
    assert str(error.__cause__) == why


def test_what_is_no_list_of_operations_is_a_400() -> None:
    with pytest.raises(errors.ApiError) as caught:
        jsonpatch.apply_json_patch(POD, {"spec": {}})
    assert caught.value.code == 400
    assert caught.value.message == (
        "json: cannot unmarshal object into Go value of type jsonpatch.Patch"
    )


def test_too_many_operations_are_a_413() -> None:
    with pytest.raises(errors.ApiError) as caught:
        jsonpatch.apply_json_patch(POD, [{}] * 10_001)
    assert caught.value.code == 413
