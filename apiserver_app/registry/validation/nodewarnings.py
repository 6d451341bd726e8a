"""What upstream warns of wherever labels of nodes are named: labels that have a successor.

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
    """A map of labels, such as a node selector."""
    for key in labels:
        if key in _OLD_LABELS:
            warnings.append(f"{path}[{key}]: {_OLD_LABELS[key]}")


def unnamed(labels: Iterable[str], path: str, warnings: list[str]) -> None:
    """The same where upstream does not say which key it was."""
    warnings.extend(f"{path}: {_OLD_LABELS[key]}" for key in labels if key in _OLD_LABELS)


def key(label: str, path: str, warnings: list[str]) -> None:
    """A field that is a label's key."""
    if label in _OLD_LABELS:
        warnings.append(f"{path}: {label} is {_OLD_LABELS[label]}")


def term(value: Mapping[str, Any], path: str, warnings: list[str], *, values: bool = False) -> None:
    """One term of a node selector; preferences may have values that no label has."""
    for index, rule in enumerate(value.get("matchExpressions") or ()):
        at = f"{path}.matchExpressions[{index}]"
        key(rule.get("key") or "", f"{at}.key", warnings)
        for position, word in enumerate(rule.get("values") or () if values else ()):
            for text in names.label_value_errors(word):
                warnings.append(f"{at}.values[{position}]: {word} is invalid, {text}")


def selector(value: Mapping[str, Any] | None, path: str, warnings: list[str]) -> None:
    """A label selector over nodes."""
    if value:
        term(value, path, warnings)
        for label in value.get("matchLabels") or ():
            unnamed((label,), f"{path}.matchLabels.{label}", warnings)
