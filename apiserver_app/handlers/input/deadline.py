"""How long a request waits for an etcd that does not answer, and what it is told then.

The handler of a write gives up first, and words it itself. A read has what --request-timeout
allots, and both have no more than the `timeout` of their query; a filter around the handler answers
then, with a Status that says neither its kind nor its version.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/rest.go
(requestTimeoutUpperBound), pkg/endpoints/filters/request_deadline.go and
pkg/server/filters/timeout.go.
"""

from __future__ import annotations

from apiserver_app.handlers.call import READS
from apiserver_app.handlers.request import Request
from apiserver_app.machinery import errors
from apiserver_app.machinery.syntax import goduration

WRITE_SECONDS, ALLOTTED_SECONDS = 34.0, 60.0
UNREACHED = "unreached"


async def until_etcd_runs(request: Request) -> None:
    """Of a request that needs it. Raises 504 when it does not in time."""
    if not request.operation.asks_etcd(request):
        return
    request.gate = "etcd"
    seconds = _allotted(request)
    gives_up = request.verb not in READS and seconds > WRITE_SECONDS
    if gives_up:
        seconds = WRITE_SECONDS
    # somebody of the cluster always waits: who looks on need not hurry for that
    inside = not request.call.outside
    if await request.cluster.etcd.until_running(seconds, background=inside):
        return
    if gives_up:
        within = "requested timeout - context deadline exceeded"
        error = errors.timeout(f"request did not complete within {within}", details={})
    else:
        error = errors.timeout("request did not complete within the allotted timeout", details={})
        error.untyped = True
    error.about = {"end": UNREACHED}
    raise error


def _allotted(request: Request) -> float:
    """Seconds."""
    try:
        asked = goduration.parse(request.call.param("timeout")) / goduration.SECOND
    except goduration.DurationError:
        return ALLOTTED_SECONDS
    return min(asked, ALLOTTED_SECONDS) if asked > 0 else ALLOTTED_SECONDS
