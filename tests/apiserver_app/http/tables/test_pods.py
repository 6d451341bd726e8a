"""What `kubectl get pods` shows of a pod in every state."""

from typing import Any

import pytest

from apiserver_app.http.tables import pods, table
from apiserver_app.machinery import meta

NOW = meta.parse_time("2022-02-16T16:00:00Z")


def pod(phase: str = "Running", **changes: Any) -> dict[str, Any]:
    """A pod of one container `c`; changes: statuses, inits, init_statuses, and others."""
    status = {"phase": phase, **changes.get("status", {})}
    if "statuses" in changes:
        status["containerStatuses"] = changes["statuses"]
    if "init_statuses" in changes:
        status["initContainerStatuses"] = changes["init_statuses"]
    return {
        "metadata": {
            "name": "web",
            "creationTimestamp": "2022-02-16T15:53:28Z",
            **changes.get("metadata", {}),
        },
        "spec": {
            "containers": [{"name": "c"}],
            "initContainers": changes.get("inits", []),
            **changes.get("spec", {}),
        },
        "status": status,
    }


def container(name: str = "c", restarts: int = 0, ready: bool = False, **state: Any) -> Any:
    out = {"name": name, "restartCount": restarts, "ready": ready, "state": state}
    if restarts:
        out["lastState"] = {"terminated": {"finishedAt": "2022-02-13T08:00:00Z"}}
    return out


def shown(obj: dict[str, Any]) -> list[Any]:
    return pods.row(obj, NOW)[1:4]


RUNNING: dict[str, Any] = {"running": {"startedAt": "2022-02-16T15:53:44Z"}}
CREATING: dict[str, Any] = {"waiting": {"reason": "ContainerCreating"}}
INITIALIZING: dict[str, Any] = {"waiting": {"reason": "PodInitializing"}}
DONE: dict[str, Any] = {"terminated": {"exitCode": 0, "reason": "Completed"}}
INIT = [{"name": "i"}, {"name": "j"}]
SIDECAR = [{"name": "s", "restartPolicy": "Always"}]

CASES = {
    "pending, not scheduled": (pod("Pending"), ["0/1", "Pending", "0"]),
    "creating": (pod("Pending", statuses=[container(**CREATING)]),
                 ["0/1", "ContainerCreating", "0"]),
    "running and ready": (pod(statuses=[container(ready=True, **RUNNING)]),
                          ["1/1", "Running", "0"]),
    "running, not ready": (pod(statuses=[container(**RUNNING)]), ["0/1", "Running", "0"]),
    "running again": (
        pod(statuses=[container(ready=True, restarts=1, **RUNNING)]),
        ["1/1", "Running", "1 (3d8h ago)"],
    ),
    "crash loop": (
        pod(statuses=[container(restarts=1, waiting={"reason": "CrashLoopBackOff"})]),
        ["0/1", "CrashLoopBackOff", "1 (3d8h ago)"],
    ),
    "image cannot be pulled": (
        pod("Pending", statuses=[container(waiting={"reason": "ErrImagePull"})]),
        ["0/1", "ErrImagePull", "0"],
    ),
    "completed": (pod("Succeeded", statuses=[container(**DONE)]), ["0/1", "Completed", "0"]),
    "failed": (
        pod("Failed", statuses=[container(terminated={"exitCode": 1, "reason": "Error"})]),
        ["0/1", "Error", "0"],
    ),
    "exit code without a reason": (
        pod("Failed", statuses=[container(terminated={"exitCode": 3})]), ["0/1", "ExitCode:3", "0"],
    ),
    "signal without a reason": (
        pod("Failed", statuses=[container(terminated={"exitCode": 137, "signal": 9})]),
        ["0/1", "Signal:9", "0"],
    ),
    "evicted": (pod("Failed", status={"reason": "Evicted"}), ["0/1", "Evicted", "0"]),
    "being deleted": (
        pod(statuses=[container(ready=True, **RUNNING)], metadata={"deletionTimestamp": "x"}),
        ["1/1", "Terminating", "0"],
    ),
    "deleted after it completed": (
        pod("Succeeded", statuses=[container(**DONE)], metadata={"deletionTimestamp": "x"}),
        ["0/1", "Completed", "0"],
    ),
    "on a lost node": (
        pod(status={"reason": "NodeLost"}, metadata={"deletionTimestamp": "x"}),
        ["0/1", "Unknown", "0"],
    ),
    "scheduling gated": (
        pod("Pending", status={"conditions": [
            {"type": "PodScheduled", "status": "False", "reason": "SchedulingGated"}]}),
        ["0/1", "SchedulingGated", "0"],
    ),
    "first init container runs": (
        pod("Pending", inits=INIT, init_statuses=[container("i", **RUNNING), container("j")],
            statuses=[container(**INITIALIZING)]),
        ["0/1", "Init:0/2", "0"],
    ),
    "second init container runs": (
        pod("Pending", inits=INIT, init_statuses=[container("i", **DONE), container("j")],
            statuses=[container(**INITIALIZING)]),
        ["0/1", "Init:1/2", "0"],
    ),
    "init container fails": (
        pod("Pending", inits=INIT, init_statuses=[
            container("i", restarts=2, terminated={"exitCode": 1, "reason": "Error"})]),
        ["0/1", "Init:Error", "2 (3d8h ago)"],
    ),
    "init container backs off": (
        pod("Pending", inits=INIT, init_statuses=[
            container("i", restarts=2, waiting={"reason": "CrashLoopBackOff"})]),
        ["0/1", "Init:CrashLoopBackOff", "2 (3d8h ago)"],
    ),
    "init container exits without a reason": (
        pod("Pending", inits=INIT, init_statuses=[container("i", terminated={"exitCode": 2})]),
        ["0/1", "Init:ExitCode:2", "0"],
    ),
    "initialized": (
        pod("Pending", inits=INIT, init_statuses=[container("i", **DONE), container("j", **DONE)],
            statuses=[container(**INITIALIZING)]),
        ["0/1", "PodInitializing", "0"],
    ),
    "restarts of finished init containers are not counted": (
        pod(inits=INIT[:1], init_statuses=[container("i", restarts=4, **DONE)],
            statuses=[container(ready=True, **RUNNING)]),
        ["1/1", "Running", "0"],
    ),
    "sidecar counts as a container": (
        pod(inits=SIDECAR, statuses=[container(ready=True, **RUNNING)], init_statuses=[
            {**container("s", restarts=1, ready=True, **RUNNING), "started": True}]),
        ["2/2", "Running", "1 (3d8h ago)"],
    ),
    "one container done, one ready": (
        pod(spec={"containers": [{"name": "c"}, {"name": "d"}]},
            statuses=[container(**DONE), container("d", ready=True, **RUNNING)],
            status={"conditions": [{"type": "Ready", "status": "True"}]}),
        ["1/2", "Running", "0"],
    ),
    "one container done, the other's pod not ready": (
        pod(spec={"containers": [{"name": "c"}, {"name": "d"}]},
            statuses=[container(**DONE), container("d", ready=True, **RUNNING)],
            status={"conditions": [{"type": "Ready", "status": "False"}]}),
        ["1/2", "NotReady", "0"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_pod_is_summed_up_as_upstream_does(case: str) -> None:
    obj, expected = CASES[case]
    assert shown(obj) == expected


def test_wide_columns_say_none_where_nothing_is_known() -> None:
    assert pods.row(pod(), NOW)[5:] == ["<none>"] * 4


def test_wide_columns_show_address_node_nomination_and_gates() -> None:
    obj = pod(
        spec={
            "nodeName": "node-1",
            "readinessGates": [{"conditionType": "a"}, {"conditionType": "b"}],
        },
        status={
            "podIPs": [{"ip": "10.0.0.1"}],
            "nominatedNodeName": "node-2",
            "conditions": [{"type": "a", "status": "True"}],
        },
    )
    assert pods.row(obj, NOW)[5:] == ["10.0.0.1", "node-1", "node-2", "1/2"]


def test_row_of_a_finished_pod_carries_the_condition_completed() -> None:
    assert pods.row_conditions(pod("Failed")) == [
        {"type": "Completed", "status": "True", "reason": "Failed", "message": "The pod failed."}
    ]
    assert pods.row_conditions(pod("Running")) is None


def test_pod_columns_are_upstreams() -> None:
    found = [
        (column["name"], column["type"], column["format"], column["priority"])
        for column in table.columns("pods")
    ]
    assert found == [
        ("Name", "string", "name", 0),
        ("Ready", "string", "", 0),
        ("Status", "string", "", 0),
        ("Restarts", "string", "", 0),
        ("Age", "string", "", 0),
        ("IP", "string", "", 1),
        ("Node", "string", "", 1),
        ("Nominated Node", "string", "", 1),
        ("Readiness Gates", "string", "", 1),
    ]
