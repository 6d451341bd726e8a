"""PodTemplates: a stored template, with a template's defaults and rules.

Models kubernetes pkg/registry/core/podtemplate/strategy.go.
"""

from __future__ import annotations

from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.registry.core import workload
from apiserver_app.registry.core.pod import defaults, disabled, validation
from apiserver_app.registry.core.pod import warnings as podwarnings
from apiserver_app.registry.strategy import Context, Strategy


class PodTemplateStrategy(Strategy):
    def default(self, obj: Object) -> None:
        defaults.template(obj)

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        obj["metadata"]["generation"] = 1
        disabled.in_template(obj, None, ctx.version)

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        disabled.in_template(obj, old, ctx.version)
        generation = old["metadata"].get("generation") or 0
        if obj["template"] != old.get("template"):
            generation += 1
        obj["metadata"]["generation"] = generation

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        warnings: list[str] = []
        if old is None or workload.is_new_generation(obj, old):
            template = obj["template"]
            metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
            podwarnings.add(spec, metadata, "template.spec", ctx.version, warnings)
        return warnings

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        validation.validate_template(obj["template"], "template", ctx.version, errs)
        return errs
