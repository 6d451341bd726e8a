"""RuntimeClasses: a handler that never changes, and what its pods cost and where they run.

Models kubernetes pkg/apis/node/validation/validation.go and
pkg/registry/node/runtimeclass/strategy.go.
"""

from __future__ import annotations

import json

from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax import names
from apiserver_app.registry.core import resources
from apiserver_app.registry.core.pod import scheduling as podscheduling
from apiserver_app.registry.strategy import Context, Strategy
from apiserver_app.registry.validation import checks, nodewarnings, objectmeta


class RuntimeClassStrategy(Strategy):
    create_on_update = True
    unconditional_update = False

    def default(self, obj: Object) -> None:
        """Tolerations and amounts have no defaults; amounts are written as upstream writes them."""
        amounts = (obj.get("overhead") or {}).get("podFixed")
        if amounts:
            resources.canonicalize(amounts)

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        errs: list[FieldError] = []
        handler = obj.get("handler") or ""
        if not handler and ctx.version.has("RuntimeHandlerRequired"):
            errs.append(errors.required("handler"))
        else:
            checks.named(handler, "handler", names.dns1123_label_errors, errs)
        overhead, scheduling = obj.get("overhead"), obj.get("scheduling")
        if overhead is not None:
            limits = {"limits": overhead.get("podFixed") or {}}
            resources.validate(limits, "overhead", set(), errs)
        if scheduling is not None:
            if scheduling.get("nodeSelector") is not None:
                path = "scheduling.nodeSelector"
                objectmeta.label_errors(scheduling["nodeSelector"], path, errs)
            tolerations, at = scheduling.get("tolerations") or (), "scheduling.tolerations"
            inside = at if ctx.version.has("TolerationsOfRuntimeClasses") else f"{at}.tolerations"
            podscheduling.tolerations(tolerations, inside, ctx.version, errs)
            seen: set[str] = set()
            for index, item in enumerate(tolerations):
                key = json.dumps([item.get(name) for name in _LIST_KEYS])
                if key in seen:
                    printed = errors.GoText(_toleration(item))
                    errs.append(errors.duplicate(f"{at}[{index}]", printed))
                seen.add(key)
        return errs

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        handler = obj.get("handler") or ""
        if handler == (old.get("handler") or ""):
            return []
        return [errors.invalid_value("handler", handler, "field is immutable")]

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        warnings: list[str] = []
        labels = (obj.get("scheduling") or {}).get("nodeSelector") or ()
        nodewarnings.unnamed(labels, "scheduling.nodeSelector", warnings)
        return warnings


_LIST_KEYS = ("key", "operator", "value", "effect")


def _toleration(item: Object) -> str:
    """A core.Toleration in Go's syntax."""
    words = ", ".join(
        f"{name.title()}:{errors.go_value(item.get(name) or '')}" for name in _LIST_KEYS
    )
    seconds = "(*int64)(nil)" if item.get("tolerationSeconds") is None else "(*int64)(0xc000000000)"
    return f"core.Toleration{{{words}, TolerationSeconds:{seconds}}}"
