"""What a job's own policies say: which failed pods count or end it, and which indexes are enough.

Models kubernetes pkg/controller/job/pod_failure_policy.go and success_policy.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.job import indexed

IGNORE, FAIL_JOB, FAIL_INDEX = "Ignore", "FailJob", "FailIndex"


class Verdict(msgspec.Struct, frozen=True):
    """The action of the first rule that a failed pod matches, and where that fails the job, why."""

    action: str = ""
    message: str = ""

    @property
    def counts(self) -> bool:
        """Whether the failure counts towards the limits."""
        return self.action != IGNORE


NO_RULE = Verdict()


def on_failure(job: Object, pod: Object) -> Verdict:
    """What the pod failure policy decides about a failed pod."""
    rules = (job["spec"].get("podFailurePolicy") or {}).get("rules") or ()
    for number, rule in enumerate(rules):
        why = _matched(rule, pod)
        if why:
            action = rule["action"]
            message = f"{why} matching {action} rule at index {number}"
            return Verdict(action, message if action == FAIL_JOB else "")
    return NO_RULE


def _matched(rule: Object, pod: Object) -> str:
    """What of the pod matches the rule; empty if nothing does."""
    key, status = meta.key_of(pod), pod.get("status") or {}
    asked = rule.get("onExitCodes")
    if asked is not None:
        for name, code in _exits(status, asked.get("containerName")):
            if (code in asked["values"]) == (asked["operator"] == "In"):
                return f"Container {name} for pod {key} failed with exit code {code}"
        return ""
    patterns = [
        (pattern["type"], pattern["status"]) for pattern in rule.get("onPodConditions") or ()
    ]
    for condition in status.get("conditions") or ():
        if (condition["type"], condition["status"]) in patterns:
            return f"Pod {key} has condition {condition['type']}"
    return ""


def _exits(status: Object, wanted: str | None) -> Iterator[tuple[str, int]]:
    """Name and exit code of each container that has failed."""
    for kind in ("containerStatuses", "initContainerStatuses"):
        for container in status.get(kind) or ():
            code = ((container.get("state") or {}).get("terminated") or {}).get("exitCode")
            if code and wanted in (None, container["name"]):
                yield container["name"], code


def why_failed(job: Object, failed: Iterable[Object]) -> str:
    """Why the first pod for which the failure policy fails the job does so; else empty."""
    if job["spec"].get("podFailurePolicy") is None:
        return ""
    return next((why for pod in failed if (why := on_failure(job, pod).message)), "")


def why_succeeded(job: Object, done: indexed.Intervals) -> str:
    """Which rule of the success policy the completed indexes meet; else empty."""
    spec = job["spec"]
    rules = (spec.get("successPolicy") or {}).get("rules") or ()
    for number, rule in enumerate(rules if done else ()):
        wanted, least = rule.get("succeededIndexes"), rule.get("succeededCount")
        if wanted is None:
            is_met = least is not None and indexed.total(done) >= least
        else:
            required = indexed.parse(wanted, spec["completions"])
            both = indexed.shared(required, done)
            is_met = bool(required) and (
                both == indexed.total(required) or (least is not None and both >= least)
            )
        if is_met:
            return f"Matched rules at index {number}"
    return ""
