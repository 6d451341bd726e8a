"""managedFields of creates, updates and status writes: who owns what, when, in which order."""

from __future__ import annotations

import copy
import json
import pathlib
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver_app.machinery.patch import managedfields, managers
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.types import fieldsets, fieldshapes
from apiserver_app.machinery.types.scheme import Types

TYPES = Types(Release(33))
POD = TYPES.schema("io.k8s.api.core.v1.Pod")
DEPLOYMENT = TYPES.schema("io.k8s.api.apps.v1.Deployment")
GOLDEN = pathlib.Path(__file__).parents[3] / "golden" / "deployment-1.22.json"


def written(
    old: Any, new: Any, manager: str, at: int, subresource: str = "", schema: Any = POD
) -> Any:
    """The new object with its entries, as it is stored."""
    version = "apps/v1" if schema is DEPLOYMENT else "v1"
    untouched = copy.deepcopy((old, new))
    entries = managedfields.track(
        old,
        new,
        manager=manager,
        api_version=version,
        time=f"2024-01-01T00:00:{at:02}Z",
        subresource=subresource,
        schema=schema,
    )
    assert (old, new) == untouched, "neither object may change"
    return {**new, "metadata": {**new["metadata"], "managedFields": entries}}


def pod(**spec: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "web", "namespace": "default", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "a", "image": "i"}], **spec},
        "status": {},
    }


def with_(obj: Any, part: str, **values: Any) -> Any:
    return {**obj, part: {**obj[part], **values}}


def entry(obj: Any, manager: str, subresource: str = "") -> Any:
    found = [
        item
        for item in obj["metadata"]["managedFields"]
        if item["manager"] == manager and item.get("subresource", "") == subresource
    ]
    return found[0] if found else None


def owned(obj: Any, manager: str, subresource: str = "") -> list[str]:
    found = entry(obj, manager, subresource)
    return [fieldsets.path_text(path) for path in fieldsets.paths(found and found["fieldsV1"])]


def test_create_owns_the_defaulted_spec_as_the_golden_session_shows() -> None:
    golden = json.loads(GOLDEN.read_text())
    wanted = golden["metadata"].pop("managedFields")
    entries = managedfields.track(
        None,
        golden,
        manager="kubectl-create",
        api_version="apps/v1",
        time="2022-02-16T15:53:28Z",
        schema=DEPLOYMENT,
    )
    assert json.dumps(entries) == json.dumps(wanted)


def test_equal_shapes_share_one_set() -> None:
    first = written(None, pod(), "a", 1)
    second = written(None, copy.deepcopy(pod()), "b", 2)
    assert entry(first, "a")["fieldsV1"] is entry(second, "b")["fieldsV1"]


def test_values_that_an_empty_object_has_are_not_owned() -> None:
    made = written(None, {"metadata": {"name": "x", "creationTimestamp": None}, "spec": {}}, "m", 1)
    assert made["metadata"]["managedFields"] == []


def test_changed_field_moves_to_its_changer() -> None:
    one = written(None, pod(nodeName="n1", hostname="h"), "creator", 1)
    two = written(one, with_(one, "spec", nodeName="n2"), "changer", 2)
    assert owned(two, "changer") == [".spec.nodeName"]
    assert ".spec.nodeName" not in owned(two, "creator")
    assert ".spec.hostname" in owned(two, "creator")
    assert entry(two, "creator")["time"] == "2024-01-01T00:00:01Z"
    assert entry(two, "changer")["time"] == "2024-01-01T00:00:02Z"


def test_removed_field_belongs_to_nobody() -> None:
    one = written(None, pod(hostname="h"), "creator", 1)
    two = written(one, with_(one, "spec", containers=one["spec"]["containers"]), "x", 2)
    bare = {**two, "spec": {"containers": two["spec"]["containers"]}}
    three = written(two, bare, "remover", 3)
    assert entry(three, "remover") is None
    assert ".spec.hostname" not in owned(three, "creator")


def test_an_update_that_changes_nothing_keeps_the_list_itself() -> None:
    one = written(None, pod(), "creator", 1)
    two = written(one, copy.deepcopy(with_(one, "metadata", uid="u", generation=2)), "other", 2)
    assert two["metadata"]["managedFields"] == one["metadata"]["managedFields"]
    again = managedfields.track(one, one, manager="other", api_version="v1", time="t", schema=POD)
    assert again is one["metadata"]["managedFields"]


def test_same_manager_grows_its_entry_and_its_time_moves() -> None:
    one = written(None, pod(), "m", 1)
    two = written(one, with_(one, "spec", hostname="h"), "m", 2)
    assert len(two["metadata"]["managedFields"]) == 1
    assert entry(two, "m")["time"] == "2024-01-01T00:00:02Z"
    assert ".spec.hostname" in owned(two, "m")
    assert '.spec.containers[name="a"].image' in owned(two, "m")


def test_status_is_owned_under_its_subresource_and_only_there() -> None:
    one = written(None, with_(pod(), "status", phase="Running"), "creator", 1)
    assert not any(path.startswith(".status") for path in owned(one, "creator"))
    ready = {"type": "Ready", "status": "True", "lastProbeTime": None}
    two = written(one, with_(one, "status", conditions=[ready]), "kubelet", 2, "status")
    assert owned(two, "kubelet", "status") == [
        ".status.conditions",
        '.status.conditions[type="Ready"]',
        '.status.conditions[type="Ready"].lastProbeTime',
        '.status.conditions[type="Ready"].status',
        '.status.conditions[type="Ready"].type',
    ]
    assert entry(two, "kubelet", "status")["subresource"] == "status"


def test_null_condition_list_of_the_live_object_is_not_owned_anew() -> None:
    one = written(None, pod(), "creator", 1)
    ready = {"type": "Ready", "status": "False"}
    two = written(one, with_(one, "status", conditions=[ready]), "a", 2, "status")
    begun = {"type": "Initialized", "status": "True"}
    three = written(two, with_(two, "status", conditions=[ready, begun]), "b", 3, "status")
    assert ".status.conditions" in owned(three, "a", "status")
    assert owned(three, "b", "status") == [
        '.status.conditions[type="Initialized"]',
        '.status.conditions[type="Initialized"].status',
        '.status.conditions[type="Initialized"].type',
    ]


def test_items_of_lists_are_told_apart_by_their_keys() -> None:
    ports = [{"containerPort": 443, "protocol": "TCP"}, {"containerPort": 80, "protocol": "TCP"}]
    obj = pod()
    obj["spec"]["containers"][0]["ports"] = ports
    made = entry(written(None, obj, "m", 1), "m")["fieldsV1"]
    container = made["f:spec"]["f:containers"]['k:{"name":"a"}']
    assert list(container["f:ports"]) == [
        ".",
        'k:{"containerPort":80,"protocol":"TCP"}',
        'k:{"containerPort":443,"protocol":"TCP"}',
    ]


def test_atomic_values_and_sets_are_owned_as_upstream_owns_them() -> None:
    obj = pod(nodeSelector={"a": "b"}, tolerations=[{"key": "x"}])
    obj["metadata"]["finalizers"] = ["b", "a"]
    obj["metadata"]["ownerReferences"] = [{"uid": "u", "name": "n"}]
    made = entry(written(None, obj, "m", 1), "m")["fieldsV1"]
    assert made["f:spec"]["f:nodeSelector"] == {}
    assert made["f:spec"]["f:tolerations"] == {}
    assert made["f:metadata"]["f:finalizers"] == {".": {}, 'v:"a"': {}, 'v:"b"': {}}
    assert made["f:metadata"]["f:ownerReferences"] == {".": {}, 'k:{"uid":"u"}': {}}


def test_entries_are_sorted_by_operation_time_and_name() -> None:
    one = written(None, pod(), "z", 1)
    two = written(one, with_(one, "spec", hostname="h"), "b", 2)
    three = written(two, with_(two, "spec", subdomain="s"), "a", 2)
    four = written(three, with_(three, "spec", priority=1), "z", 3)
    names = [item["manager"] for item in four["metadata"]["managedFields"]]
    assert names == ["a", "b", "z"]


def test_no_more_than_ten_updaters_are_kept() -> None:
    obj = written(None, pod(), "m00", 0)
    for number in range(1, 14):
        changed = with_(
            obj,
            "metadata",
            annotations={**(obj["metadata"].get("annotations") or {}), f"k{number}": "x"},
        )
        obj = written(obj, changed, f"m{number:02}", number)
    entries = obj["metadata"]["managedFields"]
    assert len(entries) == managers.UPDATE_MANAGERS_MAX
    assert entries[0]["manager"] == "ancient-changes"
    assert '.spec.containers[name="a"].image' in owned(obj, "ancient-changes")
    assert ".metadata.annotations.k4" in owned(obj, "ancient-changes")


def test_an_empty_list_resets_and_absence_does_not() -> None:
    one = written(None, pod(), "m", 1)
    reset = {**one, "metadata": {**one["metadata"], "managedFields": []}}
    assert (
        written(one, with_(reset, "spec", hostname="h"), "x", 2)["metadata"]["managedFields"] == []
    )
    absent = with_(pod(), "spec", hostname="h")
    assert owned(written(one, absent, "x", 2), "x") == [".spec.hostname"]
    assert owned(written(one, absent, "x", 2), "m")


def test_duplicate_keys_are_owned_as_one_place() -> None:
    env = [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]
    obj = pod()
    obj["spec"]["containers"][0]["env"] = env
    made = written(None, obj, "m", 1)
    fields = entry(made, "m")["fieldsV1"]
    assert fields["f:spec"]["f:containers"]['k:{"name":"a"}']["f:env"]['k:{"name":"A"}'] == {}
    single = copy.deepcopy(made)
    del single["spec"]["containers"][0]["env"][1]
    after = written(made, single, "n", 2)
    assert '.spec.containers[name="a"].env[name="A"].value' in owned(after, "n")


labels = st.dictionaries(st.sampled_from("abc"), st.sampled_from("xy"), max_size=3)
env: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"name": st.sampled_from("AB"), "value": st.just("1")}
)
optional: dict[str, st.SearchStrategy[Any]] = {
    "image": st.sampled_from("xy"),
    "resources": st.just({}),
    "env": st.lists(env, max_size=2, unique_by=lambda item: str(item["name"])),
}
container: st.SearchStrategy[Any] = st.fixed_dictionaries(
    {"name": st.sampled_from("abc")}, optional=optional
)
containers = st.lists(container, max_size=3, unique_by=lambda item: str(item["name"]))
pods = st.builds(
    lambda labels, containers: {
        "metadata": {"labels": labels},
        "spec": {"containers": containers},
        "status": {},
    },
    labels,
    containers,
)


@settings(max_examples=60)
@given(pods, pods, pods)
def test_every_field_has_one_owner_whatever_is_written(first: Any, second: Any, third: Any) -> None:
    one = written(None, first, "a", 1)
    if not one["metadata"]["managedFields"]:
        return
    two = written(one, {**second, "metadata": {**second["metadata"]}}, "b", 2)
    three = written(two, {**third, "metadata": {**third["metadata"]}}, "c", 3)
    held = [path for name in "abc" for path in owned(three, name)]
    leaves = [path for path in held if path.endswith((".image", ".value", ".name"))]
    assert len(leaves) == len(set(leaves))
    names = fieldshapes.of(POD).created(third)
    wanted = {fieldsets.path_text(path) for path in fieldsets.paths(names)}
    if second != first and third != second:
        assert {path for path in wanted if path.endswith(".image")} == {
            path for path in held if path.endswith(".image")
        }
