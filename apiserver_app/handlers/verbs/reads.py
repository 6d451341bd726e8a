"""Get, list and watch: answered from the watch cache or the store, past no gate of a write.

Models kubernetes staging/src/k8s.io/apiserver/pkg/endpoints/handlers/get.go.
"""

from __future__ import annotations

from apiserver_app.handlers.call import Outcome
from apiserver_app.handlers.input import listoptions, readpath
from apiserver_app.handlers.request import Operation, Request
from apiserver_app.handlers.verbs import componentstatus, listing
from apiserver_app.machinery import errors
from apiserver_app.registry import storagecalls

COMPUTED = "componentstatuses"  # not stored
_TRUE = ("1", "t", "true")


class Stored(Operation):
    """A read of what is stored, from wherever it may be read."""

    def asks_etcd(self, request: Request) -> bool:
        return request.info.plural != COMPUTED and _read(request).asks_etcd


class Get(Stored):
    call = storagecalls.GET

    def answer(self, request: Request) -> Outcome:
        cluster, info, call = request.cluster, request.info, request.call
        if call.params:
            if call.param("export").lower() in _TRUE:
                why = "the export parameter, deprecated since v1.14, is no longer supported"
                raise errors.bad_request(why)
            revision = listoptions.parse_revision(call.param("resourceVersion"))
            listing.check_fresh(request, revision)
        request.gate = "etcd"
        if info.plural == COMPUTED:
            return componentstatus.get(request)
        if not call.params:  # the latest is wanted
            cluster.counters.stored("get", info.key, 0)
        obj, value = cluster.storage.get(info, request.namespace, request.name)
        return Outcome(200, obj=obj, value=value)


class GetPart(Operation):
    """A subresource that is a view of the object."""

    call = storagecalls.GET

    def answer(self, request: Request) -> Outcome:
        storage = request.cluster.storage
        obj, value = storage.get(request.info, request.namespace, request.name)
        return Outcome(200, obj=obj, value=value)


class List(Stored):
    call = storagecalls.LIST

    def answer(self, request: Request) -> Outcome:
        cluster, info = request.cluster, request.info
        selection = listing.select(request)
        options = listoptions.of_list(request.call)
        request.gate = "etcd"
        listing.check_fresh(request, options.at_least)
        if info.plural == COMPUTED:
            return componentstatus.page(request, selection)
        etcd = _read(request).by == readpath.ETCD
        if etcd:
            cluster.counters.stored("list", info.key, 0)
        page = listing.page(request, selection, options)
        cluster.counters.listed(info.key, page.looked_at, len(page.entries), etcd=etcd)
        return Outcome(200, page=page)


class Watch(Operation):
    """The selection; the caller opens the stream with the same options."""

    call = storagecalls.WATCH

    def asks_etcd(self, request: Request) -> bool:
        return False  # a watch follows the cache

    def answer(self, request: Request) -> Outcome:
        selection = listing.select(request)
        options = listoptions.of_watch(request.call, request.cluster.version)
        request.gate = "etcd"
        if options.initial:  # a watch from a revision yet to come waits for it
            listing.check_fresh(request, options.revision)
        return Outcome(200, selection=selection)


def _read(request: Request) -> readpath.Read:
    return readpath.of(request.call, request.cluster.version)


GET, GET_PART, LIST, WATCH = Get(), GetPart(), List(), Watch()
