"""What a refused request is told.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/responsewriters/errors.go.
"""

from __future__ import annotations

from apiserver_app.auth.authz.rules import combined
from apiserver_app.auth.protocols import Attributes, Decision
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import go_value


def refusal(attributes: Attributes, decision: Decision, uri: str) -> errors.ApiError:
    """The answer to a request that nobody allows: 403, or 500 when somebody could not be asked."""
    if decision.error and not decision.allowed:
        return errors.plain_internal(uri, decision.error)
    return forbidden_error(attributes, decision.reason)


def forbidden_error(attributes: Attributes, reason: str = "") -> errors.ApiError:
    """The 403, with upstream's sentence."""
    said = _sentence(attributes).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    if reason:
        said = f"{said}: {reason}"
    if not attributes.is_resource:
        return errors.ApiError(403, "Forbidden", f"forbidden: {said}", details={})
    return errors.forbidden(attributes.group, attributes.resource, attributes.name, said)


def _sentence(attributes: Attributes) -> str:
    who = f"User {go_value(attributes.user.name)} cannot {attributes.verb}"
    if not attributes.is_resource:
        return f"{who} path {go_value(attributes.path)}"
    what = (
        f"{who} resource {go_value(combined(attributes))} in API group {go_value(attributes.group)}"
    )
    if attributes.namespace:
        return f"{what} in the namespace {go_value(attributes.namespace)}"
    return f"{what} at the cluster scope"
