"""A pod's status as its kubelet reports it: phase, conditions, container statuses. Pure.

Models kubernetes pkg/kubelet/kubelet_pods.go (getPhase, generateAPIPodStatus,
convertToAPIContainerStatuses) and pkg/kubelet/status/generate.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from controllers_app.cri.services import ContainerRecord

MAIN, INIT, SIDECAR, EPHEMERAL = "main", "init", "sidecar", "ephemeral"

# the conditions that are the kubelet's to say, in its order
NETWORK = "PodReadyToStartContainers"
OWNED = (NETWORK, "Initialized", "Ready", "ContainersReady", "PodScheduled")
LOST = "The container could not be located when the pod was terminated"


@dataclass(slots=True, eq=False)
class ContainerState:
    """Where one container stands. `state` and `last` are the API's state objects; `busy` says
    that a task of its own will go on with it (a pull that is tried again, a back-off)."""

    name: str
    image: str
    kind: str = MAIN
    image_id: str = ""
    container_id: str = ""
    state: Object = field(default_factory=dict)
    last: Object = field(default_factory=dict)
    ready: bool = False
    started: bool = False
    restarts: int = 0
    busy: bool = False

    @property
    def is_running(self) -> bool:
        return "running" in self.state

    @property
    def terminated(self) -> Object | None:
        found: Object | None = self.state.get("terminated")
        return found

    @property
    def succeeded(self) -> bool:
        done = self.state.get("terminated")
        return done is not None and done["exitCode"] == 0


@dataclass(frozen=True, slots=True)
class Facts:
    """What the status is made from beside the containers."""

    host_ip: str
    pod_ip: str
    has_network: bool
    now: int
    tells_network: bool = True  # since 1.29, a condition of its own says so
    terminal: bool = False  # nothing will be started any more
    failed: str = ""  # why the kubelet itself failed the pod
    message: str = ""


def record_of(one: ContainerState) -> ContainerRecord:
    """The instance that runs or ended last, as the container runtime knows it."""
    return _record(one.name, one.container_id, one.state.get("running") or one.terminated or {})


def last_record_of(one: ContainerState) -> ContainerRecord:
    """The instance before that."""
    state = one.last["terminated"]
    return _record(one.name, state.get("containerID") or "", state)


def _record(name: str, container_id: str, state: Object) -> ContainerRecord:
    began, ended = (
        meta.parse_time(state[key]) if state.get(key) else None
        for key in ("startedAt", "finishedAt")
    )
    return ContainerRecord(name, container_id, began, ended)


def new_container(spec: Object, kind: str, reason: str) -> ContainerState:
    if kind == INIT and spec.get("restartPolicy") == "Always":
        kind = SIDECAR
    return ContainerState(spec["name"], spec["image"], kind, state=waiting(reason))


def take_over(one: ContainerState, known: Object) -> None:
    """Go on from what a former kubelet reported."""
    one.state = known.get("state") or {}
    one.last = known.get("lastState") or {}
    one.ready = bool(known.get("ready"))
    one.started = bool(known.get("started"))
    one.restarts = known.get("restartCount", 0)
    one.image = known.get("image") or one.image
    one.image_id = known.get("imageID", "")
    one.container_id = known.get("containerID", "")


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


def start_error(why: str, now: int, container_id: str) -> Object:
    """A container that the runtime could not start: it never began."""
    state = terminated(128, 0, now, container_id, "StartError")
    state["terminated"]["message"] = why
    return state


def lost() -> Object:
    """A container of a pod that is over, of which nothing is known."""
    return {
        "terminated": {
            "exitCode": 137, "reason": "ContainerStatusUnknown", "message": LOST,
            "startedAt": None, "finishedAt": None,
        }
    }  # fmt: skip


# -- phase ----------------------------------------------------------------------------------------


def phase_of(
    pod: Object,
    init: Sequence[ContainerState],
    main: Sequence[ContainerState],
    *,
    terminal: bool = False,
) -> str:
    """Pending, Running, Succeeded or Failed."""
    policy = pod["spec"].get("restartPolicy", "Always")
    pending = False
    for one in init:
        if one.kind == SIDECAR:
            pending = pending or not (one.started or one.terminated or one.last)
        elif not one.succeeded:
            failed = one.terminated or one.last.get("terminated")
            if failed and failed["exitCode"] != 0 and policy == "Never":
                return "Failed"
            pending = True
    if (pending and not any_started(main)) or any(_never_ran(one) for one in main):
        return "Failed" if terminal else "Pending"
    beside = [one for one in init if one.kind == SIDECAR]
    if any(one.is_running for one in (*main, *beside)):
        return "Running"
    if terminal:
        return "Succeeded" if all(one.succeeded for one in main) else "Failed"
    if policy == "Always":
        return "Running"
    if all(one.succeeded for one in main):
        return "Succeeded"
    return "Failed" if policy == "Never" else "Running"


def any_started(main: Sequence[ContainerState]) -> bool:
    return any(one.is_running or one.terminated or one.last for one in main)


def _never_ran(one: ContainerState) -> bool:
    return "waiting" in one.state and not one.last


# -- conditions -----------------------------------------------------------------------------------


def conditions(
    pod: Object,
    init: Sequence[ContainerState],
    main: Sequence[ContainerState],
    phase: str,
    facts: Facts,
) -> list[Object]:
    """Those of others as they are, then the kubelet's five; times change with the status only."""
    have = {one["type"]: one for one in (pod.get("status") or {}).get("conditions") or ()}
    others = [one for kind, one in have.items() if kind not in OWNED]
    containers = _containers_ready(init, main, phase)
    out = [
        *([_plain(NETWORK, facts.has_network)] if facts.tells_network else ()),
        _initialized(init, main, phase),
        _ready(pod, have, containers),
        containers,
        _plain("PodScheduled", True),
    ]
    for one in out:
        _stamp(one, have.get(one["type"]), facts.now)
    return others + out


def _initialized(
    init: Sequence[ContainerState], main: Sequence[ContainerState], phase: str
) -> Object:
    if phase == "Succeeded":
        return {**_plain("Initialized", True), "reason": "PodCompleted"}
    waits = [
        one.name for one in init if not (one.started if one.kind == SIDECAR else one.succeeded)
    ]
    if not waits or any(one.is_running or one.terminated for one in main):
        return _plain("Initialized", True)
    return {
        **_plain("Initialized", False),
        "reason": "ContainersNotInitialized",
        "message": f"containers with incomplete status: [{' '.join(waits)}]",
    }


def _containers_ready(
    init: Sequence[ContainerState], main: Sequence[ContainerState], phase: str
) -> Object:
    if phase in ("Succeeded", "Failed"):
        reason = "PodCompleted" if phase == "Succeeded" else "PodFailed"
        return {**_plain("ContainersReady", False), "reason": reason}
    beside = [one for one in init if one.kind == SIDECAR]
    unready = [one.name for one in (*beside, *main) if not one.ready]
    if not unready:
        return _plain("ContainersReady", True)
    return {
        **_plain("ContainersReady", False),
        "reason": "ContainersNotReady",
        "message": f"containers with unready status: [{' '.join(unready)}]",
    }


def _ready(pod: Object, have: dict[str, Object], containers: Object) -> Object:
    if containers["status"] != "True":
        return {**containers, "type": "Ready"}
    words = []
    for gate in pod["spec"].get("readinessGates") or ():
        kind = gate["conditionType"]
        found = have.get(kind)
        if found is None:
            words.append(f'corresponding condition of pod readiness gate "{kind}" does not exist.')
        elif found["status"] != "True":
            words.append(
                f'the status of pod readiness gate "{kind}" is not "True", but {found["status"]}'
            )
    if not words:
        return _plain("Ready", True)
    return {
        **_plain("Ready", False),
        "reason": "ReadinessGatesNotReady",
        "message": ", ".join(words),
    }


def _plain(kind: str, holds: bool) -> dict[str, Any]:
    return {"type": kind, "status": "True" if holds else "False", "lastProbeTime": None}


def _stamp(one: Object, old: Object | None, now: int) -> None:
    same = old is not None and old["status"] == one["status"]
    one["lastTransitionTime"] = (
        old["lastTransitionTime"] if same and old is not None else meta.rfc3339(now)
    )


# -- the whole ------------------------------------------------------------------------------------


def pod_status(
    pod: Object,
    init: Sequence[ContainerState],
    main: Sequence[ContainerState],
    facts: Facts,
    ephemeral: Sequence[ContainerState] = (),
) -> Object:
    """The whole status the kubelet stands for."""
    old = pod.get("status") or {}
    phase = "Failed" if facts.failed else phase_of(pod, init, main, terminal=facts.terminal)
    if old.get("phase") in ("Succeeded", "Failed"):
        phase = old["phase"]  # a pod that is over stays what it is
    status: Object = {
        "phase": phase,
        "conditions": conditions(pod, init, main, phase, facts),
        "hostIP": facts.host_ip,
        "hostIPs": [{"ip": facts.host_ip}],
        "startTime": old.get("startTime") or meta.rfc3339(facts.now),
        "qosClass": old.get("qosClass", "BestEffort"),
    }
    if facts.failed:
        status["reason"], status["message"] = facts.failed, facts.message
    if facts.pod_ip:
        status["podIP"] = facts.pod_ip
        status["podIPs"] = [{"ip": facts.pod_ip}]
    spec = pod["spec"]
    specs = {one["name"]: one for one in spec.get("containers") or ()}
    if init:
        inits = {one["name"]: one for one in spec.get("initContainers") or ()}
        status["initContainerStatuses"] = [container_status(one, inits[one.name]) for one in init]
    ordered = main if len(main) == 1 else sorted(main, key=lambda one: one.name)
    status["containerStatuses"] = [container_status(one, specs[one.name]) for one in ordered]
    if ephemeral:
        added = {one["name"]: one for one in spec.get("ephemeralContainers") or ()}
        status["ephemeralContainerStatuses"] = [
            container_status(one, added[one.name]) for one in ephemeral
        ]
    return status


def container_status(one: ContainerState, spec: Object) -> Object:
    out: Object = {
        "name": one.name,
        "state": one.state,
        "lastState": one.last,
        "ready": one.succeeded if one.kind == INIT else one.ready,
        "restartCount": one.restarts,
        "image": one.image,
        "imageID": one.image_id,
    }
    if one.container_id:
        out["containerID"] = one.container_id
    out["started"] = one.started
    if one.container_id:
        resources = spec.get("resources") or {}
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


def patch_of(old: Object, new: Object) -> Object:
    """What a strategic patch must say: the parts that differ; {} when there are none.

    Lists with a merge key name what has to go, and conditions come with their order, as in the
    status manager's patches.
    """
    changes = {key: value for key, value in new.items() if old.get(key) != value}
    for key in ("hostIPs", "podIPs"):
        if key in changes:
            wanted = changes[key]
            gone = [one for one in old.get(key) or () if one not in wanted]
            changes[key] = [*({"$patch": "delete", **one} for one in gone), *wanted]
    wanted = changes.get("conditions")
    if wanted is not None:
        before = {one["type"]: one for one in old.get("conditions") or ()}
        changes["conditions"] = [
            {**{key: None for key in before.get(one["type"], ()) if key not in one}, **one}
            for one in wanted
            if before.get(one["type"]) != one
        ]
        changes["$setElementOrder/conditions"] = [{"type": one["type"]} for one in wanted]
    return changes
