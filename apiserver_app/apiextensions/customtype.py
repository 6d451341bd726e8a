"""One version of a custom resource, compiled from its definition: decoding, defaulting, conversion.

A stored object is pruned and defaulted again when it is read, since the schema may have changed
since it was written. Input objects are never changed.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/
customresource_handler.go (unstructuredSchemaCoercer, crdConversionRESTOptionsGetter).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import orjson

from apiserver_app.apiextensions.conversion import Webhook
from apiserver_app.apiextensions.schema import defaulting, embedded, pruning, structural
from apiserver_app.apiextensions.schema.embedded import DecodeMetadata
from apiserver_app.apiextensions.schema.structural import Node, Schema
from apiserver_app.machinery import conditions, errors, meta
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.kinds import customresources
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.types.scheme import Unfit

if TYPE_CHECKING:
    from apiserver_app.apiextensions.schema.rules import Rules

READ_MAX = 1024  # objects cached in their served version
DEPTH_MAX = 128  # nesting of objects
INT64_MAX = 2**63 - 1
# how long creates wait after Established, so that every API server has seen the definition
SETTLE_SECONDS = 2


class CustomType:
    """A served version. `siblings` are all versions of the definition, by name."""

    def __init__(
        self,
        definition: Object,
        version: Object,
        info: ResourceInfo,
        decode_metadata: DecodeMetadata,
        siblings: dict[str, CustomType],
    ) -> None:
        self.info = info
        self.definition = definition
        self.source: Schema = (version.get("schema") or {}).get("openAPIV3Schema") or {}
        self.node: Node = structural.build(self.source)
        self.root: Node = structural.as_root(self.node)
        self.columns: Sequence[Object] = version.get("additionalPrinterColumns") or ()
        self.selectable: dict[str, str] = {
            field["jsonPath"].removeprefix("."): field["jsonPath"]
            for field in version.get("selectableFields") or ()
        }
        subresources = version.get("subresources") or {}
        self.has_status = subresources.get("status") is not None
        self.scale: Object | None = subresources.get("scale")
        self.warnings = _warnings(definition, version, info)
        self.listed = self.terminating = False
        self.refresh(definition)
        self._keeps_all = bool(definition["spec"].get("preserveUnknownFields"))
        self.has_rules = structural.has_rules(self.node)
        self._has_embedded = embedded.has_embedded(self.node)
        self._rules: Rules | None = None
        self._decode_metadata = decode_metadata
        self._siblings = siblings
        self.webhook: Webhook | None = None
        self._read: dict[int, tuple[Object, Object]] = {}

    def refresh(self, definition: Object) -> None:
        """Takes over a definition whose conditions changed, but nothing that is compiled."""
        self.definition = definition
        self.listed = customresources.is_true(definition, "Established")
        self.terminating = customresources.is_true(definition, "Terminating")

    @property
    def verbs(self) -> tuple[str, ...]:
        """The verbs that discovery lists."""
        return customresources.VERBS_TERMINATING if self.terminating else customresources.VERBS

    # -- requests -------------------------------------------------------------------------------

    def check(self, verb: str) -> None:
        """Raises 405 for verbs that a definition under deletion does not allow."""
        if verb == "create" and self.terminating:
            error = errors.method_not_allowed(self.info.group, self.info.plural, verb)
            error.message = f"{verb} not allowed while custom resource definition is terminating"
            raise error

    def settled_at(self) -> int:
        """When creates are allowed, in µs since 1970."""
        condition = conditions.find(self.definition.get("status"), "Established")
        since = (condition or {}).get("lastTransitionTime")
        return meta.parse_time(since) + SETTLE_SECONDS * 1_000_000 if since else 0

    def decode(self, raw: Object) -> tuple[Object, list[str]]:
        """A new pruned object, and a message for each unknown field. Raises 400 for an object of
        another kind."""
        try:
            obj: Object = copied(raw)
            unknown = self._coerce(obj)
        except Unfit as error:
            info = self.info
            raise errors.bad_request(
                f'{info.kind} in version "{info.version}" cannot be handled as a {info.kind}: '
                f"{error}"
            ) from error
        return obj, unknown

    def default(self, obj: Object) -> None:
        """Sets the schema's defaults in place."""
        defaulting.default(obj, self.root)

    def check_rules(
        self, version: Release, obj: Object, old: Object | None
    ) -> tuple[list[FieldError], list[str]]:
        """The errors of the schema's rules, and their warnings. The Kubernetes `version` decides
        which CEL functions exist."""
        from apiserver_app.apiextensions.schema import rules

        if self._rules is None:
            self._rules = rules.Rules(self.node, version)
        result = self._rules.check(obj, old)
        return result.errs, result.warnings

    # -- storage --------------------------------------------------------------------------------

    def to_served(self, stored: Object) -> Object:
        """A stored object in this version; the object itself if nothing differs."""
        known = self._read.get(id(stored))
        if known is not None and known[0] is stored:
            return known[1]
        obj: Object = copied(self._converted(stored, self.info.api_version))
        obj["apiVersion"] = self.info.api_version
        if not self._keeps_all:
            pruning.prune(obj, self.root)
            pruning.prune_nulls(obj, self.root)
        defaulting.default(obj, self.root)
        obj = stored if obj == stored else in_order(obj)
        if len(self._read) >= READ_MAX:
            self._read.clear()
        self._read[id(stored)] = (stored, obj)
        return obj

    def to_stored(self, obj: Object) -> Object:
        """The object in the storage version."""
        stored = self._siblings[self.info.stored_version]
        if stored is self:
            return obj
        revision = obj["metadata"].get("resourceVersion")
        if self.webhook is not None:
            obj = self._known(self.webhook.staged(meta.uid_of(obj)), obj)
        out: Object = {**copied(obj), "apiVersion": stored.info.api_version}
        out["metadata"]["resourceVersion"] = revision
        if not self._keeps_all:
            pruning.prune(out, stored.root)
            pruning.prune_nulls(out, stored.root)
        return out

    def _converted(self, obj: Object, api_version: str) -> Object:
        """The object as the webhook has converted it; the object itself without a webhook."""
        if self.webhook is None:
            return obj
        return self._known(self.webhook.known(obj, api_version), obj)

    def _known(self, converted: Object | None, obj: Object) -> Object:
        if converted is None:  # the object changed during the webhook call
            raise errors.conflict(
                self.info.group, self.info.plural, meta.name_of(obj), errors.MODIFIED
            )
        return converted

    # -- inside ---------------------------------------------------------------------------------

    def _coerce(self, obj: Object) -> list[str]:
        unknown: list[str] = []
        metadata = obj.pop("metadata", None)
        if metadata is not None:
            metadata, unknown = self._decode_metadata(metadata, "metadata")
        if not self._keeps_all:
            pruned = pruning.prune(obj, self.root)
            unknown += [f'unknown field "{path}"' for path in pruned]
            pruning.prune_nulls(obj, self.root)
        if self._has_embedded:
            unknown += embedded.coerce(obj, self.node, self._decode_metadata)
        obj["metadata"] = metadata if metadata is not None else {}
        return unknown


def copied(value: Any, depth: int = 0) -> Any:
    """A deep copy. Integers beyond 64 bits become floats, as in Go."""
    if depth > DEPTH_MAX:
        raise Unfit("exceeded max depth")
    if isinstance(value, dict):
        return {key: copied(item, depth + 1) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item, depth + 1) for item in value]
    if type(value) is int and not -INT64_MAX - 1 <= value <= INT64_MAX:
        return float(value)
    return value


def in_order(obj: Object) -> Object:
    """The object with its keys sorted, as Go writes maps."""
    out: Object = orjson.loads(orjson.dumps(obj, option=orjson.OPT_SORT_KEYS))
    return out


def _warnings(definition: Object, version: Object, info: ResourceInfo) -> tuple[str, ...]:
    """The warnings for requests of a deprecated version."""
    if not version.get("deprecated"):
        return ()
    if version.get("deprecationWarning") is not None:
        return (str(version["deprecationWarning"]),)
    spec = definition["spec"]
    kind = spec["names"]["kind"]
    rank = customresources.version_rank
    better = [
        other["name"]
        for other in customresources.versions(definition)
        if other.get("served")
        and not other.get("deprecated")
        and rank(other["name"]) > rank(info.version)
    ]
    text = f"{spec['group']}/{info.version} {kind} is deprecated"
    if better:
        text += f"; use {spec['group']}/{max(better, key=rank)} {kind}"
    return (text,)
