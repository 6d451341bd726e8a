"""Events: their names, their counts, what is combined and what is held back."""

from __future__ import annotations

from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import Kernel
from controllers_app.runtime.events import (
    SERIES_SECONDS,
    SIMILAR_SECONDS,
    WRITTEN_SECONDS,
    Recorder,
)
from tests.controllers_app.runtime.mini import START, MiniApi, RecordingProbe, advance, pod, settle


def begin(kernel: Kernel, api: MiniApi, *, modern: bool = False) -> Recorder:
    recorder = Recorder(kernel, api, "replicaset-controller", modern=modern)
    kernel.spawn("recorder", recorder.run())
    return recorder


def stored(api: MiniApi, resource: str = "events") -> list[dict[str, object]]:
    return [obj for key, obj in api.objects.items() if key[0] == resource]


def test_an_event_is_named_after_its_object_and_the_virtual_time(
    kernel: Kernel, api: MiniApi
) -> None:
    recorder = begin(kernel, api)
    recorder.event(pod("web"), "Normal", "SuccessfulCreate", "Created pod: web-1")
    settle(kernel)
    [event] = stored(api)
    name = event["metadata"]["name"]  # type: ignore[index]
    assert name.split(".")[0] == "web"
    assert int(name.split(".")[1], 16) // 1000 == START
    assert event["involvedObject"] == {
        "kind": "Pod",
        "namespace": "default",
        "name": "web",
        "apiVersion": "v1",
    }
    assert (event["count"], event["reason"], event["type"]) == (1, "SuccessfulCreate", "Normal")
    assert event["source"] == {"component": "replicaset-controller"}
    assert event["firstTimestamp"] == event["lastTimestamp"] == "2025-06-15T15:06:40Z"


def test_the_same_event_again_raises_the_count_by_patch(kernel: Kernel, api: MiniApi) -> None:
    recorder = begin(kernel, api)
    for _ in range(3):
        recorder.event(pod("web"), "Warning", "FailedCreate", "no")
        advance(kernel, 1)
    [event] = stored(api)
    assert (event["count"], event["lastTimestamp"]) == (3, "2025-06-15T15:06:42Z")
    assert [call[0] for call in api.calls] == ["create", "patch", "patch"]


def test_many_similar_events_are_combined_and_the_rest_held_back(
    kernel: Kernel, api: MiniApi
) -> None:
    recorder = begin(kernel, api)
    for number in range(100):
        recorder.event(pod("web"), "Normal", "SuccessfulCreate", f"Created pod: {number}")
    settle(kernel)
    messages = [event["message"] for event in stored(api)]
    assert messages[:9] == [f"Created pod: {number}" for number in range(9)]
    assert len(messages) == 10
    assert messages[9] == "(combined from similar events): Created pod: 24"
    assert len(api.calls) == 25


def test_an_event_that_expired_is_written_anew(kernel: Kernel, api: MiniApi) -> None:
    recorder = begin(kernel, api)
    recorder.event(pod("web"), "Warning", "FailedCreate", "no")
    settle(kernel)
    api.objects.clear()
    recorder.event(pod("web"), "Warning", "FailedCreate", "no")
    settle(kernel)
    assert len(stored(api)) == 1


def test_an_event_is_written_in_the_span_of_whoever_recorded_it(
    kernel: Kernel, api: MiniApi, probe: RecordingProbe
) -> None:
    recorder = begin(kernel, api)
    spans: list[int] = []
    create = api.create

    async def noting(*args: object, **kwargs: object) -> object:
        assert kernel.current is not None
        spans.append(kernel.current.span)
        return await create(*args, **kwargs)  # type: ignore[arg-type]

    api.create = noting  # type: ignore[method-assign,assignment]

    async def reconcile() -> None:
        recorder.event(pod("web"), "Normal", "X", "x")

    kernel.spawn("reconcile", reconcile(), span=42)
    settle(kernel)
    assert spans == [42]


def test_a_modern_recorder_turns_repeats_into_a_series(kernel: Kernel, api: MiniApi) -> None:
    recorder = begin(kernel, api, modern=True)
    for _ in range(2):
        recorder.event(pod("web"), "Warning", "FailedScheduling", "no", action="Scheduling")
        advance(kernel, 1)
    [event] = stored(api, "events.events.k8s.io")
    assert event["note"] == "no"
    assert event["series"] == {"count": 2, "lastObservedTime": "2025-06-15T15:06:41.000000Z"}


def test_what_a_modern_recorder_says_of_another_state_of_the_object_is_another_event(
    kernel: Kernel, api: MiniApi
) -> None:
    recorder = begin(kernel, api, modern=True)
    for revision in ("5", "6"):
        changed = meta.with_path(pod("web"), ("metadata", "resourceVersion"), revision)
        recorder.event(changed, "Warning", "FailedScheduling", revision, action="Scheduling")
        advance(kernel, 1)
    events = stored(api, "events.events.k8s.io")
    assert [event["note"] for event in events] == ["5", "6"]


def test_a_series_is_written_again_only_when_it_has_ended(kernel: Kernel, api: MiniApi) -> None:
    recorder = begin(kernel, api, modern=True)
    kernel.spawn("series", recorder.finish_series(), background=True)
    for _ in range(4):
        recorder.event(pod("web"), "Warning", "FailedScheduling", "no", action="Scheduling")
        advance(kernel, 1)
    [event] = stored(api, "events.events.k8s.io")
    assert event["series"]["count"] == 2  # type: ignore[index]
    advance(kernel, 2 * SERIES_SECONDS)
    [event] = stored(api, "events.events.k8s.io")
    assert event["series"] == {"count": 4, "lastObservedTime": "2025-06-15T15:06:43.000000Z"}
    recorder.event(pod("web"), "Warning", "FailedScheduling", "no", action="Scheduling")
    advance(kernel, 1)
    assert len(stored(api, "events.events.k8s.io")) == 2


def test_what_was_said_of_objects_long_ago_is_forgotten(kernel: Kernel, api: MiniApi) -> None:
    recorder = begin(kernel, api)
    for number in range(100):
        recorder.event(pod(f"web-{number}"), "Normal", "Pulled", "it is here")
        advance(kernel, 120)
    assert len(recorder.written) <= WRITTEN_SECONDS // 120 + 1
    assert len(recorder.similar) <= SIMILAR_SECONDS // 120 + 1
    assert len(recorder.spam) <= 3
