"""The forms in which cells are written: ages, labels, selectors, images, shortened lists.

Models the formatting functions of kubernetes pkg/printers/internalversion/printers.go,
apimachinery pkg/labels and pkg/apis/meta/v1/helpers.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from apiserver_app.http.tables import duration
from apiserver_app.machinery import meta
from apiserver_app.machinery.meta import Object

NONE, UNKNOWN, UNSET = "<none>", "<unknown>", "<unset>"
_SHOWN_MAX = 3


def name(obj: Object) -> str:
    return str(obj["metadata"].get("name", ""))


def age(obj: Object, now: int) -> str:
    """Time since the object was created."""
    return since(obj["metadata"].get("creationTimestamp"), now)


def since(time: str | None, now: int) -> str:
    return duration.human(now - meta.parse_time(time)) if time else UNKNOWN


def part(obj: Object, *path: str) -> Any:
    """The map at path; an empty one where any step is missing."""
    at: Any = obj
    for step in path:
        at = at.get(step)
        if at is None:
            return {}
    return at


def labels(values: Mapping[str, str] | None) -> str:
    if not values:
        return NONE
    return ",".join(f"{key}={values[key]}" for key in sorted(values))


def selector(value: Object | None) -> str:
    """A label selector in the query syntax; empty when it selects all or is missing."""
    if not value:
        return ""
    terms = [(key, f"{key}={text}") for key, text in (value.get("matchLabels") or {}).items()]
    for expression in value.get("matchExpressions") or ():
        key = expression["key"]
        values = ",".join(sorted(expression.get("values") or ()))
        terms.append((key, _EXPRESSIONS.get(expression["operator"], "{0}").format(key, values)))
    return ",".join(text for _, text in sorted(terms, key=lambda term: term[0]))


def selector_or_none(value: Object | None) -> str:
    return selector(value) or NONE


def containers(template: Object) -> tuple[str, str]:
    """Names and images of a pod template's containers."""
    listed: list[Object] = part(template, "spec").get("containers") or []
    names = ",".join(container.get("name", "") for container in listed)
    return names, ",".join(container.get("image", "") for container in listed)


def shortened(items: Sequence[str]) -> str:
    """The first three, and how many more there are."""
    shown = ",".join(items[:_SHOWN_MAX])
    more = len(items) - _SHOWN_MAX
    return f"{shown} + {more} more..." if more > 0 else shown or UNSET


def joined(items: Iterable[str] | None, or_else: str = NONE) -> str:
    return ",".join(items or ()) or or_else


def bool_word(value: bool | None) -> str:
    if value is None:
        return UNSET
    return "True" if value else "False"


_EXPRESSIONS = {
    "In": "{0} in ({1})",
    "NotIn": "{0} notin ({1})",
    "Exists": "{0}",
    "DoesNotExist": "!{0}",
}
