"""Named formats: `format.dns1123Label().validate(text)`.

Models kubernetes staging/src/k8s.io/apiserver/pkg/cel/library/format.go.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import functools
import re
from collections.abc import Callable

from apiserver_app.cel.errors import EvaluationError
from apiserver_app.cel.functions import declare
from apiserver_app.cel.values import NONE, Optional, timestamp
from apiserver_app.machinery.net import gourl
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import names

_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.I)
_SINCE = Release(31)

Errors = Callable[[str], list[str]]


class Format:
    cel_type = "kubernetes.NamedFormat"

    def __init__(self, name: str, errors: Errors) -> None:
        self.name = name
        self.errors = errors

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Format) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


def _prefix(errors: Errors, text: str) -> list[str]:
    """A prefix of a generated name may end with a dash."""
    return errors(f"{text[:-1]}a" if len(text) > 1 and text.endswith("-") else text)


def _uuid(text: str) -> list[str]:
    return [] if _UUID.fullmatch(text) else ["does not match the UUID format"]


def _byte(text: str) -> list[str]:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return ["invalid base64"]
    return [] if text else ["invalid base64"]


def _date(text: str) -> list[str]:
    try:
        datetime.date.fromisoformat(text if len(text) == 10 else "")
    except ValueError:
        return ["invalid date"]
    return []


def _datetime(text: str) -> list[str]:
    try:
        timestamp(text)
    except EvaluationError:
        return ["invalid datetime"]
    return []


def _uri(text: str) -> list[str]:
    try:
        gourl.parse_request_uri(text)
    except gourl.UrlError as error:
        return [str(error)]
    return []


_ERRORS: dict[str, Errors] = {
    "dns1123Label": names.dns1123_label_errors,
    "dns1123Subdomain": names.dns1123_subdomain_errors,
    "dns1035Label": names.dns1035_label_errors,
    "dns1123LabelPrefix": functools.partial(_prefix, names.dns1123_label_errors),
    "dns1123SubdomainPrefix": functools.partial(_prefix, names.dns1123_subdomain_errors),
    "dns1035LabelPrefix": functools.partial(_prefix, names.dns1035_label_errors),
    "qualifiedName": names.qualified_name_errors,
    "labelValue": names.label_value_errors,
    "uri": _uri,
    "uuid": _uuid,
    "byte": _byte,
    "date": _date,
    "datetime": _datetime,
}
FORMATS = {name: Format(name, errors) for name, errors in _ERRORS.items()}


def _validate(format_: Format, text: str) -> Optional:
    messages = format_.errors(text)
    return Optional(messages) if messages else NONE


def _named(name: str) -> Optional:
    named = FORMATS.get(name)
    return Optional(named) if named else NONE


def _cost(format_: Format, text: str, *rest: object) -> int:
    return (len(text) // 10 + 1) * 16


def _declare() -> None:
    for name, format_ in FORMATS.items():
        declare(f"$format.{name}() format", functools.partial(_same, format_), None, _SINCE)
    declare("$format.named(string) optional(format)", _named, None, _SINCE)
    declare("format.validate(string) optional(list(string))", _validate, _cost, _SINCE)


def _same(left: Format) -> Format:
    return left


_declare()
