"""What lists, watches and deletes of many have in common: what is selected, how new it must be, and
a page of it.

Models kubernetes staging/src/k8s.io/apiserver/pkg/registry/generic/registry/store.go
(ListPredicate, DeleteCollection).
"""

from __future__ import annotations

from apiserver_app.handlers.input.listoptions import ListOptions
from apiserver_app.handlers.request import Request
from apiserver_app.registry import generic
from apiserver_app.registry.generic import Page, Selection


def select(request: Request) -> Selection:
    call = request.call
    return request.cluster.selection(
        request.info,
        call.namespace,
        call.param("labelSelector"),
        call.param("fieldSelector"),
        request.name,
    )


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
