"""Messages about labels since 1.35: keys are called so, and lengths are in bytes.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/api/validate/content/{kube,errors}.go.
"""

from __future__ import annotations

import re

from apiserver_app.machinery.errors import FieldError

_OF_LABELS = re.compile(r"(^|\.)(labels|matchLabels|nodeSelector|selector)$")
_KEY = re.compile(r"^((?:name|prefix) part )(must be no more than \d+) characters$")
_VALUE = re.compile(r"^(must be no more than \d+) characters$")
_OLD, _NEW = "a qualified name must consist", "a valid label key must consist"


def reworded(error: FieldError) -> FieldError:
    """The error as it is worded since 1.35."""
    detail = error.detail.replace(_OLD, _NEW)
    detail = _KEY.sub(r"\1\2 bytes", detail)
    if _OF_LABELS.search(error.field):
        detail = _VALUE.sub(r"\1 bytes", detail)
    if detail == error.detail:
        return error
    return FieldError(error.type, error.field, error.bad_value, detail)
