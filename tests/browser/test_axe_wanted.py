"""axe-core finds nothing amiss where something is not as wanted, moves, or is compared: on a desk
and on a phone, in each theme and language: each moment in one look of the day,
in the long suite in all."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import expect

from tests import builders
from tests.browser import asking
from tests.browser.axe import PHONE, looks_of, violations
from tests.browser.sight import Look
from tests.conformance import kubectl as kubectls
from tests.conformance.kubectl import PATIENTLY, Kubectl
from tests.lifecycle.hosting.running import Demo

DESK = (1280, 800)
CRASHES = {"simulation.lifecycle/crash": "true"}
CLAIM = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {"name": "data"},
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": "",
        "resources": {"requests": {"storage": "1Gi"}},
    },
}
HELD = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "kept", "namespace": "going", "finalizers": ["example.com/mine"]},
}


@pytest.fixture(scope="module")
def moments(
    demo: Demo, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[str, str, str]]:
    """Of each moment the link to it, a part of the page, and what that says there in English."""
    kubectl = Kubectl(kubectls.newest(), demo.data_dir, tmp_path_factory.mktemp("home"))
    preempt(kubectl)
    roll(kubectl)
    end_jobs(kubectl)
    kubectl("create", "-f", "-", given=json.dumps(CLAIM))
    kubectl("create", "namespace", "going")
    kubectl("create", "-f", "-", given=json.dumps(HELD))
    kubectl("delete", "namespace", "going", "--wait=false")
    kubectl("create", "-f", "-", given=asking.pod("crash", annotations=CRASHES))
    asking.until(lambda: restarts(demo) > 1)
    asking.control(demo, action="pause")
    records = asking.records(demo)
    seq, fork = half_way(records), forked(demo)
    left = next(
        record
        for record in records
        if (record["kind"], record.get("phase")) == ("schedule", "preempt")
    )
    return {
        "crash loop": ("sel=pod/default/crash", ".wanted", "has exited"),
        "rollout": (f"h={seq}&sel=object/deployments.apps/default/roll", ".rollout", "new"),
        "finished job": ("sel=object/jobs.batch/default/done", ".kindboard", "has finished"),
        "failed job": ("sel=object/jobs.batch/default/failed", ".kindboard", "has failed"),
        "preemption": (f"h={left['seq']}", ".board", "would leave"),
        "claim": (
            "sel=object/persistentvolumeclaims/default/data",
            ".kindboard",
            "it names no class",
        ),
        "namespace": ("sel=object/namespaces//going", ".kindboard", "holds the rest"),
        "fork compared": (f"cluster={fork}&with=demo", "#inspector", "other"),
        "fork split": (f"cluster={fork}&with=demo&map=split", ".half.is-open", fork),
        "search": ("q=kind:pod", "#inspector .found", "Pod"),
    }


@pytest.mark.parametrize("size", [DESK, PHONE])
def test_nothing_is_amiss_where_something_fails_waits_or_is_compared(
    look: Look, moments: dict[str, tuple[str, str, str]], size: tuple[int, int]
) -> None:
    wrong: list[str] = []
    for moment, (query, part, text) in moments.items():
        sight = look(size, query=f"theme=light&lang=en&{query}")
        expect(sight.page.locator(part).first).to_contain_text(text)
        for dress in looks_of(f"{moment} {size[0]}"):
            found = violations(sight, dress)
            wrong += [f"{moment}, {' '.join(dress)}: {one}" for one in found]
        sight.close()  # ten that go on drawing would take as much as all that is looked for
    assert not wrong, "\n".join(["", *wrong])


def preempt(kubectl: Kubectl) -> None:
    """Every node is full of what is worth less than the next pod."""
    for name, value in (("low", "-100"), ("high", "100000")):
        kubectl("create", "priorityclass", name, f"--value={value}")
    kubectl("create", "-f", "-", given=json.dumps(filling("low", 3)))
    kubectl("rollout", "status", "deployment/low", PATIENTLY)
    kubectl("create", "-f", "-", given=json.dumps(filling("high", 1)))
    kubectl("rollout", "status", "deployment/high", PATIENTLY)
    kubectl("delete", "deployment", "low", "high")


def filling(name: str, replicas: int) -> dict[str, Any]:
    """Pods of which a node can take one."""
    body = builders.deployment(name, container="web", replicas=replicas)
    spec = body["spec"]["template"]["spec"]
    spec["priorityClassName"] = name
    spec["containers"][0]["resources"] = {"requests": {"cpu": "3"}}
    return body


def roll(kubectl: Kubectl) -> None:
    kubectl("create", "-f", "-", given=asking.deployment("roll", 3))
    kubectl("rollout", "status", "deployment/roll", PATIENTLY)
    kubectl("set", "image", "deployment/roll", "web=nginx:1.27")
    kubectl("rollout", "status", "deployment/roll", PATIENTLY)


def half_way(records: list[dict[str, Any]]) -> int:
    """The record at which some pods of the rollout are new, and not all."""
    for record in records:
        if record["kind"] != "write" or record["resource"] != "deployments.apps":
            continue
        written = record["object"]
        updated = (written.get("status") or {}).get("updatedReplicas", 0)
        if record["name"] == "roll" and written["metadata"]["generation"] == 2 and 0 < updated < 3:
            return int(record["seq"])
    raise AssertionError("the rollout came at once")


def end_jobs(kubectl: Kubectl) -> None:
    for name, code in (("done", "0"), ("failed", "1")):
        simulated = {
            "simulation.lifecycle/run-seconds": "1",
            "simulation.lifecycle/exit-code": code,
        }
        spec = {"restartPolicy": "Never", "containers": [{"name": "c", "image": "perl"}]}
        template = {"metadata": {"annotations": simulated}, "spec": spec}
        body = {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": name},
            "spec": {"backoffLimit": 0, "template": template},
        }
        kubectl("create", "-f", "-", given=json.dumps(body))
    kubectl("wait", "--for=condition=Complete", "job/done", PATIENTLY)
    kubectl("wait", "--for=condition=Failed", "job/failed", PATIENTLY)


def restarts(demo: Demo) -> int:
    status = asking.objects(demo, "pods")["crash"].get("status", {})
    return sum(one["restartCount"] for one in status.get("containerStatuses", []))


def forked(demo: Demo) -> str:
    """A fork of this moment in which there is one pod more."""
    body = json.dumps({"seq": asking.state(demo)["seq"]}).encode()
    answer = demo.ask("POST", f"{asking.CLUSTER}/forks", body, Content_Type="application/json")
    name = str(json.loads(answer.read())["name"])
    path = f"/viz/v1/clusters/{name}"

    def is_ready() -> bool:
        forks = json.loads(demo.get(f"{asking.CLUSTER}/forks").read())["forks"]
        return any(fork["name"] == name and fork["state"] == "ready" for fork in forks)

    asking.until(is_ready)
    made = demo.ask("POST", f"{path}/apply?as=admin", asking.pod("other").encode())
    assert json.loads(made.read())["results"][0]["code"] == 201
    return name
