"""The base class of controllers, and the worker that retries failed reconciles.

A controller gets a key and nothing else, compares the desired state with the actual state, and
acts through its client. Workers take keys from its queue; each reconcile is one `work` span of the
trace, and a failed one is retried after the queue's back-off. Only this module catches every
exception.

Models kubernetes pkg/controller/deployment/deployment_controller.go (worker, handleErr), which
all upstream controllers share in shape.
"""

from __future__ import annotations

import contextlib
import functools
import itertools
from collections.abc import Awaitable, Callable

import msgspec

from apiserver_app.apis.certificates import Authority
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.client import Client
from apiserver_app.machinery.kernel import QUARANTINED, Kernel
from apiserver_app.machinery.kinds import kinds
from apiserver_app.machinery.kinds.runtimeconfig import RuntimeConfig
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.probe import Probe
from apiserver_app.machinery.rand import Rand
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.task import Cancelled
from controllers_app.runtime import watches
from controllers_app.runtime.events import Recorder
from controllers_app.runtime.expectations import Expectations
from controllers_app.runtime.informer import Informer, InformerFactory
from controllers_app.runtime.taskgroup import TaskGroup
from controllers_app.runtime.watches import Watch
from controllers_app.runtime.workqueue import Item, WorkQueue

WORKERS = 5
LOOKED_MAX = 12  # look-ups of a reconcile, recorded by resource and how


class Result(msgspec.Struct, frozen=True):
    """The outcome of a reconcile; `summary` names desired state, actual state and action.

    `requeue_after` (seconds) replaces any pending delay of the key; 0 cancels it. A `background`
    delay does not make a fast clock jump ahead.
    """

    summary: str = ""
    requeue_after: float = 0.0
    background: bool = False


class Context(msgspec.Struct, frozen=True):
    """Everything a controller is constructed with."""

    kernel: Kernel
    client: Client
    informers: InformerFactory
    recorder: Recorder
    queue: WorkQueue
    rand: Rand
    version: Release  # of Kubernetes, "1.33"
    root_ca: str = ""  # PEM
    authority: Authority | None = None
    # the API server's type checker for validating admission policies
    check_types: Callable[[Object], Awaitable[list[Object]]] | None = None
    config: RuntimeConfig = ()  # overrides of what the API server serves by default
    cluster_cidr: str = ""  # range of the addresses of pods


class Controller:
    """Base class: a controller declares what it watches and reconciles one key at a time."""

    watches: tuple[Watch, ...] = ()
    resource = ""  # of the objects the keys name, unless the first `For` says it
    source = ""  # upstream file and function
    drawn_at_rest = False  # the map always has a lane for it, even an idle one
    # number of keys reconciled at the same time
    workers = WORKERS
    # failures in a row after which a key is dropped until it changes; None: never
    retries_max: int | None = None
    # rate limit of one key's reconciles: per second and burst; None: no limit
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
        self.every: dict[str, Informer] = {}  # caches of an `Every` watch, by resource

    @functools.cached_property
    def resources(self) -> kinds.Resources:
        """The resources the API server serves; custom resources only with an `Every` watch."""
        return kinds.Resources(self.ctx.version, self.ctx.config)

    async def live(self, resource: str, namespace: str, name: str) -> Object | None:
        """Reads an object from the API server instead of the cache; None when it is gone."""
        with errors.ignoring("NotFound"):
            return await self.client.get(resource, namespace, name)
        return None

    async def update_status(self, resource: str, obj: Object, status: Object) -> Object:
        """Writes the object's status; returns the object as stored."""
        return await self.client.update(
            resource,
            meta.namespace_of(obj),
            meta.name_of(obj),
            {**obj, "status": status},
            subresource="status",
        )

    async def reconcile(self, key: str) -> Result | None:
        """Moves the object closer to its desired state. Must be idempotent."""
        raise NotImplementedError

    async def housekeep(self) -> None:
        """Runs a background loop beside the queue; most controllers have none."""


Factory = Callable[[Context], Controller]


def build(name: str, factory: Factory, ctx: Context) -> Controller:
    """Constructs a controller, registers its handlers and starts its informers."""
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
    """Starts the workers once the controller's caches are synced, and returns."""
    await informers.synced(name)
    probe.tell("component", name, "synced", _facts(name, controller, informers))
    work = Worker(kernel, probe, name, controller)
    for number in range(controller.workers):
        group.spawn(f"{name}/{number}", work.run())
    if type(controller).housekeep is not Controller.housekeep:
        group.spawn(f"{name}/housekeep", controller.housekeep(), background=True)


def _facts(name: str, controller: Controller, informers: InformerFactory) -> Object:
    """Returns what the trace records about a controller when it is synced."""
    facts: Object = {
        "source": controller.source,
        "process": informers.component,
        "reads": informers.read_by(name),
    }
    whose = watches.enqueued(controller)
    handlers = informers.handled_by(name)
    if handlers:
        facts["handlers"] = {key: [whose.get(key, ""), *on] for key, on in handlers.items()}
    resource = controller.resource or watches.reconciled(controller)
    if resource:
        facts["resource"] = resource
    if controller.drawn_at_rest:
        facts["drawn_at_rest"] = True
    return facts


class Quarantined(Exception):
    """The key must not be reconciled."""


class Worker:
    """Takes keys from a queue and reconciles them. Several workers may share a queue."""

    def __init__(self, kernel: Kernel, probe: Probe, name: str, controller: Controller) -> None:
        self._kernel = kernel
        self._probe = probe
        self._name = name
        self._controller = controller
        self._queue = controller.queue

    async def run(self) -> None:
        """Works until the queue is shut down."""
        while (item := await self._queue.get()) is not None:
            await self.work(item)

    async def work(self, item: Item) -> None:
        """Reconciles one key inside a span. Raises only when the task is cancelled."""
        task = self._kernel.current
        assert task is not None
        span = await self._probe.hop("work", self._name, item.key, item.revs, span=0)
        task.span = span
        looked: dict[tuple[str, str], list[int]] = {}
        task.looked = looked
        try:
            if self._kernel.is_quarantined():
                raise Quarantined
            result = await self._controller.reconcile(item.key)
        except Cancelled:
            task.looked = None
            self._probe.tell("done", "error", "stopped", 0, _looked_up(looked))
            raise
        except Quarantined:
            self._queue.forget(item.key)
            await self._tell_quarantined(item.key)
            outcome = "error", QUARANTINED, 0.0
        except errors.ApiError as error:
            outcome = self._failed(item.key, "retry", error.message)
        except Exception as error:  # the kernel is the only other place that may catch it
            outcome = self._failed(item.key, "error", f"{type(error).__name__}: {error}")
        else:
            outcome = self._succeeded(item.key, result)
        task.looked = None
        await self._probe.hop("done", *outcome, _looked_up(looked))
        task.span = 0
        self._queue.done(item.key)

    async def _tell_quarantined(self, key: str) -> None:
        """Puts an event on the object that the key names, if it is there."""
        controller = self._controller
        resource = controller.resource or watches.reconciled(controller)
        namespace, _, name = key.rpartition("/")
        with contextlib.suppress(errors.ApiError):
            obj = await controller.live(resource, namespace, name) if resource else None
            if obj is not None:
                controller.recorder.event(obj, "Warning", "Quarantined", QUARANTINED)

    def _succeeded(self, key: str, result: Result | None) -> tuple[str, str, float]:
        self._queue.forget(key)
        if result is None:
            self._queue.set_after(key, 0)
            return "ok", "", 0
        self._queue.set_after(key, result.requeue_after, background=result.background or None)
        return "ok", result.summary, result.requeue_after

    def _failed(self, key: str, outcome: str, message: str) -> tuple[str, str, float]:
        limit = self._controller.retries_max
        if limit is not None and self._queue.failures(key) >= limit:
            self._queue.forget(key)
            return "error", message, 0
        return outcome, message, self._queue.retry(key)


def _looked_up(looked: dict[tuple[str, str], list[int]]) -> list[list[str | int]]:
    """What a reconcile looked up, as the trace tells it."""
    return [[*what, *counts] for what, counts in itertools.islice(looked.items(), LOOKED_MAX)]
