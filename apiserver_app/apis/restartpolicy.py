"""Whether a container that ended is started again: by its rules, its own policy, else its pod's.

Only since 1.35 is there a policy of a container that is no sidecar.

Models kubernetes pkg/api/v1/pod/util.go (ContainerShouldRestart).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

RESTART_ALL = "RestartAllContainers"
_ACTIONS = ("Restart", RESTART_ALL)


def restarts(container: Mapping[str, Any], spec: Mapping[str, Any], code: int) -> bool:
    """`code` is what it ended with, `spec` is its pod's."""
    policy = container.get("restartPolicy")
    if policy and _action(container, code) in _ACTIONS:
        return True
    policy = policy or spec.get("restartPolicy")
    return policy not in ("Never", "OnFailure") or (policy == "OnFailure" and code != 0)


def may_all_restart(spec: Mapping[str, Any]) -> bool:
    """Whether a rule of some container has all of them started again."""
    return any(
        rule.get("action") == RESTART_ALL
        for group in ("initContainers", "containers")
        for container in spec.get(group) or ()
        for rule in container.get("restartPolicyRules") or ()
    )


def _action(container: Mapping[str, Any], code: int) -> str:
    """What the first rule that matches says."""
    for rule in container.get("restartPolicyRules") or ():
        codes = rule.get("exitCodes") or {}
        named = code in (codes.get("values") or ())
        if named if codes.get("operator") == "In" else codes and not named:
            return str(rule.get("action") or "")
    return ""
