"""The strategy of DaemonSets: defaults and validation.

Models kubernetes pkg/apis/apps/v1/defaults.go, pkg/apis/apps/validation/validation.go and
pkg/registry/apps/daemonset/strategy.go.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.types import gofields
from apiserver_app.registry.core import workload
from apiserver_app.registry.core.pod import validation
from apiserver_app.registry.strategy import Context
from apiserver_app.registry.validation import checks, gosyntax, selectors

TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_INT64 = re.compile(r"[+-]?[0-9]+", re.ASCII)


class DaemonSetStrategy(workload.WorkloadStrategy):
    status_zero: ClassVar[Mapping[str, Any]] = {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    }
    status_numbers = (
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
        "observedGeneration",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberUnavailable",
        "collisionCount",
    )

    def default(self, obj: Object) -> None:
        """Reads the annotation as the number it stands for, before anything else looks at it."""
        super().default(obj)
        notes = obj["metadata"].get("annotations") or {}
        text = notes.get(TEMPLATE_GENERATION, "0")
        known = _INT64.fullmatch(text)
        if known is None or len(text) > 20 or not -(1 << 63) <= int(text) < 1 << 63:
            why = "value out of range" if known else "invalid syntax"
            parsing = f"strconv.ParseInt: parsing {errors.quoted(text)}: {why}"
            raise errors.Undecodable(
                f'DaemonSet in version "v1" cannot be handled as a DaemonSet: {parsing}', parsing
            )
        _set_template_generation(obj, int(text))

    def default_spec(self, obj: Object, spec: dict[str, Any]) -> None:
        strategy: dict[str, Any] = spec.get("updateStrategy") or {}
        spec["updateStrategy"] = strategy
        if not strategy.get("type"):
            strategy["type"] = "RollingUpdate"
            gofields.arrange(strategy, "apps.v1.DaemonSetUpdateStrategy")
        if strategy["type"] == "RollingUpdate":
            rolling: dict[str, Any] = strategy.get("rollingUpdate") or {}
            strategy["rollingUpdate"] = rolling
            if rolling.get("maxUnavailable") is None:
                rolling["maxUnavailable"] = 1
            if rolling.get("maxSurge") is None:
                rolling["maxSurge"] = 0
            gofields.arrange(rolling, "apps.v1.RollingUpdateDaemonSet")
        if spec.get("revisionHistoryLimit") is None:
            spec["revisionHistoryLimit"] = 10

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        super().prepare_for_create(ctx, obj)
        notes = obj["metadata"]["annotations"]
        _set_template_generation(obj, max(1, int(notes[TEMPLATE_GENERATION])))

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        super().prepare_for_update(ctx, obj, old)
        notes = old["metadata"].get("annotations") or {}
        generation = int(notes.get(TEMPLATE_GENERATION) or 1)
        if obj["spec"].get("template") != old["spec"].get("template"):
            generation += 1
        _set_template_generation(obj, generation)

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        spec = obj["spec"]
        value, template = spec.get("selector"), spec.get("template") or {}
        selectors.validate(value, "spec.selector", errs)
        if not errs:
            workload.template_labels(value, template, "spec.template", errs)
        if value is not None and selectors.is_empty(value):
            text = "empty selector is invalid for daemonset"
            printed = gosyntax.label_selector(value)
            errs.append(errors.invalid_value("spec.selector", printed, text))
        validation.validate_template(template, "spec.template", ctx.version, errs)
        workload.always(template, "spec.template", "DaemonSet", errs)
        checks.not_negative(spec.get("minReadySeconds"), "spec.minReadySeconds", errs)
        _update_strategy(spec.get("updateStrategy") or {}, "spec.updateStrategy", errs)
        checks.not_negative(spec.get("revisionHistoryLimit"), "spec.revisionHistoryLimit", errs)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        if obj["spec"] == old["spec"]:
            return []
        errs = self.validate(ctx, obj)
        workload.immutable_selector(obj, old, errs)
        return errs


def _set_template_generation(obj: Object, generation: int) -> None:
    """Keeps the former field spec.templateGeneration as an annotation, as apps/v1 does."""
    notes = obj["metadata"].get("annotations") or {}
    if notes.get(TEMPLATE_GENERATION) != str(generation):
        metadata = {
            **obj["metadata"],
            "annotations": dict(sorted({**notes, TEMPLATE_GENERATION: str(generation)}.items())),
        }
        gofields.arrange(metadata, "meta.v1.ObjectMeta")
        obj["metadata"] = metadata


def _update_strategy(strategy: Mapping[str, Any], path: str, errs: list[FieldError]) -> None:
    kind, rolling = strategy.get("type") or "", strategy.get("rollingUpdate")
    if kind == "OnDelete":
        return
    if kind != "RollingUpdate":
        printed = errors.GoText(
            f"apps.DaemonSetUpdateStrategy{{Type:{errors.go_value(kind)}, RollingUpdate:"
            f"{gosyntax.pointer('apps.RollingUpdateDaemonSet', rolling)}}}"
        )
        errs.append(errors.not_supported(path, printed, ("RollingUpdate", "OnDelete")))
        return
    if rolling is None:
        errs.append(errors.required(f"{path}.rollingUpdate"))
        return
    at = f"{path}.rollingUpdate"
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    for field, value in (("maxUnavailable", unavailable), ("maxSurge", surge)):
        checks.int_or_percent(value, f"{at}.{field}", errs)
    for field, value in (("maxUnavailable", unavailable), ("maxSurge", surge)):
        checks.not_above_100_percent(value, f"{at}.{field}", errs)
    has_unavailable = checks.int_or_percent_value(unavailable) != 0
    has_surge = checks.int_or_percent_value(surge) != 0
    if has_unavailable and has_surge:
        printed = checks.int_or_string_text(surge)
        text = "may not be set when maxUnavailable is non-zero"
        errs.append(errors.invalid_value(f"{at}.maxSurge", printed, text))
    elif not has_unavailable and not has_surge:
        text = "cannot be 0 when maxSurge is 0"
        errs.append(errors.required(f"{at}.maxUnavailable", text))
