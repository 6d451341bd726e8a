"""ImagePolicyWebhook: an external server decides which images may run. Off unless configured.

It receives an ImageReview of a pod's images; its answer is cached for a while. When it cannot be
reached, `defaultAllow` decides.

Models kubernetes plugin/pkg/admission/imagepolicy/{admission,config}.go.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from typing import Any

import orjson

from apiserver_app.admission.config import ConfigurationError
from apiserver_app.admission.plugin import SECURITY, Attributes, Given, Plugin, Verdict, forbidden
from apiserver_app.admission.webhooks import calls
from apiserver_app.egress import kubeconfigs, outbound
from apiserver_app.machinery import meta
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.serializer import compact
from apiserver_app.machinery.syntax import goduration

API_VERSION = "imagepolicy.k8s.io/v1alpha1"
AUDIT = "imagepolicywebhook.image-policy.k8s.io/"
ANNOTATIONS = ".image-policy.k8s.io/"  # only these annotations are sent to the server
ANSWERS_MAX = 1024
TRIES_MAX, PAUSE_FACTOR, TIMEOUT_SECONDS = 5, 1.5, 30.0
_RETRIABLE = (429, 500, 504)
# name -> its name in messages, unit in milliseconds, default, minimum, maximum (milliseconds)
_DURATIONS: dict[str, tuple[str, int, int, int, int]] = {
    "retryBackoff": ("backoff", 1, 500, 0, 300_000),
    "allowTTL": ("allow cache", 1000, 300_000, 1000, 1_800_000),
    "denyTTL": ("deny cache", 1000, 30_000, 1000, 1_800_000),
}


class ImagePolicyWebhook(Plugin):
    name = "ImagePolicyWebhook"
    concern = SECURITY
    resources = ("pods", "pods/ephemeralcontainers")
    validates = True
    source = "plugin/pkg/admission/imagepolicy/admission.go"

    def __init__(
        self, target: kubeconfigs.Target, durations: Mapping[str, int], default_allow: bool
    ) -> None:
        self._target = target
        self._durations = durations
        self._default_allow = default_allow
        self._cached: OrderedDict[bytes, tuple[int, Object]] = OrderedDict()

    @classmethod
    def make(cls, given: Given) -> Plugin:
        config = given.config.of(cls.name).get("imagePolicy")
        if not config:
            raise ConfigurationError(cls.name, "no config specified")
        file = config.get("kubeConfigFile") or ""
        try:
            target = kubeconfigs.target(given.config.files.get(file, ""))
        except ValueError as error:
            raise ConfigurationError(cls.name, str(error)) from error
        durations = {name: _duration(name, config.get(name) or 0) for name in _DURATIONS}
        return cls(target, durations, bool(config.get("defaultAllow")))

    async def validate(self, attributes: Attributes) -> Verdict:
        review = _review(attributes)
        key = compact.encode(review["spec"], sort_keys=True)
        cached = self._cached.get(key)
        if cached is not None and cached[0] > attributes.now:
            status, origin = cached[1], "remembered"
        else:
            try:
                status, origin = await self._ask(review, attributes), "asked"
            except outbound.CallFailed as error:
                attributes.annotations[AUDIT + "failed-open"] = "true"
                if self._default_allow:
                    return Verdict("allow", f"allowed by default: {error}")
                del attributes.annotations[AUDIT + "failed-open"]
                raise forbidden(attributes, str(error)) from error
            self._cache(key, status, attributes.now)
        for name, value in (status.get("auditAnnotations") or {}).items():
            attributes.annotations[AUDIT + name] = str(value)
        if status.get("allowed"):
            return Verdict("allow", f"{origin}: the images may run")
        reason = status.get("reason")
        if reason:
            message = f"image policy webhook backend denied one or more images: {reason}"
            raise forbidden(attributes, message)
        raise forbidden(attributes, "one or more images rejected by webhook backend")

    def _cache(self, key: bytes, status: Object, now: int) -> None:
        ttl = self._durations["allowTTL" if status.get("allowed") else "denyTTL"]
        self._cached[key] = (now + ttl * SECOND // 1000, status)
        self._cached.move_to_end(key)
        if len(self._cached) > ANSWERS_MAX:
            self._cached.popitem(last=False)

    async def _ask(self, review: Object, attributes: Attributes) -> Object:
        """Returns the status of the review. Raises CallFailed."""
        services, target = attributes.interfaces, self._target
        assert services is not None, "image policies are asked in a cluster only"
        call = outbound.Call(
            target.url,
            body=orjson.dumps(review),
            ca_pem=target.ca_pem,
            headers={"Content-Type": "application/json", **target.headers},
            client_cert_pem=target.client_cert_pem,
            client_key_pem=target.client_key_pem,
            insecure=target.insecure,
            timeout_seconds=TIMEOUT_SECONDS,
        )
        note: Object = {"webhook": self.name, "to": target.url, "request": review}
        attributes.run.calls.append(note)
        pause = self._durations["retryBackoff"] / 1000
        for retries in reversed(range(TRIES_MAX)):
            try:
                answer = await services.outbound.call(call)
            except outbound.CallFailed as error:
                note["verdict"], note["why"] = "failed", str(error)
                raise
            if answer.status not in _RETRIABLE or not retries:
                break
            await services.kernel.sleep(pause)
            pause *= PAUSE_FACTOR
        note["by"], note["code"] = answer.by, answer.status
        try:
            status = _status(answer)
        except outbound.CallFailed as error:
            note["verdict"], note["why"] = "failed", str(error)
            raise
        note["response"] = status
        note["verdict"] = "allow" if status.get("allowed") else "deny"
        return status


def _review(attributes: Attributes) -> Object:
    pod = attributes.obj or {}
    spec = pod.get("spec") or {}
    groups: tuple[str, ...] = ("containers", "initContainers", "ephemeralContainers")
    if attributes.subresource:
        groups = groups[2:]
    annotations = {
        key: value for key, value in meta.annotations_of(pod).items() if ANNOTATIONS in key
    }
    review_spec: Object = {
        "containers": [
            {"image": container.get("image", "")}
            for group in groups
            for container in spec.get(group) or ()
        ]
    }
    if annotations:
        review_spec["annotations"] = annotations
    if attributes.namespace:
        review_spec["namespace"] = attributes.namespace
    return {
        "kind": "ImageReview",
        "apiVersion": API_VERSION,
        "metadata": {},
        "spec": review_spec,
        "status": {"allowed": False},
    }


def _status(answer: outbound.Answer) -> Object:
    if not 200 <= answer.status < 300:
        raise outbound.CallFailed(calls.unexpected(answer))
    try:
        review = orjson.loads(answer.body)
    except orjson.JSONDecodeError as error:
        raise outbound.CallFailed(
            f"couldn't get version/kind; json parse error: {error}"
        ) from error
    status = review.get("status") if isinstance(review, dict) else None
    return status if isinstance(status, dict) else {}


def _duration(name: str, value: Any) -> int:
    """Returns milliseconds: -1 means none, 0 the default."""
    label, unit, default, least, most = _DURATIONS[name]
    if not isinstance(value, int):
        raise ConfigurationError(ImagePolicyWebhook.name, f"{label} is no number: {value}")
    if value == -1:
        return 0
    if value == 0:
        return default
    if not least < value * unit <= most:
        raise ConfigurationError(
            ImagePolicyWebhook.name,
            f"valid value is between {_go(least)} and {_go(most)}, got {_go(value * unit)}",
        )
    return value * unit


def _go(milliseconds: int) -> str:
    """Formats a duration as Go does."""
    return goduration.text(milliseconds * goduration.MILLISECOND) if milliseconds else "1ns"
