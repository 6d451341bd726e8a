"""The strategy of ConfigMaps: keys, size, immutability.

Models kubernetes pkg/apis/core/validation/validation.go (ValidateConfigMap) and
pkg/registry/core/configmap/strategy.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.core import secret
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks


class ConfigMapStrategy(Strategy):
    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        binary = obj.get("binaryData") or {}
        size = 0
        for key, value in (obj.get("data") or {}).items():
            checks.config_key(key, "data", errs)
            if key in binary:
                text = "duplicate of key present in binaryData"
                errs.append(errors.invalid_value(f"data[{key}]", key, text))
            size += names.size(value)
        for key, value in binary.items():
            checks.config_key(key, "binaryData", errs)
            size += secret.decoded_size(value)
        if size > secret.SIZE_LIMIT:
            errs.append(errors.too_long("[]", "", secret.SIZE_LIMIT))
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        secret.immutable(obj, old, ("data", "binaryData"), errs)
        return errs
