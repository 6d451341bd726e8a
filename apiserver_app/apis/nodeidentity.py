"""Identifies components by their user name and groups.

Models kubernetes pkg/auth/nodeidentifier/default.go and
staging/src/k8s.io/apiserver/pkg/authentication/user/user.go.
"""

from __future__ import annotations

from apiserver_app.machinery.meta import User

NODES, NODE_PREFIX = "system:nodes", "system:node:"


def node_name(user: User) -> str | None:
    """The node of a kubelet's user, "" if the name does not tell; None for other users."""
    if user.name.startswith(NODE_PREFIX) and NODES in user.groups:
        return user.name[len(NODE_PREFIX) :]
    return None
