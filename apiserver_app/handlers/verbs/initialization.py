"""What an API server with initializers does beyond its plugin: new objects are hidden until they
are initialized, and whoever creates one waits for that.

Nothing here is asked while the feature gate Initializers is off (`cache.hides_uninitialized`).

Models kubernetes staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go
(WaitForInitialized, shouldDeleteForFailedInitialization) and pkg/endpoints/handlers/create.go of
1.8 to 1.13.
"""

from __future__ import annotations

from apiserver_app.apis import initializers
from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.decision import Decision
from apiserver_app.handlers.request import Request
from apiserver_app.handlers.verbs import listing
from apiserver_app.machinery import errors, meta, waiting
from apiserver_app.machinery.errors import ApiError
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.releases import Release
from apiserver_app.machinery.syntax import goduration
from apiserver_app.registry import storagecalls
from apiserver_app.registry.conversion import convert
from apiserver_app.registry.watchcache import DELETED, Change, Subscription

WAIT_SECONDS = 30
NAME = "kube-apiserver/initialization"  # of its watches
_CREATE_OPTIONS = Release(12)  # reads the parameter of a create as that of a list


def is_hidden(request: Request, obj: Object) -> bool:
    """Whether an object that was just written is one that others do not see."""
    return request.cluster.cache.hides_uninitialized and initializers.uninitialized(obj)


def is_refused(request: Request) -> bool:
    """Whether an update brings the result of an initializer that refuses the object."""
    hides = request.cluster.cache.hides_uninitialized
    return hides and initializers.result(request.obj) is not None


def drop(request: Request, obj: Object) -> None:
    """Without the feature gate nobody is waited for."""
    if "initializers" in obj["metadata"] and not request.cluster.cache.hides_uninitialized:
        del obj["metadata"]["initializers"]


def note(request: Request, decided: Decision, obj: Object, old: Object | None) -> None:
    """Add to the record of a write whom the object waits for, or that it waits no longer."""
    if decided.verdict != "allow" or not request.cluster.cache.hides_uninitialized:
        return
    if initializers.uninitialized(obj):
        decided.detail["hidden"] = initializers.pending(obj)
    elif old is not None and initializers.uninitialized(old):
        decided.detail["initialized"] = True


async def answered(request: Request, obj: Object) -> Outcome:
    """The answer to a create whose object is hidden: as it is, to who asked for that, else once it
    is initialized, refused or gone."""
    if request.dry_run or _answers_at_once(request):
        request.outcome.code = 202
        return request.outcome
    if initializers.result(obj) is not None:
        raise _refusal(obj)
    done = await _initialized(request, obj)
    return Outcome(201, obj=convert.to_served(request.info, done))


def _answers_at_once(request: Request) -> bool:
    if request.cluster.version < _CREATE_OPTIONS:
        return request.call.param(listing.INCLUDE) == "1"
    return listing.wants_all(request.call)


async def _initialized(request: Request, obj: Object) -> Object:
    cluster, info = request.cluster, request.info
    namespace, name = meta.namespace_of(obj), meta.name_of(obj)
    signal = waiting.Signal(cluster.kernel)
    changes: list[tuple[str, Object]] = []

    def hear(kind: str, _change: Change, changed: Object) -> None:
        changes.append((kind, changed))
        signal.set()

    key, prefix = info.etcd_key(namespace, name), info.etcd_prefix(namespace)
    watch = Subscription(NAME, info.storage, prefix, None, hear, named=name, key=key, own=True)
    cluster.cache.subscribe(watch, meta.revision_of(obj))
    kernel, nanos = cluster.kernel, _timeout(request.call)
    end = kernel.now + nanos // 1000
    # nothing leaps to the end of the wait: whoever initializes may act before
    timer = kernel.call_at(end, lambda _: signal.set(), None, background=True)
    try:
        while kernel.now < end or changes:
            await signal.wait()
            signal.clear()
            while changes:
                kind, changed = changes.pop(0)
                if initializers.result(changed) is not None:
                    raise _refusal(changed)
                if kind == DELETED:
                    raise _ended(errors.internal("object deleted while waiting for creation"))
                if not initializers.uninitialized(changed):
                    return changed
    finally:
        if kernel.now < end:
            kernel.drop(timer)
        cluster.cache.unsubscribe(watch)
    words = "allowed duration"
    if cluster.version >= _CREATE_OPTIONS:
        words = f"requested timeout {goduration.text(nanos)}"
    raise _ended(errors.timeout(f"request did not complete within {words}"))


def _timeout(call: Call) -> int:
    """Nanoseconds; what is no duration is as if it was not there."""
    try:
        return max(0, goduration.parse(call.param("timeout")))
    except goduration.DurationError:
        return WAIT_SECONDS * goduration.SECOND


def _refusal(obj: Object) -> ApiError:
    """The Status that an initializer left, as the answer."""
    status = initializers.result(obj) or {}
    return _ended(
        ApiError(
            int(status.get("code") or 500),
            status.get("reason") or "",
            status.get("message") or "",
            details=dict(status.get("details") or {}),
        )
    )


def _ended(error: ApiError) -> ApiError:
    error.about = {"call": storagecalls.WATCH, "end": "uninitialized"}
    return error
