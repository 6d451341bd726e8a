"""Strategy: the behaviour that a kind defines for itself; the generic store does the rest.

A kind with its own behaviour subclasses Strategy in registry/<group>/<kind>.py. `default` and
`prepare_*` get fresh copies to change in place; `old` must never be changed. `validate*` returns
all field errors, not only the first. A strategy never awaits and reads no clock: the Context has
all that it needs.

Models kubernetes staging/src/k8s.io/apiserver/pkg/registry/rest/create.go, update.go, delete.go.
"""

from __future__ import annotations

from typing import Any

import msgspec

from apiserver_app.apis import servicenet
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object, ResourceInfo, User
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.reader import Reader
from apiserver_app.machinery.releases import DEFAULT, Release
from apiserver_app.registry.validation import objectmeta


class Context(msgspec.Struct):
    """What a strategy knows of the request and the cluster."""

    now: int  # µs since 1970
    version: Release  # "1.33"
    rand: Rand
    reader: Reader
    user: User
    namespace: str
    subresource: str = ""
    net: servicenet.ServiceNet = servicenet.DEFAULT
    dry_run: bool = False
    warnings: list[str] = []  # what a `prepare_*` warns of


class Strategy:
    """The default behaviour of every kind."""

    # whether a PUT to a missing name creates the object (AllowCreateOnUpdate)
    create_on_update = False
    # whether an update may leave out resourceVersion (AllowUnconditionalUpdate)
    unconditional_update = True
    # whether metadata.generation is kept (kinds with a spec); see prepare_for_*
    counts_generation = False
    # whether the kind's own rules for a create are about the metadata, too; else that is looked
    # at when nothing else is wrong, with names held to the rule of path segments
    validates_metadata = True
    # validates names; passed to objectmeta.validate_object_meta
    name_rule: objectmeta.NameRule = staticmethod(objectmeta.dns_subdomain)
    # whether a write of the status keeps the stored spec, and nothing but the spec has defaults
    keeps_spec = False
    # fields that `?fieldSelector=` may name besides metadata.name and metadata.namespace
    selectable: tuple[str, ...] = ()
    # whether dependents stay after a delete that says nothing of them
    # (DefaultGarbageCollectionPolicy), and what is warned of then
    orphans_dependents = False
    orphan_warning = ""
    # the release that it serves, for defaults, which know no Context
    release: Release = DEFAULT
    # whether `?fieldSelector=` may name metadata.namespace
    selects_namespace = True

    def __init__(self, info: ResourceInfo) -> None:
        self.info = info

    def names(self, release: Release) -> objectmeta.NameRule:
        """The rule for names in a release."""
        return self.name_rule

    def default(self, obj: Object) -> None:
        """Sets the defaults of this kind (upstream's zz_generated.defaults.go)."""

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        """Drops fields that a client may not set and sets fields that only the server knows.
        Default: sets generation to 1."""
        if self.counts_generation:
            obj["metadata"]["generation"] = 1

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        return []

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        """Default: keeps the old status if the kind has a status subresource, and increments the
        generation if the spec changed."""
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
        """Only the status may change: takes everything else from old."""
        status = obj.get("status")
        metadata = obj["metadata"]
        kept = {key: value for key, value in old.items() if key != "status"}
        obj.clear()
        obj.update(kept)
        obj["metadata"] = {**old["metadata"]}
        for name in ("resourceVersion", "managedFields"):
            if name in metadata:
                obj["metadata"][name] = metadata[name]
        if status is not None:
            obj["status"] = status

    def validate_status_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        return []

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        """The warnings that kubectl prints (WarningsOnCreate, WarningsOnUpdate)."""
        return []

    def grace_seconds(self, obj: Object, options: Object) -> int | None:
        """The grace period of a graceful delete: the object gets a deletionTimestamp that far
        ahead, and another delete with gracePeriodSeconds 0 (by the kubelet) removes it. None
        deletes the object at once."""
        return None

    def field_refusal(self, path: str) -> str:
        """Why `?fieldSelector=` may not name a field; empty if it may.

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
        """The value of a selectable field; None if the field is not selectable."""
        if path == "metadata.name":
            return str(obj["metadata"].get("name", ""))
        if path == "metadata.namespace":
            return str(obj["metadata"].get("namespace", ""))
        if path not in self.selectable:
            return None
        value: Any = obj
        for step in path.split("."):
            value = value.get(step) if isinstance(value, dict) else None
        if value is None:
            return ""
        return str(value).lower() if isinstance(value, bool) else str(value)


Strategies = dict[tuple[str, str, str], Strategy]  # by group, version and resource
