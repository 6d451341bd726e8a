"""The gates of a request, in upstream's order: what each decides, and the tuple of all.

What a gate's class says about it stands nowhere else: the recorder charges its cost, the trace's
start record carries the rest to the page, and the page's sentences about a gate have the keys
`gate.<name>` and `gate.<name>.*`.

Create, update, apply, patch, delete, deletecollection and the subresources drive the same tuple;
which of the gates of a write an operation passes, it says itself (`Operation.passes`).

Models kubernetes staging/src/k8s.io/apiserver/pkg/server/config.go (DefaultBuildHandlerChain),
pkg/endpoints/handlers/{create,update,patch,delete,get}.go and pkg/registry/rest.
"""

from __future__ import annotations

from apiserver_app.gates.admission import Mutating, Validating
from apiserver_app.gates.audit import Audit
from apiserver_app.gates.authentication import Authentication
from apiserver_app.gates.authorization import Authorization
from apiserver_app.gates.flowcontrol import FlowControl
from apiserver_app.gates.gate import Gate
from apiserver_app.gates.impersonation import Impersonation
from apiserver_app.gates.prepare import Prepare
from apiserver_app.gates.routing import Routing
from apiserver_app.gates.validation import Validation
from apiserver_app.gates.write import Current, Decode, Etcd
from apiserver_app.machinery.meta import Object

# every request passes these
FILTERS: tuple[type[Gate], ...] = (
    Authentication,
    Audit,
    Impersonation,
    FlowControl,
    Authorization,
    Routing,
)
# and a write those of them that its operation names
WRITE: tuple[type[Gate], ...] = (Decode, Current, Mutating, Prepare, Validation, Validating, Etcd)
GATES = (*FILTERS, *WRITE)
# those that the trace records; the others are steps of theirs
TOLD = tuple(gate for gate in GATES if gate.name == gate.refuses_as)
COSTS = {gate.name: 0 if gate.waits else gate.cost for gate in TOLD}


def described() -> list[Object]:
    """For the trace's start record, in order."""
    return [_described(gate) for gate in TOLD]


def _described(gate: type[Gate]) -> Object:
    facts: Object = {"name": gate.name, "cost": gate.cost, "source": gate.source}
    if gate.sources:
        facts["sources"] = dict(gate.sources)
    if gate.reads:
        facts["reads"] = True
    if gate.plugins:
        facts["plugins"] = True
    if gate.asks_of_new:
        facts["asks"] = [gate.asks_of_new, gate.asks_of_old]
    return facts
