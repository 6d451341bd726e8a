"""PodTolerationRestriction: adds a namespace's default tolerations and enforces its whitelist.

Models kubernetes plugin/pkg/admission/podtolerationrestriction/admission.go and
pkg/util/tolerations/tolerations.go.
"""

from __future__ import annotations

from collections.abc import Sequence

import orjson

from apiserver_app.admission.plugin import (
    CREATE,
    RESOURCES,
    SKIP,
    Attributes,
    Given,
    Plugin,
    Verdict,
)
from apiserver_app.apis.podresources import every_container
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object

DEFAULTS = "scheduler.alpha.kubernetes.io/defaultTolerations"
WHITELIST = "scheduler.alpha.kubernetes.io/tolerationsWhitelist"
_MEMORY: Object = {
    "key": "node.kubernetes.io/memory-pressure",
    "operator": "Exists",
    "effect": "NoSchedule",
}


class PodTolerationRestriction(Plugin):
    name = "PodTolerationRestriction"
    concern = RESOURCES
    resources = ("pods",)
    mutates = True
    validates = True
    reads = ("namespaces",)
    source = "plugin/pkg/admission/podtolerationrestriction/admission.go"

    def __init__(self, defaults: Sequence[Object] = (), whitelist: Sequence[Object] = ()) -> None:
        self._defaults, self._whitelist = defaults, whitelist

    @classmethod
    def make(cls, given: Given) -> Plugin:
        config = given.config.of(cls.name)
        return cls(config.get("default") or (), config.get("whitelist") or ())

    def admit(self, attributes: Attributes) -> Verdict:
        pod = attributes.obj
        if pod is None:
            return SKIP
        extra: list[Object] = []
        if attributes.operation == CREATE:
            own = _annotated(attributes, DEFAULTS)
            extra += self._defaults if own is None else own
        if not _is_best_effort(pod["spec"]):
            extra.append(_MEMORY)
        have = pod["spec"].get("tolerations") or []
        merged = merge(have, extra) if extra else have
        self._check(attributes, merged)
        if merged == have:
            return Verdict("allow", "tolerates what it may")
        op = {"op": "add", "path": "/spec/tolerations", "value": merged}
        return Verdict("change", f"{len(merged)} tolerations with those of its namespace", [op])

    def validate(self, attributes: Attributes) -> Verdict:
        if attributes.obj is None:
            return SKIP
        self._check(attributes, attributes.obj["spec"].get("tolerations") or [])
        return Verdict("allow", "tolerates what it may")

    def _check(self, attributes: Attributes, tolerations: Sequence[Object]) -> None:
        if not tolerations:
            return
        namespace_list = _annotated(attributes, WHITELIST)
        whitelist = self._whitelist if namespace_list is None else namespace_list
        for toleration in tolerations if whitelist else ():
            if not any(_covers(allowed, toleration) for allowed in whitelist):
                scope = "cluster" if namespace_list is None else "namespace"
                raise errors.ApiError(
                    500,
                    "",
                    "pod tolerations (possibly merged with namespace default tolerations) "
                    f"conflict with its {scope} whitelist",
                )


def merge(first: Sequence[Object], second: Sequence[Object]) -> list[Object]:
    """Merges tolerations and drops those covered by another; of equal ones the first stays."""
    every = [*first, *second]
    merged: list[Object] = []
    for index, toleration in enumerate(every):
        if any(_covers(other, toleration) for other in merged):
            continue
        if any(_covers(other, toleration) and other != toleration for other in every[index + 1 :]):
            continue
        merged.append(toleration)
    return merged


def _covers(wide: Object, narrow: Object) -> bool:
    """Reports whether `wide` tolerates everything that `narrow` tolerates."""
    if wide == narrow:
        return True
    exists = wide.get("operator") == "Exists"
    if narrow.get("key", "") != wide.get("key", "") and (wide.get("key") or not exists):
        return False
    if wide.get("effect") and narrow.get("effect", "") != wide["effect"]:
        return False
    seconds = wide.get("tolerationSeconds")
    if wide.get("effect") == "NoExecute" and seconds is not None:
        narrow_seconds = narrow.get("tolerationSeconds")
        if narrow_seconds is None or narrow_seconds > seconds:
            return False
    if wide.get("operator", "Equal") in ("", "Equal"):
        equal = narrow.get("operator", "Equal") in ("", "Equal")
        return equal and narrow.get("value", "") == wide.get("value", "")
    return exists


def _annotated(attributes: Attributes, key: str) -> list[Object] | None:
    """Returns the tolerations in a namespace's annotation; None without the annotation."""
    namespace = attributes.reader.get("namespaces", "", attributes.namespace)
    if namespace is None:
        raise errors.not_found("", "namespaces", attributes.namespace)
    text = meta.annotations_of(namespace).get(key)
    if text is None:
        return None
    if not text:
        return []
    try:
        parsed = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise errors.ApiError(500, "", str(error)) from error
    return [toleration for toleration in parsed or () if isinstance(toleration, dict)]


def _is_best_effort(spec: Object) -> bool:
    """Reports whether no container has requests or limits."""
    for _, container in every_container(spec, ephemeral=False):
        resources = container.get("resources") or {}
        if resources.get("requests") or resources.get("limits"):
            return False
    return True
