"""Who may delete what cannot be read, and when.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/delete.go
(authorizeUnsafeDelete) and pkg/registry/generic/registry/corrupt_obj_deleter.go.
"""

from __future__ import annotations

from apiserver_app.handlers.input.options import IGNORE_READ_ERROR
from apiserver_app.handlers.request import Request
from apiserver_app.machinery import errors

VERB = "unsafe-delete-ignore-read-errors"
ANNOTATION = "apiserver.k8s.io/unsafe-delete-ignore-read-error"


async def check_may_delete(request: Request) -> None:
    """403 unless the user may do more than delete it."""
    info = request.info
    request.annotations[ANNOTATION] = ""
    asked = request.asked_beside(VERB, "")
    decision = await request.cluster.access.authorization.authorize(asked)
    if not decision.allowed:
        why = f'not permitted to do "{VERB}", reason: {decision.reason}'
        raise errors.forbidden(info.group, info.plural, request.name, why)


def not_corrupt(request: Request) -> errors.ApiError:
    why = "is exclusively used to delete corrupt object(s), try again by removing this option"
    errs = [errors.invalid_value(IGNORE_READ_ERROR, True, why)]
    return errors.invalid(request.info.group, request.info.plural, request.name, errs)


def not_with_collections() -> errors.ApiError:
    why = "is not allowed with DELETECOLLECTION, try again after removing the option"
    errs = [errors.invalid_value(IGNORE_READ_ERROR, True, why)]
    return errors.invalid("meta.k8s.io", "DeleteOptions", "", errs)
