"""The replication controller manager: the replica set controller with a map selector.

Models kubernetes pkg/controller/replication/replication_controller.go, which adapts the replica
set controller in the same way.
"""

from __future__ import annotations

from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import labels
from controllers_app.controllers import replicaset
from controllers_app.runtime import indexes
from controllers_app.runtime.watches import For, Owns


def _selector(owner: Object) -> labels.Selector:
    return labels.from_set(owner["spec"].get("selector"))


class ReplicationControllerController(replicaset.ReplicaSetController):
    """Reconciles replication controllers."""

    source = "pkg/controller/replication/replication_controller.go"
    drawn_at_rest = False
    resource = "replicationcontrollers"
    selector_of = staticmethod(_selector)
    watches = (
        For(resource, index=indexes.BY_CONTROLLER),
        Owns("pods", "ReplicationController", selector=_selector),
    )
