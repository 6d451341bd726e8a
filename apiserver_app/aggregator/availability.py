"""Sets the condition Available of every remote APIService, and caches its server's discovery.

A service, its port and a ready endpoint must exist, then the server must answer at its group
version. It is checked when one of these changes, after a failure (with growing delays), and every
30 seconds.

Models kubernetes staging/src/k8s.io/kube-aggregator/pkg/controllers/status/remote/
remote_available_controller.go and pkg/apiserver/handler_discovery.go.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import orjson

from apiserver_app.aggregator import identity
from apiserver_app.egress import outbound as out
from apiserver_app.egress.serviceroutes import SERVICE_NAME
from apiserver_app.machinery import errors, meta, releases
from apiserver_app.machinery.client import Client, WatchEvent
from apiserver_app.machinery.kernel import Kernel
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.probe import Probe
from apiserver_app.machinery.reader import Reader
from apiserver_app.machinery.waiting import Signal
from apiserver_app.registry.apiregistration.apiservices import (
    KEY,
    Discovered,
    Remote,
    Services,
    condition_of,
)

NAME = "apiservice-status-remote-available-controller"
SERVICES, SLICES = "services", "endpointslices.discovery.k8s.io"
RESYNC_SECONDS = 30.0
BACKOFF_SECONDS, BACKOFF_SECONDS_MAX = 0.005, 30.0
CHECK_SECONDS_MAX = 5.0

Verdict = tuple[str, str, str]  # status, reason, message


class Dependencies(msgspec.Struct, frozen=True):
    """What the controller depends on."""

    client: Client
    reader: Reader
    services: Services
    outbound: out.Outbound
    kernel: Kernel
    probe: Probe
    front_proxy: tuple[str, str] = ("", "")  # certificate and key of the aggregator, PEM


class Availability:
    """Reconciles one service at a time; `_due` maps changed services to their revisions."""

    def __init__(self, dependencies: Dependencies) -> None:
        self._dependencies = dependencies
        self._due: dict[str, int] = {}
        self._failures: dict[str, int] = {}
        self._specs: dict[str, Object] = {}
        self._signal = Signal(dependencies.kernel)

    def start(self) -> None:
        """Follows the watched resources; runs for as long as the kernel does."""
        kernel = self._dependencies.kernel
        self._dependencies.probe.tell("component", NAME, "starting", {}, span=0)
        for resource, concerned in (
            (KEY, self._changed),
            (SERVICES, self._of_service),
            (SLICES, self._of_slice),
        ):
            task = self._follow(resource, concerned)
            kernel.spawn(f"{NAME}/{resource}", task, span=0, background=True)
        kernel.spawn(NAME, self._work(), span=0, background=True)

    async def _follow(self, resource: str, concerned: Callable[[WatchEvent], list[str]]) -> None:
        watch = await self._dependencies.client.watch(resource)
        for remote in self._remotes():
            self._add(remote.name, 0)
        while (event := await watch.next()) is not None:
            for name in concerned(event):
                self._add(name, meta.revision_of(event.object))

    def _add(self, name: str, revision: int) -> None:
        self._due[name] = revision
        self._failures.pop(name, None)
        self._signal.set()

    def _remotes(self) -> list[Remote]:
        known = self._dependencies.services.remote
        return [known[name] for name in sorted(known)]

    def _changed(self, event: WatchEvent) -> list[str]:
        """Ignores changes of its own status."""
        name, spec = meta.name_of(event.object), event.object.get("spec") or {}
        if event.type == "DELETED":
            self._specs.pop(name, None)
            return []
        if spec.get("service") is None or self._specs.get(name) == spec:
            return []
        return [name]

    def _of_service(self, event: WatchEvent) -> list[str]:
        return self._with_target(meta.namespace_of(event.object), meta.name_of(event.object))

    def _of_slice(self, event: WatchEvent) -> list[str]:
        service = meta.labels_of(event.object).get(SERVICE_NAME, "")
        return self._with_target(meta.namespace_of(event.object), service)

    def _with_target(self, namespace: str, name: str) -> list[str]:
        return [
            remote.name
            for remote in self._remotes()
            if (remote.target.namespace, remote.target.name) == (namespace, name)
        ]

    # -- the work -------------------------------------------------------------------------------

    async def _work(self) -> None:
        while True:
            if not await self._signal.wait(self._patience()):
                due = self._failures or {remote.name: 0 for remote in self._remotes()}
                self._due.update(dict.fromkeys(due, 0))
            self._signal.clear()
            while self._due:
                name = next(iter(self._due))
                await self._reconcile(name, self._due.pop(name))

    def _patience(self) -> float:
        """Returns how long to wait for a change before the next check."""
        if not self._failures:
            return RESYNC_SECONDS
        least = min(self._failures.values())
        return float(min(BACKOFF_SECONDS * 2.0 ** min(least, 16), BACKOFF_SECONDS_MAX))

    async def _reconcile(self, name: str, revision: int) -> None:
        dependencies = self._dependencies
        remote = next((item for item in self._remotes() if item.name == name), None)
        service = dependencies.reader.get(KEY, "", name)
        if remote is None or service is None:
            self._failures.pop(name, None)
            self._specs.pop(name, None)
            return
        self._specs[name] = service["spec"]
        task = dependencies.kernel.current
        assert task is not None
        revisions = [revision] if revision else []
        task.span = await dependencies.probe.hop("work", NAME, name, revisions)
        try:
            status, reason, message = await self._verdict(remote)
            await self._publish(service, status, reason, message)
            failed = reason == "FailedDiscoveryCheck"
            if failed:
                self._failures[name] = self._failures.get(name, 0) + 1
            else:
                self._failures.pop(name, None)
            verdict = f"{reason}: {message}"
            await dependencies.probe.hop("done", "retry" if failed else "ok", verdict, 0.0)
        finally:
            task.span = 0

    async def _verdict(self, remote: Remote) -> Verdict:
        reader, target = self._dependencies.reader, remote.target
        where = f'service/{target.name} in "{target.namespace}"'
        service = reader.get(SERVICES, target.namespace, target.name)
        if service is None:
            return "False", "ServiceNotFound", f"{where} is not present"
        spec = service.get("spec") or {}
        if spec.get("type", "ClusterIP") == "ClusterIP":
            ports = [port for port in spec.get("ports") or () if port.get("port") == target.port]
            if not ports:
                message = f"{where} is not listening on port {target.port}"
                return "False", "ServicePortError", message
            port_name = ports[0].get("name") or ""
            slices = [
                item
                for item in reader.list(SLICES, target.namespace)
                if meta.labels_of(item).get(SERVICE_NAME) == target.name
            ]
            if not slices:
                return "False", "EndpointsNotFound", f"cannot find endpointslices for {where}"
            if not any(_has_endpoint(item, port_name) for item in slices):
                message = (
                    f'endpointslices for {where} have no addresses with port name "{port_name}"'
                )
                return "False", "MissingEndpoints", message
        failure = await self._check(remote, spec)
        if failure:
            return "False", "FailedDiscoveryCheck", failure
        return "True", "Passed", "all checks passed"

    async def _check(self, remote: Remote, spec: Object) -> str:
        """Fetches the server's discovery; returns why that failed, or ""."""
        dependencies = self._dependencies
        address = spec.get("clusterIP") or remote.target.name
        url = f"https://{address}:{remote.target.port}{remote.path}"
        try:
            answer = await dependencies.outbound.call(self._get(remote, remote.path))
        except out.CallFailed as error:
            cause = error.__cause__ or error
            return f'failing or missing response from {url}: Get "{url}": {cause}'
        if not 200 <= answer.status < 300:
            bad = f"bad status from {url}: {answer.status}"
            return f"failing or missing response from {url}: {bad}"
        resources = _resources(answer.body)
        dependencies.services.keep(remote.name, Discovered(resources, await self._openapi(remote)))
        return ""

    async def _openapi(self, remote: Remote) -> bytes:
        known = self._dependencies.services.discovered.get(remote.name)
        if known is not None and known.openapi:
            return known.openapi
        try:
            answer = await self._dependencies.outbound.call(
                self._get(remote, f"/openapi/v3{remote.path}")
            )
        except out.CallFailed:
            return b""
        return answer.body if answer.status == 200 else b""

    def _get(self, remote: Remote, path: str) -> out.Call:
        claims = tuple(identity.headers(identity.AGGREGATOR, releases.DEFAULT))
        certificate, key = self._dependencies.front_proxy
        return out.Call(
            remote.target,
            "GET",
            path,
            headers={"accept": "application/json"},
            insecure=True,
            client_cert_pem=certificate,
            client_key_pem=key,
            timeout_seconds=CHECK_SECONDS_MAX,
            repeated=claims,
        )

    async def _publish(self, service: Object, status: str, reason: str, message: str) -> None:
        current = condition_of(service)
        desired = {"status": status, "reason": reason, "message": message}
        if all(current.get(name) == value for name, value in desired.items()):
            return
        transition = current.get("lastTransitionTime")
        if current.get("status") != status or not transition:
            transition = meta.rfc3339(self._dependencies.kernel.now)
        condition = {
            "type": "Available",
            "status": status,
            "lastTransitionTime": transition,
            "reason": reason,
            "message": message,
        }
        changed = {**service, "status": {"conditions": [condition]}}
        with errors.ignoring("Conflict", "NotFound"):
            await self._dependencies.client.update(
                KEY, "", meta.name_of(service), changed, subresource="status"
            )
            return
        self._specs.pop(meta.name_of(service), None)  # the watch brings its change


def _has_endpoint(endpoint_slice: Object, port: str) -> bool:
    ready = any(
        (endpoint.get("conditions") or {}).get("ready") is not False
        for endpoint in endpoint_slice.get("endpoints") or ()
    )
    return ready and any(
        (known.get("name") or "") == port and known.get("port")
        for known in endpoint_slice.get("ports") or ()
    )


def _resources(body: bytes) -> tuple[Object, ...]:
    try:
        document = orjson.loads(body)
    except orjson.JSONDecodeError:
        return ()
    listed = document.get("resources") if isinstance(document, dict) else None
    return tuple(
        resource for resource in listed or () if isinstance(resource, dict) and resource.get("name")
    )
