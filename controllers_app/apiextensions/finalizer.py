"""The finalizer controller: a definition that is deleted takes its objects along.

It deletes them through the API, so that admission, finalizers and owners have their say, waits
until none is left, and takes its finalizer off the definition.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/controller/finalizer/
crd_finalizer.go.
"""

from __future__ import annotations

from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kinds import customresources
from apiserver_app.machinery.meta import Object
from controllers_app.apiextensions.definitions import DefinitionController
from controllers_app.runtime.controller import Context, Result

WAIT_SECONDS = 60
LOOK_SECONDS = 5
TERMINATING = "Terminating"


class FinalizerController(DefinitionController):
    """Reconciles definitions that are being deleted."""

    source = (
        "staging/src/k8s.io/apiextensions-apiserver/pkg/controller/finalizer/crd_finalizer.go sync"
    )
    workers = 5

    def __init__(self, ctx: Context) -> None:
        super().__init__(ctx)
        self._since: dict[str, int] = {}  # when the objects of a definition began to be deleted

    async def reconcile(self, key: str) -> Result | None:
        definition = self.definitions.get(key)
        if definition is None:
            return Result("is gone")
        finalizers = definition["metadata"].get("finalizers") or ()
        if not meta.is_deleting(definition) or customresources.CLEANUP not in finalizers:
            return Result("is not being deleted: does nothing")
        begun = self.with_condition(
            definition, TERMINATING, "True", *self._progress(key, definition)
        )
        stored = definition if begun == definition else await self.write_status(begun)
        if stored is None:
            return Result("changed meanwhile")
        reason, message = "NeverEstablished", "resource was never established"
        if customresources.is_true(stored, "Established"):
            left = await self._delete_instances(stored)
            if left:
                return Result(f"waits for {left} objects", LOOK_SECONDS, background=True)
            reason, message = "InstanceDeletionCompleted", "removed all instances"
        self._since.pop(key, None)
        done = self.with_condition(stored, TERMINATING, "False", reason, message)
        finalizers = [finalizer for finalizer in finalizers if finalizer != customresources.CLEANUP]
        done["metadata"] = {**done["metadata"], "finalizers": finalizers}
        await self.write_status(done)
        return Result(f"{message}: lets it go")

    def _progress(self, key: str, definition: Object) -> tuple[str, str]:
        """(reason, message) of the condition while there are objects."""
        since = self._since.setdefault(key, self.kernel.now)
        if self.kernel.now - since < WAIT_SECONDS * 1_000_000:
            return "InstanceDeletionInProgress", "CustomResource deletion is in progress"
        return (
            "InstanceDeletionCheck",
            "could not confirm zero CustomResources remaining: timed out waiting for the condition",
        )

    async def _delete_instances(self, definition: Object) -> int:
        """Delete what there is; how many objects are still there then."""
        infos = customresources.resources(definition)
        if not infos:  # no version is served: there is no way to ask for what is stored
            return 0
        resource = infos[0].key
        for obj in (await self.client.list(resource)).get("items") or ():
            if meta.is_deleting(obj):
                continue
            try:
                await self.client.delete(resource, meta.namespace_of(obj), meta.name_of(obj))
            except errors.ApiError as error:
                if error.code != 404:
                    await self._tell_failure(definition, error)
                    raise
        return len((await self.client.list(resource)).get("items") or ())

    async def _tell_failure(self, definition: Object, error: errors.ApiError) -> None:
        message = f"could not issue all deletes: {error.message}"
        await self.write_status(
            self.with_condition(definition, TERMINATING, "True", "InstanceDeletionFailed", message)
        )
