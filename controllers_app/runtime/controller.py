"""What a controller is, and the one switch that decides about retries.

A controller gets a key and nothing else, compares what is wanted with what is there, and acts
through its client. Workers take keys from its queue; each reconcile is one `work` span of the
trace, and a failure is retried with the queue's back-off. This is the only place in the process
that catches every exception.

Models kubernetes pkg/controller/deployment/deployment_controller.go (worker, handleErr), which
all upstream controllers share in shape.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass

from apiserver_app.apis.certificates import Authority
from apiserver_app.machinery import errors
from apiserver_app.machinery.client import Client
from apiserver_app.machinery.kernel import Cancelled, Kernel
from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.kinds.runtimeconfig import RuntimeConfig
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.probe import Probe
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.releases import Release
from controllers_app.runtime import watches
from controllers_app.runtime.events import Recorder
from controllers_app.runtime.expectations import Expectations
from controllers_app.runtime.informer import Informer, InformerFactory
from controllers_app.runtime.taskgroup import TaskGroup
from controllers_app.runtime.watches import Watch
from controllers_app.runtime.workqueue import Item, WorkQueue

WORKERS = 5


@dataclass(frozen=True, slots=True)
class Result:
    """What a reconcile came to. `said`: one short sentence of desired, actual and action.

    `requeue_after` replaces any earlier wait for the key, in seconds; 0 ends it. A `background`
    wait does not drag a fast clock along.
    """

    said: str = ""
    requeue_after: float = 0.0
    background: bool = False


@dataclass(frozen=True, slots=True)
class Context:
    """All that a controller is built with."""

    kernel: Kernel
    client: Client
    informers: InformerFactory
    recorder: Recorder
    queue: WorkQueue
    rand: Rand
    version: Release  # of Kubernetes, "1.33"
    root_ca: str = ""  # PEM
    authority: Authority | None = None
    # what the API server's type checker says of a validating admission policy
    check_types: Callable[[Object], list[Object]] = lambda policy: []
    config: RuntimeConfig = ()  # what the API server serves otherwise than its version does


class Controller:
    """One controller: what it watches, and how it reconciles a key."""

    watches: tuple[Watch, ...] = ()
    resource = ""  # whose objects the keys name, where it is not what the first `For` says
    source = ""  # upstream file and function
    drawn_at_rest = False  # the map has a lane for it even when it has nothing to do
    # how many keys are worked on at a time
    workers = WORKERS
    # after so many failures in a row the key is given up until it changes; None: never
    retries_max: int | None = None
    # reconciles of one key per second, and how many at once; None: as many as there are
    pace: tuple[float, int] | None = None

    def __init__(self, ctx: Context) -> None:
        self.ctx = ctx
        self.queue = ctx.queue
        self.kernel = ctx.kernel
        self.client = ctx.client
        self.recorder = ctx.recorder
        self.expectations = Expectations(ctx.kernel)
        if self.pace is not None:
            self.queue.pace(*self.pace)
        self.caches = watches.caches(self, ctx.informers)
        self.every: dict[str, Informer] = {}  # the caches of a watch on every resource

    @functools.cached_property
    def resources(self) -> kinds.Resources:
        """What the API server serves; custom resources only for a watch on every resource."""
        return kinds.Resources(self.ctx.version, self.ctx.config)

    async def live(self, resource: str, namespace: str, name: str) -> Object | None:
        """The object as the API server has it, past the cache; None when it is gone."""
        with errors.ignoring("NotFound"):
            return await self.client.get(resource, namespace, name)
        return None

    async def reconcile(self, key: str) -> Result | None:
        """Bring what the key names one step closer to what is wanted. Twice changes nothing."""
        raise NotImplementedError

    async def housekeep(self) -> None:
        """A background loop beside the queue; most controllers have none."""


Factory = Callable[[Context], Controller]


def build(name: str, factory: Factory, ctx: Context) -> Controller:
    """The controller with its informers, which run, and its handlers, which are registered."""
    with ctx.informers.registering(name):
        controller = factory(ctx)
        watches.register(controller, ctx.informers)
    ctx.informers.start()
    return controller


async def run(
    kernel: Kernel,
    probe: Probe,
    name: str,
    controller: Controller,
    informers: InformerFactory,
    group: TaskGroup,
) -> None:
    """Start the workers once the controller's caches are synced. Returns then; they go on."""
    await informers.synced(name)
    probe.tell("component", name, "synced", _facts(controller, informers.read_by(name)))
    work = Worker(kernel, probe, name, controller)
    for number in range(controller.workers):
        group.spawn(f"{name}/{number}", work.run())
    if type(controller).housekeep is not Controller.housekeep:
        group.spawn(f"{name}/housekeep", controller.housekeep(), background=True)


def _facts(controller: Controller, reads: list[str]) -> Object:
    """What the trace tells of a controller once it has started."""
    facts: Object = {"source": controller.source, "reads": reads}
    resource = controller.resource or watches.reconciled(controller)
    if resource:
        facts["resource"] = resource
    if controller.drawn_at_rest:
        facts["drawn_at_rest"] = True
    return facts


class Worker:
    """Takes keys from a queue and has them reconciled. Several may share one queue."""

    def __init__(self, kernel: Kernel, probe: Probe, name: str, controller: Controller) -> None:
        self._kernel = kernel
        self._probe = probe
        self._name = name
        self._controller = controller
        self._queue = controller.queue

    async def run(self) -> None:
        """Until the queue is shut down."""
        while (item := await self._queue.get()) is not None:
            await self.work(item)

    async def work(self, item: Item) -> None:
        """One reconcile inside its span. Never raises, except when the task is cancelled."""
        task = self._kernel.current
        assert task is not None
        span = await self._probe.hop("work", self._name, item.key, item.revs, span=0)
        task.span = span
        try:
            result = await self._controller.reconcile(item.key)
        except Cancelled:
            self._probe.tell("done", "error", "stopped", 0)
            raise
        except errors.ApiError as error:
            outcome = self._failed(item.key, "retry", error.message)
        except Exception as error:  # one of the two places that may
            outcome = self._failed(item.key, "error", f"{type(error).__name__}: {error}")
        else:
            outcome = self._succeeded(item.key, result)
        await self._probe.hop("done", *outcome)
        task.span = 0
        self._queue.done(item.key)

    def _succeeded(self, key: str, result: Result | None) -> tuple[str, str, float]:
        self._queue.forget(key)
        if result is None:
            self._queue.set_after(key, 0)
            return "ok", "", 0
        self._queue.set_after(key, result.requeue_after, background=result.background or None)
        return "ok", result.said, result.requeue_after

    def _failed(self, key: str, outcome: str, why: str) -> tuple[str, str, float]:
        limit = self._controller.retries_max
        if limit is not None and self._queue.failures(key) >= limit:
            self._queue.forget(key)
            return "error", why, 0
        return outcome, why, self._queue.retry(key)
