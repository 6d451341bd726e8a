"""EventRateLimit: limits events per second by server, namespace, user or source.

Each configured limit keeps a token bucket per key, in virtual time.

Models kubernetes plugin/pkg/admission/eventratelimit.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence

from apiserver_app.admission.config import ConfigurationError
from apiserver_app.admission.plugin import RESOURCES, SKIP, Attributes, Given, Plugin, Verdict
from apiserver_app.machinery import errors
from apiserver_app.machinery.kernel import SECOND
from apiserver_app.machinery.meta import Object

KEYS_MAX = 4096  # buckets of one limit, unless it says cacheSize
RETRY_SECONDS = 1
TYPES = ("Namespace", "Server", "SourceAndObject", "User")


class EventRateLimit(Plugin):
    name = "EventRateLimit"
    concern = RESOURCES
    resources = ("events", "events.events.k8s.io")
    validates = True
    source = "plugin/pkg/admission/eventratelimit/admission.go"

    def __init__(self, limits: Sequence[Object]) -> None:
        self._limits = [_Limit(limit) for limit in limits]

    @classmethod
    def make(cls, given: Given) -> Plugin:
        limits = given.config.of(cls.name).get("limits") or []
        _check(limits)
        return cls(limits)

    def validate(self, attributes: Attributes) -> Verdict:
        if attributes.obj is None:
            return SKIP
        refusal = ""
        for limit in self._limits:  # each limit takes a token, even after a refusal
            refusal = limit.refuse(attributes) or refusal
        if refusal:
            raise errors.too_many_requests(refusal, retry_after=RETRY_SECONDS)
        return Verdict("allow", f"within {len(self._limits)} limits")


class _Limit:
    """The buckets of one limit: (tokens, filled when), the oldest used first."""

    def __init__(self, config: Object) -> None:
        self._type = str(config.get("type", ""))
        self._rate, self._burst = int(config.get("qps") or 0), int(config.get("burst") or 0)
        self._keys_max = int(config.get("cacheSize") or 0) or KEYS_MAX
        self._buckets: OrderedDict[str, tuple[float, int]] = OrderedDict()

    def refuse(self, attributes: Attributes) -> str:
        """Takes a token; returns the refusal when there is none."""
        key = self._key(attributes)
        tokens, since = self._buckets.pop(key, (float(self._burst), attributes.now))
        passed = (attributes.now - since) / SECOND
        tokens = min(float(self._burst), tokens + passed * self._rate)
        accepted = tokens >= 1
        self._buckets[key] = (tokens - 1 if accepted else tokens, attributes.now)
        if len(self._buckets) > self._keys_max:
            self._buckets.popitem(last=False)
        return "" if accepted else f"limit reached on type {self._type} for key {key}"

    def _key(self, attributes: Attributes) -> str:
        if self._type == "Namespace":
            return attributes.namespace
        if self._type == "User":
            return attributes.user.name
        if self._type == "Server" or attributes.obj is None:
            return ""
        event = attributes.obj
        source = event.get("source") or event.get("deprecatedSource") or {}
        about = event.get("involvedObject") or event.get("regarding") or {}
        fields = ("kind", "namespace", "name", "uid", "apiVersion")
        parts = [source.get("component", ""), source.get("host", "")]
        return "".join(parts + [about.get(field) or "" for field in fields])


def _check(limits: Sequence[Object]) -> None:
    problems: list[errors.FieldError] = []
    if not limits:
        problems.append(errors.invalid_value("limits", errors.GoText("[]"), "must not be empty"))
    for index, limit in enumerate(limits):
        path = f"limits[{index}]"
        if limit.get("type") not in TYPES:
            problems.append(errors.not_supported(f"{path}.type", limit.get("type", ""), TYPES))
        for field in ("burst", "qps"):
            if int(limit.get(field) or 0) <= 0:
                value = int(limit.get(field) or 0)
                problems.append(errors.invalid_value(f"{path}.{field}", value, "must be positive"))
        size = int(limit.get("cacheSize") or 0)
        if size < 0 and limit.get("type") != "Server":
            reason = "must not be negative"
            problems.append(errors.invalid_value(f"{path}.cacheSize", size, reason))
    if problems:
        text = errors.aggregate([str(problem) for problem in problems])
        raise ConfigurationError(EventRateLimit.name, text)
