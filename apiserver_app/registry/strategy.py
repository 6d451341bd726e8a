"""What a kind may decide about itself; the generic store does the rest.

A kind with behaviour subclasses Strategy in registry/<group>/<kind>.py and overrides what differs.
Objects given to `default` and `prepare_*` are fresh copies: change them in place. `old` never.
`validate*` returns every finding, not the first. Nothing here awaits, and nothing reads a clock:
what it needs is in the Context.

Models kubernetes staging/src/k8s.io/apiserver/pkg/registry/rest/create.go, update.go, delete.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from apiserver_app.apis import servicenet
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object, ResourceInfo, User
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.reader import Reader
from apiserver_app.machinery.releases import Release
from apiserver_app.registry.validation import objectmeta


@dataclass(slots=True)
class Context:
    """What a strategy may know of the request and the cluster."""

    now: int  # µs since 1970
    version: Release  # "1.33"
    rand: Rand
    reader: Reader
    user: User
    namespace: str
    subresource: str = ""
    net: servicenet.ServiceNet = servicenet.DEFAULT


class Strategy:
    """The behaviour every kind has unless it says otherwise."""

    # PUT to a missing name creates it
    create_on_update = False
    # an update without resourceVersion is taken as unconditional
    unconditional_update = True
    # metadata.generation is counted (kinds with a spec); see prepare_for_*
    counts_generation = False
    # how objects may be called; objectmeta.validate_object_meta is given it
    name_rule: objectmeta.NameRule = staticmethod(objectmeta.dns_subdomain)
    # fields that `?fieldSelector=` may name beside metadata.name and metadata.namespace
    selectable: tuple[str, ...] = ()
    # whether it may name metadata.namespace
    selects_namespace = True

    def __init__(self, info: ResourceInfo) -> None:
        self.info = info

    def default(self, obj: Object) -> None:
        """Upstream's zz_generated.defaults for this kind: fill what was left out."""

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        """Drop what a client may not set; set what only the server knows. Default: the spec's
        generation 1 and no status."""
        if self.counts_generation:
            obj["metadata"]["generation"] = 1

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        return []

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        """Default: status is kept from old (when the kind has a status subresource), and the
        generation grows when the spec changed."""
        if "status" in self.info.subresources:
            if "status" in old:
                obj["status"] = old["status"]
            else:
                obj.pop("status", None)
        if self.counts_generation:
            generation = old["metadata"].get("generation", 1)
            if obj.get("spec") != old.get("spec"):
                generation += 1
            obj["metadata"]["generation"] = generation

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        return self.validate(ctx, obj)

    def prepare_for_status_update(self, ctx: Context, obj: Object, old: Object) -> None:
        """Only the status may change: take the rest from old."""
        status = obj.get("status")
        metadata = obj["metadata"]
        keep = {key: value for key, value in old.items() if key != "status"}
        obj.clear()
        obj.update(keep)
        obj["metadata"] = {**old["metadata"]}
        for name in ("resourceVersion", "managedFields"):
            if name in metadata:
                obj["metadata"][name] = metadata[name]
        if status is not None:
            obj["status"] = status

    def validate_status_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        return []

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        """What kubectl prints as `Warning: ...`."""
        return []

    def grace_seconds(self, obj: Object, options: Object) -> int | None:
        """None: deleted at once. A number: the object first carries deletionTimestamp that far
        ahead, and someone (the kubelet) deletes it for good with gracePeriodSeconds 0."""
        return None

    def field_refusal(self, path: str) -> str:
        """Why `?fieldSelector=` may not name a field; empty when it may.

        Models pkg/apis/*/v1/conversion.go and apimachinery pkg/runtime/conversion.go."""
        if path == "metadata.name" or path in self.selectable:
            return ""
        if path == "metadata.namespace" and self.selects_namespace:
            return ""
        if self.selectable:
            return f"field label not supported: {path}"
        only = '"metadata.name", "metadata.namespace"'
        return f"{errors.go_value(path)} is not a known field selector: only {only}"

    def selectable_value(self, obj: Object, path: str) -> str | None:
        """The value of a selectable field; None when the kind does not know it."""
        if path == "metadata.name":
            return str(obj["metadata"].get("name", ""))
        if path == "metadata.namespace":
            return str(obj["metadata"].get("namespace", ""))
        if path not in self.selectable:
            return None
        at: Any = obj
        for step in path.split("."):
            at = at.get(step) if isinstance(at, dict) else None
        if at is None:
            return ""
        return str(at).lower() if isinstance(at, bool) else str(at)
