"""PodTolerationRestriction: a namespace's pods tolerate its defaults, and nothing it does not list.

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
    "key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule",
}  # fmt: skip


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
        own = _annotated(attributes, WHITELIST)
        whitelist = self._whitelist if own is None else own
        for one in tolerations if whitelist else ():
            if not any(_covers(allowed, one) for allowed in whitelist):
                scope = "cluster" if own is None else "namespace"
                raise errors.ApiError(
                    500, "",
                    "pod tolerations (possibly merged with namespace default tolerations) "
                    f"conflict with its {scope} whitelist",
                )  # fmt: skip


def merge(first: Sequence[Object], second: Sequence[Object]) -> list[Object]:
    """Both, without those that another one covers; of equal ones the first stays."""
    every = [*first, *second]
    merged: list[Object] = []
    for index, one in enumerate(every):
        if any(_covers(other, one) for other in merged):
            continue
        if any(_covers(other, one) and other != one for other in every[index + 1 :]):
            continue
        merged.append(one)
    return merged


def _covers(wide: Object, one: Object) -> bool:
    """Whether whatever the second tolerates the first tolerates, too."""
    if wide == one:
        return True
    exists = wide.get("operator") == "Exists"
    if one.get("key", "") != wide.get("key", "") and (wide.get("key") or not exists):
        return False
    if wide.get("effect") and one.get("effect", "") != wide["effect"]:
        return False
    seconds = wide.get("tolerationSeconds")
    if wide.get("effect") == "NoExecute" and seconds is not None:
        asked = one.get("tolerationSeconds")
        if asked is None or asked > seconds:
            return False
    if wide.get("operator", "Equal") in ("", "Equal"):
        equal = one.get("operator", "Equal") in ("", "Equal")
        return equal and one.get("value", "") == wide.get("value", "")
    return exists


def _annotated(attributes: Attributes, key: str) -> list[Object] | None:
    """The tolerations a namespace's annotation holds; None when it has no such annotation."""
    namespace = attributes.reader.get("namespaces", "", attributes.namespace)
    if namespace is None:
        raise errors.not_found("", "namespaces", attributes.namespace)
    text = meta.annotations_of(namespace).get(key)
    if text is None:
        return None
    if not text:
        return []
    try:
        found = orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise errors.ApiError(500, "", str(error)) from error
    return [one for one in found or () if isinstance(one, dict)]


def _is_best_effort(spec: Object) -> bool:
    """Whether no container asks for anything."""
    for _, container in every_container(spec, ephemeral=False):
        resources = container.get("resources") or {}
        if resources.get("requests") or resources.get("limits"):
            return False
    return True
