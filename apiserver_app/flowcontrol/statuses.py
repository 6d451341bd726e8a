"""Sets the Dangling condition of every FlowSchema: whether its priority level exists.

Models kubernetes staging/src/k8s.io/apiserver/pkg/util/flowcontrol/apf_controller.go
(presyncFlowSchemaStatus).
"""

from __future__ import annotations

from collections.abc import Callable

from apiserver_app.flowcontrol.classify import LEVELS, SCHEMAS, level_of
from apiserver_app.machinery import conditions, errors, meta
from apiserver_app.machinery.client import Client
from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.reader import Reader

FOLLOWED = (SCHEMAS, LEVELS)
AGENT = "api-priority-and-fairness-config-consumer-v1"
_MESSAGE = "This FlowSchema references the PriorityLevelConfiguration object named "


async def follow(resource: str, client: Client, reader: Reader, now: Callable[[], int]) -> None:
    """Reconciles whenever a schema or a level changes; each kind has its own watch."""
    watch = await client.watch(resource)
    await reconcile(client, reader, now)
    while await watch.next() is not None:
        await reconcile(client, reader, now)


async def reconcile(client: Client, reader: Reader, now: Callable[[], int]) -> None:
    for name in [meta.name_of(schema) for schema in reader.list(SCHEMAS)]:
        schema = reader.get(SCHEMAS, "", name)
        if schema is None:  # deleted meanwhile
            continue
        desired = _condition(schema, reader)
        status = schema.get("status") or {}
        current = conditions.find(status, "Dangling") or {}
        if all(current.get(name) == value for name, value in desired.items()):
            continue
        desired["lastTransitionTime"] = meta.rfc3339(now())
        body = {
            "apiVersion": schema["apiVersion"],
            "kind": schema["kind"],
            "metadata": {"name": name},
            "status": {"conditions": [desired]},
        }
        with errors.ignoring("Conflict", "NotFound"):  # the watch brings its change
            await client.apply(SCHEMAS, "", name, body, manager=AGENT, subresource="status")


def _condition(schema: Object, reader: Reader) -> Object:
    level = level_of(schema)
    exists = reader.get(LEVELS, "", level) is not None
    ending = "and it exists" if exists else "but there is no such object"
    return {
        "type": "Dangling",
        "status": "False" if exists else "True",
        "reason": "Found" if exists else "NotFound",
        "message": f'{_MESSAGE}"{level}" {ending}',
    }
