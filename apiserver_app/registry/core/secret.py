"""The strategy of Secrets: required keys by type, size, immutability.

Data is base64 in JSON; stringData is merged into data when the object is decoded.

Models kubernetes pkg/apis/core/validation/validation.go (ValidateSecret),
pkg/apis/core/v1/conversion.go and pkg/registry/core/secret/strategy.go.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Sequence

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object, annotations_of
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks

SIZE_LIMIT = 1024 * 1024
ACCOUNT_NAME = "kubernetes.io/service-account.name"
_JSON_KEYS = {
    "kubernetes.io/dockercfg": ".dockercfg",
    "kubernetes.io/dockerconfigjson": ".dockerconfigjson",
}
_GONE = "field is immutable when `immutable` is set"


class SecretStrategy(Strategy):
    selectable = ("type",)

    def default(self, obj: Object) -> None:
        plain = obj.pop("stringData", None)
        if plain:
            coded = {key: base64.b64encode(value.encode()).decode() for key, value in plain.items()}
            obj["data"] = {**(obj.get("data") or {}), **coded}
        if not obj.get("type"):
            obj["type"] = "Opaque"
        gofields.arrange(obj, "core.v1.Secret")

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        data = obj.get("data") or {}
        size = 0
        for key, value in data.items():
            checks.config_key(key, "data", errs)
            size += decoded_size(value)
        if size > SIZE_LIMIT:
            errs.append(errors.too_long("data", "", SIZE_LIMIT))
        kind = obj.get("type") or ""
        if kind == "kubernetes.io/service-account-token":
            if not annotations_of(obj).get(ACCOUNT_NAME):
                errs.append(errors.required(f"metadata.annotations[{ACCOUNT_NAME}]"))
        elif kind in _JSON_KEYS:
            _json_key(data, _JSON_KEYS[kind], errs)
        elif kind == "kubernetes.io/basic-auth":
            if "username" not in data and "password" not in data:
                errs.append(errors.required("data[username]"))
                errs.append(errors.required("data[password]"))
        elif kind == "kubernetes.io/ssh-auth":
            if not data.get("ssh-privatekey"):
                errs.append(errors.required("data[ssh-privatekey]"))
        elif kind == "kubernetes.io/tls":
            for key in ("tls.crt", "tls.key"):
                if key not in data:
                    errs.append(errors.required(f"data[{key}]"))
        return errs

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        """Keeps the type if the client left it out."""
        if not obj.get("type"):
            obj["type"] = old.get("type")

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        if obj.get("type") != old.get("type"):
            value = obj.get("type") or ""
            errs.append(errors.invalid_value("type", value, "field is immutable"))
        immutable(obj, old, ("data",), errs)
        return errs


def immutable(obj: Object, old: Object, fields: Sequence[str], errs: list[FieldError]) -> None:
    """Once `immutable` is set, neither it nor the fields may change."""
    if not old.get("immutable"):
        return
    if not obj.get("immutable"):
        errs.append(errors.forbidden_value("immutable", _GONE))
    for field in fields:
        if (obj.get(field) or {}) != (old.get(field) or {}):
            errs.append(errors.forbidden_value(field, _GONE))


def decoded_size(value: str | None) -> int:
    """The size in bytes of base64 data."""
    if not value:
        return 0
    return len(value) * 3 // 4 - value.endswith("=") - value.endswith("==")


def _json_key(data: Object, key: str, errs: list[FieldError]) -> None:
    if key not in data:
        errs.append(errors.required(f"data[{key}]"))
        return
    text = ""
    try:
        if not isinstance(json.loads(base64.b64decode(data[key] or "")), dict):
            text = "json: cannot unmarshal into Go value of type map[string]interface {}"
    except (ValueError, binascii.Error):
        text = "invalid character in JSON" if data[key] else "unexpected end of JSON input"
    if text:
        errs.append(errors.invalid_value(f"data[{key}]", "<secret contents redacted>", text))
