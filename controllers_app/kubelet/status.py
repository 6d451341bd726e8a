"""A pod's status as its kubelet reports it: phase, conditions, container statuses. Pure.

Models kubernetes pkg/kubelet/kubelet_pods.go (getPhase, convertToAPIContainerStatuses) and
pkg/kubelet/status/generate.go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object


@dataclass(slots=True)
class ContainerState:
    """Where one container stands. `state` and `last` are the API's state objects."""

    name: str
    image: str
    image_id: str = ""
    container_id: str = ""
    state: Object = field(default_factory=dict)
    last: Object = field(default_factory=dict)
    ready: bool = False
    started: bool = False
    restarts: int = 0

    @property
    def is_running(self) -> bool:
        return "running" in self.state

    @property
    def terminated(self) -> Object | None:
        found: Object | None = self.state.get("terminated")
        return found


def waiting(reason: str, message: str = "") -> Object:
    out = {"reason": reason}
    if message:
        out["message"] = message
    return {"waiting": out}


def running(since: int) -> Object:
    return {"running": {"startedAt": meta.rfc3339(since)}}


def terminated(code: int, began: int, ended: int, container_id: str, reason: str = "") -> Object:
    return {
        "terminated": {
            "exitCode": code,
            "reason": reason or ("Completed" if code == 0 else "Error"),
            "startedAt": meta.rfc3339(began),
            "finishedAt": meta.rfc3339(ended),
            "containerID": container_id,
        }
    }


def phase_of(
    pod: Object, init: list[ContainerState], main: list[ContainerState], *, deleting: bool = False
) -> str:
    """Pending, Running, Succeeded or Failed."""
    policy = pod["spec"].get("restartPolicy", "Always")
    sidecars = _sidecars(pod)
    for one in init:
        if one.name in sidecars:
            if not one.started and not one.terminated:
                return "Pending"
            continue
        done = one.terminated
        if done is None:
            return "Pending"
        if done["exitCode"] != 0:
            return "Failed" if policy == "Never" else "Pending"
    if any(not one.container_id and not one.last for one in main):
        return "Pending"
    ended = [one.terminated for one in main]
    if all(ended) and policy != "Always":
        if all(one is not None and one["exitCode"] == 0 for one in ended):
            return "Succeeded"
        if policy == "Never":
            return "Failed"
    return "Running"


def conditions(
    pod: Object,
    init: list[ContainerState],
    main: list[ContainerState],
    phase: str,
    *,
    has_network: bool,
    now: int,
) -> list[Object]:
    """The five conditions in upstream's order, with the times of those that did not change."""
    sidecars = _sidecars(pod)
    finished = phase in ("Succeeded", "Failed")
    initialized = finished or all(
        one.started if one.name in sidecars else (one.terminated or {}).get("exitCode") == 0
        for one in init
    )
    unready = [one.name for one in main if not one.ready]
    unready_words = f"containers with unready status: [{' '.join(unready)}]"
    gates = pod["spec"].get("readinessGates") or ()
    have = {one["type"]: one for one in (pod.get("status") or {}).get("conditions") or ()}
    out = [_plain("PodReadyToStartContainers", has_network)]
    if phase == "Succeeded":
        out.append({**_plain("Initialized", True), "reason": "PodCompleted"})
        out.append({**_plain("Ready", False), "reason": "PodCompleted"})
        out.append({**_plain("ContainersReady", False), "reason": "PodCompleted"})
    else:
        out.append(_plain("Initialized", initialized))
        if not initialized:
            waits = [one.name for one in init if one.terminated is None and not one.started]
            out[-1]["reason"] = "ContainersNotInitialized"
            out[-1]["message"] = f"containers with incomplete status: [{' '.join(waits)}]"
        reason = "PodFailed" if phase == "Failed" else "ContainersNotReady"
        containers = _plain("ContainersReady", not unready and phase == "Running")
        ready = _plain("Ready", containers["status"] == "True")
        if containers["status"] != "True":
            for one in (containers, ready):
                one["reason"] = reason
                if phase != "Failed":
                    one["message"] = unready_words
        elif missing := [
            gate["conditionType"]
            for gate in gates
            if (have.get(gate["conditionType"]) or {}).get("status") != "True"
        ]:
            ready["status"] = "False"
            ready["reason"] = "ReadinessGatesNotReady"
            ready["message"] = f'corresponding condition of pod readiness gate "{missing[0]}" ' \
                "does not exist."
        out += [ready, containers]
    out.append(_plain("PodScheduled", True))
    for one in out:
        _stamp(one, have.get(one["type"]), now)
    mine = {one["type"] for one in out}
    return out + [one for kind, one in have.items() if kind not in mine]


def pod_status(
    pod: Object,
    init: list[ContainerState],
    main: list[ContainerState],
    *,
    host_ip: str,
    pod_ip: str,
    has_network: bool,
    now: int,
) -> Object:
    """The whole status the kubelet stands for."""
    phase = phase_of(pod, init, main)
    old = pod.get("status") or {}
    status: Object = {
        "phase": phase,
        "conditions": conditions(pod, init, main, phase, has_network=has_network, now=now),
        "hostIP": host_ip,
        "hostIPs": [{"ip": host_ip}],
        "startTime": old.get("startTime") or meta.rfc3339(now),
        "qosClass": old.get("qosClass", "BestEffort"),
    }
    if pod_ip:
        status["podIP"] = pod_ip
        status["podIPs"] = [{"ip": pod_ip}]
    specs = {one["name"]: one for one in pod["spec"].get("containers") or ()}
    inits = {one["name"]: one for one in pod["spec"].get("initContainers") or ()}
    if init:
        status["initContainerStatuses"] = [container_status(one, inits[one.name]) for one in init]
    status["containerStatuses"] = [container_status(one, specs[one.name]) for one in main]
    return status


def container_status(one: ContainerState, spec: Object) -> Object:
    out: Object = {
        "name": one.name,
        "state": one.state,
        "lastState": one.last,
        "ready": one.ready,
        "restartCount": one.restarts,
        "image": one.image,
        "imageID": one.image_id,
    }
    if one.container_id:
        out["containerID"] = one.container_id
    out["started"] = one.started
    resources = spec.get("resources") or {}
    if one.container_id:
        if resources.get("requests"):
            out["allocatedResources"] = resources["requests"]
        out["resources"] = resources
    mounts = spec.get("volumeMounts")
    if mounts:
        out["volumeMounts"] = [_mount(mount) for mount in mounts]
    return out


def _mount(mount: Object) -> Object:
    out: Object = {"name": mount["name"], "mountPath": mount["mountPath"]}
    if mount.get("readOnly"):
        out["readOnly"] = True
        out["recursiveReadOnly"] = "Disabled"
    return out


def _sidecars(pod: Object) -> frozenset[str]:
    return frozenset(
        one["name"]
        for one in pod["spec"].get("initContainers") or ()
        if one.get("restartPolicy") == "Always"
    )


def _plain(kind: str, holds: bool) -> dict[str, Any]:
    return {"type": kind, "status": "True" if holds else "False", "lastProbeTime": None}


def _stamp(one: Object, old: Object | None, now: int) -> None:
    same = old is not None and old["status"] == one["status"]
    one["lastTransitionTime"] = (
        old["lastTransitionTime"] if same and old is not None else meta.rfc3339(now)
    )
