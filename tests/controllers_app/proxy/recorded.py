"""What the real kube-proxy 1.33.4 wrote on node-1, and the objects that it read."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import yaml

from controllers_app.proxy import servicemap
from controllers_app.proxy.servicemap import Node, ServicePort

GOLDEN = Path(__file__).parents[2] / "golden" / "kube-proxy-1.33"
NODE = Node("node-1", "10.0.9.1")
PODS = "10.244.0.0/16"
OBJECTS: list[dict[str, Any]] = list(yaml.safe_load_all((GOLDEN / "objects.yaml").read_text()))


def text(name: str) -> str:
    return (GOLDEN / name).read_text()


def state(number: int) -> list[dict[str, Any]]:
    """1: the three pods are ready. 2: the first of them is left."""
    objects = copy.deepcopy(OBJECTS)
    for item in objects if number == 2 else []:
        item["endpoints"] = (item.get("endpoints") or [])[:1]
    return objects


def ports(objects: list[dict[str, Any]], node: Node = NODE) -> list[ServicePort]:
    services = [item for item in objects if item["kind"] == "Service"]
    slices = [item for item in objects if item["kind"] == "EndpointSlice"]

    grouped = servicemap.by_service(slices)

    def slices_of(service: dict[str, Any]) -> list[dict[str, Any]]:
        metadata = service["metadata"]
        return grouped.get((metadata["namespace"], metadata["name"]), [])

    ports = servicemap.ports(services, slices_of, node)
    return sorted(ports, key=lambda port: (port.name, port.protocol))
