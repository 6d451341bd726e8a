"""Warnings about deprecated node labels.

Models kubernetes pkg/api/node/util.go and pkg/api/storage/util.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from apiserver_app.machinery.syntax import names

_OLD_LABELS = {
    "beta.kubernetes.io/arch": 'deprecated since v1.14; use "kubernetes.io/arch" instead',
    "beta.kubernetes.io/os": 'deprecated since v1.14; use "kubernetes.io/os" instead',
    "failure-domain.beta.kubernetes.io/region": (
        'deprecated since v1.17; use "topology.kubernetes.io/region" instead'
    ),
    "failure-domain.beta.kubernetes.io/zone": (
        'deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
    ),
    "beta.kubernetes.io/instance-type": (
        'deprecated since v1.17; use "node.kubernetes.io/instance-type" instead'
    ),
    "app.kubernetes.io/created-by": "deprecated since v1.9",
    "scheduler.alpha.kubernetes.io/preferAvoidPods": (
        "deprecated since v1.22; use Taints and Tolerations instead"
    ),
    "node-role.kubernetes.io/master": 'use "node-role.kubernetes.io/control-plane" instead',
}


def keys(labels: Iterable[str], path: str, warnings: list[str]) -> None:
    """Warns of deprecated keys in a map of labels, such as a node selector."""
    for key in labels:
        if key in _OLD_LABELS:
            warnings.append(f"{path}[{key}]: {_OLD_LABELS[key]}")


def unnamed(labels: Iterable[str], path: str, warnings: list[str]) -> None:
    """The same, where upstream's warning does not name the key."""
    warnings.extend(f"{path}: {_OLD_LABELS[key]}" for key in labels if key in _OLD_LABELS)


def key(label: str, path: str, warnings: list[str]) -> None:
    """Warns of a field that holds a deprecated label key."""
    if label in _OLD_LABELS:
        warnings.append(f"{path}: {label} is {_OLD_LABELS[label]}")


def term(value: Mapping[str, Any], path: str, warnings: list[str], *, values: bool = False) -> None:
    """Checks a term of a node selector, and with `values` also its label values."""
    for index, rule in enumerate(value.get("matchExpressions") or ()):
        at = f"{path}.matchExpressions[{index}]"
        key(rule.get("key") or "", f"{at}.key", warnings)
        for position, label_value in enumerate(rule.get("values") or () if values else ()):
            for text in names.label_value_errors(label_value):
                warnings.append(f"{at}.values[{position}]: {label_value} is invalid, {text}")


def selector(value: Mapping[str, Any] | None, path: str, warnings: list[str]) -> None:
    """Checks a label selector over nodes."""
    if value:
        term(value, path, warnings)
        for label in value.get("matchLabels") or ():
            unnamed((label,), f"{path}.matchLabels.{label}", warnings)
