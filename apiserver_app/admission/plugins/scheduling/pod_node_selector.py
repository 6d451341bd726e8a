"""PodNodeSelector: a namespace restricts the nodes of its pods.

Its configuration has a default for the cluster and the allowed labels of namespaces.

Models kubernetes plugin/pkg/admission/podnodeselector/admission.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.admission.plugin import (
    CREATE,
    RESOURCES,
    SKIP,
    Attributes,
    Given,
    Plugin,
    Verdict,
)
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.meta import Object

ANNOTATION = "scheduler.alpha.kubernetes.io/node-selector"
DEFAULT = "clusterDefaultNodeSelector"
_CONFLICT = "pod node label selector conflicts with its namespace node label selector"
_BEYOND = "pod node label selector labels conflict with its namespace whitelist"


class PodNodeSelector(Plugin):
    name = "PodNodeSelector"
    concern = RESOURCES
    handles = (CREATE,)
    resources = ("pods",)
    mutates = True
    validates = True
    reads = ("namespaces",)
    source = "plugin/pkg/admission/podnodeselector/admission.go"

    def __init__(self, selectors: Mapping[str, str]) -> None:
        self._selectors = selectors

    @classmethod
    def make(cls, given: Given) -> Plugin:
        selectors = given.config.of(cls.name).get("podNodeSelectorPluginConfig")
        return cls(selectors if isinstance(selectors, dict) else {})

    def admit(self, attributes: Attributes) -> Verdict:
        pod = attributes.obj
        if pod is None:
            return SKIP
        required = self._of_namespace(attributes)
        have = pod["spec"].get("nodeSelector") or {}
        merged = {**required, **have}
        if any(have.get(key, value) != value for key, value in required.items()):
            raise _forbidden(pod, _CONFLICT)
        self._check(attributes, pod, merged)
        if merged == have:
            return Verdict("allow", "the namespace asks for no more")
        op = {"op": "add", "path": "/spec/nodeSelector", "value": dict(sorted(merged.items()))}
        printed = ",".join(f"{key}={value}" for key, value in sorted(required.items()))
        return Verdict("change", f"the namespace asks for nodes with {printed}", [op])

    def validate(self, attributes: Attributes) -> Verdict:
        pod = attributes.obj
        if pod is None:
            return SKIP
        have = pod["spec"].get("nodeSelector") or {}
        required = self._of_namespace(attributes)
        if any(have.get(key, value) != value for key, value in required.items()):
            raise _forbidden(pod, _CONFLICT)
        self._check(attributes, pod, have)
        return Verdict("allow", "the node selector is the namespace's")

    def _check(self, attributes: Attributes, pod: Object, have: Mapping[str, str]) -> None:
        allowed = pairs(self._selectors.get(attributes.namespace, ""))
        if allowed and any(allowed.get(key) != value for key, value in have.items()):
            raise _forbidden(pod, _BEYOND)

    def _of_namespace(self, attributes: Attributes) -> dict[str, str]:
        namespace = attributes.reader.get("namespaces", "", attributes.namespace)
        if namespace is None:
            message = f"namespace {attributes.namespace} does not exist"
            raise errors.internal(message)
        annotated = meta.annotations_of(namespace).get(ANNOTATION)
        return pairs(self._selectors.get(DEFAULT, "") if annotated is None else annotated)


def pairs(selector: Any) -> dict[str, str]:
    """Parses `a=b,c=d`; other text is an error, worded as upstream's."""
    parsed: dict[str, str] = {}
    for part in str(selector or "").split(","):
        if not part and not selector:
            continue
        pieces = part.split("=")
        if len(pieces) != 2:
            raise errors.ApiError(500, "", f"invalid selector: {pieces}".replace("'", ""))
        key, value = (piece.strip() for piece in pieces)
        parsed[key] = value
    return parsed


def _forbidden(pod: Object, reason: str) -> errors.ApiError:
    return errors.forbidden("", "pods", meta.name_of(pod), reason)
