"""A pod's status as its kubelet reports it: phase, conditions, container statuses. Pure.

Models kubernetes pkg/kubelet/kubelet_pods.go (getPhase, generateAPIPodStatus,
convertToAPIContainerStatuses) and pkg/kubelet/status/generate.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from apiserver_app.apis import restartpolicy
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from controllers_app.cri.services import ContainerRecord
from controllers_app.kubelet.allocation import Pending

MAIN, INIT, SIDECAR, EPHEMERAL = "main", "init", "sidecar", "ephemeral"

# the conditions that the kubelet owns, in its order
NETWORK = "PodReadyToStartContainers"
RESIZE_PENDING, RESIZING = "PodResizePending", "PodResizeInProgress"
OWNED = (
    *(RESIZE_PENDING, RESIZING, NETWORK),
    *"Initialized Ready ContainersReady PodScheduled".split(),
)
OVER = ("Succeeded", "Failed")  # the phases that never change
LOST = "The container could not be located when the pod was terminated"


class ContainerState(msgspec.Struct, eq=False):
    """The state of one container. `state` and `last` are the API's state objects; `busy`: a task
    of its own will continue it (a retried pull, a back-off)."""

    name: str
    image: str
    kind: str = MAIN
    image_id: str = ""
    container_id: str = ""
    state: Object = msgspec.field(default_factory=dict)
    last: Object = msgspec.field(default_factory=dict)
    ended: tuple[Object, Object] | None = None  # both, before the wait for a restart hid them
    ready: bool = False
    started: bool = False
    restarts: int = 0
    resources: Object | None = None  # what it has; None: what the spec says
    busy: bool = False

    @property
    def is_running(self) -> bool:
        return "running" in self.state

    @property
    def terminated(self) -> Object | None:
        state: Object | None = self.state.get("terminated")
        return state

    @property
    def succeeded(self) -> bool:
        done = self.state.get("terminated")
        return done is not None and done["exitCode"] == 0


class Facts(msgspec.Struct, frozen=True):
    """Everything beside the containers that the status depends on."""

    host_ip: str
    pod_ip: str
    has_network: bool
    now: int
    tells_network: bool = True  # PodReadyToStartContainers, since 1.29
    terminal: bool = False  # nothing will be started any more
    failed: str = ""  # why the kubelet itself failed the pod
    message: str = ""
    resizing: bool = False  # the node has room for other amounts, the containers not yet
    pending: Pending | None = None  # the node has no room for other amounts


def record_of(container: ContainerState) -> ContainerRecord:
    """The current instance, running or ended, as the container runtime knows it."""
    return _record(
        container.name,
        container.container_id,
        container.state.get("running") or container.terminated or {},
    )


def last_record_of(container: ContainerState) -> ContainerRecord:
    """The instance before the current one."""
    state = container.last["terminated"]
    return _record(container.name, state.get("containerID") or "", state)


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


def take_over(container: ContainerState, reported: Object) -> None:
    """Adopts the state that an earlier kubelet reported."""
    container.state = reported.get("state") or {}
    container.last = reported.get("lastState") or {}
    container.ready = bool(reported.get("ready"))
    container.started = bool(reported.get("started"))
    container.restarts = reported.get("restartCount", 0)
    container.image = reported.get("image") or container.image
    container.image_id = reported.get("imageID", "")
    container.container_id = reported.get("containerID", "")
    container.resources = reported.get("resources") or {}


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


def start_error(message: str, now: int, container_id: str) -> Object:
    """The state of a container that the runtime failed to start."""
    state = terminated(128, 0, now, container_id, "StartError")
    state["terminated"]["message"] = message
    return state


def lost() -> Object:
    """The state of a container that was never located before its pod ended."""
    return {
        "terminated": {
            "exitCode": 137,
            "reason": "ContainerStatusUnknown",
            "message": LOST,
            "startedAt": None,
            "finishedAt": None,
        }
    }


# -- phase ----------------------------------------------------------------------------------------


def phase_of(
    pod: Object,
    init: Sequence[ContainerState],
    main: Sequence[ContainerState],
    *,
    terminal: bool = False,
) -> str:
    """Pending, Running, Succeeded or Failed."""
    pending = False
    for container in init:
        if container.kind == SIDECAR:
            pending = pending or not (container.started or container.terminated or container.last)
        elif not container.succeeded:
            if _is_failed(container) and not _starts_again(pod, container, "initContainers"):
                return "Failed"
            pending = True
    if (pending and not any_started(main)) or any(_never_ran(container) for container in main):
        return "Pending"
    sidecars = [container for container in init if container.kind == SIDECAR]
    if any(container.is_running for container in (*main, *sidecars)):
        return "Running"
    if terminal:
        return "Succeeded" if all(container.succeeded for container in main) else "Failed"
    if any(_starts_again(pod, container, "containers") for container in main):
        return "Running"
    return "Succeeded" if all(container.succeeded for container in main) else "Failed"


def _is_failed(container: ContainerState) -> bool:
    ended = container.terminated or container.last.get("terminated") or {}
    return bool(ended.get("exitCode"))


def _starts_again(pod: Object, container: ContainerState, group: str) -> bool:
    """Whether one that ended is on its way to another start."""
    ended = container.terminated or container.last.get("terminated") or {}
    spec = pod["spec"]
    own: Object = next(
        (each for each in spec.get(group) or () if each["name"] == container.name), {}
    )
    return restartpolicy.restarts(own, spec, ended.get("exitCode", 1))


def any_started(main: Sequence[ContainerState]) -> bool:
    return any(container.is_running or container.terminated or container.last for container in main)


def is_initialized(init: Sequence[ContainerState], main: Sequence[ContainerState]) -> bool:
    """Whether the init containers have done their part."""
    if not init or any_started(main):
        return True
    last = init[-1]
    return last.is_running and last.started if last.kind == SIDECAR else last.succeeded


def _never_ran(container: ContainerState) -> bool:
    return "waiting" in container.state and not container.last


# -- conditions -----------------------------------------------------------------------------------


def conditions(
    pod: Object,
    init: Sequence[ContainerState],
    main: Sequence[ContainerState],
    phase: str,
    facts: Facts,
) -> list[Object]:
    """Returns foreign conditions unchanged, then the kubelet's own. lastTransitionTime changes
    only with the status."""
    old = {
        condition["type"]: condition
        for condition in (pod.get("status") or {}).get("conditions") or ()
    }
    foreign = [condition for kind, condition in old.items() if kind not in OWNED]
    containers = _containers_ready(init, main, phase)
    if facts.pending is not None:
        pending = facts.pending
        foreign.append(_resize(RESIZE_PENDING, old, facts.now, pending.reason, pending.message))
    if facts.resizing:
        foreign.append(_resize(RESIZING, old, facts.now))
    out = [
        *([_plain(NETWORK, facts.has_network)] if facts.tells_network else ()),
        _initialized(init, main, phase),
        _ready(pod, old, containers),
        containers,
        _plain("PodScheduled", True),
    ]
    for condition in out:
        _stamp(condition, old.get(condition["type"]), facts.now)
    return foreign + out


def _resize(
    kind: str, conditions: dict[str, Object], moment: int, reason: str = "", message: str = ""
) -> Object:
    """A condition of a resize, the only ones that tell when they were probed: when they became
    what they are."""
    old, now = conditions.get(kind, {}), meta.rfc3339(moment)
    reported = {key: text for key, text in (("reason", reason), ("message", message)) if text}
    same = bool(old) and old.get("reason", "") == reason
    known = same and old.get("message", "") == message
    return {
        **_plain(kind, True),
        "lastProbeTime": old["lastProbeTime"] if known else now,
        "lastTransitionTime": old["lastTransitionTime"] if same else now,
        **reported,
    }


def _initialized(
    init: Sequence[ContainerState], main: Sequence[ContainerState], phase: str
) -> Object:
    if phase == "Succeeded":
        return {**_plain("Initialized", True), "reason": "PodCompleted"}
    waits = [
        container.name
        for container in init
        if not (container.started if container.kind == SIDECAR else container.succeeded)
    ]
    if not waits or any(container.is_running or container.terminated for container in main):
        return _plain("Initialized", True)
    return {
        **_plain("Initialized", False),
        "reason": "ContainersNotInitialized",
        "message": f"containers with incomplete status: [{' '.join(waits)}]",
    }


def _containers_ready(
    init: Sequence[ContainerState], main: Sequence[ContainerState], phase: str
) -> Object:
    if phase in OVER:
        reason = "PodCompleted" if phase == "Succeeded" else "PodFailed"
        return {**_plain("ContainersReady", False), "reason": reason}
    sidecars = [container for container in init if container.kind == SIDECAR]
    unready = [container.name for container in (*sidecars, *main) if not container.ready]
    if not unready:
        return _plain("ContainersReady", True)
    return {
        **_plain("ContainersReady", False),
        "reason": "ContainersNotReady",
        "message": f"containers with unready status: [{' '.join(unready)}]",
    }


def _ready(pod: Object, conditions: dict[str, Object], containers: Object) -> Object:
    if containers["status"] != "True":
        return {**containers, "type": "Ready"}
    messages = []
    for gate in pod["spec"].get("readinessGates") or ():
        kind = gate["conditionType"]
        condition = conditions.get(kind)
        if condition is None:
            messages.append(
                f'corresponding condition of pod readiness gate "{kind}" does not exist.'
            )
        elif condition["status"] != "True":
            messages.append(
                f'the status of pod readiness gate "{kind}" is not "True", '
                f"but {condition['status']}"
            )
    if not messages:
        return _plain("Ready", True)
    return {
        **_plain("Ready", False),
        "reason": "ReadinessGatesNotReady",
        "message": ", ".join(messages),
    }


def _plain(kind: str, holds: bool) -> dict[str, Any]:
    return {"type": kind, "status": "True" if holds else "False", "lastProbeTime": None}


def _stamp(condition: Object, old: Object | None, now: int) -> None:
    same = old is not None and old["status"] == condition["status"]
    condition["lastTransitionTime"] = (
        old["lastTransitionTime"] if same and old is not None else meta.rfc3339(now)
    )


# -- pod status ------------------------------------------------------------------------------------


def pod_status(
    pod: Object,
    init: Sequence[ContainerState],
    main: Sequence[ContainerState],
    facts: Facts,
    ephemeral: Sequence[ContainerState] = (),
) -> Object:
    """The full status of the pod."""
    old = pod.get("status") or {}
    phase = "Failed" if facts.failed else phase_of(pod, init, main, terminal=facts.terminal)
    if old.get("phase") in OVER:
        phase = old["phase"]  # a terminal phase never changes
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
    specs = {container["name"]: container for container in spec.get("containers") or ()}
    if init:
        inits = {container["name"]: container for container in spec.get("initContainers") or ()}
        status["initContainerStatuses"] = [
            container_status(container, inits[container.name]) for container in init
        ]
    ordered = main if len(main) == 1 else sorted(main, key=lambda container: container.name)
    status["containerStatuses"] = [
        container_status(container, specs[container.name]) for container in ordered
    ]
    if ephemeral:
        added = {
            container["name"]: container for container in spec.get("ephemeralContainers") or ()
        }
        status["ephemeralContainerStatuses"] = [
            container_status(container, added[container.name]) for container in ephemeral
        ]
    return status


def held(status: Object, old: Object) -> Object:
    """The status while something of the pod is still there: its end is not told yet."""
    if status["phase"] not in OVER or old.get("phase") in OVER:
        return status
    kept = {key: old[key] for key in ("phase", "reason", "message") if key in old}
    return {key: value for key, value in status.items() if key not in ("reason", "message")} | kept


def terminated_pod(status: Object, *, initialized: bool) -> Object:
    """The last status of a pod of which nothing is left: what never ended by itself is lost."""
    inits = status.get("initContainerStatuses") or []
    begun = [each for each in inits if set(each["state"]) - {"waiting"} or each["lastState"]]
    begun = inits[: inits.index(begun[-1]) + 1] if begun else []
    out = {**status, "phase": status["phase"] if status["phase"] in OVER else "Failed"}
    if inits:
        out["initContainerStatuses"] = [*map(_located, begun), *inits[len(begun) :]]
    if initialized:
        out["containerStatuses"] = [*map(_located, status["containerStatuses"])]
    return out


def _located(container: Object) -> Object:
    return container if "terminated" in container["state"] else {**container, "state": lost()}


def container_status(container: ContainerState, spec: Object) -> Object:
    out: Object = {
        "name": container.name,
        "state": container.state,
        "lastState": container.last,
        "ready": container.succeeded if container.kind == INIT else container.ready,
        "restartCount": container.restarts,
        "image": container.image,
        "imageID": container.image_id,
    }
    if container.container_id:
        out["containerID"] = container.container_id
    if container.kind != EPHEMERAL:
        out["started"] = container.started
    if container.container_id:
        allocated = spec.get("resources") or {}
        if allocated.get("requests"):
            out["allocatedResources"] = allocated["requests"]
        out["resources"] = allocated if container.resources is None else container.resources
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
    """The strategic merge patch from `old` to `new`; {} when they are equal.

    Lists with a merge key get delete directives, and conditions their order, as in the status
    manager's patches.
    """
    changes = {key: value for key, value in new.items() if old.get(key) != value}
    for key in ("hostIPs", "podIPs"):
        if key in changes:
            desired = changes[key]
            gone = [entry for entry in old.get(key) or () if entry not in desired]
            changes[key] = [*({"$patch": "delete", **entry} for entry in gone), *desired]
    if "conditions" in changes:
        changes |= patch_of_conditions(old.get("conditions") or (), changes.pop("conditions"))
    return changes


def patch_of_conditions(old: Sequence[Object], new: Sequence[Object]) -> Object:
    """The part of a strategic merge patch from `old` to `new` conditions: only what changed of
    each."""
    before = {condition["type"]: condition for condition in old}
    after = {condition["type"] for condition in new}
    changed = [{"$patch": "delete", "type": kind} for kind in before if kind not in after]
    for condition in new:
        was = before.get(condition["type"])
        if was is None:
            changed.append({key: value for key, value in condition.items() if value is not None})
        elif was != condition:
            gone = {key: None for key in was if key not in condition}
            fields = {key: value for key, value in condition.items() if was.get(key) != value}
            changed.append({"type": condition["type"], **gone, **fields})
    order = [{"type": condition["type"]} for condition in new]
    return {"$setElementOrder/conditions": order} | ({"conditions": changed} if changed else {})
