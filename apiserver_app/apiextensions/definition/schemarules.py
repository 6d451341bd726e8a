"""What must hold of a definition's schema, place by place: what is not supported, how lists and
maps go together, defaults that fit, rules that compile.

Models kubernetes staging/src/k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/validation/
validation.go (ValidateCustomResourceDefinitionOpenAPISchema) and pkg/apiserver/schema/defaulting/
validation.go.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from apiserver_app.apiextensions import customtype
from apiserver_app.apiextensions.definition import listrules, structuralrules
from apiserver_app.apiextensions.schema import (
    fieldpaths,
    govalues,
    paths,
    pruning,
    structural,
    validation,
)
from apiserver_app.apiextensions.schema.structural import Node
from apiserver_app.cel.cost import intervals
from apiserver_app.machinery import errors
from apiserver_app.machinery.errors import FieldError
from apiserver_app.machinery.releases import Release

Schema = Mapping[str, Any]
Found = list[FieldError]

# estimated cost: of one expression, and of all of a version
COST_MAX, WHOLE_COST_MAX = 10_000_000, 100_000_000
_CONTRIBUTED = (
    "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
)
_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_META = ("metadata", "kind", "apiVersion")
_REASONS = (
    "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired",
)  # fmt: skip
_UNSUPPORTED = (
    "id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref",
)  # fmt: skip
# what the root may say when there is a status subresource: upstream's names, and ours
_AT_ROOT = (
    "Description", "Type", "Format", "Title", "Maximum", "ExclusiveMaximum", "Minimum",
    "ExclusiveMinimum", "MaxLength", "MinLength", "Pattern", "MaxItems", "MinItems", "UniqueItems",
    "MultipleOf", "Required", "Items", "Properties", "ExternalDocs", "Example",
    "XPreserveUnknownFields", "XValidations",
)  # fmt: skip
_AT_ROOT_JSON = frozenset(
    [name[0].lower() + name[1:] for name in _AT_ROOT]
    + [structural.PRESERVE, structural.VALIDATIONS]
)


@dataclasses.dataclass(frozen=True, slots=True)
class _Within:
    """What is known of the place from above."""

    version: Release  # of Kubernetes
    no_defaults: str = ""  # why there may be none
    in_meta: bool = False
    uncorrelated: str = ""  # the first place above that has no old value
    # how often there can be this place in one object; None when no schema above says
    places: int | None = 1


def validate(
    schema: Schema, path: str, *, has_status: bool, version: Release, unchanged: bool = False
) -> list[FieldError]:
    """Everything that is wrong with the schema of one version, at `path`. Rules of a schema that is
    `unchanged` may cost what they did."""
    found: Found = []
    at = f"{path}.openAPIV3Schema"
    if has_status:
        _root_of_status(schema, at, found)
    if schema.get("nullable"):
        found.append(
            errors.forbidden_value(f"{at}.nullable", "nullable cannot be true at the root")
        )
    node: Node | None = None
    broken = ""
    try:
        node = structural.build(schema)
    except structural.NotStructural as error:
        broken = str(error)
    compiles = False
    if node is not None:
        wrong = structuralrules.validate(schema, at)
        wrong = wrong or _defaults(structural.as_root(node), at)
        compiles = not wrong
        found += wrong
    schema_found: Found = []
    rule_found: Found = []
    walk = _Walk(schema_found, rule_found, compiles, not unchanged)
    walk.place(schema, node, at, _Within(version), root=True)
    found += schema_found + rule_found
    _whole_cost(walk, at, found)
    if broken and not found:
        found.append(errors.invalid_value(at, "", broken))
    return found


def _whole_cost(walk: _Walk, at: str, found: Found) -> None:
    """All rules of a version together have a limit, too."""
    total = min(sum(cost for cost, _ in walk.costs), intervals.MOST)
    if total <= WHOLE_COST_MAX:
        return
    worth_telling = [one for one in walk.costs if one[0] >= WHOLE_COST_MAX // 100]
    for _, where in sorted(worth_telling, key=lambda one: -one[0])[:4]:
        found.append(errors.forbidden_value(where, _CONTRIBUTED))
    said = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema"
    found.append(errors.forbidden_value(at, _exceeds(said, total, WHOLE_COST_MAX)))


def _exceeds(what: str, cost: int, limit: int) -> str:
    from apiserver_app.cel.cost import estimate

    return (
        f"{what} exceeds budget by factor of {estimate.shown_factor(cost, limit)} (try simplifying "
        "the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and "
        "strings are declared)"
    )


def _places(schema: Schema, within: _Within) -> int | None:
    """How often there can be the parts of a value."""
    if within.places is None:
        return None
    kind, most = schema.get("type"), None
    if kind == "array":
        most = schema.get("maxItems")
    elif kind == "object" and schema.get("additionalProperties") is not None:
        most = schema.get("maxProperties")
    else:
        most = 1
    return None if most is None else min(within.places * max(0, int(most)), intervals.MOST)


def _root_of_status(schema: Schema, at: str, found: Found) -> None:
    """Validation of the status alone must not lose anything that stands at the root."""
    type_ = schema.get("type") or ""
    if type_ and type_ != "object":
        text = (
            'only "object" is allowed as the type at the root of the schema if the status '
            "subresource is enabled"
        )
        found.append(errors.invalid_value(f"{at}.type", type_, text))
        return
    if any(_is_said(key, value) and key not in _AT_ROOT_JSON for key, value in schema.items()):
        text = (
            f"only [{' '.join(_AT_ROOT)}] fields are allowed at the root of the schema if the "
            "status subresource is enabled"
        )
        shown = errors.GoText("apiextensions.JSONSchemaProps{...}")
        found.append(errors.invalid_value(at, shown, text))


def _is_said(key: str, value: Any) -> bool:
    """Whether Go has more than the zero value of a field."""
    if key == "default":
        return value is not None
    return value is not None and value is not False and value != ""


def _uncorrelated(within: _Within, at: str) -> _Within:
    """Below this place nothing has an old value, unless that is so from further up."""
    return within if within.uncorrelated else dataclasses.replace(within, uncorrelated=at)


class _Walk:
    """From the root down; rules are compiled where the schema is right."""

    def __init__(self, found: Found, rules: Found, compiles: bool, counts: bool) -> None:
        self.costs: list[tuple[int, str]] = []  # of each expression, and where it stands
        self._counts = counts  # whether a single expression is refused for its cost
        self._found = found
        self._rules = rules
        self._compiles = compiles

    def place(
        self, schema: Schema, node: Node | None, at: str, within: _Within, root: bool = False
    ) -> None:
        before = len(self._found)
        self._supported(schema, at, within)
        inside = dataclasses.replace(within, places=_places(schema, within))
        self._fields(schema, node, at, inside, root)
        self._junctors(schema, at, within)
        self._items(schema, node, at, inside)
        self._named(schema, "dependencies", at, within)
        if schema.get(structural.PRESERVE) is False:
            text = "must be true or undefined"
            self._found.append(errors.invalid_value(f"{at}.{structural.PRESERVE}", False, text))
        listrules.validate(schema, at, self._found)
        if schema.get(structural.VALIDATIONS):
            self._written_rules(schema, at)
            if self._compiles and node is not None and len(self._found) == before:
                self._compiled_rules(node, at, within, root)

    def _fields(
        self, schema: Schema, node: Node | None, at: str, within: _Within, root: bool
    ) -> None:
        additional = schema.get("additionalProperties")
        properties = schema.get("properties") or {}
        if additional is not None and properties and additional is not True:
            text = "additionalProperties and properties are mutual exclusive"
            self._found.append(errors.forbidden_value(f"{at}.additionalProperties", text))
        if isinstance(additional, dict):
            below = within
            if within.in_meta:
                why = "inside additionalProperties applying to object metadata"
                below = dataclasses.replace(within, no_defaults=why)
            child = node.additional if node is not None else None
            self.place(additional, child, f"{at}.additionalProperties", below)
        if schema.get(structural.MAP_TYPE) not in (None, "granular"):
            within = _uncorrelated(within, at)
        for name in sorted(properties):
            below = within
            if (root or schema.get(structural.EMBEDDED)) and name in _META:
                below = dataclasses.replace(within, in_meta=True)
                if root:
                    below = dataclasses.replace(below, no_defaults=f"in top-level {name}")
            child = node.properties.get(name) if node is not None else None
            self.place(properties[name], child, paths.key(f"{at}.properties", name), below)

    def _junctors(self, schema: Schema, at: str, within: _Within) -> None:
        if isinstance(schema.get("not"), dict):
            self.place(schema["not"], None, f"{at}.not", within)
        for word in ("allOf", "oneOf", "anyOf"):
            for index, one in enumerate(schema.get(word) or ()):
                self.place(one, None, f"{at}.{word}[{index}]", within)
        self._named(schema, "definitions", at, within)

    def _items(self, schema: Schema, node: Node | None, at: str, within: _Within) -> None:
        items = schema.get("items")
        if schema.get(structural.LIST_TYPE) != "map":
            within = _uncorrelated(within, at)
        if isinstance(items, dict):
            self.place(items, node.items if node is not None else None, f"{at}.items", within)
        for index, one in enumerate(items if isinstance(items, list) else ()):
            self.place(one, None, f"{at}.items[{index}]", within)

    def _named(self, schema: Schema, word: str, at: str, within: _Within) -> None:
        """Parts that are refused as a whole, but looked at nevertheless."""
        parts = schema.get(word) or {}
        for name in sorted(parts):
            if isinstance(parts[name], dict):
                self.place(parts[name], None, paths.key(f"{at}.{word}", name), within)

    def _supported(self, schema: Schema, at: str, within: _Within) -> None:
        found = self._found
        type_ = schema.get("type") or ""
        if type_ and type_ not in _TYPES:
            found.append(errors.not_supported(f"{at}.type", type_, _TYPES))
        if schema.get("default") is not None and within.no_defaults:
            text = f"must not be set {within.no_defaults}"
            found.append(errors.forbidden_value(f"{at}.default", text))
        for name in _UNSUPPORTED:
            if schema.get(name):
                found.append(errors.forbidden_value(f"{at}.{name}", f"{name} is not supported"))
        if type_ == "null":
            text = "type cannot be set to null, use nullable as an alternative"
            found.append(errors.forbidden_value(f"{at}.type", text))
        if isinstance(schema.get("items"), list):
            text = "items must be a schema object and not an array"
            found.append(errors.forbidden_value(f"{at}.items", text))
        if within.in_meta and schema.get(structural.EMBEDDED):
            text = "must not be used inside of resource meta"
            found.append(errors.forbidden_value(f"{at}.{structural.EMBEDDED}", text))
        if schema.get("uniqueItems"):
            text = (
                "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
            )
            found.append(errors.forbidden_value(f"{at}.uniqueItems", text))

    # -- rules ----------------------------------------------------------------------------------

    def _written_rules(self, schema: Schema, at: str) -> None:
        """What can be said of a rule without knowing the language."""
        found = self._found
        for index, rule in enumerate(schema[structural.VALIDATIONS]):
            where = f"{at}.{structural.VALIDATIONS}[{index}]"
            text, message = (rule.get("rule") or "").strip(), rule.get("message") or ""
            if not text:
                found.append(errors.required(f"{where}.rule", "rule is not specified"))
            elif message and not message.strip():
                why = "message must be non-empty if specified"
                found.append(errors.invalid_value(f"{where}.message", message, why))
            elif _has_newline(message.strip()):
                why = "message must not contain line breaks"
                found.append(errors.invalid_value(f"{where}.message", message, why))
            elif _has_newline(text) and not message.strip():
                why = "message must be specified if rule contains line breaks"
                found.append(errors.required(f"{where}.message", why))
            expression = rule.get("messageExpression") or ""
            if expression and not expression.strip():
                why = "messageExpression must be non-empty if specified"
                found.append(errors.required(f"{where}.messageExpression", why))
            if rule.get("reason") is not None and rule["reason"] not in _REASONS:
                at_ = f"{where}.reason"
                found.append(errors.not_supported(at_, rule["reason"], _REASONS))
            self._field_path(schema, rule.get("fieldPath") or "", f"{where}.fieldPath")

    def _field_path(self, schema: Schema, path: str, at: str) -> None:
        if not path:
            return
        found = self._found
        if not path.strip():
            why = "fieldPath must be non-empty if specified"
            found.append(errors.invalid_value(at, path, why))
        if _has_newline(path):
            why = "fieldPath must not contain line breaks"
            found.append(errors.invalid_value(at, path, why))
        try:
            node = structural.build(schema)
        except structural.NotStructural:
            return
        if fieldpaths.resolve(path, node).node is None:
            found.append(errors.invalid_value(at, path, "fieldPath must be a valid path"))

    def _compiled_rules(self, node: Node, at: str, within: _Within, root: bool) -> None:
        from apiserver_app.apiextensions.schema import rules

        is_root = root or node.embedded
        compiled = rules.compile_all(node, is_root=is_root, version=within.version)
        for index, rule in enumerate(compiled):
            where = f"{at}.{structural.VALIDATIONS}[{index}]"
            shown = _go_rule(rule.source)
            if not rule.error:
                costs = rules.costs(rule, node, is_root=is_root, version=within.version)
                places = costs.places if within.places is None else within.places
                self._cost(f"{where}.rule", "rule", costs.rule * places)
                if rule.message is not None:
                    self._cost(f"{where}.messageExpression", "messageExpression", costs.message)
            if rule.error:
                self._rules.append(errors.invalid_value(f"{where}.rule", shown, rule.error))
            if rule.message_error:
                at_ = f"{where}.messageExpression"
                self._rules.append(errors.invalid_value(at_, shown, rule.message_error))
            if rule.uses_old and within.uncorrelated:
                why = (
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within "
                    f"{within.uncorrelated}"
                )
                text = rule.source.get("rule") or ""
                self._rules.append(errors.invalid_value(f"{where}.rule", text, why))
            elif not rule.uses_old and rule.source.get("optionalOldSelf") is not None:
                why = "may not be set if oldSelf is not used in rule"
                value = bool(rule.source["optionalOldSelf"])
                self._rules.append(errors.invalid_value(f"{where}.optionalOldSelf", value, why))

    def _cost(self, where: str, what: str, cost: int) -> None:
        cost = min(cost, intervals.MOST)
        if self._counts and cost > COST_MAX:
            text = _exceeds(f"estimated {what} cost", cost, COST_MAX)
            self._rules.append(errors.forbidden_value(where, text))
        self.costs.append((cost, where))


def _defaults(node: Node, at: str) -> Found:
    """Defaults are pruned, and fit the schema they stand in."""
    found: Found = []
    if node.has_default:
        value = customtype.copied(node.default)
        if pruning.prune(value, structural.as_root(node) if node.embedded else node):
            text = "must not have unknown fields"
            found.append(errors.invalid_value(f"{at}.default", govalues.shown(node.default), text))
        found += validation.validate(node.default, node.source, prefix=f"{at}.default")
    if node.items is not None:
        found += _defaults(node.items, f"{at}.items")
    for name, child in node.properties.items():
        found += _defaults(child, paths.key(f"{at}.properties", name))
    return found


def _has_newline(text: str) -> bool:
    return "\n" in text or "\r" in text


def _go_rule(rule: Schema) -> errors.GoText:
    """A rule as Go prints the struct."""
    words = ", ".join(
        f"{name[0].upper()}{name[1:]}:{json.dumps(rule.get(name) or '', ensure_ascii=False)}"
        for name in ("rule", "message", "messageExpression")
    )
    path = json.dumps(rule.get("fieldPath") or "", ensure_ascii=False)
    return errors.GoText(
        f"apiextensions.ValidationRule{{{words}, "
        f"Reason:{_pointer('apiextensions.FieldValueErrorReason', rule.get('reason'))}, "
        f"FieldPath:{path}, OptionalOldSelf:{_pointer('bool', rule.get('optionalOldSelf'))}}}"
    )


def _pointer(kind: str, value: Any) -> str:
    return f"(*{kind})({'nil' if value is None else '0xc000000000'})"
