"""The roles by which a cluster's components are started and stopped, and what can be asked."""

from __future__ import annotations

CONTROLLERS, SCHEDULER, KUBELET = "controllers", "scheduler", "kubelet"
ROLES = (CONTROLLERS, SCHEDULER, KUBELET)
ACTIONS = ("start", "stop", "fail", "wake")
