"""Rows of pods: the one word that sums up what its containers are doing, restarts, readiness.

Models printPod in kubernetes pkg/printers/internalversion/printers.go.
"""

from __future__ import annotations

from typing import Any

from apiserver_app.http.tables import cells
from apiserver_app.machinery import conditions
from apiserver_app.machinery.meta import Object

_DONE = {"Succeeded": "The pod has completed successfully.", "Failed": "The pod failed."}
_UNREACHABLE = "NodeLost"


def row(pod: Object, now: int) -> list[Any]:
    spec, status = pod.get("spec") or {}, pod.get("status") or {}
    summary = _Summary(pod, spec, status)
    restarts = str(summary.restarts)
    if summary.restarts and summary.restarted:
        restarts += f" ({cells.since(summary.restarted, now)} ago)"
    addresses = status.get("podIPs")
    address = addresses[0].get("ip") if addresses else ""
    return [
        cells.name(pod),
        f"{summary.ready}/{summary.total}",
        summary.reason,
        restarts,
        cells.age(pod, now),
        address or cells.NONE,
        spec.get("nodeName") or cells.NONE,
        status.get("nominatedNodeName") or cells.NONE,
        _readiness_gates(spec, status),
    ]


def row_conditions(pod: Object) -> list[Object] | None:
    """What the row of a pod that will not run again is marked with."""
    phase = cells.part(pod, "status").get("phase", "")
    message = _DONE.get(phase)
    if message is None:
        return None
    return [{"type": "Completed", "status": "True", "reason": phase, "message": message}]


class _Summary:
    """Ready and total containers, restarts with the time of the last one, and the status word."""

    __slots__ = ("ready", "reason", "restarted", "restarts", "total")

    def __init__(self, pod: Object, spec: Object, status: Object) -> None:
        self.ready = self.restarts = 0
        self.restarted = ""
        self.reason: str = status.get("reason") or status.get("phase") or ""
        inits: list[Object] = spec.get("initContainers") or []
        sidecars = {init["name"] for init in inits if init.get("restartPolicy") == "Always"}
        self.total = len(spec.get("containers") or ()) + len(sidecars)
        if _is_gated(status):
            self.reason = "SchedulingGated"
        sidecar_restarts, sidecar_restarted, initializing = self._inits(
            status.get("initContainerStatuses") or (), sidecars, len(inits)
        )
        if not initializing or conditions.is_true(status, "Initialized"):
            self.restarts, self.restarted = sidecar_restarts, sidecar_restarted
            self._containers(status)
        if "deletionTimestamp" in pod["metadata"]:
            if status.get("reason") == _UNREACHABLE:
                self.reason = "Unknown"
            elif status.get("phase") not in _DONE:
                self.reason = "Terminating"

    def _inits(self, statuses: Any, sidecars: set[str], count: int) -> tuple[int, str, bool]:
        restarts, restarted = 0, ""
        for index, container in enumerate(statuses):
            is_sidecar = container.get("name") in sidecars
            finished = _last_finished(container)
            self.restarts += container.get("restartCount", 0)
            self.restarted = max(self.restarted, finished)
            if is_sidecar:
                restarts += container.get("restartCount", 0)
                restarted = max(restarted, finished)
            state = container.get("state") or {}
            terminated = state.get("terminated")
            if terminated is not None and not terminated.get("exitCode"):
                continue
            if is_sidecar and container.get("started"):
                self.ready += bool(container.get("ready"))
                continue
            waiting = (state.get("waiting") or {}).get("reason")
            if terminated is not None:
                self.reason = "Init:" + (terminated.get("reason") or _exit(terminated))
            elif waiting and waiting != "PodInitializing":
                self.reason = "Init:" + waiting
            else:
                self.reason = f"Init:{index}/{count}"
            return restarts, restarted, True
        return restarts, restarted, False

    def _containers(self, status: Object) -> None:
        has_running = False
        for container in reversed(status.get("containerStatuses") or ()):
            self.restarts += container.get("restartCount", 0)
            self.restarted = max(self.restarted, _last_finished(container))
            state = container.get("state") or {}
            waiting, terminated = state.get("waiting"), state.get("terminated")
            if waiting is not None and waiting.get("reason"):
                self.reason = waiting["reason"]
            elif terminated is not None:
                self.reason = terminated.get("reason") or _exit(terminated)
            elif container.get("ready") and state.get("running") is not None:
                has_running = True
                self.ready += 1
        if self.reason == "Completed" and has_running:
            is_ready = conditions.is_true(status, "Ready")
            self.reason = "Running" if is_ready else "NotReady"


def _last_finished(container: Object) -> str:
    """RFC 3339 in UTC, which sorts as the times do."""
    last = container.get("lastState")
    if not last:
        return ""
    return (last.get("terminated") or {}).get("finishedAt") or ""


def _exit(terminated: Object) -> str:
    if terminated.get("signal"):
        return f"Signal:{terminated['signal']}"
    return f"ExitCode:{terminated.get('exitCode', 0)}"


def _is_gated(status: Object) -> bool:
    scheduled = conditions.find(status, "PodScheduled")
    return scheduled is not None and scheduled.get("reason") == "SchedulingGated"


def _readiness_gates(spec: Object, status: Object) -> str:
    gates = spec.get("readinessGates")
    if not gates:
        return cells.NONE
    true = sum(conditions.is_true(status, gate.get("conditionType", "")) for gate in gates)
    return f"{true}/{len(gates)}"
