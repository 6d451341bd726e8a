"""What every subresource that reaches into a node does first: options, admission, the pod.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/rest.go (ConnectResource) and
pkg/registry/core/pod/strategy.go (LogLocation, ExecLocation, PortForwardLocation).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from apiserver_app.admission.plugin import CONNECT, Attributes
from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.decision import Decision
from apiserver_app.handlers.request import Operation, Request
from apiserver_app.handlers.verbs import attributes
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import NodeError

Opens = Callable[[Request], Awaitable[Outcome]]

PLAIN = "text/plain; charset=utf-8"
_UNREACHED = ("error dialing backend: ", 'Get "')  # the kubelet did not answer at all


class Connect(Operation):
    """Admission with the operation CONNECT and the options as the object; then the connection."""

    passes = ("decode", "mutating", "validating")
    admits = CONNECT

    def __init__(self, options: Callable[[Request], Object], open_: Opens) -> None:
        self._options = options
        self._open = open_

    def decode(self, request: Request) -> Decision:
        options = request.obj = self._options(request)
        if request.call.param("dryRun"):
            raise errors.bad_request("dryRun is not supported")
        return Decision("allow", {"word": options["kind"]})

    def attributes(self, request: Request) -> Attributes:
        return attributes.of(request, request.obj)

    async def answer(self, request: Request) -> Outcome:
        request.gate = "etcd"
        return await self._open(request)


def pod_of(request: Request, name: str = "") -> Object:
    cluster = request.cluster
    info = cluster.resources.by_key["pods"]
    return cluster.storage.get(info, request.namespace, name or request.name)[0]


def container_of(pod: Object, asked: str) -> str:
    """The container that is meant; 400 when that is ambiguous, or no container has that name."""
    spec, name = pod["spec"], pod["metadata"]["name"]
    names = [
        container["name"]
        for field in ("initContainers", "containers", "ephemeralContainers")
        for container in spec.get(field) or ()
    ]
    if asked:
        if asked not in names:
            raise errors.bad_request(f"container {asked} is not valid for pod {name}")
        return asked
    if len(spec["containers"]) == 1:
        return str(spec["containers"][0]["name"])
    raise errors.bad_request(
        f"a container name must be specified for pod {name}, choose one of: [{' '.join(names)}]"
    )


def check_host(pod: Object, name: str) -> None:
    if not pod["spec"].get("nodeName"):
        raise errors.bad_request(f"pod {name} does not have a host assigned")


def passed_on(error: NodeError) -> Outcome:
    """The kubelet's own answer; or the API server's, when there was no kubelet to ask."""
    text = str(error)
    if text.startswith(_UNREACHED):
        raise errors.ApiError(500, "", text) from error
    return plain(error.code, text)


def plain(code: int, text: str, headers: list[tuple[str, str]] | None = None) -> Outcome:
    body = text.encode() + b"\n"
    return Outcome(code, value=body, content_type=PLAIN, headers=headers or [])


def flag(call: Call, name: str, default: bool = False) -> bool:
    """A parameter that is true or false, as Go's conversion reads it."""
    values = call.params.get(name)
    if values is None:
        return default
    return values[0].lower() not in ("false", "0")
