"""Errors of the product API as {"detail": sentence}, mapped to HTTP in this one place."""

from __future__ import annotations

from typing import Any

from rest_framework import exceptions, status
from rest_framework.response import Response
from rest_framework.views import exception_handler

from lifecycle.hosting.port import edgeport
from lifecycle.trace import reading


def answer(error: Exception, context: dict[str, Any]) -> Response | None:
    """DRF's exception handler, with the port's own errors."""
    known = _known(error)
    return exception_handler(error if known is None else known, context)


def _known(error: Exception) -> exceptions.APIException | None:
    if isinstance(error, edgeport.Refused):
        if str(error).startswith("there is no cluster"):
            return exceptions.NotFound(str(error))
        return exceptions.ValidationError({"detail": str(error)})
    if isinstance(error, reading.TraceError):
        return exceptions.ValidationError({"detail": str(error)})
    if isinstance(error, edgeport.Lost):
        return _Unavailable()
    if isinstance(error, edgeport.Full):
        return exceptions.Throttled(wait=1)
    if isinstance(error, TimeoutError):
        return _TooSlow()
    return None


class _Unavailable(exceptions.APIException):
    status_code = status.HTTP_503_SERVICE_UNAVAILABLE
    default_detail = "the worker of this cluster cannot be reached just now; try again"


class _TooSlow(exceptions.APIException):
    status_code = status.HTTP_504_GATEWAY_TIMEOUT
    default_detail = "the cluster did not answer in time; is it held at a breakpoint?"
