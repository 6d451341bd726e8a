"""What the controllers of definitions share: reading one, and writing its status.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apihelpers/helpers.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kinds import customresources
from apiserver_app.machinery.meta import Object
from controllers_app.runtime.controller import Context, Controller
from controllers_app.runtime.watches import For


class DefinitionController(Controller):
    """A controller of definitions: keys are their names."""

    watches = (For(customresources.DEFINITIONS),)
    workers = 1

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self.definitions = self.caches[customresources.DEFINITIONS]

    def with_condition(
        self, definition: Object, kind: str, status: str, reason: str, message: str
    ) -> Object:
        """A copy with that condition, as of now."""
        wanted = {"type": kind, "status": status, "reason": reason, "message": message}
        now = meta.rfc3339(self.kernel.now)
        return customresources.with_condition(definition, wanted, now)

    async def write_status(self, definition: Object) -> Object | None:
        """The definition as stored; None when it is gone or changed: then another key comes."""
        name = meta.name_of(definition)
        with errors.ignoring("NotFound", "Conflict"):
            return await self.client.update(
                customresources.DEFINITIONS, "", name, definition, subresource="status"
            )
        return None
