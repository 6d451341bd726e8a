"""Creates and deletes the pods of a workload and records the events.

Models kubernetes pkg/controller/controller_utils.go (RealPodControl, GetPodFromTemplate) and
pkg/controller/replicaset/replica_set.go (slowStartBatch).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable

from apiserver_app.machinery import client as clients
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.meta import Object
from controllers_app.controllers.workload import ownership
from controllers_app.runtime.events import Recorder
from controllers_app.runtime.expectations import Expectations

SLOW_START_INITIAL = 1
TIMEOUT = "Timeout"  # the pod is there, and seen once its initializers have acted


def pod_from_template(template: Object, owner: Object) -> Object:
    """Builds a pod from a template: with its spec, a generated name and the owner."""
    inner = template.get("metadata") or {}
    metadata: Object = {"generateName": f"{meta.name_of(owner)}-"}
    for name in ("labels", "annotations", "finalizers"):
        if inner.get(name):
            metadata[name] = inner[name]
    metadata["ownerReferences"] = [ownership.controller_reference(owner)]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


class PodControl:
    """Creates and deletes pods on behalf of an owner."""

    def __init__(self, kernel: Kernel, client: clients.Client, recorder: Recorder) -> None:
        self._kernel = kernel
        self._client = client
        self._recorder = recorder

    async def create(self, owner: Object, pod: Object) -> Object:
        """Creates a pod and records an event, also for a refusal, which is raised."""
        try:
            created = await self._client.create("pods", meta.namespace_of(owner), pod)
        except errors.ApiError as error:
            if not is_namespace_terminating(error):
                self._recorder.event(
                    owner, "Warning", "FailedCreate", f"Error creating: {error.message}"
                )
            raise
        name = meta.name_of(created)
        self._recorder.event(owner, "Normal", "SuccessfulCreate", f"Created pod: {name}")
        return created

    async def delete_all(
        self, key: str, owner: Object, pods: Iterable[Object], expectations: Expectations
    ) -> tuple[int, errors.ApiError | None]:
        """Deletes pods whose deletion is expected: (number deleted, first refusal)."""
        failure: errors.ApiError | None = None
        deleted = 0

        async def delete(pod: Object) -> None:
            nonlocal deleted, failure
            try:
                await self.delete(owner, pod)
                deleted += 1
            except errors.ApiError as error:
                expectations.deletion_observed(key, meta.uid_of(pod))
                if error.reason != "NotFound":
                    failure = failure or error

        await self._kernel.together("delete", map(delete, pods))
        return deleted, failure

    async def delete(self, owner: Object, pod: Object) -> None:
        """Deletes a pod and records an event. Raises NotFound if the pod is gone."""
        name = meta.name_of(pod)
        try:
            await self._client.delete("pods", meta.namespace_of(pod), name)
        except errors.ApiError as error:
            if error.code != 404:
                self._recorder.event(
                    owner, "Warning", "FailedDelete", f"Error deleting: {error.message}"
                )
            raise
        self._recorder.event(owner, "Normal", "SuccessfulDelete", f"Deleted pod: {name}")


async def slow_start(
    kernel: Kernel, count: int, act: Callable[[int], Awaitable[object]]
) -> tuple[int, errors.ApiError | None, list[int]]:
    """Calls `act` count times in batches of 1, 2, 4, ..., each batch at the same time; stops after
    a batch with a failure.

    Returns the number of successes, the first refusal and the sizes of the batches tried. So a
    quota that refuses everything costs one request, not a thousand.
    """
    batches: list[int] = []
    done = 0
    batch = min(SLOW_START_INITIAL, count)
    while batch > 0:
        batches.append(batch)
        failures: list[errors.ApiError] = []
        work = (_noting(act, done + number, failures) for number in range(batch))
        await kernel.together("slow start", work)
        done += batch - len(failures)
        if failures:
            return done, failures[0], batches
        batch = min(2 * batch, count - done)
    return done, None, batches


async def _noting(
    act: Callable[[int], Awaitable[object]], number: int, failures: list[errors.ApiError]
) -> None:
    try:
        await act(number)
    except errors.ApiError as error:
        if error.reason != TIMEOUT:
            failures.append(error)


def is_namespace_terminating(error: errors.ApiError) -> bool:
    """Whether the namespace is being deleted, so that a retry is useless."""
    causes = error.details.get("causes") or ()
    return any(cause.get("reason") == "NamespaceTerminating" for cause in causes)
