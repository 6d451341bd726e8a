"""What an API server makes sure of when it starts: namespaces, roles, flow schemas, its Service.

Every object is created through the gates under the server's own identity; nothing is put into the
store behind their back. What is there already stays as it is. A refusal does not end the start: as
much is created as can be.

Models kubernetes pkg/controlplane/controller/systemnamespaces and the post-start hooks of
pkg/registry/{rbac,flowcontrol,scheduling}/rest.
"""

from __future__ import annotations

from collections.abc import Callable

from apiserver_app.apis import servicenet
from apiserver_app.auth import bootstrap
from apiserver_app.machinery import errors, meta
from apiserver_app.machinery.client import Client
from apiserver_app.machinery.releases import Release


async def ensure(
    client: Client,
    version: Release,
    now: int,
    ca_pem: str,
    serves: Callable[[str], bool],
    tokens: bool = False,
    net: servicenet.ServiceNet = servicenet.DEFAULT,
) -> list[str]:
    """Create what is missing of what is served; why some of it could not be. With `tokens` nodes
    may join by bootstrap tokens."""
    wanted = bootstrap.objects(version, now, client_ca=ca_pem, net=net)
    wanted += bootstrap.joining(ca_pem) if tokens else []
    there: dict[str, set[str]] = {}
    refusals: list[str] = []
    for resource, namespace, obj in wanted:
        if not serves(resource):
            continue
        if resource not in there:
            listed = await client.list(resource)
            there[resource] = {meta.key_of(one) for one in listed["items"]}
        name = meta.name_of(obj)
        key = f"{namespace}/{name}" if namespace else name
        if key not in there[resource]:
            try:
                await client.create(resource, namespace, obj)
            except errors.ApiError as error:
                refusals.append(error.message)
    return refusals
