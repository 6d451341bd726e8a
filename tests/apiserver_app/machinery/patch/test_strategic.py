"""Strategic merge patches: what merges by key, what the directives do, upstream's refusals."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apiserver_app.machinery import errors
from apiserver_app.machinery.patch import strategic
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.types.scheme import Types

TYPES = Types(Release(33))
DEPLOYMENT = TYPES.schema("io.k8s.api.apps.v1.Deployment")
POD = TYPES.schema("io.k8s.api.core.v1.Pod")


def pod(*names: str, **spec: Any) -> dict[str, Any]:
    containers = [{"name": name, "image": f"{name}:1"} for name in names]
    return {"metadata": {"name": "web"}, "spec": {"containers": containers, **spec}}


def names_of(obj: Any) -> list[str]:
    return [item["name"] for item in obj["spec"]["containers"]]


def merged(obj: Any, spec: Any) -> Any:
    untouched, asked = copy.deepcopy(obj), copy.deepcopy(spec)
    out = strategic.merge(obj, {"spec": spec}, POD)
    assert obj == untouched, "the object must not change"
    assert spec == asked, "the patch must not change"
    return out


def test_containers_are_merged_by_name_in_the_order_of_the_patch() -> None:
    out = merged(
        pod("a", "b"),
        {"containers": [{"name": "c", "image": "c:1"}, {"name": "b", "image": "b:2"}]},
    )
    assert out["spec"]["containers"] == [
        {"name": "c", "image": "c:1"},
        {"name": "a", "image": "a:1"},
        {"name": "b", "image": "b:2"},
    ]


def test_null_removes_and_what_is_not_patched_is_shared() -> None:
    before = pod("a", nodeName="n", volumes=[{"name": "v"}])
    out = merged(before, {"nodeName": None, "hostname": None})
    assert "nodeName" not in out["spec"]
    assert out["spec"]["volumes"] is before["spec"]["volumes"]
    assert out["metadata"] is before["metadata"]


def test_lists_without_a_strategy_are_replaced() -> None:
    before = pod("a", tolerations=[{"key": "x"}])
    assert merged(before, {"tolerations": [{"key": "y"}]})["spec"]["tolerations"] == [{"key": "y"}]
    command = merged(pod("a"), {"containers": [{"name": "a", "command": ["b"]}]})
    again = merged(command, {"containers": [{"name": "a", "command": ["c"]}]})
    assert again["spec"]["containers"][0]["command"] == ["c"]


def test_delete_directive_takes_an_element_out() -> None:
    out = merged(pod("a", "b"), {"containers": [{"name": "a", "$patch": "delete"}]})
    assert names_of(out) == ["b"]


def test_replace_directive_in_a_list_keeps_only_the_patch() -> None:
    out = merged(pod("a", "b"), {"containers": [{"$patch": "replace"}, {"name": "c"}]})
    assert out["spec"]["containers"] == [{"name": "c"}]


def test_replace_and_delete_directives_in_a_map() -> None:
    before = pod("a", securityContext={"runAsUser": 1, "fsGroup": 2})
    replaced = merged(before, {"securityContext": {"$patch": "replace", "fsGroup": 3}})
    assert replaced["spec"]["securityContext"] == {"fsGroup": 3}
    emptied = merged(before, {"securityContext": {"$patch": "delete"}})
    assert emptied["spec"]["securityContext"] == {}


def test_retain_keys_drops_what_it_does_not_name() -> None:
    before = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    out = strategic.merge(before, patch, DEPLOYMENT)
    assert out["spec"]["strategy"] == {"type": "Recreate"}
    assert before["spec"]["strategy"]["type"] == "RollingUpdate"


def test_set_element_order_orders_named_elements_among_the_others() -> None:
    out = merged(
        pod("a", "b", "c"),
        {
            "$setElementOrder/containers": [{"name": "c"}, {"name": "a"}],
            "containers": [{"name": "a", "image": "a:2"}],
        },
    )
    assert names_of(out) == ["b", "c", "a"]
    assert out["spec"]["containers"][2]["image"] == "a:2"


def test_set_element_order_alone_only_orders() -> None:
    order = [{"name": "b"}, {"name": "a"}]
    assert names_of(merged(pod("a", "b"), {"$setElementOrder/containers": order})) == ["b", "a"]


def test_kubectl_edit_that_removes_and_adds_at_once() -> None:
    out = merged(
        pod("a", "b"),
        {
            "$setElementOrder/containers": [{"name": "b"}, {"name": "c"}],
            "containers": [{"name": "c", "image": "c:1"}, {"$patch": "delete", "name": "a"}],
        },
    )
    assert names_of(out) == ["b", "c"]


def test_finalizers_merge_as_a_set_and_are_taken_out_by_name() -> None:
    before = {"metadata": {"finalizers": ["a", "b"]}}
    added = strategic.merge(before, {"metadata": {"finalizers": ["c", "a"]}}, POD)
    assert added["metadata"]["finalizers"] == ["c", "a", "b"]
    removed = strategic.merge(
        before, {"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}, POD
    )
    assert removed["metadata"]["finalizers"] == ["b"]


def test_new_values_lose_their_nulls_and_directives() -> None:
    patch = {"affinity": {"nodeAffinity": None, "podAffinity": {"$patch": "delete"}}}
    out = merged(pod("a"), patch)
    assert out["spec"]["affinity"] == {}


@pytest.mark.parametrize(
    ("spec", "code", "message"),
    [
        ({"containers": [{"image": "x"}]}, 500,
         "map: map[image:x] does not contain declared merge key: name"),
        ({"$deleteFromPrimitiveList": []}, 400, "invalid patch format of primitive list"),
        ({"securityContext": {"$retainKeys": [], "fsGroup": 1}}, 400,
         "invalid patch format of retainKeys"),
        ({"$setElementOrder/containers": [{"name": "b"}], "containers": [{"name": "a"}]}, 500,
         ("The order in patch list:\n[map[name:a]]\n doesn't match $setElementOrder list:\n"
         "[map[name:b]]\n")),
        ({"containers": [[]]}, 500, ("list element types are not identical: "
         "[[map[image:a:1 name:a]] [[]]]")),
        ({"$patch": "jump"}, 500, "unknown patch type: jump in map: map[$patch:jump]"),
    ],
)  # fmt: skip
def test_bad_patch_is_refused_in_upstreams_words(spec: Any, code: int, message: str) -> None:
    before = pod("a", securityContext={})
    with pytest.raises(errors.ApiError) as caught:
        merged(before, spec)
    assert (caught.value.code, caught.value.message) == (code, message)


containers = st.lists(
    st.fixed_dictionaries(
        {"name": st.sampled_from("abcd")}, optional={"image": st.sampled_from("xyz")}
    ),
    max_size=4,
    unique_by=lambda item: str(item["name"]),
)


@given(containers, containers)
def test_merging_names_every_container_once_and_changes_no_input(old: Any, new: Any) -> None:
    before = {"spec": {"containers": old}}
    found = names_of(merged(before, {"containers": new}))
    assert sorted(found) == sorted({item["name"] for item in [*old, *new]})
    wanted = [item["name"] for item in new]
    assert [name for name in found if name in wanted] == wanted
