"""Whether there is a place for the request, now or after a wait.

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/filters/priority-and-fairness.go.
"""

from __future__ import annotations

from collections.abc import Awaitable

from apiserver_app.gates.gate import Gate
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.decision import Decision
from apiserver_app.handlers.request import Request


class FlowControl(Gate):
    name = refuses_as = "flowcontrol"
    cost = 15
    source = "staging/src/k8s.io/apiserver/pkg/server/filters/priority-and-fairness.go"
    reads = True

    def __init__(self, cluster: ClusterContext) -> None:
        self._flow = cluster.flow

    def decide(self, request: Request) -> Decision | Awaitable[Decision]:
        return self._flow.admit(request)
