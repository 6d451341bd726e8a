"""AdmissionReview: builds requests and checks answers.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/webhook/request/
admissionreview.go and .../webhook/errors/statuserror.go.
"""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, field
from typing import Any

import orjson

from apiserver_app.admission.plugin import DELETE, Attributes
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object, ResourceInfo

GROUP = "admission.k8s.io"
VERSIONS = ("v1", "v1beta1")
JSON_PATCH = "JSONPatch"
_FAILED, _INVALID = "failed to call webhook: ", "received invalid webhook response: "


class Unusable(Exception):
    """The answer is invalid; the message is upstream's."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A webhook's checked answer."""

    allowed: bool
    result: Object | None = None
    patch: Any = None  # the decoded JSON patch, or None
    warnings: tuple[str, ...] = ()
    annotations: dict[str, str] = field(default_factory=dict)


def version_for(spec: Object) -> str:
    """Returns the webhook's first version that is supported. Raises Unusable."""
    for version in spec.get("admissionReviewVersions") or ():
        if version in VERSIONS:
            return str(version)
    raise Unusable(
        "could not create admission objects: webhook does not accept known AdmissionReview "
        "versions (v1, v1beta1)"
    )


def question(
    attributes: Attributes,
    info: ResourceInfo,
    version: str,
    uid: str,
    obj: Object | None,
    old: Object | None,
) -> Object:
    """Builds the review of a request as seen by `info`; obj and old are in that version."""
    services = attributes.interfaces
    assert services is not None, "webhooks are asked in a cluster only"
    requested, sub, user = attributes.info, attributes.subresource, attributes.user
    request: Object = {"uid": uid}
    request["kind"] = _kind(services.kind_of(info, sub))
    request["resource"] = _resource(info)
    if sub:
        request["subResource"] = sub
    request["requestKind"] = _kind(services.kind_of(requested, sub))
    request["requestResource"] = _resource(requested)
    if sub:
        request["requestSubResource"] = sub
    if attributes.name:
        request["name"] = attributes.name
    namespace = attributes.namespace
    if requested.key == "namespaces":
        namespace = namespace or attributes.name
    if namespace:
        request["namespace"] = namespace
    request["operation"] = attributes.operation
    request["userInfo"] = user.info()
    request["object"], request["oldObject"] = obj, old
    request["dryRun"] = attributes.dry_run
    options = attributes.options or None
    if attributes.operation == DELETE:
        options = {"kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", **attributes.options}
    request["options"] = options
    return {"kind": "AdmissionReview", "apiVersion": f"{GROUP}/{version}", "request": request}


def _kind(named: tuple[str, str, str]) -> Object:
    group, version, kind = named
    return {"group": group, "version": version, "kind": kind}


def _resource(info: ResourceInfo) -> Object:
    return {"group": info.group, "version": info.version, "resource": info.plural}


# -- the answer -----------------------------------------------------------------------------------


def parse(body: bytes) -> Object:
    """Parses an answer's body as a review. Raises Unusable with the decoder's message."""
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        problem = json_error(body)
        raise Unusable(
            f"{_FAILED}couldn't get version/kind; json parse error: {problem}"
        ) from error
    if not isinstance(review, dict):
        kind = "array" if isinstance(review, list) else type(review).__name__
        raise Unusable(
            f"{_FAILED}couldn't get version/kind; json parse error: json: cannot unmarshal {kind} "
            "into Go value of type struct { APIVersion string; Kind string }"
        )
    return review


def json_error(body: bytes) -> str:
    """Words a JSON error as Go's decoder does."""
    if not body.strip():
        return "unexpected end of JSON input"
    first = body.lstrip()[:1].decode("latin-1")
    if first in '{["':
        return "unexpected end of JSON input"
    return f"invalid character '{first}' looking for beginning of value"


def verify(review: Object, version: str, uid: str, *, mutating: bool) -> Answer:
    """Checks and returns the answer in a review. Raises Unusable."""
    response = review.get("response")
    if response is None:
        raise Unusable(f"{_INVALID}webhook response was absent")
    if not isinstance(response, dict):
        raise Unusable(
            f"{_FAILED}json: cannot unmarshal {_json_type(response)} into Go struct field "
            "AdmissionReview.response of type v1.AdmissionResponse"
        )
    _check_types(response)
    patch, patch_type = response.get("patch"), response.get("patchType")
    if version == "v1":
        _check_v1(review, response, uid, mutating=mutating)
    elif not mutating:
        patch = None
    elif patch:
        patch_type = JSON_PATCH
    decoded = None
    if patch:
        if patch_type != JSON_PATCH:
            raise Unusable(f'unsupported patch type "{patch_type}"')
        decoded = _patch(patch)
    return Answer(
        bool(response.get("allowed")),
        response.get("status"),
        decoded,
        tuple(response.get("warnings") or ()),
        dict(response.get("auditAnnotations") or {}),
    )


def _check_v1(review: Object, response: Object, uid: str, *, mutating: bool) -> None:
    got = response.get("uid") or ""
    if got != uid:
        raise Unusable(f'{_INVALID}expected response.uid="{uid}", got {errors.go_value(got)}')
    named, kind = str(review.get("apiVersion") or ""), str(review.get("kind") or "")
    if (named, kind) != (f"{GROUP}/v1", "AdmissionReview"):
        printed = named if "/" in named else f"/{named}"
        raise Unusable(
            f"{_INVALID}expected webhook response of {GROUP}/v1, Kind=AdmissionReview, got "
            f"{printed}, Kind={kind}"
        )
    patch, patch_type = response.get("patch"), response.get("patchType")
    if not mutating:
        if patch:
            raise Unusable(f"{_INVALID}validating webhook may not return response.patch")
        if patch_type is not None:
            raise Unusable(f"{_INVALID}validating webhook may not return response.patchType")
        return
    if patch and patch_type is None:
        raise Unusable(f"{_INVALID}webhook returned response.patch but not response.patchType")
    if not patch and patch_type is not None:
        raise Unusable(f"{_INVALID}webhook returned response.patchType but not response.patch")
    if patch_type == "":
        raise Unusable(f'{_INVALID}webhook returned invalid response.patchType of ""')


_TYPES: tuple[tuple[str, type, str], ...] = (
    ("allowed", bool, "bool"),
    ("status", dict, "v1.Status"),
    ("patch", str, "[]uint8"),
    ("warnings", list, "[]string"),
    ("auditAnnotations", dict, "map[string]string"),
)


def _check_types(response: Object) -> None:
    for name, expected, go_type in _TYPES:
        value = response.get(name)
        if value is not None and not isinstance(value, expected):
            raise Unusable(
                f"{_FAILED}json: cannot unmarshal {_json_type(value)} into Go struct field "
                f"AdmissionResponse.response.{name} of type {go_type}"
            )


def _json_type(value: Any) -> str:
    for kind, type_name in ((bool, "bool"), (str, "string"), (list, "array"), (dict, "object")):
        if isinstance(value, kind):
            return type_name
    return "number"


def _patch(encoded: str) -> Any:
    try:
        raw = base64.b64decode(encoded, validate=True)
    except binascii.Error as error:
        raise Unusable(f"{_FAILED}illegal base64 data at input byte 0") from error
    try:
        return orjson.loads(raw)
    except orjson.JSONDecodeError as error:
        raise Unusable(
            f"received undecodable patch in webhook response: {json_error(raw)}"
        ) from error


def denial(name: str, result: Object | None) -> errors.ApiError:
    """Returns the refusal of a webhook: its code, reason and details with upstream's message."""
    status = result or {}
    denied = f'admission webhook "{name}" denied the request'
    code = status.get("code")
    text, reason = str(status.get("message") or ""), str(status.get("reason") or "")
    if text:
        message = f"{denied}: {text}"
    elif reason:
        message = f"{denied}: {reason}"
    else:
        message = f"{denied} without explanation"
    details = status.get("details")
    return errors.ApiError(
        code if isinstance(code, int) and code >= 400 else 400,
        reason,
        message,
        details=details if isinstance(details, dict) else None,
    )
