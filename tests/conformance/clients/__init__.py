"""What other clients do against the server: one module a client, one function a command.

A function raises when the answer is not what the client's users would expect. All do the same
things, under the names of STEPS, so that the table can put them side by side.
"""

from __future__ import annotations

from typing import Any

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
    container: dict[str, Any] = {"name": "main", "image": image}
    if command:
        container["command"] = list(command)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app": name}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }


def deployment(name: str) -> dict[str, Any]:
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name},
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "web", "image": "nginx"}]},
            },
        },
    }


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
