"""What a controller watches becomes keys: its own, its owner's, those it is mapped to."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

import pytest

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.releases import Release
from controllers_app.runtime import controller as runtime
from controllers_app.runtime import indexes
from controllers_app.runtime.controller import Context, Controller
from controllers_app.runtime.events import Recorder
from controllers_app.runtime.informer import InformerFactory
from controllers_app.runtime.taskgroup import TaskGroup
from controllers_app.runtime.watches import (
    ADDED,
    DELETED,
    UPDATED,
    For,
    Owns,
    Reads,
    Watch,
    Watches,
    own_key,
    selecting,
)
from controllers_app.runtime.workqueue import WorkQueue
from tests.controllers_app.runtime.mini import MiniApi, RecordingProbe, pod, settle

SETS = "replicasets.apps"


class World:
    """A controller that watches this, and the keys that were added to its queue."""

    def __init__(
        self, kernel: Kernel, probe: RecordingProbe, api: MiniApi, *watches: Watch
    ) -> None:
        self._kernel, self._probe, self._api = kernel, probe, api

        class Declared(Controller):
            pass

        Declared.watches = watches
        informers = InformerFactory(kernel, api, probe, "kcm", TaskGroup(kernel, "kcm"))
        queue = WorkQueue(kernel, probe, "x")
        context = Context(
            kernel, api, informers, Recorder(kernel, api, "x"), queue, Rand(1), Release(33)
        )
        self.controller = runtime.build("x", Declared, context)
        settle(kernel)

    def keys(self, *calls: Coroutine[Any, Any, Any]) -> list[tuple[str, int]]:
        """(key, revision) of what the calls add."""
        before = len(self._added())
        for call in calls:
            self._kernel.spawn("test", call)
            settle(self._kernel)
        return self._added()[before:]

    def _added(self) -> list[tuple[str, int]]:
        ops = ("add", "dirty", "later")
        return [(key, rev) for _, op, key, _, rev, _ in self._probe.of("queue") if op in ops]


def replica_set(name: str, **labels: str) -> Object:
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"selector": {"matchLabels": labels}},
    }


def owned(name: str, owner: str, **labels: str) -> Object:
    reference = {"kind": "ReplicaSet", "name": owner, "uid": f"uid-{owner}", "controller": True}
    return meta.with_path(pod(name, **labels), ("metadata", "ownerReferences"), [reference])


def test_for_makes_the_own_key_of_the_events_that_count(
    kernel: Kernel, probe: RecordingProbe, api: MiniApi
) -> None:
    world = World(
        kernel,
        probe,
        api,
        For("pods", on=ADDED | UPDATED, when=meta.labels_of, changed=lambda old, new: "b" in new),
    )
    assert world.keys(api.create("pods", "default", pod("a", app="x"))) == [("default/a", 1)]
    assert world.keys(api.create("pods", "default", pod("plain"))) == []
    assert world.keys(api.update("pods", "default", "a", pod("a", app="x"))) == []
    changed = {**pod("a", app="x"), "b": 1}
    assert world.keys(api.update("pods", "default", "a", changed)) == [("default/a", 4)]
    assert world.keys(api.delete("pods", "default", "a")) == []


def test_a_delay_makes_the_key_wait(kernel: Kernel, probe: RecordingProbe, api: MiniApi) -> None:
    world = World(kernel, probe, api, For("pods", after=5.0))
    world.keys(api.create("pods", "default", pod("a")))
    [later] = [fields for fields in probe.of("queue") if fields[1] == "later"]
    assert (later[2], later[5]) == ("default/a", 5.0)


def test_owns_makes_the_key_of_the_controller_and_counts_what_was_expected(
    kernel: Kernel, probe: RecordingProbe, api: MiniApi
) -> None:
    world = World(kernel, probe, api, For(SETS), Owns("pods", "ReplicaSet"))
    world.keys(api.create(SETS, "default", replica_set("web", app="web")))
    expectations = world.controller.expectations
    expectations.expect_creations("default/web", 1)
    created = world.keys(api.create("pods", "default", owned("a", "web")))
    assert [key for key, _ in created] == ["default/web"]
    assert expectations.satisfied("default/web")
    expectations.expect_deletions("default/web", ["uid-a"])
    deleted = world.keys(api.delete("pods", "default", "a"))
    assert [key for key, _ in deleted] == ["default/web"]
    assert expectations.satisfied("default/web")


def test_a_pod_of_another_kind_or_of_an_owner_that_is_gone_makes_no_key(
    kernel: Kernel, probe: RecordingProbe, api: MiniApi
) -> None:
    world = World(kernel, probe, api, For(SETS), Owns("pods", "ReplicaSet"))
    world.keys(api.create(SETS, "default", replica_set("web", app="web")))
    stranger = owned("a", "web")
    stranger["metadata"]["ownerReferences"][0]["kind"] = "Job"
    assert world.keys(api.create("pods", "default", stranger)) == []
    assert world.keys(api.create("pods", "default", owned("b", "gone"))) == []


def test_a_pod_that_changes_hands_wakes_both_owners(
    kernel: Kernel, probe: RecordingProbe, api: MiniApi
) -> None:
    world = World(kernel, probe, api, For(SETS), Owns("pods", "ReplicaSet"))
    for name in ("one", "two"):
        world.keys(api.create(SETS, "default", replica_set(name, app=name)))
    world.keys(api.create("pods", "default", owned("a", "one")))
    moved = world.keys(api.update("pods", "default", "a", owned("a", "two")))
    assert [key for key, _ in moved] == ["default/one", "default/two"]


@pytest.mark.parametrize("adopts", [True, False])
def test_an_orphan_wakes_those_whose_selector_matches(
    adopts: bool, kernel: Kernel, probe: RecordingProbe, api: MiniApi
) -> None:
    owns = Owns("pods", "ReplicaSet") if adopts else Owns("pods", "ReplicaSet", selector=None)
    world = World(kernel, probe, api, For(SETS), owns)
    for name in ("web", "db"):
        world.keys(api.create(SETS, "default", replica_set(name, app=name)))
    orphan = world.keys(api.create("pods", "default", pod("a", app="web")))
    assert [key for key, _ in orphan] == (["default/web"] if adopts else [])
    relabelled = world.keys(api.update("pods", "default", "a", pod("a", app="db")))
    assert [key for key, _ in relabelled] == (["default/db"] if adopts else [])
    assert world.keys(api.update("pods", "default", "a", pod("a", app="db"))) == []


def test_watches_maps_an_object_to_keys_and_an_update_by_both_its_states(
    kernel: Kernel, probe: RecordingProbe, api: MiniApi
) -> None:
    world = World(
        kernel,
        probe,
        api,
        For(SETS, index=indexes.BY_NAMESPACE),
        Watches("pods", on=ADDED, keys=lambda self, obj: selecting(self.caches[SETS], obj)),
        Watches(
            "pods",
            on=UPDATED,
            keys=own_key,
            update_keys=lambda self, old, new: (meta.labels_of(old)["app"], *meta.labels_of(new)),
        ),
        Watches("pods", on=DELETED, keys=own_key),
    )
    world.keys(api.create(SETS, "default", replica_set("web", app="web")))
    added = world.keys(api.create("pods", "default", pod("a", app="web")))
    assert [key for key, _ in added] == ["default/web"]
    updated = world.keys(api.update("pods", "default", "a", pod("a", tier="x")))
    assert [key for key, _ in updated] == ["web", "tier"]
    assert [key for key, _ in world.keys(api.delete("pods", "default", "a"))] == ["default/a"]


def test_what_is_only_read_makes_no_key_and_an_unserved_optional_resource_no_cache(
    kernel: Kernel, probe: RecordingProbe, api: MiniApi
) -> None:
    world = World(kernel, probe, api, Reads("pods"), For("dreams.example.com", optional=True))
    assert world.keys(api.create("pods", "default", pod("a"))) == []
    assert world.controller.caches["pods"].get("default/a") is not None
    assert list(world.controller.caches) == ["pods"]
