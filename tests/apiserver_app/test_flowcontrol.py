"""Which flow schema a request falls under; what is written badly harms nobody."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apiserver_app import flags
from apiserver_app.flowcontrol import levels, workestimator
from apiserver_app.flowcontrol.borrowing import Bounds
from apiserver_app.flowcontrol.metrics import Tally
from apiserver_app.handlers.call import Call
from apiserver_app.machinery import kernel as kernels
from apiserver_app.machinery.meta import Credential
from lifecycle.hosting.scripted import Answer, Session
from tests.apiserver_app.cluster import PODS, configmap, header, server_session

SCHEMAS = "/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas"


def flow(session: Session, **more: Any) -> str:
    session.request("GET", PODS, **more)
    gates = [record for record in session.records() if record.get("gate") == "flowcontrol"]
    return str(gates[-1]["detail"].get("flowSchema", ""))


@pytest.fixture(scope="module")
def session() -> Session:
    return server_session()


def test_the_admin_is_exempt_and_everyone_else_is_not(session: Session) -> None:
    assert flow(session) == "exempt"
    assert flow(session, user="student") == "global-default"
    assert flow(session, user="") == "global-default"


@pytest.mark.parametrize(
    "rules",
    [
        None,
        [{}],
        [{"subjects": [{"kind": "User"}], "resourceRules": [{}]}],
        [{"subjects": [{"kind": "Group"}, {"kind": "ServiceAccount"}]}],
        [
            {
                "subjects": [{"kind": "Group", "group": {"name": "*"}}],
                "resourceRules": [{"verbs": ["*"]}],
                "nonResourceRules": [{"verbs": ["*"]}],
            }
        ],
    ],
)
def test_a_schema_with_holes_in_it_is_passed_over(rules: Any) -> None:
    session = server_session()
    body: dict[str, Any] = {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "FlowSchema",
        "metadata": {"name": "holes"},
        "spec": {"matchingPrecedence": 2},
    }
    if rules is not None:
        body["spec"]["rules"] = rules
    session.request("POST", SCHEMAS, body)
    assert session.request("GET", PODS, user="student").status == 403
    assert session.request("GET", PODS).status == 200
    assert session.request("GET", "/version", user="student").status == 200


def test_a_schema_that_comes_first_takes_what_it_names(session: Session) -> None:
    body = {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "FlowSchema",
        "metadata": {"name": "mine"},
        "spec": {
            "matchingPrecedence": 3, "priorityLevelConfiguration": {"name": "workload-low"},
            "rules": [{
                "subjects": [{"kind": "User", "user": {"name": "pat"}}],
                "resourceRules": [{"verbs": ["list"], "apiGroups": [""], "resources": ["pods"],
                                   "namespaces": ["default"]}],
            }],
        },
    }  # fmt: skip
    assert flow(session, user="pat") == "global-default"
    assert session.request("POST", SCHEMAS, body).status == 201
    assert flow(session, user="pat") == "mine"
    assert flow(session, user="student") == "global-default"


# -- seats and queues ----------------------------------------------------------------------------

LEVELS = "/apis/flowcontrol.apiserver.k8s.io/v1/prioritylevelconfigurations"
DUMPS = "/debug/api_priority_and_fairness"
ABSENT = "/api/v1/namespaces/absent/configmaps"


def narrow(**response: Any) -> Session:
    """A cluster where all that `teacher` asks goes through a level with a single seat."""
    given = flags.Flags(max_requests_inflight=1, max_mutating_requests_inflight=1)
    session = server_session(flags=given)
    level = {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "PriorityLevelConfiguration",
        "metadata": {"name": "narrow"},
        "spec": {
            "type": "Limited",
            "limited": {
                "nominalConcurrencyShares": 1,
                "borrowingLimitPercent": 0,
                "limitResponse": response,
            },
        },
    }
    assert session.request("POST", LEVELS, level).status == 201
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "namespaces": ["*"]}
    schema = {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "FlowSchema",
        "metadata": {"name": "narrow"},
        "spec": {
            "matchingPrecedence": 3,
            "priorityLevelConfiguration": {"name": "narrow"},
            "distinguisherMethod": {"type": "ByUser"},
            "rules": [
                {
                    "subjects": [{"kind": "User", "user": {"name": "teacher"}}],
                    "resourceRules": [everything],
                }
            ],
        },
    }
    assert session.request("POST", SCHEMAS, schema).status == 201
    return session


def crowd(session: Session, count: int) -> list[Answer]:
    """So many requests at once. Each waits for its namespace to appear, and keeps its seat."""
    sent = [
        session.send("POST", ABSENT, configmap(f"c{number}"), user="teacher")
        for number in range(count)
    ]
    session.settle()
    return sent


def queuing(queues: int, hand: int, length: int) -> dict[str, Any]:
    shape = {"queues": queues, "handSize": hand, "queueLengthLimit": length}
    return {"type": "Queue", "queuing": shape}


def endless(level: levels.Level) -> None:
    """A request that never ends."""
    flow = levels.Flow("narrow", level, "", (0,), Tally())
    call = Call("list", PODS, Credential(), "kubectl")
    assert level.take(flow, workestimator.ONE, "teacher", call) is not None


def details(session: Session) -> list[dict[str, Any]]:
    """What flow control said of the teacher's requests."""
    gates = [record for record in session.records() if record.get("gate") == "flowcontrol"]
    return [gate["detail"] for gate in gates if gate["detail"].get("flowSchema") == "narrow"]


def test_who_finds_no_seat_waits_in_a_queue_and_the_trace_says_where_and_how_long() -> None:
    session = narrow(**queuing(1, 1, 50))
    answers = crowd(session, 3)
    assert [answer.status for answer in answers] == [404, 404, 404]
    first, second, third = details(session)
    assert "queue" not in first and first["limit"] == 1
    assert (second["queue"], second["position"], third["position"]) == (0, 1, 2)
    assert 0 < second["waited"] < third["waited"]


def test_a_full_queue_refuses_in_plain_text_and_says_when_to_come_again() -> None:
    session = narrow(**queuing(1, 1, 1))
    answers = crowd(session, 3)
    assert sorted(answer.status for answer in answers) == [404, 404, 429]
    refused = next(answer for answer in answers if answer.status == 429)
    assert refused.text == b"Too many requests, please try again later.\n"
    assert header(refused, "Retry-After") == ["1"]
    assert header(refused, "Content-Type") == ["text/plain; charset=utf-8"]
    assert header(refused, "X-Kubernetes-Pf-Prioritylevel-Uid") != []
    told = next(detail for detail in details(session) if detail["word"] == "429")
    assert (told["why"], told["executing"]) == ("queue-full", 1)


def test_a_level_without_queues_refuses_at_once() -> None:
    session = narrow(type="Reject")
    assert sorted(answer.status for answer in crowd(session, 2)) == [404, 429]
    assert details(session)[-1]["why"] == "concurrency-limit"


def test_the_exempt_never_wait() -> None:
    session = narrow(type="Reject")
    sent = [session.send("POST", ABSENT, configmap(f"q{n}")) for n in range(3)]
    session.settle()
    assert [answer.status for answer in sent] == [404, 404, 404]


def test_seats_are_given_back_and_a_watch_keeps_none() -> None:
    session = narrow(type="Reject")
    watches = [session.request("GET", f"{PODS}?watch=1", user="teacher") for _ in range(3)]
    assert [watch.status for watch in watches] == [200, 200, 200]
    assert session.request("GET", PODS, user="teacher").status == 200


def test_who_waits_too_long_is_refused() -> None:
    session = narrow(**queuing(1, 1, 50))
    level = session.cluster.context.flow.levels["narrow"]
    endless(level)
    answer = session.request("GET", PODS, user="teacher")
    assert answer.status == 429
    assert details(session)[-1]["why"] == "time-out"
    assert (level.waiting, level.timed_out) == (0, 1)


def test_a_flow_is_dealt_a_hand_of_different_queues() -> None:
    assert levels.deal(0, 64, 8) == (0, 1, 2, 3, 4, 5, 6, 7)
    hand = levels.deal(0x0123456789ABCDEF, 64, 8)
    assert len(set(hand)) == 8 and max(hand) < 64


def test_a_free_seat_goes_to_the_flow_that_had_least() -> None:
    kernel = kernels.Kernel()
    level = levels.Level(kernel, "x", levels.Shape(Bounds(1, 1, 1), 2, 1, 50))
    served: list[str] = []

    async def one(name: str, index: int) -> None:
        flow = levels.Flow(name, level, name, (index,), Tally())
        taken = level.take(flow, workestimator.ONE, "u", None)
        if taken is None:
            taken = await level.wait(flow, workestimator.ONE, "u", None, 15)
        await kernel.sleep(0.1)
        served.append(name)
        level.leave(taken)

    for flow in ("elephant",) * 6 + ("mouse",):
        kernel.spawn(flow, one(flow, 0 if flow == "elephant" else 1))
    while kernel.has_ready() or kernel.fire_timer(0, jump=True):
        kernel.run_ready(100)
    assert served.index("mouse") <= 2
    assert served.count("elephant") == 6


@settings(max_examples=50, deadline=None)
@given(
    queues=st.integers(1, 6),
    turn=st.integers(0, 8),
    asked=st.lists(st.tuples(st.integers(0, 5), st.integers(1, 3), st.integers(0, 3)), max_size=30),
)
def test_the_queue_that_comes_next_is_the_first_in_turn_that_would_be_done_first(
    queues: int, turn: int, asked: list[tuple[int, int, int]]
) -> None:
    kernel = kernels.Kernel()
    level = levels.Level(kernel, "x", levels.Shape(Bounds(3, 3, 3), queues, 1, 50))
    fairest = level.fairest

    def checked() -> levels.Queue | None:
        count, begin = len(level.queues), level.next_turn + 1
        turned = [level.queues[(begin + step) % count] for step in range(count)]
        ends = {
            queue.index: queue.next_dispatch + queue.waiting[0].work.seat_seconds
            for queue in turned
            if queue.waiting
        }
        found = fairest()
        assert found is (level.queues[min(ends, key=lambda index: ends[index])] if ends else None)
        return found

    async def one(index: int, seats: int, seconds: int) -> None:
        flow = levels.Flow("s", level, "d", (index % queues,), Tally())
        work = workestimator.Work(seats, seats, 0)
        taken = level.take(flow, work, "u", None) or await level.wait(flow, work, "u", None, 100)
        await kernel.sleep(seconds)
        level.leave(taken)

    level.next_turn = turn % queues
    level.fairest = checked  # type: ignore[method-assign]
    for index, seats, seconds in asked:
        kernel.spawn("asks", one(index, seats, seconds))
    while kernel.has_ready() or kernel.fire_timer(0, jump=True):
        kernel.run_ready(100)
    assert level.waiting == 0


def test_without_fairness_there_are_two_plain_limits() -> None:
    given = flags.Flags(
        enable_priority_and_fairness=False,
        max_requests_inflight=1,
        max_mutating_requests_inflight=1,
    )
    session = server_session(flags=given)
    assert sorted(answer.status for answer in crowd(session, 2)) == [404, 429]
    assert session.request("GET", PODS, user="teacher").status == 200
    assert header(session.request("GET", PODS), "X-Kubernetes-Pf-Flowschema-Uid") == []


def test_the_dumps_show_levels_queues_and_who_waits() -> None:
    session = narrow(**queuing(2, 1, 50))
    level = session.cluster.context.flow.levels["narrow"]
    endless(level)
    session.send("GET", PODS, user="teacher")
    rows = {}
    for name in ("dump_priority_levels", "dump_queues", "dump_requests?includeRequestDetails=1"):
        text = session.request("GET", f"{DUMPS}/{name}", settle=False).text.decode()
        rows[name] = [line.split() for line in text.splitlines() if line.startswith("narrow,")]
    assert rows["dump_priority_levels"][0][4:6] == ["1,", "1,"]
    assert sum(int(row[2].rstrip(",")) for row in rows["dump_queues"]) == 1
    asked = rows["dump_requests?includeRequestDetails=1"]
    waiting, serving = sorted(asked, key=lambda row: row[3], reverse=True)
    assert waiting[10:] == ["teacher,", "list,", f"{PODS},", "default,", ",", "v1,", "pods,"]
    assert (waiting[3], serving[3]) == ("0,", "-1,")


def test_a_schema_says_whether_its_level_is_there() -> None:
    session = server_session()
    schema = {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "FlowSchema",
        "metadata": {"name": "lost"},
        "spec": {"priorityLevelConfiguration": {"name": "absent"}},
    }
    made = session.request("POST", SCHEMAS, schema).json()
    assert made["spec"]["matchingPrecedence"] == 1000

    def dangling() -> tuple[str, str, str]:
        [found] = session.request("GET", f"{SCHEMAS}/lost").json()["status"]["conditions"]
        return found["status"], found["reason"], found["message"]

    said = 'This FlowSchema references the PriorityLevelConfiguration object named "absent" '
    assert dangling() == ("True", "NotFound", said + "but there is no such object")
    level = {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "PriorityLevelConfiguration",
        "metadata": {"name": "absent"},
        "spec": {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {}}}},
    }
    spec = session.request("POST", LEVELS, level).json()["spec"]["limited"]
    assert spec == {
        "nominalConcurrencyShares": 30,
        "lendablePercent": 0,
        "limitResponse": {
            "type": "Queue",
            "queuing": {"queues": 64, "handSize": 8, "queueLengthLimit": 50},
        },
    }
    assert dangling() == ("False", "Found", said + "and it exists")


def test_a_schema_that_would_come_before_all_others_is_invalid() -> None:
    schema = {
        "apiVersion": "flowcontrol.apiserver.k8s.io/v1",
        "kind": "FlowSchema",
        "metadata": {"name": "first"},
        "spec": {"matchingPrecedence": 1, "priorityLevelConfiguration": {"name": "exempt"}},
    }
    answer = server_session().request("POST", SCHEMAS, schema)
    assert answer.status == 422
    assert answer.json()["details"]["causes"][0]["message"] == (
        "Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1"
    )
