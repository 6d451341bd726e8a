"""Fully qualified names, as initializers and webhooks have them.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/util/validation/validation.go
(IsFullyQualifiedName).
"""

from __future__ import annotations

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.syntax import names


def validate(name: str, path: str, errs: list[FieldError]) -> None:
    if not name:
        errs.append(errors.required(path))
        return
    text = names.fully_qualified_error(name)
    if text:
        errs.append(errors.invalid_value(path, name, text))
