"""The types of variables in admission expressions. Loaded with the first expression.

Models kubernetes staging/src/k8s.io/apiserver/pkg/admission/plugin/cel/compile.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from apiserver_app.cel import types
from apiserver_app.cel.types import BOOL, DYN, INT, STRING, TIMESTAMP, Type


def _object(kind: str, /, **fields: Type) -> Type:
    return Type(f"kubernetes.{kind}", (), fields)


_STRINGS = types.list_of(STRING)
_WORDS = types.map_of(STRING, STRING)
_KIND = _object("GroupVersionKind", group=STRING, version=STRING, kind=STRING)
_RESOURCE = _object("GroupVersionResource", group=STRING, version=STRING, resource=STRING)
USER = _object(
    "UserInfo", username=STRING, uid=STRING, groups=_STRINGS, extra=types.map_of(STRING, _STRINGS)
)
REQUEST = _object(
    "AdmissionRequest",
    kind=_KIND,
    resource=_RESOURCE,
    subResource=STRING,
    requestKind=_KIND,
    requestResource=_RESOURCE,
    requestSubResource=STRING,
    name=STRING,
    namespace=STRING,
    operation=STRING,
    userInfo=USER,
    dryRun=BOOL,
    options=DYN,
)
_CONDITION = _object(
    "NamespaceCondition",
    status=STRING,
    type=STRING,
    lastTransitionTime=TIMESTAMP,
    message=STRING,
    reason=STRING,
)
_METADATA = _object(
    "NamespaceMetadata",
    name=STRING,
    generateName=STRING,
    namespace=STRING,
    labels=_WORDS,
    annotations=_WORDS,
    UID=STRING,
    creationTimestamp=TIMESTAMP,
    deletionGracePeriodSeconds=INT,
    deletionTimestamp=TIMESTAMP,
    generation=INT,
    resourceVersion=STRING,
    finalizers=_STRINGS,
)
NAMESPACE = _object(
    "Namespace",
    metadata=_METADATA,
    spec=_object("NamespaceSpec", finalizers=_STRINGS),
    status=_object("NamespaceStatus", conditions=types.list_of(_CONDITION), phase=STRING),
)

VARIABLES: dict[str, Type] = {
    "object": DYN,
    "oldObject": DYN,
    "namespaceObject": NAMESPACE,
    "request": REQUEST,
    "authorizer": types.parse("authorizer"),
    "authorizer.requestResource": types.parse("resourceCheck"),
}


class _Patches(dict[str, Type]):
    """The message types of mutations: `JSONPatch`, and `Object` with one for each of its fields."""

    def get(self, name: str, default: Type | None = None) -> Type | None:  # type: ignore[override]
        if name == "JSONPatch":
            return _JSON_PATCH
        if name == "Object" or name.startswith("Object."):
            return Type(name)
        return default


_JSON_PATCH = Type("JSONPatch", (), {"op": STRING, "path": STRING, "from": STRING, "value": DYN})
PATCHES: Mapping[str, Type] = _Patches()
