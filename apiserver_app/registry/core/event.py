"""The strategy of Events: of the core group and of events.k8s.io, which share their storage.

Stored events have the core group's field names; `from_events` and `to_events` convert from and to
those of events.k8s.io.

Models kubernetes pkg/registry/core/event/strategy.go, pkg/apis/core/validation/events.go and
pkg/apis/events/v1/conversion.go.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.machinery.syntax import names
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks, gosyntax

_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
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
WORD_SIZE, NOTE_SIZE = 128, 1024
# immutable fields of events.k8s.io: the field, and its name in upstream's errors
_FIXED = (
    *((name, name) for name in "involvedObject reason message source".split()),
    *((name, name) for name in "firstTimestamp lastTimestamp count type".split()),
    *((name, name) for name in "eventTime action related".split()),
    ("reportingComponent", "reportingController"),
    ("reportingInstance", "reportingInstance"),
)
_OBJECT = (
    ("Kind", "kind"),
    ("Namespace", "namespace"),
    ("Name", "name"),
    ("UID", "uid"),
    ("APIVersion", "apiVersion"),
    ("ResourceVersion", "resourceVersion"),
    ("FieldPath", "fieldPath"),
)
_STRUCTS = {
    "involvedObject": ("core.ObjectReference", _OBJECT),
    "related": ("core.ObjectReference", _OBJECT),
    "source": ("core.EventSource", (("Component", "component"), ("Host", "host"))),
}


class EventStrategy(Strategy):
    create_on_update = True

    def __init__(self, info: ResourceInfo) -> None:
        super().__init__(info)
        self.validates_metadata = bool(info.group)
        self._reporting = "reportingController" if info.group else "reportingComponent"
        about, more = (
            ("regarding", ("reportingController",))
            if info.group
            else ("involvedObject", ("reportingComponent", "source"))
        )
        self.selectable = (*(f"{about}.{field}" for field in _REFERENCE), "reason", "type", *more)

    def default(self, obj: Object) -> None:
        if self.info.group:
            return
        for field, value in _ALWAYS.items():
            if field not in obj:
                obj[field] = {} if value == {} else value
        gofields.arrange(obj, "core.v1.Event")

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        event = from_events(obj) if self.info.group else obj
        _legacy(event, errs, self._reporting)
        if self.info.group:
            _strict(event, errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        event = from_events(obj) if self.info.group else obj
        _legacy(event, errs, self._reporting)
        if self.info.group:
            _fixed(event, from_events(old), errs)
        return errs

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
    gofields.arrange(out, "core.v1.Event")
    return out


def to_events(obj: Object) -> Object:
    """A stored event under the names of events.k8s.io/v1."""
    out = {_FROM_CORE.get(field, field): value for field, value in obj.items()}
    out["apiVersion"] = "events.k8s.io/v1"
    for field in ("reportingController", "reportingInstance"):  # omitempty here alone
        if out.get(field) == "":
            del out[field]
    gofields.arrange(out, "events.v1.Event")
    return out


# -- inside -------------------------------------------------------------------------------------


def _legacy(event: Object, errs: list[FieldError], reporting: str) -> None:
    """Validates what both APIs require."""
    namespace = event["metadata"].get("namespace") or ""
    about = (event.get("involvedObject") or {}).get("namespace") or ""
    if not event.get("eventTime"):
        good = namespace == about if about else namespace in ("", "default")
    else:
        good = bool(about) or namespace in ("default", "kube-system")
    if not good:
        text = "does not match event.namespace"
        errs.append(errors.invalid_value("involvedObject.namespace", about, text))
    if event.get("eventTime"):
        _new_style(event, errs, reporting)
    for text in names.dns1123_subdomain_errors(namespace):
        errs.append(errors.invalid_value("namespace", namespace, text))


def _strict(event: Object, errs: list[FieldError]) -> None:
    """Validates a create through events.k8s.io."""
    _series(event, errs)
    if not event.get("eventTime"):
        errs.append(errors.required("eventTime"))
    kind = event.get("type") or ""
    if kind not in ("Normal", "Warning"):
        errs.append(errors.invalid_value("type", "", f"has invalid value: {kind}"))
    source = event.get("source") or {}
    for field, value in (
        *((field, event.get(field)) for field in ("firstTimestamp", "lastTimestamp", "count")),
        ("source", source.get("component") or source.get("host")),
    ):
        if value:
            errs.append(errors.invalid_value(field, "", "needs to be unset"))


def _fixed(event: Object, before: Object, errs: list[FieldError]) -> None:
    """Refuses changes of anything but the series."""
    if event.get("series") != before.get("series"):
        _series(event, errs)
    for field, path in _FIXED:
        now, then = event.get(field) or None, before.get(field) or None
        if now != then:
            printed: Any = 0 if field == "count" else ""
            if field in _STRUCTS and now is not None:
                kind, parts = _STRUCTS[field]
                printed = gosyntax.of_words(kind, now, parts)
            elif now is not None:
                printed = now
            errs.append(errors.invalid_value(path, printed, "field is immutable"))


def _series(event: Object, errs: list[FieldError]) -> None:
    series = event.get("series")
    if series is None:
        return
    if (series.get("count") or 0) < 2:
        errs.append(errors.invalid_value("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        errs.append(errors.required("series.lastObservedTime"))


def _new_style(event: Object, errs: list[FieldError], reporting: str) -> None:
    controller = event.get("reportingComponent") or ""
    if not controller:
        errs.append(errors.required(reporting))
    checks.named(controller, reporting, names.qualified_name_errors, errs)
    for field in ("reportingInstance", "action", "reason"):
        value = event.get(field) or ""
        if not value:
            errs.append(errors.required(field))
        if names.size(value) > WORD_SIZE:
            text = f"can have at most {WORD_SIZE} characters"
            errs.append(errors.invalid_value(field, "", text))
    if names.size(event.get("message") or "") > NOTE_SIZE:
        text = f"can have at most {NOTE_SIZE} characters"
        errs.append(errors.invalid_value("message", "", text))
