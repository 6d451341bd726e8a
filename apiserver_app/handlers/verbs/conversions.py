"""Custom resources of several versions whose definition names a webhook: it is asked before an
object is read in another version than it is stored in, and before it is stored.

What it made is kept with the definition; what comes behind reads it there. Kinds without a webhook
never come here.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/conversion/converter.go.
"""

from __future__ import annotations

from collections.abc import Sequence

from apiserver_app.apiextensions import conversion
from apiserver_app.egress import outbound
from apiserver_app.handlers.cluster import ClusterContext
from apiserver_app.handlers.request import Request
from apiserver_app.machinery.meta import Object, ResourceInfo


async def before_read(request: Request) -> int:
    """Have everything converted that the request may touch; how many objects were sent."""
    cluster, call, info = request.cluster, request.call, request.info
    if info.custom is None or info.custom.webhook is None:
        return 0
    if call.name and call.verb not in ("list", "watch", "deletecollection"):
        stored = cluster.store.get(info.etcd_key(call.namespace, call.name))
        entries = [] if stored is None else [stored]
    else:
        entries = list(cluster.store.range(info.etcd_prefix(call.namespace)).entries)
    objects = [cluster.cache.decoded(entry) for entry in entries]
    return await convert(cluster, info, objects, info.api_version)


async def before_write(cluster: ClusterContext, info: ResourceInfo, obj: Object) -> None:
    """Have a new state of an object converted to the version that is stored."""
    if info.custom is None or info.custom.webhook is None:
        return
    if info.version != info.stored_version:
        wanted = f"{info.group}/{info.stored_version}"
        info.custom.webhook.stage((await _ask(cluster, info, [obj], wanted))[0])


async def convert(
    cluster: ClusterContext, info: ResourceInfo, objects: Sequence[Object], api_version: str
) -> int:
    """Ask for those that are not known in that version; all at once, as upstream does a list."""
    assert info.custom is not None and info.custom.webhook is not None
    webhook: conversion.Webhook = info.custom.webhook
    wanted = [obj for obj in objects if webhook.known(obj, api_version) is None]
    if not wanted:
        return 0
    made = await _ask(cluster, info, wanted, api_version)
    for source, converted in zip(wanted, made, strict=True):
        webhook.keep(source, api_version, converted)
    return len(wanted)


async def _ask(
    cluster: ClusterContext, info: ResourceInfo, objects: Sequence[Object], api_version: str
) -> list[Object]:
    assert info.custom is not None and info.custom.webhook is not None
    uid = cluster.rand.uuid()
    try:
        answer = await cluster.egress.outbound.call(
            info.custom.webhook.call(uid, objects, api_version)
        )
    except outbound.CallFailed as error:
        what = f"conversion webhook for {objects[0].get('apiVersion')}, Kind={info.kind}"
        raise conversion.refusal(what, str(error)) from error
    return conversion.converted(answer, uid, objects, api_version)
