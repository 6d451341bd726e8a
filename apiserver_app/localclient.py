"""The Client of components that live in the API server's process.

Every call becomes the same Call an outside client's request becomes, and passes the same gates;
only the wire is left out. Objects are shared, never copied.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from apiserver_app.auditing.event import Event
from apiserver_app.handlers.call import Call, Outcome
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.input import listoptions
from apiserver_app.handlers.request import Request
from apiserver_app.machinery import client, errors, kernel, waiting
from apiserver_app.machinery.bucket import Bucket
from apiserver_app.machinery.client import WatchEvent
from apiserver_app.machinery.meta import Credential, Object, ResourceInfo
from apiserver_app.pipeline import REQUEST_WORK, Pipeline
from apiserver_app.registry.conversion import convert
from apiserver_app.registry.generic import Selection
from apiserver_app.registry.watchcache import Change, Sink, Subscription

Params = dict[str, list[str]]  # of a query
# by the resource of a request, or its verb, the bucket of the client set that sends it; None for
# one without a limit, "" for all others
Limits = Mapping[str, Bucket | None]
UNLIMITED: Limits = {"": None}
TOLD_SECONDS_MIN = 0.05  # of waits, as client-go logs them
_NONE: Params = {}


class LocalClient:
    """One component's way in. `credential` proves who it is at the authentication gate; `agent`
    is its User-Agent, `component` its name in the trace. The server's `own` work waits while the
    server does not run; anybody else is refused then. Beyond its `limits` a request waits, as in
    client-go (rest/request.go tryThrottle)."""

    def __init__(
        self,
        pipeline: Pipeline,
        identity: str,
        credential: Credential,
        agent: str,
        component: str = "",
        *,
        own: bool = False,
        limits: Limits = UNLIMITED,
    ) -> None:
        self.identity = identity
        self._limits = limits
        self._own = own
        self.component = component or agent
        self._pipeline = pipeline
        self._cluster: ClusterContext = pipeline.cluster
        self._credential = credential
        self._agent = agent

    def present(self, token: str) -> None:
        """From now on prove itself by this bearer token."""
        self._credential = Credential(bearer=token)

    async def get(
        self, resource: str, namespace: str, name: str, *, subresource: str = ""
    ) -> Object:
        return await self._object("get", resource, namespace, name, subresource)

    async def fetch(
        self,
        group_version: str,
        plural: str,
        namespace: str,
        *,
        name: str = "",
        subresource: str = "",
        params: Mapping[str, str] | None = None,
    ) -> Object:
        parts = ["/apis", group_version, "namespaces", namespace, plural, name, subresource]
        group, _, version = group_version.partition("/")
        query = {key: value for key, value in (params or {}).items() if value}
        call = Call(
            "get" if name else "list",
            "/".join(filter(None, parts)),
            self._credential,
            self._agent,
            None,
            subresource,
            namespace,
            name,
            {key: [value] for key, value in query.items()},
            component=self.component,
            asked=(group, version, plural),
            query=urllib.parse.urlencode(query),
            headers={"accept": "application/json"},
            method="GET",
        )
        about = " ".join(filter(None, ("get", errors.qualified(group, plural), name)))
        try:
            outcome = await self._handle(Request(self._cluster, call))
        except errors.ApiError as error:
            raise _as_client_go(error, about) from error
        body = _decoded(outcome.value)
        if outcome.code < 400 and isinstance(body, dict):
            return body
        raise _refused(outcome.code, body, about)

    async def list(
        self,
        resource: str,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        from_cache: bool = False,
    ) -> Object:
        params = _selectors(labels, fields)
        if from_cache:  # which has no pages
            params |= {"limit": ["500"], "resourceVersion": ["0"]}
        call = self._call("list", resource, namespace, _selected(fields), params=params)
        outcome = await self._handle(Request(self._cluster, call))
        page, info = outcome.page, call.info
        assert page is not None and info is not None
        storage = self._cluster.storage
        return {
            "kind": f"{info.kind}List",
            "apiVersion": info.api_version,
            "metadata": {"resourceVersion": str(page.revision)},
            "items": storage.objects(info, page),
        }

    async def create(
        self, resource: str, namespace: str, obj: Object, *, name: str = "", subresource: str = ""
    ) -> Object:
        return await self._object("create", resource, namespace, name, subresource, obj)

    async def update(
        self, resource: str, namespace: str, name: str, obj: Object, *, subresource: str = ""
    ) -> Object:
        return await self._object("update", resource, namespace, name, subresource, obj)

    async def patch(
        self,
        resource: str,
        namespace: str,
        name: str,
        patch: Any,
        *,
        kind: str = client.STRATEGIC_PATCH,
        subresource: str = "",
    ) -> Object:
        call = self._call("patch", resource, namespace, name, subresource, body=patch, kind=kind)
        return _object(await self._handle(Request(self._cluster, call)))

    async def apply(
        self,
        resource: str,
        namespace: str,
        name: str,
        body: Object,
        *,
        manager: str,
        subresource: str = "",
    ) -> Object:
        params = {"fieldManager": [manager], "force": ["true"]}
        call = self._call(
            "patch", resource, namespace, name, subresource, params, body, client.APPLY_PATCH
        )
        return _object(await self._handle(Request(self._cluster, call)))

    async def delete(
        self, resource: str, namespace: str, name: str, *, options: Object | None = None
    ) -> Object:
        return await self._object("delete", resource, namespace, name, "", options or {})

    async def delete_collection(
        self, resource: str, namespace: str, *, options: Object | None = None
    ) -> None:
        call = self._call("deletecollection", resource, namespace, body=options or {})
        await self._handle(Request(self._cluster, call))

    async def watch(
        self,
        resource: str,
        namespace: str = "",
        *,
        labels: str = "",
        fields: str = "",
        resource_version: str = "",
    ) -> LocalWatch:
        params = {"allowWatchBookmarks": ["true"], **_selectors(labels, fields)}
        if resource_version:
            params["resourceVersion"] = [resource_version]
        params["watch"] = ["true"]
        call = self._call("watch", resource, namespace, _selected(fields), params=params)
        request = Request(self._cluster, call)
        outcome = await self._handle(request)
        assert outcome.selection is not None
        return LocalWatch(
            self._cluster,
            request.info,
            self.component,
            outcome.selection,
            listoptions.parse_revision(resource_version),
            request.audit,
            call.name,
        )

    async def _object(
        self,
        verb: str,
        resource: str,
        namespace: str,
        name: str,
        subresource: str = "",
        body: Object | None = None,
    ) -> Object:
        call = self._call(verb, resource, namespace, name, subresource, body=body)
        return _object(await self._handle(Request(self._cluster, call)))

    async def _handle(self, request: Request) -> Outcome:
        life = self._cluster.life
        if not life.listens:
            if not self._own:
                life.check()
            await life.until_started()
        if self._limits is not UNLIMITED and request.verb != "watch":
            await self._throttle(request.call)
        # behind the request: what was read from a cache for it still holds when it is handled
        try:
            outcome = await self._pipeline.handle(request)
        except errors.ApiError as error:
            if self._own:
                self._cluster.counters.asked_itself(request.call, error.code)
            await self._cluster.kernel.spend(REQUEST_WORK)
            raise
        if self._own:
            self._cluster.counters.asked_itself(request.call, outcome.code)
        await self._cluster.kernel.spend(REQUEST_WORK)
        return outcome

    async def _throttle(self, call: Call) -> None:
        limits, about = self._limits, call.info.storage if call.info is not None else ""
        bucket = limits[about if about in limits else call.verb if call.verb in limits else ""]
        if bucket is None:
            return
        running = self._cluster.kernel
        seconds = bucket.take(running.now)
        if seconds > 0:
            await running.sleep(seconds)
            if seconds >= TOLD_SECONDS_MIN:
                waited = int(seconds * kernel.SECOND)
                self._cluster.probe.tell("throttled", self.component, call.verb, call.path, waited)

    def _call(
        self,
        verb: str,
        resource: str,
        namespace: str,
        name: str = "",
        subresource: str = "",
        params: Params = _NONE,
        body: Any = None,
        kind: str = "",
    ) -> Call:
        info = self._cluster.resources.by_key.get(resource)
        if info is None:  # a custom resource whose definition is gone
            raise errors.path_not_found()
        in_path = "" if verb in ("list", "watch", "deletecollection") else name
        path = path_of(info, namespace, in_path, subresource)
        return Call(
            verb,
            path,
            self._credential,
            self._agent,
            info,
            subresource,
            namespace,
            name,
            params,
            body,
            kind,
            component=self.component,
            query=urllib.parse.urlencode(params, doseq=True) if params else "",
        )


# client-go's words for an answer that is no Status
_WORDS = {
    404: "the server could not find the requested resource",
    503: "the server is currently unable to handle the request",
}


def _decoded(body: bytes | None) -> Any:
    try:
        return orjson.loads(body or b"")
    except ValueError:
        return None


def _refused(code: int, body: Any, about: str) -> errors.ApiError:
    if isinstance(body, dict) and body.get("kind") == "Status":
        return errors.ApiError(code, body.get("reason") or "", body.get("message") or "")
    words = _WORDS.get(code, "an error on the server has prevented the request from succeeding")
    return errors.ApiError(code, "", f"{words} ({about})")


def _as_client_go(error: errors.ApiError, about: str) -> errors.ApiError:
    unknown_path = error.code == 404 and not error.details
    return _refused(error.code, None, about) if error.plain or unknown_path else error


class LocalWatch:
    """A watch whose events wait in a mailbox of the kernel."""

    def __init__(
        self,
        cluster: ClusterContext,
        info: ResourceInfo,
        name: str,
        selection: Selection,
        after: int,
        audit: Event | None = None,
        named: str = "",
    ) -> None:
        self._audit = audit
        self._cluster = cluster
        self._events: waiting.Mailbox[WatchEvent] = waiting.Mailbox(cluster.kernel)
        # what a webhook would have to convert is seen as it is stored
        converts = info.custom is not None and info.custom.webhook is None
        converted = info if converts else None
        self._subscription = Subscription(
            name,
            info.storage,
            info.etcd_prefix(selection.namespace),
            selection.selects(cluster.strategy(info)),
            _into(self._events, converted),
            node=selection.node() if info.storage == "pods" else None,
            named=named,
            key=selection.key(info),
            on_end=self._events.close,
        )
        cluster.cache.subscribe(self._subscription, after or cluster.store.revision)

    async def next(self) -> WatchEvent | None:
        return await self._events.get()

    def fills(self, readers: Sequence[str]) -> None:
        self._subscription.readers = tuple(readers)

    def stop(self) -> None:
        if self._audit is not None:
            self._audit.complete(self._cluster.kernel.now)
        self._cluster.cache.unsubscribe(self._subscription)
        self._events.close()


def _into(events: waiting.Mailbox[WatchEvent], converted: ResourceInfo | None) -> Sink:
    """Puts what a watch is sent into its mailbox, and knows nothing of the watch: so nothing refers
    to itself when the watch ends."""

    def put(kind: str, _change: Change, obj: Object) -> None:
        if converted is not None:
            obj = convert.to_served(converted, obj)
        events.put(WatchEvent(kind, obj))

    return put


def path_of(info: ResourceInfo, namespace: str, name: str, subresource: str) -> str:
    """The URL an outside client would have used."""
    path = info.root
    if info.namespaced and namespace:
        path += f"/namespaces/{namespace}"
    path += f"/{info.plural}"
    if name:
        path += f"/{name}"
    return f"{path}/{subresource}" if subresource else path


def _selected(fields: str) -> str:
    """The one name that a field selector asks for, which authorizers are given."""
    for term in fields.split(",") if fields else ():
        if term.startswith("metadata.name="):
            return term.removeprefix("metadata.name=").removeprefix("=")
    return ""


def _selectors(labels: str, fields: str) -> Params:
    params: Params = {}
    if fields:
        params["fieldSelector"] = [fields]
    if labels:
        params["labelSelector"] = [labels]
    return params


def _object(outcome: Outcome) -> Object:
    assert outcome.obj is not None
    return outcome.obj
