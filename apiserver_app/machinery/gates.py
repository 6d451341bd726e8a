"""The gates of the API server in the order in which a request meets them.

What is said here of a gate is said nowhere else: the recorder charges its cost, the trace's start
record carries all of it to the page, and the page's sentences about a gate have the keys
`gate.<name>` and `gate.<name>.*`.

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/config.go (DefaultBuildHandlerChain),
pkg/endpoints/handlers/create.go and pkg/registry/generic/registry/store.go.
"""

from __future__ import annotations

from typing import NamedTuple

from apiserver_app.machinery.meta import Object

_STAGING = "staging/src/k8s.io/apiserver/pkg/"


class Gate(NamedTuple):
    """One gate: its name in the trace, what it costs, and the upstream file."""

    name: str
    cost: int  # µs of virtual time
    source: str
    reads: bool = False  # reads pass it, too
    plugins: bool = False  # it is a phase of admission


GATES: tuple[Gate, ...] = (
    Gate("authentication", 40, _STAGING + "endpoints/filters/authentication.go", reads=True),
    Gate("audit", 10, _STAGING + "endpoints/filters/audit.go", reads=True),
    Gate("flowcontrol", 15, _STAGING + "server/filters/priority-and-fairness.go", reads=True),
    Gate("authorization", 50, _STAGING + "endpoints/filters/authorization.go", reads=True),
    Gate("routing", 10, "cmd/kube-apiserver/app/server.go CreateServerChain", reads=True),
    Gate("decode", 90, _STAGING + "endpoints/handlers/create.go"),
    Gate("mutating", 20, _STAGING + "admission/chain.go Admit", plugins=True),
    Gate("prepare", 30, _STAGING + "registry/rest/create.go BeforeCreate"),
    Gate("validation", 80, _STAGING + "registry/rest/create.go Validate"),
    Gate("validating", 20, _STAGING + "admission/chain.go Validate", plugins=True),
    Gate("etcd", 900, _STAGING + "registry/generic/registry/store.go Create"),
)


def described() -> list[Object]:
    """For the trace's start record, in order."""
    return [_described(gate) for gate in GATES]


def _described(gate: Gate) -> Object:
    told: Object = {"name": gate.name, "cost": gate.cost, "source": gate.source}
    if gate.reads:
        told["reads"] = True
    if gate.plugins:
        told["plugins"] = True
    return told
