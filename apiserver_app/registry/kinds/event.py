"""Events, of the core group and of events.k8s.io: two ways to write the same stored thing.

What is stored has the core group's field names. A client of events.k8s.io is given, and may send,
the other names: `from_events` and `to_events` translate.

Models kubernetes pkg/registry/core/event/strategy.go, pkg/apis/core/validation/events.go and
pkg/apis/events/v1/conversion.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors, names
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.registry.kinds import checks, gosyntax
from apiserver_app.registry.strategy import Context, Strategy

_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_ORDER = (
    "kind", "apiVersion", "metadata", "involvedObject", "reason", "message", "source",
    "firstTimestamp", "lastTimestamp", "count", "type", "eventTime", "series", "action",
    "related", "reportingComponent", "reportingInstance",
)  # fmt: skip
_NEW_ORDER = (
    "kind", "apiVersion", "metadata", "eventTime", "series", "reportingController",
    "reportingInstance", "action", "reason", "regarding", "related", "note", "type",
    "deprecatedSource", "deprecatedFirstTimestamp", "deprecatedLastTimestamp",
    "deprecatedCount",
)  # fmt: skip
# field of events.k8s.io -> field of the core group
_TO_CORE = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_FROM_CORE = {core: new for new, core in _TO_CORE.items()}
_ALWAYS: Mapping[str, Any] = {
    "involvedObject": {},
    "source": {},
    "firstTimestamp": None,
    "lastTimestamp": None,
    "eventTime": None,
    "reportingComponent": "",
    "reportingInstance": "",
}


class EventStrategy(Strategy):
    create_on_update = True
    selectable = (
        *(f"involvedObject.{field}" for field in _REFERENCE),
        *(f"regarding.{field}" for field in _REFERENCE),
        "reason",
        "reportingComponent",
        "reportingController",
        "source",
        "type",
    )

    def default(self, obj: Object) -> None:
        if self.info.group:
            return
        for field, value in _ALWAYS.items():
            if field not in obj:
                obj[field] = {} if value == {} else value
        gosyntax.arrange(obj, _ORDER)

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        found: list[FieldError] = []
        old_form = "regarding" not in obj
        event = obj if old_form else from_events(obj)
        namespace = event["metadata"].get("namespace") or ""
        about = (event.get("involvedObject") or {}).get("namespace") or ""
        good = namespace == about if about else namespace in ("", "default")
        if not good:
            text = "does not match event.namespace"
            found.append(errors.invalid_value("involvedObject.namespace", about, text))
        if event.get("eventTime"):
            _new_style(event, "reportingComponent" if old_form else "reportingController", found)
        elif self.info.group:
            found.append(errors.required("eventTime"))
        return found

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        return self.validate(ctx, obj)

    def selectable_value(self, obj: Object, path: str) -> str | None:
        if path.startswith("regarding."):
            path = f"involvedObject.{path.removeprefix('regarding.')}"
        if path.startswith("involvedObject."):
            field = path.removeprefix("involvedObject.")
            if field not in _REFERENCE:
                return None
            about = obj.get("involvedObject") or obj.get("regarding") or {}
            return str(about.get(field) or "")
        if path == "source":
            source = obj.get("source") or obj.get("deprecatedSource") or {}
            return str(source.get("component") or self._controller(obj))
        if path in ("reportingComponent", "reportingController"):
            return self._controller(obj)
        return super().selectable_value(obj, path)

    @staticmethod
    def _controller(obj: Object) -> str:
        return str(obj.get("reportingComponent") or obj.get("reportingController") or "")


def from_events(obj: Object) -> Object:
    """An events.k8s.io/v1 event under the core group's names."""
    out = {_TO_CORE.get(field, field): value for field, value in obj.items()}
    out["apiVersion"] = "v1"
    for field, value in _ALWAYS.items():
        out.setdefault(field, {} if value == {} else value)
    gosyntax.arrange(out, _ORDER)
    return out


def to_events(obj: Object) -> Object:
    """A stored event as events.k8s.io/v1 shows it."""
    out = {_FROM_CORE.get(field, field): value for field, value in obj.items()}
    out["apiVersion"] = "events.k8s.io/v1"
    for field in ("reportingController", "reportingInstance"):  # omitempty here alone
        if out.get(field) == "":
            del out[field]
    gosyntax.arrange(out, _NEW_ORDER)
    return out


def _new_style(event: Object, controller_field: str, found: list[FieldError]) -> None:
    controller = event.get("reportingComponent") or ""
    if not controller:
        found.append(errors.required(controller_field))
    checks.named(controller, controller_field, names.qualified_name_errors, found)
    instance = event.get("reportingInstance") or ""
    if not instance:
        found.append(errors.required("reportingInstance"))
    for field, limit in (("reportingInstance", 128), ("action", 128), ("reason", 128)):
        value = event.get(field) or ""
        if field != "reportingInstance" and not value:
            found.append(errors.required(field))
        if len(value) > limit:
            text = f"can have at most {limit} characters"
            found.append(errors.invalid_value(field, "", text))
    if len(event.get("message") or "") > 1024:
        found.append(errors.invalid_value("message", "", "can have at most 1024 characters"))
