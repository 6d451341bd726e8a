"""The gates of a request, in upstream's order: what each decides, and the tuple of all.

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

# every request passes these
FILTERS: tuple[type[Gate], ...] = (
    Authentication, Audit, Impersonation, FlowControl, Authorization, Routing,
)  # fmt: skip
# and a write those of them that its operation names
WRITE: tuple[type[Gate], ...] = (
    Decode, Current, Mutating, Prepare, Validation, Validating, Etcd,
)  # fmt: skip
GATES = (*FILTERS, *WRITE)
