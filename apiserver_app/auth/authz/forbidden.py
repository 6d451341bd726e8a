"""The errors of refused requests.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go.
"""

from __future__ import annotations

from apiserver_app.auth.authz.rules import combined
from apiserver_app.authprotocols import Attributes, Decision
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import go_value


def refusal(attributes: Attributes, decision: Decision, uri: str) -> errors.ApiError:
    """Returns the error for a request that no authorizer allows: 403, or 500 when one failed."""
    if decision.error and not decision.allowed:
        return errors.plain_internal(uri, decision.error)
    return forbidden_error(attributes, decision.reason)


def forbidden_error(attributes: Attributes, reason: str = "") -> errors.ApiError:
    """Returns the 403 with upstream's message."""
    message = _sentence(attributes).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    if reason:
        message = f"{message}: {reason}"
    if not attributes.is_resource:
        error = errors.ApiError(403, "Forbidden", f"forbidden: {message}", details={})
    else:
        error = errors.forbidden(attributes.group, attributes.resource, attributes.name, message)
    error.headers = (("X-Content-Type-Options", "nosniff"),)
    return error


def _sentence(attributes: Attributes) -> str:
    prefix = f"User {go_value(attributes.user.name)} cannot {attributes.verb}"
    if not attributes.is_resource:
        return f"{prefix} path {go_value(attributes.path)}"
    resource = go_value(combined(attributes))
    message = f"{prefix} resource {resource} in API group {go_value(attributes.group)}"
    if attributes.namespace:
        return f"{message} in the namespace {go_value(attributes.namespace)}"
    return f"{message} at the cluster scope"
