"""An object that is chosen takes the place of the nodes: what it wants beside what there is, at the
moment that is shown."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from playwright.sync_api import Locator, expect

from tests.browser import asking, measures
from tests.browser.sight import COMPACT, ROOMY, Look, Sight
from tests.lifecycle.hosting.running import Demo

PHONE = (390, 844)
CLAIM = {
    "accessModes": ["ReadWriteOnce"],
    "storageClassName": "manual",
    "resources": {"requests": {"storage": "1Gi"}},
}
VOLUME = {
    "capacity": {"storage": "2Gi"},
    "accessModes": ["ReadWriteOnce"],
    "hostPath": {"path": "/data"},
    "storageClassName": "manual",
}


@pytest.fixture(autouse=True)
def running(demo: Demo) -> None:
    """Each test begins with a cluster that runs."""
    asking.free(demo, "max")


@pytest.fixture(scope="module")
def db(demo: Demo) -> list[dict[str, Any]]:
    """The writes of a StatefulSet of three pods and of what it owns, until all are ready."""
    for i in range(3):
        make(demo, "v1", "PersistentVolume", f"disk-{i}", VOLUME)
    labels = {"app": "db"}
    container = {
        "name": "db",
        "image": "postgres",
        "volumeMounts": [{"name": "data", "mountPath": "/data"}],
    }
    make(
        demo,
        "apps/v1",
        "StatefulSet",
        "db",
        {
            "replicas": 3,
            "serviceName": "db",
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": [container]}},
            "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": CLAIM}],
        },
    )
    asking.until(lambda: status(demo, "statefulsets", "db").get("readyReplicas") == 3)
    return [record for record in asking.records(demo) if record["kind"] == "write"]


def test_pods_of_a_stateful_set_wait_for_the_one_before(
    look: Look, demo: Demo, db: list[dict[str, Any]]
) -> None:
    bound = next(one for one in db if one["name"] == "db-1" and one["resource"] == "pods")
    sight = look(COMPACT, query=f"r={bound['rev']}&{chosen('statefulsets.apps', 'db')}&lang=en")
    board = board_of(sight, "StatefulSet db")
    order = board.locator("ol li").all_inner_texts()
    assert [one.split("\n")[0].strip() for one in order] == ["db-0", "db-1", "db-2"]
    sight.says(board.locator("ol li").last, "comes when db-1 is ready")
    sight.says(board.locator("ol li").first, "ready")
    assert row(board, "Order") == ["OrderedReady"]
    assert_laid_out(sight)

    now = look(ROOMY, query=f"{chosen('statefulsets.apps', 'db')}&theme=dark&lang=zh")
    board = board_of(now, "StatefulSet db")
    assert row(board, "就绪") == ["3", "3"]
    assert_laid_out(now)
    claim = board.get_by_role("button", name=re.compile("^data-db-1 "))
    claim.focus()
    now.press("Enter")

    board = board_of(now, "PersistentVolumeClaim data-db-1")
    assert row(board, "阶段") == ["Bound", "Bound"]
    assert row(board, "存储") == ["1Gi", "2Gi"]
    volume = asking.objects(demo, "persistentvolumeclaims")["data-db-1"]["spec"]["volumeName"]
    board.get_by_role("button", name=re.compile(f"^{volume} ")).click()
    expect(board_of(now, f"PersistentVolume {volume}")).to_contain_text("data-db-1")
    assert_laid_out(now)


def test_a_controller_with_a_long_name_has_room_for_it_and_for_its_caches(
    look: Look, demo: Demo
) -> None:
    name = "horizontalpodautoscaler"
    make(
        demo,
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "nothing",
        {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "none"},
            "maxReplicas": 2,
        },
    )

    with asking.soon(demo):
        seq = asking.until_recorded(
            demo, lambda one: one["kind"] == "work" and one["component"] == name
        )["seq"]
    cut = "all => all.filter((e) => e.scrollWidth > e.clientWidth + 1).map((e) => e.textContent)"
    for size in (COMPACT, ROOMY):
        sight = look(size, query=f"h={seq}&theme=light&lang=en")
        said = sight.page.locator(".timeline .names span, .lane .cache, .lane h3")
        expect(said.filter(has_text=name)).to_have_count(2)
        sight.says(sight.page.locator(f"#lane-{name} .cache"), "HPA")
        assert said.evaluate_all(cut) == []
        assert_laid_out(sight)


def test_a_job_counts_what_succeeds_and_what_fails(look: Look, demo: Demo) -> None:
    simulated = {"simulation.lifecycle/run-seconds": "1", "simulation.lifecycle/exit-code": "1"}
    spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "perl"}]}
    template = {"metadata": {"annotations": simulated}, "spec": spec}
    make(demo, "batch/v1", "Job", "pi", {"backoffLimit": 1, "template": template})
    asking.until(lambda: status(demo, "jobs", "pi").get("failed") == 2)
    sight = look(PHONE, query=f"{chosen('jobs.batch', 'pi')}&theme=projector&lang=en")
    board = board_of(sight, "Job pi")
    assert row(board, "Pods that succeed") == ["1", "0"]
    assert row(board, "Pods that fail") == ["≤ 1", "2"]
    sight.says(board, "2 pods")
    sight.says(board, "BackoffLimitExceeded")
    assert sight.page.evaluate(measures.CONTRAST) == []


def test_an_autoscaler_says_what_it_cannot_measure_and_leads_to_its_target(
    look: Look, demo: Demo
) -> None:
    asking.run(demo, "web", 2)
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    cpu = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}
    make(
        demo,
        "autoscaling/v2",
        "HorizontalPodAutoscaler",
        "web",
        {
            "scaleTargetRef": target,
            "maxReplicas": 5,
            "metrics": [{"type": "Resource", "resource": cpu}],
        },
    )
    with asking.soon(demo):
        asking.until(lambda: status(demo, "horizontalpodautoscalers", "web").get("conditions"))
    key = chosen("horizontalpodautoscalers.autoscaling", "web")
    sight = look(COMPACT, query=f"{key}&theme=light&lang=en")
    board = board_of(sight, "HorizontalPodAutoscaler web")
    sight.says(board, "Not scaling: no metrics API")
    assert row(board, "cpu") == ["50 %", "–"]
    assert row(board, "Least and most") == ["1 … 5"]
    sight.says(board, "FailedGetResourceMetric")
    assert_laid_out(sight)

    board.get_by_role("button", name=re.compile("web Deployment")).click()

    board = board_of(sight, "Deployment web")
    owners = board.locator(".owners li")
    expect(owners).to_have_count(4)
    sight.says(owners.first, "Deployment")
    owners.last.get_by_role("button").click()
    sight.says(sight.page.locator(".crumb"), "Pod")


def test_a_namespace_is_a_table_of_its_kinds_and_leads_to_an_event(
    look: Look, demo: Demo, db: list[dict[str, Any]]
) -> None:
    asking.control(demo, action="pause")  # else another event may be the newest when it is clicked
    sight = look(ROOMY, query="theme=light&lang=en")
    door = sight.button("Namespace default, kind by kind")
    door.focus()
    sight.press("Enter")
    board = board_of(sight, "Namespace default")
    assert row(board, "StatefulSet") == ["1", "1"]
    assert row(board, "PersistentVolumeClaim") == ["3", "3"]
    assert_laid_out(sight)

    events = board.locator(".part", has_text="Newest events").get_by_role("button")
    reason = events.first.locator("b").inner_text()
    events.first.click()

    told = sight.page.get_by_role("region", name=re.compile("^Event "))
    sight.says(told.get_by_role("row", name=re.compile("^Reason")), reason)
    assert_laid_out(sight)


def make(demo: Demo, version: str, kind: str, name: str, spec: dict[str, Any]) -> None:
    one = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}
    (result,) = asking.apply(demo, json.dumps(one))
    assert result["code"] == 201, result


def status(demo: Demo, resource: str, name: str) -> dict[str, Any]:
    return dict(asking.objects(demo, resource)[name].get("status") or {})


def chosen(resource: str, name: str) -> str:
    return f"sel=object/{resource}/default/{name}"


def board_of(sight: Sight, name: str) -> Locator:
    board = sight.page.get_by_role("region", name=name, exact=True)
    expect(board).to_be_visible()
    return board


def row(board: Locator, label: str) -> list[str]:
    """What stands beside a label."""
    name = re.compile(f"^{re.escape(label)} ")
    cells = board.get_by_role("row", name=name).get_by_role("cell")
    expect(cells.first).to_be_visible()
    return [text.strip() for text in cells.all_inner_texts()]


def assert_laid_out(sight: Sight) -> None:
    sight.settle()
    wrong = [*sight.page.evaluate(measures.LAYOUT), *sight.page.evaluate(measures.CONTRAST)]
    assert wrong == [], json.dumps(wrong)
