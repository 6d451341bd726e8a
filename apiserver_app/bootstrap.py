"""What an API server makes sure of when it starts: namespaces, roles, flow schemas, its Service.

Every object is created through the gates under the server's own identity; nothing is put into the
store behind their back. What is there already stays as it is.

Models kubernetes pkg/controlplane/controller/systemnamespaces and the post-start hooks of
pkg/registry/{rbac,flowcontrol,scheduling}/rest.
"""

from __future__ import annotations

from apiserver_app.auth import bootstrap
from apiserver_app.machinery import meta
from apiserver_app.machinery.client import Client


async def ensure(client: Client, version: str, now: int, ca_pem: str) -> int:
    """Create what is missing; how many objects that were."""
    there: dict[str, set[str]] = {}
    created = 0
    for resource, namespace, obj in bootstrap.objects(version, now, client_ca=ca_pem):
        if resource not in there:
            listed = await client.list(resource)
            there[resource] = {meta.key_of(one) for one in listed["items"]}
        name = meta.name_of(obj)
        key = f"{namespace}/{name}" if namespace else name
        if key not in there[resource]:
            await client.create(resource, namespace, obj)
            created += 1
    return created
