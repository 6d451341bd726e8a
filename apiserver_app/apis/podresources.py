"""The total requests and limits of a pod: containers together, init containers in sequence.

Models kubernetes staging/src/k8s.io/component-helpers/resource/helpers.go.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from apiserver_app.machinery.meta import Object
from apiserver_app.machinery.syntax.quantity import Quantity, parse

Amounts = dict[str, Quantity]


def amounts(resources: Mapping[str, object] | None) -> Amounts:
    """Parses the quantities of a resource list."""
    return {name: parse(str(text)) for name, text in (resources or {}).items()}


def add(into: Amounts, more: Amounts) -> None:
    for name, quantity in more.items():
        into[name] = into[name] + quantity if name in into else quantity


def pod_total(spec: Object, field: str, *, overhead: bool = False) -> Amounts:
    """The pod's `requests` or `limits`: what it gives for the whole pod, else what its containers
    come to."""
    total = of_containers(spec, field)
    for name, quantity in amounts((spec.get("resources") or {}).get(field)).items():
        if is_for_whole_pods(name):
            total[name] = quantity
    if overhead:
        for name, quantity in amounts(spec.get("overhead")).items():
            if field == "requests" or name in total:
                add(total, {name: quantity})
    return total


def is_for_whole_pods(name: str) -> bool:
    """Whether a resource may be asked for by a pod as a whole."""
    return name in ("cpu", "memory") or name.startswith("hugepages-")


def of_containers(spec: Object, field: str) -> Amounts:
    """The sum of the containers and sidecars, or the largest init container with the sidecars
    started before it, whichever is more."""
    total: Amounts = {}
    for container in spec.get("containers") or ():
        add(total, _of(container, field))
    sidecars: Amounts = {}
    largest: Amounts = {}
    for container in spec.get("initContainers") or ():
        own = _of(container, field)
        if container.get("restartPolicy") == "Always":
            add(total, own)
            add(sidecars, own)
            peak = sidecars
        else:
            peak = dict(own)
            add(peak, sidecars)
        _raise_to(largest, peak)
    _raise_to(total, largest)
    return total


def _of(container: Object, field: str) -> Amounts:
    return amounts((container.get("resources") or {}).get(field))


def _raise_to(into: Amounts, other: Amounts) -> None:
    for name, quantity in other.items():
        if name not in into or into[name] < quantity:
            into[name] = quantity


def every_container(spec: Object, *, ephemeral: bool = True) -> Iterator[tuple[str, Object]]:
    """Each container with its path in the spec, "initContainers/0", in upstream's order."""
    kinds = ("initContainers", "containers", "ephemeralContainers")
    for kind in kinds if ephemeral else kinds[:2]:
        for index, container in enumerate(spec.get(kind) or ()):
            yield f"{kind}/{index}", container


def is_extended(name: str) -> bool:
    """Whether a resource is extended: its name has a domain other than kubernetes.io."""
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")
