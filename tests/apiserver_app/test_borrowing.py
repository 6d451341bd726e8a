"""Levels lend each other seats by what was asked of them; wide requests take more than one."""

from __future__ import annotations

import pytest

from apiserver_app import flags
from apiserver_app.flowcontrol import borrowing, workestimator
from apiserver_app.flowcontrol.borrowing import Account, Bounds
from apiserver_app.handlers.call import Call
from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.kinds.kinds import Resources
from apiserver_app.machinery.meta import Credential
from apiserver_app.machinery.releases import Release
from lifecycle.hosting.scripted import Session, default_inputs
from tests.apiserver_app.cluster import CONFIGMAPS, PODS, configmap, server_session

PODS_KEY = "pods"


@pytest.mark.parametrize(
    ("total", "classes", "seats"),
    [
        (10, [(1, 0, 10), (1, 0, 10)], [5, 5]),
        (10, [(1, 0, 2), (1, 0, 10)], [2, 8]),
        (10, [(8, 8, 10), (4, 0, 10)], [8, 2]),
        (10, [(0, 0, 10), (3, 1, 10)], [0.003332, 9.996668]),
        (6, [(1, 1, 9), (2, 2, 9), (3, 3, 9)], [1, 2, 3]),
        (0, [(1, 0, 1)], [0]),
    ],
)
def test_each_gets_the_same_fraction_of_its_target_within_its_bounds(
    total: int, classes: list[tuple[float, float, float]], seats: list[float]
) -> None:
    found = borrowing.allocate(total, classes)
    assert found is not None
    assert found[0] == pytest.approx(seats, abs=1e-5)


def test_what_cannot_come_out_even_is_not_allocated() -> None:
    assert borrowing.allocate(3, [(4, 4, 9)]) is None
    assert borrowing.allocate(30, [(4, 4, 9)]) is None


def test_demand_is_weighted_by_time_and_forgotten_slowly() -> None:
    kernel = Kernel()
    account = Account(kernel, Bounds(10, 5, 20), exempt=False)
    account.demand.set(4)
    kernel.now += 5 * SECOND
    account.demand.set(0)
    kernel.now += 5 * SECOND
    account.update()
    assert (account.high_watermark, account.average, account.deviation) == (4, 2.0, 2.0)
    assert (account.smoothed, account.lowest) == (4.0, 5)
    kernel.now += 10 * SECOND
    account.update()
    assert account.high_watermark == 0
    assert account.smoothed == pytest.approx(4 * 0.977)


def limits(session: Session) -> dict[str, tuple[int, int]]:
    levels = session.cluster.context.flow.levels
    return {name: (one.account.bounds.nominal, one.account.current) for name, one in levels.items()}


def test_seats_that_nobody_uses_are_lent_from_the_start() -> None:
    session = server_session()
    session.request("GET", PODS, user="student")
    found = limits(session)
    # 600 seats by shares of 245
    assert {name: nominal for name, (nominal, _) in found.items()} == {
        "catch-all": 13,
        "exempt": 0,
        "global-default": 49,
        "leader-election": 25,
        "node-high": 98,
        "system": 74,
        "workload-high": 98,
        "workload-low": 245,
    }
    assert found["workload-low"][1] < 245 and found["leader-election"][1] > 25
    total = sum(nominal for nominal, _ in found.values())
    assert abs(sum(current for _, current in found.values()) - total) <= len(found)


def test_a_level_that_is_pressed_gets_what_others_have_no_use_for() -> None:
    session = server_session()
    session.request("GET", PODS, user="student")
    before = limits(session)["workload-low"][1]
    level = session.cluster.context.flow.levels["workload-low"]
    level.account.demand.set(240)
    session.wait(11)
    assert level.account.high_watermark == 240
    assert limits(session)["workload-low"][1] >= 240 > before
    level.account.demand.set(0)
    session.wait(3600)
    assert limits(session)["workload-low"][1] == before


def test_the_gate_tells_a_borrowed_limit_beside_the_levels_own() -> None:
    session = server_session()
    session.request("GET", PODS, user="student")
    gate = [record for record in session.records() if record.get("gate") == "flowcontrol"][-1]
    own, now = limits(session)["global-default"]
    assert (gate["detail"]["limit"], gate["detail"]["nominal"]) == (now, own)
    assert now != own


# -- how wide ------------------------------------------------------------------------------------


def work(
    verb: str,
    params: dict[str, str] | None = None,
    *,
    stored: int = 0,
    watches: int = 0,
    minor: int = 33,
) -> workestimator.Work:
    info = Resources(Release(33)).by_key[PODS_KEY]
    estimator = workestimator.Estimator(lambda _: stored, lambda *_: watches, Release(minor))
    asked = {name: [value] for name, value in (params or {}).items()}
    call = Call(verb, PODS, Credential(), "kubectl", info, namespace="default", params=asked)
    return estimator.of(call, 10)[0]


@pytest.mark.parametrize(
    ("params", "seats"),
    [
        ({}, 3),  # from the cache: all of them are looked at
        ({"limit": "50"}, 1),  # from etcd: twice what is asked for
        ({"limit": "150"}, 3),
        ({"limit": "50", "labelSelector": "a=b"}, 3),
        ({"resourceVersion": "0", "limit": "1"}, 3),
    ],
)
def test_a_list_is_as_wide_as_what_is_looked_at(params: dict[str, str], seats: int) -> None:
    assert work("list", params, stored=250) == workestimator.Work(seats)


def test_no_request_is_wider_than_ten_seats() -> None:
    assert work("list", stored=100_000) == workestimator.Work(10)


def test_a_watch_is_wide_only_when_it_begins_with_what_there_is() -> None:
    asked = {"sendInitialEvents": "true"}
    assert work("watch", stored=500, minor=34) == workestimator.ONE
    assert work("watch", asked, stored=500, minor=34) == workestimator.Work(5)
    assert work("watch", asked, stored=500, minor=33) == workestimator.ONE


def test_a_write_that_many_watch_keeps_seats_busy_after_its_answer() -> None:
    assert work("create", watches=9) == workestimator.ONE
    assert work("create", watches=10) == workestimator.Work(1, 1, 5000)
    assert work("patch", watches=45) == workestimator.Work(1, 5, 5000)
    assert work("delete", watches=200) == workestimator.Work(1, 10, 10_000)
    assert work("get", watches=200) == workestimator.ONE


def test_the_seats_of_a_watched_write_come_back_5_ms_after_it() -> None:
    given = flags.Flags(max_requests_inflight=400, max_mutating_requests_inflight=200)
    session = Session(default_inputs(nodes=0, flags=given))
    for _ in range(25):
        session.request("GET", f"{CONFIGMAPS}?watch=1&resourceVersion=0", settle=False)
    session.settle()
    level = session.cluster.context.flow.levels["exempt"]
    assert session.request("POST", CONFIGMAPS, configmap("a"), settle=False).status == 201
    assert (level.executing, level.seats) == (0, 3)
    gate = [record for record in session.records() if record.get("gate") == "flowcontrol"][-1]
    assert gate["detail"]["watches"] == 26  # with the one of the controllers
    assert (gate["detail"]["seats"], gate["detail"]["afterwards"]) == (3, 5000)
    session.wait(0.01)
    assert level.seats == 0
