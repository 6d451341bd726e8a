"""What an API server does beside requests keeps nobody waiting."""

from __future__ import annotations

import pytest

from lifecycle.cluster import housekeeping
from lifecycle.hosting import scripted

CONFIGMAPS = "/api/v1/namespaces/default/configmaps"


def test_what_was_compacted_and_old_records_go_step_by_step(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in (
        ("COMPACT_KEEP", 10),
        ("CLEAR_STEP", 50),
        ("TRACE_KEEP", 1000),
        ("FORGET_STEP", 500),
    ):
        monkeypatch.setattr(housekeeping, name, value)
    session = scripted.Session(scripted.default_inputs(nodes=1))
    store, steps = session.cluster.store, session.cluster.kernel
    cleared: list[tuple[int, int, int]] = []
    forgotten: list[tuple[int, int]] = []
    clear, forget = store.backend.clear, store.backend.forget

    def clears(after: int, until: int) -> int:
        cleared.append((after, until, steps.steps))
        return clear(after, until)

    def forgets(seq: int) -> int:
        forgotten.append((seq, steps.steps))
        return forget(seq)

    monkeypatch.setattr(store.backend, "clear", clears)
    monkeypatch.setattr(store.backend, "forget", forgets)
    session.request("POST", CONFIGMAPS, {"metadata": {"name": "a"}})
    for number in range(200):
        session.request(
            "PUT", f"{CONFIGMAPS}/a", {"metadata": {"name": "a"}, "data": {"n": str(number)}}
        )
    session.wait(housekeeping.COMPACT_SECONDS)
    assert len(cleared) > 4 and all(until - after <= 50 for after, until, _ in cleared)
    assert [one[0] for one in cleared[1:]] == [one[1] for one in cleared[:-1]]
    assert cleared[-1][1] == store.compacted
    assert len(forgotten) > 2 and forgotten[-1][0] - forgotten[-2][0] <= 500
    for each in ([one[2] for one in cleared], [one[1] for one in forgotten]):
        assert len(set(each)) == len(each)  # each in a step of its own
    assert not [row for row in store.backend.since("", 0) if row.revision < 100 and row.deleted]
    assert not list(store.backend.segments(0, 1000))


def test_a_log_of_too_many_bytes_is_compacted_however_few_its_revisions_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(housekeeping, "COMPACT_KEEP_BYTES", 2_000_000)
    monkeypatch.setattr(housekeeping, "CLEAR_STEP", 5)
    session = scripted.Session(scripted.default_inputs(nodes=1))
    store = session.cluster.store
    for number in range(30):
        data = {"x": str(number) * 50_000}
        body = {"metadata": {"name": "a"}, "data": data}
        verb, path = ("PUT", f"{CONFIGMAPS}/a") if number else ("POST", CONFIGMAPS)
        assert session.request(verb, path, body).status in (200, 201)
    session.wait(housekeeping.COMPACT_SECONDS)
    assert 0 < store.compacted < store.revision
    assert store.backend.size(store.compacted, store.revision) <= 2_000_000
