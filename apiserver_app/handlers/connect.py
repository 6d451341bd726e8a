"""What every subresource that reaches into a node does first: options, admission, the pod.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/rest.go (ConnectResource) and
pkg/registry/core/pod/strategy.go (LogLocation, ExecLocation, PortForwardLocation).
"""

from __future__ import annotations

from apiserver_app.admission.plugin import CONNECT
from apiserver_app.handlers import gates
from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.machinery import errors
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.net.nodeapi import NodeError

PLAIN = "text/plain; charset=utf-8"
_UNREACHED = ("error dialing backend: ", 'Get "')  # the kubelet did not answer at all


async def admit(cluster: ClusterContext, call: Call, options: Object) -> None:
    """Admission with the operation CONNECT and the options as the object."""
    info = call.info
    assert info is not None
    if call.param("dryRun"):
        raise errors.bad_request("dryRun is not supported")
    await cluster.probe.hop("gate", "decode", "allow", {"word": options["kind"]})
    attributes = gates.attributes(cluster, call, info, CONNECT, options, None, False)
    call.gate = "mutating"
    await gates.mutating(cluster, attributes)
    call.gate = "validating"
    await gates.validating(cluster, attributes)
    call.gate = "etcd"


def pod_of(cluster: ClusterContext, call: Call, name: str = "") -> Object:
    info = cluster.resources.by_key["pods"]
    return cluster.storage.get(info, call.namespace, name or call.name)[0]


def container_of(pod: Object, asked: str) -> str:
    """The container that is meant; 400 when that is not clear, or there is none of that name."""
    spec, name = pod["spec"], pod["metadata"]["name"]
    names = [
        one["name"]
        for field in ("initContainers", "containers", "ephemeralContainers")
        for one in spec.get(field) or ()
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
