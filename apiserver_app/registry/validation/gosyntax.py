"""Values in Go's %#v syntax: up to 1.33 a field error prints a struct so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from apiserver_app.machinery import errors


def string_map(value: Mapping[str, str] | None) -> Any:
    """A map[string]string as a bad value; one that was left out is a nil map."""
    return errors.GoText("map[string]string(nil)") if value is None else dict(value)


def label_selector(value: Mapping[str, Any] | None) -> errors.GoText:
    """A *metav1.LabelSelector as a bad value."""
    if value is None:
        return errors.GoText('"null"')
    labels = errors.go_value(string_map(value.get("matchLabels")))
    expressions = value.get("matchExpressions")
    if not expressions:
        printed = "[]v1.LabelSelectorRequirement(nil)"
    else:
        printed = f"[]v1.LabelSelectorRequirement{{{', '.join(map(_requirement, expressions))}}}"
    return errors.GoText(f"v1.LabelSelector{{MatchLabels:{labels}, MatchExpressions:{printed}}}")


def strings(value: Sequence[str] | None) -> Any:
    """A []string as a bad value."""
    return errors.GoText("[]string(nil)") if value is None else list(value)


def of_words(
    kind: str, value: Mapping[str, Any], fields: Sequence[tuple[str, str]]
) -> errors.GoText:
    """A struct of strings as a bad value; `fields` are pairs of Go's name and JSON's."""
    words = ", ".join(f"{go}:{errors.go_value(value.get(name) or '')}" for go, name in fields)
    return errors.GoText(f"{kind}{{{words}}}")


def pointer(text: str, value: Any) -> str:
    """A pointer field inside a struct: Go prints its address, of which there is none here."""
    return f"(*{text})(nil)" if value is None else f"(*{text})(0xc000000000)"


def _requirement(value: Mapping[str, Any]) -> str:
    key, operator = (errors.go_value(value.get(name) or "") for name in ("key", "operator"))
    values = errors.go_value(strings(value.get("values")))
    return f"v1.LabelSelectorRequirement{{Key:{key}, Operator:{operator}, Values:{values}}}"
