"""Asking the authorizers about more than the request itself.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/create.go (withAuthorization)
and pkg/registry/core/pod/rest/subresources.go.
"""

from __future__ import annotations

from apiserver_app.auth.authz import forbidden
from apiserver_app.handlers.request import Request


async def check_may_create(request: Request) -> None:
    """403 unless the user could have created it, too."""
    asked = request.asked_beside("create", request.subresource)
    decision = await request.cluster.access.authorization.authorize(asked)
    if not decision.allowed:
        raise forbidden.forbidden_error(asked, decision.reason)
