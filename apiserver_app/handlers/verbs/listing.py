"""What lists, watches and deletes of many have in common: what is selected, how new it must be, and
a page of it.

Models kubernetes staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go
(ListPredicate, DeleteCollection).
"""

from __future__ import annotations

from apiserver_app.handlers.call import Call
from apiserver_app.handlers.input import listoptions
from apiserver_app.handlers.input.listoptions import ListOptions
from apiserver_app.handlers.request import Request
from apiserver_app.registry import generic
from apiserver_app.registry.generic import Page, Selection

INCLUDE = "includeUninitialized"


def select(request: Request) -> Selection:
    call = request.call
    selection = request.cluster.selection(
        request.info,
        call.namespace,
        call.param("labelSelector"),
        call.param("fieldSelector"),
        request.name,
    )
    if request.cluster.cache.hides_uninitialized:
        selection.initialized = not wants_all(call)
    return selection


def wants_all(call: Call) -> bool:
    """Whether it asks for what waits for initializers, too. A delete of many always does."""
    values = call.params.get(INCLUDE)
    asks = values is not None and values[0].lower() not in listoptions.FALSE
    return asks or call.verb == "deletecollection"


def check_fresh(request: Request, revision: int) -> None:
    """What is asked for must have happened."""
    current = request.cluster.store.revision
    if revision > current:
        raise generic.too_new(revision, current)


def page(request: Request, selection: Selection, options: ListOptions) -> Page:
    cluster, info = request.cluster, request.info
    return cluster.storage.page(
        info,
        cluster.strategy(info),
        selection,
        limit=options.limit,
        token=options.token,
        revision=options.revision,
    )
