"""The interface through which the simulation records what happens.

Only a few places record (gates, store, queues, scheduler framework, kubelet steps, component
starts); plugins, strategies and controllers never do. `hop` is also the only await point at which a
pause, a step, a breakpoint or a fault takes effect.

A record is (seq, t, kind, span, fields). `span` is the seq of the record that opened the request,
reconcile, cycle or sync it belongs to; an opening record (request, work) is its own span. KINDS
lists all kinds and their fields.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any, Protocol

# kind -> names of its fields, in the order of the record
KINDS: dict[str, tuple[str, ...]] = {
    # a request arrives; its seq is the span of all that follows; parent is the caller's span
    "request": (
        "parent",
        "client",
        "outside",
        "verb",
        "path",
        "resource",
        "subresource",
        "namespace",
        "name",
    ),
    # the authentication gate's detail names the user
    "gate": ("gate", "verdict", "detail"),
    # a client's own limit held a request back, which comes next; waited is in µs
    "throttled": ("client", "verb", "path", "waited"),
    # an admission plugin that changed the object, refused it, called a webhook (detail.calls) or
    # evaluated policies (detail.policies); ops is the JSON patch it made. Plugins before it that
    # only allowed or did not apply are in passed: [[names, verdict, why], ...]; the last of them
    # are in the detail of the phase's gate, under the same name
    "plugin": ("phase", "plugin", "verdict", "why", "ops", "passed", "detail"),
    # a new revision: op is create, update or delete; the log holds the object at that revision
    "write": ("rev", "op", "resource", "namespace", "name", "prev", "subresource"),
    "response": ("code", "reason", "message", "rev"),
    # a log, a process or forwarded ports between a node and a client; state: open, end, refused
    "stream": ("state", "detail"),
    # which caches received a revision, and how many watches of outside clients
    "watch": ("rev", "type", "resource", "to", "outside"),
    # component: starting, listing, synced, leading, stopped, failed
    "component": ("name", "state", "detail"),
    # op: add, dirty (already waiting), get, later, retry, done
    "queue": ("queue", "op", "key", "length", "rev", "delay"),
    # a reconcile, scheduling cycle or pod sync begins; revs are the revisions that caused it
    "work": ("component", "key", "revs"),
    # the work ends; result: ok, retry, error, requeue. Of a reconcile it may have `looked`, too
    "done": ("result", "said", "delay"),
    # one phase of a scheduling cycle: prefilter, filter, prescore, score, select, bind, fail
    "schedule": ("phase", "pod", "detail"),
    # one step of a pod's start or stop; step: volumes, sandbox, network, image, container,
    # ready, terminate; state: begin, end, fail
    "kubelet": ("node", "pod", "step", "state", "detail"),
    # the clock was set: mode is paused, step, run or max
    "clock": ("mode", "speed"),
    # an action from outside on the cluster (breakpoint set, component stopped, fault)
    "control": ("action", "detail"),
    # the cluster froze at this hop
    "held": ("at", "breakpoint"),
}

# fields that a record may have beside those, behind them
OPTIONAL: dict[str, tuple[str, ...]] = {
    # what a reconcile looked up in caches: [[resource, how, times, found], ...]; how is the name of
    # an index, "" for the key of an object, "*" for the whole list
    "done": ("looked",)
}

# µs of virtual time that a hop takes, by kind; a gate says its own
COSTS: dict[str, int] = {
    "plugin": 35,
    "request": 150,
    "response": 60,
    "work": 120,
    "done": 30,
    "schedule": 180,
    "kubelet": 100,
}


class Probe(Protocol):
    """Records everything that happens. Decides nothing, but may hold the cluster at a hop."""

    def tell(self, kind: str, *fields: Any, span: int | None = None) -> int:
        """Records without stopping and returns the record's seq. `span` defaults to the current
        task's."""
        ...

    async def hop(self, kind: str, *fields: Any, span: int | None = None) -> int:
        """Records, charges the hop's modelled time, and stops here if a breakpoint says so."""
        ...


class GateProbe(Probe, Protocol):
    """What records the requests of an API server, too."""

    def gate(self, span: int, name: str, verdict: str, detail: Any) -> Awaitable[None] | None:
        """The hop of a gate in the current task, whose span is given. It is awaited only when it
        returns something, which it does while breakpoints are set."""
        ...
