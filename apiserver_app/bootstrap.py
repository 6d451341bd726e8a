"""Creates what an API server ensures at start-up: namespaces, roles, flow schemas, its Service.

Every object is created by a request through the gates, as the server's own user. Existing objects
are left alone. A refusal does not stop the start, nor does an object that cannot be read: the other
objects are still created.

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
    address: str = bootstrap.ADVERTISED_IP,
) -> list[str]:
    """Creates the missing objects of served resources; returns the messages of refusals. With
    `tokens` nodes may join by bootstrap tokens. The server is reached at `address`."""
    desired = bootstrap.objects(version, now, client_ca=ca_pem, net=net, address=address)
    desired += bootstrap.joining(ca_pem, address) if tokens else []
    existing: dict[str, set[str]] = {}
    refusals: list[str] = []
    for resource, namespace, obj in desired:
        if not serves(resource):
            continue
        if resource not in existing:
            existing[resource] = set()
            try:
                listed = await client.list(resource)
                existing[resource] = {meta.key_of(item) for item in listed["items"]}
            except errors.ApiError as error:  # an object of it cannot be read
                refusals.append(error.message)
        name = meta.name_of(obj)
        key = f"{namespace}/{name}" if namespace else name
        if key not in existing[resource]:
            try:
                await client.create(resource, namespace, obj)
            except errors.ApiError as error:
                if error.reason != "AlreadyExists":
                    refusals.append(error.message)
    return refusals
