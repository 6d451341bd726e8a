"""Conversion of custom resources by a webhook: the ConversionReview and its response.

Converted objects are cached by revision, so that another read calls no webhook. Nothing here does
I/O.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/conversion/
webhook_converter.go.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from typing import Any

import orjson

from apiserver_app.egress import outbound
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object

KEPT_MAX = 2048
TIMEOUT_SECONDS = 30.0


class Webhook:
    """The conversion webhook of a definition, and its cache of converted objects."""

    def __init__(self, config: Object) -> None:
        self._config = config
        versions = config.get("conversionReviewVersions") or ()
        self._version = next(
            (version for version in versions if version in ("v1", "v1beta1")), "v1"
        )
        self._kept: dict[tuple[str, str, str], Object] = {}
        self._staged: dict[str, Object] = {}  # by uid: objects about to be stored

    def known(self, obj: Object, api_version: str) -> Object | None:
        """The object in that version, if the cache has it."""
        if obj.get("apiVersion") == api_version:
            return obj
        metadata = obj["metadata"]
        return self._kept.get(
            (metadata.get("uid", ""), metadata.get("resourceVersion", ""), api_version)
        )

    def keep(self, obj: Object, api_version: str, converted: Object) -> None:
        if len(self._kept) >= KEPT_MAX:
            self._kept.clear()
        metadata = obj["metadata"]
        key = (metadata.get("uid", ""), metadata.get("resourceVersion", ""), api_version)
        self._kept[key] = converted

    def stage(self, converted: Object) -> None:
        """Keeps a new object in the storage version until `staged` takes it for storing."""
        if len(self._staged) >= KEPT_MAX:
            self._staged.clear()
        self._staged[meta.uid_of(converted)] = converted

    def staged(self, uid: str) -> Object | None:
        return self._staged.pop(uid, None)

    def call(self, uid: str, objects: Sequence[Object], api_version: str) -> outbound.Call:
        """The webhook call that converts the objects."""
        review = {
            "kind": "ConversionReview",
            "apiVersion": f"apiextensions.k8s.io/{self._version}",
            "request": {"uid": uid, "desiredAPIVersion": api_version, "objects": list(objects)},
        }
        client = self._config.get("clientConfig") or {}
        try:
            bundle = base64.b64decode(client.get("caBundle") or "").decode()
        except (binascii.Error, UnicodeDecodeError):
            bundle = ""
        return outbound.Call(
            outbound.target_of(client),
            query=f"timeout={TIMEOUT_SECONDS:.0f}s",
            headers={"Content-Type": "application/json", "Accept": "application/json, */*"},
            body=orjson.dumps(review),
            ca_pem=bundle,
            timeout_seconds=TIMEOUT_SECONDS,
        )


def converted(
    answer: outbound.Answer, uid: str, objects: Sequence[Object], api_version: str
) -> list[Object]:
    """The objects that the webhook returned, with their original metadata. Raises ApiError 500."""
    first = objects[0]
    group, _, version = str(first.get("apiVersion")).rpartition("/")
    what = f"conversion webhook for {group}/{version}, Kind={first.get('kind')}"
    if not 200 <= answer.status <= 206:
        raise refusal(what, f"the server responded with status code {answer.status}")
    try:
        review = orjson.loads(answer.body)
    except orjson.JSONDecodeError as error:
        raise refusal(what, str(error)) from error
    response = review.get("response") if isinstance(review, dict) else None
    if not isinstance(response, dict):
        raise refusal(what, "no response provided")
    if response.get("uid") != uid:
        got = errors.go_value(response.get("uid") or "")
        raise refusal(what, f"expected response.uid={errors.go_value(uid)}, got {got}")
    result = response.get("result") or {}
    if result.get("status") != "Success":
        status = result.get("status") or ""
        message = f"response.result.status was '{status}', not 'Success'"
        raise refusal(what, result.get("message") or message)
    results = response.get("convertedObjects") or []
    if len(results) != len(objects):
        text = f"{what} returned {len(results)} objects, expected {len(objects)}"
        raise errors.ApiError(500, "", text)
    out = []
    for index, (result, source) in enumerate(zip(results, objects, strict=True)):
        problem = _invalid_result(result, source, api_version)
        if problem:
            text = f"{what} returned invalid converted object at index {index}: {problem}"
            raise errors.ApiError(500, "", text)
        out.append(
            {**result, "metadata": _restore_metadata(result["metadata"], source["metadata"])}
        )
    return out


def refusal(what: str, message: str) -> errors.ApiError:
    return errors.ApiError(500, "", f"{what} failed: {message}")


def _invalid_result(made: Any, source: Object, api_version: str) -> str:
    if not isinstance(made, dict) or not isinstance(made.get("metadata"), dict):
        return "missing metadata in converted object"
    if made.get("apiVersion") != api_version:
        return f"invalid groupVersion (expected {api_version}, received {made.get('apiVersion')})"
    if made.get("kind") != source.get("kind"):
        return f"invalid kind (expected {source.get('kind')}, received {made.get('kind')})"
    for field, getter in (
        ("name", meta.name_of),
        ("namespace", meta.namespace_of),
        ("UID", meta.uid_of),
    ):
        if getter(made) != getter(source):
            return f"must have the same {field}: {getter(source)} != {getter(made)}"
    return ""


def _restore_metadata(made: Object, source: Object) -> Object:
    """The original metadata with the converted labels and annotations."""
    out = {name: value for name, value in source.items() if name not in ("labels", "annotations")}
    for name in ("labels", "annotations"):
        if isinstance(made.get(name), dict) and made[name]:
            out[name] = made[name]
    return out
