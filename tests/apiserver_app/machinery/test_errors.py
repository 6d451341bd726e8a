"""errors.ignoring suppresses an API error by its reason."""

from __future__ import annotations

import pytest

from apiserver_app.machinery import errors


def test_an_error_with_a_named_reason_is_suppressed() -> None:
    with errors.ignoring("Conflict", "NotFound"):
        raise errors.not_found("", "pods", "web")


def test_other_reasons_and_other_exceptions_propagate() -> None:
    with pytest.raises(errors.ApiError), errors.ignoring("NotFound"):
        raise errors.already_exists("", "pods", "web")
    with pytest.raises(KeyError), errors.ignoring("NotFound"):
        raise KeyError("NotFound")
