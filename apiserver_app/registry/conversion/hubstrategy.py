"""The strategy of a kind in an old version with other fields: the storage version's strategy,
applied to converted objects.

Models apimachinery pkg/runtime/scheme.go: defaults belong to a version, all else to the internal
type, which is what the version that components use stands for here.
"""

from __future__ import annotations

from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.meta import Object, ResourceInfo
from apiserver_app.registry.conversion import convert
from apiserver_app.registry.strategy import Context, Strategy


class OldStrategy(Strategy):
    """Delegates to `inner`, the strategy of the storage version; `info` is of the old version."""

    def __init__(self, info: ResourceInfo, inner: Strategy) -> None:
        super().__init__(info)
        self._inner = inner
        self.create_on_update = inner.create_on_update
        self.unconditional_update = inner.unconditional_update
        self.counts_generation = inner.counts_generation
        self.name_rule = inner.name_rule
        self.selectable = inner.selectable
        self.selects_namespace = inner.selects_namespace

    def default(self, obj: Object) -> None:
        hub = self._to(obj)
        self._inner.default(hub)
        self._back(obj, hub)

    def prepare_for_create(self, ctx: Context, obj: Object) -> None:
        hub = self._to(obj)
        self._inner.prepare_for_create(ctx, hub)
        self._back(obj, hub)

    def validate(self, ctx: Context, obj: Object) -> list[FieldError]:
        return self._inner.validate(ctx, self._to(obj))

    def prepare_for_update(self, ctx: Context, obj: Object, old: Object) -> None:
        hub = self._to(obj)
        self._inner.prepare_for_update(ctx, hub, self._to(old))
        self._back(obj, hub)

    def validate_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        return self._inner.validate_update(ctx, self._to(obj), self._to(old))

    def prepare_for_status_update(self, ctx: Context, obj: Object, old: Object) -> None:
        hub = self._to(obj)
        self._inner.prepare_for_status_update(ctx, hub, self._to(old))
        self._back(obj, hub)

    def validate_status_update(self, ctx: Context, obj: Object, old: Object) -> list[FieldError]:
        return self._inner.validate_status_update(ctx, self._to(obj), self._to(old))

    def warnings(self, ctx: Context, obj: Object, old: Object | None) -> list[str]:
        before = None if old is None else self._to(old)
        return self._inner.warnings(ctx, self._to(obj), before)

    def _to(self, obj: Object) -> Object:
        return convert.to_stored(self.info, obj)

    def _back(self, obj: Object, hub: Object) -> None:
        """Converts the result back into `obj`, in place."""
        made = convert.to_served(self.info, hub)
        obj.clear()
        obj.update(made)
