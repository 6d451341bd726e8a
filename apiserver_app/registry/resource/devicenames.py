"""Small rules that claims, classes and slices of devices share: names, selectors, settings.

Models kubernetes pkg/apis/resource/validation/validation.go and
staging/src/k8s.io/dynamic-resource-allocation/cel/compile.go.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from apiserver_app import cel
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.validation import checks

LIST_MAX = 32
EXPRESSION_MAX = PARAMETERS_MAX = 10 * 1024
NAME_MAX = 32
POOL_MAX = 253
_is_identifier = re.compile("[A-Za-z_][A-Za-z0-9_]*").fullmatch
_IDENTIFIER_TEXT = names.pattern_text(
    "a valid C identifier must start with alphabetic character or '_', followed by a string of "
    "alphanumeric characters or '_'",
    "[A-Za-z_][A-Za-z0-9_]*",
    "my_name",
    "MY_NAME",
    "MyName",
)
_OMITTED = "<value omitted>"


def within(values: Sequence[Any], most: int, path: str, errs: list[FieldError]) -> bool:
    """Whether there are few enough; what is in too long a list is not looked at."""
    if len(values) > most:
        errs.append(errors.too_many(path, len(values), most))
    return len(values) <= most


def distinct(keys: Sequence[str], path: str, errs: list[FieldError]) -> None:
    seen: set[str] = set()
    for index, key in enumerate(keys):
        if key in seen:
            errs.append(errors.duplicate(f"{path}[{index}]", key))
        seen.add(key)


def pool(value: str, path: str, errs: list[FieldError]) -> None:
    if not value:
        errs.append(errors.required(path))
        return
    if names.size(value) > POOL_MAX:
        errs.append(errors.too_long(path, "", POOL_MAX))
    for part in value.split("/"):
        checks.named(part, path, names.dns1123_subdomain_errors, errs)


def device_class(value: str, path: str, errs: list[FieldError]) -> None:
    if not value:
        errs.append(errors.required(path))
    else:
        checks.named(value, path, names.dns1123_subdomain_errors, errs)


def qualified(value: str, path: str, errs: list[FieldError], *, fully: bool = False) -> None:
    """`domain/name` of an attribute; the domain of a driver's own may be left out."""
    domain, slash, name = value.partition("/")
    if not slash:
        _identifier(value, path, errs)
        if fully:
            text = "a fully qualified name must be a domain and a name separated by a slash"
            errs.append(errors.invalid_value(path, value, text))
        return
    if not domain:
        errs.append(errors.invalid_value(path, "", "the domain must not be empty"))
    else:
        checks.csi_driver_name(domain, path, errs)
    if not name:
        errs.append(errors.invalid_value(path, "", "the name must not be empty"))
    else:
        _identifier(name, path, errs)


def _identifier(value: str, path: str, errs: list[FieldError]) -> None:
    if names.size(value) > NAME_MAX:
        errs.append(errors.too_long(path, "", NAME_MAX))
    if not _is_identifier(value):
        errs.append(errors.invalid_value(path, value, _IDENTIFIER_TEXT))


def selectors(
    values: Sequence[Mapping[str, Any]], path: str, version: Release, errs: list[FieldError]
) -> None:
    """Expressions over a device, each of which has to be true."""
    if not within(values, LIST_MAX, path, errs):
        return
    for index, value in enumerate(values):
        at = f"{path}[{index}].cel"
        if value.get("cel") is None:
            errs.append(errors.required(at))
            continue
        text = value["cel"].get("expression") or ""
        if names.size(text) > EXPRESSION_MAX:
            errs.append(errors.too_long(f"{at}.expression", "", EXPRESSION_MAX))
        elif message := _wrong(text, version):
            errs.append(errors.invalid_value(f"{at}.expression", text, message))


@functools.lru_cache(maxsize=256)
def _wrong(expression: str, version: Release) -> str:
    """Why an expression cannot be used; nothing when it can."""
    from apiserver_app.cel.types import BOOL, DYN, STRING, Type

    texts = Type("map", (STRING, DYN))
    amounts = Type("map", (STRING, Type("kubernetes.Quantity")))
    fields = {
        "driver": STRING,
        "attributes": Type("map", (STRING, texts)),
        "capacity": Type("map", (STRING, amounts)),
    }
    device = Type("kubernetes.DRADevice", (), fields)
    try:
        program = cel.compile(expression, ["device"], types={"device": device}, version=version)
    except cel.CompileError as error:
        return str(error)
    if program.output not in (BOOL, DYN):
        return f"must evaluate to bool or the unknown type, not {program.output}"
    return ""


def opaque(config: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    """Settings that only a driver reads."""
    inside, path = config.get("opaque"), f"{path}.opaque"
    if inside is None:
        errs.append(errors.required(path))
        return
    checks.csi_driver_name(inside.get("driver") or "", f"{path}.driver", errs)
    value, at = inside.get("parameters"), f"{path}.parameters"
    if value is None:
        errs.append(errors.required(at))
    elif len(orjson.dumps(value)) > PARAMETERS_MAX:
        errs.append(errors.too_long(at, "", PARAMETERS_MAX))
    elif not isinstance(value, dict):
        text = "must be a valid JSON object"
        errs.append(errors.invalid_value(at, _OMITTED, text))
