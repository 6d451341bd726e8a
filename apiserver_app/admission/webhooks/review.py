"""AdmissionReview: the question a webhook is asked, and the checks its answer must pass.

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
    """The answer is none; upstream's sentence."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What a webhook said, checked."""

    allowed: bool
    result: Object | None = None
    patch: Any = None  # the decoded JSON patch; None when there is none
    warnings: tuple[str, ...] = ()
    annotations: dict[str, str] = field(default_factory=dict)


def version_for(spec: Object) -> str:
    """The first version the webhook takes that we speak. Raises Unusable."""
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
    """The review of a request, seen as one for `info`; obj and old are in that version."""
    means = attributes.means
    assert means is not None, "webhooks are asked in a cluster only"
    asked, sub, user = attributes.info, attributes.subresource, attributes.user
    request: Object = {"uid": uid}
    request["kind"] = _kind(means.kind_of(info, sub))
    request["resource"] = _resource(info)
    if sub:
        request["subResource"] = sub
    request["requestKind"] = _kind(means.kind_of(asked, sub))
    request["requestResource"] = _resource(asked)
    if sub:
        request["requestSubResource"] = sub
    if attributes.name:
        request["name"] = attributes.name
    namespace = attributes.namespace
    if asked.key == "namespaces":
        namespace = namespace or attributes.name
    if namespace:
        request["namespace"] = namespace
    request["operation"] = attributes.operation
    who: Object = {"username": user.name}
    if user.uid:
        who["uid"] = user.uid
    if user.groups:
        who["groups"] = list(user.groups)
    if user.extra:
        who["extra"] = {key: list(values) for key, values in sorted(user.extra.items())}
    request["userInfo"] = who
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
    """The body of an answer as a review. Raises Unusable in the decoder's words."""
    try:
        review = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        said = json_error(body)
        raise Unusable(f"{_FAILED}couldn't get version/kind; json parse error: {said}") from error
    if not isinstance(review, dict):
        kind = "array" if isinstance(review, list) else type(review).__name__
        raise Unusable(
            f"{_FAILED}couldn't get version/kind; json parse error: json: cannot unmarshal {kind} "
            "into Go value of type struct { APIVersion string; Kind string }"
        )
    return review


def json_error(body: bytes) -> str:
    """What Go's decoder says of text that is no JSON."""
    if not body.strip():
        return "unexpected end of JSON input"
    first = body.lstrip()[:1].decode("latin-1")
    if first in '{["':
        return "unexpected end of JSON input"
    return f"invalid character '{first}' looking for beginning of value"


def verify(review: Object, version: str, uid: str, *, mutating: bool) -> Answer:
    """The answer in a review. Raises Unusable."""
    response = review.get("response")
    if response is None:
        raise Unusable(f"{_INVALID}webhook response was absent")
    if not isinstance(response, dict):
        raise Unusable(
            f"{_FAILED}json: cannot unmarshal {_json_word(response)} into Go struct field "
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
        shown = named if "/" in named else f"/{named}"
        raise Unusable(
            f"{_INVALID}expected webhook response of {GROUP}/v1, Kind=AdmissionReview, got "
            f"{shown}, Kind={kind}"
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
    ("allowed", bool, "bool"), ("status", dict, "v1.Status"), ("patch", str, "[]uint8"),
    ("warnings", list, "[]string"), ("auditAnnotations", dict, "map[string]string"),
)  # fmt: skip


def _check_types(response: Object) -> None:
    for name, wanted, go_type in _TYPES:
        value = response.get(name)
        if value is not None and not isinstance(value, wanted):
            raise Unusable(
                f"{_FAILED}json: cannot unmarshal {_json_word(value)} into Go struct field "
                f"AdmissionResponse.response.{name} of type {go_type}"
            )


def _json_word(value: Any) -> str:
    for kind, word in ((bool, "bool"), (str, "string"), (list, "array"), (dict, "object")):
        if isinstance(value, kind):
            return word
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
    """The refusal of a webhook: its own code, reason and details behind upstream's sentence."""
    given = result or {}
    denied = f'admission webhook "{name}" denied the request'
    code = given.get("code")
    said, reason = str(given.get("message") or ""), str(given.get("reason") or "")
    if said:
        message = f"{denied}: {said}"
    elif reason:
        message = f"{denied}: {reason}"
    else:
        message = f"{denied} without explanation"
    details = given.get("details")
    return errors.ApiError(
        code if isinstance(code, int) and code >= 400 else 400, reason, message,
        details=details if isinstance(details, dict) else None,
    )  # fmt: skip
