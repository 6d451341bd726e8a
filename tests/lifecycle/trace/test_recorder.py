"""The recorder: numbers without gaps, spans, charged time, breakpoints, steps."""

from __future__ import annotations

from typing import Any

import msgspec
import orjson
import pytest

from apiserver_app.machinery import kernel as kernels
from apiserver_app.machinery.probe import KINDS, OPTIONAL
from lifecycle.hosting.scripted import Session
from lifecycle.trace import recorder
from lifecycle.trace.recorder import Breakpoint, Recorder
from tests.apiserver_app.cluster import CONFIGMAPS, MERGE, PODS, bare_session, configmap, pod


def held_at(session: Session) -> dict[str, Any]:
    held = session.cluster.recorder.held
    assert held is not None and session.cluster.kernel.frozen
    return held


def armed(*breakpoints: Breakpoint) -> Session:
    session = bare_session()
    session.request("POST", CONFIGMAPS, configmap("there"))
    session.cluster.recorder.arm(breakpoints=breakpoints)
    return session


def thawed(session: Session) -> None:
    session.cluster.recorder.arm(breakpoints=())
    session.host.resume()
    session.settle()


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("request", {"verb": "create", "resource": "configmaps", "name": "a"}),
        ("request", {"client": "script/1", "outside": True}),
        ("request", {"path": CONFIGMAPS}),
        ("gate", {"gate": "mutating"}),
        ("gate", {"gate": "etcd", "verdict": "allow"}),
        ("gate", {"gate": "audit", "verb": "create", "namespace": "default"}),
        ("response", {"code": 201}),
        ("response", {"code": 201, "resource": "configmaps"}),
        ("write", {"op": "create", "resource": "configmaps", "name": "a"}),
        ("write", {"op": "create", "verb": "create"}),
        ("watch", {"type": "ADDED", "resource": "configmaps"}),
    ],
)
def test_a_breakpoint_holds_at_any_field_of_the_record_or_of_its_request(
    kind: str, wanted: dict[str, Any]
) -> None:
    session = armed(Breakpoint("mine", kind, wanted))
    answer = session.request("POST", CONFIGMAPS, configmap("a"))
    held = held_at(session)
    assert (held["kind"], held["breakpoint"]) == (kind, "mine")
    at = session.records()[held["seq"] - 1]
    assert at["kind"] == kind and all(at.get(key, value) == value for key, value in wanted.items())
    assert not answer.done
    thawed(session)
    assert (answer.done, answer.status) == (True, 201)


@pytest.mark.parametrize(
    ("kind", "wanted"),
    [
        ("gate", {"gate": "mutating", "verb": "delete"}),
        ("gate", {"gate": "mutating", "resource": "pods"}),
        ("write", {"op": "delete"}),
        ("response", {"code": 409}),
        ("gate", {"gate": "nowhere"}),
        ("watch", {"verb": "update"}),
    ],
)
def test_a_breakpoint_that_asks_for_something_else_holds_nothing(
    kind: str, wanted: dict[str, Any]
) -> None:
    session = armed(Breakpoint("mine", kind, wanted))
    assert session.request("POST", CONFIGMAPS, configmap("a")).done
    assert session.cluster.recorder.held is None


def test_the_first_of_two_breakpoints_that_fits_is_named() -> None:
    session = armed(Breakpoint("no", "gate", {"gate": "x"}), Breakpoint("yes", "gate", {}))
    session.request("GET", CONFIGMAPS)
    assert held_at(session)["breakpoint"] == "yes"


def test_a_held_cluster_stays_where_it_is_until_it_is_thawed() -> None:
    session = armed(Breakpoint("b", "gate", {"gate": "authorization"}))
    session.request("GET", CONFIGMAPS)
    seq, now = session.cluster.recorder.seq, session.cluster.kernel.now
    session.settle()
    assert (session.cluster.recorder.seq, session.cluster.kernel.now) == (seq, now)
    assert session.records()[-1]["kind"] == "held"
    assert session.records()[-1]["at"] == held_at(session)["seq"]


def test_a_breakpoint_goes_on_holding_after_each_thaw() -> None:
    session = armed(Breakpoint("b", "request", {"outside": True}))
    first = session.request("GET", CONFIGMAPS)
    session.host.resume()
    session.settle()
    assert first.done and session.cluster.recorder.held is None
    session.request("GET", PODS)
    assert held_at(session)["breakpoint"] == "b"


def test_steps_visit_every_hop_of_a_request_in_order() -> None:
    session = bare_session()
    session.host.pause()
    answer = session.request("GET", CONFIGMAPS)
    seen = []
    while not answer.done:
        session.host.step("hop")
        session.settle()
        if session.cluster.recorder.held is not None:
            at = session.records()[session.cluster.recorder.held["seq"] - 1]
            seen.append(at.get("gate", at["kind"]))
        assert len(seen) < 20
    assert seen[:7] == [
        "request",
        "authentication",
        "audit",
        "flowcontrol",
        "authorization",
        "routing",
        "response",
    ]


def test_nothing_is_kept_of_requests_once_nothing_is_armed() -> None:
    session = armed(Breakpoint("b", "gate", {"gate": "nowhere"}))
    session.request("PATCH", f"{CONFIGMAPS}/there", {"data": {"k": "v"}}, headers=MERGE)
    session.request("GET", f"{CONFIGMAPS}/missing")
    recorder_ = session.cluster.recorder
    assert recorder_.open_requests == {}
    recorder_.arm(breakpoints=())
    assert not recorder_.is_armed


def test_records_are_numbered_without_gaps_and_live_bytes_add_only_the_objects() -> None:
    kernel = kernels.Kernel(5_000_000)
    told = Recorder(kernel, epoch=5_000_000, seq=10)
    told.tell("component", "apiserver", "starting", {}, span=0)
    kernel.now += 7
    told.tell("write", 3, "create", "pods", "default", "p", 0, "", span=0)
    batch = told.take(lambda revision: b'{"revision":%d}' % revision)
    assert batch is not None
    assert (batch.first, batch.last, batch.t) == (11, 12, 7)
    stored = orjson.loads(b"[" + batch.stored + b"]")
    live = orjson.loads(b"[" + batch.live + b"]")
    assert live[1].pop("object") == {"revision": 3}
    assert stored == live
    assert [record["t"] for record in stored] == [0, 7]
    assert told.take(lambda revision: b"") is None


def test_a_write_whose_object_is_gone_says_null() -> None:
    told = Recorder(kernels.Kernel(), epoch=0)
    told.tell("write", 3, "create", "pods", "default", "p", 0, "", span=0)
    batch = told.take(lambda revision: b"")
    assert batch is not None and orjson.loads(batch.live)["object"] is None


def test_a_hop_takes_its_modelled_time_and_telling_takes_none() -> None:
    kernel = kernels.Kernel()
    told = Recorder(kernel, epoch=0)
    told.tell("gate", "etcd", "allow", {}, span=0)
    assert kernel.now == 0

    async def hops() -> None:
        takes = told.gate(0, "decode", "allow", {})
        if takes is not None:
            await takes
        await told.hop("plugin", "mutating", "Priority", "allow", "", [], [], {}, span=0)

    kernel.spawn("hops", hops())
    kernel.run_ready(1)
    assert kernel.now == 90 + 35


def test_an_opening_record_is_its_own_span_and_what_follows_belongs_to_it() -> None:
    session = bare_session()
    session.request("POST", CONFIGMAPS, configmap("a"))
    records = session.records()
    opened = [record for record in records if record["kind"] == "request" and record["outside"]][-1]
    assert opened["span"] == opened["seq"]
    mine = [record["kind"] for record in records if record["span"] == opened["seq"]]
    assert mine[0] == "request" and mine[-1] == "response"
    assert {"gate", "write", "watch"} < set(mine)


def test_every_request_is_closed_by_exactly_one_response() -> None:
    session = Session()
    session.request("POST", PODS, pod("p"))
    session.request("DELETE", f"{PODS}/p")
    records = session.records()
    opened = [record["seq"] for record in records if record["kind"] == "request"]
    closed = [record["span"] for record in records if record["kind"] == "response"]
    assert sorted(closed) == opened


def test_a_restart_goes_on_counting() -> None:
    session = bare_session()
    last = session.cluster.recorder.seq
    session.restart()
    numbers = [record["seq"] for record in session.records()]
    assert numbers[-1] > last and numbers == list(range(1, numbers[-1] + 1))


def test_what_prepare_changes_later_does_not_reach_into_what_decode_told() -> None:
    session = bare_session()
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}
    session.request("POST", "/api/v1/namespaces", body)
    records = session.records()
    span = next(
        record["seq"] for record in records if record["kind"] == "request" and record["outside"]
    )
    told = [
        record for record in records if record["span"] == span and record.get("gate") == "decode"
    ]
    filled = {op["path"]: op["value"] for op in told[0]["detail"]["ops"]}
    assert filled["/spec"] == {}, "its finalizer comes in prepare"


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_is_encoded_with_its_fields_in_order(kind: str) -> None:
    fields = tuple(range(len(KINDS[kind])))
    record = msgspec.to_builtins(recorder.RECORDS[kind](1, 2, kind, 3, *fields))
    assert list(record) == ["seq", "t", "kind", "span", *KINDS[kind]]
    more = OPTIONAL.get(kind, ())
    record = msgspec.to_builtins(recorder.RECORDS[kind](1, 2, kind, 3, *fields, *more))
    assert list(record) == ["seq", "t", "kind", "span", *KINDS[kind], *more]
    with pytest.raises(TypeError, match="positional"):
        recorder.RECORDS[kind](1, 2, kind, 3, *fields, *more, "one too many")


def test_a_text_or_number_of_a_class_of_its_own_is_told_as_what_it_is() -> None:
    class Text(str):
        pass

    class Number(int):
        pass

    told = Recorder(kernels.Kernel(), epoch=0)
    told.tell("gate", "a", "allow", {"word": Text("x"), "count": Number(3), "all": [Text("y")]})
    batch = told.take(lambda revision: b"")
    assert batch is not None
    assert orjson.loads(batch.stored)["detail"] == {"word": "x", "count": 3, "all": ["y"]}
    told.tell("gate", "a", "allow", object())
    with pytest.raises(TypeError, match="cannot hold a object"):
        told.take(lambda revision: b"")


def test_a_large_commit_is_told_in_batches_of_bounded_size() -> None:
    told = Recorder(kernels.Kernel(), epoch=0)
    for number in range(1, 101):
        told.tell("write", number, "create", "pods", "default", "p", 0, "", span=0)
    value = b'{"data":"%s"}' % (b"x" * 10_000)
    batches = list(iter(lambda: told.take(lambda revision: value), None))
    assert len(batches) > 3
    assert max(len(batch.live) for batch in batches) < recorder.BATCH_BYTES + 11_000
    ends = [(batch.first, batch.last) for batch in batches]
    assert [first for first, _ in ends] == [1, *(last + 1 for _, last in ends[:-1])]
    assert ends[-1][1] == 100


def test_records_are_told_in_order_whatever_runs_they_are_encoded_in() -> None:
    told = Recorder(kernels.Kernel(), epoch=0)
    for number in range(3 * recorder.RUN_MAX):
        told.tell("control", "a", {"number": number}, span=0)
        if number % 40 == 39:
            told.tell("write", number, "create", "pods", "default", "p", 0, "", span=0)
            told.tell("write", number, "create", "pods", "default", "q", 0, "", span=0)
    batch = told.take(lambda revision: b'{"of":%d}' % revision)
    assert batch is not None and told.take(lambda revision: b"") is None
    live, stored = (orjson.loads(b"[%s]" % text) for text in (batch.live, batch.stored))
    assert [record["seq"] for record in live] == list(range(1, told.seq + 1))
    objects = [record.pop("object")["of"] for record in live if record["kind"] == "write"]
    assert objects == [39, 39, 79, 79] and live == stored
