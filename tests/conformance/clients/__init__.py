"""What other clients do against the server: one module a client, one function a command.

A function raises when the answer is not what the client's users would expect. All do the same
things, under the names of STEPS, so that the table can put them side by side.
"""

from __future__ import annotations

from typing import Any

from tests import builders

STEPS = (
    "version",
    "discovery",
    "create",
    "get",
    "list",
    "selectors",
    "pages",
    "patch strategic",
    "patch merge",
    "patch json",
    "apply",
    "replace",
    "conflict",
    "status",
    "watch",
    "not found",
    "deployment",
    "scale",
    "custom resource",
    "logs",
    "logs follow",
    "exec",
    "exec exit code",
    "exec stdin",
    "port-forward",
    "evict",
    "token",
    "can-i",
    "delete",
    "delete collection",
)


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"made": "here"}},
        "data": data or {"a": "b"},
    }


def pod(name: str, *command: str, image: str = "busybox") -> dict[str, Any]:
    body = builders.pod(name, image, container="main", labels={"app": name}, restartPolicy="Never")
    if command:
        body["spec"]["containers"][0]["command"] = list(command)
    return body


def deployment(name: str) -> dict[str, Any]:
    return builders.deployment(name, container="web", replicas=2)


def definition(plural: str, kind: str) -> dict[str, Any]:
    """A small CustomResourceDefinition of the group example.com."""
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "singular": kind.lower(), "kind": kind},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "schema": {
                        "openAPIV3Schema": {
                            "type": "object",
                            "properties": {
                                "spec": {
                                    "type": "object",
                                    "properties": {"size": {"type": "integer", "minimum": 1}},
                                }
                            },
                        }
                    },
                }
            ],
        },
    }
