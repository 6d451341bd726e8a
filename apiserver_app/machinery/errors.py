"""API errors: every failure that a client can see is an ApiError, which carries a Status.

Raise it where the failure is detected; `apiserver_app.http` alone turns it into bytes.
Never import Django or HTTP here.

Models kubernetes staging/src/k8s.io/apimachinery/pkg/api/errors/errors.go and
pkg/util/validation/field/errors.go.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from apiserver_app.machinery import goprinted


class FieldError(msgspec.Struct, frozen=True):
    """One validation error, worded as upstream words it."""

    type: str  # FieldValueInvalid, FieldValueRequired, ...
    field: str
    bad_value: Any
    detail: str = ""

    def body(self, *, as_json: bool = False) -> str:
        """The message without the field's path, as a Status cause carries it (ErrorBody)."""
        text = _TYPE_TEXTS[self.type]
        if self.type not in _VALUELESS and self.bad_value is not OMITTED:
            printed = json_value if as_json else go_value
            text = f"{text}: {printed(self.bad_value)}"
        return f"{text}: {self.detail}" if self.detail else text

    def __str__(self) -> str:
        return f"{self.field}: {self.body()}"


_TYPE_TEXTS = {
    "FieldValueNotFound": "Not found",
    "FieldValueRequired": "Required value",
    "FieldValueDuplicate": "Duplicate value",
    "FieldValueInvalid": "Invalid value",
    "FieldValueNotSupported": "Unsupported value",
    "FieldValueForbidden": "Forbidden",
    "FieldValueTooLong": "Too long",
    "FieldValueTooMany": "Too many",
    "InternalError": "Internal error",
    "FieldValueTypeInvalid": "Invalid value",
}
_VALUELESS = {"FieldValueRequired", "FieldValueForbidden", "FieldValueTooLong", "InternalError"}


class GoText(str):
    """A bad value already formatted in Go's %#v syntax, as structs need it."""


class GoStruct(GoText):
    """One with pointers, whose text does not say what JSON says."""

    value: Any

    def __new__(cls, text: str, value: Any) -> GoStruct:
        made = super().__new__(cls, text)
        made.value = value
        return made


# stands for a bad value that the message does not print
OMITTED = GoText("")


def quoted(text: str) -> str:
    """A string as Go's %q prints it."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return f'"{"".join(map(_escaped, text))}"'


def _escaped(char: str) -> str:
    if char in ESCAPES:
        return ESCAPES[char]
    code = ord(char)
    if char.isprintable():
        return char
    if _BYTES[0] <= code <= _BYTES[1]:
        return f"\\x{code - 0xDC00:02x}"
    if code < 0x80:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 1 << 16 else f"\\U{code:08x}"


ESCAPES = {
    char: f"\\{letter}" for char, letter in zip('\a\b\f\n\r\t\v\\"', 'abfnrtv\\"', strict=True)
}
_BYTES = 0xDC80, 0xDCFF  # how bytes that are no text stand in one


def go_value(value: Any) -> str:
    """Formats a value as a field error prints it up to 1.33: maps and lists in Go syntax."""
    if isinstance(value, GoText):
        return str(value)
    if value is None:
        return '"null"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, (int, float)):
        return str(value)
    if isinstance(value, dict) and all(isinstance(item, str) for item in value.values()):
        items = ", ".join(f"{go_value(key)}:{go_value(value[key])}" for key in sorted(value))
        return f"map[string]string{{{items}}}"
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return f"[]string{{{', '.join(map(go_value, value))}}}"
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def json_value(value: Any) -> str:
    """Formats a value as a field error prints it since 1.34: maps, lists and structs as JSON."""
    if isinstance(value, GoStruct):
        return goprinted.to_json(value.value)
    if isinstance(value, GoText):
        return goprinted.as_json(value)
    if value is None or isinstance(value, (dict, list)):
        return goprinted.to_json(value)
    return go_value(value)


def required(field: str, detail: str = "") -> FieldError:
    return FieldError("FieldValueRequired", field, "", detail)


def invalid_value(field: str, value: Any, detail: str) -> FieldError:
    return FieldError("FieldValueInvalid", field, value, detail)


def duplicate(field: str, value: Any) -> FieldError:
    return FieldError("FieldValueDuplicate", field, value)


def not_found_value(field: str, value: Any) -> FieldError:
    return FieldError("FieldValueNotFound", field, value)


def forbidden_value(field: str, detail: str) -> FieldError:
    return FieldError("FieldValueForbidden", field, "", detail)


def not_supported(field: str, value: Any, allowed: Sequence[str]) -> FieldError:
    """`allowed` must be in upstream's order."""
    values = ", ".join(map(quoted, allowed))
    detail = f"supported values: {values}" if values else ""
    return FieldError("FieldValueNotSupported", field, value, detail)


def too_long(field: str, value: Any, limit: int) -> FieldError:
    return FieldError("FieldValueTooLong", field, value, f"may not be more than {limit} bytes")


def too_many(field: str, count: int, limit: int) -> FieldError:
    return FieldError("FieldValueTooMany", field, count, f"must have at most {limit} items")


def aggregate(messages: Sequence[str]) -> str:
    """Joins several errors into one message without duplicates, as upstream's Aggregate does."""
    unique = list(dict.fromkeys(messages))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]" if unique else ""


class ApiError(Exception):
    """A failed request with its metav1.Status. `retry_after` becomes the Retry-After header."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        retry_after: int = 0,
        headers: tuple[tuple[str, str], ...] = (),
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = dict(details or {})
        self._has_details = details is not None  # empty details are sent as {}
        self.retry_after = retry_after
        self.headers = headers
        self.gate = ""  # the gate that refused, once the trace has recorded it
        self.about: dict[str, Any] = {}  # more detail from the gate, for the trace
        self.plain = False  # sent as plain text instead of as a Status
        self.untyped = False  # sent as text, a Status without its kind and version
        self.token = ""  # continue token with which a refused list can go on
        if retry_after:
            self.details.setdefault("retryAfterSeconds", retry_after)

    def status(self) -> dict[str, Any]:
        named = {} if self.untyped else {"kind": "Status", "apiVersion": "v1"}
        out: dict[str, Any] = {
            **named,
            "metadata": {"continue": self.token} if self.token else {},
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            out["reason"] = self.reason
        if self.details or self._has_details:
            out["details"] = self.details
        out["code"] = self.code
        return out


class ignoring:
    """Suppresses an ApiError with one of these reasons: `with errors.ignoring("NotFound"):`.

    Stands for client-go's checks IsNotFound, IsAlreadyExists and IsConflict."""

    __slots__ = ("_reasons",)

    def __init__(self, *reasons: str) -> None:
        self._reasons = reasons

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: object, traceback: object) -> bool:
        return isinstance(error, ApiError) and error.reason in self._reasons


def qualified(group: str, resource: str) -> str:
    """GroupResource.String(): `deployments.apps`, or `pods` in the core group."""
    return f"{resource}.{group}" if group else resource


def _details(group: str, kind: str, name: str) -> dict[str, Any]:
    out: dict[str, Any] = {}
    if name:
        out["name"] = name
    if group:
        out["group"] = group
    if kind:
        out["kind"] = kind
    return out


def not_found(group: str, resource: str, name: str) -> ApiError:
    message = f'{qualified(group, resource)} "{name}" not found'
    return ApiError(404, "NotFound", message, details=_details(group, resource, name))


def path_not_found() -> ApiError:
    """The 404 for an unknown path."""
    return ApiError(404, "NotFound", "the server could not find the requested resource", details={})


def page_not_found() -> ApiError:
    """The 404 for a path that no part of the server knows, from Go's http.NotFound."""
    return plain(404, "NotFound", "404 page not found")


def already_exists(group: str, resource: str, name: str) -> ApiError:
    message = f'{qualified(group, resource)} "{name}" already exists'
    return ApiError(409, "AlreadyExists", message, details=_details(group, resource, name))


def conflict(group: str, resource: str, name: str, cause: str) -> ApiError:
    message = f'Operation cannot be fulfilled on {qualified(group, resource)} "{name}": {cause}'
    return ApiError(409, "Conflict", message, details=_details(group, resource, name))


MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


# Upstream reports every field error, which a crafted body turns into a hundred megabytes.
FIELD_ERRORS_MAX = 1000
FIELD_ERRORS_TEXT_MAX = 1 << 20  # characters after which no further error is reported
AND_MORE = "and more"


def has_enough(errors: Sequence[FieldError]) -> bool:
    """Reports whether further errors would not be sent, so that validation may stop."""
    return len(errors) > FIELD_ERRORS_MAX


def invalid(
    group: str, kind: str, name: str, errors: Sequence[FieldError], *, as_json: bool = False
) -> ApiError:
    """422 with the field errors, up to FIELD_ERRORS_MAX, as `NewInvalid` words it. `as_json`: bad
    values are printed as since 1.34."""
    unique: dict[str, None] = {}
    causes: list[dict[str, Any]] = []
    size = 0
    for error in errors[:FIELD_ERRORS_MAX]:
        if size > FIELD_ERRORS_TEXT_MAX:
            break
        body = error.body(as_json=as_json)
        causes.append({"reason": error.type, "message": body, "field": error.field})
        unique[f"{error.field}: {body}"] = None
        size += len(body)
    if len(causes) < len(errors):
        unique[AND_MORE] = None
    full_kind = f"{kind}.{group}" if group else kind
    details = _details(group, kind, name)
    details["causes"] = causes
    message = f"{full_kind} {quoted(name)} is invalid: {aggregate(list(unique))}"
    return ApiError(422, "Invalid", message, details=details)


def forbidden(group: str, resource: str, name: str, cause: str) -> ApiError:
    qualified_resource = qualified(group, resource)
    if not qualified_resource:
        message = f"forbidden: {cause}"
    elif name:
        message = f'{qualified_resource} "{name}" is forbidden: {cause}'
    else:
        message = f"{qualified_resource} is forbidden: {cause}"
    return ApiError(403, "Forbidden", message, details=_details(group, resource, name))


class Undecodable(ApiError):
    """A 400 for a body that does not decode into its type. A patched object fails for the same
    reasons in other words: `json_error` is the JSON decoder's message, `conversion_error` that of
    the converter from unstructured maps."""

    def __init__(self, message: str, json_error: str, conversion_error: str = "") -> None:
        super().__init__(400, "BadRequest", message)
        self.json_error = json_error
        self.conversion_error = conversion_error or json_error


# how Go prints the anonymous struct into which a body's kind is first decoded
TYPE_META = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; '
    'Kind string "json:\\"kind,omitempty\\"" }'
)


def json_type(value: Any) -> str:
    """The name of a JSON value's type in Go's decoding errors."""
    for kind, name in _JSON_TYPES:
        if isinstance(value, kind):
            return name
    return "null"


_JSON_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "bool"),
    (int, "number"),
    (float, "number"),
    (str, "string"),
    (list, "array"),
    (dict, "object"),
)


def bad_request(message: str) -> ApiError:
    return ApiError(400, "BadRequest", message)


def unauthorized() -> ApiError:
    return ApiError(401, "Unauthorized", "Unauthorized")


def method_not_allowed(group: str, resource: str, verb: str) -> ApiError:
    kind = json.dumps(qualified(group, resource))
    message = f"{verb} is not supported on resources of kind {kind}"
    return ApiError(405, "MethodNotAllowed", message, details=_details(group, resource, ""))


def no_such_method() -> ApiError:
    """The 405 of a served path that has no route for the method."""
    message = "the server does not allow this method on the requested resource"
    return ApiError(405, "MethodNotAllowed", message, details={})


def unsupported_media_type(content_type: str, supported: Sequence[str]) -> ApiError:
    message = (
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join(supported)
    )
    return ApiError(415, "UnsupportedMediaType", message)


def no_representation(code: int, offered: Sequence[str]) -> ApiError:
    """The 406 or 415 of go-restful, which knows a route by the media types of its requests and
    answers."""
    reason = {406: "Not Acceptable", 415: "Unsupported Media Type"}[code]
    message = f"{code}: {reason}\n\nAvailable representations: {', '.join(offered)}"
    return ApiError(code, reason.replace(" ", ""), message, details={})


def not_acceptable(supported: Sequence[str]) -> ApiError:
    message = "only the following media types are accepted: " + ", ".join(supported)
    return ApiError(406, "NotAcceptable", message)


def expired(message: str) -> ApiError:
    return ApiError(410, "Expired", message)


def too_large(limit: int) -> ApiError:
    return ApiError(413, "RequestEntityTooLarge", f"Request entity too large: limit is {limit}")


def too_many_values(limit: str) -> ApiError:
    message = f"Request entity too large: limit is {limit}"
    return ApiError(413, "RequestEntityTooLarge", message)


def timeout(message: str, retry_after: int = 0, details: dict[str, Any] | None = None) -> ApiError:
    text = f"Timeout: {message}"
    return ApiError(504, "Timeout", text, details=details, retry_after=retry_after)


def unavailable(message: str, retry_after: int = 1) -> ApiError:
    return ApiError(503, "ServiceUnavailable", message, retry_after=retry_after)


def too_many_requests(message: str, retry_after: int = 1) -> ApiError:
    return ApiError(429, "TooManyRequests", message, retry_after=retry_after)


def plain(code: int, reason: str, message: str, retry_after: int = 0) -> ApiError:
    """An error of one of the outer filters, which answer in plain text."""
    error = ApiError(code, reason, message, retry_after=retry_after)
    error.plain = True
    return error


def plain_internal(uri: str, cause: str) -> ApiError:
    """The answer of a filter that failed itself."""
    return plain(500, "InternalError", f"Internal Server Error: {go_value(uri)}: {cause}")


def unclassified(message: str) -> ApiError:
    """A client's mistake for which upstream builds no Status: 500 without a reason."""
    return ApiError(500, "", message)


def internal(message: str) -> ApiError:
    return ApiError(
        500,
        "InternalError",
        f"Internal error occurred: {message}",
        details={"causes": [{"message": message}]},
    )
