"""/metrics of kube-controller-manager and kube-scheduler, on the ports of their static pods.

Counts are those of the queues and attempts there really were, durations virtual time. As upstream's
they ask the API server who a token is and whether it may: `get` on the path /metrics, which the
cluster role system:monitoring allows. Health is for everybody.

Models kubernetes cmd/kube-{controller-manager,scheduler}/app/options (authorization,
always-allow-paths), staging/src/k8s.io/component-base/metrics/prometheus/workqueue/metrics.go and
pkg/scheduler/metrics/metrics.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import orjson

from apiserver_app.http.metrics import exposition
from apiserver_app.http.metrics.exposition import Page
from apiserver_app.machinery import errors
from apiserver_app.machinery.client import Client
from apiserver_app.machinery.kernel import SECOND, Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import HttpAnswer, HttpRequest
from controllers_app.containerruntime.containers import Container
from controllers_app.containerruntime.servers.server import Server
from controllers_app.roles import CONTROLLERS, SCHEDULER
from controllers_app.runtime.workqueue import WorkQueue
from controllers_app.scheduler.component import PROFILE, Scheduler
from lifecycle.cluster.clients import Clients
from lifecycle.cluster.roles import Role

_HEALTH = ("/healthz", "/livez", "/readyz")
_PLAIN = "text/plain; charset=utf-8"
_ANONYMOUS = {"username": "system:anonymous", "groups": ["system:unauthenticated"]}
_PENDING = ("active", "backoff", "gated", "unschedulable")


def servers(built: Mapping[str, Role], kernel: Kernel, clients: Clients) -> tuple[Server, ...]:
    """What images of the catalog name: one for each process."""

    def manager() -> bytes | None:
        role = built[CONTROLLERS]
        first, *controllers = role.components.values()
        if first.state != "running":
            return None
        queues = [
            controller.metrics_source
            for controller in controllers
            if isinstance(controller.metrics_source, WorkQueue)
        ]
        return _queues(queues, kernel)

    def scheduler() -> bytes | None:
        (component,) = built[SCHEDULER].components.values()
        running = component.state == "running" and isinstance(component.metrics_source, Scheduler)
        return _scheduler(component.metrics_source) if running else None

    def asking(name: str) -> Client:
        return clients.client(f"system:{name}", name)

    return tuple(
        Server(name, _Process(name, show, asking).answer, tls=True)
        for name, show in (("kube-controller-manager", manager), ("kube-scheduler", scheduler))
    )


class _Process:
    """The secure port of one process."""

    def __init__(
        self, name: str, show: Callable[[], bytes | None], asking: Callable[[str], Client]
    ) -> None:
        self._name = name
        self._show = show
        self._asking = asking

    async def answer(self, _container: Container, _port: int, request: HttpRequest) -> HttpAnswer:
        path = request.path.partition("?")[0]
        page = self._show()
        if page is None:
            return HttpAnswer(503, {"content-type": _PLAIN}, f"{self._name} has ended\n".encode())
        if path in _HEALTH:
            return HttpAnswer(200, {"content-type": _PLAIN}, b"ok")
        try:
            await self._check(request, path)
        except errors.ApiError as error:
            body = orjson.dumps(error.status())
            return HttpAnswer(error.code, {"content-type": "application/json"}, body)
        if path != "/metrics":
            return HttpAnswer(404, {"content-type": _PLAIN}, b"404 page not found\n")
        return HttpAnswer(200, {"content-type": exposition.CONTENT_TYPE}, page)

    async def _check(self, request: HttpRequest, path: str) -> None:
        """Raises 401 and 403."""
        client = self._asking(self._name)
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        user: Object = _ANONYMOUS
        if scheme.lower() == "bearer" and token:
            review = {
                "apiVersion": "authentication.k8s.io/v1",
                "kind": "TokenReview",
                "metadata": {},
                "spec": {"token": token.strip()},
            }
            review_answer = await client.create("tokenreviews.authentication.k8s.io", "", review)
            if not review_answer["status"].get("authenticated"):
                raise errors.unauthorized()
            user = review_answer["status"]["user"]
        spec = {
            "user": user["username"],
            "groups": user.get("groups") or [],
            "nonResourceAttributes": {"path": path, "verb": request.method.lower()},
        }
        review = {
            "apiVersion": "authorization.k8s.io/v1",
            "kind": "SubjectAccessReview",
            "metadata": {},
            "spec": spec,
        }
        asked = await client.create("subjectaccessreviews.authorization.k8s.io", "", review)
        if not asked["status"].get("allowed"):
            who, verb = errors.go_value(user["username"]), request.method.lower()
            message = f"forbidden: User {who} cannot {verb} path {errors.go_value(path)}"
            raise errors.ApiError(403, "Forbidden", message)


def _queues(queues: list[WorkQueue], kernel: Kernel) -> bytes:
    page = Page()
    named = [({"name": queue.name.replace("-", "_")}, queue) for queue in queues]
    page.counter(
        "workqueue_adds_total",
        "Total number of adds handled by workqueue",
        ((labels, queue.adds) for labels, queue in named),
    )
    page.gauge(
        "workqueue_depth",
        "Current depth of workqueue",
        ((labels, len(queue)) for labels, queue in named),
    )
    page.gauge(
        "workqueue_longest_running_processor_seconds",
        "How many seconds has the longest running processor for workqueue been running.",
        ((labels, max(_running(queue, kernel), default=0)) for labels, queue in named),
    )
    page.histogram(
        "workqueue_queue_duration_seconds",
        "How long in seconds an item stays in workqueue before being requested.",
        ((labels, queue.waited) for labels, queue in named),
    )
    page.counter(
        "workqueue_retries_total",
        "Total number of retries handled by workqueue",
        ((labels, queue.retries) for labels, queue in named),
    )
    page.gauge(
        "workqueue_unfinished_work_seconds",
        "How many seconds of work has done that is in progress and hasn't been observed by "
        "work_duration. Large values indicate stuck threads. One can deduce the number of stuck "
        "threads by observing the rate at which this increases.",
        ((labels, sum(_running(queue, kernel))) for labels, queue in named),
    )
    page.histogram(
        "workqueue_work_duration_seconds",
        "How long in seconds processing an item from workqueue takes.",
        ((labels, queue.worked) for labels, queue in named),
    )
    return page.text()


def _running(queue: WorkQueue, kernel: Kernel) -> list[float]:
    return [(kernel.now - since) / SECOND for since in queue.begun.values()]


def _scheduler(scheduler: Scheduler) -> bytes:
    page, figures = Page(), scheduler.metrics
    page.gauge(
        "scheduler_pending_pods",
        "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; "
        "'backoff' means number of pods in backoffQ; 'unschedulable' means number of pods in "
        "unschedulablePods that the scheduler attempted to schedule and failed; 'gated' is the "
        "number of unschedulable pods that the scheduler never attempted to schedule because they "
        "are gated.",
        (({"queue": place}, scheduler.queue.count(place)) for place in _PENDING),
    )
    page.histogram(
        "scheduler_pod_scheduling_attempts",
        "Number of attempts to successfully schedule a pod.",
        [({}, figures.attempts)],
    )
    rows = [
        ({"profile": PROFILE, "result": result}, histogram)
        for result, histogram in figures.durations.items()
        if histogram.count
    ]
    page.counter(
        "scheduler_schedule_attempts_total",
        "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could not "
        "be scheduled, while 'error' means an internal scheduler problem.",
        ((labels, histogram.count) for labels, histogram in rows),
    )
    page.histogram(
        "scheduler_scheduling_attempt_duration_seconds",
        "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
        rows,
    )
    return page.text()
