"""Informers: one list, then the watch; handlers once each; a new list after 410."""

from __future__ import annotations

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.client import WatchEvent
from apiserver_app.machinery.kernel import Kernel
from controllers_app.runtime import indexes
from controllers_app.runtime.informer import Informer, InformerFactory
from controllers_app.runtime.taskgroup import TaskGroup
from tests.controllers_app.runtime.mini import MiniApi, RecordingProbe, advance, pod, settle


def run(kernel: Kernel, coro: object) -> None:
    kernel.spawn("test", coro)  # type: ignore[arg-type]
    settle(kernel)


class Seen:
    """Handlers that note what they are told."""

    def __init__(self, informer: Informer) -> None:
        self.calls: list[tuple[str, str, int]] = []
        informer.handle(
            lambda obj, rev: self.calls.append(("add", meta.name_of(obj), rev)),
            lambda _, obj, rev: self.calls.append(("update", meta.name_of(obj), rev)),
            lambda obj, rev: self.calls.append(("delete", meta.name_of(obj), rev)),
        )


def started(kernel: Kernel, probe: RecordingProbe, api: MiniApi) -> Informer:
    informer = Informer(kernel, api, probe, "pods")
    informer.index("namespace", indexes.by_namespace).index("controller", indexes.by_controller)
    kernel.spawn("informer", informer.run())
    return informer


def test_it_lists_once_and_watches_from_that_revision(
    kernel: Kernel, probe: RecordingProbe, api: MiniApi
) -> None:
    run(kernel, api.create("pods", "default", pod("a")))
    informer = started(kernel, probe, api)
    settle(kernel)
    assert api.calls[1:] == [("list", "pods", ""), ("watch", "pods", "1")]
    assert informer.synced.is_set
    assert informer.get("default/a") is api.objects["pods", "default", "a"]
    assert [(state, detail) for _, state, detail in probe.of("component")] == [
        ("listing", {"resource": "pods"}),
        ("synced", {"resource": "pods", "why": "1 at revision 1"}),
    ]


def test_handlers_fire_once_each_with_the_revision(
    kernel: Kernel, probe: RecordingProbe, api: MiniApi
) -> None:
    informer = started(kernel, probe, api)
    seen = Seen(informer)
    settle(kernel)
    run(kernel, api.create("pods", "default", pod("a")))
    run(kernel, api.update("pods", "default", "a", pod("a", app="x")))
    run(kernel, api.delete("pods", "default", "a"))
    assert seen.calls == [("add", "a", 1), ("update", "a", 2), ("delete", "a", 3)]
    assert len(informer) == 0


def test_a_late_handler_gets_what_is_there(
    kernel: Kernel, probe: RecordingProbe, api: MiniApi
) -> None:
    informer = started(kernel, probe, api)
    run(kernel, api.create("pods", "default", pod("a")))
    assert Seen(informer).calls == [("add", "a", 1)]


def test_indexes_follow_every_change(kernel: Kernel, probe: RecordingProbe, api: MiniApi) -> None:
    informer = started(kernel, probe, api)
    informer.census("app", lambda obj: "all", lambda obj: meta.labels_of(obj).get("app"))
    run(kernel, api.create("pods", "default", pod("a", owner="u1", app="x")))
    run(kernel, api.create("pods", "default", pod("b", app="x")))
    assert list(informer.owned_by("u1")) == ["default/a"]
    assert list(informer.orphans("default")) == ["default/b"]
    assert informer.count("app", "all") == {"x": 2}
    run(kernel, api.update("pods", "default", "b", pod("b", owner="u1", app="y")))
    assert list(informer.owned_by("u1")) == ["default/a", "default/b"]
    assert list(informer.orphans("default")) == []
    assert informer.count("app", "all") == {"x": 1, "y": 1}
    run(kernel, api.delete("pods", "default", "a"))
    assert [meta.name_of(obj) for obj in informer.list("default")] == ["b"]
    assert informer.count("app", "all") == {"y": 1}


def test_after_410_it_lists_again_and_tells_only_what_changed(
    kernel: Kernel, probe: RecordingProbe, api: MiniApi
) -> None:
    for name in ("a", "b", "c"):
        run(kernel, api.create("pods", "default", pod(name)))
    informer = started(kernel, probe, api)
    seen = Seen(informer)
    settle(kernel)
    seen.calls.clear()
    _, watch = api.watches.pop()
    run(kernel, api.delete("pods", "default", "a"))
    run(kernel, api.update("pods", "default", "b", pod("b", app="x")))
    watch.events.put(WatchEvent("ERROR", errors.expired("too old resource version").status()))
    advance(kernel, 1)
    assert seen.calls == [("update", "b", 5), ("delete", "a", 5)]
    assert [call[0] for call in api.calls].count("list") == 2


def test_when_the_watch_ends_it_watches_on_without_a_list(
    kernel: Kernel, probe: RecordingProbe, api: MiniApi
) -> None:
    informer = started(kernel, probe, api)
    seen = Seen(informer)
    run(kernel, api.create("pods", "default", pod("a")))
    _, watch = api.watches.pop()
    watch.events.close()
    settle(kernel)
    run(kernel, api.create("pods", "default", pod("b")))
    assert [call for call in api.calls if call[0] != "create"] == [
        ("list", "pods", ""),
        ("watch", "pods", "0"),
        ("watch", "pods", "1"),
    ]
    assert [name for _, name, _ in seen.calls] == ["a", "b"]


def test_a_refused_list_is_tried_again_after_a_while(
    kernel: Kernel, probe: RecordingProbe, api: MiniApi
) -> None:
    api.fail = errors.forbidden("", "pods", "", "no")
    informer = started(kernel, probe, api)
    settle(kernel)
    assert not informer.synced.is_set
    advance(kernel, 1)
    assert informer.synced.is_set


def test_the_factory_shares_one_informer_per_selection(
    kernel: Kernel, probe: RecordingProbe, api: MiniApi
) -> None:
    factory = InformerFactory(kernel, api, probe, "kcm", TaskGroup(kernel, "kcm"))
    pods = factory.informer("pods")
    assert factory.informer("pods") is pods
    assert factory.informer("pods", fields="spec.nodeName=") is not pods
    factory.start()
    factory.start()
    settle(kernel)
    assert [call[0] for call in api.calls] == ["list", "watch", "list", "watch"]
